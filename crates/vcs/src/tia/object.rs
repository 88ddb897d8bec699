//! Players and missiles: shape, copies and position → mask.

use super::playfield::FOURFOLD;
use super::row::Row;
use super::{Ark, M0, P0, Tia};

/// Bits at the offsets of the copies that the low three bits of NUSIZ ask for.
const COPIES: [&[u8]; 8] = [&[0], &[0, 16], &[0, 32], &[0, 16, 32], &[0, 64], &[0], &[0, 32, 64], &[0]];

impl Tia {
    /// The graphics byte on show.
    #[inline]
    pub(super) fn shown_grp(&self, player: usize) -> u8 {
        if self.vdelp[player] { self.grp_delayed[player] } else { self.grp[player] }
    }

    pub(super) fn make_player(&mut self, player: usize) {
        let grp = self.shown_grp(player);
        if grp == 0 {
            self.masks[P0 + player] = Row::EMPTY;
            return;
        }
        // The leftmost pixel is the lowest bit of a mask and the highest of the register.
        let bits = if self.reflect_player[player] { grp } else { grp.reverse_bits() };
        let size = self.nusiz[player] & 7;
        let shape = match size {
            5 => u128::from(TWOFOLD[usize::from(bits)]) << 1,
            7 => u128::from(FOURFOLD[usize::from(bits)]) << 1,
            _ => u128::from(bits),
        };
        let pattern = copied(shape, size) & if self.suppressed[player] { !shape } else { u128::MAX };
        self.masks[P0 + player] = Row::ring(pattern, self.positions[P0 + player]);
    }

    pub(super) fn make_missile(&mut self, missile: usize) {
        let mut width = 1 << (self.nusiz[missile] >> 4 & 3);
        let mut shown = self.missile_on(missile);
        if missile == 0 && self.ark_shape {
            match self.ark {
                Ark::Running(1) => width = width.max(2),
                Ark::Running(2) => shown = false,
                _ => {}
            }
        }
        self.masks[M0 + missile] = if shown {
            let pattern = copied((1 << width) - 1, self.nusiz[missile] & 7);
            Row::ring(pattern, self.positions[M0 + missile])
        } else {
            Row::EMPTY
        };
    }

    #[inline]
    pub(super) fn missile_on(&self, missile: usize) -> bool {
        self.enam[missile] && !self.locked_missile[missile]
    }

    /// Offsets of the copies of a player, and their width, as RESPx sees them.
    pub(super) fn copies(&self, player: usize) -> (&'static [u8], u8) {
        let size = self.nusiz[player] & 7;
        let width = match size {
            5 => 16,
            7 => 32,
            _ => 8,
        };
        (COPIES[usize::from(size)], width)
    }
}

/// A shape and its copies; shapes with copies are at most eight pixels wide.
fn copied(shape: u128, size: u8) -> u128 {
    let (low, high) = COPIED[usize::from(size & 7)];
    let shape = shape as u64;
    u128::from(shape.wrapping_mul(low)) | u128::from(shape & high) << 64
}

/// By size: what to multiply a shape with for the copies within 64 pixels, and what of it is seen again behind them.
const COPIED: [(u64, u64); 8] = [
    (1, 0),
    (1 | 1 << 16, 0),
    (1 | 1 << 32, 0),
    (1 | 1 << 16 | 1 << 32, 0),
    (1, 0xff),
    (1, 0),
    (1 | 1 << 32, 0xff),
    (1, 0),
];

/// Each bit of each byte twice.
const TWOFOLD: [u32; 256] = stretched::<2>();

/// Each bit of each byte `N` times.
pub(super) const fn stretched<const N: u32>() -> [u32; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut bit = 0;
        while bit < 8 {
            if byte >> bit & 1 == 1 {
                table[byte] |= ((1 << N) - 1) << (N * bit);
            }
            bit += 1;
        }
        byte += 1;
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_copies_drawn_lie_at_the_offsets_that_a_reset_compares() {
        for size in 0..8_u8 {
            let expected: u128 = COPIES[usize::from(size)].iter().map(|&offset| 1 << offset).sum();
            assert_eq!(copied(1, size), expected, "size {size}");
        }
    }

    #[test]
    fn wide_players_repeat_each_pixel() {
        assert_eq!(TWOFOLD[0b1000_0001], 0b1100_0000_0000_0011);
        assert_eq!(FOURFOLD[0b1000_0001], 0xf000_000f);
    }
}
