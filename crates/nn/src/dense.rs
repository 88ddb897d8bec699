//! Dense layers: forward pass, weight and bias gradients, and the weight gradient fused with Adam's step.
//!
//! ```text
//! y[B,O] = activation(x[B,I] · w[O,I]ᵀ + b[O])        dw[O,I] = dy[B,O]ᵀ · x[B,I]        db[O] = Σ_b dy[b,O]
//! ```
//!
//! Activations are [`Matrix`] rows, weights are panels of sixteen outputs in a flat buffer. Threads take panels as tasks, and no
//! result depends on which thread computes which panel. The gradient of the inputs is in `input_gradient.rs`, because layers
//! that read the same features compute theirs together.

use crate::adam::Adam;
use crate::buffer::Buffer;
use crate::error::NnError;
use crate::kernels::{
    Accumulator, Activation, AdamCoefficients, Kernel, LANES, NonZeros, Offsets, Prefetch, Product, SparseRow,
};
use crate::matrix::{Matrix, into_panels};
use crate::padded;
use crate::params::{InputOrder, Layout, TensorId};
use crate::work_queue::work_queue;
use rayon::prelude::*;
use std::ops::Range;

/// Names and shape of a dense layer.
#[derive(Debug, Clone)]
pub struct DenseSpec<'a> {
    /// PyTorch's name of the weight, for example `fc1.weight`.
    pub weight: &'a str,
    /// PyTorch's name of the bias, if there is one.
    pub bias: Option<&'a str>,
    /// Columns of its inputs in the rows it reads.
    pub inputs: InputOrder,
    pub outputs: usize,
}

/// One dense layer: shapes, ranges of its parameters in the flat buffers, and scratch. The parameters are passed in.
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
    /// Outputs before they are copied to rows: `[panels][B][16]`.
    scratch: Buffer,
    /// Non-zero inputs of a single example.
    non_zeros: NonZeros,
    zero: Offsets,
    x_rows: Offsets,
    panel_rows: Offsets,
    input_columns: Offsets,
    weight_rows: Offsets,
}

/// Below this many multiply-adds a pass runs on the calling thread: waking another thread would take longer.
pub(crate) const SMALL_WORK: usize = 1 << 17;

/// Panels per parallel task: two, which is the width of the AVX-512 tile.
const TASK_PANELS: usize = 2;

/// Rows of a weight panel per pass of the weight gradient, so that the inputs of a batch stay in the second-level cache.
const WEIGHT_ROWS: usize = 768;

/// Largest batch whose output gradients a task packs into panels before it uses them.
const PANEL_BATCH: usize = 64;

