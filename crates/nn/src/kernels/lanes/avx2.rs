//! Sixteen lanes on AVX2 with FMA.

use super::Lanes;
use std::arch::x86_64::*;

/// Two 8-lane registers.
#[derive(Clone, Copy)]
pub(crate) struct Avx2(__m256, __m256);

// SAFETY of every block below: the trait's contract is that the caller runs on a processor with AVX2 and FMA and, for
// `load` and `store`, that sixteen floats are accessible at the pointer; the unaligned forms need no alignment.
impl Lanes for Avx2 {
    type Register = __m256;
    const TILE_ROWS: usize = 6;
    const TILE_PANELS: usize = 1;

    #[inline(always)]
    unsafe fn splat(x: f32) -> Self {
        // SAFETY: the trait's contract, which the caller keeps.
        let x = unsafe { _mm256_set1_ps(x) };
        Self(x, x)
    }
    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        unsafe { Self(_mm256_loadu_ps(from), _mm256_loadu_ps(from.add(8))) }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: the trait's contract, which the caller keeps.
        unsafe {
            _mm256_storeu_ps(to, self.0);
            _mm256_storeu_ps(to.add(8), self.1);
        }
    }
    #[inline(always)]
    unsafe fn fma(self, a: Self, b: Self) -> Self {
        // SAFETY: the trait's contract, which the caller keeps.
        unsafe { Self(_mm256_fmadd_ps(a.0, b.0, self.0), _mm256_fmadd_ps(a.1, b.1, self.1)) }
    }
    #[inline(always)]
    unsafe fn add(self, b: Self) -> Self {
        unsafe { Self(_mm256_add_ps(self.0, b.0), _mm256_add_ps(self.1, b.1)) }
    }
    #[inline(always)]
    unsafe fn mul(self, b: Self) -> Self {
        // SAFETY: the trait's contract, which the caller keeps.
        unsafe { Self(_mm256_mul_ps(self.0, b.0), _mm256_mul_ps(self.1, b.1)) }
    }
    #[inline(always)]
    unsafe fn div(self, b: Self) -> Self {
        unsafe { Self(_mm256_div_ps(self.0, b.0), _mm256_div_ps(self.1, b.1)) }
    }
    #[inline(always)]
    unsafe fn sqrt(self) -> Self {
        // SAFETY: the trait's contract, which the caller keeps.
        unsafe { Self(_mm256_sqrt_ps(self.0), _mm256_sqrt_ps(self.1)) }
    }
    #[inline(always)]
    unsafe fn relu(self) -> Self {
        // `max` returns its second operand when one is NaN: the order keeps NaN visible.
        unsafe {
            let zero = _mm256_setzero_ps();
            Self(_mm256_max_ps(zero, self.0), _mm256_max_ps(zero, self.1))
        }
    }
    #[inline(always)]
    unsafe fn where_positive(self, h: Self) -> Self {
        // SAFETY: the trait's contract, which the caller keeps.
        unsafe {
            let zero = _mm256_setzero_ps();
            Self(
                _mm256_and_ps(self.0, _mm256_cmp_ps::<_CMP_LT_OQ>(zero, h.0)),
                _mm256_and_ps(self.1, _mm256_cmp_ps::<_CMP_LT_OQ>(zero, h.1)),
            )
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

/// `to[j·to_stride + i] = from[i·16 + j]` for i, j < 8: pairs, then quadruples, then halves of registers are exchanged.
///
/// # Safety
/// The processor has AVX2; both blocks are accessible.
#[inline(always)]
unsafe fn transpose_8x8(from: *const f32, to: *mut f32, to_stride: usize) {
    // SAFETY: the caller's contract.
    unsafe {
        let mut r = [_mm256_setzero_ps(); 8];
        for (i, row) in r.iter_mut().enumerate() {
            *row = _mm256_loadu_ps(from.add(i * 16));
        }
        let mut pairs = r;
        for i in 0..4 {
            pairs[2 * i] = _mm256_unpacklo_ps(r[2 * i], r[2 * i + 1]);
            pairs[2 * i + 1] = _mm256_unpackhi_ps(r[2 * i], r[2 * i + 1]);
        }
        let mut quads = r;
        for i in 0..2 {
            quads[4 * i] = _mm256_shuffle_ps::<0x44>(pairs[4 * i], pairs[4 * i + 2]);
            quads[4 * i + 1] = _mm256_shuffle_ps::<0xee>(pairs[4 * i], pairs[4 * i + 2]);
            quads[4 * i + 2] = _mm256_shuffle_ps::<0x44>(pairs[4 * i + 1], pairs[4 * i + 3]);
            quads[4 * i + 3] = _mm256_shuffle_ps::<0xee>(pairs[4 * i + 1], pairs[4 * i + 3]);
        }
        for j in 0..4 {
            _mm256_storeu_ps(to.add(j * to_stride), _mm256_permute2f128_ps::<0x20>(quads[j], quads[4 + j]));
            _mm256_storeu_ps(to.add((4 + j) * to_stride), _mm256_permute2f128_ps::<0x31>(quads[j], quads[4 + j]));
        }
    }
}
