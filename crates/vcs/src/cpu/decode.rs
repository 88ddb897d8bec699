//! Decodes a program's bytes into instructions once, before it runs; and the base cycles of each opcode.
//!
//! A decoded instruction is its [handler](super::handlers) and its operand; the handler is chosen by what the operand is: a
//! byte of RAM, a register of a chip, the target of a branch. Everything special (bytes outside the plain part of the
//! window, addresses that switch banks, rare opcodes) is left to [`super::interpreter`].

use super::handlers::{
    self, Alone, Before, Handler, ModifyA, Read, StoreRam, Wsync, interpreted, jmp, jmp_indirect, jsr, mode, one, pull,
    push, rts, store_indexed, store_low, store_tia, timer_loop,
};
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

/// LDA, LDX and LDY of the timer at $0284.
const TIMER_LOADS: [[u8; 3]; 3] = [[0xad, 0x84, 0x02], [0xae, 0x84, 0x02], [0xac, 0x84, 0x02]];
/// From the end of such a loop to its start.
const TIMER_LOOP_DISTANCE: i8 = -5;

/// A program decoded at every byte, as if an instruction began there.
#[derive(Debug)]
pub(crate) struct Program {
    handlers: [Handler; ROM_SIZE],
    /// An immediate byte, an address, or the slot of a branch target.
    operands: [u16; ROM_SIZE],
    longest_run: u16,
}

impl Program {
    /// Decodes the program of a cartridge.
    pub fn decode(cartridge: &Cartridge) -> Self {
        let mut program = Self { handlers: [interpreted; ROM_SIZE], operands: [0; ROM_SIZE], longest_run: 0 };
        // Instructions from each slot to the next jump.
        let mut runs = vec![0; ROM_SIZE + 4];
        for slot in (0..ROM_SIZE).rev() {
            if let Some(decoded) = decode(cartridge, slot) {
                program.handlers[slot] = pair(cartridge, slot, &decoded).unwrap_or(decoded.handler);
                program.operands[slot] = decoded.operand;
                runs[slot] = 1 + if decoded.length == 0 { 0 } else { runs[slot + decoded.length] };
                program.longest_run = program.longest_run.max(runs[slot]);
            }
        }
        program
    }

    /// A program of which every instruction is left to the interpreter.
    #[cfg(test)]
    pub fn interpreted() -> Self {
        Self { handlers: [interpreted; ROM_SIZE], operands: [0; ROM_SIZE], longest_run: 0 }
    }

    /// The instruction that begins at a slot: its handler, the slot within the program, its operand.
    #[inline(always)]
    pub(super) fn at(&self, slot: usize) -> (Handler, usize, u16) {
        let slot = slot & (ROM_SIZE - 1);
        (self.handlers[slot], slot, self.operands[slot])
    }

    /// The most instructions that can follow one another without a jump.
    pub(super) fn longest_run(&self) -> i32 {
        self.longest_run.into()
    }
}

/// A decoded instruction.
struct Decoded {
    opcode: u8,
    handler: Handler,
    operand: u16,
    /// From this instruction to the one behind it; 0 if none is executed behind it.
    length: usize,
    location: Location,
}

/// Where the operand is, as far as it decides between instructions of one opcode.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Location {
    /// In RAM in the zero page.
    Ram,
    /// In the program, whatever the index.
    Program,
    /// The target of a branch within a page that closes no loop waiting for the timer.
    Near,
    Other,
}

/// What an opcode needs to know of its operand, and its handlers.
enum Form {
    Implied(Handler),
    Immediate(Handler),
    /// Of a chip's register, of RAM.
    ZeroPage(Handler, Handler),
    /// The zero page, with X or Y added.
    ZeroPageIndexed(Handler),
    /// A store to the zero page: to a register of the TIA, to RAM.
    Store(fn(u8) -> Handler, Handler),
    /// A read-modify-write in the zero page.
    Modify(Handler),
    /// (zero page),Y.
    IndirectY(Handler),
    /// Of the program, of anything below it.
    Absolute(Handler, Handler),
    AbsoluteStore(Handler),
    /// Of the program whatever the index, of anything.
    AbsoluteIndexed(Handler, Handler),
    AbsoluteIndexedStore(Handler),
    Jump(Handler),
    IndirectJump(Handler),
    Return(Handler),
    /// Within a page, to another page, at the end of a loop waiting for the timer.
    Branch(Handler, Handler, Option<Handler>),
}

