//! Register writes. A write that changes pixels or collisions first catches up to its own clock plus its delay. A write
//! that changes neither does not: the pixels before it come out the same when they are drawn later.

use super::objects::with_register;
use super::{BALL, BLANK, Canvas, CosmicArk, LINE, M0, P0, PLAYFIELD, Tia, WIDTH};
use crate::cpu::{WriteEffect, WriteKind};

/// Delay of a playfield write by the clock of the line, modulo four: cycles 0, 3, 2 and 1 modulo four.
const PLAYFIELD_DELAYS: [u64; 4] = [4, 3, 2, 5];
const WSYNC: u8 = 0x02;
/// A register without effect; logged, it records how far was drawn.
pub(crate) const NO_REGISTER: u8 = 0x3f;
/// A CTRLPF write at or after this clock of the line reflects from the next line on.
const LATE_REFLECTION: u64 = 147;
/// How far RESPx draws ahead when it hits a copy in progress.
const RESP_AHEAD: u64 = 11;

impl Tia {
    /// Whether a write changes nothing, as most do: the register already holds the value.
    #[inline(always)]
    pub fn absorbs<const REGISTER: u8>(&mut self, value: u8, cycle: u64) -> bool {
        let clock = 3 * cycle;
        let absorbs = clock < self.line_cap && self.holds(REGISTER, value);
        if absorbs {
            self.request(clock + self.delay(REGISTER, clock));
        }
        absorbs
    }

    /// A write that is not [absorbed](Self::absorbs), the only one of its instruction.
    #[inline(always)]
    pub fn write<const REGISTER: u8, C: Canvas>(&mut self, value: u8, cycle: u64, canvas: &mut C) -> WriteEffect {
        let clock = 3 * cycle;
        if self.line_cap <= clock {
            return self.write_any(REGISTER, value, cycle, WriteKind::Single, canvas);
        }
        self.change(REGISTER, value, clock, canvas)
    }

    /// Writes a register: the general form, for one of several pushes and for writes that may end the frame.
    #[inline(never)]
    pub fn write_any<C: Canvas>(
        &mut self,
        register: u8,
        value: u8,
        cycle: u64,
        kind: WriteKind,
        canvas: &mut C,
    ) -> WriteEffect {
        let register = register & 0x3f;
        let clock = 3 * cycle;
        if kind != WriteKind::Single || self.line_cap <= clock {
            // Two pushes share one clock, so what the first skips must not be left to the second.
            let target = clock + self.delay(register, clock);
            self.catch_up(target, canvas);
            canvas.log_write(target, NO_REGISTER, 0);
        }
        let effect = match (register, kind) {
            (WSYNC, WriteKind::LaterPush) => {
                self.request(clock);
                WriteEffect::NONE
            }
            _ => self.apply(register, value, clock, canvas),
        };
        if self.line_cap <= clock { effect.and_stop(cycle) } else { effect }
    }

    /// A write of WSYNC: the cycle at which the next line starts, or none if the write may end the frame.
    #[inline(always)]
    pub fn write_wsync(&mut self, cycle: u64) -> Option<u64> {
        let clock = 3 * cycle;
        if self.line_cap <= clock {
            return None;
        }
        self.request(clock);
        Some(self.next_line_start(clock) / 3)
    }

    /// Applies a write of the log. It always catches up first, which is correct for every write and only slower.
    pub fn apply_logged<C: Canvas>(&mut self, register: u8, value: u8, clock: u64, canvas: &mut C) {
        self.catch_up(clock + self.delay(register, clock), canvas);
        self.apply(register, value, clock, canvas);
    }

    /// The delay of a register's effect, in clocks.
    #[inline(always)]
    fn delay(&self, register: u8, clock: u64) -> u64 {
        match register {
            0x01 | 0x0b | 0x0c | 0x1b | 0x1c => 1,
            0x04 | 0x05 | 0x12 | 0x13 => 8,
            // A line has a multiple of four cycles.
            0x0d..=0x0f => PLAYFIELD_DELAYS[(clock - self.frame_start) as usize & 3],
            _ => 0,
        }
    }

    /// Writes VSYNC; returns whether the frame ends.
    fn write_vsync(&mut self, value: u8, clock: u64) -> bool {
        if value & 2 != 0 {
            self.vsync_end = Some(clock + LINE);
            return false;
        }
        let ends = self.vsync_end.is_some_and(|end| end <= clock);
        if ends {
            self.vsync_end = None;
        }
        ends
    }

