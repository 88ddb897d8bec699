//! The one matrix kernel: "a few rows of A, broadcast, times a 16-column panel of B", with the addresses of A given by tables.
//!
//! ```text
//! C[r, p·16 + lane] = start + Σ_s Σ_t A[rows[r] + segments[s] + t·step] · B[p·b_panel + (s·length + t)·b_stride + lane]
//! ```
//!
//! Convolutions and dense layers, forward and backward, are instances of it; see `conv.rs` and `dense.rs`. Each element is
//! summed sequentially over (s, t) with one rounding per step, whatever the tile, so tiles and blocks do not change bits.
#![allow(clippy::needless_range_loop, reason = "tiles are indexed by row and panel in several arrays at once")]

use super::lanes::Lanes;
use super::sinks::{Sink, Store, Update};

/// What a product reads, as raw parts. Built only by the checked wrappers of the parent module.
#[derive(Clone, Copy)]
pub(crate) struct Source<'a> {
    pub a: *const f32,
    pub rows: &'a [u32],
    pub segments: &'a [u32],
    pub length: usize,
    pub step: usize,
    pub b: *const f32,
    pub b_stride: usize,
    pub b_panel: usize,
    pub panels: usize,
    pub ahead: Ahead,
}

/// What to fetch into the cache while computing, where the processor cannot guess it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ahead {
    /// Nothing: the operands are near.
    Nothing,
    /// The rows of A behind those of the present tile, which lie one vector of sixteen apart.
    RowsOfA,
    /// The next block of B, a little with each tile.
    BlockOfB,
}

/// Reduction steps per block: 16 columns of B are then 16 KiB and stay in the first-level cache.
pub(super) const BLOCK: usize = 256;

/// Steps between two requests for the next block of B.
const PIECE: usize = 16;
const PIECES: [u32; BLOCK / PIECE] = [0, 16, 32, 48, 64, 80, 96, 112, 128, 144, 160, 176, 192, 208, 224, 240];

/// Runs the whole product.
///
/// # Safety
/// The processor has the instructions of `V`, every address the formula above names lies inside the buffers of `source`, and
/// `sink` accepts all its rows and panels.
#[inline(always)]
pub(crate) unsafe fn product<V: Lanes, S: Sink<V>>(source: Source<'_>, sink: S) {
    let wide = panels_at_once::<V>(source.rows.len());
    let mut panel = 0;
    while panel < source.panels {
        let left = source.panels - panel;
        // SAFETY: the panel groups partition 0..panels; the rest is this function's contract.
        unsafe {
            panel += if wide == 4 && 4 <= left {
                blocks::<V, S, 4>(source, sink, panel);
                4
            } else if 2 <= wide && 2 <= left {
                blocks::<V, S, 2>(source, sink, panel);
                2
            } else {
                blocks::<V, S, 1>(source, sink, panel);
                1
            };
        }
    }
}

/// Few rows cannot hide the latency of a multiply-add, so they take several panels at a time.
#[inline(always)]
fn panels_at_once<V: Lanes>(rows: usize) -> usize {
    match rows {
        1 => 4,
        2 | 3 => 2,
        _ => V::TILE_PANELS,
    }
}

/// Rows of a tile that covers `panels` panels; more than `TILE_PANELS` are only taken for very few rows.
const fn tile_height<V: Lanes>(panels: usize) -> usize {
    match panels {
        4 => 1,
        2 if V::TILE_PANELS < 2 => 3,
        _ => V::TILE_ROWS,
    }
}

/// One group of `NP` panels, in blocks of the reduction.
#[inline(always)]
unsafe fn blocks<V: Lanes, S: Sink<V>, const NP: usize>(source: Source<'_>, sink: S, panel: usize) {
    let Source { segments, length, .. } = source;
    // SAFETY: offsets into A and B grow by exactly the reduction steps already done, so they stay the formula's.
    unsafe {
        let b = source.b.add(panel * source.b_panel);
        if let [only] = *segments {
            let mut done = 0;
            while done < length {
                let now = (length - done).min(S::BLOCK);
                let block = Source { length: now, b: b.add(done * source.b_stride), ..source };
                let a = source.a.add(only as usize + done * source.step);
                // In pieces, a tile gets moments at which to ask for the next block.
                let is_cut = source.ahead == Ahead::BlockOfB && source.step == 1 && now.is_multiple_of(PIECE);
                let block = match is_cut {
                    true => Source { a, segments: &PIECES[..now / PIECE], length: PIECE, ..block },
                    false => Source { a, segments: &[0], ..block },
                };
                tiles::<V, S, NP>(block, sink, panel, done == 0, done + now == length);
                done += now;
            }
        } else {
            // Where every step of A lies on a line of its own, or its segments are long, A needs as much of the cache as B.
            let steps = if source.step < 16 && length < S::BLOCK / 2 { S::BLOCK } else { S::BLOCK / 2 };
            let at_once = (steps / length).max(1);
            let mut done = 0;
            while done < segments.len() {
                let now = (segments.len() - done).min(at_once);
                let block = Source {
                    segments: &segments[done..done + now],
                    b: b.add(done * length * source.b_stride),
                    ..source
                };
                tiles::<V, S, NP>(block, sink, panel, done == 0, done + now == segments.len());
                done += now;
            }
        }
    }
}

