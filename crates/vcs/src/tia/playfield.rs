//! The playfield: 20 bits, four pixels each, repeated or mirrored in the right half; and the ball.

use super::object::stretched;
use super::row::Row;
use super::{BALL, PLAYFIELD, Tia};

/// Each bit of each byte four times.
pub(super) const FOURFOLD: [u32; 256] = stretched::<4>();

impl Tia {
    pub(super) fn make_playfield(&mut self) {
        let bits = self.playfield;
        self.masks[PLAYFIELD] = if bits == 0 {
            Row::EMPTY
        } else {
            let right = if self.reflect_playfield { bits.reverse_bits() >> 12 } else { bits };
            Row::halves(stretch(bits), stretch(right))
        };
    }

    pub(super) fn make_ball(&mut self) {
        let width = 1 << (self.ctrlpf >> 4 & 3);
        self.masks[BALL] = if self.ball_on() { Row::ring((1 << width) - 1, self.positions[BALL]) } else { Row::EMPTY };
    }

    #[inline]
    pub(super) fn ball_on(&self) -> bool {
        if self.vdelbl { self.enabl_delayed } else { self.enabl }
    }
}

/// The 20 playfield bits, leftmost lowest, with one register changed.
pub(super) fn with_register(playfield: u32, register: u8, value: u8) -> u32 {
    match register {
        0 => (playfield & !0x0000f) | u32::from(value >> 4),
        1 => (playfield & !0x00ff0) | u32::from(value.reverse_bits()) << 4,
        _ => (playfield & !0xff000) | u32::from(value) << 12,
    }
}

fn stretch(bits: u32) -> u128 {
    let bytes = bits.to_le_bytes();
    u128::from(FOURFOLD[usize::from(bytes[0])])
        | u128::from(FOURFOLD[usize::from(bytes[1])]) << 32
        | u128::from(FOURFOLD[usize::from(bytes[2] & 0xf)]) << 64
}

#[cfg(test)]
mod tests {
    use super::*;

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
