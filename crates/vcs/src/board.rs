//! The board: which chip answers an address.

use std::sync::Arc;

use crate::cartridge::Cartridge;
use crate::cpu::{Program, Registers, WriteEffect, WritePlace};
use crate::film::Film;
use crate::memory::Memory;
use crate::riot::Riot;
use crate::tia::Tia;

/// Everything the processor can reach, and its registers.
#[derive(Debug, Clone)]
pub(crate) struct Board {
    pub registers: Registers,
    /// What the cartridge holds, as instructions.
    pub program: Arc<Program>,
    pub cartridge: Cartridge,
    pub ram: Memory,
    pub riot: Riot,
    pub tia: Tia,
    pub film: Film,
}

impl Board {
    /// Reads a byte at a cycle; `noise` is the byte that was on the wires before, which undriven bits keep.
    #[inline(always)]
    pub fn read(&mut self, address: u16, cycle: u64, noise: u8) -> u8 {
        if address & 0x1000 != 0 {
            self.cartridge.read(address, cycle)
        } else if address & 0x280 == 0x80 {
            self.ram.get(address)
        } else {
            self.read_chip(address, cycle, noise)
        }
    }

    /// The byte at an address of RAM or of the plain part of the cartridge; reading it has no effect.
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

    /// Writes a byte at a cycle.
    #[inline(always)]
    pub fn write(&mut self, address: u16, value: u8, cycle: u64, place: WritePlace) -> WriteEffect {
        if address & 0x1280 == 0x80 {
            self.ram.set(address, value);
            WriteEffect::NONE
        } else {
            self.write_chip(address, value, cycle, place)
        }
    }

    /// Reads a byte of the TIA or the RIOT.
    #[inline(never)]
    pub fn read_chip(&mut self, address: u16, cycle: u64, noise: u8) -> u8 {
        if address & 0x80 == 0 {
            self.tia.read(address, cycle, noise, &mut self.film)
        } else {
            self.riot.read(address, cycle)
        }
    }

    /// Writes to anything but RAM.
    #[inline(never)]
    pub fn write_chip(&mut self, address: u16, value: u8, cycle: u64, place: WritePlace) -> WriteEffect {
        if address & 0x1000 != 0 {
            self.cartridge.write(address, value);
        } else if address & 0x80 == 0 {
            return self.tia.write_placed(address as u8, value, cycle, place, &mut self.film);
        } else {
            self.riot.write(address, value, cycle);
        }
        WriteEffect::NONE
    }
}
