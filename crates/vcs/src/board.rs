//! The board: address decoding. Which of cartridge, RAM, TIA and RIOT answers an address.

use std::sync::Arc;

use crate::cartridge::Cartridge;
use crate::cpu::{Program, Registers, WriteEffect, WriteKind};
use crate::frame_buffer::FrameBuffer;
use crate::ram::Ram;
use crate::riot::Riot;
use crate::tia::Tia;

/// The processor's registers and everything it can address.
#[derive(Debug, Clone)]
pub(crate) struct Board {
    pub registers: Registers,
    /// The cartridge's program, decoded.
    pub program: Arc<Program>,
    /// While decoded instructions run: the program counter less the slot, by which a jump to another bank or mirror differs.
    pub mirror: u16,
    pub cartridge: Cartridge,
    pub ram: Ram,
    pub riot: Riot,
    pub tia: Tia,
    pub frame_buffer: FrameBuffer,
}

impl Board {
    /// Reads a byte at a cycle. `data_bus` is the byte that was on the bus before; undriven bits keep it.
    #[inline(always)]
    pub fn read(&mut self, address: u16, cycle: u64, data_bus: u8) -> u8 {
        if address & 0x1000 != 0 {
            self.cartridge.read(address, cycle)
        } else if address & 0x280 == 0x80 {
            self.ram.get(address)
        } else {
            self.read_chip(address, cycle, data_bus)
        }
    }

    /// The byte at an address in RAM or in the plain part of the cartridge, where reads have no side effect.
    #[inline(always)]
    pub fn peek(&self, address: u16) -> Option<u8> {
        if address & 0x1000 != 0 {
            self.cartridge.plain_byte(address)
        } else if address & 0x280 == 0x80 {
            Some(self.ram.get(address))
        } else {
            None
        }
    }

    #[inline(always)]
    pub fn write(&mut self, address: u16, value: u8, cycle: u64, kind: WriteKind) -> WriteEffect {
        if address & 0x1280 == 0x80 {
            self.ram.set(address, value);
            WriteEffect::NONE
        } else {
            self.write_chip(address, value, cycle, kind)
        }
    }

    /// Reads a register of the TIA or the RIOT.
    #[inline(never)]
    pub fn read_chip(&mut self, address: u16, cycle: u64, data_bus: u8) -> u8 {
        if address & 0x80 == 0 {
            self.tia.read(address, cycle, data_bus, &mut self.frame_buffer)
        } else {
            self.riot.read(address, cycle)
        }
    }

    /// Writes to the cartridge, the TIA or the RIOT.
    #[inline(never)]
    pub fn write_chip(&mut self, address: u16, value: u8, cycle: u64, kind: WriteKind) -> WriteEffect {
        if address & 0x1000 != 0 {
            self.cartridge.write(address, value);
        } else if address & 0x80 == 0 {
            return self.tia.write_any(address as u8, value, cycle, kind, &mut self.frame_buffer);
        } else {
            self.riot.write(address, value, cycle);
        }
        WriteEffect::NONE
    }
}
