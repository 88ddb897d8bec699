//! Decodes a program's bytes into instructions once, before it runs; and the base cycles of each opcode.
//!
//! A decoded instruction knows what its operand is: a byte of RAM, a register of a chip, the target of a branch. Everything
//! special (bytes outside the plain part of the window, addresses that switch banks, rare opcodes) is [`INTERPRETED`]: it
//! is left to [`super::interpreter`].

use crate::cartridge::{Cartridge, ROM_SIZE};

/// Base cycles of each opcode. Zero marks the opcodes that jam the processor.
#[rustfmt::skip]
pub(super) static BASE_CYCLES: [u8; 256] = [
    7, 6, 0, 8, 3, 3, 5, 5, 3, 2, 2, 2, 4, 4, 6, 6,
    2, 5, 0, 8, 4, 4, 6, 6, 2, 4, 2, 7, 4, 4, 7, 7,
    6, 6, 0, 8, 3, 3, 5, 5, 4, 2, 2, 2, 4, 4, 6, 6,
    2, 5, 0, 8, 4, 4, 6, 6, 2, 4, 2, 7, 4, 4, 7, 7,
    6, 6, 0, 8, 3, 3, 5, 5, 3, 2, 2, 2, 3, 4, 6, 6,
    2, 5, 0, 8, 4, 4, 6, 6, 2, 4, 2, 7, 4, 4, 7, 7,
    6, 6, 0, 8, 3, 3, 5, 5, 4, 2, 2, 2, 5, 4, 6, 6,
    2, 5, 0, 8, 4, 4, 6, 6, 2, 4, 2, 7, 4, 4, 7, 7,
    2, 6, 2, 6, 3, 3, 3, 3, 2, 2, 2, 2, 4, 4, 4, 4,
    2, 6, 0, 6, 4, 4, 4, 4, 2, 5, 2, 5, 5, 5, 5, 5,
    2, 6, 2, 6, 3, 3, 3, 4, 2, 2, 2, 2, 4, 4, 4, 4,
    2, 5, 0, 5, 4, 4, 4, 4, 2, 4, 2, 4, 4, 4, 4, 4,
    2, 6, 2, 8, 3, 3, 5, 5, 2, 2, 2, 2, 4, 4, 6, 6,
    2, 5, 0, 8, 4, 4, 6, 6, 2, 4, 2, 7, 4, 4, 7, 7,
    2, 6, 2, 8, 3, 3, 5, 5, 2, 2, 2, 2, 4, 4, 6, 6,
    2, 5, 0, 8, 4, 4, 6, 6, 2, 4, 2, 7, 4, 4, 7, 7,
];

/// The opcode alone: an operand in the zero page is a register of a chip.
const PLAIN: u16 = 0;
/// Added to the opcode if the operand is a byte of RAM.
const IN_RAM: u16 = 0x100;
/// Added to the opcode of a branch.
pub(super) const BRANCH: u16 = 0x800;
/// Added to the opcode of a branch to another page.
pub(super) const CROSSING: u16 = 0x100;
/// Added to the opcode of a branch that closes a loop waiting for the timer.
pub(super) const TIMER_LOOP: u16 = 0x200;
/// Added to the opcode of a store to a TIA register.
pub(super) const TIA_STORE: u16 = 0x1000;
/// Added to a load of A whose successor stores it to a TIA register.
const THEN_TIA: u16 = 0x200;
/// Added to a load of A whose successor stores it to RAM.
const THEN_RAM: u16 = 0x300;
/// The code of a store to WSYNC, whatever register is stored.
pub(super) const WSYNC: u16 = 0x102;
/// The code of a store to WSYNC followed by a store of A to a TIA register.
pub(super) const WSYNC_THEN_TIA: u16 = 0x202;
/// The code of an instruction that is left to the interpreter.
pub(super) const INTERPRETED: u16 = 0x400;

const WSYNC_REGISTER: u8 = 0x02;
const STA_TIA: u16 = TIA_STORE | 0x85;
const STA_RAM: u16 = IN_RAM | 0x85;

/// LDA, LDX and LDY of the timer at $0284.
const TIMER_LOADS: [[u8; 3]; 3] = [[0xad, 0x84, 0x02], [0xae, 0x84, 0x02], [0xac, 0x84, 0x02]];
/// From the end of such a loop to its start, and the branches that close it: BNE, and BPL, which also leaves it at values
/// above 127.
const TIMER_LOOP_DISTANCE: i8 = -5;
const TIMER_LOOP_BRANCHES: [u8; 2] = [0xd0, 0x10];

/// A decoded instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Decoded {
    /// The opcode plus one of the additions above, [`WSYNC`] or [`INTERPRETED`].
    pub code: u16,
    /// An immediate byte, an address, or the program offset of a branch target.
    pub operand: u16,
}

/// A program decoded at every byte, as if an instruction began there.
#[derive(Debug)]
pub(crate) struct Program(Box<[Decoded; ROM_SIZE]>);

