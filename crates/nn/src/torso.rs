//! The convolutional torso: observations in, one row of features per example out, and the way back.
//!
//! The batch is cut into at most eight groups of neighbouring examples, a number that never depends on the threads. A group
//! is computed by one thread, a few examples at a time, so that their data stay in the second-level cache; the groups' weight
//! gradients are added in order.

mod backward;
mod room;
#[cfg(test)]
mod tests;

use crate::blocks::Blocks;
use crate::buffer::Buffer;
use crate::conv::{Conv, ConvSpec, ImageShape, Order, Place};
use crate::error::NnError;
use crate::kernels::Kernel;
use crate::matrix::Matrix;
use crate::params::{InputOrder, Layout, TensorId};
use crate::winograd::{EXAMPLES, Positions, Winograd};
use rayon::prelude::*;
use room::{Room, Rooms};
use std::ops::Range;

/// What a torso is. Without layers the features are the (scaled) observation itself.
#[derive(Debug, Clone, PartialEq)]
pub struct TorsoSpec {
    /// Shape of an observation; a plain vector of n numbers is n × 1 × 1.
    pub input: ImageShape,
    /// Factor on observation bytes: 1/255 for screens, 1 for bytes that are numbers. Observations of floats are not scaled.
    pub byte_scale: f32,
    /// The convolutions, each followed by ReLU. They are called `conv1`, `conv2`, …
    pub layers: Vec<ConvSpec>,
    /// Whether the convolutions have biases.
    pub has_bias: bool,
}

