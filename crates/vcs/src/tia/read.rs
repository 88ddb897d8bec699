//! Register reads: collision latches, fire buttons and paddles. Undriven bits keep what was on the wires.

use serde::{Deserialize, Serialize};

use super::{Canvas, Tia};
use crate::config::{Controller, Input};

/// Resistance of a socket in which nothing turns.
const OPEN: i32 = i32::MAX;

/// What the sockets show to the chip during a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Hands {
    fire: [bool; 2],
    resistances: [i32; 4],
}

impl Default for Hands {
    fn default() -> Self {
        Self { fire: [false; 2], resistances: [OPEN; 4] }
    }
}

impl Tia {
    /// Sets what the sockets show for one frame.
    pub fn press(&mut self, input: &Input) {
        let [first, second] = input.paddles;
        self.hands = match self.config.controller {
            Controller::Joystick => {
                let swapped = self.config.swapped_ports;
                Hands { fire: [input.fire && !swapped, input.fire && swapped], ..Hands::default() }
            }
            Controller::Paddles { swapped: false } => {
                Hands { fire: [false; 2], resistances: [first, second, OPEN, OPEN] }
            }
            Controller::Paddles { swapped: true } => Hands { fire: [false; 2], resistances: [second, first, 0, 0] },
        };
    }

    /// Reads a register at a cycle.
    pub fn read<C: Canvas>(&mut self, address: u16, cycle: u64, noise: u8, canvas: &mut C) -> u8 {
        let clock = 3 * cycle;
        self.ask(clock);
        let register = address & 0x0f;
        let driven = match register {
            0..=7 => {
                self.catch_up(clock, canvas);
                self.collision_register(register)
            }
            0x8..=0xb => self.paddle(usize::from(register - 0x8), cycle),
            0xc | 0xd if !self.hands.fire[usize::from(register - 0xc)] => 0x80,
            _ => 0,
        };
        driven | (noise & 0x3f)
    }

    /// A paddle's capacitor is full once the dump has been off for long enough. The sum is compared without its sign,
    /// so one that started before the frame may look as if it were never full.
    fn paddle(&self, socket: usize, cycle: u64) -> u8 {
        let full = match self.hands.resistances[socket] {
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