impl Dense {
    /// Checks the shape and adds the layer's tensors to `layout`. `max_batch` is the largest batch it will be used with.
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
            non_zeros: NonZeros::with_capacity(inputs),
            zero: Offsets::every(0, 1),
            x_rows: Offsets::every(1, max_batch),
            panel_rows: Offsets::every(LANES, max_batch),
            input_columns: Offsets::every(1, WEIGHT_ROWS.min(inputs)),
            weight_rows: Offsets::every(LANES, WEIGHT_ROWS.min(inputs)),
        })
    }

    /// Columns of the input that are read; a matrix may have more.
    pub fn inputs(&self) -> usize {
        self.inputs
    }

    pub fn outputs(&self) -> usize {
        self.outputs
    }

    pub fn weight(&self) -> TensorId {
        self.weight_id
    }

    pub fn bias(&self) -> Option<TensorId> {
        self.bias_id
    }

    /// Range of the bias in the flat buffers.
    pub fn bias_range(&self) -> Option<Range<usize>> {
        self.bias.clone()
    }

    /// Range of the weight in the flat buffers.
    pub fn weight_range(&self) -> Range<usize> {
        self.weight.clone()
    }

    /// y[B,O] = activation(x[B,I] · w[O,I]ᵀ + b[O]). A single row, as in acting, reads only the weights of its non-zero inputs;
    /// the bits are those of the same row in a batch.
    pub fn forward(&mut self, params: &[f32], x: &Matrix, y: &mut Matrix, activation: Activation) {
        let batch = x.rows();
        assert!(self.inputs <= x.cols(), "dense forward: x has {} columns, the layer reads {}", x.cols(), self.inputs);
        assert_eq!(
            (y.rows(), y.cols()),
            (batch, self.outputs),
            "dense forward: y is not [B={batch}, O={}]",
            self.outputs
        );
        assert!(batch <= self.max_batch, "dense forward: batch {batch} exceeds {}", self.max_batch);
        if batch == 1 {
            self.forward_row(params, x.row(0), &mut y.padded_row_mut(0)[..padded(self.outputs)], activation);
        } else {
            self.forward_rows(params, x, y, activation);
        }
    }

    fn forward_row(&mut self, params: &[f32], x: &[f32], y: &mut [f32], activation: Activation) {
        self.non_zeros.set(&x[..self.inputs]);
        let (weight, bias) = (&params[self.weight.clone()], self.bias.clone().map(|range| &params[range]));
        run_tasks(self.inputs * self.outputs, y, TASK_PANELS * LANES, |task, out| {
            let first = task * TASK_PANELS;
            let row = SparseRow {
                non_zeros: &self.non_zeros,
                b: &weight[first * self.inputs * LANES..],
                b_panel: self.inputs * LANES,
                bias: bias.map(|bias| &bias[first * LANES..]),
            };
            self.kernel.sparse_row(row, out, activation);
        });
    }

    fn forward_rows(&mut self, params: &[f32], x: &Matrix, y: &mut Matrix, activation: Activation) {
        let (batch, panels) = (x.rows(), padded(self.outputs) / LANES);
        let (weight, bias) = (&params[self.weight.clone()], self.bias.clone().map(|range| &params[range]));
        self.x_rows.respace(x.stride());
        let work = batch * self.inputs * self.outputs;
        let scratch = &mut self.scratch[..batch * panels * LANES];
        run_tasks(work, scratch, TASK_PANELS * batch * LANES, |task, out| {
            let first = task * TASK_PANELS;
            let product = Product {
                a: x.as_slice(),
                rows: &self.x_rows,
                row_count: batch,
                segments: &self.zero,
                segment_count: 1,
                length: self.inputs,
                step: 1,
                b: &weight[first * self.inputs * LANES..],
                b_stride: LANES,
                b_panel: self.inputs * LANES,
                panels: out.len() / (batch * LANES),
                c_rows: &self.panel_rows,
                c_panel: batch * LANES,
                prefetch: Prefetch::BlockOfB,
            };
            let start = bias.map_or(Accumulator::Zero, |bias| Accumulator::Bias(&bias[first * LANES..]));
            self.kernel.product(&product, start, out, activation);
        });
        for b in 0..batch {
            for (panel, out) in y.padded_row_mut(b)[..panels * LANES].chunks_mut(LANES).enumerate() {
                out.copy_from_slice(&scratch[(panel * batch + b) * LANES..][..LANES]);
            }
        }
    }

    /// dW[O,I] = dy[B,O]ᵀ · x[B,I] and db[O] = Σ_b dy[b], overwriting the layer's ranges of `gradients`.
    pub fn gradient(&self, gradients: &mut [f32], x: &Matrix, dy: &Matrix) {
        self.bias_gradient(gradients, dy);
        let panel_len = self.inputs * LANES;
        let run = |(task, g): (usize, &mut [f32])| {
            self.for_each_block(x, dy, task, g.len() / panel_len, |product, at| {
                self.kernel.product(product, Accumulator::Zero, &mut g[at..], Activation::Linear);
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
    fn bias_gradient(&self, gradients: &mut [f32], dy: &Matrix) {
        assert_eq!(dy.cols(), self.outputs, "dense gradient: dy is not [B, O={}]", self.outputs);
        if let Some(range) = self.bias.clone() {
            let sums = &mut gradients[range];
            sums.fill(0.0);
            self.kernel.add_column_sums(sums, dy.as_slice(), dy.stride());
        }
    }

    /// The bias gradient, stored in `gradients`, and Adam's step with it. The weight has [`Adam::weight_updates`].
    pub fn update_bias(&self, params: &mut [f32], adam: &mut Adam, gradients: &mut [f32], dy: &Matrix) {
        self.bias_gradient(gradients, dy);
        if let Some(range) = self.bias.clone() {
            adam.apply(params, gradients, range);
        }
    }

    fn is_small(&self, x: &Matrix) -> bool {
        x.rows() * self.inputs * self.outputs < SMALL_WORK
    }

    /// The products that are the weight gradient of one task's panels, one per block of inputs; `visit` also gets the offset of
    /// the block in the panels.
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
        let mut packed = [0.0; TASK_PANELS * PANEL_BATCH * LANES];
        let (b, b_stride, b_panel) = if batch <= PANEL_BATCH {
            into_panels(dy.as_slice(), dy.stride(), column, panels, &mut packed);
            (&packed[..], LANES, batch * LANES)
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
                prefetch: Prefetch::Nothing,
            };
            visit(&product, first * LANES);
            first += count;
        }
    }
}

/// A layer whose weight is to be updated, with its inputs x[B,I] and the gradient dy[B,O] of its outputs.
#[derive(Debug, Clone, Copy)]
pub struct DenseUpdate<'a> {
    pub layer: &'a Dense,
    pub x: &'a Matrix,
    pub dy: &'a Matrix,
}

