//! Register reads: collision latches, fire buttons and paddles. Undriven bits keep what was on the data bus.

use serde::{Deserialize, Serialize};

use super::{Canvas, Tia};
use crate::config::{Controller, Input};

/// Resistance of a socket without a paddle.
const OPEN: i32 = i32::MAX;

/// The fire buttons and paddle resistances at the controller ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ControllerPins {
    fire: [bool; 2],
    resistances: [i32; 4],
}

impl Default for ControllerPins {
    fn default() -> Self {
        Self { fire: [false; 2], resistances: [OPEN; 4] }
    }
}

impl Tia {
    /// Sets the controllers' state for one frame.
    pub fn press(&mut self, input: &Input) {
        let [first, second] = input.paddles;
        self.pins = match self.config.controller {
            Controller::Joystick => {
                let swapped = self.config.swapped_ports;
                ControllerPins { fire: [input.fire && !swapped, input.fire && swapped], ..ControllerPins::default() }
            }
            Controller::Paddles { swapped: false } => {
                ControllerPins { fire: [false; 2], resistances: [first, second, OPEN, OPEN] }
            }
            Controller::Paddles { swapped: true } => {
                ControllerPins { fire: [false; 2], resistances: [second, first, 0, 0] }
            }
        };
    }

    /// Reads a register at a cycle; `data_bus` is the byte that was on the bus before.
    pub fn read<C: Canvas>(&mut self, address: u16, cycle: u64, data_bus: u8, canvas: &mut C) -> u8 {
        let clock = 3 * cycle;
        // Unlike writes, reads may follow one another at one clock.
        self.request(clock.max(self.requested));
        let register = address & 0x0f;
        let driven = match register {
            0..=7 => {
                self.catch_up(clock, canvas);
                self.collision_register(register)
            }
            0x8..=0xb => self.paddle(usize::from(register - 0x8), cycle),
            0xc | 0xd if !self.pins.fire[usize::from(register - 0xc)] => 0x80,
            _ => 0,
        };
        driven | (data_bus & 0x3f)
    }

    /// A paddle's capacitor is full once the dump has been off for long enough. The comparison is unsigned, as in ale-py:
    /// a charge that started before the frame may appear never to be full.
    fn paddle(&self, socket: usize, cycle: u64) -> u8 {
        let full = match self.pins.resistances[socket] {
            0 => true,
            OPEN => false,
            _ if self.vblank & 0x80 != 0 => false,
            resistance => {
                let needed = (1.6 * f64::from(resistance) * 0.01e-6 * 1.19e6) as i64;
                let full_at = self.dump_off_cycle as i64 - self.frame_cycle as i64 + needed;
                let now = cycle as i64 - self.frame_cycle as i64;
                (full_at as u32) < (now as u32)
            }
        };
        if full { 0x80 } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ConsoleConfig;
    use crate::frame_buffer::FrameBuffer;

    const VBLANK: u8 = 0x01;
    const FIRST_PADDLE: u16 = 0x08;

    #[test]
    fn a_paddle_reads_full_once_its_capacitor_has_charged_since_the_dump_ended() {
        let config = ConsoleConfig { controller: Controller::Paddles { swapped: false }, ..ConsoleConfig::default() };
        let mut frame_buffer = FrameBuffer::black(config.height);
        let mut tia = Tia::reset(config);
        tia.start_frame(0);
        // 1.6 · 100 kΩ · 10 nF at 1.19 MHz are 1904 cycles.
        tia.press(&Input { paddles: [100_000, 0], ..Input::default() });
        let mut bit = |tia: &mut Tia, register: u16, cycle: u64| tia.read(register, cycle, 0, &mut frame_buffer) & 0x80;
        tia.write::<VBLANK, _>(0x80, 100, &mut FrameBuffer::black(0));
        assert_eq!(bit(&mut tia, FIRST_PADDLE, 5000), 0, "nothing fills while the dump is on");
        tia.write::<VBLANK, _>(0x00, 6000, &mut FrameBuffer::black(0));
        assert_eq!(bit(&mut tia, FIRST_PADDLE, 6000 + 1904), 0);
        assert_eq!(bit(&mut tia, FIRST_PADDLE, 6000 + 1905), 0x80);
        assert_eq!(bit(&mut tia, FIRST_PADDLE + 1, 6001), 0x80, "no resistance");
        assert_eq!(bit(&mut tia, FIRST_PADDLE + 2, 20_000), 0, "an empty socket");
    }

    #[test]
    fn undriven_bits_keep_what_was_on_the_data_bus() {
        let mut tia = Tia::reset(ConsoleConfig::default());
        tia.press(&Input::default());
        let mut frame_buffer = FrameBuffer::black(0);
        assert_eq!(tia.read(0x0c, 10, 0xff, &mut frame_buffer), 0x80 | 0x3f, "a button that is not pressed");
        assert_eq!(tia.read(0x02, 10, 0x15, &mut frame_buffer), 0x15, "no collision");
    }
}
