//! Register writes. A write that could be seen first catches the picture up to its own clock plus its delay; one that
//! changes nothing, or nothing visible, leaves the picture behind: later pixels come out the same.

mod objects;

use super::playfield::with_register;
use super::{BALL, Canvas, LINE, M0, M1, P0, P1, PLAYFIELD, Tia};
use crate::cpu::{WriteEffect, WritePlace};

/// Delay of a playfield write by the clock of the line, modulo four: cycles 0, 3, 2 and 1 modulo four.
const PLAYFIELD_DELAYS: [u64; 4] = [4, 3, 2, 5];
const WSYNC: u8 = 0x02;
/// A write of it does nothing; noted, it tells how far the picture was drawn.
pub(crate) const NO_REGISTER: u8 = 0x3f;
/// A CTRLPF write at or behind this clock of the line reflects from the next line on.
const LATE_REFLECTION: u64 = 147;

impl Tia {
    /// Writes a register at a cycle, as the only write of an instruction. Most writes find what they write there already
    /// and are done with.
    #[inline(never)]
    pub fn write<C: Canvas>(&mut self, register: u8, value: u8, cycle: u64, canvas: &mut C) -> WriteEffect {
        let clock = 3 * cycle;
        if self.line_cap <= clock {
            return self.write_placed(register, value, cycle, WritePlace::Alone, canvas);
        }
        self.take(register & 0x3f, value, clock, canvas)
    }

    /// A write that may be one of several pushes, or may end the frame.
    #[inline(never)]
    pub fn write_placed<C: Canvas>(
        &mut self,
        register: u8,
        value: u8,
        cycle: u64,
        place: WritePlace,
        canvas: &mut C,
    ) -> WriteEffect {
        let register = register & 0x3f;
        let clock = 3 * cycle;
        if place != WritePlace::Alone || self.line_cap <= clock {
            // Two pushes share one clock; the skipped work of the first could then come too late for the second.
            let target = clock + self.delay(register, clock);
            self.catch_up(target, canvas);
            canvas.note(target, NO_REGISTER, 0);
        }
        let effect = match (register, place) {
            (WSYNC, WritePlace::LaterPush) => {
                self.ask(clock);
                WriteEffect::NONE
            }
            _ => self.take(register, value, clock, canvas),
        };
        if self.line_cap <= clock { effect.and_stop(cycle) } else { effect }
    }

    /// Waits for the next line: what a write of WSYNC at a cycle does, if it does not end the frame.
    #[inline(always)]
    pub fn write_wsync(&mut self, cycle: u64) -> Option<u64> {
        let clock = 3 * cycle;
        if self.line_cap <= clock {
            return None;
        }
        self.ask(clock);
        Some(self.next_line_start(clock) / 3)
    }

