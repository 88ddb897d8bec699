//! Decoded instructions, as threaded code: each is a function that ends by calling that of the next instruction.
//!
//! An optimised build makes a jump of such a last call, so there is no loop and no stack frame, and the host predicts the
//! jump behind each kind of instruction by itself. Instructions that often follow one another have one handler, without a
//! jump between them ([`super::decode`] chooses it where the first of them begins). Alone depends on that: [`run_decoded`] ends after [`BURST`]
//! instructions at the next jump of the program, which bounds the stack of a build that keeps the calls.
//!
//! Instructions here have no hidden side effects: they access plain bytes of the program and RAM, or one chip register
//! whose address was known at decoding. If an address computed at run time is any other, the instruction is not started
//! but left to [`super::interpreter`].

use std::marker::PhantomData;

use super::decode::{BASE_CYCLES, Program};
use super::interpreter::{Resume, STOPPED};
use super::{Registers, WriteEffect, WriteKind};
use crate::board::Board;
use crate::tia::NO_REGISTER;

/// Executes the instruction at a slot of the program and those behind it. Time is the cycle in the high bits and a count
/// of instructions in the low ones, so that one addition advances both.
pub(super) type Handler = fn(&mut Board, &Program, slot: usize, time: u64, operand: u16) -> Exit;

/// The slot and the time of the next instruction.
pub(super) struct Exit {
    slot: usize,
    time: u64,
}

/// Instructions after which a burst ends.
const BURST: i32 = 4096;
/// Bits that count instructions, and the count at which a burst ends: its top bit.
const COUNT_BITS: u32 = 16;
const COUNT_END: u16 = 0x8000;
/// The count once a write has ended the frame.
const COUNT_STOPPED: u16 = u16::MAX;
const ONE_CYCLE: u64 = 1 << COUNT_BITS;
/// Cycles of one iteration of a loop that waits for the timer: the load and the taken branch.
const TIMER_LOOP_CYCLES: u64 = 4 + 3;

/// Runs from an address in the cartridge's window until an instruction must be interpreted, the frame or the burst ends.
#[inline(never)]
pub(super) fn run_decoded(board: &mut Board, program: &Program, from: Resume) -> Resume {
    // The count is tested at jumps only, so the longest run without one must fit into what is left.
    let burst = BURST.min(from.left - program.longest_run());
    if burst <= 0 {
        return from;
    }
    let slot = board.cartridge.slot(from.pc);
    board.mirror = from.pc.wrapping_sub(slot as u16);
    let start = COUNT_END - burst as u16;
    let Exit { slot, time } = next(board, program, slot, from.cycle << COUNT_BITS | u64::from(start));
    let count = time as u16;
    let left = if count == COUNT_STOPPED { STOPPED } else { from.left - i32::from(count - start) };
    Resume { pc: (slot as u16).wrapping_add(board.mirror), cycle: cycle(time), left }
}

#[inline(always)]
fn cycle(time: u64) -> u64 {
    time >> COUNT_BITS
}

/// Base cycles and count of an opcode.
const fn duration(opcode: u8) -> u64 {
    BASE_CYCLES[opcode as usize] as u64 * ONE_CYCLE + 1
}

/// Continues with the instruction at a slot.
#[inline(always)]
fn next(board: &mut Board, program: &Program, slot: usize, time: u64) -> Exit {
    let (handler, slot, operand) = program.at(slot);
    handler(board, program, slot, time, operand)
}

/// Continues with the instruction at a slot, after a jump.
#[inline(always)]
fn jump(board: &mut Board, program: &Program, slot: usize, time: u64) -> Exit {
    if (time as u16) < COUNT_END { next(board, program, slot, time) } else { Exit { slot, time } }
}

/// Continues at an address in the window.
#[inline(always)]
fn jump_to(board: &mut Board, program: &Program, target: u16, time: u64) -> Exit {
    let slot = board.cartridge.slot(target);
    board.mirror = target.wrapping_sub(slot as u16);
    jump(board, program, slot, time)
}

/// Continues after a write to a chip.
#[inline(always)]
fn after(effect: WriteEffect, board: &mut Board, program: &Program, slot: usize, time: u64) -> Exit {
    if effect == WriteEffect::NONE {
        next(board, program, slot, time)
    } else if effect.stops() {
        Exit { slot, time: effect.cycle() << COUNT_BITS | u64::from(COUNT_STOPPED) }
    } else {
        next(board, program, slot, at_cycle(effect.cycle(), time))
    }
}

