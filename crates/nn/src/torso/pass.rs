//! A few examples through all layers of a torso: forward pass, and below it the backward pass.

use super::Observations;
use super::scratch::{LayerScratch, Scratch};
use crate::buffer::Buffer;
use crate::conv::{Conv, ImageShape};
use crate::kernels::{Accumulator, Kernel};
use crate::space_to_depth::SpaceToDepth;
use crate::winograd::{CHUNK, Weights, Winograd};
use rayon::prelude::*;
use std::ops::Range;

/// One convolution, and Winograd's method for several examples where it applies.
#[derive(Debug, Clone)]
pub(super) struct Layer {
    pub conv: Conv,
    pub winograd: Option<Winograd>,
    /// Weights as the forward pass of `winograd` reads them.
    filters: Buffer,
    /// Weights as the input gradient reads them; empty for the first layer, which has no input gradient.
    transposed_filters: Buffer,
}

impl Layer {
    /// The first layer, which multiplies as many tiles at once as one example has: more would not stay in the cache.
    pub fn first(conv: Conv) -> Self {
        Self::with(Winograd::of(&conv, 1), 0, conv)
    }

    pub fn inner(conv: Conv) -> Self {
        let winograd = Winograd::of(&conv, CHUNK);
        let transposed = winograd.as_ref().map_or(conv.transposed_len(), Winograd::filters_len);
        Self::with(winograd, transposed, conv)
    }

    fn with(winograd: Option<Winograd>, transposed: usize, conv: Conv) -> Self {
        let filters = winograd.as_ref().map_or(0, Winograd::filters_len);
        Self { conv, winograd, filters: Buffer::zeros(filters), transposed_filters: Buffer::zeros(transposed) }
    }

    /// Packs the weights as the forward pass reads them.
    pub fn pack_filters(&mut self, params: &[f32]) {
        let Some(winograd) = &self.winograd else { return };
        let pieces = self.filters.par_chunks_mut(winograd.filters_piece_len()).enumerate();
        pieces.for_each(|(piece, out)| winograd.transform_filters(params, piece, out));
    }

    /// Packs the weights as the forward pass and as the input gradient read them.
    pub fn pack_filters_for_training(&mut self, params: &[f32]) {
        self.pack_filters(params);
        let Self { conv, winograd, transposed_filters, .. } = self;
        let winograd = winograd.as_ref();
        let piece_len = winograd.map_or(conv.transposed_piece_len(), Winograd::transposed_filters_piece_len);
        transposed_filters.par_chunks_mut(piece_len).enumerate().for_each(|(piece, out)| match winograd {
            Some(winograd) => winograd.transpose_filters(params, piece, out),
            None => conv.transpose_piece(params, piece, out),
        });
    }
}

/// A batch of observations in the form in which the first layer reads them.
#[derive(Clone, Copy)]
pub(super) struct ObservationReader<'a> {
    pub kernel: Kernel,
    pub all: Observations<'a>,
    pub shape: ImageShape,
    pub space_to_depth: Option<SpaceToDepth>,
    pub byte_scale: f32,
}

impl ObservationReader<'_> {
    /// Observation `i`, in place if no conversion is needed, else packed into `scratch`.
    fn get<'s>(&'s self, i: usize, scratch: &'s mut [f32]) -> &'s [f32] {
        if let (Observations::Floats(floats), None) = (self.all, self.space_to_depth) {
            return &floats[self.range(i)];
        }
        let out = &mut scratch[..self.space_to_depth.map_or(self.shape.len(), |packing| packing.blocks().len())];
        self.pack(i, out);
        out
    }

    /// Packs observation `i` into `out`.
    fn pack(&self, i: usize, out: &mut [f32]) {
        let range = self.range(i);
        match (self.all, self.space_to_depth) {
            (Observations::Floats(floats), None) => out.copy_from_slice(&floats[range]),
            (Observations::Floats(floats), Some(packing)) => packing.pack_floats(&floats[range], out),
            (Observations::Bytes(bytes), None) => self.kernel.bytes_to_floats(out, &bytes[range], self.byte_scale),
            (Observations::Bytes(bytes), Some(packing)) => {
                packing.pack_bytes(self.kernel, &bytes[range], self.byte_scale, out)
            }
        }
    }

    fn range(&self, i: usize) -> Range<usize> {
        i * self.shape.len()..(i + 1) * self.shape.len()
    }
}

