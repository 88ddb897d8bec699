//! The torso's way forth: observations in, rows of features out.
//!
//! Few examples go through all layers together, so that their data stay in the second-level cache; one alone, as in acting, is
//! shared out row by row.

use super::{EXAMPLES, Layer, Observations, Room, Torso, Trace, activations, group_count};
use crate::blocks::Blocks;
use crate::buffer::Buffer;
use crate::conv::ImageShape;
use crate::in_order::in_order;
use crate::kernels::Kernel;
use crate::matrix::Matrix;
use crate::winograd::{Positions, Repeats, Weights, Winograd};
use rayon::prelude::*;
use std::ops::Range;

impl Torso {
    /// features[B,F] of a batch, keeping in `trace` what [`Torso::backward`] needs. Columns behind the features are left alone.
    pub fn forward(
        &mut self,
        params: &[f32],
        observations: Observations<'_>,
        trace: &mut Trace,
        features: &mut Matrix,
    ) {
        let batch = self.check(observations, features);
        self.layers.par_iter_mut().for_each(|layer| layer.lay_filters_both_ways(params));
        let observed = self.observed(observations);
        let per_group = batch.div_ceil(group_count(batch));
        let stride = features.stride();
        let tasks = features.as_mut_slice().chunks_mut(per_group * stride).zip(&mut trace.groups);
        in_order(tasks.enumerate(), |(g, (rows, kept))| {
            let Room { observations, positions, repeats, .. } = &mut *self.rooms.enter();
            let pass = Forward { layers: &self.layers, params, observed, width: self.order.width() };
            for (n, rows) in rows.chunks_mut(EXAMPLES * stride).enumerate() {
                let places = n * EXAMPLES..n * EXAMPLES + rows.len() / stride;
                let first = g * per_group + places.start;
                let scratch = Scratch { observations, positions, repeats };
                pass.several(first, kept, places, (rows, stride), scratch);
            }
        });
    }

    /// features[B,F] of a batch when no backward pass follows; also the way to act, with one observation.
    pub fn infer(&mut self, params: &[f32], observations: Observations<'_>, features: &mut Matrix) {
        let batch = self.check(observations, features);
        let observed = self.observed(observations);
        let stride = features.stride();
        if batch == 1 {
            let Room { observations, passing, .. } = &mut *self.rooms.enter();
            let pass = Forward { layers: &self.layers, params, observed, width: self.order.width() };
            return pass.one(passing, features.as_mut_slice(), observations);
        }
        self.layers.par_iter_mut().for_each(|layer| layer.lay_filters(params));
        let per_group = batch.div_ceil(group_count(batch));
        in_order(features.as_mut_slice().chunks_mut(per_group * stride).enumerate(), |(g, rows)| {
            let Room { observations, passing, positions, repeats, .. } = &mut *self.rooms.enter();
            let pass = Forward { layers: &self.layers, params, observed, width: self.order.width() };
            for (n, rows) in rows.chunks_mut(EXAMPLES * stride).enumerate() {
                let (first, count) = (g * per_group + n * EXAMPLES, rows.len() / stride);
                let scratch = Scratch { observations, positions, repeats };
                pass.several(first, passing, 0..count, (rows, stride), scratch);
            }
        });
    }

    pub(super) fn observed<'a>(&self, all: Observations<'a>) -> Observed<'a> {
        let blocks = self.layers.first().and_then(|first| first.conv.blocks);
        Observed { kernel: self.kernel, all, shape: self.input, blocks, byte_scale: self.byte_scale }
    }
}

impl Layer {
    /// Lays the weights out as the forward pass reads them.
    fn lay_filters(&mut self, params: &[f32]) {
        let Some(winograd) = &self.winograd else { return };
        let pieces = self.filters.par_chunks_mut(winograd.filters_piece()).enumerate();
        pieces.for_each(|(piece, out)| winograd.filters(params, piece, out));
    }

    /// As [`lay_filters`](Self::lay_filters), and as the input gradient of the backward pass will read them.
    fn lay_filters_both_ways(&mut self, params: &[f32]) {
        self.lay_filters(params);
        let Self { conv, winograd, filters_across, .. } = self;
        let winograd = winograd.as_ref();
        let piece = winograd.map_or(conv.transposed_piece(), Winograd::filters_across_piece);
        filters_across.par_chunks_mut(piece).enumerate().for_each(|(piece, out)| match winograd {
            Some(winograd) => winograd.filters_across(params, piece, out),
            None => conv.transpose_piece(params, piece, out),
        });
    }
}

/// A batch of observations with what is needed to read one of them as the first layer does.
#[derive(Clone, Copy)]
pub(super) struct Observed<'a> {
    kernel: Kernel,
    all: Observations<'a>,
    shape: ImageShape,
    blocks: Option<Blocks>,
    byte_scale: f32,
}

