//! Winograd's convolution but for its matrix products: activations, gradients and weights into the 16 positions of transformed
//! tiles and back, for one example or one panel of weights at a time.
//!
//! The formulas stand in `transform.rs`, the addresses in `tiles.rs`, the products between them in `winograd.rs` of the crate.
//! Every address is checked by the slices; what is unsafe is only that the processor must have the instructions of `V`.
#![allow(clippy::needless_range_loop, reason = "tiles are indexed by row and column in several arrays at once")]

use super::lanes::{Lanes, Narrow};
use super::tiles::{Biased, Grid, POSITIONS, Placed, Tiles, position_len};
use super::transform::*;
use std::ops::Range;

/// v[position][tile][depth] of tiles of one example's image.
#[inline(always)]
pub(crate) unsafe fn data<V: Lanes>(grid: &Grid, x: &[f32], tiles: Tiles<'_>, v: &mut [f32]) {
    let depth = grid.depth();
    for &Placed { tile, place } in tiles.placed {
        for phase in 0..grid.stride * grid.stride {
            let patch = grid.data(tile, phase);
            for channel in (0..grid.in_channels).step_by(V::Narrow::WIDTH) {
                let at = place * depth + phase * grid.in_channels + channel;
                // SAFETY: the caller's contract, that the processor has these instructions.
                unsafe {
                    let d = both::<Data, V::Narrow, 4, 4>(load_patch(x, patch, channel));
                    store_positions(v, at, position_len(tiles.count, depth), d);
                }
            }
        }
    }
}

/// dx += what v[position][tile][16], the gradient of sixteen of the depth's channels, means for one example's image.
#[inline(always)]
pub(crate) unsafe fn data_adjoint<V: Lanes>(grid: &Grid, v: &[f32], tiles: Tiles<'_>, panel: usize, dx: &mut [f32]) {
    let (phase, channel) = (panel * 16 / grid.in_channels, panel * 16 % grid.in_channels);
    for &Placed { tile, place } in tiles.placed {
        let patch = grid.data(tile, phase);
        for lane in (0..16).step_by(V::Narrow::WIDTH) {
            // SAFETY: the caller's contract, that the processor has these instructions.
            unsafe {
                let v = load_positions(v, place * 16 + lane, position_len(tiles.count, 16));
                let sum = |there: V::Narrow, tile| there.add(tile);
                change_patch(dx, patch, channel + lane, both::<DataAdjoint, V::Narrow, 4, 4>(v), sum);
            }
        }
    }
}

/// y[pixel][sixteen channels of `panel`] = max(0, bias + outputs of m[position][tile][16]) for one example.
#[inline(always)]
pub(crate) unsafe fn result<V: Lanes>(grid: &Grid, m: &[f32], tiles: Tiles<'_>, panel: Biased<'_>, y: &mut [f32]) {
    match grid.taps {
        // SAFETY: the caller's contract, that the processor has these instructions.
        2 => unsafe { result_of::<V::Narrow, 3>(grid, m, tiles, panel, y) },
        _ => unsafe { result_of::<V::Narrow, 2>(grid, m, tiles, panel, y) },
    }
}

#[inline(always)]
unsafe fn result_of<N: Narrow, const M: usize>(
    grid: &Grid,
    m: &[f32],
    tiles: Tiles<'_>,
    Biased { panel, bias }: Biased<'_>,
    y: &mut [f32],
) where
    Result: Transform<N, 4, M>,
{
    for &Placed { tile, place } in tiles.placed {
        let patch = grid.result(tile);
        for lane in (0..16).step_by(N::WIDTH) {
            // SAFETY: the caller's contract, that the processor has these instructions.
            unsafe {
                let m = load_positions(m, place * 16 + lane, position_len(tiles.count, 16));
                let (outputs, bias) = (both::<Result, N, 4, M>(m), load::<N>(bias, lane));
                change_patch(y, patch, panel * 16 + lane, outputs, |_, output| output.add(bias).relu());
            }
        }
    }
}

