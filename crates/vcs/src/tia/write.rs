//! Register writes. A write that could be seen first catches the picture up to its own clock plus its delay; one that
//! changes nothing, or nothing visible, leaves the picture behind: later pixels come out the same.

use super::playfield::with_register;
use super::{Ark, BALL, BLANK, Canvas, LINE, M0, P0, PLAYFIELD, Tia, WIDTH};
use crate::cpu::{WriteEffect, WritePlace};

/// Delays in clocks; the playfield registers have their own rule.
const DELAYS: [u8; 64] = {
    let mut delays = [0; 64];
    let one = [0x01, 0x0b, 0x0c, 0x1b, 0x1c];
    let eight = [0x04, 0x05, 0x12, 0x13];
    let mut i = 0;
    while i < one.len() {
        delays[one[i]] = 1;
        i += 1;
    }
    i = 0;
    while i < eight.len() {
        delays[eight[i]] = 8;
        i += 1;
    }
    delays
};
/// Delay of a playfield write by the clock of the line, modulo four: cycles 0, 3, 2 and 1 modulo four.
const PLAYFIELD_DELAYS: [u64; 4] = [4, 3, 2, 5];
const VSYNC: u8 = 0x00;
const WSYNC: u8 = 0x02;
/// A CTRLPF write at or behind this clock of the line reflects from the next line on.
const LATE_REFLECTION: u64 = 147;
/// How far RESPx draws ahead when it hits a copy in progress.
const RESP_AHEAD: u64 = 11;

