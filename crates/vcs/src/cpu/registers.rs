//! The processor's registers and flags.

use serde::{Deserialize, Serialize};

/// Registers and flags.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Registers {
    pub a: u8,
    pub x: u8,
    pub y: u8,
    pub s: u8,
    /// Where the next run begins; while the processor runs, it counts elsewhere.
    pub pc: u16,
    /// The last result: Z is set while its low byte is zero, N while bit 7 or 8 is set.
    pub result: u16,
    pub carry: bool,
    pub overflow: bool,
    pub decimal: bool,
    pub interrupt: bool,
    /// An opcode that stops the processor for good was executed.
    pub jammed: bool,
    /// The byte on the wires when the program last went on elsewhere than behind the instruction.
    pub wires: u8,
}

impl Registers {
    /// Registers after a reset, about to run at `pc`.
    pub fn reset(pc: u16) -> Self {
        Self {
            a: 0,
            x: 0,
            y: 0,
            s: 0xff,
            pc,
            result: 1,
            carry: false,
            overflow: false,
            decimal: false,
            interrupt: false,
            jammed: false,
            wires: 0,
        }
    }

    #[inline(always)]
    pub fn is_zero(&self) -> bool {
        self.result & 0xff == 0
    }

    #[inline(always)]
    pub fn is_negative(&self) -> bool {
        self.result & 0x180 != 0
    }

    /// The status byte as it is pushed: the break flag and bit 5 always read as 1.
    #[inline(always)]
    pub fn status(&self) -> u8 {
        (u8::from(self.is_negative()) << 7)
            | (u8::from(self.overflow) << 6)
            | 0x30
            | (u8::from(self.decimal) << 3)
            | (u8::from(self.interrupt) << 2)
            | (u8::from(self.is_zero()) << 1)
            | u8::from(self.carry)
    }

    /// Takes the flags from a pulled status byte; bits 4 and 5 are ignored.
    #[inline(always)]
    pub fn set_status(&mut self, status: u8) {
        self.set_n_and_z(status, !status & 0x02);
        self.overflow = status & 0x40 != 0;
        self.decimal = status & 0x08 != 0;
        self.interrupt = status & 0x04 != 0;
        self.carry = status & 0x01 != 0;
    }

    /// N and Z of a result.
    #[inline(always)]
    pub fn set_nz(&mut self, value: u8) {
        self.result = u16::from(value);
    }

    /// N from bit 7 of one byte, Z from another.
    #[inline(always)]
    pub fn set_n_and_z(&mut self, negative: u8, nonzero: u8) {
        self.result = (u16::from(negative & 0x80) << 1) | u16::from(nonzero != 0);
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
