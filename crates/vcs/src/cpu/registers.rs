//! Registers, flags, and what instructions compute with them, decimal mode and undocumented instructions included. No bus
//! access here.
//!
//! Everything but decimal mode is inlined: most of these functions are two or three machine instructions.

use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Registers {
    pub a: u8,
    pub x: u8,
    pub y: u8,
    pub s: u8,
    /// Where the next run begins; during a run the program counter is a local variable.
    pub pc: u16,
    /// The last result: Z is set while its low byte is zero, N while bit 7 or 8 is set.
    pub result: u16,
    pub carry: bool,
    pub overflow: bool,
    pub decimal: bool,
    pub interrupt: bool,
    /// An opcode that jams the processor was executed.
    pub jammed: bool,
    /// The byte last on the data bus, as far as the interpreter has seen.
    pub data_bus: u8,
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
            data_bus: 0,
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

    /// Sets the flags from a pulled status byte; bits 4 and 5 are ignored.
    #[inline(always)]
    pub fn set_status(&mut self, status: u8) {
        self.set_n_and_z(status, !status & 0x02);
        self.overflow = status & 0x40 != 0;
        self.decimal = status & 0x08 != 0;
        self.interrupt = status & 0x04 != 0;
        self.carry = status & 0x01 != 0;
    }

    /// Sets N and Z from a result.
    #[inline(always)]
    pub fn set_nz(&mut self, value: u8) {
        self.result = u16::from(value);
    }

    /// Sets N from bit 7 of one byte and Z from another.
    #[inline(always)]
    pub fn set_n_and_z(&mut self, negative: u8, nonzero: u8) {
        self.result = (u16::from(negative & 0x80) << 1) | u16::from(nonzero != 0);
    }
}

impl Registers {
    /// A := A + M + C.
    #[inline(always)]
    pub fn adc(&mut self, m: u8) {
        if self.decimal {
            return self.take(decimal_sum(self.a, m, self.carry));
        }
        let sum = u16::from(self.a) + u16::from(m) + u16::from(self.carry);
        let result = sum as u8;
        self.overflow = (self.a ^ result) & (m ^ result) & 0x80 != 0;
        self.carry = 0xff < sum;
        self.a = result;
        self.set_nz(result);
    }

    /// A := A − M − (1 − C).
    #[inline(always)]
    pub fn sbc(&mut self, m: u8) {
        if self.decimal {
            return self.take(decimal_difference(self.a, m, self.carry));
        }
        self.adc(!m);
    }

    #[inline(always)]
    pub fn and(&mut self, m: u8) {
        self.a &= m;
        self.set_nz(self.a);
    }

    #[inline(always)]
    pub fn ora(&mut self, m: u8) {
        self.a |= m;
        self.set_nz(self.a);
    }

    #[inline(always)]
    pub fn eor(&mut self, m: u8) {
        self.a ^= m;
        self.set_nz(self.a);
    }

    #[inline(always)]
    fn compare(&mut self, register: u8, m: u8) {
        self.carry = m <= register;
        self.set_nz(register.wrapping_sub(m));
    }

    #[inline(always)]
    pub fn cmp(&mut self, m: u8) {
        self.compare(self.a, m);
    }

    #[inline(always)]
    pub fn cpx(&mut self, m: u8) {
        self.compare(self.x, m);
    }

    #[inline(always)]
    pub fn cpy(&mut self, m: u8) {
        self.compare(self.y, m);
    }

    /// The undocumented NOPs still read their operand.
    #[inline(always)]
    pub fn nop(&mut self, _operand: u8) {}

    #[inline(always)]
    pub fn bit(&mut self, m: u8) {
        self.set_n_and_z(m, self.a & m);
        self.overflow = m & 0x40 != 0;
    }

    #[inline(always)]
    pub fn lda(&mut self, m: u8) {
        self.a = m;
        self.set_nz(m);
    }

    #[inline(always)]
    pub fn ldx(&mut self, m: u8) {
        self.x = m;
        self.set_nz(m);
    }

