//! The processor's registers, split by how often they are used.
//!
//! While the processor runs, the busy ones are held by value and fit into machine registers; the others stay in memory
//! behind a reference, where they do not compete for them.

use serde::{Deserialize, Serialize};

/// Registers and flags between two frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Registers {
    pub busy: Busy,
    pub rare: Rare,
}

/// Registers that most instructions touch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Busy {
    pub a: u8,
    pub x: u8,
    pub y: u8,
    pub pc: u16,
    /// The last result: Z is set while its low byte is zero, N while bit 7 or 8 is set.
    pub result: u32,
    pub carry: bool,
}

/// The others.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Rare {
    pub s: u8,
    pub overflow: bool,
    pub decimal: bool,
    pub interrupt: bool,
    /// An opcode that stops the processor for good was executed.
    pub jammed: bool,
}

/// Registers while the processor runs.
#[derive(Debug)]
pub(crate) struct Live<'a> {
    pub busy: Busy,
    pub rare: &'a mut Rare,
}

impl Registers {
    /// Registers after a reset, about to run at `pc`.
    pub fn reset(pc: u16) -> Self {
        Self {
            busy: Busy { a: 0, x: 0, y: 0, pc, result: 1, carry: false },
            rare: Rare { s: 0xff, overflow: false, decimal: false, interrupt: false, jammed: false },
        }
    }
}

impl Busy {
    /// A copy made field by field: copied whole, all registers end up packed into one machine register.
    #[inline(always)]
    pub fn apart(&self) -> Self {
        let Self { a, x, y, pc, result, carry } = *self;
        Self { a, x, y, pc, result, carry }
    }

    #[inline(always)]
    pub fn is_zero(&self) -> bool {
        self.result & 0xff == 0
    }

    #[inline(always)]
    pub fn is_negative(&self) -> bool {
        self.result & 0x180 != 0
    }
}

impl Live<'_> {
    /// The status byte as it is pushed: the break flag and bit 5 always read as 1.
    #[inline(always)]
    pub fn status(&self) -> u8 {
        (u8::from(self.busy.is_negative()) << 7)
            | (u8::from(self.rare.overflow) << 6)
            | 0x30
            | (u8::from(self.rare.decimal) << 3)
            | (u8::from(self.rare.interrupt) << 2)
            | (u8::from(self.busy.is_zero()) << 1)
            | u8::from(self.busy.carry)
    }

    /// Takes the flags from a pulled status byte; bits 4 and 5 are ignored.
    #[inline(always)]
    pub fn set_status(&mut self, status: u8) {
        self.set_n_and_z(status, !status & 0x02);
        self.rare.overflow = status & 0x40 != 0;
        self.rare.decimal = status & 0x08 != 0;
        self.rare.interrupt = status & 0x04 != 0;
        self.busy.carry = status & 0x01 != 0;
    }

    /// N and Z of a result.
    #[inline(always)]
    pub fn set_nz(&mut self, value: u8) {
        self.busy.result = u32::from(value);
    }

    /// N from bit 7 of one byte, Z from another.
    #[inline(always)]
    pub fn set_n_and_z(&mut self, negative: u8, nonzero: u8) {
        self.busy.result = (u32::from(negative & 0x80) << 1) | u32::from(nonzero != 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_byte_survives_a_pull_and_a_push_except_bits_4_and_5() {
        for status in 0..=255_u8 {
            let Registers { busy, mut rare } = Registers::reset(0);
            let mut live = Live { busy, rare: &mut rare };
            live.set_status(status);
            assert_eq!(live.status(), status | 0x30);
        }
    }

    #[test]
    fn reset_clears_all_flags() {
        let Registers { busy, mut rare } = Registers::reset(0xf000);
        assert_eq!(Live { busy, rare: &mut rare }.status(), 0x30);
    }
}
