//! Masks and colours → pixels: by priority, three disjoint masks of one colour each over a background.

use super::mask::PixelMask;
use super::{BALL, M0, M1, P0, P1, PLAYFIELD, Tia};

/// A line of pixels, in groups of eight.
pub(crate) type PixelRow = [[u8; 8]; 20];
/// A row of colour index 0.
pub(crate) const BLACK_ROW: PixelRow = [[0; 8]; 20];

/// Each bit of a byte as a byte of ones.
const BYTES: [u64; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut bit = 0;
        while bit < 8 {
            if byte >> bit & 1 == 1 {
                table[byte] |= 0xff << (8 * bit);
            }
            bit += 1;
        }
        byte += 1;
    }
    table
};

impl Tia {
    /// Paints pixels `first..end` of a row with the current masks and colours.
    #[inline]
    pub(super) fn paint(&self, row: &mut PixelRow, first: u8, end: u8) {
        row.as_flattened_mut()[usize::from(first)..usize::from(end)].fill(self.colours[3]);
        let span = PixelMask::span(first, end);
        let layers = self.layers().map(|layer| layer & span);
        let colours = [self.colours[0], self.colours[1], self.colours[2]].map(|colour| u64::from_le_bytes([colour; 8]));
        for word in 0..3 {
            let masks = layers.map(|layer| layer.0[word]);
            let mut any = masks[0] | masks[1] | masks[2];
            while any != 0 {
                let shift = any.trailing_zeros() & !7;
                any &= !(0xff << shift);
                let bytes = masks.map(|mask| BYTES[usize::from((mask >> shift) as u8)]);
                let group = &mut row[8 * word + shift as usize / 8];
                let kept = u64::from_le_bytes(*group) & !(bytes[0] | bytes[1] | bytes[2]);
                let painted = kept | colours[0] & bytes[0] | colours[1] & bytes[1] | colours[2] & bytes[2];
                *group = painted.to_le_bytes();
            }
        }
    }

    /// The pixels of COLUP0, COLUP1 and COLUPF; the rest is background.
    fn layers(&self) -> [PixelMask; 3] {
        let zero = self.masks[P0] | self.masks[M0];
        let one = self.masks[P1] | self.masks[M1];
        let (field, ball) = (self.masks[PLAYFIELD], self.masks[BALL]);
        let score = self.ctrlpf & 2 != 0;
        if self.ctrlpf & 4 != 0 && !(score && self.playfield_is_alone()) {
            let front = field | ball;
            [zero & !front, one & !zero & !front, front]
        } else if score {
            let zero = zero | field & PixelMask::LEFT;
            let one = (one | field & !PixelMask::LEFT) & !zero;
            [zero, one, ball & !zero & !one]
        } else {
            [zero, one & !zero, (field | ball) & !zero & !one]
        }
    }

    /// If so, the score colours take precedence over the priority bit.
    fn playfield_is_alone(&self) -> bool {
        let missiles = self.missile_on(0) || self.missile_on(1);
        self.playfield != 0 && self.shown_grp(0) == 0 && self.shown_grp(1) == 0 && !missiles && !self.ball_on()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ConsoleConfig;
    use proptest::prelude::*;

    /// The priority rule for one pixel, literally.
    fn literal(tia: &Tia, x: usize) -> u8 {
        let on = |object: usize| tia.masks[object].0[x / 64] >> (x % 64) & 1 == 1;
        let [p0, p1, pf, background] = tia.colours;
        let (zero, one) = (on(P0) || on(M0), on(P1) || on(M1));
        let (field, ball, left) = (on(PLAYFIELD), on(BALL), x < 80);
        let score = tia.ctrlpf & 2 != 0;
        if tia.ctrlpf & 4 != 0 && !(score && tia.playfield_is_alone()) {
            match (field || ball, zero, one) {
                (true, _, _) => pf,
                (_, true, _) => p0,
                (_, _, true) => p1,
                _ => background,
            }
        } else if zero {
            p0
        } else if one {
            if score && field && left { p0 } else { p1 }
        } else if field {
            match (score, left) {
                (false, _) => pf,
                (true, true) => p0,
                (true, false) => p1,
            }
        } else if ball {
            pf
        } else {
            background
        }
    }

    proptest! {
        #[test]
        fn painted_pixels_equal_the_literal_rule(
            masks in prop::array::uniform6(prop::array::uniform3(any::<u64>())),
            sparse in prop::array::uniform6(any::<bool>()),
            ctrlpf in 0_u8..8, one in 0_u8..=160, other in 0_u8..=160, alone in any::<bool>(),
        ) {
            let (first, end) = (one.min(other), one.max(other));
            let mut tia = Tia::reset(ConsoleConfig::default());
            tia.colours = [2, 4, 6, 8];
            tia.ctrlpf = ctrlpf;
            tia.playfield = 1;
            tia.grp[0] = u8::from(!alone);
            for ((mask, words), sparse) in tia.masks.iter_mut().zip(masks).zip(sparse) {
                *mask = if sparse { PixelMask::EMPTY } else { PixelMask(words) & PixelMask::span(0, 160) };
            }
            let mut row = [[1; 8]; 20];
            tia.paint(&mut row, first, end);
            for (x, &pixel) in row.as_flattened().iter().enumerate() {
                let inside = (usize::from(first)..usize::from(end)).contains(&x);
                prop_assert_eq!(pixel, if inside { literal(&tia, x) } else { 1 }, "x {}", x);
            }
        }
    }
}