    /// Carries out a write again, catching up first whatever it changes: that is always right, only slower.
    pub fn replay<C: Canvas>(&mut self, register: u8, value: u8, clock: u64, canvas: &mut C) {
        self.catch_up(clock + self.delay(register, clock), canvas);
        self.take(register, value, clock, canvas);
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

    /// Whether the frame ends.
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

    /// Carries out a write. One that changes something, be it only what later writes do, is noted.
    #[inline(always)]
    fn take<C: Canvas>(&mut self, register: u8, value: u8, clock: u64, canvas: &mut C) -> WriteEffect {
        /// Asks for the pixels before the write; goes no further if the condition says that it changes nothing.
        macro_rules! unless {
            ($register:literal, $holds:expr) => {{
                let target = clock + self.delay($register, clock);
                self.ask(target);
                if $holds {
                    return WriteEffect::NONE;
                }
                target
            }};
        }
        /// A flag of an object.
        macro_rules! flag {
            ($register:literal, $flag:expr, $bit:literal, $object:expr) => {{
                let set = value & $bit != 0;
                let target = unless!($register, set == $flag);
                self.see_change($object, target, canvas);
                $flag = set;
            }};
        }
        macro_rules! playfield {
            ($register:literal) => {{
                let playfield = with_register(self.playfield, $register - 0x0d, value);
                let target = unless!($register, playfield == self.playfield);
                self.see_change(PLAYFIELD, target, canvas);
                self.playfield = playfield;
            }};
        }
        match register {
            0x00 => {
                self.ask(clock);
                let ends = self.write_vsync(value, clock);
                return if ends { WriteEffect::NONE.and_stop(clock / 3) } else { WriteEffect::NONE };
            }
            0x01 => {
                let target = unless!(0x01, value == self.vblank);
                self.write_vblank(value, clock, target, canvas);
            }
            WSYNC => {
                self.ask(clock);
                return WriteEffect::wait(self.next_line_start(clock) / 3);
            }
            0x04 => {
                let target = unless!(0x04, value == self.nusiz[0] && !self.suppressed[0] && !self.ark_shape);
                self.write_nusiz(0, value, target, canvas);
            }
            0x05 => {
                let target = unless!(0x05, value == self.nusiz[1] && !self.suppressed[1]);
                self.write_nusiz(1, value, target, canvas);
            }
            0x06..=0x09 => {
                let which = usize::from(register - 0x06);
                let colour = (value & 0xfe) | self.colour_loss();
                let target = unless!(0x06, colour == self.colours[which]);
                if canvas.is_coloured() {
                    self.catch_up(target, canvas);
                }
                self.row_repeats = false;
                self.colours[which] = colour;
            }
            0x0a => {
                let target = unless!(0x0a, value == self.ctrlpf);
                self.write_ctrlpf(value, clock, target, canvas);
            }
            0x0b => flag!(0x0b, self.reflect_player[0], 8, P0),
            0x0c => flag!(0x0c, self.reflect_player[1], 8, P1),
            0x0d => playfield!(0x0d),
            0x0e => playfield!(0x0e),
            0x0f => playfield!(0x0f),
            0x10 | 0x11 => {
                let target = unless!(0x10, false);
                self.reset_player(usize::from(register - 0x10), clock, target, canvas);
            }
            0x12 | 0x13 => {
                let target = unless!(0x12, false);
                self.reset_missile(usize::from(register - 0x12), clock, target, canvas);
            }
            0x14 => {
                let target = unless!(0x14, false);
                self.reset_ball(clock, target, canvas);
            }
            0x1b => {
                let target = unless!(0x1b, value == self.grp[0] && self.grp_delayed[1] == self.grp[1]);
                self.write_grp0(value, target, canvas);
            }
            0x1c => {
                let copied = self.grp_delayed[0] == self.grp[0] && self.enabl_delayed == self.enabl;
                let target = unless!(0x1c, value == self.grp[1] && copied);
                self.write_grp1(value, target, canvas);
            }
            0x1d => flag!(0x1d, self.enam[0], 2, M0),
            0x1e => flag!(0x1e, self.enam[1], 2, M1),
            0x1f => {
                let enabled = value & 2 != 0;
                let target = unless!(0x1f, enabled == self.enabl);
                if !self.vdelbl {
                    self.see_change(BALL, target, canvas);
                }
                self.enabl = enabled;
            }
            0x20..=0x24 => {
                let object = usize::from(register - 0x20);
                let target = unless!(0x20, value >> 4 == self.motions[object]);
                self.write_motion(object, value >> 4, clock, target, canvas);
            }
            0x25 => flag!(0x25, self.vdelp[0], 1, P0),
            0x26 => flag!(0x26, self.vdelp[1], 1, P1),
            0x27 => flag!(0x27, self.vdelbl, 1, BALL),
            0x28 | 0x29 => {
                let missile = usize::from(register - 0x28);
                let locked = value & 2 != 0;
                let target = unless!(0x28, locked == self.locked_missile[missile]);
                self.write_resmp(missile, locked, target, canvas);
            }
            0x2a => {
                let target = unless!(0x2a, false);
                self.write_hmove(clock, target, canvas);
            }
            0x2b => {
                unless!(0x2b, self.motions == [0; 5]);
                self.motions = [0; 5];
            }
            0x2c => {
                let target = unless!(0x2c, false);
                self.catch_up(target, canvas);
                self.latches = 0;
                self.collisions_repeat = false;
            }
            _ => {
                self.ask(clock);
                return WriteEffect::NONE;
            }
        }
        canvas.note(clock, register, value);
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
        self.see_change(PLAYFIELD, target, canvas);
        self.changed(BALL);
        self.ctrlpf = value;
        if self.in_line(clock) < LATE_REFLECTION {
            self.reflect_playfield = value & 1 != 0;
        }
    }
}
