//! Sixteen lanes on AVX-512.

use super::Lanes;
use super::avx2::transpose_8x8;
use std::arch::x86_64::*;

/// One 16-lane register.
#[derive(Clone, Copy)]
pub(crate) struct Avx512(__m512);

// SAFETY of every block below: as for `Avx2`, with AVX-512F in place of AVX2 and FMA.
impl Lanes for Avx512 {
    type Narrow = __m512;
    const TILE_ROWS: usize = 12;
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
    #[inline(always)]
    unsafe fn prefetch(from: *const f32) {
        // SAFETY: a hint; it cannot fault.
        unsafe { _mm_prefetch::<_MM_HINT_T0>(from.cast()) }
    }
    #[inline(always)]
    unsafe fn transpose(from: *const f32, to: *mut f32, to_stride: usize) {
        for (i, j) in [(0, 0), (0, 8), (8, 0), (8, 8)] {
            // SAFETY: the caller grants both blocks and the processor has AVX2.
            unsafe { transpose_8x8(from.add(i * 16 + j), to.add(j * to_stride + i), to_stride) };
        }
    }
}
