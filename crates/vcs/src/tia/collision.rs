//! Collisions: which pairs of masks share a pixel. A latch stays set until CXCLR.

use super::mask::PixelMask;
use super::{BALL, M0, M1, P0, P1, PLAYFIELD, Tia};

/// Each pair with its latch. Latches 2n+1 and 2n are bits 7 and 6 of read register n; the ball and the playfield have
/// no partner in register 6.
const PAIRS: [(usize, usize, u16); 15] = [
    (M0, P1, 1 << 1),
    (M0, P0, 1 << 0),
    (M1, P0, 1 << 3),
    (M1, P1, 1 << 2),
    (P0, PLAYFIELD, 1 << 5),
    (P0, BALL, 1 << 4),
    (P1, PLAYFIELD, 1 << 7),
    (P1, BALL, 1 << 6),
    (M0, PLAYFIELD, 1 << 9),
    (M0, BALL, 1 << 8),
    (M1, PLAYFIELD, 1 << 11),
    (M1, BALL, 1 << 10),
    (BALL, PLAYFIELD, 1 << 13),
    (P0, P1, 1 << 15),
    (M0, M1, 1 << 14),
];

/// The latches that a set of objects can set, by the set's bits.
const LATCHES_OF: [u16; 64] = {
    let mut table = [0; 64];
    let mut set = 0;
    while set < 64 {
        let mut i = 0;
        while i < PAIRS.len() {
            let (one, other, latch) = PAIRS[i];
            if set >> one & 1 == 1 && set >> other & 1 == 1 {
                table[set] |= latch;
            }
            i += 1;
        }
        set += 1;
    }
    table
};

/// The pair of each latch. Two of the 16 latches do not exist.
const PAIR_OF: [(u8, u8); 16] = {
    let mut pairs = [(0, 0); 16];
    let mut i = 0;
    while i < PAIRS.len() {
        let (one, other, latch) = PAIRS[i];
        pairs[latch.trailing_zeros() as usize] = (one as u8, other as u8);
        i += 1;
    }
    pairs
};

impl Tia {
    /// The latches whose objects are both enabled.
    #[inline]
    pub(super) fn possible_latches(&self) -> u16 {
        let shown = usize::from(self.shown_grp(0) != 0) << P0
            | usize::from(self.shown_grp(1) != 0) << P1
            | usize::from(self.missile_on(0)) << M0
            | usize::from(self.missile_on(1)) << M1
            | usize::from(self.ball_on()) << BALL
            | usize::from(self.playfield != 0) << PLAYFIELD;
        LATCHES_OF[shown]
    }

    /// Sets those of the `open` latches whose objects overlap within pixels `first..end`.
    #[inline]
    pub(super) fn collide(&mut self, open: u16, first: u8, end: u8) {
        let span = PixelMask::span(first, end);
        let mut open = open;
        while open != 0 {
            let latch = open & open.wrapping_neg();
            open ^= latch;
            let (one, other) = PAIR_OF[latch.trailing_zeros() as usize & 15];
            let (one, other) = (&self.masks[usize::from(one)], &self.masks[usize::from(other)]);
            let shared = |word: usize| one.0[word] & other.0[word] & span.0[word];
            if shared(0) | shared(1) | shared(2) != 0 {
                self.latches |= latch;
            }
        }
    }

    /// Bits 7 and 6 of a collision register.
    pub(super) fn collision_register(&self, register: u16) -> u8 {
        ((self.latches >> (2 * register)) as u8 & 3) << 6
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ConsoleConfig;

    /// All latches that exist.
    const OPEN: u16 = LATCHES_OF[63];

    #[test]
    fn each_pair_sets_the_bit_that_its_register_documents() {
        let check = |one: usize, other: usize, register: u16, bits: u8| {
            let mut tia = Tia::reset(ConsoleConfig::default());
            tia.masks[one] = PixelMask::span(100, 108);
            tia.masks[other] = PixelMask::span(107, 110);
            tia.collide(OPEN, 0, 107);
            assert_eq!(tia.latches, 0, "the shared pixel lies after the span");
            tia.collide(OPEN, 107, 160);
            assert_eq!(tia.collision_register(register), bits, "{one} {other}");
            assert_eq!(tia.latches.count_ones(), 1);
        };
        check(M0, P1, 0, 0x80);
        check(M0, P0, 0, 0x40);
        check(M1, P0, 1, 0x80);
        check(M1, P1, 1, 0x40);
        check(P0, PLAYFIELD, 2, 0x80);
        check(P0, BALL, 2, 0x40);
        check(P1, PLAYFIELD, 3, 0x80);
        check(P1, BALL, 3, 0x40);
        check(M0, PLAYFIELD, 4, 0x80);
        check(M0, BALL, 4, 0x40);
        check(M1, PLAYFIELD, 5, 0x80);
        check(M1, BALL, 5, 0x40);
        check(BALL, PLAYFIELD, 6, 0x80);
        check(P0, P1, 7, 0x80);
        check(M0, M1, 7, 0x40);
    }
}
