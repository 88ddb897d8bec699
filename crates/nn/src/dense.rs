//! Dense layers: y = x·Wᵀ + b, and the gradients of it. Reads and writes [`Matrix`] rows; weights live in a flat buffer.
//!
//! Forward and weight gradient share out the panels of sixteen outputs among threads; the input gradient is in
//! `input_gradient.rs`. No result depends on who computes which panel.

mod forward;
mod update;

pub use update::{DenseUpdate, WeightUpdate};

use crate::adam::Adam;
use crate::buffer::Buffer;
use crate::error::NnError;
use crate::kernels::{Activation, Ahead, From, Kernel, LANES, Product, Steps};
use crate::matrix::{Matrix, into_panels};
use crate::offsets::Offsets;
use crate::padded;
use crate::params::{InputOrder, Layout, TensorId};
use rayon::prelude::*;
use std::ops::Range;

/// What a dense layer is.
#[derive(Debug, Clone)]
pub struct DenseSpec<'a> {
    /// PyTorch's name of the weight, for example `fc1.weight`.
    pub weight: &'a str,
    /// PyTorch's name of the bias, if there is one.
    pub bias: Option<&'a str>,
    /// Where its inputs lie in the rows it reads.
    pub inputs: InputOrder,
    /// Number of outputs.
    pub outputs: usize,
}

/// One dense layer: shapes, the places of its parameters, and scratch; the parameters themselves are passed in.
#[derive(Debug, Clone)]
pub struct Dense {
    weight_id: TensorId,
    bias_id: Option<TensorId>,
    pub(crate) weight: Range<usize>,
    bias: Option<Range<usize>>,
    pub(crate) inputs: usize,
    pub(crate) outputs: usize,
    pub(crate) kernel: Kernel,
    max_batch: usize,
    /// Outputs before they are laid into rows: `[panels][B][16]`.
    scratch: Buffer,
    /// What of a single row is not zero.
    steps: Steps,
    zero: Offsets,
    x_rows: Offsets,
    panel_rows: Offsets,
    input_columns: Offsets,
    weight_rows: Offsets,
}

/// Below this many multiply-adds a pass runs on the calling thread: waking another would take longer.
pub(crate) const SMALL_WORK: usize = 1 << 17;

/// Panels per parallel task: two, which is the width of the AVX-512 tile.
const TASK_PANELS: usize = 2;

/// Rows of a weight panel per pass of the weight gradient, so that the inputs of a batch stay in the second-level cache.
const WEIGHT_ROWS: usize = 768;

/// Largest batch whose output gradients a task lays into panels of its own before it uses them.
const PANEL_BATCH: usize = 64;

impl Dense {
    /// Adds the layer's tensors to `layout`. `max_batch` is the largest number of rows it will ever see.
    pub fn new(kernel: Kernel, spec: &DenseSpec<'_>, max_batch: usize, layout: &mut Layout) -> Result<Self, NnError> {
        let (inputs, outputs) = (spec.inputs.width(), spec.outputs);
        let layer = || spec.weight.trim_end_matches(".weight").to_owned();
        for (what, size) in
            [("the number of inputs", inputs), ("the number of outputs", outputs), ("the batch size", max_batch)]
        {
            if size == 0 {
                return Err(NnError::ZeroSize { layer: layer(), what });
            }
        }
        let elements = inputs as u128 * padded(outputs) as u128;
        if u128::from(u32::MAX) < elements {
            return Err(NnError::TooLarge { layer: layer(), elements, limit: u128::from(u32::MAX) });
        }
        let weight_id = layout.add_dense(spec.weight, &spec.inputs, outputs)?;
        let bias_id = spec.bias.map(|name| layout.add_vector(name, outputs)).transpose()?;
        Ok(Self {
            weight_id,
            bias_id,
            weight: layout.range(weight_id),
            bias: bias_id.map(|id| layout.range(id)),
            inputs,
            outputs,
            kernel,
            max_batch,
            scratch: Buffer::zeros(max_batch * padded(outputs)),
            steps: Steps::with_room_for(inputs),
            zero: Offsets::every(0, 1),
            x_rows: Offsets::every(1, max_batch),
            panel_rows: Offsets::every(LANES, max_batch),
            input_columns: Offsets::every(1, WEIGHT_ROWS.min(inputs)),
            weight_rows: Offsets::every(LANES, WEIGHT_ROWS.min(inputs)),
        })
    }

