//! Cartridges: a program of 2 to 16 KiB seen through a window of 4 KiB.
//!
//! The window is four segments of 1 KiB, each mapped to some part of the program, and a flat copy of what is mapped. In
//! the *plain* part of the window a read has no side effect and is one array access; the rest (bank switches, RAM, the DPC
//! chip) is handled by kind, in `hotspots.rs` and `dpc.rs`.

mod dpc;
mod hotspots;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::ram::Ram;
use dpc::Dpc;

/// Program bytes kept for every kind; shorter programs are padded, so that a masked address is always inside.
pub(crate) const ROM_SIZE: usize = 0x4000;
const VIEW_SIZE: usize = 0x1000;
/// A slice of 1 KiB that can be mapped to any segment is plain up to here: in the last segment the bank switches follow.
const SLICE_PLAIN_END: usize = 0x3e0;

/// How a cartridge decodes its addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum CartridgeKind {
    /// 2 KiB, mirrored.
    K2,
    /// 4 KiB, without banks.
    K4,
    /// 8 KiB in two banks.
    F8,
    /// 8 KiB in two banks, with 128 bytes of RAM.
    F8Sc,
    /// 16 KiB in four banks.
    F6,
    /// 16 KiB in four banks, with 128 bytes of RAM.
    F6Sc,
    /// 8 KiB in eight slices of 1 KiB; three of the four segments can be mapped to any slice.
    E0,
    /// 8 KiB in two banks, selected by bit 13 of the address.
    Fe,
    /// 8 KiB in two banks, and 2 KiB of display data read through eight data fetchers.
    Dpc,
}

impl CartridgeKind {
    pub const ALL: [CartridgeKind; 9] = [
        CartridgeKind::K2,
        CartridgeKind::K4,
        CartridgeKind::F8,
        CartridgeKind::F8Sc,
        CartridgeKind::F6,
        CartridgeKind::F6Sc,
        CartridgeKind::E0,
        CartridgeKind::Fe,
        CartridgeKind::Dpc,
    ];

    /// Smallest and largest program of this kind, in bytes.
    pub fn sizes(self) -> (usize, usize) {
        match self {
            CartridgeKind::K2 => (2048, 2048),
            CartridgeKind::K4 => (4096, 4096),
            CartridgeKind::F8 | CartridgeKind::F8Sc | CartridgeKind::E0 | CartridgeKind::Fe => (8192, 8192),
            CartridgeKind::F6 | CartridgeKind::F6Sc => (16384, 16384),
            // 8 KiB of program, 2 KiB of display data; some dumps add values of the random generator.
            CartridgeKind::Dpc => (10240, 10495),
        }
    }

    /// The usual name, as in ROM databases.
    pub fn name(self) -> &'static str {
        match self {
            CartridgeKind::K2 => "2K",
            CartridgeKind::K4 => "4K",
            CartridgeKind::F8 => "F8",
            CartridgeKind::F8Sc => "F8SC",
            CartridgeKind::F6 => "F6",
            CartridgeKind::F6Sc => "F6SC",
            CartridgeKind::E0 => "E0",
            CartridgeKind::Fe => "FE",
            CartridgeKind::Dpc => "DPC",
        }
    }

    pub(crate) fn has_ram(self) -> bool {
        matches!(self, CartridgeKind::F8Sc | CartridgeKind::F6Sc)
    }

    /// Start and end of the plain part of the window, as offsets into it.
    fn plain(self) -> (u16, u16) {
        match self {
            CartridgeKind::K2 | CartridgeKind::K4 => (0, 0x1000),
            CartridgeKind::F8 => (0, 0xff8),
            CartridgeKind::F6 => (0, 0xff6),
            CartridgeKind::F8Sc => (0x100, 0xff8),
            CartridgeKind::F6Sc => (0x100, 0xff6),
            CartridgeKind::E0 => (0, 0xfe0),
            CartridgeKind::Fe => (0, 0),
            CartridgeKind::Dpc => (0x80, 0xfc0),
        }
    }
}