/// The forward pass through all layers.
#[derive(Clone, Copy)]
pub(super) struct ForwardPass<'a> {
    pub layers: &'a [Layer],
    pub params: &'a [f32],
    pub observations: ObservationReader<'a>,
    /// Columns of a row of features.
    pub width: usize,
}

impl ForwardPass<'_> {
    /// One example by the direct method, since transforming the filters would take longer than it saves; threads share the
    /// rows of its images.
    pub fn single(&self, activations: &mut [Buffer], features: &mut [f32], scratch: &mut LayerScratch) {
        let x = self.observations.get(0, &mut scratch.observations);
        let Some((last, inner)) = self.layers.split_last() else {
            return features[..self.width].copy_from_slice(x);
        };
        for (l, Layer { conv, .. }) in inner.iter().enumerate() {
            let (before, after) = activations.split_at_mut(l);
            let input = before.last().map_or(x, |buffer| activations_of(buffer, conv.input, &(0..1)));
            conv.forward_parallel(self.params, input, &mut after[0]);
        }
        let input = activations.last().map_or(x, |buffer| activations_of(buffer, last.conv.input, &(0..1)));
        last.conv.forward_parallel(self.params, input, features);
    }

    /// A few examples of the batch from `first` on, layer by layer; inner activations go to the examples `within` of
    /// `activations`.
    pub fn chunk(
        &self,
        first: usize,
        activations: &mut [Buffer],
        within: Range<usize>,
        (features, stride): (&mut [f32], usize),
        scratch: &mut LayerScratch,
    ) {
        let LayerScratch { observations, winograd: winograd_scratch, tile_cache, .. } = scratch;
        for (l, layer) in self.layers.iter().enumerate() {
            let (before, after) = activations.split_at_mut(l);
            let len = layer.conv.output.padded_len();
            let weights = Weights { params: self.params, filters: &layer.filters };
            let (y, y_stride) = match after.first_mut() {
                Some(buffer) => (&mut buffer[within.start * len..within.end * len], len),
                None => (&mut *features, stride),
            };
            match (&layer.winograd, before.last()) {
                (Some(winograd), Some(buffer)) => {
                    let x = activations_of(buffer, layer.conv.input, &within);
                    winograd.forward(weights, x, (y, y_stride), winograd_scratch);
                }
                (None, Some(buffer)) => {
                    let x = activations_of(buffer, layer.conv.input, &within).chunks(layer.conv.input.padded_len());
                    x.zip(y.chunks_mut(y_stride)).for_each(|(x, y)| layer.conv.forward(self.params, x, y));
                }
                (Some(winograd), None) => {
                    let cache = tile_cache.as_mut().expect("the first layer uses Winograd's method");
                    let pack = |e: usize, out: &mut [f32]| self.observations.pack(first + e, out);
                    let x = (&mut observations[..], pack);
                    winograd.forward_cached(weights, x, (y, y_stride), (&mut *winograd_scratch, cache));
                }
                (None, None) => {
                    for (e, y) in y.chunks_mut(y_stride).enumerate() {
                        let x = self.observations.get(first + e, observations);
                        layer.conv.forward(self.params, x, y);
                    }
                }
            }
        }
        if self.layers.is_empty() {
            for (e, row) in features.chunks_mut(stride).enumerate() {
                row[..self.width].copy_from_slice(self.observations.get(first + e, observations));
            }
        }
    }
}

/// The backward pass through all layers.
pub(super) struct BackwardPass<'a> {
    pub kernel: Kernel,
    pub layers: &'a [Layer],
    pub observations: ObservationReader<'a>,
    /// Range of all convolution parameters in the flat buffers.
    pub range: Range<usize>,
}