    /// Columns of the input that are read; it may have more.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    /// Number of outputs.
    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// The weight tensor.
    pub fn weight(&self) -> TensorId {
        self.weight_id
    }

    /// The bias tensor.
    pub fn bias(&self) -> Option<TensorId> {
        self.bias_id
    }

    /// Place of the bias in the flat buffers.
    pub fn bias_range(&self) -> Option<Range<usize>> {
        self.bias.clone()
    }

    /// Place of the weight in the flat buffers.
    pub fn weight_range(&self) -> Range<usize> {
        self.weight.clone()
    }

    /// gradients: dW[O,I] = dy[B,O]ᵀ · x[B,I] and db[O] = Σ_b dy[b]; what was there is overwritten.
    pub fn gradient(&self, gradients: &mut [f32], x: &Matrix, dy: &Matrix) {
        self.bias_gradient(gradients, dy);
        let panel_len = self.inputs * LANES;
        let run = |(task, g): (usize, &mut [f32])| {
            self.for_each_block(x, dy, task, g.len() / panel_len, |product, at| {
                self.kernel.product(product, From::Zero, &mut g[at..], Activation::Linear);
            });
        };
        let g = &mut gradients[self.weight.clone()];
        if self.is_small(x) {
            g.chunks_mut(TASK_PANELS * panel_len).enumerate().for_each(run);
        } else {
            g.par_chunks_mut(TASK_PANELS * panel_len).enumerate().for_each(run);
        }
    }

    /// db[O] = Σ_b dy[b], in the order of the batch.
    pub fn bias_gradient(&self, gradients: &mut [f32], dy: &Matrix) {
        assert_eq!(dy.cols(), self.outputs, "dense gradient: dy is not [B, O={}]", self.outputs);
        if let Some(range) = self.bias.clone() {
            let sums = &mut gradients[range];
            sums.fill(0.0);
            self.kernel.add_column_sums(sums, dy.as_slice(), dy.stride());
        }
    }

    /// The bias's gradient and Adam's step on it; `gradients` holds the one in between. The weight's is a [`WeightUpdate`].
    pub fn update_bias(&self, params: &mut [f32], adam: &mut Adam, gradients: &mut [f32], dy: &Matrix) {
        self.bias_gradient(gradients, dy);
        if let Some(range) = self.bias.clone() {
            adam.apply(params, gradients, range);
        }
    }

    fn is_small(&self, x: &Matrix) -> bool {
        x.rows() * self.inputs * self.outputs < SMALL_WORK
    }

    /// The weight gradient of the panels of one task, block by block of inputs; `visit` gets the place of the block.
    fn for_each_block(
        &self,
        x: &Matrix,
        dy: &Matrix,
        task: usize,
        panels: usize,
        mut visit: impl FnMut(&Product<'_>, usize),
    ) {
        assert!(self.inputs <= x.cols(), "dense gradient: x has {} columns, the layer reads {}", x.cols(), self.inputs);
        assert_eq!(
            (dy.rows(), dy.cols()),
            (x.rows(), self.outputs),
            "dense gradient: dy is not [B={}, O={}]",
            x.rows(),
            self.outputs
        );
        let (batch, column) = (x.rows(), task * TASK_PANELS * LANES);
        let mut laid = [0.0; TASK_PANELS * PANEL_BATCH * LANES];
        let (b, b_stride, b_panel) = if batch <= PANEL_BATCH {
            into_panels(dy.as_slice(), dy.stride(), column, panels, &mut laid);
            (&laid[..], LANES, batch * LANES)
        } else {
            (&dy.as_slice()[column..], dy.stride(), LANES)
        };
        let mut first = 0;
        while first < self.inputs {
            let count = (self.inputs - first).min(WEIGHT_ROWS);
            let product = Product {
                a: &x.as_slice()[first..],
                rows: &self.input_columns,
                row_count: count,
                segments: &self.zero,
                segment_count: 1,
                length: batch,
                step: x.stride(),
                b,
                b_stride,
                b_panel,
                panels,
                c_rows: &self.weight_rows,
                c_panel: self.inputs * LANES,
                ahead: Ahead::Nothing,
            };
            visit(&product, first * LANES);
            first += count;
        }
    }
}

#[cfg(test)]
mod tests;
