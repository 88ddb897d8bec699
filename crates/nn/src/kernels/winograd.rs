//! The transforms of Winograd's convolution over whole images: activations, gradients and weights to the 16 positions of
//! transformed tiles and back, for one example or one panel of weights at a time.
//!
//! The formulas are in `transform.rs`, the addresses in `tiles.rs`, the matrix products between the transforms in `winograd.rs`
//! of the crate. Every address is bounds-checked by slices; unsafe is only that the processor must have the instructions of `V`.
#![allow(clippy::needless_range_loop, reason = "tiles are indexed by row and column in several arrays at once")]

use super::lanes::{Lanes, Register};
use super::transform::*;
use super::*;

/// Each method is the function of the same name below.
impl Kernel {
    pub(crate) fn winograd_input(self, grid: &TileGrid, x: &[f32], tiles: TileSlots<'_>, v: &mut [f32]) {
        dispatch!(self, winograd_input(grid, x, tiles, v))
    }

    pub(crate) fn winograd_input_adjoint(
        self,
        grid: &TileGrid,
        v: &[f32],
        tiles: TileSlots<'_>,
        panel: usize,
        dx: &mut [f32],
    ) {
        dispatch!(self, winograd_input_adjoint(grid, v, tiles, panel, dx))
    }

    pub(crate) fn winograd_output(
        self,
        grid: &TileGrid,
        m: &[f32],
        tiles: TileSlots<'_>,
        panel: PanelBias<'_>,
        y: &mut [f32],
    ) {
        dispatch!(self, winograd_output(grid, m, tiles, panel, y))
    }

    pub(crate) fn winograd_output_adjoint(self, grid: &TileGrid, dy: &[f32], tiles: TileSlots<'_>, w: &mut [f32]) {
        dispatch!(self, winograd_output_adjoint(grid, dy, tiles, w))
    }

    pub(crate) fn winograd_filter(self, grid: &TileGrid, weights: &[f32], u: &mut [f32]) {
        dispatch!(self, winograd_filter(grid, weights, u))
    }

    pub(crate) fn winograd_filter_transposed(self, grid: &TileGrid, weights: &[f32], panel: usize, u: &mut [f32]) {
        dispatch!(self, winograd_filter_transposed(grid, weights, panel, u))
    }

    pub(crate) fn winograd_filter_adjoint(
        self,
        grid: &TileGrid,
        u: &[f32],
        rows: Range<usize>,
        does_add: bool,
        weights: &mut [f32],
    ) {
        dispatch!(self, winograd_filter_adjoint(grid, u, rows, does_add, weights))
    }
}

/// v[position][tile][depth] of the tiles of one example's image.
#[inline(always)]
pub(crate) unsafe fn input<V: Lanes>(grid: &TileGrid, x: &[f32], tiles: TileSlots<'_>, v: &mut [f32]) {
    let depth = grid.depth();
    for &TileSlot { tile, slot } in tiles.slots {
        for phase in 0..grid.stride * grid.stride {
            let patch = grid.input(tile, phase);
            for channel in (0..grid.in_channels).step_by(V::Register::WIDTH) {
                let at = slot * depth + phase * grid.in_channels + channel;
                // SAFETY: the caller's contract, that the processor has these instructions.
                unsafe {
                    let d = both::<Input, V::Register, 4, 4>(load_patch(x, patch, channel));
                    store_positions(v, at, position_stride(tiles.count, depth), d);
                }
            }
        }
    }
}

