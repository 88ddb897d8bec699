//! The one matrix kernel: "a few rows of A, broadcast, times a 16-column panel of B", with the addresses of A given by tables.
//!
//! ```text
//! C[r, p·16 + lane] = start + Σ_s Σ_t A[rows[r] + segments[s] + t·step] · B[p·b_panel + (s·length + t)·b_stride + lane]
//! ```
//!
//! Convolutions and dense layers, forward and backward, are instances of it; see `conv.rs` and `dense.rs`. Each element is
//! summed sequentially over (s, t) with one rounding per step, whatever the tile, so tiles and blocks do not change bits.
//!
//! From the top: the request that layers build ([`Product`], [`Offsets`]) and its bounds checks; the loops over panels, blocks
//! and tiles; the two destinations of a sum, memory ([`Store`]) and an optimiser step ([`AdamUpdate`]).
#![allow(clippy::needless_range_loop, reason = "tiles are indexed by row and panel in several arrays at once")]

use super::elementwise::adam_lanes;
use super::lanes::Lanes;
use super::*;

/// The operands of a product, named as in the formula above.
pub(crate) struct Product<'a> {
    pub a: &'a [f32],
    pub rows: &'a Offsets,
    /// Number of rows of A, and of C, that are computed.
    pub row_count: usize,
    pub segments: &'a Offsets,
    pub segment_count: usize,
    pub length: usize,
    pub step: usize,
    pub b: &'a [f32],
    pub b_stride: usize,
    pub b_panel: usize,
    pub panels: usize,
    /// Offset of row r of C, for panel 0.
    pub c_rows: &'a Offsets,
    /// Floats from one panel of C to the next.
    pub c_panel: usize,
    pub prefetch: Prefetch,
}

/// The value that a product is added to.
#[derive(Clone, Copy)]
pub(crate) enum Accumulator<'a> {
    Zero,
    /// What C holds.
    C,
    /// One value per column.
    Bias(&'a [f32]),
}

/// What is applied to a sum before it is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activation {
    /// The identity.
    Linear,
    /// max(0, ·).
    Relu,
}

/// What to fetch into the cache during the computation, where the hardware prefetcher does not see the pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Prefetch {
    Nothing,
    /// The rows of A that follow those of the current tile, one vector of sixteen further on.
    RowsOfA,
    /// The next block of B, a share of it with each tile.
    BlockOfB,
}

/// Offsets into a buffer, built once with a layer. They do not decrease, so the largest of the first `n` is the `n`-th and one
/// comparison checks them all.
#[derive(Debug, Clone)]
pub(crate) struct Offsets(Box<[u32]>);

impl Offsets {
    /// The given offsets; panics if they decrease.
    pub fn new(values: impl IntoIterator<Item = usize>) -> Self {
        let values: Box<[u32]> =
            values.into_iter().map(|value| u32::try_from(value).expect("layers are checked to fit")).collect();
        assert!(!values.is_empty() && values.is_sorted(), "offsets do not decrease");
        Self(values)
    }

    /// 0, `stride`, 2·`stride`, …
    pub fn every(stride: usize, count: usize) -> Self {
        Self::new((0..count).map(|i| i * stride))
    }

    /// Overwrites them with 0, `stride`, 2·`stride`, … without allocating.
    pub fn respace(&mut self, stride: usize) {
        let stride = u32::try_from(stride).expect("layers are checked to fit");
        for (i, value) in (0..).zip(&mut self.0) {
            *value = i * stride;
        }
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The largest of the first `count`, which is at least 1.
    fn largest_of(&self, count: usize) -> usize {
        self.0[count - 1] as usize
    }
}

impl Kernel {
    /// C ← activation(start + A·B).
    pub(crate) fn product(self, p: &Product<'_>, start: Accumulator<'_>, c: &mut [f32], activation: Activation) {
        let source = p.checked_source();
        assert!(p.end_c() <= c.len(), "product: C is written up to {} of {}", p.end_c(), c.len());
        if let Accumulator::Bias(bias) = start {
            assert!(p.panels * LANES <= bias.len(), "product: bias has {} of {}", bias.len(), p.panels * LANES);
        }
        let rows = &p.c_rows.0[..p.row_count];
        let is_rectified = activation == Activation::Relu;
        dispatch!(
            self,
            product_store(source, Store { c: c.as_mut_ptr(), rows, panel: p.c_panel, start, is_rectified })
        );
    }

