//! Sixteen `f32` lanes on AVX-512, on AVX2 with FMA and in portable Rust: one set of operations, three implementations.
//!
//! A kernel is written once over [`Lanes`], so the instruction sets differ only here. Every operation below rounds each lane once
//! and in the same way on all of them, hence all give the same bits.

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

/// a·b + c with one rounding, as the instruction has it. Where the target lacks the instruction, it is computed from `f64`
/// without a call, so that the compiler can vectorise it.
///
/// The product of two `f32` is exact in `f64`. The sum is rounded there to odd: towards zero, and to an odd last bit if
/// anything was lost. The second rounding, to `f32`, then gives what one rounding of the exact sum would (Boldo and
/// Melquiond 2008: `f64` has more than twice the digits of `f32` and two).
#[inline(always)]
fn multiply_add(a: f32, b: f32, c: f32) -> f32 {
    if cfg!(any(target_feature = "fma", target_arch = "aarch64")) {
        return a.mul_add(b, c);
    }
    fused_from_f64(a, b, c)
}

#[inline(always)]
fn fused_from_f64(a: f32, b: f32, c: f32) -> f32 {
    let (product, c) = (f64::from(a) * f64::from(b), f64::from(c));
    let sum = product + c;
    // What the sum lost, exactly (Knuth's two-sum); NaN where the sum is not finite.
    let of_c = sum - product;
    let lost = (product - (sum - of_c)) + (c - of_c);
    // An even last bit is moved by one towards what was lost: up in size if `lost` has the sign of the sum, else down.
    let bits = sum.to_bits();
    let is_inexact_even = u64::from(lost != 0.0 && !lost.is_nan()) & (!bits & 1);
    let is_away = 1 - ((lost.to_bits() ^ bits) >> 63);
    f64::from_bits(bits.wrapping_add(is_inexact_even * (2 * is_away)).wrapping_sub(is_inexact_even)) as f32
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check_fused(a: f32, b: f32, c: f32) {
        let (found, expected) = (fused_from_f64(a, b, c), a.mul_add(b, c));
        let is_same = found.to_bits() == expected.to_bits() || (found.is_nan() && expected.is_nan());
        assert!(is_same, "{a:e}·{b:e} + {c:e}: {found:e} instead of {expected:e}");
    }

    #[test]
    fn the_fused_form_is_exact_where_two_roundings_are_not() {
        // The product lies just beside the middle between two `f32`: rounding it first to f64's nearest would hide on which side.
        let one_ulp = f32::EPSILON;
        let cases = [
            (1.0 + one_ulp, 1.0 + one_ulp, 0.0),
            (1.0 + one_ulp, 1.0 - one_ulp, 2.0_f32.powi(-60)),
            (1.0, 1.0, 2.0_f32.powi(-25)),
            (16_777_217.0, 1.0 + one_ulp, -16_777_216.0),
            (1.0 + one_ulp, 0.5 + one_ulp, 2.0_f32.powi(-80)),
            (f32::MAX, 2.0, -f32::MAX),
            (f32::MIN_POSITIVE, 0.5, f32::from_bits(1)),
            (f32::from_bits(3), 0.5, f32::from_bits(1)),
            (f32::INFINITY, 1.0, -1.0),
            (f32::INFINITY, 0.0, 1.0),
            (0.0, -1.0, 0.0),
            (-0.0, 1.0, -0.0),
            (1.0, 1.0, -1.0),
        ];
        cases.into_iter().for_each(|(a, b, c)| check_fused(a, b, c));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 20_000, ..ProptestConfig::default() })]

        #[test]
        fn the_fused_form_equals_the_instruction_for_all_bits(a: u32, b: u32, c: u32) {
            check_fused(f32::from_bits(a), f32::from_bits(b), f32::from_bits(c));
        }

        // Addends near the product and near its last digits, where roundings decide.
        #[test]
        fn the_fused_form_equals_the_instruction_where_sums_cancel(a in 1_u32..1 << 24, b in 1_u32..1 << 24, shift in -60_i32..60, ulps in -3_i32..4) {
            let (a, b) = (a as f32, -(b as f32));
            let near = f32::from_bits(((-(a * b)).to_bits() as i32 + ulps) as u32);
            check_fused(a, b, near);
            check_fused(a, b, near * 2.0_f32.powi(shift));
        }
    }
}
