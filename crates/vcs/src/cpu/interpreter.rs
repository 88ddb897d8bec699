//! Executes one instruction from its bytes, each read from the bus in turn: every opcode, every address, every side effect.
//! Most instructions are executed by their [handlers](super::handlers), which leave the others to this file.
//!
//! Here: one step, bus accesses, addressing modes, control flow. The opcode table is [`Interpreter::execute`].

use super::decode::BASE_CYCLES;
use super::{WriteEffect, WriteKind};
use crate::board::Board;

/// The processor during one instruction.
pub(super) struct Interpreter<'a> {
    pub board: &'a mut Board,
    pub pc: u16,
    pub cycle: u64,
    /// The byte last on the data bus.
    pub data_bus: u8,
    /// Instructions that may still be executed; [`STOPPED`] once a write has ended the frame.
    pub left: i32,
}

/// The value of `left` once a write has ended the frame.
pub(super) const STOPPED: i32 = -1;

/// Where execution continues.
#[derive(Clone, Copy)]
pub(super) struct Resume {
    pub pc: u16,
    pub cycle: u64,
    pub left: i32,
}

/// Executes one instruction.
#[inline(never)]
pub(super) fn step(board: &mut Board, from: Resume) -> Resume {
    let data_bus = board.registers.data_bus;
    let mut cpu = Interpreter { board, pc: from.pc, cycle: from.cycle, data_bus, left: from.left - 1 };
    let opcode = cpu.fetch();
    cpu.execute(opcode);
    cpu.board.registers.data_bus = cpu.data_bus;
    Resume { pc: cpu.pc, cycle: cpu.cycle, left: cpu.left }
}

impl Interpreter<'_> {
    /// The next byte of the program.
    pub fn fetch(&mut self) -> u8 {
        let byte = self.read(self.pc);
        self.pc = self.pc.wrapping_add(1);
        byte
    }

    pub fn read(&mut self, address: u16) -> u8 {
        self.data_bus = self.board.read(address, self.cycle, self.data_bus);
        self.data_bus
    }

    pub fn write(&mut self, address: u16, value: u8) {
        self.write_as(address, value, WriteKind::Single);
    }

    pub fn write_as(&mut self, address: u16, value: u8, kind: WriteKind) {
        self.data_bus = value;
        let effect = self.board.write(address, value, self.cycle, kind);
        if effect != WriteEffect::NONE {
            self.cycle = effect.cycle();
            if effect.stops() {
                self.left = STOPPED;
            }
        }
    }

    pub fn push(&mut self, value: u8, kind: WriteKind) {
        self.write_as(self.stack(), value, kind);
        self.board.registers.s = self.board.registers.s.wrapping_sub(1);
    }

    pub fn pull(&mut self) -> u8 {
        self.board.registers.s = self.board.registers.s.wrapping_add(1);
        self.read(self.stack())
    }

    pub fn stack(&self) -> u16 {
        0x100 | u16::from(self.board.registers.s)
    }

    pub fn zero_page(&mut self) -> u16 {
        u16::from(self.fetch())
    }

    pub fn zero_page_x(&mut self) -> u16 {
        u16::from(self.fetch().wrapping_add(self.board.registers.x))
    }

    pub fn zero_page_y(&mut self) -> u16 {
        u16::from(self.fetch().wrapping_add(self.board.registers.y))
    }

    pub fn absolute(&mut self) -> u16 {
        let low = self.fetch();
        u16::from_le_bytes([low, self.fetch()])
    }

    /// abs,X of a write: the cycle for a page crossing is part of the base cycles.
    pub fn absolute_x(&mut self) -> u16 {
        self.absolute().wrapping_add(u16::from(self.board.registers.x))
    }

    pub fn absolute_y(&mut self) -> u16 {
        self.absolute().wrapping_add(u16::from(self.board.registers.y))
    }

    /// abs,X of a read.
    pub fn absolute_x_read(&mut self) -> u16 {
        let base = self.absolute();
        self.indexed_read(base, self.board.registers.x)
    }

    pub fn absolute_y_read(&mut self) -> u16 {
        let base = self.absolute();
        self.indexed_read(base, self.board.registers.y)
    }

    pub fn indirect_x(&mut self) -> u16 {
        let pointer = self.zero_page_x();
        self.pointer(pointer)
    }

    pub fn indirect_y(&mut self) -> u16 {
        let pointer = self.zero_page();
        self.pointer(pointer).wrapping_add(u16::from(self.board.registers.y))
    }

    pub fn indirect_y_read(&mut self) -> u16 {
        let pointer = self.zero_page();
        let base = self.pointer(pointer);
        self.indexed_read(base, self.board.registers.y)
    }

    /// The high byte does not wrap within the zero page.
    fn pointer(&mut self, address: u16) -> u16 {
        let low = self.read(address);
        u16::from_le_bytes([low, self.read(address + 1)])
    }

    fn indexed_read(&mut self, base: u16, index: u8) -> u16 {
        let address = base.wrapping_add(u16::from(index));
        self.cycle += u64::from((base ^ address) >> 8 != 0);
        address
    }

    /// A branch: bits 6 and 7 of the opcode select the flag, bit 5 the value that takes the branch.
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
        self.push(return_high, WriteKind::FirstPush);
        self.push(return_low, WriteKind::LaterPush);
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
        self.push(high, WriteKind::FirstPush);
        self.push(low, WriteKind::LaterPush);
        self.push(self.board.registers.status(), WriteKind::LaterPush);
        self.board.registers.interrupt = true;
        let low = self.read(0xfffe);
        let high = self.read(0xffff);
        self.pc = u16::from_le_bytes([low, high]);
    }

    pub fn jam(&mut self) {
        self.board.registers.jammed = true;
        self.left = 0;
    }

    /// The undocumented stores that AND the value with the high byte of their address plus one.
    pub fn write_high(&mut self, address: u16, value: u8) {
        self.write(address, value & ((address >> 8) as u8).wrapping_add(1));
    }
}
