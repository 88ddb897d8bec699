//! dX of dense layers: gradients of one or several layers that read the same features, added into one matrix.
//!
//! ```text
//! dx[B,I] = Σ_layers dy[B,O] · w[O,I]
//! ```
//!
//! The weights lie in panels of outputs, so the transposed product dxᵀ[I,B] = wᵀ·dyᵀ is the one that reads them in order:
//! sixteen examples are the lanes. Tasks are fixed ranges of inputs; a second pass turns dxᵀ back into rows.

use crate::buffer::Buffer;
use crate::dense::{Dense, SMALL_WORK};
use crate::kernels::{Activation, From, Kernel, LANES, Product};
use crate::matrix::Matrix;
use crate::offsets::Offsets;
use crate::padded;
use rayon::prelude::*;

/// One layer's share of an input gradient.
#[derive(Clone, Copy)]
pub struct Head<'a> {
    /// The layer.
    pub layer: &'a Dense,
    /// Gradient of its outputs.
    pub dy: &'a Matrix,
    /// One factor per input, by which the layer's input had been scaled: its share is multiplied by it. Only the first head
    /// of a list may have one.
    pub input_scale: Option<&'a [f32]>,
}

/// Scratch for input gradients of a given width; nothing is allocated after construction.
#[derive(Debug, Clone)]
pub struct InputGradient {
    kernel: Kernel,
    width: usize,
    max_batch: usize,
    /// dyᵀ of each head in turn: `[batch panels][O][16]`.
    dy_columns: Vec<Buffer>,
    /// dxᵀ: `[ranges][batch panels][RANGE][16]`.
    dx_columns: Buffer,
    segments: Vec<Offsets>,
    range_rows: Offsets,
}

/// Inputs per task.
const RANGE: usize = 96;

impl InputGradient {
    /// Room for the gradients of `layers`, listed in the order in which they will be passed as heads.
    pub fn new(kernel: Kernel, layers: &[&Dense], max_batch: usize) -> Self {
        let width = layers.iter().map(|layer| layer.inputs).max().unwrap_or(0);
        let batch = padded(max_batch);
        Self {
            kernel,
            width,
            max_batch,
            dy_columns: layers.iter().map(|layer| Buffer::zeros(batch * padded(layer.outputs))).collect(),
            dx_columns: Buffer::zeros(width.div_ceil(RANGE) * RANGE * batch),
            segments: layers
                .iter()
                .map(|layer| Offsets::every(layer.inputs * LANES, padded(layer.outputs) / LANES))
                .collect(),
            range_rows: Offsets::every(LANES, RANGE),
        }
    }

    /// Overwrites the first columns of `dx`, as many as the widest head has inputs, with the sum of the heads' shares.
    pub fn compute(&mut self, params: &[f32], heads: &[Head<'_>], dx: &mut Matrix) {
        let batch = dx.rows();
        assert_eq!(heads.len(), self.segments.len(), "input gradient: built for another number of heads");
        assert!(
            heads.iter().skip(1).all(|head| head.input_scale.is_none()),
            "input gradient: a scaled head is not the first"
        );
        assert!(batch <= self.max_batch && self.width <= dx.cols(), "input gradient: dx is [{batch}, {}]", dx.cols());
        let batch_panels = padded(batch) / LANES;
        for (head, columns) in heads.iter().zip(&mut self.dy_columns) {
            assert_eq!(
                (head.dy.rows(), head.dy.cols()),
                (batch, head.layer.outputs),
                "input gradient: dy of another shape"
            );
            transpose_rows(head.dy, columns);
        }
        let work: usize = heads.iter().map(|head| batch * head.layer.inputs * head.layer.outputs).sum();
        let task = batch_panels * RANGE * LANES;
        let dx_columns = &mut self.dx_columns[..self.width.div_ceil(RANGE) * task];
        let run = |(range, out): (usize, &mut [f32])| {
            let first = range * RANGE;
            out.fill(0.0);
            for ((head, columns), segments) in heads.iter().zip(&self.dy_columns).zip(&self.segments) {
                let Some(count) = head.layer.inputs.checked_sub(first).filter(|&left| 0 < left) else { continue };
                let count = count.min(RANGE);
                let product = Product {
                    a: &params[head.layer.weight.clone()][first * LANES..],
                    rows: &self.range_rows,
                    row_count: count,
                    segments,
                    length: LANES,
                    step: 1,
                    b: columns,
                    b_stride: LANES,
                    b_panel: padded(head.layer.outputs) * LANES,
                    panels: batch_panels,
                    c_rows: &self.range_rows,
                    c_panel: RANGE * LANES,
                };
                self.kernel.product(&product, From::C, out, Activation::Linear);
                if let Some(scale) = head.input_scale {
                    for panel in out.chunks_mut(RANGE * LANES) {
                        for (row, &factor) in panel.chunks_mut(LANES).zip(&scale[first..first + count]) {
                            self.kernel.scale(row, factor);
                        }
                    }
                }
            }
        };
        if work < SMALL_WORK {
            dx_columns.chunks_mut(task).enumerate().for_each(run);
        } else {
            dx_columns.par_chunks_mut(task).enumerate().for_each(run);
        }
        let (width, stride) = (self.width, dx.stride());
        let turn =
            |(panel, rows): (usize, &mut [f32])| columns_to_rows(dx_columns, batch_panels, panel, width, rows, stride);
        if work < SMALL_WORK {
            dx.as_mut_slice().chunks_mut(LANES * stride).enumerate().for_each(turn);
        } else {
            dx.as_mut_slice().par_chunks_mut(LANES * stride).enumerate().for_each(turn);
        }
    }
}

/// `[B][stride]` → `[batch panels][stride][16]`, missing examples as zeros.
fn transpose_rows(dy: &Matrix, columns: &mut [f32]) {
    let stride = dy.stride();
    for (panel, rows) in dy.as_slice().chunks(LANES * stride).enumerate() {
        let out = &mut columns[panel * stride * LANES..][..stride * LANES];
        if rows.len() < LANES * stride {
            out.fill(0.0);
        }
        for (b, row) in rows.chunks(stride).enumerate() {
            for (n, &value) in row.iter().enumerate() {
                out[n * LANES + b] = value;
            }
        }
    }
}

/// The examples of one batch panel of dxᵀ as rows.
fn columns_to_rows(columns: &[f32], batch_panels: usize, panel: usize, width: usize, rows: &mut [f32], stride: usize) {
    for first in (0..width).step_by(RANGE) {
        let block = &columns[(first / RANGE * batch_panels + panel) * RANGE * LANES..][..RANGE * LANES];
        let count = (width - first).min(RANGE);
        for (b, row) in rows.chunks_mut(stride).enumerate() {
            for (k, out) in row[first..first + count].iter_mut().enumerate() {
                *out = block[k * LANES + b];
            }
        }
    }
}