#[inline(always)]
fn at_cycle(cycle: u64, time: u64) -> u64 {
    (cycle << COUNT_BITS) | (time % ONE_CYCLE)
}

/// An instruction that others can be executed behind.
pub(super) trait Instruction {
    fn execute<B: Behind>(board: &mut Board, program: &Program, slot: usize, time: u64, operand: u16) -> Exit;
}

/// What is executed behind an instruction.
pub(super) trait Behind {
    fn run(board: &mut Board, program: &Program, slot: usize, time: u64) -> Exit;
}

/// Whatever the program has there.
struct Any;

impl Behind for Any {
    #[inline(always)]
    fn run(board: &mut Board, program: &Program, slot: usize, time: u64) -> Exit {
        next(board, program, slot, time)
    }
}

/// An instruction known when the program was decoded, so that there is no jump to it.
struct Known<I>(PhantomData<I>);

impl<I: Instruction> Behind for Known<I> {
    #[inline(always)]
    fn run(board: &mut Board, program: &Program, slot: usize, time: u64) -> Exit {
        let (_, slot, operand) = program.at(slot);
        I::execute::<Any>(board, program, slot, time, operand)
    }
}

/// The handler of one instruction.
pub(super) fn one<I: Instruction>(board: &mut Board, program: &Program, slot: usize, time: u64, operand: u16) -> Exit {
    I::execute::<Any>(board, program, slot, time, operand)
}

/// The handler of an instruction and the one behind it.
fn two<I: Instruction, J: Instruction>(
    board: &mut Board,
    program: &Program,
    slot: usize,
    time: u64,
    operand: u16,
) -> Exit {
    I::execute::<Known<J>>(board, program, slot, time, operand)
}

/// What a handler executes before an instruction.
pub(super) trait Before {
    fn handler<J: Instruction>() -> Handler;
}

/// Its handler executes no other instruction before it.
pub(super) struct Alone;

impl Before for Alone {
    fn handler<J: Instruction>() -> Handler {
        one::<J>
    }
}

impl<I: Instruction> Before for I {
    fn handler<J: Instruction>() -> Handler {
        two::<I, J>
    }
}

/// Leaves the instruction to the interpreter.
pub(super) fn interpreted(_: &mut Board, _: &Program, slot: usize, time: u64, _: u16) -> Exit {
    Exit { slot, time }
}

/// Where an instruction finds its operand.
pub(super) mod mode {
    use super::{Board, cycle, indexed, indexed_pointer, indexed_rom, zero_page};

    pub(crate) trait Mode {
        /// Bytes of the instruction.
        const LENGTH: usize;
        /// The byte, and `ONE_CYCLE` if a page was crossed; none if reading it could have side effects.
        fn read(board: &mut Board, time: u64, operand: u16) -> Option<(u8, u64)>;
    }

