//! Sixteen lanes on AVX-512.

use super::{Avx2, Lanes};
use std::arch::x86_64::*;

/// One 16-lane register.
#[derive(Clone, Copy)]
pub(crate) struct Avx512(__m512);

// SAFETY of every block below: as for `Avx2`, with AVX-512F in place of AVX2 and FMA.
impl Lanes for Avx512 {
    type Register = __m512;
    // Sixteen sums keep both multiply-add units busy, and the addresses of eight rows fit into the other registers. With twelve
    // rows the compiler stores half of the sums to memory in every step of the reduction.
    const TILE_ROWS: usize = 8;
    const TILE_PANELS: usize = 2;

    #[inline(always)]
    unsafe fn splat(x: f32) -> Self {
        // SAFETY: the trait's contract, which the caller keeps.
        Self(unsafe { _mm512_set1_ps(x) })
    }
    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        Self(unsafe { _mm512_loadu_ps(from) })
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: the trait's contract, which the caller keeps.
        unsafe { _mm512_storeu_ps(to, self.0) }
    }
    #[inline(always)]
    unsafe fn fma(self, a: Self, b: Self) -> Self {
        Self(unsafe { _mm512_fmadd_ps(a.0, b.0, self.0) })
    }
    #[inline(always)]
    unsafe fn add(self, b: Self) -> Self {
        // SAFETY: the trait's contract, which the caller keeps.
        Self(unsafe { _mm512_add_ps(self.0, b.0) })
    }
    #[inline(always)]
    unsafe fn mul(self, b: Self) -> Self {
        Self(unsafe { _mm512_mul_ps(self.0, b.0) })
    }
    #[inline(always)]
    unsafe fn div(self, b: Self) -> Self {
        // SAFETY: the trait's contract, which the caller keeps.
        Self(unsafe { _mm512_div_ps(self.0, b.0) })
    }
    #[inline(always)]
    unsafe fn sqrt(self) -> Self {
        Self(unsafe { _mm512_sqrt_ps(self.0) })
    }
    #[inline(always)]
    unsafe fn relu(self) -> Self {
        // SAFETY: the trait's contract, which the caller keeps.
        Self(unsafe { _mm512_max_ps(_mm512_setzero_ps(), self.0) })
    }
    #[inline(always)]
    unsafe fn where_positive(self, h: Self) -> Self {
        unsafe {
            let positive = _mm512_cmp_ps_mask::<_CMP_LT_OQ>(_mm512_setzero_ps(), h.0);
            Self(_mm512_maskz_mov_ps(positive, self.0))
        }
    }
    // A processor with AVX-512 has AVX2, and neither of these gains by wider registers.
    #[inline(always)]
    unsafe fn prefetch(from: *const f32) {
        // SAFETY: the trait's contract, which the caller keeps.
        unsafe { Avx2::prefetch(from) }
    }
    #[inline(always)]
    unsafe fn transpose(from: *const f32, to: *mut f32, to_stride: usize) {
        // SAFETY: the trait's contract, which the caller keeps.
        unsafe { Avx2::transpose(from, to, to_stride) }
    }
}