/// The instruction that begins at a slot; none if it is left to the interpreter.
fn decode(cartridge: &Cartridge, slot: usize) -> Option<Decoded> {
    let [opcode, low, high] = cartridge.program_bytes(slot);
    let address = u16::from_le_bytes([low, high]);
    let zero_page = u16::from(low);
    let is_ram = 0x80 <= low;
    let is_below = address & 0x1000 == 0;
    let mut location = if is_ram { Location::Ram } else { Location::Other };
    let (handler, operand, length) = match form(opcode)? {
        Form::Implied(handler) => (handler, 0, 1),
        Form::Immediate(handler) | Form::ZeroPageIndexed(handler) => (handler, zero_page, 2),
        Form::ZeroPage(chip, ram) => (if is_ram { ram } else { chip }, zero_page, 2),
        Form::Store(tia, ram) => (if is_ram { ram } else { tia(low) }, zero_page, 2),
        Form::Modify(handler) if is_ram => (handler, zero_page, 2),
        // The pointer's high byte does not wrap within the zero page.
        Form::IndirectY(handler) if is_ram && low != 0xff => (handler, zero_page, 2),
        Form::Absolute(_, below) if is_below => (below, address, 3),
        Form::Absolute(rom, _) if cartridge.is_plain_address(address) => (rom, address, 3),
        Form::AbsoluteStore(handler) if is_below => (handler, address, 3),
        Form::AbsoluteIndexed(rom, _) if cartridge.is_plain_page(address) => {
            location = Location::Program;
            (rom, address, 3)
        }
        Form::AbsoluteIndexed(_, any) => (any, address, 3),
        Form::AbsoluteIndexedStore(handler) => (handler, address, 3),
        Form::Jump(handler) if !is_below => (handler, address, 3),
        Form::IndirectJump(handler) => (handler, address, 3),
        Form::Return(handler) => (handler, 0, 1),
        Form::Branch(near, far, waiting) => {
            let next = slot + 2;
            let target = next.wrapping_add_signed(isize::from(low as i8));
            if !cartridge.is_same_bank(slot, target) {
                return None;
            }
            let is_near = (next ^ target) >> 8 == 0;
            let waits =
                low as i8 == TIMER_LOOP_DISTANCE && TIMER_LOADS.contains(&cartridge.program_bytes(target)) && is_near;
            let handler = match waiting {
                Some(waiting) if waits => waiting,
                _ if is_near => near,
                _ => far,
            };
            location = if is_near && !waits { Location::Near } else { Location::Other };
            (handler, target as u16, 2)
        }
        Form::Modify(_) | Form::IndirectY(_) | Form::Absolute(..) | Form::AbsoluteStore(_) | Form::Jump(_) => {
            return None;
        }
    };
    // The next instruction must begin in the same bank.
    if !cartridge.is_plain_in_bank(slot, length + 1) {
        return None;
    }
    let continues = !matches!(form(opcode), Some(Form::Jump(_) | Form::IndirectJump(_) | Form::Return(_)));
    Some(Decoded { opcode, handler, operand, length: if continues { length } else { 0 }, location })
}

