//! The convolutional torso: observations in, one row of features per example out; gradient of the features in, gradients of
//! all convolution parameters out.
//!
//! This file distributes the batch over threads; `torso/pass.rs` takes a few examples through all layers, forward and backward.
//! The batch is split into at most eight groups of consecutive examples, a number that does not depend on the threads. One
//! thread computes a group, a few examples at a time, so that their activations and gradients stay in the second-level cache;
//! the groups' weight gradients are added in order. A single example, as in acting, is split by rows of its images instead.

mod pass;
mod scratch;
#[cfg(test)]
mod tests;

use crate::buffer::Buffer;
use crate::conv::{Conv, ConvContext, ConvSpec, ImageOrder, ImageShape};
use crate::dense::WeightUpdate;
use crate::error::NnError;
use crate::kernels::Kernel;
use crate::matrix::Matrix;
use crate::params::{InputOrder, Layout, TensorId};
use crate::winograd::CHUNK;
use crate::work_queue::work_queue;
use pass::{BackwardPass, Chunk, ForwardPass, Layer, ObservationReader};
use rayon::prelude::*;
use scratch::{Scratch, ScratchPool};
use std::ops::Range;

/// Shape of a torso. Without layers the features are the (scaled) observation itself.
#[derive(Debug, Clone, PartialEq)]
pub struct TorsoSpec {
    /// Shape of an observation; a plain vector of n numbers is n × 1 × 1.
    pub input: ImageShape,
    /// Factor on observation bytes: 1/255 for screens, 1 for bytes that are numbers. Observations of floats are not scaled.
    pub byte_scale: f32,
    /// The convolutions, each followed by ReLU. Their tensors are named `conv1.weight`, `conv1.bias`, `conv2.weight`, …
    pub layers: Vec<ConvSpec>,
    /// Whether the convolutions have biases.
    pub has_bias: bool,
}

/// A batch of observations, one after the other, each `[channels][height][width]`.
#[derive(Debug, Clone, Copy)]
pub enum Observations<'a> {
    /// Multiplied by [`TorsoSpec::byte_scale`].
    Bytes(&'a [u8]),
    /// Used without scaling.
    Floats(&'a [f32]),
}

/// The torso: shapes, ranges of its parameters in the flat buffers, and scratch. The parameters are passed in.
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
    scratch: ScratchPool,
}

/// Activations of all layers but the last, stored by a forward pass for its backward pass.
#[derive(Debug, Clone)]
pub struct Trace {
    groups: Vec<Vec<Buffer>>,
}

/// Most groups of a batch.
const GROUPS: usize = 8;

/// Parameters per task when the groups' gradients are added.
const SUM_TASK: usize = 4096;

impl Torso {
    /// Checks all shapes and adds the convolutions' tensors to `layout`. `max_batch` is the largest batch it will be used with.
    pub fn new(kernel: Kernel, spec: &TorsoSpec, max_batch: usize, layout: &mut Layout) -> Result<Self, NnError> {
        Self::prefixed(kernel, "", spec, max_batch, layout)
    }

