//! A set of pixels of one line: 160 bits, the leftmost pixel in the lowest bit.

use std::ops::{BitAnd, BitOr, Not};

use serde::{Deserialize, Serialize};

use super::WIDTH;

/// A set of pixels of one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct PixelMask(pub [u64; 3]);

const LAST_WORD: u64 = 0xffff_ffff;

impl PixelMask {
    pub const EMPTY: PixelMask = PixelMask([0; 3]);
    /// The left half of the line.
    pub const LEFT: PixelMask = PixelMask([u64::MAX, 0xffff, 0]);

    /// Pixels `first..end`.
    #[inline]
    pub fn span(first: u8, end: u8) -> PixelMask {
        BELOW[usize::from(end).min(WIDTH)] & !BELOW[usize::from(first).min(WIDTH)]
    }

    /// A pattern of at most 96 pixels whose first lies at `x`, wrapped around at the right edge.
    #[inline]
    pub fn ring(pattern: u128, x: u8) -> PixelMask {
        let (low, high) = (pattern as u64, (pattern >> 64) as u64);
        let shift = u32::from(x & 63);
        let carry = |word: u64| (word >> 1) >> (63 - shift);
        let moved = [low << shift, (high << shift) | carry(low), carry(high)];
        let words = match x >> 6 {
            0 => [moved[0], moved[1], moved[2], 0, 0],
            1 => [0, moved[0], moved[1], moved[2], 0],
            _ => [0, 0, moved[0], moved[1], moved[2]],
        };
        PixelMask([
            words[0] | (words[2] >> 32) | (words[3] << 32),
            words[1] | (words[3] >> 32) | (words[4] << 32),
            words[2] & LAST_WORD,
        ])
    }

    /// Two halves of 80 pixels.
    pub fn halves(left: u128, right: u128) -> PixelMask {
        PixelMask([left as u64, (left >> 64) as u64 | (right << 16) as u64, (right >> 48) as u64 & LAST_WORD])
    }
}

/// All pixels left of each.
static BELOW: [PixelMask; WIDTH + 1] = {
    let mut below = [PixelMask::EMPTY; WIDTH + 1];
    let mut x = 0;
    while x < WIDTH {
        below[x + 1] = below[x];
        below[x + 1].0[x / 64] |= 1 << (x % 64);
        x += 1;
    }
    below
};

impl BitAnd for PixelMask {
    type Output = PixelMask;
    #[inline]
    fn bitand(self, other: PixelMask) -> PixelMask {
        PixelMask([self.0[0] & other.0[0], self.0[1] & other.0[1], self.0[2] & other.0[2]])
    }
}

impl BitOr for PixelMask {
    type Output = PixelMask;
    #[inline]
    fn bitor(self, other: PixelMask) -> PixelMask {
        PixelMask([self.0[0] | other.0[0], self.0[1] | other.0[1], self.0[2] | other.0[2]])
    }
}

impl Not for PixelMask {
    type Output = PixelMask;
    #[inline]
    fn not(self) -> PixelMask {
        PixelMask(self.0.map(|word| !word))
    }
}

const _: () = assert!(WIDTH == 160, "a mask has three words, the last half used");

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pixels(row: PixelMask) -> Vec<usize> {
        (0..192).filter(|x| row.0[x / 64] >> (x % 64) & 1 == 1).collect()
    }

    proptest! {
        #[test]
        fn a_ring_holds_each_pixel_of_its_pattern_modulo_160(low in any::<u64>(), high in any::<u32>(), x in 0_u8..160) {
            let pattern = u128::from(low) | u128::from(high) << 64;
            let mut expected: Vec<usize> =
                (0..96).filter(|i| pattern >> i & 1 == 1).map(|i| (i + usize::from(x)) % 160).collect();
            expected.sort_unstable();
            prop_assert_eq!(pixels(PixelMask::ring(pattern, x)), expected);
        }

        #[test]
        fn a_span_holds_its_pixels_and_no_others(first in 0_u8..=160, length in 0_u8..=160) {
            let end = first.saturating_add(length).min(160);
            prop_assert_eq!(pixels(PixelMask::span(first, end)), (usize::from(first)..usize::from(end)).collect::<Vec<_>>());
        }
    }

    #[test]
    fn halves_meet_at_pixel_80() {
        let all = (1_u128 << 80) - 1;
        assert_eq!(pixels(PixelMask::halves(all, 0)), (0..80).collect::<Vec<_>>());
        assert_eq!(pixels(PixelMask::halves(0, all)), (80..160).collect::<Vec<_>>());
        assert_eq!(PixelMask::halves(all, 0), PixelMask::LEFT);
    }
}