/// A program that does not fit a kind of cartridge.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CartridgeError {
    #[error("a {} cartridge holds {smallest} to {largest} bytes, this program has {found}; the file is cut short or of another kind", kind.name())]
    WrongSize { kind: CartridgeKind, smallest: usize, largest: usize, found: usize },
}

/// A program and the electronics around it. The program is shared between clones.
#[derive(Debug, Clone)]
pub struct Cartridge {
    rom: Arc<[u8; ROM_SIZE]>,
    kind: CartridgeKind,
    plain_first: u16,
    plain_length: u16,
    state: CartridgeState,
    view: [u8; VIEW_SIZE],
}

/// The state of a cartridge, apart from its program.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct CartridgeState {
    /// The program offset to which each segment of the window is mapped.
    segments: [u16; 4],
    ram: Ram,
    dpc: Dpc,
}

impl CartridgeState {
    /// Whether a deserialised state maps every segment into the program.
    pub(crate) fn is_valid(&self) -> bool {
        self.segments.iter().all(|&segment| segment % 0x400 == 0 && usize::from(segment) < ROM_SIZE)
    }
}

impl Cartridge {
    /// A cartridge of a kind with a program; the error names the sizes that fit.
    pub fn new(kind: CartridgeKind, program: &[u8]) -> Result<Self, CartridgeError> {
        let (smallest, largest) = kind.sizes();
        if program.len() < smallest || largest < program.len() {
            return Err(CartridgeError::WrongSize { kind, smallest, largest, found: program.len() });
        }
        let mut rom = [0; ROM_SIZE];
        rom[..program.len()].copy_from_slice(program);
        if kind == CartridgeKind::K2 {
            rom.copy_within(..2048, 2048);
        }
        let (plain_first, plain_end) = kind.plain();
        let state = CartridgeState { segments: [u16::MAX; 4], ram: Ram([0; 128]), dpc: Dpc::default() };
        let plain_length = plain_end - plain_first;
        let mut cartridge = Self { rom: Arc::new(rom), kind, plain_first, plain_length, state, view: [0; VIEW_SIZE] };
        cartridge.select_first_bank();
        Ok(cartridge)
    }

    pub fn kind(&self) -> CartridgeKind {
        self.kind
    }

    /// The RAM of the cartridge; empty if it has none.
    pub fn ram(&self) -> &[u8] {
        if self.kind.has_ram() { &self.state.ram.0 } else { &[] }
    }

    pub(crate) fn state(&self) -> &CartridgeState {
        &self.state
    }

    pub(crate) fn set_state(&mut self, state: CartridgeState) {
        self.state = state;
        (0..4).for_each(|segment| self.update_view(segment));
    }

    /// The state after power-on or reset; `random` fills the RAM, if there is any.
    pub(crate) fn reset(&mut self, mut random: impl FnMut() -> u8) {
        if self.kind.has_ram() {
            self.state.ram.0.fill_with(&mut random);
        }
        self.state.dpc.restart_music();
        self.select_first_bank();
    }

    /// Reads a byte of the window at a cycle.
    #[inline(always)]
    pub(crate) fn read(&mut self, address: u16, cycle: u64) -> u8 {
        let offset = address & 0xfff;
        if offset.wrapping_sub(self.plain_first) < self.plain_length {
            self.byte(offset)
        } else {
            self.read_special(address, cycle)
        }
    }

    /// Writes to RAM, bank switches or the DPC chip; the program cannot be written.
    #[inline]
    pub(crate) fn write(&mut self, address: u16, value: u8) {
        let offset = address & 0xfff;
        if self.plain_length <= offset.wrapping_sub(self.plain_first) {
            self.write_special(address, value);
        }
    }

