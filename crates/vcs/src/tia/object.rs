//! Players and missiles: shape, copies and position → mask.

use super::row::Row;
use super::{Ark, M0, P0, Tia};

/// Bits at the offsets of the copies that the low three bits of NUSIZ ask for.
const COPIES: [&[u8]; 8] = [&[0], &[0, 16], &[0, 32], &[0, 16, 32], &[0, 64], &[0], &[0, 32, 64], &[0]];

impl Tia {
    /// The graphics byte on show.
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
            5 => u128::from(stretch::<2>(bits)) << 1,
            7 => u128::from(stretch::<4>(bits)) << 1,
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

fn copied(shape: u128, size: u8) -> u128 {
    match size {
        1 => shape | shape << 16,
        2 => shape | shape << 32,
        3 => shape | shape << 16 | shape << 32,
        4 => shape | shape << 64,
        6 => shape | shape << 32 | shape << 64,
        _ => shape,
    }
}

/// Each bit of a byte `N` times.
fn stretch<const N: u32>(bits: u8) -> u32 {
    (0..8).filter(|i| bits >> i & 1 == 1).map(|i| ((1 << N) - 1) << (N * i)).sum()
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
        assert_eq!(stretch::<2>(0b1000_0001), 0b1100_0000_0000_0011);
        assert_eq!(stretch::<4>(0b1000_0001), 0xf000_000f);
    }
}
