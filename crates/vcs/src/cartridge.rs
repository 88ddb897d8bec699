//! Cartridges: a program of 2 to 16 KiB seen through a window of 4 KiB.
//!
//! The window is four segments of 1 KiB, each pointing somewhere into the program, and a flat copy of what they show: an
//! address in its plain part is one array access, and an instruction there is fetched at once. The rest (bank switches,
//! RAM, the DPC chip) takes the slow way, chosen by kind.

mod dpc;
mod hotspots;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::memory::Memory;
use dpc::Dpc;

/// Program bytes kept for every kind; shorter programs are padded, so that a masked address is always inside.
pub(crate) const ROM_SIZE: usize = 0x4000;
const VIEW_SIZE: usize = 0x1000;
/// In a slice of 1 KiB that may be shown anywhere, no instruction from here on is plain: in the last quarter of the window
/// the bank switches follow.
const SLICE_PLAIN_END: usize = 0x3e0;

/// How a cartridge decodes its addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum CartridgeKind {
    /// 2 KiB, seen twice.
    K2,
    /// 4 KiB, as it is.
    K4,
    /// 8 KiB in two banks.
    F8,
    /// 8 KiB in two banks, with 128 bytes of RAM.
    F8Sc,
    /// 16 KiB in four banks.
    F6,
    /// 16 KiB in four banks, with 128 bytes of RAM.
    F6Sc,
    /// 8 KiB in eight slices of 1 KiB; three of the four windows can be moved.
    E0,
    /// 8 KiB in two banks, chosen by bit 13 of the address.
    Fe,
    /// 8 KiB in two banks and 2 KiB of picture data behind eight fetchers.
    Dpc,
}

impl CartridgeKind {
    /// All kinds.
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
            // 8 KiB of program, 2 KiB of picture data, and what some dumps carry of the random generator.
            CartridgeKind::Dpc => (10240, 10495),
        }
    }

    /// The name in use among collectors, as in ROM tables.
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

    /// First address of the plain part of the window and the first behind it, as offsets into the window.
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

/// A program that a cartridge of the wanted kind cannot hold.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CartridgeError {
    /// The number of bytes does not fit the kind.
    #[error("a {} cartridge holds {smallest} to {largest} bytes, this program has {found}; the file is cut short or of another kind", kind.name())]
    WrongSize {
        /// The wanted kind.
        kind: CartridgeKind,
        /// Fewest bytes of that kind.
        smallest: usize,
        /// Most bytes of that kind.
        largest: usize,
        /// Bytes given.
        found: usize,
    },
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

/// What changes in a cartridge while it runs.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct CartridgeState {
    /// Where in the program each quarter of the window points.
    segments: [u16; 4],
    ram: Memory,
    dpc: Dpc,
}

impl CartridgeState {
    /// Whether a state read back from a file points into the program.
    pub(crate) fn is_sound(&self) -> bool {
        self.segments.iter().all(|&segment| segment % 0x400 == 0 && usize::from(segment) < ROM_SIZE)
    }
}

impl Cartridge {
    /// A cartridge of this kind holding this program.
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
        let state = CartridgeState { segments: [u16::MAX; 4], ram: Memory([0; 128]), dpc: Dpc::default() };
        let plain_length = plain_end - plain_first;
        let mut cartridge = Self { rom: Arc::new(rom), kind, plain_first, plain_length, state, view: [0; VIEW_SIZE] };
        cartridge.select_first_bank();
        Ok(cartridge)
    }

    /// How this cartridge decodes its addresses.
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
        (0..4).for_each(|window| self.show(window));
    }

    /// The state after power-on or reset; `random` fills the RAM, if there is any.
    pub(crate) fn reset(&mut self, mut random: impl FnMut() -> u8) {
        if self.kind.has_ram() {
            self.state.ram.0.fill_with(&mut random);
        }
        self.state.dpc.restart_music();
        self.select_first_bank();
    }

    /// Reads a byte of the window. `cycle` is the processor's time.
    #[inline(always)]
    pub(crate) fn read(&mut self, address: u16, cycle: u64) -> u8 {
        let offset = address & 0xfff;
        if offset.wrapping_sub(self.plain_first) < self.plain_length {
            self.byte(offset)
        } else {
            self.read_special(address, cycle)
        }
    }

    /// A write reaches RAM, bank switches and the DPC chip, never the program.
    #[inline]
    pub(crate) fn write(&mut self, address: u16, value: u8) {
        let offset = address & 0xfff;
        if self.plain_length <= offset.wrapping_sub(self.plain_first) {
            self.write_special(address, value);
        }
    }

    /// The byte at an address of the plain part of the window.
    #[inline(always)]
    pub(crate) fn plain_byte(&self, address: u16) -> Option<u8> {
        let offset = address & 0xfff;
        if offset.wrapping_sub(self.plain_first) < self.plain_length { Some(self.byte(offset)) } else { None }
    }

    /// Whether an address lies in the plain part of the window.
    #[inline(always)]
    pub(crate) fn is_plain_address(&self, address: u16) -> bool {
        address & 0x1000 != 0 && (address & 0xfff).wrapping_sub(self.plain_first) < self.plain_length
    }

    /// Which byte of the program an address of the window shows.
    #[inline(always)]
    pub(crate) fn slot(&self, address: u16) -> usize {
        usize::from(self.state.segments[usize::from(address >> 10 & 3)]) + usize::from(address & 0x3ff)
    }

    /// Three bytes of the program; behind its end come zeros.
    pub(crate) fn program_bytes(&self, slot: usize) -> [u8; 3] {
        std::array::from_fn(|i| self.rom.get(slot + i).copied().unwrap_or(0))
    }

    /// Whether two bytes of the program are always shown at the same distance.
    pub(crate) fn is_same_bank(&self, slot: usize, other: usize) -> bool {
        slot / self.bank_size() == other / self.bank_size()
    }

    /// Whether so many bytes of the program are always shown one behind the other, in the plain part of the window.
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

    #[inline(always)]
    fn byte(&self, offset: u16) -> u8 {
        self.view[usize::from(offset & 0xfff)]
    }

    /// Copies what a quarter of the window points to into the view.
    fn show(&mut self, window: usize) {
        let from = usize::from(self.state.segments[window]) & (ROM_SIZE - 0x400);
        self.view[window << 10..][..0x400].copy_from_slice(&self.rom[from..from + 0x400]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_of_the_wrong_size_is_refused_with_both_sizes() {
        for kind in CartridgeKind::ALL {
            let (smallest, largest) = kind.sizes();
            for found in [0, smallest - 1, largest + 1] {
                let error = Cartridge::new(kind, &vec![0; found]).map(|_| ()).unwrap_err();
                assert_eq!(error, CartridgeError::WrongSize { kind, smallest, largest, found });
            }
        }
    }

    #[test]
    fn two_kilobytes_are_seen_twice() {
        let program: Vec<u8> = (0..2048_u32).map(|i| (i * 7 % 251) as u8).collect();
        let mut cartridge = Cartridge::new(CartridgeKind::K2, &program).unwrap();
        for offset in 0..2048_u16 {
            let expected = program[usize::from(offset)];
            assert_eq!(cartridge.read(0x1000 + offset, 0), expected);
            assert_eq!(cartridge.read(0xf800 + offset, 0), expected);
        }
    }

    #[test]
    fn writing_into_the_program_changes_nothing() {
        let mut cartridge = Cartridge::new(CartridgeKind::K4, &[0x5a; 4096]).unwrap();
        cartridge.write(0x1234, 1);
        assert_eq!(cartridge.read(0x1234, 0), 0x5a);
    }
}
