//! Standard normal numbers, sixteen lanes at a time, the same bits on every machine.
//!
//! Bits: sixteen xoshiro128++ generators in parallel. Numbers: Box–Muller with polynomials for ln and sin. Only operations
//! whose rounding IEEE 754 defines are used (+, −, ×, ÷, √, never a fused multiply-add), so every instruction set computes the
//! same values.
#![allow(clippy::needless_range_loop, reason = "loops over lanes read like the vectors they become")]

use super::lanes::Lanes;
use super::*;

impl Kernel {
    /// Standard normal numbers: the stream of `seed`, the same bits on every instruction set.
    pub fn fill_normal(self, out: &mut [f32], seed: u64) {
        dispatch!(self, fill_gaussian(out, seed, NoiseShape::Normal))
    }

    /// z(x) = sgn(x)·√|x| of standard normal numbers x: the stream of `seed`, the same bits on every instruction set.
    pub fn fill_z(self, out: &mut [f32], seed: u64) {
        dispatch!(self, fill_gaussian(out, seed, NoiseShape::SignedRoot))
    }
}

/// What is applied to each normal number.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum NoiseShape {
    Normal,
    /// z(x) = sgn(x)·√|x|.
    SignedRoot,
}

/// Fills `out` with the stream of `seed`. `V` only selects the instructions that the compiler may use.
///
/// # Safety
/// The processor has the instructions the surrounding function was compiled for.
#[inline(always)]
pub(super) unsafe fn fill<V: Lanes>(out: &mut [f32], seed: u64, shape: NoiseShape) {
    let mut bits = Generators::new(seed);
    let mut pieces = out.chunks_exact_mut(32);
    for piece in &mut pieces {
        let numbers = next_32(&mut bits, shape);
        piece.copy_from_slice(&numbers);
    }
    let rest = pieces.into_remainder();
    if !rest.is_empty() {
        let numbers = next_32(&mut bits, shape);
        let count = rest.len();
        rest.copy_from_slice(&numbers[..count]);
    }
}

/// Two normal numbers per lane.
///
/// ```text
/// r = √(−2 ln u)    x = r sin(πt)    y = ±r √(1 − sin²(πt))    u ∈ (0, 1), t ∈ [−½, ½), the sign from a bit of its own
/// ```
#[inline(always)]
fn next_32(bits: &mut Generators, shape: NoiseShape) -> [f32; 32] {
    let a = bits.next();
    let b = bits.next();
    let mut out = [0.0_f32; 32];
    for l in 0..16 {
        let u = ((a[l] >> 8) as f32 + 0.5) * (1.0 / 16_777_216.0);
        let t = (b[l] >> 9) as f32 * (1.0 / 8_388_608.0) - 0.5;
        let radius = (-2.0 * ln(u)).sqrt();
        let sine = sin_pi(t);
        let rest = 1.0 - sine * sine;
        let cosine = (if rest < 0.0 { 0.0 } else { rest }).sqrt();
        let sign = (b[l] & 1) << 31;
        out[l] = radius * sine;
        out[16 + l] = f32::from_bits((radius * cosine).to_bits() ^ sign);
    }
    if shape == NoiseShape::SignedRoot {
        for x in &mut out {
            *x = x.abs().sqrt().copysign(*x);
        }
    }
    out
}

/// Natural logarithm of a positive normal number, to about 1e-7 of its value for arguments away from 1.
#[inline(always)]
fn ln(x: f32) -> f32 {
    let bits = x.to_bits();
    let exponent = (bits >> 23) as i32 - 127;
    let mantissa = f32::from_bits((bits & 0x007f_ffff) | 0x3f80_0000);
    let is_big = std::f32::consts::SQRT_2 < mantissa;
    let m = if is_big { mantissa * 0.5 } else { mantissa };
    let e = (if is_big { exponent + 1 } else { exponent }) as f32;
    // ln m = 2 artanh((m − 1) / (m + 1)), |t| <= 0.1716.
    let t = (m - 1.0) / (m + 1.0);
    let t2 = t * t;
    let series = 1.0 + t2 * (1.0 / 3.0 + t2 * (0.2 + t2 * (1.0 / 7.0 + t2 * (1.0 / 9.0))));
    2.0 * t * series + e * std::f32::consts::LN_2
}

/// sin(πt) for |t| <= ½: the Taylor polynomial up to t¹³, off by less than 1e-7.
#[inline(always)]
fn sin_pi(t: f32) -> f32 {
    const C: [f32; 7] =
        [std::f32::consts::PI, -5.167_713, 2.550_164, -0.599_264_5, 0.082_145_89, -0.007_370_431, 0.000_466_302_8];
    let t2 = t * t;
    t * (C[0] + t2 * (C[1] + t2 * (C[2] + t2 * (C[3] + t2 * (C[4] + t2 * (C[5] + t2 * C[6]))))))
}

/// Sixteen xoshiro128++ generators, seeded from one number by splitmix64.
struct Generators {
    s: [[u32; 16]; 4],
}

impl Generators {
    #[inline(always)]
    fn new(seed: u64) -> Self {
        let mut s = [[0; 16]; 4];
        let mut counter = seed;
        for pair in 0..2 {
            for l in 0..16 {
                counter = counter.wrapping_add(0x9e37_79b9_7f4a_7c15);
                let mut z = counter;
                z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
                z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
                z ^= z >> 31;
                s[2 * pair][l] = z as u32;
                s[2 * pair + 1][l] = (z >> 32) as u32;
            }
        }
        Self { s }
    }

    #[inline(always)]
    fn next(&mut self) -> [u32; 16] {
        let [s0, s1, s2, s3] = &mut self.s;
        let mut out = [0; 16];
        for l in 0..16 {
            out[l] = s0[l].wrapping_add(s3[l]).rotate_left(7).wrapping_add(s0[l]);
            let t = s1[l] << 9;
            s2[l] ^= s0[l];
            s3[l] ^= s1[l];
            s1[l] ^= s2[l];
            s0[l] ^= s3[l];
            s2[l] ^= t;
            s3[l] = s3[l].rotate_left(11);
        }
        out
    }
}
