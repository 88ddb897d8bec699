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

mod backward;
mod repeats;

pub(crate) use repeats::Repeats;

use crate::buffer::Buffer;
use crate::conv::Conv;
use crate::kernels::{
    Activation, Ahead, Biased, From, Grid, Kernel, LANES, POSITIONS, Placed, Product, Tiles, position_len,
};
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
    /// All tiles of all examples.
    placed: Vec<Placed>,
    /// Rows of v and of dm, and of what a product writes.
    data_rows: Offsets,
    result_rows: Offsets,
    lane_rows: Offsets,
    columns: Offsets,
    zero: Offsets,
}

/// A layer's parameters, as they are and as its forward pass reads them.
#[derive(Clone, Copy)]
pub(crate) struct Weights<'a> {
    pub params: &'a [f32],
    pub filters: &'a [f32],
}

/// What is multiplied by filters, `[position][tile][width]`, and where the tiles' rows begin.
struct Rows<'a> {
    values: &'a [f32],
    offsets: &'a Offsets,
    width: usize,
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
            placed: (0..examples)
                .flat_map(|_| grid.each_tile())
                .enumerate()
                .map(|(place, tile)| Placed { tile, place })
                .collect(),
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
        Weights { params, filters }: Weights<'_>,
        x: &[f32],
        (y, y_stride): (&mut [f32], usize),
        room: &mut Positions,
    ) {
        let count = x.len() / self.input_len;
        self.transform_data(x, room);
        for (panel, filters) in filters.chunks_exact(self.filters_piece()).enumerate() {
            let tiles = count * self.grid.tiles();
            self.multiply(self.data(&room.data), filters, (tiles, tiles), &mut room.panel);
            let panel = Biased { panel, bias: &self.bias_of(params, panel) };
            for (e, y) in y.chunks_mut(y_stride).enumerate() {
                self.kernel.winograd_result(&self.grid, &room.panel, self.tiles_of(e, count), panel, y);
            }
        }
    }

    /// panel = rows · filters at every position, for sixteen columns and the first `tiles` of the `places` that a position has.
    fn multiply(&self, rows: Rows<'_>, filters: &[f32], (tiles, places): (usize, usize), panel: &mut [f32]) {
        let Rows { values, offsets, width } = rows;
        for position in 0..POSITIONS {
            let product = Product {
                a: &values[position * position_len(places, width)..],
                rows: offsets,
                row_count: tiles,
                length: width,
                b: &filters[position * width * LANES..],
                ahead: Ahead::BlockOfB,
                ..self.product()
            };
            let out = &mut panel[position * position_len(places, LANES)..];
            self.kernel.product(&product, From::Zero, out, Activation::Linear);
        }
    }

    /// v, the transformed inputs.
    fn data<'a>(&'a self, values: &'a [f32]) -> Rows<'a> {
        Rows { values, offsets: &self.data_rows, width: self.grid.depth() }
    }

    fn bias_of(&self, params: &[f32], panel: usize) -> [f32; LANES] {
        let bias = self.bias.clone().map(|range| &params[range][panel * LANES..(panel + 1) * LANES]);
        bias.map_or([0.0; LANES], |bias| bias.try_into().expect("sixteen outputs"))
    }

    fn transform_data(&self, x: &[f32], room: &mut Positions) {
        let count = x.len() / self.input_len;
        for (e, x) in x.chunks_exact(self.input_len).enumerate() {
            self.kernel.winograd_data(&self.grid, x, self.tiles_of(e, count), &mut room.data);
        }
    }

    fn tiles_of(&self, e: usize, count: usize) -> Tiles<'_> {
        let tiles = self.grid.tiles();
        Tiles { placed: &self.placed[e * tiles..(e + 1) * tiles], count: count * tiles }
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