/// dx += the adjoint of [`input`] for one example, from v[position][tile][16], the gradient of sixteen channels of the depth.
#[inline(always)]
pub(crate) unsafe fn input_adjoint<V: Lanes>(
    grid: &TileGrid,
    v: &[f32],
    tiles: TileSlots<'_>,
    panel: usize,
    dx: &mut [f32],
) {
    let (phase, channel) = (panel * 16 / grid.in_channels, panel * 16 % grid.in_channels);
    for &TileSlot { tile, slot } in tiles.slots {
        let patch = grid.input(tile, phase);
        for lane in (0..16).step_by(V::Register::WIDTH) {
            // SAFETY: the caller's contract, that the processor has these instructions.
            unsafe {
                let v = load_positions(v, slot * 16 + lane, position_stride(tiles.count, 16));
                let sum = |dx: V::Register, tile| dx.add(tile);
                change_patch(dx, patch, channel + lane, both::<InputAdjoint, V::Register, 4, 4>(v), sum);
            }
        }
    }
}

/// y[pixel][sixteen channels of `panel`] = max(0, bias + outputs of m[position][tile][16]) of one example.
#[inline(always)]
pub(crate) unsafe fn output<V: Lanes>(
    grid: &TileGrid,
    m: &[f32],
    tiles: TileSlots<'_>,
    panel: PanelBias<'_>,
    y: &mut [f32],
) {
    match grid.taps {
        // SAFETY: the caller's contract, that the processor has these instructions.
        2 => unsafe { output_of::<V::Register, 3>(grid, m, tiles, panel, y) },
        _ => unsafe { output_of::<V::Register, 2>(grid, m, tiles, panel, y) },
    }
}

#[inline(always)]
unsafe fn output_of<N: Register, const M: usize>(
    grid: &TileGrid,
    m: &[f32],
    tiles: TileSlots<'_>,
    PanelBias { panel, bias }: PanelBias<'_>,
    y: &mut [f32],
) where
    Output: Transform<N, 4, M>,
{
    for &TileSlot { tile, slot } in tiles.slots {
        let patch = grid.output(tile);
        for lane in (0..16).step_by(N::WIDTH) {
            // SAFETY: the caller's contract, that the processor has these instructions.
            unsafe {
                let m = load_positions(m, slot * 16 + lane, position_stride(tiles.count, 16));
                let (outputs, bias) = (both::<Output, N, 4, M>(m), load::<N>(bias, lane));
                change_patch(y, patch, panel * 16 + lane, outputs, |_, output| output.add(bias).relu());
            }
        }
    }
}

/// w[position][tile][outputs] of one example's output gradient.
#[inline(always)]
pub(crate) unsafe fn output_adjoint<V: Lanes>(grid: &TileGrid, dy: &[f32], tiles: TileSlots<'_>, w: &mut [f32]) {
    match grid.taps {
        // SAFETY: the caller's contract, that the processor has these instructions.
        2 => unsafe { output_adjoint_of::<V::Register, 3>(grid, dy, tiles, w) },
        _ => unsafe { output_adjoint_of::<V::Register, 2>(grid, dy, tiles, w) },
    }
}

#[inline(always)]
unsafe fn output_adjoint_of<N: Register, const M: usize>(
    grid: &TileGrid,
    dy: &[f32],
    tiles: TileSlots<'_>,
    w: &mut [f32],
) where
    OutputAdjoint: Transform<N, M, 4>,
{
    let width = grid.out_channels;
    for &TileSlot { tile, slot } in tiles.slots {
        let patch = grid.output(tile);
        for channel in (0..width).step_by(N::WIDTH) {
            // SAFETY: the caller's contract, that the processor has these instructions.
            unsafe {
                let d = both::<OutputAdjoint, N, M, 4>(load_patch(dy, patch, channel));
                store_positions(w, slot * width + channel, position_stride(tiles.count, width), d);
            }
        }
    }
}

/// u[position][depth][16] of one panel of weights, whose rows are `[tap of the window][channel]`.
#[inline(always)]
pub(crate) unsafe fn filter<V: Lanes>(grid: &TileGrid, weights: &[f32], u: &mut [f32]) {
    let depth = grid.depth();
    match grid.taps {
        // SAFETY: the caller's contract, that the processor has these instructions.
        2 => unsafe { filter_rows::<V::Register, 2>(grid, weights, 0..depth, u) },
        _ => unsafe { filter_rows::<V::Register, 3>(grid, weights, 0..depth, u) },
    }
}