    fn next_line_start(&self, clock: u64) -> u64 {
        match self.in_line(clock) {
            0 => clock,
            within => clock + LINE - within,
        }
    }

    /// Applies a write, unless it changes nothing.
    #[inline(never)]
    fn apply<C: Canvas>(&mut self, register: u8, value: u8, clock: u64, canvas: &mut C) -> WriteEffect {
        if self.holds(register, value) {
            self.request(clock + self.delay(register, clock));
            return WriteEffect::NONE;
        }
        self.change(register, value, clock, canvas)
    }

    /// Whether the chip is as a write of this value would leave it.
    #[inline(always)]
    fn holds(&self, register: u8, value: u8) -> bool {
        let has = |bit: u8| value & bit != 0;
        match register {
            // VSYNC and WSYNC, which time the frame; RESxx, HMOVE and CXCLR, whatever the value.
            0x00 | WSYNC | 0x10..=0x14 | 0x2a | 0x2c => false,
            0x01 => value == self.vblank,
            0x04 => value == self.nusiz[0] && !self.suppressed[0] && !self.cosmic_ark_shape,
            0x05 => value == self.nusiz[1] && !self.suppressed[1],
            0x06..=0x09 => (value & 0xfe) | self.colour_loss() == self.colours[usize::from(register - 0x06)],
            0x0a => value == self.ctrlpf,
            0x0b | 0x0c => has(8) == self.reflect_player[usize::from(register - 0x0b)],
            0x0d..=0x0f => with_register(self.playfield, register - 0x0d, value) == self.playfield,
            0x1b => value == self.grp[0] && self.grp_delayed[1] == self.grp[1],
            0x1c => value == self.grp[1] && self.grp_delayed[0] == self.grp[0] && self.enabl_delayed == self.enabl,
            0x1d | 0x1e => has(2) == self.enam[usize::from(register - 0x1d)],
            0x1f => has(2) == self.enabl,
            0x20..=0x24 => value >> 4 == self.motions[usize::from(register - 0x20)],
            0x25 | 0x26 => has(1) == self.vdelp[usize::from(register - 0x25)],
            0x27 => has(1) == self.vdelbl,
            0x28 | 0x29 => has(2) == self.locked_missile[usize::from(register - 0x28)],
            0x2b => self.motions == [0; 5],
            _ => true,
        }
    }

    /// Applies a write that changes the chip, and logs it.
    #[inline(always)]
    fn change<C: Canvas>(&mut self, register: u8, value: u8, clock: u64, canvas: &mut C) -> WriteEffect {
        let target = clock + self.delay(register, clock);
        self.request(target);
        let has = |bit: u8| value & bit != 0;
        match register {
            0x00 => {
                let ends = self.write_vsync(value, clock);
                return if ends { WriteEffect::NONE.and_stop(clock / 3) } else { WriteEffect::NONE };
            }
            0x01 => self.write_vblank(value, clock, target, canvas),
            WSYNC => return WriteEffect::wait(self.next_line_start(clock) / 3),
            0x04 | 0x05 => self.write_nusiz(usize::from(register - 0x04), value, target, canvas),
            0x06..=0x09 => {
                if canvas.wants_pixels() {
                    self.catch_up(target, canvas);
                }
                self.row_repeats = false;
                self.colours[usize::from(register - 0x06)] = (value & 0xfe) | self.colour_loss();
            }
            0x0a => self.write_ctrlpf(value, clock, target, canvas),
            0x0b | 0x0c => {
                let player = usize::from(register - 0x0b);
                self.draw_then_change(P0 + player, target, canvas);
                self.reflect_player[player] = has(8);
            }
            0x0d..=0x0f => {
                self.draw_then_change(PLAYFIELD, target, canvas);
                self.playfield = with_register(self.playfield, register - 0x0d, value);
            }
            0x10 | 0x11 => self.reset_player(usize::from(register - 0x10), clock, target, canvas),
            0x12 | 0x13 => self.reset_missile(usize::from(register - 0x12), clock, target, canvas),
            0x14 => self.reset_ball(clock, target, canvas),
            0x1b => self.write_grp0(value, target, canvas),
            0x1c => self.write_grp1(value, target, canvas),
            0x1d | 0x1e => {
                let missile = usize::from(register - 0x1d);
                self.draw_then_change(M0 + missile, target, canvas);
                self.enam[missile] = has(2);
            }
            0x1f => {
                if !self.vdelbl {
                    self.draw_then_change(BALL, target, canvas);
                }
                self.enabl = has(2);
            }
            0x20..=0x24 => self.write_motion(usize::from(register - 0x20), value >> 4, clock, target, canvas),
            0x25 | 0x26 => {
                let player = usize::from(register - 0x25);
                self.draw_then_change(P0 + player, target, canvas);
                self.vdelp[player] = has(1);
            }
            0x27 => {
                self.draw_then_change(BALL, target, canvas);
                self.vdelbl = has(1);
            }
            0x28 | 0x29 => self.write_resmp(usize::from(register - 0x28), has(2), target, canvas),
            0x2a => self.write_hmove(clock, target, canvas),
            0x2b => self.motions = [0; 5],
            0x2c => {
                self.catch_up(target, canvas);
                self.latches = 0;
                self.collisions_repeat = false;
            }
            _ => return WriteEffect::NONE,
        }
        canvas.log_write(clock, register, value);
        WriteEffect::NONE
    }

