//! The torso's way back: gradient of the features in, gradients of all convolution parameters out.
//!
//! A group takes its examples one after the other through the layers, from the last to the first, so that an example's
//! activations and gradients stay in the second-level cache; the groups' sums are then added in order.

use super::{Observations, Torso, Trace, activation, group_count};
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
            let backward = Backward { kernel: *kernel, layers, transposed, range: range.clone() };
            for (e, example) in (g * per_group..batch.min((g + 1) * per_group)).enumerate() {
                let width = order.width();
                let (features, d_features) =
                    (&features.padded_row(example)[..width], &d_features.padded_row(example)[..width]);
                backward.start(&mut group.d_activations, features, d_features);
                let x = observed.get(example, &mut group.observation);
                let room = Room { d: &mut group.d_activations, laid: &mut group.laid };
                backward.add_example(x, kept, e, room, &mut group.gradient);
            }
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

/// What an example needs on its way back.
struct Room<'a> {
    /// Gradients of every layer's outputs before ReLU.
    d: &'a mut [Buffer],
    /// Those of one layer in panels.
    laid: &'a mut [f32],
}

/// The backward pass of one example.
struct Backward<'a> {
    kernel: Kernel,
    layers: &'a [Conv],
    transposed: &'a [Buffer],
    /// Place of all convolution parameters in the flat buffers.
    range: Range<usize>,
}

impl Backward<'_> {
    /// The gradient of the last layer's output before ReLU.
    fn start(&self, d_activations: &mut [Buffer], features: &[f32], d_features: &[f32]) {
        let top = d_activations.last_mut().expect("there is a layer");
        top.copy_from_slice(d_features);
        self.kernel.relu_backward(top, features);
    }

    /// Adds example `e` of the group to its gradient; the first one overwrites what an earlier batch left there.
    fn add_example(&self, observation: &[f32], kept: &[Buffer], e: usize, room: Room<'_>, gradient: &mut [f32]) {
        let Room { d, laid } = room;
        for (l, layer) in self.layers.iter().enumerate().rev() {
            let x = if l == 0 { observation } else { activation(&kept[l - 1], layer.input, e) };
            let (below, above) = d.split_at_mut(l);
            let from = if e == 0 { From::Zero } else { From::C };
            layer.add_gradient(x, &above[0], laid, self.parts(layer, gradient), from);
            if let Some(dx) = below.last_mut() {
                dx.fill(0.0);
                layer.add_input_gradient(&self.transposed[l - 1], &above[0], dx);
                self.kernel.relu_backward(dx, x);
            }
        }
    }

    /// A layer's weight and bias in the group's gradient. A bias follows its weight, so both can be borrowed at once.
    fn parts<'a>(&self, layer: &Conv, gradient: &'a mut [f32]) -> (&'a mut [f32], &'a mut [f32]) {
        let end = layer.bias.as_ref().unwrap_or(&layer.weight).end;
        gradient[layer.weight.start - self.range.start..end - self.range.start].split_at_mut(layer.weight.len())
    }
}
