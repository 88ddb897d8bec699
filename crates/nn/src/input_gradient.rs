//! The input gradient of dense layers: of one layer, or of several that read the same features, summed into one matrix.
//!
//! ```text
//! dx[B,I] = Σ_layers dy[B,O] · w[O,I]
//! ```
//!
//! The weights are panels of outputs, so the transposed product dxᵀ[I,B] = wᵀ·dyᵀ reads them in memory order, with sixteen
//! examples as the lanes. Tasks are fixed ranges of inputs; a second pass transposes dxᵀ into rows.

use crate::buffer::Buffer;
use crate::dense::{Dense, SMALL_WORK};
use crate::kernels::{Accumulator, Activation, Kernel, LANES, Offsets, Prefetch, Product};
use crate::matrix::Matrix;
use crate::padded;
use crate::work_queue::work_queue;
use rayon::prelude::*;
use std::ops::Range;

/// One layer's contribution to an input gradient.
#[derive(Clone, Copy)]
pub struct Head<'a> {
    pub layer: &'a Dense,
    /// Gradient of its outputs.
    pub dy: &'a Matrix,
    /// One factor per input, by which the layer's input was scaled: the contribution is multiplied by it. Only the first head
    /// of a list may have one.
    pub input_scale: Option<&'a [f32]>,
}

/// Computes input gradients; holds the scratch memory, so that nothing is allocated after construction.
#[derive(Debug, Clone)]
pub struct InputGradient {
    kernel: Kernel,
    width: usize,
    max_batch: usize,
    /// dyᵀ of each head: `[batch panels][O][16]`.
    dy_columns: Vec<Buffer>,
    /// dxᵀ: `[ranges][batch panels][RANGE][16]`.
    dx_columns: Buffer,
    segments: Vec<Offsets>,
    range_rows: Offsets,
}

/// Inputs per task.
const RANGE: usize = 224;

impl InputGradient {
    /// Scratch for the gradients of `layers`, listed in the order in which they will be passed as heads.
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

    /// Overwrites the first columns of `dx`, as many as the widest head has inputs, with the sum of the heads' contributions.
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
            transpose_rows(self.kernel, head.dy, columns);
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
                    segment_count: segments.len(),
                    length: LANES,
                    step: 1,
                    b: columns,
                    b_stride: LANES,
                    b_panel: padded(head.layer.outputs) * LANES,
                    panels: batch_panels,
                    c_rows: &self.range_rows,
                    c_panel: RANGE * LANES,
                    prefetch: Prefetch::RowsOfA,
                };
                self.kernel.product(&product, Accumulator::C, out, Activation::Linear);
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
            work_queue(dx_columns.chunks_mut(task).enumerate(), run);
        }
        let (kernel, width, stride) = (self.kernel, self.width, dx.stride());
        let transpose = |(panel, rows): (usize, &mut [f32])| {
            for (range, block) in dx_columns.chunks(task).enumerate() {
                let block = &block[panel * RANGE * LANES..][..RANGE * LANES];
                columns_to_rows(kernel, block, range * RANGE..width.min((range + 1) * RANGE), rows, stride);
            }
        };
        if work < SMALL_WORK {
            dx.as_mut_slice().chunks_mut(LANES * stride).enumerate().for_each(transpose);
        } else {
            dx.as_mut_slice().par_chunks_mut(LANES * stride).enumerate().for_each(transpose);
        }
    }
}

/// `[B][stride]` → `[batch panels][O][16]`, missing examples as zeros.
fn transpose_rows(kernel: Kernel, dy: &Matrix, columns: &mut [f32]) {
    let (stride, width) = (dy.stride(), padded(dy.cols()));
    let mut block = [0.0; LANES * LANES];
    for (panel, rows) in dy.as_slice().chunks(LANES * stride).enumerate() {
        let out = &mut columns[panel * width * LANES..][..width * LANES];
        for (n, out) in out.chunks_mut(LANES * LANES).enumerate() {
            block.fill(0.0);
            for (row, out) in rows.chunks(stride).zip(block.chunks_mut(LANES)) {
                out.copy_from_slice(&row[n * LANES..(n + 1) * LANES]);
            }
            kernel.transpose(&block, out, LANES);
        }
    }
}