impl Observed<'_> {
    /// Observation `i`: where it lies if that will do, else laid into `scratch`.
    pub(super) fn get<'s>(&'s self, i: usize, scratch: &'s mut [f32]) -> &'s [f32] {
        if let (Observations::Floats(floats), None) = (self.all, self.blocks) {
            return &floats[self.range(i)];
        }
        let out = &mut scratch[..self.blocks.map_or(self.shape.len(), |blocks| blocks.image().len())];
        self.lay(i, out);
        out
    }

    /// Lays observation `i` into `out`.
    fn lay(&self, i: usize, out: &mut [f32]) {
        let range = self.range(i);
        match (self.all, self.blocks) {
            (Observations::Floats(floats), None) => out.copy_from_slice(&floats[range]),
            (Observations::Floats(floats), Some(blocks)) => blocks.lay_floats(&floats[range], out),
            (Observations::Bytes(bytes), None) => self.kernel.bytes_to_floats(out, &bytes[range], self.byte_scale),
            (Observations::Bytes(bytes), Some(blocks)) => {
                blocks.lay_bytes(self.kernel, &bytes[range], self.byte_scale, out)
            }
        }
    }

    fn range(&self, i: usize) -> Range<usize> {
        i * self.shape.len()..(i + 1) * self.shape.len()
    }
}

/// What of a room a forward pass uses beside the activations.
struct Scratch<'a> {
    observations: &'a mut [f32],
    positions: &'a mut Positions,
    repeats: &'a mut Option<Repeats>,
}

/// The way of examples through all layers.
#[derive(Clone, Copy)]
struct Forward<'a> {
    layers: &'a [Layer],
    params: &'a [f32],
    observed: Observed<'a>,
    /// Columns of a row of features.
    width: usize,
}

impl Forward<'_> {
    /// One example, by the direct method throughout: transforming the filters would take longer than it saves. Its images are
    /// shared out among threads row by row.
    fn one(&self, passing: &mut [Buffer], features: &mut [f32], observation: &mut [f32]) {
        let x = self.observed.get(0, observation);
        let Some((last, inner)) = self.layers.split_last() else {
            return features[..self.width].copy_from_slice(x);
        };
        for (l, Layer { conv, .. }) in inner.iter().enumerate() {
            let (before, after) = passing.split_at_mut(l);
            let input = before.last().map_or(x, |buffer| activations(buffer, conv.input, &(0..1)));
            conv.forward_shared(self.params, input, &mut after[0]);
        }
        let input = passing.last().map_or(x, |buffer| activations(buffer, last.conv.input, &(0..1)));
        last.conv.forward_shared(self.params, input, features);
    }

    /// A few examples from `first` on, layer by layer; inner activations go to `places` of `kept`.
    fn several(
        &self,
        first: usize,
        kept: &mut [Buffer],
        places: Range<usize>,
        (features, stride): (&mut [f32], usize),
        Scratch { observations, positions, repeats }: Scratch<'_>,
    ) {
        for (l, layer) in self.layers.iter().enumerate() {
            let (before, after) = kept.split_at_mut(l);
            let len = layer.conv.output.padded_len();
            let weights = Weights { params: self.params, filters: &layer.filters };
            let (y, y_stride) = match after.first_mut() {
                Some(buffer) => (&mut buffer[places.start * len..places.end * len], len),
                None => (&mut *features, stride),
            };
            match (&layer.winograd, before.last()) {
                (Some(winograd), Some(buffer)) => {
                    let x = activations(buffer, layer.conv.input, &places);
                    winograd.forward(weights, x, (y, y_stride), positions);
                }
                (_, Some(buffer)) => {
                    let x = activations(buffer, layer.conv.input, &places).chunks(layer.conv.input.padded_len());
                    x.zip(y.chunks_mut(y_stride)).for_each(|(x, y)| layer.conv.forward(self.params, x, y));
                }
                (Some(winograd), None) => {
                    let repeats = repeats.as_mut().expect("the first layer is computed by tiles");
                    let lay = |e: usize, out: &mut [f32]| self.observed.lay(first + e, out);
                    let (x, room) = ((&mut *observations, lay), (&mut *positions, repeats));
                    winograd.forward_repeating(weights, x, (y, y_stride), room);
                }
                (None, None) => {
                    for (e, y) in y.chunks_mut(y_stride).enumerate() {
                        let x = self.observed.get(first + e, observations);
                        layer.conv.forward(self.params, x, y);
                    }
                }
            }
        }
        if self.layers.is_empty() {
            for (e, row) in features.chunks_mut(stride).enumerate() {
                row[..self.width].copy_from_slice(self.observed.get(first + e, observations));
            }
        }
    }
}
