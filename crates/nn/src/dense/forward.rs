//! y = x·Wᵀ + b: a batch by the matrix kernel, one row by what of it is not zero. Both give the same bits.

use super::{Dense, SMALL_WORK, TASK_PANELS};
use crate::in_order::in_order;
use crate::kernels::{Activation, Ahead, From, LANES, Product, SparseRow};
use crate::matrix::Matrix;
use crate::padded;

impl Dense {
    /// y[B,O] = activation(x[B,I] · w[O,I]ᵀ + b[O]), for any batch up to the largest, also for one row.
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
            self.forward_row(params, x.row(0), y.padded_row_mut(0), activation);
        } else {
            self.forward_rows(params, x, y, activation);
        }
    }

    fn forward_row(&mut self, params: &[f32], x: &[f32], y: &mut [f32], activation: Activation) {
        self.steps.set(&x[..self.inputs]);
        let (weight, bias) = (&params[self.weight.clone()], self.bias.clone().map(|range| &params[range]));
        share_out(self.inputs * self.outputs, y, TASK_PANELS * LANES, |task, out| {
            let first = task * TASK_PANELS;
            let row = SparseRow {
                steps: &self.steps,
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
        share_out(work, scratch, TASK_PANELS * batch * LANES, |task, out| {
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
                ahead: Ahead::BlockOfB,
            };
            let from = bias.map_or(From::Zero, |bias| From::Bias(&bias[first * LANES..]));
            self.kernel.product(&product, from, out, activation);
        });
        for (b, row) in y.as_mut_slice().chunks_mut(panels * LANES).enumerate() {
            for (panel, out) in row.chunks_mut(LANES).enumerate() {
                out.copy_from_slice(&scratch[(panel * batch + b) * LANES..][..LANES]);
            }
        }
    }
}

/// Cuts `out` into tasks of `len` floats and runs them: on all threads, if `work` multiply-adds are worth their while.
fn share_out(work: usize, out: &mut [f32], len: usize, run: impl Fn(usize, &mut [f32]) + Sync) {
    let tasks = out.chunks_mut(len).enumerate();
    if work < SMALL_WORK {
        tasks.for_each(|(task, out)| run(task, out));
    } else {
        in_order(tasks, |(task, out)| run(task, out));
    }
}