/// All rows of one block, in tiles of nearly equal height.
#[inline(always)]
unsafe fn tiles<V: Lanes, S: Sink<V>, const NP: usize>(
    source: Source<'_>,
    sink: S,
    panel: usize,
    is_first: bool,
    is_last: bool,
) {
    let rows = source.rows.len();
    let height = const { tile_height::<V>(NP) };
    let count = rows.div_ceil(height);
    let steps = source.segments.len() * source.length;
    let share = if source.ahead == Ahead::BlockOfB { steps.div_ceil(count) } else { 0 };
    let lines = share.div_ceil(source.segments.len());
    let mut row = 0;
    for tile in 0..count {
        let end = (tile + 1) * rows / count;
        let next = Next { b: source.b.wrapping_add((steps + tile * share) * source.b_stride), lines };
        let block = Block { panel, is_first, is_last, next };
        // SAFETY: row..end lies in 0..rows and holds at most `height` <= TILE_ROWS rows; the rest is the caller's contract.
        unsafe {
            macro_rules! with_height {
                ($($mr:literal)*) => {
                    match end - row {
                        $($mr if const { $mr <= tile_height::<V>(NP) } => tile_of::<V, S, $mr, NP>(source, sink, row, block),)*
                        _ => unreachable!("a tile has at most {height} rows"),
                    }
                };
            }
            with_height!(1 2 3 4 5 6 7 8 9 10 11 12);
        }
        row = end;
    }
}

/// Which part of the product a tile belongs to.
#[derive(Clone, Copy)]
struct Block {
    panel: usize,
    is_first: bool,
    is_last: bool,
    next: Next,
}

/// The rows of B to ask for while computing: `lines` of them per segment.
#[derive(Clone, Copy)]
struct Next {
    b: *const f32,
    lines: usize,
}

/// `MR` rows times `NP` panels, accumulated in registers.
#[inline(always)]
unsafe fn tile_of<V: Lanes, S: Sink<V>, const MR: usize, const NP: usize>(
    source: Source<'_>,
    sink: S,
    row: usize,
    block: Block,
) {
    let Block { panel, is_first, is_last, mut next } = block;
    // SAFETY: the caller's contract; every pointer formed below is an address of the product's formula, except that `b` may
    // be advanced past the last row without being read, which `wrapping_add` allows, and that prefetches may go anywhere.
    unsafe {
        let mut rows = [source.a; MR];
        for i in 0..MR {
            rows[i] = source.a.add(*source.rows.get_unchecked(row + i) as usize);
        }
        let mut sums = [[V::splat(0.0); NP]; MR];
        for i in 0..MR {
            for j in 0..NP {
                sums[i][j] = sink.start(row + i, panel + j, is_first);
            }
        }
        let mut b = source.b;
        for &segment in source.segments {
            let mut offset = segment as usize;
            if source.ahead == Ahead::RowsOfA {
                for row in rows {
                    V::prefetch(row.wrapping_add(offset + MR * 16));
                }
            }
            for _ in 0..next.lines {
                for j in 0..NP {
                    V::prefetch(next.b.wrapping_add(j * source.b_panel));
                }
                next.b = next.b.wrapping_add(source.b_stride);
            }
            for _ in 0..source.length {
                let mut columns = [V::splat(0.0); NP];
                for j in 0..NP {
                    columns[j] = V::load(b.add(j * source.b_panel));
                }
                for i in 0..MR {
                    let x = V::splat(*rows[i].add(offset));
                    for j in 0..NP {
                        sums[i][j] = sums[i][j].fma(x, columns[j]);
                    }
                }
                offset += source.step;
                b = b.wrapping_add(source.b_stride);
            }
        }
        let sums = if S::IS_LONG { std::hint::black_box(sums) } else { sums };
        for i in 0..MR {
            for j in 0..NP {
                sink.finish(row + i, panel + j, is_last, sums[i][j]);
            }
        }
    }
}

/// [`product`] into memory.
///
/// # Safety
/// As for [`product`].
#[inline(always)]
pub(crate) unsafe fn store<V: Lanes>(source: Source<'_>, sink: Store<'_>) {
    // SAFETY: the caller's contract.
    unsafe { product::<V, _>(source, sink) }
}

/// [`product`] into an optimiser step.
///
/// # Safety
/// As for [`product`].
#[inline(always)]
pub(crate) unsafe fn update<V: Lanes>(source: Source<'_>, sink: Update<'_>) {
    // SAFETY: the caller's contract.
    unsafe { product::<V, _>(source, sink) }
}