    macro_rules! modes {
        ($($(#[$doc:meta])* $mode:ident, $length:literal: |$board:ident, $time:ident, $operand:ident| $byte:expr;)*) => {$(
            $(#[$doc])*
            pub(crate) struct $mode;

            impl Mode for $mode {
                const LENGTH: usize = $length;

                #[inline(always)]
                fn read($board: &mut Board, $time: u64, $operand: u16) -> Option<(u8, u64)> {
                    $byte
                }
            }
        )*};
    }

    modes! {
        Immediate, 2: |_board, _time, operand| Some((operand as u8, 0));
        /// A byte of RAM in the zero page.
        Ram, 2: |board, _time, operand| Some((board.ram.get(operand), 0));
        /// A chip's register in the zero page.
        Chip, 2: |board, time, operand| Some((board.read_chip(operand, cycle(time), operand as u8), 0));
        ZeroPageX, 2: |board, time, operand| Some((zero_page(board, time, operand, board.registers.x), 0));
        ZeroPageY, 2: |board, time, operand| Some((zero_page(board, time, operand, board.registers.y), 0));
        /// A plain byte of the program.
        Rom, 3: |board, _time, operand| Some((board.cartridge.byte(operand), 0));
        /// RAM or a chip's register, below the program.
        Absolute, 3: |board, time, operand| Some((board.read(operand, cycle(time), (operand >> 8) as u8), 0));
        /// A plain byte of the program, whatever the index.
        RomX, 3: |board, _time, operand| Some(indexed_rom(board, operand, board.registers.x));
        RomY, 3: |board, _time, operand| Some(indexed_rom(board, operand, board.registers.y));
        AbsoluteX, 3: |board, _time, operand| indexed(board, operand, board.registers.x);
        AbsoluteY, 3: |board, _time, operand| indexed(board, operand, board.registers.y);
        /// Through one of several pointers, which must be in RAM.
        IndirectX, 2: |board, _time, operand| indexed_pointer(board, operand);
        /// Through a pointer in RAM.
        IndirectY, 2: |board, _time, operand| indexed(board, board.ram.pointer(operand), board.registers.y);
    }
}

#[inline(always)]
fn zero_page(board: &mut Board, time: u64, operand: u16, index: u8) -> u8 {
    let address = (operand as u8).wrapping_add(index);
    if address < 0x80 {
        board.read_chip(u16::from(address), cycle(time), operand as u8)
    } else {
        board.ram.get(u16::from(address))
    }
}

#[inline(always)]
fn indexed_rom(board: &Board, base: u16, index: u8) -> (u8, u64) {
    let address = base.wrapping_add(u16::from(index));
    (board.cartridge.byte(address), crossing(base, address))
}

#[inline(always)]
fn indexed(board: &Board, base: u16, index: u8) -> Option<(u8, u64)> {
    let address = base.wrapping_add(u16::from(index));
    board.peek(address).map(|byte| (byte, crossing(base, address)))
}

#[inline(always)]
fn indexed_pointer(board: &Board, operand: u16) -> Option<(u8, u64)> {
    let pointer = (operand as u8).wrapping_add(board.registers.x);
    // The pointer's high byte does not wrap within the zero page.
    let is_in_ram = (0x80..0xff).contains(&pointer);
    let byte = if is_in_ram { board.peek(board.ram.pointer(pointer.into())) } else { None };
    byte.map(|byte| (byte, 0))
}

/// [`ONE_CYCLE`] if an indexed address is in the page after its base.
#[inline(always)]
fn crossing(base: u16, address: u16) -> u64 {
    u64::from((base ^ address) & 0x100) << (COUNT_BITS - 8)
}

/// An instruction that reads one byte.
pub(super) struct Read<M, const OPCODE: u8>(PhantomData<M>);

impl<M: mode::Mode, const OPCODE: u8> Instruction for Read<M, OPCODE> {
    #[inline(always)]
    fn execute<B: Behind>(board: &mut Board, program: &Program, slot: usize, time: u64, operand: u16) -> Exit {
        let after = time + const { duration(OPCODE) };
        let Some((byte, crossing)) = M::read(board, after, operand) else {
            return Exit { slot, time };
        };
        use_operand::<OPCODE>(&mut board.registers, byte);
        B::run(board, program, slot + M::LENGTH, after + crossing)
    }
}

/// What a read instruction does: the high bits of the opcode select it, the low two bits its group.
#[inline(always)]
fn use_operand<const OPCODE: u8>(registers: &mut Registers, m: u8) {
    match (OPCODE & 3, OPCODE >> 5) {
        (1, 0) => registers.ora(m),
        (1, 1) => registers.and(m),
        (1, 2) => registers.eor(m),
        (1, 3) => registers.adc(m),
        (1, 5) => registers.lda(m),
        (1, 6) => registers.cmp(m),
        (1, 7) => registers.sbc(m),
        (0, 0) => registers.nop(m),
        (0, 1) => registers.bit(m),
        (0, 5) => registers.ldy(m),
        (0, 6) => registers.cpy(m),
        (0, 7) => registers.cpx(m),
        (2, 5) => registers.ldx(m),
        (3, 5) => registers.lax(m),
        _ => unreachable!(),
    }
}

/// A read-modify-write of RAM in the zero page; with X added if the opcode says so.
pub(super) struct Modify<const OPCODE: u8>;

impl<const OPCODE: u8> Instruction for Modify<OPCODE> {
    #[inline(always)]
    fn execute<B: Behind>(board: &mut Board, program: &Program, slot: usize, time: u64, operand: u16) -> Exit {
        let is_indexed = OPCODE & 0x10 != 0;
        let address = if is_indexed { u16::from((operand as u8).wrapping_add(board.registers.x)) } else { operand };
        if is_indexed && address < 0x80 {
            return Exit { slot, time };
        }
        let changed = modified::<OPCODE>(&mut board.registers, board.ram.get(address));
        board.ram.set(address, changed);
        B::run(board, program, slot + 2, time + const { duration(OPCODE) })
    }
}

/// A shift or rotation of A.
pub(super) struct ModifyA<const OPCODE: u8>;

impl<const OPCODE: u8> Instruction for ModifyA<OPCODE> {
    #[inline(always)]
    fn execute<B: Behind>(board: &mut Board, program: &Program, slot: usize, time: u64, _operand: u16) -> Exit {
        let a = board.registers.a;
        board.registers.a = modified::<OPCODE>(&mut board.registers, a);
        B::run(board, program, slot + 1, time + const { duration(OPCODE) })
    }
}

#[inline(always)]
fn modified<const OPCODE: u8>(registers: &mut Registers, m: u8) -> u8 {
    match (OPCODE & 3, OPCODE >> 5) {
        (2, 0) => registers.asl(m),
        (2, 1) => registers.rol(m),
        (2, 2) => registers.lsr(m),
        (2, 3) => registers.ror(m),
        (2, 6) => registers.dec(m),
        (2, 7) => registers.inc(m),
        (3, 6) => registers.dcp(m),
        _ => unreachable!(),
    }
}

/// An instruction without operand that only changes registers.
pub(super) struct Implied<const OPCODE: u8>;

impl<const OPCODE: u8> Instruction for Implied<OPCODE> {
    #[inline(always)]
    fn execute<B: Behind>(board: &mut Board, program: &Program, slot: usize, time: u64, _operand: u16) -> Exit {
        let registers = &mut board.registers;
        match OPCODE {
            0x18 => registers.carry = false,
            0x38 => registers.carry = true,
            0xb8 => registers.overflow = false,
            0xd8 => registers.decimal = false,
            0xf8 => registers.decimal = true,
            0x88 => registers.y = registers.dec(registers.y),
            0xc8 => registers.y = registers.inc(registers.y),
            0xca => registers.x = registers.dec(registers.x),
            0xe8 => registers.x = registers.inc(registers.x),
            0x8a => registers.lda(registers.x),
            0x98 => registers.lda(registers.y),
            0xa8 => registers.ldy(registers.a),
            0xaa => registers.ldx(registers.a),
            0x9a => registers.s = registers.x,
            0xba => registers.ldx(registers.s),
            0xea => {}
            _ => unreachable!(),
        }
        B::run(board, program, slot + 1, time + const { duration(OPCODE) })
    }
}

/// The register that a store instruction stores: the low two bits of the opcode select it.
#[inline(always)]
fn stored<const OPCODE: u8>(registers: &Registers) -> u8 {
    match OPCODE & 3 {
        0 => registers.y,
        1 => registers.a,
        _ => registers.x,
    }
}

/// A store to RAM in the zero page.
pub(super) struct StoreRam<const OPCODE: u8>;

impl<const OPCODE: u8> Instruction for StoreRam<OPCODE> {
    #[inline(always)]
    fn execute<B: Behind>(board: &mut Board, program: &Program, slot: usize, time: u64, operand: u16) -> Exit {
        board.ram.set(operand, stored::<OPCODE>(&board.registers));
        B::run(board, program, slot + 2, time + const { duration(OPCODE) })
    }
}

/// A store to a register of the TIA.
pub(super) struct StoreTia<const OPCODE: u8, const REGISTER: u8>;

impl<const OPCODE: u8, const REGISTER: u8> Instruction for StoreTia<OPCODE, REGISTER> {
    #[inline(always)]
    fn execute<B: Behind>(board: &mut Board, program: &Program, slot: usize, time: u64, _operand: u16) -> Exit {
        let (slot, time) = (slot + 2, time + const { duration(OPCODE) });
        let value = stored::<OPCODE>(&board.registers);
        if board.tia.absorbs::<REGISTER>(value, cycle(time)) {
            B::run(board, program, slot, time)
        } else {
            change_tia::<REGISTER>(board, program, slot, time, value.into())
        }
    }
}

/// The rest of a store to the TIA that changes something: the value is the operand, and the next instruction is at the slot.
#[inline(never)]
fn change_tia<const REGISTER: u8>(board: &mut Board, program: &Program, slot: usize, time: u64, operand: u16) -> Exit {
    let effect = board.tia.write::<REGISTER, _>(operand as u8, cycle(time), &mut board.frame_buffer);
    after(effect, board, program, slot, time)
}

/// A store to WSYNC: waits for the next line.
pub(super) struct Wsync;

impl Instruction for Wsync {
    #[inline(always)]
    fn execute<B: Behind>(board: &mut Board, program: &Program, slot: usize, time: u64, _operand: u16) -> Exit {
        let time = time + const { duration(0x85) };
        match board.tia.write_wsync(cycle(time)) {
            Some(line) => B::run(board, program, slot + 2, at_cycle(line, time)),
            None => last_wsync(board, program, slot + 2, time, 0),
        }
    }
}

/// A store to WSYNC that may end the frame; the next instruction is at the slot.
#[inline(never)]
fn last_wsync(board: &mut Board, program: &Program, slot: usize, time: u64, _operand: u16) -> Exit {
    let effect = board.write_chip(0x02, 0, cycle(time), WriteKind::Single);
    after(effect, board, program, slot, time)
}

/// The handler of a store to a register of the TIA, behind what precedes it. Registers of sound and those that do not
/// exist have no effect.
pub(super) fn store_tia<P: Before, const OPCODE: u8>(register: u8) -> Handler {
    macro_rules! handlers {
        ($($register:literal)*) => {
            match register & 0x3f {
                0x02 => P::handler::<Wsync>(),
                $($register => P::handler::<StoreTia<OPCODE, $register>>(),)*
                _ => P::handler::<StoreTia<OPCODE, NO_REGISTER>>(),
            }
        };
    }
    handlers! {
        0x00 0x01 0x04 0x05 0x06 0x07 0x08 0x09 0x0a 0x0b 0x0c 0x0d 0x0e 0x0f 0x10 0x11 0x12 0x13 0x14 0x1b 0x1c 0x1d 0x1e 0x1f
        0x20 0x21 0x22 0x23 0x24 0x25 0x26 0x27 0x28 0x29 0x2a 0x2b 0x2c
    }
}

/// A store below the program: in the zero page with an index, or at an absolute address.
pub(super) fn store_low<const OPCODE: u8>(
    board: &mut Board,
    program: &Program,
    slot: usize,
    time: u64,
    operand: u16,
) -> Exit {
    let index = match OPCODE {
        0x94 | 0x95 => Some(board.registers.x),
        0x96 => Some(board.registers.y),
        _ => None,
    };
    let address = index.map_or(operand, |index| u16::from((operand as u8).wrapping_add(index)));
    let slot = slot + if index.is_some() { 2 } else { 3 };
    let value = stored::<OPCODE>(&board.registers);
    write_low(address, value, board, program, slot, time + const { duration(OPCODE) })
}

/// Writes to an address below the program and continues.
#[inline(always)]
fn write_low(address: u16, value: u8, board: &mut Board, program: &Program, slot: usize, time: u64) -> Exit {
    if address & 0x280 == 0x80 {
        board.ram.set(address, value);
        return next(board, program, slot, time);
    }
    let effect = board.write_chip(address, value, cycle(time), WriteKind::Single);
    after(effect, board, program, slot, time)
}

/// A store of A to an indexed address, which must be in RAM.
pub(super) fn store_indexed<const OPCODE: u8>(
    board: &mut Board,
    program: &Program,
    slot: usize,
    time: u64,
    operand: u16,
) -> Exit {
    let (base, index, length) = match OPCODE {
        0x91 => (board.ram.pointer(operand), board.registers.y, 2),
        0x99 => (operand, board.registers.y, 3),
        _ => (operand, board.registers.x, 3),
    };
    let address = base.wrapping_add(u16::from(index));
    if address & 0x1280 != 0x80 {
        return Exit { slot, time };
    }
    board.ram.set(address, board.registers.a);
    next(board, program, slot + length, time + const { duration(OPCODE) })
}

/// Whether a branch is taken: bits 6 and 7 of the opcode select the flag, bit 5 the value that takes the branch.
#[inline(always)]
fn is_taken<const OPCODE: u8>(registers: &Registers) -> bool {
    let flag = match OPCODE >> 6 {
        0 => registers.is_negative(),
        1 => registers.overflow,
        2 => registers.carry,
        _ => registers.is_zero(),
    };
    flag == (OPCODE & 0x20 != 0)
}

/// A branch; taken, it takes so many cycles more.
pub(super) struct Branch<const OPCODE: u8, const TAKEN: u64>;

impl<const OPCODE: u8, const TAKEN: u64> Instruction for Branch<OPCODE, TAKEN> {
    #[inline(always)]
    fn execute<B: Behind>(board: &mut Board, program: &Program, slot: usize, time: u64, operand: u16) -> Exit {
        if is_taken::<OPCODE>(&board.registers) {
            jump(board, program, usize::from(operand), time + const { duration(OPCODE) + TAKEN * ONE_CYCLE })
        } else {
            B::run(board, program, slot + 2, time + const { duration(OPCODE) })
        }
    }
}

/// A branch that closes a loop waiting for the timer: runs all iterations but the last at once. The next load overwrites
/// what they loaded.
pub(super) fn timer_loop<const OPCODE: u8>(
    board: &mut Board,
    program: &Program,
    slot: usize,
    time: u64,
    operand: u16,
) -> Exit {
    if !is_taken::<OPCODE>(&board.registers) {
        return next(board, program, slot + 2, time + const { duration(OPCODE) });
    }
    let time = time + const { duration(OPCODE) + ONE_CYCLE };
    let left = u64::from(COUNT_END.saturating_sub(time as u16));
    let iterations = board.riot.reads_before_zero(cycle(time) + 4, TIMER_LOOP_CYCLES).min(left / 2);
    jump(board, program, usize::from(operand), time + iterations * (TIMER_LOOP_CYCLES * ONE_CYCLE + 2))
}

pub(super) fn jmp(board: &mut Board, program: &Program, _slot: usize, time: u64, operand: u16) -> Exit {
    jump_to(board, program, operand, time + const { duration(0x4c) })
}

/// A jump through a pointer, to the program.
pub(super) fn jmp_indirect(board: &mut Board, program: &Program, slot: usize, time: u64, operand: u16) -> Exit {
    let behind = (operand & 0xff00) | (operand.wrapping_add(1) & 0xff);
    match (board.peek(operand), board.peek(behind)) {
        (Some(low), Some(high)) if high & 0x10 != 0 => {
            jump_to(board, program, u16::from_le_bytes([low, high]), time + const { duration(0x6c) })
        }
        _ => Exit { slot, time },
    }
}

pub(super) fn jsr(board: &mut Board, program: &Program, slot: usize, time: u64, operand: u16) -> Exit {
    let s = board.registers.s;
    // Both bytes must go to RAM.
    if s <= 0x80 {
        return Exit { slot, time };
    }
    let [low, high] = (slot as u16).wrapping_add(board.mirror).wrapping_add(2).to_le_bytes();
    board.ram.set(u16::from(s), high);
    board.ram.set(u16::from(s - 1), low);
    board.registers.s = s - 2;
    jump_to(board, program, operand, time + const { duration(0x20) })
}

pub(super) fn rts(board: &mut Board, program: &Program, slot: usize, time: u64, _operand: u16) -> Exit {
    let s = board.registers.s;
    // Both bytes must come from RAM; the byte before the next instruction is read as well.
    if !(0x80..0xfe).contains(&s) {
        return Exit { slot, time };
    }
    let before = board.ram.pointer(u16::from(s + 1));
    let target = before.wrapping_add(1);
    if !board.cartridge.is_plain_address(before) || target & 0x1000 == 0 {
        return Exit { slot, time };
    }
    board.registers.s = s + 2;
    jump_to(board, program, target, time + const { duration(0x60) })
}

/// PHP or PHA.
pub(super) fn push<const OPCODE: u8>(
    board: &mut Board,
    program: &Program,
    slot: usize,
    time: u64,
    _operand: u16,
) -> Exit {
    let registers = &mut board.registers;
    let value = if OPCODE == 0x08 { registers.status() } else { registers.a };
    let address = 0x100 | u16::from(registers.s);
    registers.s = registers.s.wrapping_sub(1);
    write_low(address, value, board, program, slot + 1, time + const { duration(OPCODE) })
}

/// PLP or PLA. The byte above the pulled one is read first.
pub(super) fn pull<const OPCODE: u8>(
    board: &mut Board,
    program: &Program,
    slot: usize,
    time: u64,
    _operand: u16,
) -> Exit {
    let time = time + const { duration(OPCODE) };
    let s = board.registers.s;
    let pulled = s.wrapping_add(1);
    board.registers.s = pulled;
    let byte = if (0x80..0xff).contains(&s) {
        board.ram.get(u16::from(pulled))
    } else {
        let above = board.read(0x100 | u16::from(s), cycle(time), OPCODE);
        board.read(0x100 | u16::from(pulled), cycle(time), above)
    };
    if OPCODE == 0x28 {
        board.registers.set_status(byte)
    } else {
        board.registers.lda(byte)
    }
    next(board, program, slot + 1, time)
}