/// One task of a weight update: some outputs of one layer, independent of all other tasks.
#[derive(Debug)]
pub struct WeightUpdate<'a> {
    of: DenseUpdate<'a>,
    task: usize,
    coefficients: AdamCoefficients,
    slices: ParameterSlices<'a>,
}

impl WeightUpdate<'_> {
    /// dW = dyᵀ·x of these outputs and Adam's step with it in one pass; the gradient is not stored.
    pub fn run(self) {
        let Self { of: DenseUpdate { layer, x, dy }, task, coefficients, slices: ParameterSlices { p, m, v } } = self;
        let panels = p.len() / (layer.inputs * LANES);
        layer.for_each_block(x, dy, task, panels, |product, at| {
            layer.kernel.product_adam(product, &coefficients, &mut p[at..], &mut m[at..], &mut v[at..]);
        });
    }
}

impl Adam {
    /// The step of the weights of `layers`, given in the order of the flat buffers, as tasks that may run in any order and in
    /// parallel. Call it once per [`Adam::begin_step`], after the input gradients, which need the old weights.
    pub fn weight_updates<'a>(
        &'a mut self,
        params: &'a mut [f32],
        layers: impl Iterator<Item = DenseUpdate<'a>> + Send,
    ) -> impl Iterator<Item = WeightUpdate<'a>> + Send {
        let (coefficients_at, m, v) = self.step_state();
        let (mut left, mut first) = (ParameterSlices { p: params, m, v }, 0);
        layers.flat_map(move |of| {
            let Range { start, end } = of.layer.weight.clone();
            assert!(first <= start, "adam: layers out of order");
            left.split_off(start - first);
            first = end;
            let coefficients = coefficients_at(start);
            left.split_off(end - start)
                .chunks(TASK_PANELS * of.layer.inputs * LANES)
                .enumerate()
                .map(move |(task, slices)| WeightUpdate { of, task, coefficients, slices })
        })
    }
}

/// Parameters with their first and second moments, over one range.
#[derive(Debug)]
struct ParameterSlices<'a> {
    p: &'a mut [f32],
    m: &'a mut [f32],
    v: &'a mut [f32],
}

impl<'a> ParameterSlices<'a> {
    /// Splits off the first `len`.
    fn split_off(&mut self, len: usize) -> Self {
        let first = |slice: &mut &'a mut [f32]| slice.split_off_mut(..len).expect("the layout holds all layers");
        Self { p: first(&mut self.p), m: first(&mut self.m), v: first(&mut self.v) }
    }

    fn chunks(self, len: usize) -> impl Iterator<Item = Self> + Send {
        let chunks = self.p.chunks_mut(len).zip(self.m.chunks_mut(len)).zip(self.v.chunks_mut(len));
        chunks.map(|((p, m), v)| Self { p, m, v })
    }
}

/// Splits `out` into tasks of `len` floats and runs them, on all threads if `work` multiply-adds are enough to wake them.
fn run_tasks(work: usize, out: &mut [f32], len: usize, run: impl Fn(usize, &mut [f32]) + Sync) {
    let tasks = out.chunks_mut(len).enumerate();
    if work < SMALL_WORK {
        tasks.for_each(|(task, out)| run(task, out));
    } else {
        work_queue(tasks, |(task, out)| run(task, out));
    }
}

#[cfg(test)]
mod tests;
