//! Sixteen `f32` lanes on AVX-512, on AVX2 with FMA and in portable Rust: one set of operations, three implementations.
//!
//! A kernel is written once over [`Lanes`], so the instruction sets differ only here. With AVX-512 and with AVX2 every operation
//! below rounds each lane once and in the same way, hence both give the same bits.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
mod register;

#[cfg(target_arch = "x86_64")]
pub(crate) use avx2::Avx2;
#[cfg(target_arch = "x86_64")]
pub(crate) use avx512::Avx512;
pub(crate) use register::Register;

/// Sixteen lanes. All methods need a processor that has the instructions of the implementing type; that is the only
/// condition of the value methods, and `load`/`store` also need sixteen readable or writable floats at the pointer.
pub(crate) trait Lanes: Copy {
    /// The lanes of one register.
    type Register: Register;
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
    /// Prefetches the cache line at `from`; any address is allowed.
    #[inline(always)]
    unsafe fn prefetch(from: *const f32) {
        let _ = from;
    }
    /// `to[j·to_stride + i] = from[i·16 + j]` for i, j < 16; the caller grants both blocks.
    #[inline(always)]
    unsafe fn transpose(from: *const f32, to: *mut f32, to_stride: usize) {
        for j in 0..16 {
            for i in 0..16 {
                // SAFETY: both addresses belong to the blocks the caller grants.
                unsafe { to.add(j * to_stride + i).write(from.add(i * 16 + j).read()) };
            }
        }
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
    type Register = f32;
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