    #[inline(always)]
    pub fn ldy(&mut self, m: u8) {
        self.y = m;
        self.set_nz(m);
    }

    #[inline(always)]
    pub fn asl(&mut self, m: u8) -> u8 {
        self.carry = m & 0x80 != 0;
        self.with_nz(m << 1)
    }

    #[inline(always)]
    pub fn lsr(&mut self, m: u8) -> u8 {
        self.carry = m & 1 != 0;
        self.with_nz(m >> 1)
    }

    #[inline(always)]
    pub fn rol(&mut self, m: u8) -> u8 {
        let low = u8::from(self.carry);
        self.carry = m & 0x80 != 0;
        self.with_nz((m << 1) | low)
    }

    #[inline(always)]
    pub fn ror(&mut self, m: u8) -> u8 {
        let high = u8::from(self.carry) << 7;
        self.carry = m & 1 != 0;
        self.with_nz((m >> 1) | high)
    }

    #[inline(always)]
    pub fn inc(&mut self, m: u8) -> u8 {
        self.with_nz(m.wrapping_add(1))
    }

    #[inline(always)]
    pub fn dec(&mut self, m: u8) -> u8 {
        self.with_nz(m.wrapping_sub(1))
    }

    #[inline(always)]
    pub fn slo(&mut self, m: u8) -> u8 {
        let shifted = self.asl(m);
        self.ora(shifted);
        shifted
    }

    #[inline(always)]
    pub fn rla(&mut self, m: u8) -> u8 {
        let rotated = self.rol(m);
        self.and(rotated);
        rotated
    }

    #[inline(always)]
    pub fn sre(&mut self, m: u8) -> u8 {
        let shifted = self.lsr(m);
        self.eor(shifted);
        shifted
    }

    #[inline(always)]
    pub fn rra(&mut self, m: u8) -> u8 {
        let rotated = self.ror(m);
        self.adc(rotated);
        rotated
    }

    #[inline(always)]
    pub fn dcp(&mut self, m: u8) -> u8 {
        let lower = self.dec(m);
        self.compare(self.a, lower);
        lower
    }

    #[inline(always)]
    pub fn isb(&mut self, m: u8) -> u8 {
        let higher = self.inc(m);
        self.sbc(higher);
        higher
    }

    #[inline(always)]
    pub fn lax(&mut self, m: u8) {
        self.lda(m);
        self.x = m;
    }

    #[inline(always)]
    pub fn anc(&mut self, m: u8) {
        self.and(m);
        self.carry = self.a & 0x80 != 0;
    }

    #[inline(always)]
    pub fn asr(&mut self, m: u8) {
        self.a = self.lsr(self.a & m);
    }

    #[inline(always)]
    pub fn arr(&mut self, m: u8) {
        self.a = self.ror(self.a & m);
        self.carry = self.a & 0x40 != 0;
        self.overflow = (self.a ^ (self.a << 1)) & 0x40 != 0;
    }

    #[inline(always)]
    pub fn sbx(&mut self, m: u8) {
        let both = self.a & self.x;
        self.compare(both, m);
        self.x = both.wrapping_sub(m);
    }

    #[inline(always)]
    pub fn lxa(&mut self, m: u8) {
        self.lax((self.a | 0xee) & m);
    }

    #[inline(always)]
    pub fn ane(&mut self, m: u8) {
        self.lda((self.a | 0xee) & self.x & m);
    }

    #[inline(always)]
    pub fn las(&mut self, m: u8) {
        self.s &= m;
        self.lax(self.s);
    }

    #[inline(always)]
    fn take(&mut self, (result, carry, overflow): (u8, bool, bool)) {
        self.a = result;
        self.set_nz(result);
        self.carry = carry;
        self.overflow = overflow;
    }

    #[inline(always)]
    fn with_nz(&mut self, value: u8) -> u8 {
        self.set_nz(value);
        value
    }
}

/// Sum, carry and overflow. Digits above nine count with their value, and the overflow compares the decimal result.
#[inline(never)]
fn decimal_sum(a: u8, m: u8, carry: bool) -> (u8, bool, bool) {
    let sum = decimal_value(a) + decimal_value(m) + i32::from(carry);
    let result = decimal_digits(sum);
    (result, 99 < sum, (a ^ result) & (result ^ m) & 0x80 != 0)
}

