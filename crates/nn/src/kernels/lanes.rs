//! Sixteen `f32` lanes on AVX-512, on AVX2 with FMA and in portable Rust: one set of operations, three machines.
//!
//! A kernel is written once over [`Lanes`], so the three paths differ only in this file. On both x86 paths every operation
//! below rounds each lane once and in the same way, hence they give the same bits.

/// Sixteen lanes. All methods need a processor that has the instructions of the implementing type; that is the only
/// condition of the value methods, and `load`/`store` also need sixteen readable or writable floats at the pointer.
pub(crate) trait Lanes: Copy {
    /// One register's worth of lanes.
    type Narrow: Narrow;
    /// Rows of 16 columns that one tile accumulates in registers.
    const TILE_ROWS: usize;
    /// How many 16-column panels a tile of full height covers.
    const TILE_PANELS: usize;

    unsafe fn splat(x: f32) -> Self;
    unsafe fn load(from: *const f32) -> Self;
    unsafe fn store(self, to: *mut f32);
    /// `self + a·b`.
    unsafe fn fma(self, a: Self, b: Self) -> Self;
    unsafe fn add(self, b: Self) -> Self;
    unsafe fn mul(self, b: Self) -> Self;
    unsafe fn div(self, b: Self) -> Self;
    unsafe fn sqrt(self) -> Self;
    /// `x < 0 → 0`, everything else (NaN too) stays.
    unsafe fn relu(self) -> Self;
    /// `h > 0 → self`, else 0.
    unsafe fn where_positive(self, h: Self) -> Self;
    /// Asks for the cache line at `from`; any address is allowed, nothing is read.
    #[inline(always)]
    unsafe fn prefetch(from: *const f32) {
        let _ = from;
    }
    /// `to[j·to_stride + i] = from[i·16 + j]` for i, j < 16; the caller grants both blocks.
    #[inline(always)]
    unsafe fn transpose(from: *const f32, to: *mut f32, to_stride: usize) {
        for j in 0..16 {
            for i in 0..16 {
                // SAFETY: both places belong to the blocks the caller grants.
                unsafe { to.add(j * to_stride + i).write(from.add(i * 16 + j).read()) };
            }
        }
    }
}

/// As many lanes as one register holds, for arithmetic on many values at once; the conditions are those of [`Lanes`].
pub(crate) trait Narrow: Copy {
    /// Number of lanes, a divisor of sixteen.
    const WIDTH: usize;

    unsafe fn zero() -> Self;
    unsafe fn load(from: *const f32) -> Self;
    unsafe fn store(self, to: *mut f32);
    unsafe fn add(self, b: Self) -> Self;
    unsafe fn sub(self, b: Self) -> Self;
    /// `self / 2`.
    unsafe fn half(self) -> Self;
    /// As [`Lanes::relu`].
    unsafe fn relu(self) -> Self;
}

/// A single portable lane: sixteen tiles of arrays at once are more than compilers take well.
impl Narrow for f32 {
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

/// Portable lanes: arrays that the compiler may vectorise for any target.
#[derive(Clone, Copy)]
pub(crate) struct Portable([f32; 16]);

/// One fused rounding where the target has the instruction at compile time; elsewhere the fused form would be a slow call.
#[inline(always)]
fn multiply_add(a: f32, b: f32, c: f32) -> f32 {
    if cfg!(any(target_feature = "fma", target_arch = "aarch64")) { a.mul_add(b, c) } else { a * b + c }
}

macro_rules! lanewise {
    (|$i:ident| $value:expr) => {{
        let mut out = [0.0_f32; 16];
        let mut $i = 0;
        while $i < 16 {
            out[$i] = $value;
            $i += 1;
        }
        Portable(out)
    }};
}

impl Lanes for Portable {
    type Narrow = f32;
    const TILE_ROWS: usize = if cfg!(target_arch = "aarch64") { 5 } else { 2 };
    const TILE_PANELS: usize = 1;

    #[inline(always)]
    unsafe fn splat(x: f32) -> Self {
        Portable([x; 16])
    }
    #[inline(always)]
    unsafe fn load(from: *const f32) -> Self {
        // SAFETY: the caller grants sixteen readable floats; the read assumes no alignment.
        Portable(unsafe { from.cast::<[f32; 16]>().read_unaligned() })
    }
    #[inline(always)]
    unsafe fn store(self, to: *mut f32) {
        // SAFETY: the caller grants sixteen writable floats; the write assumes no alignment.
        unsafe { to.cast::<[f32; 16]>().write_unaligned(self.0) }
    }
    #[inline(always)]
    unsafe fn fma(self, a: Self, b: Self) -> Self {
        lanewise!(|i| multiply_add(a.0[i], b.0[i], self.0[i]))
    }
    #[inline(always)]
    unsafe fn add(self, b: Self) -> Self {
        lanewise!(|i| self.0[i] + b.0[i])
    }
    #[inline(always)]
    unsafe fn mul(self, b: Self) -> Self {
        lanewise!(|i| self.0[i] * b.0[i])
    }
    #[inline(always)]
    unsafe fn div(self, b: Self) -> Self {
        lanewise!(|i| self.0[i] / b.0[i])
    }
    #[inline(always)]
    unsafe fn sqrt(self) -> Self {
        lanewise!(|i| self.0[i].sqrt())
    }
    #[inline(always)]
    unsafe fn relu(self) -> Self {
        lanewise!(|i| if self.0[i] < 0.0 { 0.0 } else { self.0[i] })
    }
    #[inline(always)]
    unsafe fn where_positive(self, h: Self) -> Self {
        lanewise!(|i| if 0.0 < h.0[i] { self.0[i] } else { 0.0 })
    }
}

#[cfg(target_arch = "x86_64")]
pub(crate) use x86::{Avx2, Avx512};

#[cfg(target_arch = "x86_64")]
mod x86 {
    use super::{Lanes, Narrow};
    use std::arch::x86_64::*;

    /// Two 8-lane registers.
    #[derive(Clone, Copy)]
    pub(crate) struct Avx2(__m256, __m256);

    // SAFETY of every block below: the trait's contract is that the caller runs on a processor with AVX2 and FMA and, for
    // `load` and `store`, that sixteen floats are accessible at the pointer; the unaligned forms need no alignment.
    impl Lanes for Avx2 {
        type Narrow = __m256;
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

    macro_rules! narrow {
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
            // SAFETY of every block: the contract of `Narrow`, which the caller keeps; the unaligned forms need no alignment.
            impl Narrow for $type {
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

    narrow!(
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
    narrow!(
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
}