/// u[position][outputs][16]: the filters of the sixteen depth channels of `panel`, for all outputs. `weights` holds all panels.
#[inline(always)]
pub(crate) unsafe fn filter_transposed<V: Lanes>(grid: &TileGrid, weights: &[f32], panel: usize, u: &mut [f32]) {
    let (width, len) = (grid.out_channels, weights.len() / (grid.out_channels / 16));
    let rows = panel * 16..panel * 16 + 16;
    let mut block = [0.0; POSITIONS * 256];
    for (p, weights) in weights.chunks_exact(len).enumerate() {
        match grid.taps {
            // SAFETY: the caller's contract, that the processor has these instructions.
            2 => unsafe { filter_rows::<V::Register, 2>(grid, weights, rows.clone(), &mut block) },
            _ => unsafe { filter_rows::<V::Register, 3>(grid, weights, rows.clone(), &mut block) },
        }
        for (position, block) in block.chunks_exact(256).enumerate() {
            let out = &mut u[(position * width + p * 16) * 16..][..256];
            // SAFETY: both blocks hold 16 × 16 floats.
            unsafe { V::transpose(block.as_ptr(), out.as_mut_ptr(), 16) };
        }
    }
}

/// u[position][rows][16] of the depth channels `rows`.
#[inline(always)]
unsafe fn filter_rows<N: Register, const R: usize>(grid: &TileGrid, weights: &[f32], rows: Range<usize>, u: &mut [f32])
where
    Filter: Transform<N, R, 4>,
{
    let count = rows.len();
    for (n, row) in rows.enumerate() {
        let (phase, channel) = (row / grid.in_channels, row % grid.in_channels);
        for lane in (0..16).step_by(N::WIDTH) {
            // SAFETY: the caller's contract, that the processor has these instructions.
            unsafe {
                let mut g = [[N::zero(); R]; R];
                for i in 0..R {
                    for j in 0..R {
                        g[i][j] = load(weights, (grid.tap(phase, (i, j)) * grid.in_channels + channel) * 16 + lane);
                    }
                }
                store_positions(u, n * 16 + lane, count * 16, both::<Filter, N, R, 4>(g));
            }
        }
    }
}

/// One panel of the weight gradient, depth channels `rows`, from u[position][rows][16]; added to or stored in `weights`.
#[inline(always)]
pub(crate) unsafe fn filter_adjoint<V: Lanes>(
    grid: &TileGrid,
    u: &[f32],
    rows: Range<usize>,
    does_add: bool,
    weights: &mut [f32],
) {
    match grid.taps {
        // SAFETY: the caller's contract, that the processor has these instructions.
        2 => unsafe { filter_adjoint_of::<V::Register, 2>(grid, u, rows, does_add, weights) },
        _ => unsafe { filter_adjoint_of::<V::Register, 3>(grid, u, rows, does_add, weights) },
    }
}

#[inline(always)]
unsafe fn filter_adjoint_of<N: Register, const R: usize>(
    grid: &TileGrid,
    u: &[f32],
    rows: Range<usize>,
    does_add: bool,
    weights: &mut [f32],
) where
    FilterAdjoint: Transform<N, 4, R>,
{
    let count = rows.len();
    for (n, row) in rows.enumerate() {
        let (phase, channel) = (row / grid.in_channels, row % grid.in_channels);
        for lane in (0..16).step_by(N::WIDTH) {
            // SAFETY: the caller's contract, that the processor has these instructions.
            unsafe {
                let g = both::<FilterAdjoint, N, 4, R>(load_positions(u, n * 16 + lane, position_stride(count, 16)));
                for i in 0..R {
                    for j in 0..R {
                        let at = (grid.tap(phase, (i, j)) * grid.in_channels + channel) * 16 + lane;
                        let sum = if does_add { load::<N>(weights, at).add(g[i][j]) } else { g[i][j] };
                        store(weights, at, sum);
                    }
                }
            }
        }
    }
}
