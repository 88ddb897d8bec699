//! The instructions that change the order of the program: branches, jumps, calls and returns.

use super::WritePlace;
use super::decode::BASE_CYCLES;
use super::execute::Core;

impl Core<'_> {
    /// A branch: bits 6 and 7 name the flag, bit 5 what it has to be.
    pub fn branch(&mut self, opcode: u8) {
        self.cycle += const { BASE_CYCLES[0x10] as u64 };
        let distance = self.fetch() as i8;
        let registers = &self.board.registers;
        let flags = u8::from(registers.is_negative())
            | u8::from(registers.overflow) << 1
            | u8::from(registers.carry) << 2
            | u8::from(registers.is_zero()) << 3;
        let taken = (flags >> (opcode >> 6)) & 1 == (opcode >> 5) & 1;
        if taken {
            let target = self.pc.wrapping_add_signed(i16::from(distance));
            self.cycle += if (self.pc ^ target) >> 8 == 0 { 1 } else { 2 };
            self.pc = target;
        }
    }

    pub fn jmp_indirect(&mut self) {
        let pointer = self.absolute();
        let low = self.read(pointer);
        let next = (pointer & 0xff00) | (pointer.wrapping_add(1) & 0xff);
        let high = self.read(next);
        self.pc = u16::from_le_bytes([low, high]);
    }

    pub fn jsr(&mut self) {
        let low = self.fetch();
        self.read(self.stack());
        let [return_low, return_high] = self.pc.to_le_bytes();
        self.push(return_high, WritePlace::FirstPush);
        self.push(return_low, WritePlace::LaterPush);
        let high = self.fetch();
        self.pc = u16::from_le_bytes([low, high]);
    }

    pub fn rts(&mut self) {
        self.read(self.stack());
        let low = self.pull();
        let before = u16::from_le_bytes([low, self.pull()]);
        self.read(before);
        self.pc = before.wrapping_add(1);
    }

    pub fn rti(&mut self) {
        self.read(self.stack());
        let status = self.pull();
        self.board.registers.set_status(status);
        let low = self.pull();
        let high = self.pull();
        self.pc = u16::from_le_bytes([low, high]);
    }

    pub fn brk(&mut self) {
        self.fetch();
        let [low, high] = self.pc.to_le_bytes();
        self.push(high, WritePlace::FirstPush);
        self.push(low, WritePlace::LaterPush);
        self.push(self.board.registers.status(), WritePlace::LaterPush);
        self.board.registers.interrupt = true;
        let low = self.read(0xfffe);
        let high = self.read(0xffff);
        self.pc = u16::from_le_bytes([low, high]);
    }
}