    fn write_vblank<C: Canvas>(&mut self, value: u8, clock: u64, target: u64, canvas: &mut C) {
        if (value ^ self.vblank) & 2 != 0 {
            self.catch_up(target, canvas);
            self.row_repeats = false;
            self.collisions_repeat = false;
        }
        if self.vblank & 0x80 != 0 && value & 0x80 == 0 {
            self.dump_off_cycle = clock / 3;
        }
        self.vblank = value;
    }

    fn write_ctrlpf<C: Canvas>(&mut self, value: u8, clock: u64, target: u64, canvas: &mut C) {
        self.draw_then_change(PLAYFIELD, target, canvas);
        self.changed(BALL);
        self.ctrlpf = value;
        if self.in_line(clock) < LATE_REFLECTION {
            self.reflect_playfield = value & 1 != 0;
        }
    }

    /// Draws what precedes the change, then marks the object as changed.
    #[inline]
    fn draw_then_change<C: Canvas>(&mut self, object: usize, target: u64, canvas: &mut C) {
        self.catch_up(target, canvas);
        self.changed(object);
    }

    fn write_nusiz<C: Canvas>(&mut self, player: usize, value: u8, target: u64, canvas: &mut C) {
        self.draw_then_change(P0 + player, target, canvas);
        self.changed(M0 + player);
        self.nusiz[player] = value;
        self.suppressed[player] = false;
        if player == 0 {
            self.cosmic_ark_shape = false;
        }
    }

    fn write_grp0<C: Canvas>(&mut self, value: u8, target: u64, canvas: &mut C) {
        if !self.vdelp[0] && value != self.grp[0] {
            self.draw_then_change(P0, target, canvas);
        }
        if self.vdelp[1] && self.grp_delayed[1] != self.grp[1] {
            self.draw_then_change(P0 + 1, target, canvas);
        }
        self.grp[0] = value;
        self.grp_delayed[1] = self.grp[1];
    }

    fn write_grp1<C: Canvas>(&mut self, value: u8, target: u64, canvas: &mut C) {
        if !self.vdelp[1] && value != self.grp[1] {
            self.draw_then_change(P0 + 1, target, canvas);
        }
        if self.vdelp[0] && self.grp_delayed[0] != self.grp[0] {
            self.draw_then_change(P0, target, canvas);
        }
        if self.vdelbl && self.enabl_delayed != self.enabl {
            self.draw_then_change(BALL, target, canvas);
        }
        self.grp[1] = value;
        self.grp_delayed[0] = self.grp[0];
        self.enabl_delayed = self.enabl;
    }

    fn write_motion<C: Canvas>(&mut self, object: usize, nibble: u8, clock: u64, target: u64, canvas: &mut C) {
        // HMM0 rewritten from 7 to 6 at the right moment makes missile 0 jump from line to line.
        let was = std::mem::replace(&mut self.motions[object], nibble);
        if object == M0 && self.cycles_since_hmove(clock) == 21 && (was, nibble) == (7, 6) {
            self.draw_then_change(M0, target, canvas);
            self.cosmic_ark = CosmicArk::Running(0);
            self.cosmic_ark_shape = false;
        }
    }

