//! One register of lanes: the Winograd transforms hold a tile of 16 values at once, and sixteen lanes of each would not fit into
//! the registers of AVX2.

#[cfg(target_arch = "x86_64")]
use std::arch::x86_64::*;

/// As many lanes as one register holds; the safety conditions are those of [`Lanes`](super::Lanes).
pub(crate) trait Register: Copy {
    /// Number of lanes, a divisor of sixteen.
    const WIDTH: usize;

    unsafe fn zero() -> Self;
    unsafe fn load(from: *const f32) -> Self;
    unsafe fn store(self, to: *mut f32);
    unsafe fn add(self, b: Self) -> Self;
    unsafe fn sub(self, b: Self) -> Self;
    /// `self / 2`.
    unsafe fn half(self) -> Self;
    /// As [`Lanes::relu`](super::Lanes::relu).
    unsafe fn relu(self) -> Self;
}

/// A single portable lane: compilers do not vectorise tiles of sixteen arrays well.
impl Register for f32 {
    const WIDTH: usize = 1;

    #[inline(always)]
    unsafe fn zero() -> Self {
        0.0
    }
    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        // SAFETY: the caller grants one readable float.
        unsafe { from.read() }
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: the caller grants one writable float.
        unsafe { to.write(self) }
    }
    #[inline(always)]
    unsafe fn add(self, b: Self) -> Self {
        self + b
    }
    #[inline(always)]
    unsafe fn sub(self, b: Self) -> Self {
        self - b
    }
    #[inline(always)]
    unsafe fn half(self) -> Self {
        self * 0.5
    }
    #[inline(always)]
    unsafe fn relu(self) -> Self {
        if self < 0.0 { 0.0 } else { self }
    }
}

#[cfg(target_arch = "x86_64")]
macro_rules! register {
    (
        $type:ty,
        $width:literal,
        $zero:ident,
        $splat:ident,
        $load:ident,
        $store:ident,
        $add:ident,
        $sub:ident,
        $mul:ident,
        $max:ident
    ) => {
        // SAFETY of every block: the contract of `Register`, which the caller keeps; the unaligned forms need no alignment.
        impl Register for $type {
            const WIDTH: usize = $width;

            #[inline(always)]
            unsafe fn zero() -> Self {
                // SAFETY: the caller's contract, that the processor has these instructions.
                unsafe { $zero() }
            }
            #[inline(always)]
            unsafe fn load(from: *const f32) -> Self {
                unsafe { $load(from) }
            }
            #[inline(always)]
            unsafe fn store(self, to: *mut f32) {
                // SAFETY: the caller's contract, that the processor has these instructions.
                unsafe { $store(to, self) }
            }
            #[inline(always)]
            unsafe fn add(self, b: Self) -> Self {
                unsafe { $add(self, b) }
            }
            #[inline(always)]
            unsafe fn sub(self, b: Self) -> Self {
                // SAFETY: the caller's contract, that the processor has these instructions.
                unsafe { $sub(self, b) }
            }
            #[inline(always)]
            unsafe fn half(self) -> Self {
                unsafe { $mul(self, $splat(0.5)) }
            }
            #[inline(always)]
            unsafe fn relu(self) -> Self {
                // SAFETY: the caller's contract, that the processor has these instructions.
                unsafe { $max($zero(), self) }
            }
        }
    };
}

#[cfg(target_arch = "x86_64")]
register!(
    __m256,
    8,
    _mm256_setzero_ps,
    _mm256_set1_ps,
    _mm256_loadu_ps,
    _mm256_storeu_ps,
    _mm256_add_ps,
    _mm256_sub_ps,
    _mm256_mul_ps,
    _mm256_max_ps
);
#[cfg(target_arch = "x86_64")]
register!(
    __m512,
    16,
    _mm512_setzero_ps,
    _mm512_set1_ps,
    _mm512_loadu_ps,
    _mm512_storeu_ps,
    _mm512_add_ps,
    _mm512_sub_ps,
    _mm512_mul_ps,
    _mm512_max_ps
);
