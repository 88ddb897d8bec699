//! The RIOT chip without its RAM: a countdown timer and the ports of joysticks and switches.
//!
//! ```text
//! timer written: value v, interval 2^shift cycles, at cycle t0, flag R ("read after underflow") cleared
//! INTIM at c:    n = v − ((c − 1 − t0) >> shift) − 1; once n is negative it counts single cycles, until R is set;
//!                then n counts intervals again, shifted by how late the first read came
//! ```

use serde::{Deserialize, Serialize};

use crate::config::{ConsoleConfig, Controller, Input};

/// Intervals of the timer in cycles, as powers of two.
const SHIFTS: [u8; 4] = [0, 3, 6, 10];

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Riot {
    timer: u8,
    shift: u8,
    written_at: u64,
    /// The cycle of the first read after the underflow.
    read_after_underflow: Option<u64>,
    direction_a: u8,
    port_a: u8,
    port_b: u8,
}

impl Riot {
    /// The chip after a reset at cycle 0; the timer starts at a value drawn by the console.
    pub(crate) fn reset(timer: u8) -> Self {
        Self { timer, shift: 6, written_at: 0, read_after_underflow: None, direction_a: 0, port_a: 0xff, port_b: 0x3f }
    }

    /// Sets the state of the ports for one frame.
    pub(crate) fn press(&mut self, input: &Input, config: &ConsoleConfig) {
        let pressed = |held: bool, bit: u8| if held { bit } else { 0 };
        let stick = pressed(input.up, 0x10)
            | pressed(input.down, 0x20)
            | pressed(input.left, 0x40)
            | pressed(input.right, 0x80);
        self.port_a = !match config.controller {
            Controller::Joystick if config.swapped_ports => stick >> 4,
            Controller::Joystick => stick,
            Controller::Paddles { swapped: false } => pressed(input.fire, 0x80),
            Controller::Paddles { swapped: true } => pressed(input.fire, 0x40),
        };
        self.port_b = 0x3f & !(pressed(input.reset, 1) | pressed(input.select, 2))
            | pressed(input.left_difficulty_a, 0x40)
            | pressed(input.right_difficulty_a, 0x80);
    }

    pub(crate) fn read(&mut self, address: u16, cycle: u64) -> u8 {
        match address & 7 {
            0 => self.port_a,
            1 => self.direction_a,
            2 => self.port_b,
            3 => 0,
            4 | 6 => self.timer_value(cycle),
            _ => {
                let underflown = self.intervals_left(cycle) < 0 && self.read_after_underflow.is_none();
                if underflown { 0x80 } else { 0 }
            }
        }
    }

    /// How many reads of the timer, the first at `cycle` and the others `period` cycles apart, return a value from 1 to
    /// 127 before the underflow. Such reads have no side effect.
    pub(crate) fn reads_before_zero(&self, cycle: u64, period: u64) -> u64 {
        if self.intervals_left(cycle) < 1 || 127 < self.intervals_left(cycle) {
            return 0;
        }
        // intervals_left(c) is at least 1 while c − 1 − t0 < (v − 1) << shift.
        let end = self.written_at + 1 + (u64::from(self.timer - 1) << self.shift);
        (end - cycle).div_ceil(period)
    }

    pub(crate) fn write(&mut self, address: u16, value: u8, cycle: u64) {
        match address & 7 {
            0 | 2 | 3 => {}
            1 => self.direction_a = value,
            _ if address & 0x14 == 0x14 => {
                self.timer = value;
                self.shift = SHIFTS[usize::from(address & 3)];
                self.written_at = cycle;
                self.read_after_underflow = None;
            }
            _ => {}
        }
    }

    /// Whether a deserialised chip can continue from a cycle.
    pub(crate) fn is_valid(&self, cycle: u64) -> bool {
        SHIFTS.contains(&self.shift)
            && self.written_at <= cycle
            && self.read_after_underflow.is_none_or(|first| first <= cycle)
    }

    /// Cycles since the write, less one.
    fn delta(&self, cycle: u64) -> i64 {
        cycle as i64 - 1 - self.written_at as i64
    }

    fn intervals_left(&self, cycle: u64) -> i64 {
        i64::from(self.timer) - (self.delta(cycle) >> self.shift) - 1
    }

