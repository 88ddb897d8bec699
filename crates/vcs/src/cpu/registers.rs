//! The processor's registers. Flags are kept apart, in the form in which results arrive.

use serde::{Deserialize, Serialize};

/// Registers and flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Registers {
    pub a: u8,
    pub x: u8,
    pub y: u8,
    pub s: u8,
    pub pc: u16,
    /// Bit 7 of this byte is the N flag.
    pub negative: u8,
    /// The Z flag is set while this byte is zero.
    pub nonzero: u8,
    pub carry: bool,
    pub overflow: bool,
    pub decimal: bool,
    pub interrupt: bool,
    /// An opcode that stops the processor for good was executed.
    pub jammed: bool,
}

impl Registers {
    /// Registers after a reset, about to run at `pc`.
    pub fn reset(pc: u16) -> Self {
        Self { s: 0xff, pc, nonzero: 1, ..Self::default() }
    }

    /// The status byte as it is pushed: the break flag and bit 5 always read as 1.
    pub fn status(&self) -> u8 {
        (self.negative & 0x80)
            | (u8::from(self.overflow) << 6)
            | 0x30
            | (u8::from(self.decimal) << 3)
            | (u8::from(self.interrupt) << 2)
            | (u8::from(self.nonzero == 0) << 1)
            | u8::from(self.carry)
    }

    /// Takes the flags from a pulled status byte; bits 4 and 5 are ignored.
    pub fn set_status(&mut self, status: u8) {
        self.negative = status;
        self.overflow = status & 0x40 != 0;
        self.decimal = status & 0x08 != 0;
        self.interrupt = status & 0x04 != 0;
        self.nonzero = !status & 0x02;
        self.carry = status & 0x01 != 0;
    }

    /// N and Z of a result.
    #[inline(always)]
    pub fn set_nz(&mut self, value: u8) {
        self.negative = value;
        self.nonzero = value;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_byte_survives_a_pull_and_a_push_except_bits_4_and_5() {
        for status in 0..=255_u8 {
            let mut registers = Registers::reset(0);
            registers.set_status(status);
            assert_eq!(registers.status(), status | 0x30);
        }
    }

    #[test]
    fn reset_clears_all_flags() {
        assert_eq!(Registers::reset(0xf000).status(), 0x30);
    }
}
