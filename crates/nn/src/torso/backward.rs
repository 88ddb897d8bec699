//! The torso's way back: gradient of the features in, gradients of all convolution parameters out.
//!
//! A group goes through the layers from the last to the first. Weight gradients are summed over the whole group at once, so
//! that a weight is visited once per group and not once per example; the groups' sums are then added in order.

use super::{Group, Observations, Observed, Torso, Trace, activation, group_count};
use crate::buffer::Buffer;
use crate::conv::Conv;
use crate::kernels::{From, Kernel};
use crate::matrix::Matrix;
use rayon::prelude::*;
use std::ops::Range;

/// Parameters per task when the groups' gradients are added.
const SUM_TASK: usize = 4096;

/// Pieces of transposed weights per task.
const PIECES: usize = 4;

impl Torso {
    /// Gradients of all convolution parameters, overwriting their range of `gradients`. `d_features` is the gradient of the
    /// features as the heads see them; `observations`, `trace` and `features` are those of the forward pass.
    pub fn backward(
        &mut self,
        params: &[f32],
        observations: Observations<'_>,
        trace: &Trace,
        features: &Matrix,
        d_features: &Matrix,
        gradients: &mut [f32],
    ) {
        if self.layers.is_empty() {
            return;
        }
        let batch = self.check(observations, features);
        let shape = (d_features.rows(), d_features.stride());
        assert_eq!(shape, (batch, features.stride()), "torso backward: d_features has another shape than features");
        let observed = self.observed(observations);
        let Self { kernel, layers, groups, order, transposed, params: range, .. } = self;
        for (layer, transposed) in layers.iter().skip(1).zip(transposed.iter_mut()) {
            let pieces = transposed.par_chunks_mut(PIECES * layer.transposed_piece()).enumerate();
            pieces.for_each(|(i, out)| {
                for (piece, out) in out.chunks_mut(layer.transposed_piece()).enumerate() {
                    layer.transpose_piece(params, i * PIECES + piece, out);
                }
            });
        }
        let per_group = batch.div_ceil(group_count(batch));
        let groups = &mut groups[..batch.div_ceil(per_group)];
        groups.par_iter_mut().zip(&trace.groups).enumerate().for_each(|(g, (group, kept))| {
            let examples = g * per_group..batch.min((g + 1) * per_group);
            let backward = Backward { kernel: *kernel, layers, transposed, range: range.clone(), examples };
            backward.start(group, features, d_features, order.width());
            for l in (1..layers.len()).rev() {
                backward.inner_layer(l, group, kept);
            }
            backward.first_layer(group, &observed);
        });
        gradients[range.clone()].par_chunks_mut(SUM_TASK).enumerate().for_each(|(task, sum)| {
            let at = task * SUM_TASK..task * SUM_TASK + sum.len();
            sum.copy_from_slice(&groups[0].gradient[at.clone()]);
            for group in &groups[1..] {
                kernel.add(sum, &group.gradient[at.clone()]);
            }
        });
    }
}

/// The backward pass of one group of examples.
struct Backward<'a> {
    kernel: Kernel,
    layers: &'a [Conv],
    transposed: &'a [Buffer],
    /// Place of all convolution parameters in the flat buffers.
    range: Range<usize>,
    /// Which examples of the batch.
    examples: Range<usize>,
}

impl Backward<'_> {
    /// The gradient of the last layer's output before ReLU.
    fn start(&self, group: &mut Group, features: &Matrix, d_features: &Matrix, width: usize) {
        let top = group.d_activations.last_mut().expect("there is a layer");
        for (d, e) in top.chunks_mut(width).zip(self.examples.clone()) {
            d.copy_from_slice(&d_features.padded_row(e)[..width]);
            self.kernel.relu_backward(d, &features.padded_row(e)[..width]);
        }
    }

    /// Weight gradient of layer `l` and the gradient of its input, which layer `l − 1` had put out.
    fn inner_layer(&self, l: usize, group: &mut Group, kept: &[Buffer]) {
        let (layer, count) = (&self.layers[l], self.examples.len());
        let (below, above) = group.d_activations.split_at_mut(l);
        let (dy, dx) = (&above[0], &mut below[l - 1]);
        let x = &kept[l - 1][..count * layer.input.padded_len()];
        let (dw, db) = self.parts(layer, &mut group.gradient);
        layer.add_gradient(count, x, dy, dw, db, From::Zero);
        for (e, dx) in dx.chunks_mut(layer.input.padded_len()).take(count).enumerate() {
            dx.fill(0.0);
            layer.add_input_gradient(&self.transposed[l - 1], activation(dy, layer.output, e), dx);
            self.kernel.relu_backward(dx, activation(x, layer.input, e));
        }
    }

    /// Weight gradient of the first layer, example by example, as each observation is converted anew.
    fn first_layer(&self, group: &mut Group, observed: &Observed<'_>) {
        let Group { observation: scratch, d_activations, gradient, .. } = group;
        let layer = &self.layers[0];
        let (dw, db) = self.parts(layer, gradient);
        for (e, example) in self.examples.clone().enumerate() {
            let x = observed.get(example, scratch);
            let from = if e == 0 { From::Zero } else { From::C };
            layer.add_gradient(1, x, activation(&d_activations[0], layer.output, e), dw, db, from);
        }
    }

    /// A layer's weight and bias in the group's gradient. A bias follows its weight, so both can be borrowed at once.
    fn parts<'a>(&self, layer: &Conv, gradient: &'a mut [f32]) -> (&'a mut [f32], &'a mut [f32]) {
        let end = layer.bias.as_ref().unwrap_or(&layer.weight).end;
        gradient[layer.weight.start - self.range.start..end - self.range.start].split_at_mut(layer.weight.len())
    }
}
