//! HMOVE: how far an object moves, by the cycle of the line at which HMOVE is written and the object's motion nibble.

use super::{Canvas, CosmicArk, LINE, M0, P0, P1, Tia, WIDTH};

/// The minimum motion of an early HMOVE, for cycles 0 to 20.
const EARLY: [i16; 21] = [-7, -7, -7, -7, -6, -5, -5, -4, -3, -2, -2, -1, 0, 1, 1, 2, 3, 4, 4, 5, 6];
/// What a late HMOVE subtracts, for cycles 55 to 74.
const LATE: [i16; 20] = [-1, -2, -3, -3, -4, -5, -6, -6, -7, -8, -9, -9, -10, -11, -12, -12, -13, -14, -15, -15];

/// Whether HMOVE moves even objects with motion 0, by the cycle of the line.
const MOVES_ZERO: [bool; 76] = {
    let mut moves = [false; 76];
    let mut cycle = 0;
    while cycle < 76 {
        moves[cycle] = motion(cycle as u64, 0) != 0;
        cycle += 1;
    }
    moves
};

impl Tia {
    /// HMOVE. Usually it only blanks the comb, which matters only if pixels are drawn.
    #[inline(always)]
    pub(super) fn write_hmove<C: Canvas>(&mut self, clock: u64, target: u64, canvas: &mut C) {
        let cycle = self.in_line(clock) / 3;
        let changes = self.motions != [0; 5]
            || MOVES_ZERO[cycle as usize % 76]
            || self.suppressed != [false; 2]
            || self.cosmic_ark != CosmicArk::Off
            || self.cosmic_ark_shape;
        if changes || canvas.wants_pixels() {
            self.catch_up(target, canvas);
        }
        if self.config.hmove_comb && has_comb(cycle) {
            self.comb = true;
            self.comb_clock = clock;
        }
        if changes {
            self.move_objects(cycle);
        }
        self.hmove_clock = clock;
    }

    #[inline(never)]
    fn move_objects(&mut self, cycle: u64) {
        for object in 0..self.positions.len() {
            let motion = motion(cycle, self.motions[object]);
            if motion != 0 {
                self.positions[object] = moved(self.positions[object], motion);
                self.changed(object);
            }
        }
        for player in [P0, P1] {
            if self.suppressed[player] {
                self.suppressed[player] = false;
                self.changed(player);
            }
        }
        if self.cosmic_ark != CosmicArk::Off || self.cosmic_ark_shape {
            self.cosmic_ark = CosmicArk::Off;
            self.cosmic_ark_shape = false;
            self.changed(M0);
        }
    }
}

/// Motion of an object, to the right if positive.
const fn motion(cycle: u64, nibble: u8) -> i16 {
    let signed = (((nibble << 4) as i8) >> 4) as i16;
    match cycle as usize {
        early @ 0..=20 => larger(-signed, EARLY[early]),
        late @ 55..=74 => -larger(signed - 7 - LATE[late - 55], 0),
        75 => -signed,
        _ => 0,
    }
}

const fn larger(one: i16, other: i16) -> i16 {
    if one < other { other } else { one }
}

fn has_comb(cycle: u64) -> bool {
    cycle <= 20 || cycle == LINE / 3 - 1
}

fn moved(position: u8, motion: i16) -> u8 {
    (i16::from(position) + motion).rem_euclid(WIDTH as i16) as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Measured with ale-py 0.12.1 as a black box: a line per cycle, a column per nibble, then the comb.
    const MEASURED: &str = include_str!("../../golden/hmove_motion.csv");

    #[test]
    fn motion_and_comb_equal_the_measured_table() {
        let mut lines = 0;
        for line in MEASURED.lines().skip(1) {
            let row: Vec<i16> = line.split(',').map(|field| field.parse().unwrap()).collect();
            let cycle = row[0] as u64;
            for nibble in 0..16_u8 {
                assert_eq!(motion(cycle, nibble), row[1 + usize::from(nibble)], "cycle {cycle} nibble {nibble}");
            }
            assert_eq!(has_comb(cycle), row[17] == 1, "cycle {cycle}");
            lines += 1;
        }
        assert_eq!(lines, 76);
    }

    #[test]
    fn positions_wrap_around_the_line() {
        assert_eq!(moved(3, -7), 156);
        assert_eq!(moved(155, 8), 3);
    }
}