/// Transposes one range of inputs of one batch panel of dxᵀ to columns `range` of the rows of its examples.
fn columns_to_rows(kernel: Kernel, block: &[f32], range: Range<usize>, rows: &mut [f32], stride: usize) {
    let whole = if rows.len() == LANES * stride { range.len() / LANES * LANES } else { 0 };
    if 0 < whole {
        kernel.transpose(&block[..whole * LANES], &mut rows[range.start..], stride);
    }
    for (b, row) in rows.chunks_mut(stride).enumerate() {
        for (out, column) in row[range.start + whole..range.end].iter_mut().zip(block[whole * LANES..].chunks(LANES)) {
            *out = column[b];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dense::DenseSpec;
    use crate::init::Init;
    use crate::params::{InputOrder, Layout};
    use crate::reference::{assert_close, numbers, tensor, uniform};
    use proptest::prelude::*;

    struct Built {
        layout: Layout,
        params: Buffer,
        first: Dense,
        second: Dense,
        dy: (Matrix, Matrix),
        factors: Vec<f32>,
    }

    fn built(kernel: Kernel, (inputs, extra, outputs): (usize, usize, [usize; 2]), batch: usize) -> Built {
        let mut layout = Layout::default();
        let order = InputOrder::natural(inputs);
        let mut dense = |weight, inputs, outputs| {
            Dense::new(kernel, &DenseSpec { weight, bias: None, inputs, outputs }, batch, &mut layout).unwrap()
        };
        let first = dense("a.weight", order.clone(), outputs[0]);
        let second = dense("b.weight", order.followed_by(extra), outputs[1]);
        let mut params = layout.zeros();
        let mut next = uniform(2);
        for (_, id) in layout.names() {
            layout.initialise(&mut params, id, Init::Uniform(0.5), &mut next);
        }
        let matrix = |cols: usize, seed| {
            let mut dy = Matrix::zeros(batch, cols);
            (0..batch).for_each(|b| dy.row_mut(b).copy_from_slice(&numbers(cols, seed + b as u64)));
            dy
        };
        let dy = (matrix(outputs[0], 100), matrix(outputs[1], 200));
        Built { layout, params, first, second, dy, factors: numbers(inputs, 5) }
    }

    fn compute(built: &Built, kernel: Kernel) -> Matrix {
        let Built { params, first, second, dy, factors, .. } = built;
        let mut dx = Matrix::zeros(dy.0.rows(), second.inputs());
        let heads = [
            Head { layer: first, dy: &dy.0, input_scale: Some(factors) },
            Head { layer: second, dy: &dy.1, input_scale: None },
        ];
        InputGradient::new(kernel, &[first, second], dy.0.rows()).compute(params, &heads, &mut dx);
        dx
    }

    /// Σ_heads scale · Σ_o dy[o] w[o,i], which is the derivative of Σ_heads Σ_o dy[o] y[o] by x[i].
    fn check(kernel: Kernel, shape: (usize, usize, [usize; 2]), batch: usize) {
        let built = built(kernel, shape, batch);
        let dx = compute(&built, kernel);
        let a = tensor(&built.layout, &built.params, built.first.weight());
        let b = tensor(&built.layout, &built.params, built.second.weight());
        let width = built.second.inputs();
        for e in 0..batch {
            for i in 0..width {
                let share = |w: &[f64], inputs: usize, dy: &Matrix| {
                    dy.row(e).iter().enumerate().map(|(o, &dy)| f64::from(dy) * w[o * inputs + i]).sum::<f64>()
                };
                let scaled =
                    if i < shape.0 { f64::from(built.factors[i]) * share(&a, shape.0, &built.dy.0) } else { 0.0 };
                assert_close(dx.row(e)[i], scaled + share(&b, width, &built.dy.1), 1e-5, "dx");
            }
        }
    }

    #[test]
    fn two_heads_add_their_contributions_on_every_kernel() {
        for kernel in Kernel::available() {
            check(kernel, (300, 6, [70, 17]), 32);
            check(kernel, (33, 0, [1, 20]), 5);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn any_shape_and_batch_equals_the_definition(inputs in 1_usize..260, extra in 0_usize..5, a in 1_usize..40, b in 1_usize..40, batch in 1_usize..65) {
            check(Kernel::detect(), (inputs, extra, [a, b]), batch);
        }
    }

    #[test]
    fn the_number_of_threads_changes_no_bit() {
        let kernel = Kernel::detect();
        let built = built(kernel, (1000, 3, [130, 64]), 37);
        let on = |threads: usize| {
            rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(|| compute(&built, kernel))
        };
        let alone = on(1);
        for threads in [2, 3, 8] {
            assert_eq!(on(threads).as_slice(), alone.as_slice());
        }
    }
}