/// A few examples of the group that starts at example `group_start` of the batch.
pub(super) struct Chunk {
    pub examples: Range<usize>,
    pub group_start: usize,
}

impl Chunk {
    fn count(&self) -> usize {
        self.examples.len()
    }

    /// The examples' indices in the group.
    fn within_group(&self) -> Range<usize> {
        self.examples.start - self.group_start..self.examples.end - self.group_start
    }

    /// Whether it is the group's first chunk, which overwrites the gradient of an earlier batch.
    fn is_first(&self) -> bool {
        self.examples.start == self.group_start
    }
}

impl BackwardPass<'_> {
    /// Adds the chunk's contribution to its group's gradient. `scratch` holds the gradient of the last layer's outputs.
    pub fn add_chunk(&self, activations: &[Buffer], chunk: Chunk, scratch: &mut Scratch, gradient: &mut [f32]) {
        let Scratch {
            layer: LayerScratch { observations, packed, winograd: winograd_scratch, .. }, d_activations, ..
        } = scratch;
        for (l, layer) in self.layers.iter().enumerate().rev() {
            let Layer { conv, winograd, transposed_filters, .. } = layer;
            let (below, above) = d_activations.split_at_mut(l);
            let dy = activations_of(&above[0], conv.output, &(0..chunk.count()));
            let (dw, db) = self.weight_and_bias(conv, gradient);
            if chunk.is_first() {
                db.fill(0.0);
            }
            self.kernel.add_column_sums(db, dy, conv.output.padded_len() / (conv.output.height * conv.output.width));
            let each_dy = dy.chunks_exact(conv.output.padded_len()).enumerate();
            let start = |e: usize| if e == 0 && chunk.is_first() { Accumulator::Zero } else { Accumulator::C };
            let Some(dx) = below.last_mut() else {
                for (e, dy) in each_dy {
                    let x = self.observations.get(chunk.examples.start + e, observations);
                    let Some(winograd) = winograd else {
                        conv.gradient(x, dy, packed, dw, start(e));
                        continue;
                    };
                    winograd.begin_backward(x, dy, winograd_scratch);
                    winograd.gradient(1, 0 < e || !chunk.is_first(), dw, winograd_scratch);
                }
                return;
            };
            let dx = &mut dx[..chunk.count() * conv.input.padded_len()];
            let x = activations_of(&activations[l - 1], conv.input, &chunk.within_group());
            if let Some(winograd) = winograd {
                winograd.begin_backward(x, dy, winograd_scratch);
                winograd.gradient(chunk.count(), !chunk.is_first(), dw, winograd_scratch);
                winograd.input_gradient(transposed_filters, dx, winograd_scratch);
            } else {
                dx.fill(0.0);
                let pixels = conv.input.padded_len();
                for (((e, dy), x), dx) in each_dy.zip(x.chunks_exact(pixels)).zip(dx.chunks_exact_mut(pixels)) {
                    conv.gradient(x, dy, packed, dw, start(e));
                    conv.add_input_gradient(transposed_filters, dy, dx);
                }
            }
            self.kernel.relu_backward(dx, x);
        }
    }

    /// A layer's weight and bias in the group's gradient. A bias follows its weight, so both can be borrowed at once.
    fn weight_and_bias<'a>(&self, layer: &Conv, gradient: &'a mut [f32]) -> (&'a mut [f32], &'a mut [f32]) {
        let end = layer.bias.as_ref().unwrap_or(&layer.weight).end;
        gradient[layer.weight.start - self.range.start..end - self.range.start].split_at_mut(layer.weight.len())
    }
}

/// `examples` of a buffer of activations.
fn activations_of<'a>(buffer: &'a [f32], shape: ImageShape, examples: &Range<usize>) -> &'a [f32] {
    &buffer[examples.start * shape.padded_len()..examples.end * shape.padded_len()]
}