impl Program {
    /// Decodes the program of a cartridge.
    pub fn decode(cartridge: &Cartridge) -> Self {
        let mut decoded = vec![Decoded { code: INTERPRETED, operand: 0 }; ROM_SIZE].into_boxed_slice();
        for (slot, instruction) in decoded.iter_mut().enumerate() {
            *instruction = decode(cartridge, slot);
        }
        for slot in 0..ROM_SIZE {
            decoded[slot].code = fused(&decoded, slot);
        }
        Self(decoded.try_into().expect("one instruction per byte"))
    }

    /// A program of which every instruction is left to the interpreter.
    #[cfg(test)]
    pub fn interpreted() -> Self {
        Self(Box::new([Decoded { code: INTERPRETED, operand: 0 }; ROM_SIZE]))
    }

    /// The instruction that begins at a byte of the program.
    #[inline(always)]
    pub(super) fn at(&self, slot: usize) -> Decoded {
        self.0[slot & (ROM_SIZE - 1)]
    }
}

/// The instruction that begins at a byte of the program.
fn decode(cartridge: &Cartridge, slot: usize) -> Decoded {
    let interpreted = Decoded { code: INTERPRETED, operand: 0 };
    let bytes = cartridge.program_bytes(slot);
    let [opcode, low, high] = bytes;
    let address = u16::from_le_bytes([low, high]);
    let Some((mode, length)) = mode(opcode) else {
        return interpreted;
    };
    // The next instruction must begin in the same bank.
    if !cartridge.is_plain_in_bank(slot, length + 1) {
        return interpreted;
    }
    let zero_page = u16::from(low);
    let is_low = address & 0x1000 == 0;
    let (addition, operand) = match mode {
        Mode::Implied => (PLAIN, 0),
        Mode::Immediate | Mode::Indexed => (PLAIN, zero_page),
        Mode::ZeroPage => (if low < 0x80 { PLAIN } else { IN_RAM }, zero_page),
        Mode::Store if low < 0x80 && low & 0x3f == WSYNC_REGISTER => {
            return Decoded { code: WSYNC, operand: 0 };
        }
        Mode::Store => (if low < 0x80 { TIA_STORE } else { IN_RAM }, zero_page),
        Mode::Modify if 0x80 <= low => (IN_RAM, zero_page),
        // The pointer's high byte does not wrap within the zero page.
        Mode::IndirectY if (0x80..0xff).contains(&low) => (PLAIN, zero_page),
        Mode::Absolute if is_low || cartridge.is_plain_address(address) => (PLAIN, address),
        Mode::AbsoluteStore if is_low => (PLAIN, address),
        Mode::AbsoluteIndexed => (PLAIN, address),
        Mode::Jump if !is_low => (PLAIN, address),
        Mode::Branch => {
            let next = slot + 2;
            let target = next.wrapping_add_signed(isize::from(low as i8));
            if !cartridge.is_same_bank(slot, target) {
                return interpreted;
            }
            let is_timer_loop = low as i8 == TIMER_LOOP_DISTANCE
                && TIMER_LOOP_BRANCHES.contains(&opcode)
                && TIMER_LOADS.contains(&cartridge.program_bytes(target));
            let addition = match ((next ^ target) >> 8 == 0, is_timer_loop) {
                (false, _) => CROSSING,
                (true, true) => TIMER_LOOP,
                (true, false) => PLAIN,
            };
            (BRANCH | addition, target as u16)
        }
        Mode::Modify | Mode::IndirectY | Mode::Absolute | Mode::AbsoluteStore | Mode::Jump => {
            return interpreted;
        }
    };
    Decoded { code: addition | u16::from(opcode), operand }
}

/// The code of an instruction, fused with its successor if this one loads A or writes WSYNC and the successor stores A
/// in the zero page.
fn fused(decoded: &[Decoded], slot: usize) -> u16 {
    let code = decoded[slot].code;
    let (opcode, length) = match code {
        WSYNC => (0x02, 2),
        0x0a9 | 0x0b5 | 0x0b1 => (code, 2),
        0x1a5 => (0xa5, 2),
        0x0b9 | 0x0bd => (code, 3),
        _ => return code,
    };
    match decoded.get(slot + length).map(|successor| successor.code) {
        Some(STA_TIA) => THEN_TIA | opcode,
        Some(STA_RAM) if code != WSYNC => THEN_RAM | opcode,
        _ => code,
    }
}

/// Addressing modes, as far as decoding distinguishes them.
#[derive(Clone, Copy)]
enum Mode {
    Implied,
    Immediate,
    ZeroPage,
    /// The zero page, with X or Y added.
    Indexed,
    /// A store to the zero page.
    Store,
    /// A read-modify-write in the zero page.
    Modify,
    /// (zero page),Y.
    IndirectY,
    Absolute,
    AbsoluteStore,
    AbsoluteIndexed,
    Jump,
    Branch,
}