/// A batch of observations, one behind the other, each `[channels][height][width]`.
#[derive(Debug, Clone, Copy)]
pub enum Observations<'a> {
    /// Bytes, scaled on the way in.
    Bytes(&'a [u8]),
    /// Numbers taken as they are.
    Floats(&'a [f32]),
}

/// The torso: shapes, places of its parameters, scratch.
#[derive(Debug, Clone)]
pub struct Torso {
    kernel: Kernel,
    input: ImageShape,
    byte_scale: f32,
    layers: Vec<Layer>,
    order: InputOrder,
    max_batch: usize,
    /// The convolutions' parameters are contiguous in the flat buffers.
    params: Range<usize>,
    /// The gradient of each group's examples.
    gradients: Vec<Buffer>,
    rooms: Rooms,
}

/// One convolution, and the faster way to compute it for several examples where there is one.
#[derive(Debug, Clone)]
struct Layer {
    conv: Conv,
    winograd: Option<Winograd>,
    /// Weights as the forward pass of `winograd` reads them.
    filters: Buffer,
    /// Weights as the input gradient reads them; none for the first layer, which has no such gradient.
    filters_across: Buffer,
}

/// Activations of all layers but the last, kept by a forward pass for its backward pass.
#[derive(Debug, Clone)]
pub struct Trace {
    groups: Vec<Vec<Buffer>>,
}

const GROUPS: usize = 8;

impl Torso {
    /// Checks all shapes and adds the convolutions' tensors to `layout`. `max_batch` is the largest batch it will ever see.
    pub fn new(kernel: Kernel, spec: &TorsoSpec, max_batch: usize, layout: &mut Layout) -> Result<Self, NnError> {
        let sizes = [
            ("the number of channels", spec.input.channels),
            ("the height", spec.input.height),
            ("the width", spec.input.width),
            ("the batch size", max_batch),
        ];
        if let Some(&(what, _)) = sizes.iter().find(|(_, size)| *size == 0) {
            return Err(NnError::ZeroSize { layer: "input".to_owned(), what });
        }
        let first = layout.len();
        let mut layers: Vec<Layer> = Vec::new();
        for (i, &conv) in spec.layers.iter().enumerate() {
            let (input, order) =
                layers.last().map_or((spec.input, Order::Planes), |last| (last.conv.output, Order::Pixels));
            let place = Place { input, order, has_bias: spec.has_bias };
            let conv = Conv::new(kernel, &format!("conv{}", i + 1), conv, place, layout)?;
            layers.push(if i == 0 { Layer::first(conv) } else { Layer::inner(conv) });
        }
        let params = first..layout.len();
        let order = match layers.last() {
            Some(Layer { conv, .. }) => InputOrder::image(conv.output.channels, conv.output.height * conv.output.width),
            None => InputOrder::natural(spec.input.len()),
        };
        Ok(Self {
            kernel,
            input: spec.input,
            byte_scale: spec.byte_scale,
            order,
            max_batch,
            gradients: (0..group_count(max_batch)).map(|_| Buffer::zeros(params.len())).collect(),
            rooms: Rooms::new(group_count(max_batch), || Room::new(spec.input, &layers, max_batch)),
            params,
            layers,
        })
    }

    /// Where the features lie in a row, in PyTorch's order of flattening; its width is the number of columns written.
    pub fn features(&self) -> &InputOrder {
        &self.order
    }

    /// Place of all convolution parameters in the flat buffers.
    pub fn param_range(&self) -> Range<usize> {
        self.params.clone()
    }

    /// Weight and bias of each convolution.
    pub fn tensors(&self) -> impl Iterator<Item = (TensorId, Option<TensorId>)> {
        self.layers.iter().map(|layer| (layer.conv.weight_id, layer.conv.bias_id))
    }

    /// Room for what a backward pass needs of a forward pass.
    pub fn trace(&self) -> Trace {
        let per_group = self.max_batch.div_ceil(GROUPS.min(self.max_batch));
        let group = || {
            self.layers
                .iter()
                .take(self.layers.len().saturating_sub(1))
                .map(|layer| Buffer::zeros(per_group * layer.conv.output.padded_len()))
                .collect()
        };
        Trace { groups: (0..self.gradients.len()).map(|_| group()).collect() }
    }

    /// features[B,F] of a batch, keeping in `trace` what [`Torso::backward`] needs. Columns behind the features are left alone.
    pub fn forward(
        &mut self,
        params: &[f32],
        observations: Observations<'_>,
        trace: &mut Trace,
        features: &mut Matrix,
    ) {
        let batch = self.check(observations, features);
        self.transform_filters(params);
        let observed = self.observed(observations);
        let per_group = batch.div_ceil(group_count(batch));
        let stride = features.stride();
        let tasks = features.as_mut_slice().par_chunks_mut(per_group * stride).zip(&mut trace.groups);
        tasks.enumerate().for_each(|(g, (rows, kept))| {
            let Room { observation, positions, .. } = &mut *self.rooms.enter();
            let pass = Forward { layers: &self.layers, params, observed, width: self.order.width() };
            for (n, rows) in rows.chunks_mut(EXAMPLES * stride).enumerate() {
                let places = n * EXAMPLES..n * EXAMPLES + rows.len() / stride;
                let first = g * per_group + places.start;
                pass.several(first, kept, places, (rows, stride), (observation, positions));
            }
        });
    }

    /// features[B,F] of a batch when no backward pass follows; also the way to act, with one observation.
    pub fn infer(&mut self, params: &[f32], observations: Observations<'_>, features: &mut Matrix) {
        let batch = self.check(observations, features);
        let observed = self.observed(observations);
        let stride = features.stride();
        if batch == 1 {
            let Room { observation, passing, .. } = &mut *self.rooms.enter();
            let pass = Forward { layers: &self.layers, params, observed, width: self.order.width() };
            return pass.one(passing, features.as_mut_slice(), observation);
        }
        self.transform_filters(params);
        let per_group = batch.div_ceil(group_count(batch));
        features.as_mut_slice().par_chunks_mut(per_group * stride).enumerate().for_each(|(g, rows)| {
            let Room { observation, passing, positions, .. } = &mut *self.rooms.enter();
            let pass = Forward { layers: &self.layers, params, observed, width: self.order.width() };
            for (n, rows) in rows.chunks_mut(EXAMPLES * stride).enumerate() {
                let (first, count) = (g * per_group + n * EXAMPLES, rows.len() / stride);
                pass.several(first, passing, 0..count, (rows, stride), (observation, positions));
            }
        });
    }

    fn transform_filters(&mut self, params: &[f32]) {
        self.layers.par_iter_mut().for_each(|Layer { winograd, filters, .. }| {
            let Some(winograd) = winograd else { return };
            let pieces = filters.par_chunks_mut(winograd.filters_piece()).enumerate();
            pieces.for_each(|(piece, out)| winograd.filters(params, piece, out));
        });
    }

    fn observed<'a>(&self, all: Observations<'a>) -> Observed<'a> {
        let blocks = self.layers.first().and_then(|first| first.conv.blocks);
        Observed { kernel: self.kernel, all, shape: self.input, blocks, byte_scale: self.byte_scale }
    }

    fn check(&self, observations: Observations<'_>, features: &Matrix) -> usize {
        let batch = features.rows();
        let len = match observations {
            Observations::Bytes(bytes) => bytes.len(),
            Observations::Floats(floats) => floats.len(),
        };
        assert_eq!(len, batch * self.input.len(), "torso: observations are not [B={batch}, {:?}]", self.input);
        assert!(
            self.order.width() <= features.cols(),
            "torso: {} features do not fit into {} columns",
            self.order.width(),
            features.cols()
        );
        assert!(batch <= self.max_batch, "torso: batch {batch} exceeds {}", self.max_batch);
        batch
    }
}