    fn timer_value(&mut self, cycle: u64) -> u8 {
        let left = self.intervals_left(cycle);
        if 0 <= left {
            return left as u8;
        }
        let delta = self.delta(cycle);
        let whole = i64::from(self.timer) << self.shift;
        let single = whole - delta - 1;
        if single <= -2 && self.read_after_underflow.is_none() {
            self.read_after_underflow = Some(cycle);
        }
        match self.read_after_underflow {
            None => single as u8,
            Some(first) => {
                let late = first as i64 - (self.written_at as i64 + whole);
                (i64::from(self.timer) - (delta >> self.shift) - late) as u8
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timer(address: u16, value: u8) -> Riot {
        let mut riot = Riot::reset(50);
        riot.write(address, value, 100);
        riot
    }

    #[test]
    fn the_timer_counts_whole_intervals_down_to_zero() {
        for (address, interval) in [(0x294, 1), (0x295, 8), (0x296, 64), (0x297, 1024)] {
            let mut riot = timer(address, 5);
            assert_eq!(riot.read(0x284, 101), 4, "interval {interval}");
            assert_eq!(riot.read(0x284, 100 + interval), 4, "interval {interval}");
            assert_eq!(riot.read(0x284, 101 + interval), 3, "interval {interval}");
            assert_eq!(riot.read(0x284, 101 + 4 * interval), 0, "interval {interval}");
        }
    }

    #[test]
    fn after_the_underflow_single_cycles_count_until_the_first_read() {
        let mut riot = timer(0x296, 1);
        assert_eq!(riot.read(0x285, 164), 0);
        assert_eq!(riot.read(0x285, 165), 0x80);
        assert_eq!(riot.read(0x284, 165), 0xff, "one cycle past zero does not count as a late read");
        assert_eq!(riot.read(0x285, 166), 0x80);
        // v − (delta >> 6) − late = 1 − 1 − (170 − 164)
        assert_eq!(riot.read(0x284, 170), 0_u8.wrapping_sub(6));
        assert_eq!(riot.read(0x285, 171), 0, "the read cleared the flag");
        assert_eq!(riot.read(0x284, 200), 0_u8.wrapping_sub(6), "intervals count again");
    }

    #[test]
    fn reads_before_zero_counts_the_reads_that_return_one_or_more() {
        for value in [1, 2, 5, 127, 128, 129, 255] {
            for (address, period) in [(0x294, 7), (0x295, 7), (0x296, 7), (0x296, 8), (0x297, 7)] {
                let mut riot = timer(address, value);
                for start in [101, 102, 110, 163, 164, 165, 1000, 9000] {
                    let count = riot.reads_before_zero(start, period);
                    let mut value_at = |read: u64| riot.timer_value(start + read * period);
                    assert!((0..count).all(|read| (1..128).contains(&value_at(read))));
                    assert!(count == 0 || riot.intervals_left(start + count * period) < 1, "value {value} at {start}");
                }
            }
        }
    }

    #[test]
    fn only_addresses_with_both_timer_bits_set_the_timer() {
        let mut riot = timer(0x296, 9);
        riot.write(0x286, 77, 110);
        riot.write(0x282, 77, 110);
        riot.write(0x280, 77, 110);
        assert_eq!(riot.read(0x284, 111), 8);
    }

    #[test]
    fn the_stick_clears_its_bit_in_the_port_it_is_plugged_into() {
        let up = Input { up: true, ..Input::default() };
        let check = |config: ConsoleConfig, input: Input, expected: u8| {
            let mut riot = Riot::reset(25);
            riot.press(&input, &config);
            assert_eq!(riot.read(0x280, 1), expected);
        };
        let config = ConsoleConfig::default();
        check(config, Input::default(), 0xff);
        check(config, up, 0xef);
        check(ConsoleConfig { swapped_ports: true, ..config }, up, 0xfe);
        let fire = Input { fire: true, ..Input::default() };
        check(config, fire, 0xff);
        check(ConsoleConfig { controller: Controller::Paddles { swapped: false }, ..config }, fire, 0x7f);
        check(ConsoleConfig { controller: Controller::Paddles { swapped: true }, ..config }, fire, 0xbf);
    }

    #[test]
    fn switches_share_one_port() {
        let mut riot = Riot::reset(25);
        let read = |riot: &mut Riot, input: Input| {
            riot.press(&input, &ConsoleConfig::default());
            riot.read(0x282, 1)
        };
        assert_eq!(read(&mut riot, Input::default()), 0x3f);
        assert_eq!(read(&mut riot, Input { reset: true, ..Input::default() }), 0x3e);
        assert_eq!(read(&mut riot, Input { select: true, ..Input::default() }), 0x3d);
        assert_eq!(read(&mut riot, Input { left_difficulty_a: true, ..Input::default() }), 0x7f);
        assert_eq!(read(&mut riot, Input { right_difficulty_a: true, ..Input::default() }), 0xbf);
    }
}
