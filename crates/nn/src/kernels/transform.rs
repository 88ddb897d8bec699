//! The transforms of Winograd's convolution and their adjoints, on tiles of 4 × 4 registers.
//!
//! One dimension, `taps` R = 2 or 3, outputs per tile M = 5 − R, so that 4 products give M outputs of R taps each:
//!
//! ```text
//! y = Aᵀ[(G g) ⊙ (Bᵀ d)]        interpolation at 0, 1, −1 and ∞
//! ```
//!
//! Two dimensions are the same along columns and rows. The gradients are the adjoint of exactly this formula: δ enters by A,
//! leaves by B towards the input and by Gᵀ towards the filter. All factors are 1 and 1/2, so rounding stays that of a direct sum.
//!
//! Every tile is bounds-checked by a slice that holds all of it; unsafe are the accesses within that slice, and that the
//! processor must have the instructions of the lanes.
#![allow(clippy::needless_range_loop, reason = "tiles are indexed by row and column in several arrays at once")]

use super::lanes::Register;
use super::tiles::{POSITIONS, Patch, SIDE};

/// A transform along one dimension.
pub(super) trait Transform<V: Register, const P: usize, const Q: usize> {
    unsafe fn along(x: [V; P]) -> [V; Q];
}

pub(super) struct Input;
pub(super) struct InputAdjoint;
pub(super) struct Filter;
pub(super) struct FilterAdjoint;
pub(super) struct Output;
pub(super) struct OutputAdjoint;

// SAFETY of every block below: the processor has the instructions of `V`, which is all that arithmetic on lanes needs.

impl<V: Register> Transform<V, 4, 4> for Input {
    #[inline(always)]
    unsafe fn along([a, b, c, d]: [V; 4]) -> [V; 4] {
        // SAFETY: the caller's contract, that the processor has these instructions.
        unsafe { [a.sub(c), b.add(c), c.sub(b), b.sub(d)] }
    }
}

impl<V: Register> Transform<V, 4, 4> for InputAdjoint {
    #[inline(always)]
    unsafe fn along([a, b, c, d]: [V; 4]) -> [V; 4] {
        // SAFETY: the caller's contract, that the processor has these instructions.
        unsafe { [a, b.sub(c).add(d), b.add(c).sub(a), V::zero().sub(d)] }
    }
}

impl<V: Register> Transform<V, 2, 4> for Filter {
    #[inline(always)]
    unsafe fn along([a, b]: [V; 2]) -> [V; 4] {
        // SAFETY: the caller's contract, that the processor has these instructions.
        unsafe { [a, a.add(b).half(), a.sub(b).half(), b] }
    }
}

impl<V: Register> Transform<V, 3, 4> for Filter {
    #[inline(always)]
    unsafe fn along([a, b, c]: [V; 3]) -> [V; 4] {
        // SAFETY: the caller's contract, that the processor has these instructions.
        let ends = unsafe { a.add(c) };
        unsafe { [a, ends.add(b).half(), ends.sub(b).half(), c] }
    }
}

impl<V: Register> Transform<V, 4, 2> for FilterAdjoint {
    #[inline(always)]
    unsafe fn along([a, b, c, d]: [V; 4]) -> [V; 2] {
        // SAFETY: the caller's contract, that the processor has these instructions.
        unsafe { [a.add(b.add(c).half()), d.add(b.sub(c).half())] }
    }
}

impl<V: Register> Transform<V, 4, 3> for FilterAdjoint {
    #[inline(always)]
    unsafe fn along([a, b, c, d]: [V; 4]) -> [V; 3] {
        // SAFETY: the caller's contract, that the processor has these instructions.
        unsafe { [a.add(b.add(c).half()), b.sub(c).half(), d.add(b.add(c).half())] }
    }
}

impl<V: Register> Transform<V, 4, 2> for Output {
    #[inline(always)]
    unsafe fn along([a, b, c, d]: [V; 4]) -> [V; 2] {
        // SAFETY: the caller's contract, that the processor has these instructions.
        unsafe { [a.add(b.add(c)), b.sub(c).sub(d)] }
    }
}

impl<V: Register> Transform<V, 4, 3> for Output {
    #[inline(always)]
    unsafe fn along([a, b, c, d]: [V; 4]) -> [V; 3] {
        // SAFETY: the caller's contract, that the processor has these instructions.
        unsafe { [a.add(b.add(c)), b.sub(c), b.add(c).sub(d)] }
    }
}

impl<V: Register> Transform<V, 2, 4> for OutputAdjoint {
    #[inline(always)]
    unsafe fn along([a, b]: [V; 2]) -> [V; 4] {
        // SAFETY: the caller's contract, that the processor has these instructions.
        unsafe { [a, a.add(b), a.sub(b), V::zero().sub(b)] }
    }
}

impl<V: Register> Transform<V, 3, 4> for OutputAdjoint {
    #[inline(always)]
    unsafe fn along([a, b, c]: [V; 3]) -> [V; 4] {
        // SAFETY: the caller's contract, that the processor has these instructions.
        unsafe { [a, a.add(c).add(b), a.add(c).sub(b), V::zero().sub(c)] }
    }
}