    /// One Adam step on the parameters C, whose gradient is A·B.
    pub(crate) fn product_adam(
        self,
        p: &Product<'_>,
        k: &AdamCoefficients,
        c: &mut [f32],
        m: &mut [f32],
        v: &mut [f32],
    ) {
        let source = p.checked_source();
        let end = p.end_c();
        assert!(end <= c.len() && end <= m.len() && end <= v.len(), "product_adam: parameters are written up to {end}");
        let rows = &p.c_rows.0[..p.row_count];
        let sink = AdamUpdate { p: c.as_mut_ptr(), m: m.as_mut_ptr(), v: v.as_mut_ptr(), rows, panel: p.c_panel, k };
        dispatch!(self, product_adam(source, sink));
    }
}

impl Product<'_> {
    /// Checks every address of the formula against the slices of A and B.
    fn checked_source(&self) -> Source<'_> {
        let steps = self.segment_count * self.length;
        assert!(0 < self.row_count && 0 < steps && 0 < self.panels, "product: nothing to compute");
        let last_a = self.rows.largest_of(self.row_count)
            + self.segments.largest_of(self.segment_count)
            + (self.length - 1) * self.step;
        assert!(last_a < self.a.len(), "product: A is read at {last_a} of {}", self.a.len());
        let end_b = (self.panels - 1) * self.b_panel + (steps - 1) * self.b_stride + LANES;
        assert!(end_b <= self.b.len(), "product: B is read up to {end_b} of {}", self.b.len());
        Source {
            a: self.a.as_ptr(),
            rows: &self.rows.0[..self.row_count],
            segments: &self.segments.0[..self.segment_count],
            length: self.length,
            step: self.step,
            b: self.b.as_ptr(),
            b_stride: self.b_stride,
            b_panel: self.b_panel,
            panels: self.panels,
            prefetch: self.prefetch,
        }
    }

    /// One more than the largest index of C that is written.
    fn end_c(&self) -> usize {
        self.c_rows.largest_of(self.row_count) + (self.panels - 1) * self.c_panel + LANES
    }
}

/// What a product reads, as raw pointers. Built only by [`Product::checked_source`].
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    a: *const f32,
    rows: &'a [u32],
    segments: &'a [u32],
    length: usize,
    step: usize,
    b: *const f32,
    b_stride: usize,
    b_panel: usize,
    panels: usize,
    prefetch: Prefetch,
}

/// Reduction steps per block: 16 columns of B are then 16 KiB and stay in the first-level cache.
const BLOCK: usize = 256;

/// Reduction steps between two prefetches of the next block of B.
const PIECE: usize = 16;
const PIECES: [u32; BLOCK / PIECE] = [0, 16, 32, 48, 64, 80, 96, 112, 128, 144, 160, 176, 192, 208, 224, 240];