    /// The byte at an address, if that is in the plain part of the window.
    #[inline(always)]
    pub(crate) fn plain_byte(&self, address: u16) -> Option<u8> {
        let offset = address & 0xfff;
        if offset.wrapping_sub(self.plain_first) < self.plain_length { Some(self.byte(offset)) } else { None }
    }

    /// Whether an address is in the plain part of the window.
    #[inline(always)]
    pub(crate) fn is_plain_address(&self, address: u16) -> bool {
        address & 0x1000 != 0 && (address & 0xfff).wrapping_sub(self.plain_first) < self.plain_length
    }

    /// Whether an address and the 255 after it are in the plain part of the window.
    pub(crate) fn is_plain_page(&self, address: u16) -> bool {
        let last = address.wrapping_add(255);
        self.is_plain_address(address) && self.is_plain_address(last) && address & 0xfff < last & 0xfff
    }

    /// The program offset to which an address in the window is mapped.
    #[inline(always)]
    pub(crate) fn slot(&self, address: u16) -> usize {
        usize::from(self.state.segments[usize::from(address >> 10 & 3)]) + usize::from(address & 0x3ff)
    }

    /// Three bytes of the program; zeros after its end.
    pub(crate) fn program_bytes(&self, slot: usize) -> [u8; 3] {
        std::array::from_fn(|i| self.rom.get(slot + i).copied().unwrap_or(0))
    }

    /// Whether two bytes of the program are in one bank, so that their distance in the window is fixed.
    pub(crate) fn is_same_bank(&self, slot: usize, other: usize) -> bool {
        slot / self.bank_size() == other / self.bank_size()
    }

    /// Whether `length` bytes of the program are always mapped consecutively to the plain part of the window.
    pub(crate) fn is_plain_in_bank(&self, slot: usize, length: usize) -> bool {
        let first = slot % self.bank_size();
        let (plain_first, plain_end) = match self.kind {
            CartridgeKind::E0 => (0, SLICE_PLAIN_END),
            _ => (usize::from(self.plain_first), usize::from(self.plain_first + self.plain_length)),
        };
        plain_first <= first && first + length <= plain_end
    }

    fn bank_size(&self) -> usize {
        if self.kind == CartridgeKind::E0 { 0x400 } else { 0x1000 }
    }

    /// The byte at an address in the plain part of the window.
    #[inline(always)]
    pub(crate) fn byte(&self, offset: u16) -> u8 {
        self.view[usize::from(offset & 0xfff)]
    }

    /// Copies the part of the program to which a segment is mapped into the view.
    fn update_view(&mut self, segment: usize) {
        let from = usize::from(self.state.segments[segment]) & (ROM_SIZE - 0x400);
        self.view[segment << 10..][..0x400].copy_from_slice(&self.rom[from..from + 0x400]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_of_the_wrong_size_is_an_error_with_both_sizes() {
        for kind in CartridgeKind::ALL {
            let (smallest, largest) = kind.sizes();
            for found in [0, smallest - 1, largest + 1] {
                let error = Cartridge::new(kind, &vec![0; found]).map(|_| ()).unwrap_err();
                assert_eq!(error, CartridgeError::WrongSize { kind, smallest, largest, found });
            }
        }
    }

    #[test]
    fn two_kilobytes_are_mirrored() {
        let program: Vec<u8> = (0..2048_u32).map(|i| (i * 7 % 251) as u8).collect();
        let mut cartridge = Cartridge::new(CartridgeKind::K2, &program).unwrap();
        for offset in 0..2048_u16 {
            let expected = program[usize::from(offset)];
            assert_eq!(cartridge.read(0x1000 + offset, 0), expected);
            assert_eq!(cartridge.read(0xf800 + offset, 0), expected);
        }
    }

    #[test]
    fn the_program_cannot_be_written() {
        let mut cartridge = Cartridge::new(CartridgeKind::K4, &[0x5a; 4096]).unwrap();
        cartridge.write(0x1234, 1);
        assert_eq!(cartridge.read(0x1234, 0), 0x5a);
    }
}