/// Mode and length of the opcodes that programs use often.
#[rustfmt::skip]
fn mode(opcode: u8) -> Option<(Mode, usize)> {
    Some(match opcode {
        0x08 | 0x0a | 0x18 | 0x28 | 0x2a | 0x38 | 0x48 | 0x4a | 0x60 | 0x68 | 0x6a | 0x88 | 0x8a | 0x98 | 0x9a | 0xa8
        | 0xaa | 0xba | 0xc8 | 0xca | 0xd8 | 0xe8 | 0xea | 0xf8 => (Mode::Implied, 1),
        0x09 | 0x29 | 0x49 | 0x69 | 0xa0 | 0xa2 | 0xa9 | 0xc0 | 0xc9 | 0xe0 | 0xe9 => (Mode::Immediate, 2),
        0x04 | 0x05 | 0x24 | 0x25 | 0x45 | 0x65 | 0xa4 | 0xa5 | 0xa6 | 0xa7 | 0xc4 | 0xc5 | 0xe4 | 0xe5 => (Mode::ZeroPage, 2),
        0x84..=0x86 => (Mode::Store, 2),
        0x06 | 0x26 | 0x46 | 0x66 | 0xc6 | 0xc7 | 0xe6 => (Mode::Modify, 2),
        0x15 | 0x35 | 0x55 | 0x75 | 0xb4 | 0xb5 | 0xb6 | 0xd5 | 0xf5 | 0x94 | 0x95 | 0x96 | 0xd6 | 0xf6 => (Mode::Indexed, 2),
        0x11 | 0x31 | 0x51 | 0x71 | 0x91 | 0xb1 | 0xb3 | 0xd1 | 0xf1 => (Mode::IndirectY, 2),
        0x0d | 0x2c | 0x2d | 0x4d | 0x6d | 0xac | 0xad | 0xae | 0xcd | 0xed => (Mode::Absolute, 3),
        0x8c..=0x8e => (Mode::AbsoluteStore, 3),
        0x19 | 0x1d | 0x39 | 0x3d | 0x59 | 0x5d | 0x79 | 0x7d | 0xb9 | 0xbc | 0xbd | 0xbe | 0xd9 | 0xdd | 0xf9 | 0xfd
        | 0x99 | 0x9d => (Mode::AbsoluteIndexed, 3),
        0x20 | 0x4c => (Mode::Jump, 3),
        0x10 | 0x30 | 0x50 | 0x70 | 0x90 | 0xb0 | 0xd0 | 0xf0 => (Mode::Branch, 2),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Cycles of a documented opcode, by the rules of its mode; bits 2 to 4 are the mode, 0 and 1 the group.
    fn documented(opcode: u8) -> Option<u8> {
        let (operation, mode) = (opcode >> 5, opcode >> 2 & 7);
        let is_store = operation == 4;
        let is_load_or_store = is_store || operation == 5;
        Some(match (opcode & 3, mode) {
            _ if [0x0c, 0x80, 0x89, 0x9c, 0x9e].contains(&opcode) => return None,
            (0, 0) if opcode == 0x00 => 7,
            (0, 0) if opcode < 0x80 => 6,
            (0, 0) => 2,
            (2, 0) if opcode == 0xa2 => 2,
            (0, 1) if operation == 1 || is_load_or_store || 6 <= operation => 3,
            (0, 2) if [0x08, 0x48].contains(&opcode) => 3,
            (0, 2) if [0x28, 0x68].contains(&opcode) => 4,
            (0, 3) if opcode == 0x4c => 3,
            (0, 3) if opcode == 0x6c => 5,
            (0, 3) => 4,
            (0, 5) if is_load_or_store => 4,
            (0, 7) if operation == 5 => 4,
            (0, 2 | 4 | 6) | (1 | 2, 2) => 2,
            (1, 0) => 6,
            (1, 1) => 3,
            (1, 3 | 5) => 4,
            (1, 4) => 5 + u8::from(is_store),
            (1, 6 | 7) => 4 + u8::from(is_store),
            (2, 1) if is_load_or_store => 3,
            (2, 1) => 5,
            (2, 3 | 5) if is_load_or_store => 4,
            (2, 3 | 5) => 6,
            (2, 6) if is_load_or_store => 2,
            (2, 7) if operation == 5 => 4,
            (2, 7) => 7,
            _ => return None,
        })
    }

    #[test]
    fn documented_opcodes_take_the_cycles_of_their_mode() {
        let mut known = 0;
        for opcode in 0..=255_u8 {
            if let Some(cycles) = documented(opcode) {
                assert_eq!(BASE_CYCLES[usize::from(opcode)], cycles, "{opcode:#04x}");
                known += 1;
            }
        }
        assert_eq!(known, 151);
    }

    #[test]
    fn exactly_twelve_opcodes_jam_the_processor() {
        assert_eq!(BASE_CYCLES.iter().filter(|&&cycles| cycles == 0).count(), 12);
    }
}
