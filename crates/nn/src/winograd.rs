//! One convolution layer by Winograd's method, for several examples at once: forward, weight gradient, input gradient.
//!
//! The image is split into overlapping tiles of 4 × 4; a tile, a filter and the outputs of a tile each have 16 positions after
//! their transforms (`kernels/winograd.rs`), and at each position the layer is one matrix product:
//!
//! ```text
//! forward   m[tile, output] = v[tile, depth] · u[depth, output]
//! weights   du[depth, output] = v[tile, depth]ᵀ · dm[tile, output]
//! inputs    dv[tile, depth] = dm[tile, output] · u[depth, output]ᵀ
//! ```
//!
//! That is 4/9 of the multiplications of a 4 × 4 window of stride 2 on 9 × 9 outputs, 4/7 of those of a 3 × 3 window on 7 × 7.
//! The results are those of `conv.rs` up to rounding. The formulas are derived in `docs/derivations.md`.

mod tile_cache;

pub(crate) use tile_cache::TileCache;

use crate::buffer::Buffer;
use crate::conv::Conv;
use crate::kernels::{
    Accumulator, Activation, Kernel, LANES, Offsets, POSITIONS, PanelBias, Prefetch, Product, TileGrid, TileSlot,
    TileSlots, position_stride,
};
use crate::padded;
use std::ops::Range;

/// Most examples that are computed together, so that their data stay in the second-level cache.
pub(crate) const CHUNK: usize = 4;

/// Depth channels whose weight gradients are computed together, so that their 16 positions stay in the cache.
const DEPTH_ROWS: usize = 64;

/// A layer: the tiling of its image, ranges of its parameters in the flat buffers, and offset tables.
#[derive(Debug, Clone)]
pub(crate) struct Winograd {
    kernel: Kernel,
    grid: TileGrid,
    /// Most examples multiplied together.
    examples: usize,
    weight: Range<usize>,
    bias: Option<Range<usize>>,
    input_len: usize,
    output_len: usize,
    /// All tiles of all examples.
    slots: Vec<TileSlot>,
    /// Rows of v, of dm, and of what a product writes.
    input_rows: Offsets,
    output_rows: Offsets,
    lane_rows: Offsets,
    columns: Offsets,
    zero: Offsets,
}

/// All parameters, and this layer's filters after their transform.
#[derive(Clone, Copy)]
pub(crate) struct Weights<'a> {
    pub params: &'a [f32],
    pub filters: &'a [f32],
}

/// The left operand of a product at each position, `[position][tile][width]`, with the offsets of its rows.
struct Rows<'a> {
    values: &'a [f32],
    offsets: &'a Offsets,
    width: usize,
}

/// Transformed tiles of a few examples, shared by all layers of a torso.
#[derive(Debug, Clone)]
pub(crate) struct WinogradScratch {
    /// Transformed inputs v.
    inputs: Buffer,
    /// Transformed output gradients dm.
    outputs: Buffer,
    /// One panel of sixteen columns of a product.
    panel: Buffer,
}

impl WinogradScratch {
    /// Memory for any of `layers`.
    pub fn new<'a>(layers: impl Iterator<Item = &'a Winograd> + Clone) -> Self {
        let largest = |len: &dyn Fn(&Winograd) -> usize| Buffer::zeros(layers.clone().map(len).max().unwrap_or(0));
        let tiles = |layer: &Winograd| layer.examples * layer.grid.tiles();
        Self {
            inputs: largest(&|layer| POSITIONS * position_stride(tiles(layer), layer.grid.depth())),
            outputs: largest(&|layer| POSITIONS * position_stride(tiles(layer), layer.grid.out_channels)),
            panel: largest(&|layer| POSITIONS * position_stride(tiles(layer).max(DEPTH_ROWS), LANES)),
        }
    }
}