    fn write_resmp<C: Canvas>(&mut self, missile: usize, locked: bool, target: u64, canvas: &mut C) {
        self.draw_then_change(M0 + missile, target, canvas);
        self.locked_missile[missile] = locked;
        if !locked {
            let middle = match self.nusiz[missile] & 7 {
                5 => 8,
                7 => 16,
                _ => 4,
            };
            self.positions[M0 + missile] = wrapped(u64::from(self.positions[P0 + missile]) + middle);
            if missile == 0 {
                self.cosmic_ark_shape = false;
            }
        }
    }

    fn reset_player<C: Canvas>(&mut self, player: usize, clock: u64, target: u64, canvas: &mut C) {
        let x = reset_position(self.in_line(clock), 3, 5);
        let (offsets, width) = self.copies(player);
        let behind = |&offset: &u8| {
            wrapped(u64::from(x) + 2 * WIDTH as u64 - u64::from(self.positions[P0 + player]) - u64::from(offset))
        };
        let hits_copy = offsets.iter().map(behind).any(|e| (4..4 + width).contains(&e));
        let starts_copy = offsets.iter().map(behind).any(|e| e < 4);
        let target = if hits_copy { clock + RESP_AHEAD } else { target };
        self.request(target);
        self.draw_then_change(P0 + player, target, canvas);
        self.positions[P0 + player] = x;
        self.suppressed[player] = hits_copy || !starts_copy;
    }

    fn reset_missile<C: Canvas>(&mut self, missile: usize, clock: u64, target: u64, canvas: &mut C) {
        self.draw_then_change(M0 + missile, target, canvas);
        self.positions[M0 + missile] = match (missile, self.cycles_since_hmove(clock), self.in_line(clock)) {
            (0, 20, 69) => 8,
            (1, 3, 18) => 3,
            (_, _, in_line) => reset_position(in_line, 2, 4),
        };
        if missile == 0 {
            self.cosmic_ark_shape = false;
        }
    }

    fn reset_ball<C: Canvas>(&mut self, clock: u64, target: u64, canvas: &mut C) {
        self.draw_then_change(BALL, target, canvas);
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

/// The position of an object that is reset at this clock of the line.
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
    use crate::frame_buffer::FrameBuffer;

    const COLUP0: u8 = 0x06;
    const GRP0: u8 = 0x1b;
    const RESP0: u8 = 0x10;
    const FIRST_LINE: u64 = 34;

    /// The pixels of player 0, one pixel wide, in the line of a second RESP0 and in the next; the first RESP0 is one line
    /// earlier. Both are given by their cycle in the line.
    fn pixels_after(first: u64, second: u64) -> [Vec<usize>; 2] {
        let config = ConsoleConfig::default();
        let (mut tia, mut frame_buffer) = (Tia::reset(config), FrameBuffer::black(config.height));
        tia.start_frame(0);
        let line = |index: u64| 76 * (FIRST_LINE + index);
        tia.write::<COLUP0, _>(0x0e, line(0), &mut frame_buffer);
        tia.write::<GRP0, _>(0x80, line(0) + 3, &mut frame_buffer);
        tia.write::<RESP0, _>(0, line(1) + first, &mut frame_buffer);
        tia.write::<RESP0, _>(0, line(2) + second, &mut frame_buffer);
        tia.request(3 * line(4));
        tia.draw_requested(&mut frame_buffer);
        [2, 3].map(|row| (0..WIDTH).filter(|x| frame_buffer.pixels()[row * WIDTH + x] != 0).collect())
    }

    #[test]
    fn a_player_that_is_reset_is_not_shown_again_on_that_line() {
        // A reset at cycle 40 of the line sets position 3 · 40 − 68 + 5.
        assert_eq!(pixels_after(40, 60), [vec![57], vec![117]], "shown before the reset, then not until the next line");
        assert_eq!(pixels_after(60, 40), [vec![], vec![57]]);
    }

    #[test]
    fn a_player_that_is_reset_at_its_own_start_is_shown_on_that_line() {
        assert_eq!(pixels_after(40, 40), [vec![57], vec![57]]);
    }

    #[test]
    fn a_reset_before_the_first_pixel_puts_a_player_at_the_left_edge() {
        assert_eq!(pixels_after(40, 10)[1], vec![3]);
    }
}
