//! The convolutional torso: observations in, one row of features per example out, and the way back.
//!
//! The batch is cut into at most eight groups of neighbouring examples, a number that never depends on the threads. A group
//! is computed by one thread, a few examples at a time, so that their data stay in the second-level cache; the groups' weight
//! gradients are added in order.

mod backward;
mod forward;
mod room;
#[cfg(test)]
mod tests;

use crate::buffer::Buffer;
use crate::conv::{Conv, ConvSpec, ImageShape, Order, Place};
use crate::error::NnError;
use crate::kernels::Kernel;
use crate::matrix::Matrix;
use crate::params::{InputOrder, Layout, TensorId};
use crate::winograd::{EXAMPLES, Winograd};
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

impl Layer {
    /// The first layer, which multiplies as many tiles at once as one example has: more would not stay in the cache.
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

/// The places `examples` of a buffer of activations.
fn activations<'a>(buffer: &'a [f32], shape: ImageShape, examples: &Range<usize>) -> &'a [f32] {
    &buffer[examples.start * shape.padded_len()..examples.end * shape.padded_len()]
}