impl Winograd {
    /// The layer of `conv` for up to `examples` examples at once; none where the method does not apply or saves less than a
    /// quarter of the multiplications.
    pub fn of(conv: &Conv, examples: usize) -> Option<Self> {
        let (stride, window) = (conv.stride, conv.window);
        let taps = window / stride;
        if !conv.reads_channels_last() || !window.is_multiple_of(stride) || !(2..=3).contains(&taps) {
            return None;
        }
        let grid = TileGrid {
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
            slots: (0..examples)
                .flat_map(|_| grid.each_tile())
                .enumerate()
                .map(|(slot, tile)| TileSlot { tile, slot })
                .collect(),
            input_rows: Offsets::every(grid.depth(), rows),
            output_rows: Offsets::every(grid.out_channels, rows),
            lane_rows: Offsets::every(LANES, rows.max(DEPTH_ROWS)),
            columns: Offsets::every(1, DEPTH_ROWS),
            zero: Offsets::every(0, 1),
        })
    }

    /// Floats of all transformed filters, transposed or not.
    pub fn filters_len(&self) -> usize {
        POSITIONS * self.grid.depth() * self.grid.out_channels
    }

    /// Floats of one independent piece of the filters that [`Winograd::forward`] reads: sixteen outputs.
    pub fn filters_piece_len(&self) -> usize {
        POSITIONS * self.grid.depth() * LANES
    }

    /// Piece `piece` of the filters for [`Winograd::forward`]: `[position][depth][16 outputs]`.
    pub fn transform_filters(&self, params: &[f32], piece: usize, out: &mut [f32]) {
        let panel = self.grid.taps * self.grid.taps * self.grid.depth() * LANES;
        self.kernel.winograd_filter(&self.grid, &params[self.weight.clone()][piece * panel..][..panel], out);
    }

    /// Floats of one independent piece of the filters that [`Winograd::input_gradient`] reads: sixteen depth channels.
    pub fn transposed_filters_piece_len(&self) -> usize {
        POSITIONS * self.grid.out_channels * LANES
    }

    /// Piece `piece` of the filters for [`Winograd::input_gradient`]: `[position][output][16 depth channels]`.
    pub fn transpose_filters(&self, params: &[f32], piece: usize, out: &mut [f32]) {
        self.kernel.winograd_filter_transposed(&self.grid, &params[self.weight.clone()], piece, out);
    }

    /// y = max(0, x ∗ w + b) for the examples of `x`; those of `y` are `y_stride` floats apart.
    pub fn forward(
        &self,
        Weights { params, filters }: Weights<'_>,
        x: &[f32],
        (y, y_stride): (&mut [f32], usize),
        scratch: &mut WinogradScratch,
    ) {
        let count = x.len() / self.input_len;
        self.transform_inputs(x, scratch);
        for (panel, filters) in filters.chunks_exact(self.filters_piece_len()).enumerate() {
            let tiles = count * self.grid.tiles();
            self.multiply(self.input_rows(&scratch.inputs), filters, (tiles, tiles), &mut scratch.panel);
            let panel = PanelBias { panel, bias: &self.bias_of(params, panel) };
            for (e, y) in y.chunks_mut(y_stride).enumerate() {
                self.kernel.winograd_output(&self.grid, &scratch.panel, self.tiles_of(e, count), panel, y);
            }
        }
    }

    /// Transforms the inputs and the gradient of the outputs of a few examples, for both gradients below.
    pub fn begin_backward(&self, x: &[f32], dy: &[f32], scratch: &mut WinogradScratch) {
        self.transform_inputs(x, scratch);
        let count = x.len() / self.input_len;
        for (e, dy) in dy.chunks_exact(self.output_len).enumerate() {
            self.kernel.winograd_output_adjoint(&self.grid, dy, self.tiles_of(e, count), &mut scratch.outputs);
        }
    }

    /// dw = or, if `does_add`, += the weight gradient of the `count` examples of [`Winograd::begin_backward`].
    pub fn gradient(&self, count: usize, does_add: bool, dw: &mut [f32], scratch: &mut WinogradScratch) {
        let (tiles, depth, width) = (count * self.grid.tiles(), self.grid.depth(), self.grid.out_channels);
        let panel_len = self.grid.taps * self.grid.taps * depth * LANES;
        for (panel, dw) in dw.chunks_exact_mut(panel_len).enumerate() {
            for first in (0..depth).step_by(DEPTH_ROWS) {
                let rows = DEPTH_ROWS.min(depth - first);
                for position in 0..POSITIONS {
                    let product = Product {
                        a: &scratch.inputs[position * position_stride(tiles, depth) + first..],
                        rows: &self.columns,
                        row_count: rows,
                        length: tiles,
                        step: depth,
                        b: &scratch.outputs[position * position_stride(tiles, width) + panel * LANES..],
                        b_stride: width,
                        ..self.product()
                    };
                    let du = &mut scratch.panel[position * position_stride(rows, LANES)..];
                    self.kernel.product(&product, Accumulator::Zero, du, Activation::Linear);
                }
                self.kernel.winograd_filter_adjoint(&self.grid, &scratch.panel, first..first + rows, does_add, dw);
            }
        }
    }

    /// dx = the input gradient of the examples of [`Winograd::begin_backward`].
    pub fn input_gradient(&self, transposed_filters: &[f32], dx: &mut [f32], scratch: &mut WinogradScratch) {
        let count = dx.len() / self.input_len;
        let (tiles, width) = (count * self.grid.tiles(), self.grid.out_channels);
        dx.fill(0.0);
        for (panel, filters) in transposed_filters.chunks_exact(self.transposed_filters_piece_len()).enumerate() {
            let rows = Rows { values: &scratch.outputs, offsets: &self.output_rows, width };
            self.multiply(rows, filters, (tiles, tiles), &mut scratch.panel);
            for (e, dx) in dx.chunks_exact_mut(self.input_len).enumerate() {
                self.kernel.winograd_input_adjoint(&self.grid, &scratch.panel, self.tiles_of(e, count), panel, dx);
            }
        }
    }

    /// panel = rows · filters at every position, for sixteen columns and the first `tiles` of the `slots` rows of a position.
    fn multiply(&self, rows: Rows<'_>, filters: &[f32], (tiles, slots): (usize, usize), panel: &mut [f32]) {
        let Rows { values, offsets, width } = rows;
        for position in 0..POSITIONS {
            let product = Product {
                a: &values[position * position_stride(slots, width)..],
                rows: offsets,
                row_count: tiles,
                length: width,
                b: &filters[position * width * LANES..],
                prefetch: Prefetch::BlockOfB,
                ..self.product()
            };
            let out = &mut panel[position * position_stride(slots, LANES)..];
            self.kernel.product(&product, Accumulator::Zero, out, Activation::Linear);
        }
    }

    fn input_rows<'a>(&'a self, values: &'a [f32]) -> Rows<'a> {
        Rows { values, offsets: &self.input_rows, width: self.grid.depth() }
    }

    fn bias_of(&self, params: &[f32], panel: usize) -> [f32; LANES] {
        let bias = self.bias.clone().map(|range| &params[range][panel * LANES..(panel + 1) * LANES]);
        bias.map_or([0.0; LANES], |bias| bias.try_into().expect("sixteen outputs"))
    }

    fn transform_inputs(&self, x: &[f32], scratch: &mut WinogradScratch) {
        let count = x.len() / self.input_len;
        for (e, x) in x.chunks_exact(self.input_len).enumerate() {
            self.kernel.winograd_input(&self.grid, x, self.tiles_of(e, count), &mut scratch.inputs);
        }
    }

    fn tiles_of(&self, e: usize, count: usize) -> TileSlots<'_> {
        let tiles = self.grid.tiles();
        TileSlots { slots: &self.slots[e * tiles..(e + 1) * tiles], count: count * tiles }
    }

    /// The fields that all products share: one panel, one segment, rows of sixteen.
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
            prefetch: Prefetch::Nothing,
        }
    }
}

#[cfg(test)]
mod tests;
