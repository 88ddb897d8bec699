//! How an instruction finds its operand: which bytes it reads, in which order, and when a crossed page costs a cycle.

use super::execute::Core;
use super::{WriteEffect, WritePlace};

impl Core<'_> {
    /// The next byte of the program.
    pub fn fetch(&mut self) -> u8 {
        let byte = self.read(self.pc);
        self.pc = self.pc.wrapping_add(1);
        byte
    }

    pub fn read(&mut self, address: u16) -> u8 {
        self.noise = self.board.read(address, self.cycle, self.noise);
        self.noise
    }

    pub fn write(&mut self, address: u16, value: u8) {
        self.write_at(address, value, WritePlace::Alone);
    }

    pub fn write_at(&mut self, address: u16, value: u8, place: WritePlace) {
        self.noise = value;
        let effect = self.board.write(address, value, self.cycle, place);
        if effect != WriteEffect::NONE {
            self.cycle = effect.cycle();
            if effect.stops() {
                self.stop();
            }
        }
    }

    pub fn push(&mut self, value: u8, place: WritePlace) {
        self.write_at(self.stack(), value, place);
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

    /// abs,X of a write: the cycle for a crossed page is part of the base cycles.
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
}
