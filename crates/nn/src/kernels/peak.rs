//! The processor's peak arithmetic rate, with which the speed of layers is compared.

use super::elementwise::tree_sum;
use super::lanes::Lanes;
use super::*;

impl Kernel {
    /// Computes `rounds` rounds of multiply-adds in registers and returns their number of floating-point operations. Timed by
    /// the caller, this gives the peak rate of one core.
    pub fn multiply_adds(self, rounds: u64) -> u64 {
        let x = std::hint::black_box(0.5);
        let (sum, flop) = dispatch!(self, multiply_adds(rounds, x));
        std::hint::black_box(sum);
        flop
    }
}

/// `rounds` rounds of independent multiply-adds on at most as many registers as a tile of a product accumulates in: their sum, on which
/// all depend so that the compiler cannot remove any, and the number of floating-point operations.
///
/// # Safety
/// The processor has the instructions of `V`.
#[inline(always)]
pub(super) unsafe fn multiply_adds<V: Lanes>(rounds: u64, x: f32) -> (f32, u64) {
    // SAFETY: the caller's contract.
    unsafe {
        match V::TILE_ROWS * V::TILE_PANELS {
            ..6 => chains::<V, 2>(rounds, x),
            6..12 => chains::<V, 6>(rounds, x),
            _ => chains::<V, 12>(rounds, x),
        }
    }
}

#[inline(always)]
unsafe fn chains<V: Lanes, const N: usize>(rounds: u64, x: f32) -> (f32, u64) {
    // SAFETY: the caller's contract.
    unsafe {
        let (factor, mut sums) = (V::splat(x), [V::splat(x); N]);
        for _ in 0..rounds {
            for sum in &mut sums {
                *sum = factor.fma(*sum, factor);
            }
        }
        let mut total = sums[0];
        for &sum in &sums[1..] {
            total = total.add(sum);
        }
        (tree_sum(total), rounds * (2 * LANES * N) as u64)
    }
}
