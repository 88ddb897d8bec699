//! What becomes of a product's sums: they are stored, or taken as gradients by an optimiser step.

use super::elementwise::{AdamCoefficients, adam_lanes};
use super::lanes::Lanes;
use super::product::BLOCK;

/// Where a product's sums begin and end.
pub(crate) trait Sink<V: Lanes>: Copy {
    /// Most reduction steps between two visits of C.
    const BLOCK: usize;
    /// Whether `finish` is so long that the compiler will not unroll it over a tile. The sums then go through memory once at
    /// the end, lest they live there throughout.
    const IS_LONG: bool;
    /// The value at which the sum of element (`row`, `panel`) begins.
    ///
    /// # Safety
    /// The processor has the instructions of `V`; `row` and `panel` are below the counts the sink was checked for.
    unsafe fn start(&self, row: usize, panel: usize, is_first_block: bool) -> V;
    /// Takes the sum.
    ///
    /// # Safety
    /// As for `start`.
    unsafe fn finish(&self, row: usize, panel: usize, is_last_block: bool, sum: V);
}

/// How a stored product begins.
#[derive(Clone, Copy)]
pub(crate) enum Start {
    Zero,
    /// From what C holds.
    Add,
    /// From one value per column.
    Bias(*const f32),
}

/// Stores the sums into C: element (r, p·16 + lane) at `rows[r] + p·panel + lane`.
#[derive(Clone, Copy)]
pub(crate) struct Store<'a> {
    pub c: *mut f32,
    pub rows: &'a [u32],
    pub panel: usize,
    pub start: Start,
    pub is_rectified: bool,
}

impl Store<'_> {
    #[inline(always)]
    unsafe fn at(&self, row: usize, panel: usize) -> *mut f32 {
        // SAFETY: `Sink`'s contract: row and panel were checked against C by the wrapper that built this sink.
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
                Start::Zero if is_first => V::splat(0.0),
                Start::Bias(bias) if is_first => V::load(bias.add(panel * 16)),
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

/// How far before their use parameters and moments are asked for: three tiles of six rows.
const PARAMETERS_AHEAD: usize = 3 * 6 * 16;

/// Takes the sums as gradients and moves parameters and moments at once; they are addressed like C in [`Store`].
#[derive(Clone, Copy)]
pub(crate) struct Update<'a> {
    pub p: *mut f32,
    pub m: *mut f32,
    pub v: *mut f32,
    pub rows: &'a [u32],
    pub panel: usize,
    pub k: &'a AdamCoefficients,
}

impl<V: Lanes> Sink<V> for Update<'_> {
    /// The sum must be complete when it arrives.
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
        // SAFETY: `Sink`'s contract: the offset was checked against all three buffers by the wrapper.
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