    /// As [`Torso::new`], the names of its tensors beginning with `prefix`, for a second torso in the same layout.
    pub fn prefixed(
        kernel: Kernel,
        prefix: &str,
        spec: &TorsoSpec,
        max_batch: usize,
        layout: &mut Layout,
    ) -> Result<Self, NnError> {
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
            let (input, order) = layers
                .last()
                .map_or((spec.input, ImageOrder::ChannelsFirst), |last| (last.conv.output, ImageOrder::ChannelsLast));
            let context = ConvContext { input, order, has_bias: spec.has_bias };
            let conv = Conv::new(kernel, &format!("{prefix}conv{}", i + 1), conv, context, layout)?;
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
            scratch: ScratchPool::new(group_count(max_batch), || Scratch::new(spec.input, &layers, max_batch)),
            params,
            layers,
        })
    }

    /// Columns of the features in a row, in PyTorch's order of flattening; its width is the number of columns written.
    pub fn features(&self) -> &InputOrder {
        &self.order
    }

    /// Range of all convolution parameters in the flat buffers.
    pub fn param_range(&self) -> Range<usize> {
        self.params.clone()
    }

    /// Weight and bias of each convolution.
    pub fn tensors(&self) -> impl Iterator<Item = (TensorId, Option<TensorId>)> {
        self.layers.iter().map(|layer| (layer.conv.weight_id, layer.conv.bias_id))
    }

    /// Memory for the activations that a backward pass needs of a forward pass.
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

    /// features[B,F] of a batch, storing in `trace` what [`Torso::backward`] needs. Columns after the features are not written.
    pub fn forward(
        &mut self,
        params: &[f32],
        observations: Observations<'_>,
        trace: &mut Trace,
        features: &mut Matrix,
    ) {
        let batch = self.check(observations, features);
        self.layers.par_iter_mut().for_each(|layer| layer.pack_filters_for_training(params));
        let pass = self.forward_pass(params, observations);
        let per_group = batch.div_ceil(group_count(batch));
        let stride = features.stride();
        let tasks = features.as_mut_slice().chunks_mut(per_group * stride).zip(&mut trace.groups);
        work_queue(tasks.enumerate(), |(g, (rows, activations))| {
            let Scratch { layer: scratch, .. } = &mut *self.scratch.acquire();
            for (n, rows) in rows.chunks_mut(CHUNK * stride).enumerate() {
                let within = n * CHUNK..n * CHUNK + rows.len() / stride;
                pass.chunk(g * per_group + within.start, activations, within, (rows, stride), scratch);
            }
        });
    }

    /// features[B,F] of a batch without a backward pass; with one observation, the pass for acting.
    pub fn infer(&mut self, params: &[f32], observations: Observations<'_>, features: &mut Matrix) {
        let batch = self.check(observations, features);
        let stride = features.stride();
        if batch == 1 {
            let Scratch { layer: scratch, activations, .. } = &mut *self.scratch.acquire();
            let pass = self.forward_pass(params, observations);
            return pass.single(activations, features.as_mut_slice(), scratch);
        }
        self.layers.par_iter_mut().for_each(|layer| layer.pack_filters(params));
        let pass = self.forward_pass(params, observations);
        let per_group = batch.div_ceil(group_count(batch));
        work_queue(features.as_mut_slice().chunks_mut(per_group * stride).enumerate(), |(g, rows)| {
            let Scratch { layer: scratch, activations, .. } = &mut *self.scratch.acquire();
            for (n, rows) in rows.chunks_mut(CHUNK * stride).enumerate() {
                let (first, count) = (g * per_group + n * CHUNK, rows.len() / stride);
                pass.chunk(first, activations, 0..count, (rows, stride), scratch);
            }
        });
    }

    /// Gradients of all convolution parameters, overwriting their range of `gradients`. `d_features` is the gradient of the
    /// features; `observations`, `trace` and `features` are those of the last forward pass with a trace. Threads without a group
    /// left run `updates` meanwhile.
    pub fn backward<'a>(
        &mut self,
        observations: Observations<'_>,
        trace: &Trace,
        features: &Matrix,
        d_features: &Matrix,
        gradients: &mut [f32],
        updates: impl Iterator<Item = WeightUpdate<'a>> + Send,
    ) {
        if self.layers.is_empty() {
            return work_queue(updates, WeightUpdate::run);
        }
        let batch = self.check(observations, features);
        let shape = (d_features.rows(), d_features.stride());
        assert_eq!(shape, (batch, features.stride()), "torso backward: d_features has another shape than features");
        let observations = self.reader(observations);
        let Self { kernel, layers, gradients: groups, scratch, params: range, order, .. } = self;
        let pass = BackwardPass { kernel: *kernel, layers, observations, range: range.clone() };
        let per_group = batch.div_ceil(group_count(batch));
        let groups = &mut groups[..batch.div_ceil(per_group)];
        let run_group = |g: usize, gradient: &mut [f32], activations: &[Buffer]| {
            let scratch = &mut *scratch.acquire();
            let (group_start, end) = (g * per_group, batch.min((g + 1) * per_group));
            for first in (group_start..end).step_by(CHUNK) {
                let examples = first..end.min(first + CHUNK);
                let top = scratch.d_activations.last_mut().expect("there is a layer");
                for (e, d) in examples.clone().zip(top.chunks_mut(order.width())) {
                    d.copy_from_slice(&d_features.padded_row(e)[..order.width()]);
                    kernel.relu_backward(d, &features.padded_row(e)[..order.width()]);
                }
                pass.add_chunk(activations, Chunk { examples, group_start }, scratch, gradient);
            }
        };
        let tasks = groups.iter_mut().zip(&trace.groups).enumerate().map(Task::Group).chain(updates.map(Task::Update));
        work_queue(tasks, |task| match task {
            Task::Group((g, (gradient, activations))) => run_group(g, gradient, activations),
            Task::Update(update) => update.run(),
        });
        gradients[range.clone()].par_chunks_mut(SUM_TASK).enumerate().for_each(|(task, sum)| {
            let at = task * SUM_TASK..task * SUM_TASK + sum.len();
            sum.copy_from_slice(&groups[0][at.clone()]);
            for group in &groups[1..] {
                kernel.add(sum, &group[at.clone()]);
            }
        });
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

    fn forward_pass<'a>(&'a self, params: &'a [f32], observations: Observations<'a>) -> ForwardPass<'a> {
        let observations = self.reader(observations);
        ForwardPass { layers: &self.layers, params, observations, width: self.order.width() }
    }

    fn reader<'a>(&self, all: Observations<'a>) -> ObservationReader<'a> {
        let space_to_depth = self.layers.first().and_then(|first| first.conv.space_to_depth);
        ObservationReader { kernel: self.kernel, all, shape: self.input, space_to_depth, byte_scale: self.byte_scale }
    }
}

fn group_count(batch: usize) -> usize {
    batch.min(GROUPS)
}

/// One task of a backward pass: a group of examples with its gradient and activations, or a weight update of a dense layer.
enum Task<'g, 'a> {
    Group((usize, (&'g mut Buffer, &'g Vec<Buffer>))),
    Update(WeightUpdate<'a>),
}