/// Difference, carry and overflow. The borrow comes from the raw bytes, not from the decimal difference.
#[inline(never)]
fn decimal_difference(a: u8, m: u8, carry: bool) -> (u8, bool, bool) {
    let borrow = i32::from(!carry);
    let difference = decimal_value(a) - decimal_value(m) - borrow;
    let result = decimal_digits(if difference < 0 { difference + 100 } else { difference });
    (result, i32::from(m) + borrow <= i32::from(a), (a ^ result) & (result ^ m) & 0x80 != 0)
}

fn decimal_value(byte: u8) -> i32 {
    i32::from(byte >> 4) * 10 + i32::from(byte & 15)
}

fn decimal_digits(number: i32) -> u8 {
    let number = (number & 0xff) as u8 % 100;
    ((number / 10) << 4) | (number % 10)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed<T>(change: impl FnOnce(&mut Registers) -> T) -> T {
        change(&mut Registers::reset(0))
    }

    fn added(a: u8, m: u8, carry: bool, decimal: bool) -> (u8, u8) {
        changed(|registers| {
            (registers.a, registers.carry, registers.decimal) = (a, carry, decimal);
            registers.adc(m);
            (registers.a, registers.status() & 0xc3)
        })
    }

    fn subtracted(a: u8, m: u8, carry: bool, decimal: bool) -> (u8, u8) {
        changed(|registers| {
            (registers.a, registers.carry, registers.decimal) = (a, carry, decimal);
            registers.sbc(m);
            (registers.a, registers.status() & 0xc3)
        })
    }

    #[test]
    fn binary_sums_set_carry_overflow_zero_and_negative() {
        assert_eq!(added(0x50, 0x50, false, false), (0xa0, 0xc0));
        assert_eq!(added(0xff, 0x01, false, false), (0x00, 0x03));
        assert_eq!(added(0x80, 0x80, true, false), (0x01, 0x41));
        assert_eq!(subtracted(0x50, 0xb0, true, false), (0xa0, 0xc0));
        assert_eq!(subtracted(0x10, 0x10, true, false), (0x00, 0x03));
        assert_eq!(subtracted(0x00, 0x01, true, false), (0xff, 0x80));
    }

    #[test]
    fn decimal_sums_of_valid_digits_are_decimal() {
        for left in 0..100_i32 {
            for right in 0..100_i32 {
                let (sum, status) = added(decimal_digits(left), decimal_digits(right), false, true);
                assert_eq!(sum, decimal_digits((left + right) % 100));
                assert_eq!(status & 1 == 1, 99 < left + right);
                let (difference, status) = subtracted(decimal_digits(left), decimal_digits(right), true, true);
                assert_eq!(difference, decimal_digits((left - right + 100) % 100));
                assert_eq!(status & 1 == 1, right <= left);
            }
        }
    }

    #[test]
    fn invalid_digits_count_with_their_value() {
        assert_eq!(added(0x0f, 0x01, false, true).0, 0x16);
        assert_eq!(added(0xff, 0x00, false, true), (0x65, 0x01));
    }

    #[test]
    fn the_decimal_borrow_compares_raw_bytes() {
        // 0x0f counts 15 and 0x14 counts 14, so the difference is positive although the borrow says otherwise.
        assert_eq!(subtracted(0x0f, 0x14, true, true), (0x01, 0x00));
    }

    #[test]
    fn undocumented_loads_use_the_constant_ee() {
        let after = |a: u8, x: u8, operation: fn(&mut Registers, u8)| {
            changed(|registers| {
                (registers.a, registers.x) = (a, x);
                operation(registers, 0xff);
                (registers.a, registers.x)
            })
        };
        assert_eq!(after(0x01, 0xff, |registers, m| registers.lxa(m)), (0xef, 0xef));
        assert_eq!(after(0x10, 0x0f, |registers, m| registers.ane(m)).0, 0x0e);
    }

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