/// The instructions that are compiled in pairs, one row per kind: opcodes, where the operand must be, type. A macro is
/// called with the type.
macro_rules! paired {
    ($instruction:ident, $call:ident) => {
        paired! { $instruction, $call:
            [0x18 0x38 0x88 0x8a 0x98 0xa8 0xaa 0xc8 0xca 0xe8 0xea] _ => handlers::Implied<OPCODE>,
            [0x0a 0x2a 0x4a 0x6a] _ => ModifyA<OPCODE>,
            [0x09 0x29 0x49 0x69 0xa0 0xa2 0xa9 0xc0 0xc9 0xe0 0xe9] _ => Read<mode::Immediate, OPCODE>,
            [0x05 0x24 0x25 0x45 0x65 0xa4 0xa5 0xa6 0xc4 0xc5 0xe4 0xe5] Location::Ram => Read<mode::Ram, OPCODE>,
            [0x75 0xb5] _ => Read<mode::ZeroPageX, OPCODE>,
            [0xb1] _ => Read<mode::IndirectY, OPCODE>,
            [0xb9] Location::Program => Read<mode::RomY, OPCODE>,
            [0xbd] Location::Program => Read<mode::RomX, OPCODE>,
            [0x06 0x46 0xc6 0xe6] _ => handlers::Modify<OPCODE>,
            [0x84 0x85 0x86] Location::Ram => StoreRam<OPCODE>,
        }
    };
    ($instruction:ident, $call:ident: $([$($opcode:literal)*] $location:pat => $kind:ty,)*) => {
        match ($instruction.opcode, $instruction.location) {
            $($(($opcode, $location) => {
                const OPCODE: u8 = $opcode;
                $call!($kind)
            })*)*
            _ => None,
        }
    };
}

/// The handler of an instruction together with the one behind it, if programs often have the two.
///
/// Each instruction that needs no jump of its own is one that the host need not predict; and what a game executes in a
/// frame has more jumps than a host remembers.
fn pair(cartridge: &Cartridge, slot: usize, first: &Decoded) -> Option<Handler> {
    if first.length == 0 {
        return None;
    }
    let second = &decode(cartridge, slot + first.length)?;
    macro_rules! before_second {
        ($first:ty) => {
            behind::<$first>(second)
        };
    }
    if second.opcode == 0x85 && second.location == Location::Other {
        return tia_store_behind(first, second.operand as u8);
    }
    match first.opcode {
        0x85 if first.operand & 0xbf == 0x02 => behind::<Wsync>(second),
        _ => paired!(first, before_second),
    }
}

/// The handler of an instruction that one of a pair precedes.
fn behind<P: Before>(second: &Decoded) -> Option<Handler> {
    macro_rules! handler {
        ($second:ty) => {
            Some(P::handler::<$second>())
        };
    }
    macro_rules! branches {
        ($($opcode:literal)*) => {
            match (second.opcode, second.location) {
                $(($opcode, Location::Near) => handler!(handlers::Branch<$opcode, 1>),)*
                _ => paired!(second, handler),
            }
        };
    }
    branches! { 0x10 0x30 0x50 0x70 0x90 0xb0 0xd0 0xf0 }
}

/// The handler of a load, or of a wait for the next line, and a store of A to a register of the TIA.
fn tia_store_behind(first: &Decoded, register: u8) -> Option<Handler> {
    Some(match (first.opcode, first.location) {
        (0x25, Location::Ram) => store_tia::<Read<mode::Ram, 0x25>, 0x85>(register),
        (0xa5, Location::Ram) => store_tia::<Read<mode::Ram, 0xa5>, 0x85>(register),
        (0xa9, _) => store_tia::<Read<mode::Immediate, 0xa9>, 0x85>(register),
        (0xb1, _) => store_tia::<Read<mode::IndirectY, 0xb1>, 0x85>(register),
        (0xb5, _) => store_tia::<Read<mode::ZeroPageX, 0xb5>, 0x85>(register),
        (0xb9, Location::Program) => store_tia::<Read<mode::RomY, 0xb9>, 0x85>(register),
        (0xbd, Location::Program) => store_tia::<Read<mode::RomX, 0xbd>, 0x85>(register),
        (0x85, Location::Other) if first.operand & 0xbf == 0x02 => store_tia::<Wsync, 0x85>(register),
        _ => return None,
    })
}

/// One row per form: opcodes, then the form; a handler is compiled for each opcode.
macro_rules! forms {
    ($opcode:ident as $code:ident: $([$($literal:literal)*] => $form:expr,)*) => {
        match $opcode {
            $($($literal => {
                #[allow(dead_code, reason = "some handlers serve one opcode")]
                const $code: u8 = $literal;
                Some($form)
            })*)*
            _ => None,
        }
    };
}

