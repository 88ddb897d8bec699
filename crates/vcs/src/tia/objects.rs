//! Objects → masks: players and missiles with their shape, copies and position; the ball; the playfield's 20 bits.

use super::mask::PixelMask;
use super::{BALL, CosmicArk, M0, P0, PLAYFIELD, Tia};

/// Offsets of the copies that the low three bits of NUSIZ select.
const COPIES: [&[u8]; 8] = [&[0], &[0, 16], &[0, 32], &[0, 16, 32], &[0, 64], &[0], &[0, 32, 64], &[0]];

impl Tia {
    /// The graphics byte that is displayed: the register or its delayed copy.
    #[inline]
    pub(super) fn shown_grp(&self, player: usize) -> u8 {
        if self.vdelp[player] { self.grp_delayed[player] } else { self.grp[player] }
    }

    pub(super) fn rebuild_player(&mut self, player: usize) {
        let grp = self.shown_grp(player);
        if grp == 0 {
            self.masks[P0 + player] = PixelMask::EMPTY;
            return;
        }
        // The leftmost pixel is the lowest bit of a mask and the highest of the register.
        let bits = if self.reflect_player[player] { grp } else { REVERSED[usize::from(grp)] };
        let size = self.nusiz[player] & 7;
        let shape = match size {
            5 => u128::from(TWOFOLD[usize::from(bits)]) << 1,
            7 => u128::from(FOURFOLD[usize::from(bits)]) << 1,
            _ => u128::from(bits),
        };
        let pattern = copied(shape, size) & if self.suppressed[player] { !shape } else { u128::MAX };
        self.masks[P0 + player] = PixelMask::ring(pattern, self.positions[P0 + player]);
    }

    pub(super) fn rebuild_missile(&mut self, missile: usize) {
        let mut width = 1 << (self.nusiz[missile] >> 4 & 3);
        let mut shown = self.missile_on(missile);
        if missile == 0 && self.cosmic_ark_shape {
            match self.cosmic_ark {
                CosmicArk::Running(1) => width = width.max(2),
                CosmicArk::Running(2) => shown = false,
                _ => {}
            }
        }
        self.masks[M0 + missile] = if shown {
            let pattern = copied((1 << width) - 1, self.nusiz[missile] & 7);
            PixelMask::ring(pattern, self.positions[M0 + missile])
        } else {
            PixelMask::EMPTY
        };
    }

    #[inline]
    pub(super) fn missile_on(&self, missile: usize) -> bool {
        self.enam[missile] && !self.locked_missile[missile]
    }

    /// Offsets of a player's copies and their width, as RESPx tests them.
    pub(super) fn copies(&self, player: usize) -> (&'static [u8], u8) {
        let size = self.nusiz[player] & 7;
        let width = match size {
            5 => 16,
            7 => 32,
            _ => 8,
        };
        (COPIES[usize::from(size)], width)
    }

    pub(super) fn rebuild_playfield(&mut self) {
        let bits = self.playfield;
        self.masks[PLAYFIELD] = if bits == 0 {
            PixelMask::EMPTY
        } else {
            let right = if self.reflect_playfield { bits.reverse_bits() >> 12 } else { bits };
            PixelMask::halves(stretch(bits), stretch(right))
        };
    }

    pub(super) fn rebuild_ball(&mut self) {
        let width = 1 << (self.ctrlpf >> 4 & 3);
        self.masks[BALL] =
            if self.ball_on() { PixelMask::ring((1 << width) - 1, self.positions[BALL]) } else { PixelMask::EMPTY };
    }

    #[inline]
    pub(super) fn ball_on(&self) -> bool {
        if self.vdelbl { self.enabl_delayed } else { self.enabl }
    }
}

/// The 20 playfield bits, leftmost lowest, with one register changed.
#[inline(always)]
pub(super) fn with_register(playfield: u32, register: u8, value: u8) -> u32 {
    match register {
        0 => (playfield & !0x0000f) | u32::from(value >> 4),
        1 => (playfield & !0x00ff0) | u32::from(REVERSED[usize::from(value)]) << 4,
        _ => (playfield & !0xff000) | u32::from(value) << 12,
    }
}

fn stretch(bits: u32) -> u128 {
    let bytes = bits.to_le_bytes();
    u128::from(FOURFOLD[usize::from(bytes[0])])
        | u128::from(FOURFOLD[usize::from(bytes[1])]) << 32
        | u128::from(FOURFOLD[usize::from(bytes[2] & 0xf)]) << 64
}

/// A shape and its copies; shapes with copies are at most eight pixels wide.
fn copied(shape: u128, size: u8) -> u128 {
    let (low, high) = COPIED[usize::from(size & 7)];
    let shape = shape as u64;
    u128::from(shape.wrapping_mul(low)) | u128::from(shape & high) << 64
}

/// By size: the factor that makes the copies within the first 64 pixels, and the mask of the copy at offset 64.
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

/// The bits of each byte in reverse order.
const REVERSED: [u8; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = (byte as u8).reverse_bits();
        byte += 1;
    }
    table
};

/// Each bit of each byte twice, four times.
const TWOFOLD: [u32; 256] = stretched::<2>();
const FOURFOLD: [u32; 256] = stretched::<4>();

/// Each bit of each byte `N` times.
const fn stretched<const N: u32>() -> [u32; 256] {
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
    fn copies_are_drawn_at_the_offsets_that_a_reset_tests() {
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

    #[test]
    fn bits_run_from_pf0_upwards_pf1_downwards_pf2_upwards() {
        assert_eq!(with_register(0, 0, 0x10), 1 << 0);
        assert_eq!(with_register(0, 0, 0x80), 1 << 3);
        assert_eq!(with_register(0, 1, 0x80), 1 << 4);
        assert_eq!(with_register(0, 1, 0x01), 1 << 11);
        assert_eq!(with_register(0, 2, 0x01), 1 << 12);
        assert_eq!(with_register(0, 2, 0x80), 1 << 19);
        assert_eq!(with_register(0xf_ffff, 1, 0), 0xf_f00f);
    }

    #[test]
    fn a_playfield_bit_is_four_pixels() {
        assert_eq!(stretch(0b1), 0xf);
        assert_eq!(stretch(1 << 19), 0xf << 76);
    }
}
