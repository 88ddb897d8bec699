//! Writes to the registers of players, missiles and ball: shape, copies, motion, and the place where the beam is.

use crate::tia::{Ark, BALL, BLANK, Canvas, M0, P0, Tia, WIDTH};

/// How far RESPx draws ahead when it hits a copy in progress.
const RESP_AHEAD: u64 = 11;

impl Tia {
    /// Draws what the change must not touch, then takes note that the object changes.
    #[inline]
    pub(super) fn see_change<C: Canvas>(&mut self, object: usize, target: u64, canvas: &mut C) {
        self.catch_up(target, canvas);
        self.changed(object);
    }

    pub(super) fn write_nusiz<C: Canvas>(&mut self, player: usize, value: u8, target: u64, canvas: &mut C) {
        self.see_change(P0 + player, target, canvas);
        self.changed(M0 + player);
        self.nusiz[player] = value;
        self.suppressed[player] = false;
        if player == 0 {
            self.ark_shape = false;
        }
    }

    pub(super) fn write_grp0<C: Canvas>(&mut self, value: u8, target: u64, canvas: &mut C) {
        if !self.vdelp[0] && value != self.grp[0] {
            self.see_change(P0, target, canvas);
        }
        if self.vdelp[1] && self.grp_delayed[1] != self.grp[1] {
            self.see_change(P0 + 1, target, canvas);
        }
        self.grp[0] = value;
        self.grp_delayed[1] = self.grp[1];
    }

    pub(super) fn write_grp1<C: Canvas>(&mut self, value: u8, target: u64, canvas: &mut C) {
        if !self.vdelp[1] && value != self.grp[1] {
            self.see_change(P0 + 1, target, canvas);
        }
        if self.vdelp[0] && self.grp_delayed[0] != self.grp[0] {
            self.see_change(P0, target, canvas);
        }
        if self.vdelbl && self.enabl_delayed != self.enabl {
            self.see_change(BALL, target, canvas);
        }
        self.grp[1] = value;
        self.grp_delayed[0] = self.grp[0];
        self.enabl_delayed = self.enabl;
    }

    pub(super) fn write_motion<C: Canvas>(
        &mut self,
        object: usize,
        nibble: u8,
        clock: u64,
        target: u64,
        canvas: &mut C,
    ) {
        // HMM0 rewritten from 7 to 6 at the right moment makes missile 0 jump from line to line.
        let was = std::mem::replace(&mut self.motions[object], nibble);
        if object == M0 && self.cycles_since_hmove(clock) == 21 && (was, nibble) == (7, 6) {
            self.see_change(M0, target, canvas);
            self.ark = Ark::Running(0);
            self.ark_shape = false;
        }
    }

    pub(super) fn write_resmp<C: Canvas>(&mut self, missile: usize, locked: bool, target: u64, canvas: &mut C) {
        self.see_change(M0 + missile, target, canvas);
        self.locked_missile[missile] = locked;
        if !locked {
            let middle = match self.nusiz[missile] & 7 {
                5 => 8,
                7 => 16,
                _ => 4,
            };
            self.positions[M0 + missile] = wrapped(u64::from(self.positions[P0 + missile]) + middle);
            if missile == 0 {
                self.ark_shape = false;
            }
        }
    }

    pub(super) fn reset_player<C: Canvas>(&mut self, player: usize, clock: u64, target: u64, canvas: &mut C) {
        let x = reset_position(self.in_line(clock), 3, 5);
        let (offsets, width) = self.copies(player);
        let behind = |&offset: &u8| {
            wrapped(u64::from(x) + 2 * WIDTH as u64 - u64::from(self.positions[P0 + player]) - u64::from(offset))
        };
        let hits_copy = offsets.iter().map(behind).any(|e| (4..4 + width).contains(&e));
        let starts_copy = offsets.iter().map(behind).any(|e| e < 4);
        let target = if hits_copy { clock + RESP_AHEAD } else { target };
        self.ask(target);
        self.see_change(P0 + player, target, canvas);
        self.positions[P0 + player] = x;
        self.suppressed[player] = hits_copy || !starts_copy;
    }

    pub(super) fn reset_missile<C: Canvas>(&mut self, missile: usize, clock: u64, target: u64, canvas: &mut C) {
        self.see_change(M0 + missile, target, canvas);
        self.positions[M0 + missile] = match (missile, self.cycles_since_hmove(clock), self.in_line(clock)) {
            (0, 20, 69) => 8,
            (1, 3, 18) => 3,
            (_, _, in_line) => reset_position(in_line, 2, 4),
        };
        if missile == 0 {
            self.ark_shape = false;
        }
    }

    pub(super) fn reset_ball<C: Canvas>(&mut self, clock: u64, target: u64, canvas: &mut C) {
        self.see_change(BALL, target, canvas);
        self.positions[BALL] = match (self.cycles_since_hmove(clock), self.in_line(clock)) {
            (18, 60 | 69) => 10,
            (3, 18) => 3,
            (7, 30) => 6,
            (6, 27) => 5,
            (_, in_line) => reset_position(in_line, 2, 4),
        };
    }

    fn cycles_since_hmove(&self, clock: u64) -> u64 {
        (clock - self.hmove_clock) / 3
    }
}

/// Where an object lands that is reset at this clock of the line.
fn reset_position(in_line: u64, in_blank: u8, delay: u64) -> u8 {
    if in_line < BLANK { in_blank } else { wrapped(in_line - BLANK + delay) }
}

fn wrapped(x: u64) -> u8 {
    (x % WIDTH as u64) as u8
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ConsoleConfig;
    use crate::film::Film;

    const COLUP0: u8 = 0x06;
    const GRP0: u8 = 0x1b;
    const RESP0: u8 = 0x10;
    const FIRST_LINE: u64 = 34;

    /// Where player 0, a single pixel, is seen in the two lines from that of a second RESP0 on; the first was one line
    /// before. Both are given by their cycle in the line.
    fn seen(first: u64, second: u64) -> [Vec<usize>; 2] {
        let config = ConsoleConfig::default();
        let (mut tia, mut film) = (Tia::reset(config), Film::black(config.height));
        tia.start_frame(0);
        let line = |index: u64| 76 * (FIRST_LINE + index);
        tia.write(COLUP0, 0x0e, line(0), &mut film);
        tia.write(GRP0, 0x80, line(0) + 3, &mut film);
        tia.write(RESP0, 0, line(1) + first, &mut film);
        tia.write(RESP0, 0, line(2) + second, &mut film);
        tia.ask(3 * line(4));
        tia.draw_what_was_asked(&mut film);
        [2, 3].map(|row| (0..WIDTH).filter(|x| film.pixels()[row * WIDTH + x] != 0).collect())
    }

    #[test]
    fn a_player_that_is_reset_is_not_shown_again_on_that_line() {
        // Reset at cycle 40 of the line it stands at 3 · 40 − 68 + 5.
        assert_eq!(seen(40, 60), [vec![57], vec![117]], "shown before the reset, then not until the next line");
        assert_eq!(seen(60, 40), [vec![], vec![57]]);
    }

    #[test]
    fn a_player_that_is_reset_where_it_begins_is_shown_at_once() {
        assert_eq!(seen(40, 40), [vec![57], vec![57]]);
    }

    #[test]
    fn a_reset_outside_the_picture_puts_a_player_at_its_left_edge() {
        assert_eq!(seen(40, 10)[1], vec![3]);
    }
}