/// The transform along columns, then along rows.
#[inline(always)]
pub(super) unsafe fn both<T: Transform<V, P, Q>, V: Register, const P: usize, const Q: usize>(
    x: [[V; P]; P],
) -> [[V; Q]; Q] {
    // SAFETY: the caller's contract, that the processor has these instructions.
    unsafe {
        let zero = V::zero();
        let mut half = [[zero; P]; Q];
        for j in 0..P {
            let mut column = [zero; P];
            for i in 0..P {
                column[i] = x[i][j];
            }
            let column = T::along(column);
            for i in 0..Q {
                half[i][j] = column[i];
            }
        }
        let mut out = [[zero; Q]; Q];
        for i in 0..Q {
            out[i] = T::along(half[i]);
        }
        out
    }
}

#[inline(always)]
pub(super) unsafe fn load<V: Register>(x: &[f32], at: usize) -> V {
    let piece = &x[at..at + V::WIDTH];
    // SAFETY: as many floats as there are lanes, as the slice has checked.
    unsafe { V::load(piece.as_ptr()) }
}

#[inline(always)]
pub(super) unsafe fn store<V: Register>(x: &mut [f32], at: usize, value: V) {
    let piece = &mut x[at..at + V::WIDTH];
    // SAFETY: as many floats as there are lanes, as the slice has checked.
    unsafe { value.store(piece.as_mut_ptr()) }
}

/// The tile of an image that begins at `patch`; what lies outside the image is zero.
#[inline(always)]
pub(super) unsafe fn load_patch<V: Register, const P: usize>(x: &[f32], patch: Patch, channel: usize) -> [[V; P]; P] {
    // SAFETY: the caller's contract, and `IS_WHOLE` is what the patch says.
    unsafe {
        match patch.is_whole(P) {
            true => load_patch_of::<V, P, true>(x, patch, channel),
            false => load_patch_of::<V, P, false>(x, patch, channel),
        }
    }
}

/// # Safety
/// The processor has the instructions of `V`; `IS_WHOLE` only if the patch is.
#[inline(always)]
unsafe fn load_patch_of<V: Register, const P: usize, const IS_WHOLE: bool>(
    x: &[f32],
    patch: Patch,
    channel: usize,
) -> [[V; P]; P] {
    let x = &x[patch.first + channel..][..patch.span() + V::WIDTH];
    // SAFETY: the caller's contract, that the processor has these instructions.
    let mut tile = [[unsafe { V::zero() }; P]; P];
    // Every index is a constant once these loops are unrolled, so the tile stays in registers.
    for i in 0..P {
        for j in 0..P {
            if IS_WHOLE || patch.has(i, j) {
                // SAFETY: rows and columns that the patch has end where `x` does or before.
                tile[i][j] = unsafe { V::load(x.as_ptr().add(i * patch.down + j * patch.right)) };
            }
        }
    }
    tile
}

/// The 16 positions of a tile, `step` floats apart.
#[inline(always)]
pub(super) unsafe fn load_positions<V: Register>(x: &[f32], at: usize, step: usize) -> [[V; 4]; 4] {
    let x = &x[at..][..(POSITIONS - 1) * step + V::WIDTH];
    // SAFETY: the caller's contract, that the processor has these instructions.
    let mut tile = [[unsafe { V::zero() }; 4]; 4];
    for i in 0..SIDE {
        for j in 0..SIDE {
            // SAFETY: the last of the 16 positions ends where `x` does.
            tile[i][j] = unsafe { V::load(x.as_ptr().add((i * SIDE + j) * step)) };
        }
    }
    tile
}

#[inline(always)]
pub(super) unsafe fn store_positions<V: Register>(x: &mut [f32], at: usize, step: usize, tile: [[V; 4]; 4]) {
    let x = &mut x[at..][..(POSITIONS - 1) * step + V::WIDTH];
    for i in 0..SIDE {
        for j in 0..SIDE {
            // SAFETY: the last of the 16 positions ends where `x` does.
            unsafe { tile[i][j].store(x.as_mut_ptr().add((i * SIDE + j) * step)) };
        }
    }
}

/// Replaces every value of the image inside `patch` by `change`(value, value of the tile).
#[inline(always)]
pub(super) unsafe fn change_patch<V: Register, const P: usize>(
    x: &mut [f32],
    patch: Patch,
    channel: usize,
    tile: [[V; P]; P],
    change: impl Fn(V, V) -> V,
) {
    // SAFETY: the caller's contract, and `IS_WHOLE` is what the patch says.
    unsafe {
        match patch.is_whole(P) {
            true => change_patch_of::<V, P, true>(x, patch, channel, tile, change),
            false => change_patch_of::<V, P, false>(x, patch, channel, tile, change),
        }
    }
}

/// # Safety
/// As for [`load_patch_of`].
#[inline(always)]
unsafe fn change_patch_of<V: Register, const P: usize, const IS_WHOLE: bool>(
    x: &mut [f32],
    patch: Patch,
    channel: usize,
    tile: [[V; P]; P],
    change: impl Fn(V, V) -> V,
) {
    let x = &mut x[patch.first + channel..][..patch.span() + V::WIDTH];
    for i in 0..P {
        for j in 0..P {
            if IS_WHOLE || patch.has(i, j) {
                // SAFETY: rows and columns that the patch has end where `x` does or before.
                unsafe {
                    let pixel = x.as_mut_ptr().add(i * patch.down + j * patch.right);
                    change(V::load(pixel), tile[i][j]).store(pixel);
                }
            }
        }
    }
}