fn group_count(batch: usize) -> usize {
    batch.min(GROUPS)
}

/// A batch of observations with what is needed to read one of them as the first layer does.
#[derive(Clone, Copy)]
struct Observed<'a> {
    kernel: Kernel,
    all: Observations<'a>,
    shape: ImageShape,
    blocks: Option<Blocks>,
    byte_scale: f32,
}

impl Observed<'_> {
    /// Observation `i`: where it lies if that will do, else laid into `scratch`.
    fn get<'s>(&'s self, i: usize, scratch: &'s mut [f32]) -> &'s [f32] {
        let range = i * self.shape.len()..(i + 1) * self.shape.len();
        match (self.all, self.blocks) {
            (Observations::Floats(floats), None) => return &floats[range],
            (Observations::Floats(floats), Some(blocks)) => blocks.lay_floats(&floats[range], scratch),
            (Observations::Bytes(bytes), None) => self.kernel.bytes_to_floats(scratch, &bytes[range], self.byte_scale),
            (Observations::Bytes(bytes), Some(blocks)) => {
                blocks.lay_bytes(self.kernel, &bytes[range], self.byte_scale, scratch)
            }
        }
        scratch
    }
}

impl Layer {
    /// The first layer, which takes examples one by one: it has so many tiles that more would not stay in the cache.
    fn first(conv: Conv) -> Self {
        Self::with(Winograd::of(&conv, 1), 0, conv)
    }

    fn inner(conv: Conv) -> Self {
        let winograd = Winograd::of(&conv, EXAMPLES);
        let across = winograd.as_ref().map_or(conv.transposed_len(), Winograd::filters_len);
        Self::with(winograd, across, conv)
    }

    fn with(winograd: Option<Winograd>, across: usize, conv: Conv) -> Self {
        let filters = winograd.as_ref().map_or(0, Winograd::filters_len);
        Self { conv, winograd, filters: Buffer::zeros(filters), filters_across: Buffer::zeros(across) }
    }
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
        (observation, positions): (&mut [f32], &mut Positions),
    ) {
        for (l, layer) in self.layers.iter().enumerate() {
            let (before, after) = kept.split_at_mut(l);
            let len = layer.conv.output.padded_len();
            let (y, y_stride) = match after.first_mut() {
                Some(buffer) => (&mut buffer[places.start * len..places.end * len], len),
                None => (&mut *features, stride),
            };
            match (&layer.winograd, before.last()) {
                (Some(winograd), Some(buffer)) => {
                    let x = activations(buffer, layer.conv.input, &places);
                    winograd.forward(self.params, &layer.filters, x, (y, y_stride), positions);
                }
                (_, Some(buffer)) => {
                    let x = activations(buffer, layer.conv.input, &places).chunks(layer.conv.input.padded_len());
                    x.zip(y.chunks_mut(y_stride)).for_each(|(x, y)| layer.conv.forward(self.params, x, y));
                }
                (winograd, None) => {
                    for (e, y) in y.chunks_mut(y_stride).enumerate() {
                        let x = self.observed.get(first + e, observation);
                        match winograd {
                            Some(winograd) => {
                                winograd.forward(self.params, &layer.filters, x, (y, y_stride), positions);
                            }
                            None => layer.conv.forward(self.params, x, y),
                        }
                    }
                }
            }
        }
        if self.layers.is_empty() {
            for (e, row) in features.chunks_mut(stride).enumerate() {
                row[..self.width].copy_from_slice(self.observed.get(first + e, observation));
            }
        }
    }
}

/// The places `examples` of a buffer of activations.
fn activations<'a>(buffer: &'a [f32], shape: ImageShape, examples: &Range<usize>) -> &'a [f32] {
    &buffer[examples.start * shape.padded_len()..examples.end * shape.padded_len()]
}