/// The form of the opcodes that programs use often.
#[rustfmt::skip]
fn form(opcode: u8) -> Option<Form> {
    use Form::{
        Absolute, AbsoluteIndexed, AbsoluteIndexedStore, AbsoluteStore, Branch, Immediate, Implied, IndirectJump, IndirectY, Jump, Modify,
        Return, Store, ZeroPage, ZeroPageIndexed,
    };
    forms! { opcode as OPCODE:
        [0x18 0x38 0x88 0x8a 0x98 0x9a 0xa8 0xaa 0xb8 0xba 0xc8 0xca 0xd8 0xe8 0xea 0xf8] => Implied(one::<handlers::Implied<OPCODE>>),
        [0x0a 0x2a 0x4a 0x6a] => Implied(one::<ModifyA<OPCODE>>),
        [0x08 0x48] => Implied(push::<OPCODE>),
        [0x28 0x68] => Implied(pull::<OPCODE>),
        [0x09 0x29 0x49 0x69 0xa0 0xa2 0xa9 0xc0 0xc9 0xe0 0xe9] => Immediate(one::<Read<mode::Immediate, OPCODE>>),
        [0x04 0x05 0x24 0x25 0x45 0x65 0xa4 0xa5 0xa6 0xa7 0xc4 0xc5 0xe4 0xe5]
            => ZeroPage(one::<Read<mode::Chip, OPCODE>>, one::<Read<mode::Ram, OPCODE>>),
        [0x15 0x35 0x55 0x75 0xb4 0xb5 0xd5 0xf5] => ZeroPageIndexed(one::<Read<mode::ZeroPageX, OPCODE>>),
        [0xb6] => ZeroPageIndexed(one::<Read<mode::ZeroPageY, OPCODE>>),
        [0x01 0x21 0x41 0x61 0xa1 0xc1 0xe1] => ZeroPageIndexed(one::<Read<mode::IndirectX, OPCODE>>),
        [0x11 0x31 0x51 0x71 0xb1 0xb3 0xd1 0xf1] => IndirectY(one::<Read<mode::IndirectY, OPCODE>>),
        [0x0d 0x2c 0x2d 0x4d 0x6d 0xac 0xad 0xae 0xcd 0xed]
            => Absolute(one::<Read<mode::Rom, OPCODE>>, one::<Read<mode::Absolute, OPCODE>>),
        [0x1d 0x3d 0x5d 0x7d 0xbc 0xbd 0xdd 0xfd]
            => AbsoluteIndexed(one::<Read<mode::RomX, OPCODE>>, one::<Read<mode::AbsoluteX, OPCODE>>),
        [0x19 0x39 0x59 0x79 0xb9 0xbe 0xd9 0xf9]
            => AbsoluteIndexed(one::<Read<mode::RomY, OPCODE>>, one::<Read<mode::AbsoluteY, OPCODE>>),
        [0x84 0x85 0x86] => Store(store_tia::<Alone, OPCODE>, one::<StoreRam<OPCODE>>),
        [0x94 0x95 0x96] => ZeroPageIndexed(store_low::<OPCODE>),
        [0x8c 0x8d 0x8e] => AbsoluteStore(store_low::<OPCODE>),
        [0x91] => IndirectY(store_indexed::<OPCODE>),
        [0x99 0x9d] => AbsoluteIndexedStore(store_indexed::<OPCODE>),
        [0x06 0x26 0x46 0x66 0xc6 0xc7 0xe6] => Modify(one::<handlers::Modify<OPCODE>>),
        [0x16 0x36 0x56 0x76 0xd6 0xf6] => ZeroPageIndexed(one::<handlers::Modify<OPCODE>>),
        [0x4c] => Jump(jmp),
        [0x6c] => IndirectJump(jmp_indirect),
        [0x20] => Jump(jsr),
        [0x60] => Return(rts),
        // BPL also leaves a loop waiting for the timer at values above 127.
        [0x10 0xd0] => Branch(one::<handlers::Branch<OPCODE, 1>>, one::<handlers::Branch<OPCODE, 2>>, Some(timer_loop::<OPCODE>)),
        [0x30 0x50 0x70 0x90 0xb0 0xf0] => Branch(one::<handlers::Branch<OPCODE, 1>>, one::<handlers::Branch<OPCODE, 2>>, None),
    }
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
