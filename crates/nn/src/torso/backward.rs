//! The torso's way back: gradient of the features in, gradients of all convolution parameters out.
//!
//! A group takes its examples, a few at a time, through the layers from the last to the first, so that their activations and
//! gradients stay in the second-level cache; the groups' sums are then added in order.

use super::forward::Observed;
use super::{EXAMPLES, Layer, Observations, Room, Torso, Trace, activations, group_count};
use crate::buffer::Buffer;
use crate::conv::Conv;
use crate::dense::WeightUpdate;
use crate::in_order::in_order;
use crate::kernels::{From, Kernel};
use crate::matrix::Matrix;
use rayon::prelude::*;
use std::ops::Range;

/// Parameters per task when the groups' gradients are added.
const SUM_TASK: usize = 4096;

impl Torso {
    /// Gradients of all convolution parameters, overwriting their range of `gradients`. `d_features` is the gradient of the
    /// features as the heads see them; `observations`, `trace` and `features` are those of the forward pass, the last with a
    /// trace. `meanwhile` is run on the way, by threads that have no group left.
    pub fn backward<'a>(
        &mut self,
        observations: Observations<'_>,
        trace: &Trace,
        features: &Matrix,
        d_features: &Matrix,
        gradients: &mut [f32],
        meanwhile: impl Iterator<Item = WeightUpdate<'a>> + Send,
    ) {
        if self.layers.is_empty() {
            return in_order(meanwhile, WeightUpdate::run);
        }
        let batch = self.check(observations, features);
        let shape = (d_features.rows(), d_features.stride());
        assert_eq!(shape, (batch, features.stride()), "torso backward: d_features has another shape than features");
        let observed = self.observed(observations);
        let Self { kernel, layers, gradients: groups, rooms, params: range, order, .. } = self;
        let backward = Backward { kernel: *kernel, layers, observed, range: range.clone() };
        let per_group = batch.div_ceil(group_count(batch));
        let groups = &mut groups[..batch.div_ceil(per_group)];
        let work_on_group = |g: usize, gradient: &mut [f32], kept: &[Buffer]| {
            let room = &mut *rooms.enter();
            let (begin, end) = (g * per_group, batch.min((g + 1) * per_group));
            for first in (begin..end).step_by(EXAMPLES) {
                let examples = first..end.min(first + EXAMPLES);
                let top = room.d_activations.last_mut().expect("there is a layer");
                for (e, d) in examples.clone().zip(top.chunks_mut(order.width())) {
                    d.copy_from_slice(&d_features.padded_row(e)[..order.width()]);
                    kernel.relu_backward(d, &features.padded_row(e)[..order.width()]);
                }
                backward.add_examples(kept, Several { examples, begin }, room, gradient);
            }
        };
        let all = groups.iter_mut().zip(&trace.groups).enumerate().map(Work::Group).chain(meanwhile.map(Work::Update));
        in_order(all, |work| match work {
            Work::Group((g, (gradient, kept))) => work_on_group(g, gradient, kept),
            Work::Update(update) => update.run(),
        });
        gradients[range.clone()].par_chunks_mut(SUM_TASK).enumerate().for_each(|(task, sum)| {
            let at = task * SUM_TASK..task * SUM_TASK + sum.len();
            sum.copy_from_slice(&groups[0][at.clone()]);
            for group in &groups[1..] {
                kernel.add(sum, &group[at.clone()]);
            }
        });
    }
}

/// What a thread may take up: a group of examples with the place of its gradient and its activations, or something smaller.
enum Work<'g, 'a> {
    Group((usize, (&'g mut Buffer, &'g Vec<Buffer>))),
    Update(WeightUpdate<'a>),
}

/// A few examples of a group that begins at example `begin` of the batch.
struct Several {
    examples: Range<usize>,
    begin: usize,
}

impl Several {
    fn count(&self) -> usize {
        self.examples.len()
    }

    /// Their places within the group.
    fn places(&self) -> Range<usize> {
        self.examples.start - self.begin..self.examples.end - self.begin
    }

    /// Whether they are the group's first, which overwrite what an earlier batch left in its gradient.
    fn are_first(&self) -> bool {
        self.examples.start == self.begin
    }
}

/// The backward pass of a few examples.
struct Backward<'a> {
    kernel: Kernel,
    layers: &'a [Layer],
    observed: Observed<'a>,
    /// Place of all convolution parameters in the flat buffers.
    range: Range<usize>,
}

impl Backward<'_> {
    /// Adds the examples' share to their group's gradient. The room holds the gradient of the last layer's outputs.
    fn add_examples(&self, kept: &[Buffer], several: Several, room: &mut Room, gradient: &mut [f32]) {
        let Room { observations, d_activations, laid, positions, .. } = room;
        for (l, layer) in self.layers.iter().enumerate().rev() {
            let Layer { conv, winograd, filters_across, .. } = layer;
            let (below, above) = d_activations.split_at_mut(l);
            let dy = activations(&above[0], conv.output, &(0..several.count()));
            let (dw, db) = self.parts(conv, gradient);
            if several.are_first() {
                db.fill(0.0);
            }
            self.kernel.add_column_sums(db, dy, conv.output.padded_len() / (conv.output.height * conv.output.width));
            let each_dy = dy.chunks_exact(conv.output.padded_len()).enumerate();
            let from = |e: usize| if e == 0 && several.are_first() { From::Zero } else { From::C };
            let Some(dx) = below.last_mut() else {
                for (e, dy) in each_dy {
                    let x = self.observed.get(several.examples.start + e, observations);
                    let Some(winograd) = winograd else {
                        conv.add_gradient(x, dy, laid, dw, from(e));
                        continue;
                    };
                    winograd.begin_backward(x, dy, positions);
                    winograd.gradient(1, 0 < e || !several.are_first(), dw, positions);
                }
                return;
            };
            let dx = &mut dx[..several.count() * conv.input.padded_len()];
            let x = activations(&kept[l - 1], conv.input, &several.places());
            if let Some(winograd) = winograd {
                winograd.begin_backward(x, dy, positions);
                winograd.gradient(several.count(), !several.are_first(), dw, positions);
                winograd.input_gradient(filters_across, dx, positions);
            } else {
                dx.fill(0.0);
                let pixels = conv.input.padded_len();
                for (((e, dy), x), dx) in each_dy.zip(x.chunks_exact(pixels)).zip(dx.chunks_exact_mut(pixels)) {
                    conv.add_gradient(x, dy, laid, dw, from(e));
                    conv.add_input_gradient(filters_across, dy, dx);
                }
            }
            self.kernel.relu_backward(dx, x);
        }
    }

    /// A layer's weight and bias in the group's gradient. A bias follows its weight, so both can be borrowed at once.
    fn parts<'a>(&self, layer: &Conv, gradient: &'a mut [f32]) -> (&'a mut [f32], &'a mut [f32]) {
        let end = layer.bias.as_ref().unwrap_or(&layer.weight).end;
        gradient[layer.weight.start - self.range.start..end - self.range.start].split_at_mut(layer.weight.len())
    }
}