/// The whole product, panel group by panel group.
///
/// # Safety
/// The processor has the instructions of `V`, every address the formula above names lies inside the buffers of `source`, and
/// `sink` accepts all its rows and panels.
#[inline(always)]
pub(super) unsafe fn product<V: Lanes>(source: Source<'_>, sink: impl Sink<V>) {
    let wide = panels_at_once::<V>(source.rows.len());
    let mut panel = 0;
    while panel < source.panels {
        let left = source.panels - panel;
        // SAFETY: the panel groups partition 0..panels; the rest is this function's contract.
        unsafe {
            panel += if wide == 4 && 4 <= left {
                blocks::<V, _, 4>(source, sink, panel);
                4
            } else if 2 <= wide && 2 <= left {
                blocks::<V, _, 2>(source, sink, panel);
                2
            } else {
                blocks::<V, _, 1>(source, sink, panel);
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
                // Cut into pieces, the block has points at which to prefetch the next one.
                let is_cut = source.prefetch == Prefetch::BlockOfB && source.step == 1 && now.is_multiple_of(PIECE);
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
    let share = if source.prefetch == Prefetch::BlockOfB { steps.div_ceil(count) } else { 0 };
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
            with_height!(1 2 3 4 5 6 7 8);
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

/// The rows of B to prefetch: `lines` of them per segment.
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
            if source.prefetch == Prefetch::RowsOfA {
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

/// The start value of each sum, and its destination.
pub(super) trait Sink<V: Lanes>: Copy {
    /// Most reduction steps between two accesses to C.
    const BLOCK: usize;
    /// Whether `finish` is too long for the compiler to unroll over a tile. The sums are then spilled to memory once, before
    /// `finish`; otherwise the compiler would keep them in memory during the whole reduction.
    const IS_LONG: bool;
    /// The value at which the sum of element (`row`, `panel`) begins.
    ///
    /// # Safety
    /// The processor has the instructions of `V`; `row` and `panel` are below the counts the sink was checked for.
    unsafe fn start(&self, row: usize, panel: usize, is_first_block: bool) -> V;
    /// Consumes the sum.
    ///
    /// # Safety
    /// As for `start`.
    unsafe fn finish(&self, row: usize, panel: usize, is_last_block: bool, sum: V);
}

/// Stores the sums into C: element (r, p·16 + lane) at `rows[r] + p·panel + lane`.
#[derive(Clone, Copy)]
pub(super) struct Store<'a> {
    c: *mut f32,
    rows: &'a [u32],
    panel: usize,
    start: Accumulator<'a>,
    is_rectified: bool,
}

impl Store<'_> {
    #[inline(always)]
    unsafe fn at(&self, row: usize, panel: usize) -> *mut f32 {
        // SAFETY: `Sink`'s contract: row and panel were checked against C by `Kernel::product`.
        unsafe { self.c.add(*self.rows.get_unchecked(row) as usize + panel * self.panel) }
    }
}

impl<V: Lanes> Sink<V> for Store<'_> {
    const BLOCK: usize = BLOCK;
    const IS_LONG: bool = false;

    #[inline(always)]
    unsafe fn start(&self, row: usize, panel: usize, is_first: bool) -> V {
        // SAFETY: as for `at`; a bias holds 16 values for every panel.
        unsafe {
            match self.start {
                Accumulator::Zero if is_first => V::splat(0.0),
                Accumulator::Bias(bias) if is_first => V::load(bias.as_ptr().add(panel * 16)),
                _ => V::load(self.at(row, panel)),
            }
        }
    }
    #[inline(always)]
    unsafe fn finish(&self, row: usize, panel: usize, is_last: bool, sum: V) {
        // SAFETY: as for `at`.
        unsafe { if self.is_rectified && is_last { sum.relu() } else { sum }.store(self.at(row, panel)) }
    }
}

/// Prefetch distance of parameters and moments: three tiles of six rows.
const PARAMETERS_AHEAD: usize = 3 * 6 * 16;

/// Uses the sums as gradients and updates parameters and moments at once; they are addressed like C in [`Store`].
#[derive(Clone, Copy)]
pub(super) struct AdamUpdate<'a> {
    p: *mut f32,
    m: *mut f32,
    v: *mut f32,
    rows: &'a [u32],
    panel: usize,
    k: &'a AdamCoefficients,
}

impl<V: Lanes> Sink<V> for AdamUpdate<'_> {
    /// The gradient must be complete before it is used.
    const BLOCK: usize = usize::MAX;
    const IS_LONG: bool = true;

    #[inline(always)]
    unsafe fn start(&self, row: usize, panel: usize, _: bool) -> V {
        // SAFETY: the caller's contract; prefetches may go anywhere.
        unsafe {
            let at = *self.rows.get_unchecked(row) as usize + panel * self.panel + PARAMETERS_AHEAD;
            V::prefetch(self.p.wrapping_add(at));
            V::prefetch(self.m.wrapping_add(at));
            V::prefetch(self.v.wrapping_add(at));
            V::splat(0.0)
        }
    }
    #[inline(always)]
    unsafe fn finish(&self, row: usize, panel: usize, _: bool, sum: V) {
        // SAFETY: `Sink`'s contract: the offset was checked against all three buffers by `Kernel::product_adam`.
        unsafe {
            let at = *self.rows.get_unchecked(row) as usize + panel * self.panel;
            let (p, m, v) = (self.p.add(at), self.m.add(at), self.v.add(at));
            let (new_p, new_m, new_v) = adam_lanes(self.k, sum, V::load(p), V::load(m), V::load(v));
            new_p.store(p);
            new_m.store(m);
            new_v.store(v);
        }
    }
}