/// w[position][tile][outputs] of one example's output gradient.
#[inline(always)]
pub(crate) unsafe fn result_adjoint<V: Lanes>(grid: &Grid, dy: &[f32], tiles: Tiles<'_>, w: &mut [f32]) {
    match grid.taps {
        // SAFETY: the caller's contract, that the processor has these instructions.
        2 => unsafe { result_adjoint_of::<V::Narrow, 3>(grid, dy, tiles, w) },
        _ => unsafe { result_adjoint_of::<V::Narrow, 2>(grid, dy, tiles, w) },
    }
}

#[inline(always)]
unsafe fn result_adjoint_of<N: Narrow, const M: usize>(grid: &Grid, dy: &[f32], tiles: Tiles<'_>, w: &mut [f32])
where
    ResultAdjoint: Transform<N, M, 4>,
{
    let width = grid.out_channels;
    for &Placed { tile, place } in tiles.placed {
        let patch = grid.result(tile);
        for channel in (0..width).step_by(N::WIDTH) {
            // SAFETY: the caller's contract, that the processor has these instructions.
            unsafe {
                let d = both::<ResultAdjoint, N, M, 4>(load_patch(dy, patch, channel));
                store_positions(w, place * width + channel, position_len(tiles.count, width), d);
            }
        }
    }
}

/// u[position][depth][16] of one panel of weights, whose rows are `[tap of the window][channel]`.
#[inline(always)]
pub(crate) unsafe fn filter<V: Lanes>(grid: &Grid, weights: &[f32], u: &mut [f32]) {
    let depth = grid.depth();
    match grid.taps {
        // SAFETY: the caller's contract, that the processor has these instructions.
        2 => unsafe { filter_rows::<V::Narrow, 2>(grid, weights, 0..depth, u) },
        _ => unsafe { filter_rows::<V::Narrow, 3>(grid, weights, 0..depth, u) },
    }
}

/// u[position][outputs][16]: the filters of the sixteen channels of `panel`, for all outputs. `weights` are all panels.
#[inline(always)]
pub(crate) unsafe fn filter_across<V: Lanes>(grid: &Grid, weights: &[f32], panel: usize, u: &mut [f32]) {
    let (width, len) = (grid.out_channels, weights.len() / (grid.out_channels / 16));
    let rows = panel * 16..panel * 16 + 16;
    let mut block = [0.0; POSITIONS * 256];
    for (p, weights) in weights.chunks_exact(len).enumerate() {
        match grid.taps {
            // SAFETY: the caller's contract, that the processor has these instructions.
            2 => unsafe { filter_rows::<V::Narrow, 2>(grid, weights, rows.clone(), &mut block) },
            _ => unsafe { filter_rows::<V::Narrow, 3>(grid, weights, rows.clone(), &mut block) },
        }
        for (position, block) in block.chunks_exact(256).enumerate() {
            let out = &mut u[(position * width + p * 16) * 16..][..256];
            // SAFETY: both blocks hold 16 × 16 floats.
            unsafe { V::transpose(block.as_ptr(), out.as_mut_ptr(), 16) };
        }
    }
}

/// u[position][rows][16] of the rows `rows` of the depth.
#[inline(always)]
unsafe fn filter_rows<N: Narrow, const R: usize>(grid: &Grid, weights: &[f32], rows: Range<usize>, u: &mut [f32])
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

/// One panel of the weights' gradient, rows `rows` of the depth, from u[position][rows][16].
#[inline(always)]
pub(crate) unsafe fn filter_adjoint<V: Lanes>(
    grid: &Grid,
    u: &[f32],
    rows: Range<usize>,
    does_add: bool,
    weights: &mut [f32],
) {
    match grid.taps {
        // SAFETY: the caller's contract, that the processor has these instructions.
        2 => unsafe { filter_adjoint_of::<V::Narrow, 2>(grid, u, rows, does_add, weights) },
        _ => unsafe { filter_adjoint_of::<V::Narrow, 3>(grid, u, rows, does_add, weights) },
    }
}

#[inline(always)]
unsafe fn filter_adjoint_of<N: Narrow, const R: usize>(
    grid: &Grid,
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
                let g = both::<FilterAdjoint, N, 4, R>(load_positions(u, n * 16 + lane, position_len(count, 16)));
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
