//! One convolution layer by Winograd's method: several examples at once, forward, weight gradient, input gradient.
//!
//! The image is cut into overlapping tiles of 4 × 4; a tile, a filter and a tile's outputs each have 16 positions after their
//! transforms (`kernels/winograd.rs`), and at each position the layer is one matrix product:
//!
//! ```text
//! forward   m[tile, output] = v[tile, depth] · u[depth, output]
//! weights   du[depth, output] = v[tile, depth]ᵀ · dm[tile, output]
//! inputs    dv[tile, depth] = dm[tile, output] · u[depth, output]ᵀ
//! ```
//!
//! That is 4/9 of the multiplications of a 4 × 4 window of stride 2 on 9 × 9 outputs, 4/7 of those of a 3 × 3 window on 7 × 7.
//! The results are those of `conv.rs` but for rounding.

use crate::buffer::Buffer;
use crate::conv::Conv;
use crate::kernels::{Activation, Ahead, From, Grid, Kernel, LANES, POSITIONS, Product, Slot, position_len};
use crate::offsets::Offsets;
use crate::padded;
use std::ops::Range;

/// Most examples that go through a layer together.
pub(crate) const EXAMPLES: usize = 4;

/// Rows of the depth whose weight gradients are computed together, so that their 16 positions stay in the cache.
const DEPTH_ROWS: usize = 64;

/// The tables of one layer.
#[derive(Debug, Clone)]
pub(crate) struct Winograd {
    kernel: Kernel,
    grid: Grid,
    /// Most examples multiplied together.
    examples: usize,
    weight: Range<usize>,
    bias: Option<Range<usize>>,
    input_len: usize,
    output_len: usize,
    /// Rows of v and of dm, and of what a product writes.
    data_rows: Offsets,
    result_rows: Offsets,
    lane_rows: Offsets,
    columns: Offsets,
    zero: Offsets,
}

/// Memory for the positions of a few examples, for whichever layer is at work.
#[derive(Debug, Clone)]
pub(crate) struct Positions {
    data: Buffer,
    results: Buffer,
    /// One panel of products.
    panel: Buffer,
}

impl Positions {
    /// Room for any of `layers`.
    pub fn new<'a>(layers: impl Iterator<Item = &'a Winograd> + Clone) -> Self {
        let largest = |len: &dyn Fn(&Winograd) -> usize| Buffer::zeros(layers.clone().map(len).max().unwrap_or(0));
        let tiles = |layer: &Winograd| layer.examples * layer.grid.tiles();
        Self {
            data: largest(&|layer| POSITIONS * position_len(tiles(layer), layer.grid.depth())),
            results: largest(&|layer| POSITIONS * position_len(tiles(layer), layer.grid.out_channels)),
            panel: largest(&|layer| POSITIONS * position_len(tiles(layer).max(DEPTH_ROWS), LANES)),
        }
    }
}

impl Winograd {
    /// The same layer as `conv` for up to `examples` examples at once, where the method applies and saves at least a quarter
    /// of the multiplications.
    pub fn of(conv: &Conv, examples: usize) -> Option<Self> {
        let (stride, window) = (conv.stride, conv.window);
        let taps = window / stride;
        if !conv.reads_pixels() || !window.is_multiple_of(stride) || !(2..=3).contains(&taps) {
            return None;
        }
        let grid = Grid {
            taps,
            stride,
            out_height: conv.output.height,
            out_width: conv.output.width,
            in_width: conv.input.width,
            in_channels: padded(conv.input.channels),
            out_channels: padded(conv.output.channels),
        };
        let (direct, tiled) = (conv.output.height * conv.output.width * taps * taps, grid.tiles() * POSITIONS);
        let rows = examples * grid.tiles();
        (4 * tiled <= 3 * direct).then(|| Self {
            kernel: conv.kernel,
            grid,
            examples,
            weight: conv.weight.clone(),
            bias: conv.bias.clone(),
            input_len: conv.input.padded_len(),
            output_len: conv.output.padded_len(),
            data_rows: Offsets::every(grid.depth(), rows),
            result_rows: Offsets::every(grid.out_channels, rows),
            lane_rows: Offsets::every(LANES, rows.max(DEPTH_ROWS)),
            columns: Offsets::every(1, DEPTH_ROWS),
            zero: Offsets::every(0, 1),
        })
    }

    /// Floats of all transformed filters, in either order.
    pub fn filters_len(&self) -> usize {
        POSITIONS * self.grid.depth() * self.grid.out_channels
    }

    /// Floats of one independent piece of the filters that [`Winograd::forward`] reads: sixteen outputs.
    pub fn filters_piece(&self) -> usize {
        POSITIONS * self.grid.depth() * LANES
    }

    /// Piece `piece` of the filters for [`Winograd::forward`]: `[position][depth][16 outputs]`.
    pub fn filters(&self, params: &[f32], piece: usize, out: &mut [f32]) {
        let panel = self.grid.taps * self.grid.taps * self.grid.depth() * LANES;
        self.kernel.winograd_filter(&self.grid, &params[self.weight.clone()][piece * panel..][..panel], out);
    }

    /// Floats of one independent piece of the filters that [`Winograd::input_gradient`] reads: sixteen of the depth.
    pub fn filters_across_piece(&self) -> usize {
        POSITIONS * self.grid.out_channels * LANES
    }