impl Tia {
    /// Writes a register at a cycle. Most writes find what they write there already and are done with.
    #[inline(always)]
    pub fn write<C: Canvas>(
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
            return self.write_rarely(register, value, cycle, place, canvas);
        }
        let target = clock + self.delay(register, clock);
        self.ask(target);
        if register == WSYNC {
            return WriteEffect::wait(self.next_line_start(clock) / 3);
        }
        if !self.holds(register, value) {
            return self.write_news(register, value, cycle, target, canvas);
        }
        WriteEffect::NONE
    }

    /// A write that is one of several pushes, or one that ends the frame.
    #[inline(never)]
    fn write_rarely<C: Canvas>(
        &mut self,
        register: u8,
        value: u8,
        cycle: u64,
        place: WritePlace,
        canvas: &mut C,
    ) -> WriteEffect {
        let clock = 3 * cycle;
        let target = clock + self.delay(register, clock);
        self.ask(target);
        // Two pushes share one clock; the skipped work of the first could then come too late for the second.
        self.catch_up(target, canvas);
        let mut effect = WriteEffect::NONE;
        if register == WSYNC {
            if place != WritePlace::LaterPush {
                effect = WriteEffect::wait(self.next_line_start(clock) / 3);
            }
        } else if !self.holds(register, value) {
            effect = self.write_news(register, value, cycle, target, canvas);
        } else {
            // For what was just drawn.
            canvas.note(clock, register, value);
        }
        if self.line_cap <= clock { effect.and_stop(cycle) } else { effect }
    }

    /// A write that changes something.
    #[inline(never)]
    fn write_news<C: Canvas>(
        &mut self,
        register: u8,
        value: u8,
        cycle: u64,
        target: u64,
        canvas: &mut C,
    ) -> WriteEffect {
        let clock = 3 * cycle;
        if register == VSYNC {
            return if self.write_vsync(value, clock) { WriteEffect::NONE.and_stop(cycle) } else { WriteEffect::NONE };
        }
        canvas.note(clock, register, value);
        self.change(register, value, clock, target, canvas);
        WriteEffect::NONE
    }

    /// Whether a write of this value changes nothing at all, not even what later writes do.
    #[inline(always)]
    fn holds(&self, register: u8, value: u8) -> bool {
        match register {
            0x00 => false,
            0x01 => value == self.vblank,
            0x04 => value == self.nusiz[0] && !self.suppressed[0] && !self.ark_shape,
            0x05 => value == self.nusiz[1] && !self.suppressed[1],
            0x06..=0x09 => (value & 0xfe) | self.colour_loss() == self.colours[usize::from(register - 0x06)],
            0x0a => value == self.ctrlpf,
            0x0b | 0x0c => (value & 8 != 0) == self.reflect_player[usize::from(register - 0x0b)],
            0x0d..=0x0f => with_register(self.playfield, register - 0x0d, value) == self.playfield,
            0x1b => value == self.grp[0] && self.grp_delayed[1] == self.grp[1],
            0x1c => value == self.grp[1] && self.grp_delayed[0] == self.grp[0] && self.enabl_delayed == self.enabl,
            0x1d | 0x1e => (value & 2 != 0) == self.enam[usize::from(register - 0x1d)],
            0x1f => (value & 2 != 0) == self.enabl,
            0x20..=0x24 => value >> 4 == self.motions[usize::from(register - 0x20)],
            0x25 | 0x26 => (value & 1 != 0) == self.vdelp[usize::from(register - 0x25)],
            0x27 => (value & 1 != 0) == self.vdelbl,
            0x28 | 0x29 => (value & 2 != 0) == self.locked_missile[usize::from(register - 0x28)],
            0x2b => self.motions == [0; 5],
            0x10..=0x14 | 0x2a | 0x2c => false,
            _ => true,
        }
    }

    /// Carries out a write again, catching up first whatever it changes: that is always right, only slower.
    pub fn replay<C: Canvas>(&mut self, register: u8, value: u8, clock: u64, canvas: &mut C) {
        let target = clock + self.delay(register, clock);
        self.catch_up(target, canvas);
        self.change(register, value, clock, target, canvas);
    }

    fn delay(&self, register: u8, clock: u64) -> u64 {
        match register {
            // A line has a multiple of four cycles.
            0x0d..=0x0f => PLAYFIELD_DELAYS[(clock - self.frame_start) as usize & 3],
            _ => u64::from(DELAYS[usize::from(register)]),
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

    fn change<C: Canvas>(&mut self, register: u8, value: u8, clock: u64, target: u64, canvas: &mut C) {
        match register {
            0x01 => self.write_vblank(value, clock, target, canvas),
            0x04 | 0x05 => self.write_nusiz(usize::from(register - 0x04), value, target, canvas),
            0x06..=0x09 => self.write_colour(usize::from(register - 0x06), value, target, canvas),
            0x0a => self.write_ctrlpf(value, clock, target, canvas),
            0x0b | 0x0c => {
                let player = usize::from(register - 0x0b);
                let reflect = value & 8 != 0;
                if reflect != self.reflect_player[player] {
                    self.see_change(P0 + player, target, canvas);
                    self.reflect_player[player] = reflect;
                }
            }
            0x0d..=0x0f => {
                let playfield = with_register(self.playfield, register - 0x0d, value);
                if playfield != self.playfield {
                    self.see_change(PLAYFIELD, target, canvas);
                    self.playfield = playfield;
                }
            }
            0x10 | 0x11 => self.reset_player(usize::from(register - 0x10), clock, target, canvas),
            0x12 | 0x13 => self.reset_missile(usize::from(register - 0x12), clock, target, canvas),
            0x14 => {
                self.see_change(BALL, target, canvas);
                self.positions[BALL] = match (self.cycles_since_hmove(clock), self.in_line(clock)) {
                    (18, 60 | 69) => 10,
                    (3, 18) => 3,
                    (7, 30) => 6,
                    (6, 27) => 5,
                    (_, in_line) => reset_position(in_line, 2, 4),
                };
            }
            0x1b => self.write_grp0(value, target, canvas),
            0x1c => self.write_grp1(value, target, canvas),
            0x1d | 0x1e => {
                let missile = usize::from(register - 0x1d);
                let enabled = value & 2 != 0;
                if enabled != self.enam[missile] {
                    self.see_change(M0 + missile, target, canvas);
                    self.enam[missile] = enabled;
                }
            }
            0x1f => {
                let enabled = value & 2 != 0;
                if enabled != self.enabl {
                    if !self.vdelbl {
                        self.see_change(BALL, target, canvas);
                    }
                    self.enabl = enabled;
                }
            }
            0x20..=0x24 => self.write_motion(usize::from(register - 0x20), value >> 4, clock, target, canvas),
            0x25 | 0x26 => {
                let player = usize::from(register - 0x25);
                let delayed = value & 1 != 0;
                if delayed != self.vdelp[player] {
                    self.see_change(P0 + player, target, canvas);
                    self.vdelp[player] = delayed;
                }
            }
            0x27 => {
                let delayed = value & 1 != 0;
                if delayed != self.vdelbl {
                    self.see_change(BALL, target, canvas);
                    self.vdelbl = delayed;
                }
            }
            0x28 | 0x29 => self.write_resmp(usize::from(register - 0x28), value & 2 != 0, target, canvas),
            0x2a => {
                // The comb is only seen.
                if canvas.is_coloured() || self.hmove_changes(clock) {
                    self.catch_up(target, canvas);
                }
                self.hmove(clock);
            }
            0x2b => self.motions = [0; 5],
            0x2c => {
                self.catch_up(target, canvas);
                self.latches = 0;
                self.collisions_repeat = false;
            }
            _ => {}
        }
    }

    /// Draws what the change must not touch, then takes note that the object changes.
    #[inline]
    fn see_change<C: Canvas>(&mut self, object: usize, target: u64, canvas: &mut C) {
        self.catch_up(target, canvas);
        self.changed(object);
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

    fn write_nusiz<C: Canvas>(&mut self, player: usize, value: u8, target: u64, canvas: &mut C) {
        let altered = self.suppressed[player] || (player == 0 && self.ark_shape);
        if value == self.nusiz[player] && !altered {
            return;
        }
        self.see_change(P0 + player, target, canvas);
        self.changed(M0 + player);
        self.nusiz[player] = value;
        self.suppressed[player] = false;
        if player == 0 {
            self.ark_shape = false;
        }
    }

    fn write_colour<C: Canvas>(&mut self, which: usize, value: u8, target: u64, canvas: &mut C) {
        let colour = (value & 0xfe) | self.colour_loss();
        if colour != self.colours[which] {
            if canvas.is_coloured() {
                self.catch_up(target, canvas);
            }
            self.row_repeats = false;
            self.colours[which] = colour;
        }
    }

    fn write_ctrlpf<C: Canvas>(&mut self, value: u8, clock: u64, target: u64, canvas: &mut C) {
        if value == self.ctrlpf {
            return;
        }
        self.see_change(PLAYFIELD, target, canvas);
        self.changed(BALL);
        self.ctrlpf = value;
        if self.in_line(clock) < LATE_REFLECTION {
            self.reflect_playfield = value & 1 != 0;
        }
    }

    fn write_grp0<C: Canvas>(&mut self, value: u8, target: u64, canvas: &mut C) {
        if !self.vdelp[0] && value != self.grp[0] {
            self.see_change(P0, target, canvas);
        }
        if self.vdelp[1] && self.grp_delayed[1] != self.grp[1] {
            self.see_change(P0 + 1, target, canvas);
        }
        self.grp[0] = value;
        self.grp_delayed[1] = self.grp[1];
    }

    fn write_grp1<C: Canvas>(&mut self, value: u8, target: u64, canvas: &mut C) {
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

    fn write_motion<C: Canvas>(&mut self, object: usize, nibble: u8, clock: u64, target: u64, canvas: &mut C) {
        // HMM0 rewritten from 7 to 6 at the right moment makes missile 0 jump from line to line.
        let was = std::mem::replace(&mut self.motions[object], nibble);
        if object == M0 && self.cycles_since_hmove(clock) == 21 && (was, nibble) == (7, 6) {
            self.see_change(M0, target, canvas);
            self.ark = Ark::Running(0);
            self.ark_shape = false;
        }
    }

    fn write_resmp<C: Canvas>(&mut self, missile: usize, locked: bool, target: u64, canvas: &mut C) {
        if locked == self.locked_missile[missile] {
            return;
        }
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

    fn reset_player<C: Canvas>(&mut self, player: usize, clock: u64, target: u64, canvas: &mut C) {
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

    fn reset_missile<C: Canvas>(&mut self, missile: usize, clock: u64, target: u64, canvas: &mut C) {
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