    /// Piece `piece` of the filters for [`Winograd::input_gradient`]: `[position][output][16 of the depth]`.
    pub fn filters_across(&self, params: &[f32], piece: usize, out: &mut [f32]) {
        self.kernel.winograd_filter_across(&self.grid, &params[self.weight.clone()], piece, out);
    }

    /// y = max(0, x ∗ w + b) for `count` examples; those of `y` are `y_stride` apart.
    pub fn forward(
        &self,
        params: &[f32],
        filters: &[f32],
        x: &[f32],
        (y, y_stride): (&mut [f32], usize),
        room: &mut Positions,
    ) {
        let count = x.len() / self.input_len;
        let (tiles, depth) = (count * self.grid.tiles(), self.grid.depth());
        self.transform_data(x, room);
        for (panel, filters) in filters.chunks_exact(self.filters_piece()).enumerate() {
            for position in 0..POSITIONS {
                let product = Product {
                    a: &room.data[position * position_len(tiles, depth)..],
                    rows: &self.data_rows,
                    row_count: tiles,
                    length: depth,
                    b: &filters[position * depth * LANES..],
                    ahead: Ahead::BlockOfB,
                    ..self.product()
                };
                let m = &mut room.panel[position * position_len(tiles, LANES)..];
                self.kernel.product(&product, From::Zero, m, Activation::Linear);
            }
            let zeros = [0.0; LANES];
            let bias = self.bias.clone().map_or(&zeros[..], |range| &params[range][panel * LANES..(panel + 1) * LANES]);
            for (e, y) in y.chunks_mut(y_stride).enumerate() {
                self.kernel.winograd_result(&self.grid, &room.panel, self.slot(e, count), panel, bias, y);
            }
        }
    }

    /// Transforms the layer's inputs and the gradient of its outputs, which both gradients below read.
    pub fn begin_backward(&self, x: &[f32], dy: &[f32], room: &mut Positions) {
        self.transform_data(x, room);
        let count = x.len() / self.input_len;
        for (e, dy) in dy.chunks_exact(self.output_len).enumerate() {
            self.kernel.winograd_result_adjoint(&self.grid, dy, self.slot(e, count), &mut room.results);
        }
    }

    /// dw (+)= the gradient of the weights over the `count` examples begun.
    pub fn gradient(&self, count: usize, does_add: bool, dw: &mut [f32], room: &mut Positions) {
        let (tiles, depth, width) = (count * self.grid.tiles(), self.grid.depth(), self.grid.out_channels);
        let panel_len = self.grid.taps * self.grid.taps * depth * LANES;
        for (panel, dw) in dw.chunks_exact_mut(panel_len).enumerate() {
            for first in (0..depth).step_by(DEPTH_ROWS) {
                let rows = DEPTH_ROWS.min(depth - first);
                for position in 0..POSITIONS {
                    let product = Product {
                        a: &room.data[position * position_len(tiles, depth) + first..],
                        rows: &self.columns,
                        row_count: rows,
                        length: tiles,
                        step: depth,
                        b: &room.results[position * position_len(tiles, width) + panel * LANES..],
                        b_stride: width,
                        ..self.product()
                    };
                    let du = &mut room.panel[position * position_len(rows, LANES)..];
                    self.kernel.product(&product, From::Zero, du, Activation::Linear);
                }
                self.kernel.winograd_filter_adjoint(&self.grid, &room.panel, first..first + rows, does_add, dw);
            }
        }
    }

    /// dx = the gradient of the inputs of the examples begun.
    pub fn input_gradient(&self, filters_across: &[f32], dx: &mut [f32], room: &mut Positions) {
        let count = dx.len() / self.input_len;
        let (tiles, width) = (count * self.grid.tiles(), self.grid.out_channels);
        dx.fill(0.0);
        for (panel, filters) in filters_across.chunks_exact(self.filters_across_piece()).enumerate() {
            for position in 0..POSITIONS {
                let product = Product {
                    a: &room.results[position * position_len(tiles, width)..],
                    rows: &self.result_rows,
                    row_count: tiles,
                    length: width,
                    b: &filters[position * width * LANES..],
                    ahead: Ahead::BlockOfB,
                    ..self.product()
                };
                let dv = &mut room.panel[position * position_len(tiles, LANES)..];
                self.kernel.product(&product, From::Zero, dv, Activation::Linear);
            }
            for (e, dx) in dx.chunks_exact_mut(self.input_len).enumerate() {
                self.kernel.winograd_data_adjoint(&self.grid, &room.panel, self.slot(e, count), panel, dx);
            }
        }
    }

    fn transform_data(&self, x: &[f32], room: &mut Positions) {
        let count = x.len() / self.input_len;
        for (e, x) in x.chunks_exact(self.input_len).enumerate() {
            self.kernel.winograd_data(&self.grid, x, self.slot(e, count), &mut room.data);
        }
    }

    fn slot(&self, e: usize, count: usize) -> Slot {
        Slot { first: e * self.grid.tiles(), count: count * self.grid.tiles() }
    }

    /// What the products have in common: one panel, one run of the reduction, rows of sixteen.
    fn product(&self) -> Product<'_> {
        Product {
            a: &[],
            rows: &self.columns,
            row_count: 0,
            segments: &self.zero,
            segment_count: 1,
            length: 0,
            step: 1,
            b: &[],
            b_stride: LANES,
            b_panel: 0,
            panels: 1,
            c_rows: &self.lane_rows,
            c_panel: 0,
            ahead: Ahead::Nothing,
        }
    }
}

#[cfg(test)]
mod tests;
