//! The fast path: runs decoded instructions until one must be interpreted or the run is over.
//!
//! Instructions here have no hidden side effects: they access plain bytes of the program and RAM, or one chip register
//! whose address was known at decoding. If an address computed at run time is any other, the instruction is not started
//! but left to [`super::interpreter`].

use super::decode::{BASE_CYCLES, BRANCH, CROSSING, Program, TIA_STORE, TIMER_LOOP, WSYNC, WSYNC_THEN_TIA};
use super::interpreter::{Resume, STOPPED};
use super::{WriteEffect, WriteKind};
use crate::board::Board;

/// Cycles of one iteration of a loop that waits for the timer: the load and the taken branch.
const TIMER_LOOP_CYCLES: u64 = 4 + 3;
/// Bits that count instructions, and the end of the count: one instruction earlier its top bit is set.
const COUNT_BITS: u32 = 16;
const COUNT_END: u16 = 0x8001;
const ONE_CYCLE: u64 = 1 << COUNT_BITS;

/// Runs from an address in the cartridge's window.
#[inline(never)]
pub(super) fn run_decoded(board: &mut Board, program: &Program, from: Resume) -> Resume {
    let Resume { pc, cycle, left } = from;
    // Cycles in the high bits, instructions in the low bits: one addition counts both.
    let mut time = cycle << COUNT_BITS | (i32::from(COUNT_END) - left) as u64;
    let mut registers = board.registers;
    let mut slot = board.cartridge.slot(pc);
    // The program counter is slot + mirror; a jump to another bank or mirror changes it.
    let mut mirror = pc.wrapping_sub(slot as u16);

    macro_rules! cycle {
        () => {
            time >> COUNT_BITS
        };
    }
    /// Commits to the instruction: counts it, its base cycles, and its bytes unless it jumps.
    macro_rules! count {
        ($opcode:literal) => {
            time += const { BASE_CYCLES[$opcode] as u64 * ONE_CYCLE + 1 };
        };
        ($opcode:literal, $length:literal) => {
            count!($opcode);
            slot += $length;
        };
    }
    macro_rules! apply_effect {
        ($effect:expr) => {
            let effect = $effect;
            if effect != WriteEffect::NONE {
                time = effect.cycle() << COUNT_BITS | time % ONE_CYCLE;
                if effect.stops() {
                    time |= ONE_CYCLE - 1;
                }
            }
        };
    }
    macro_rules! write_chip {
        ($address:expr, $value:expr) => {
            apply_effect!(board.write_chip($address, $value, cycle!(), WriteKind::Single));
        };
    }
    macro_rules! write_tia {
        ($register:expr, $value:expr) => {
            apply_effect!(board.tia.write($register as u8, $value, cycle!(), &mut board.frame_buffer));
        };
    }
    /// Writes to an address below the cartridge.
    macro_rules! write {
        ($address:expr, $value:expr) => {
            let (address, value) = ($address, $value);
            if address & 0x280 == 0x80 {
                board.ram.set(address, value);
            } else {
                write_chip!(address, value);
            }
        };
    }
    /// The byte at an indexed address, with the cycle for a page crossing; leaves the loop if a read has side effects.
    macro_rules! read_indexed {
        ($base:expr, $index:expr) => {{
            let base: u16 = $base;
            let address = base.wrapping_add(u16::from($index));
            let Some(byte) = board.peek(address) else {
                break;
            };
            time += u64::from((base ^ address) >> 8 != 0) * ONE_CYCLE;
            byte
        }};
    }
    /// The operand of a read instruction.
    macro_rules! operand {
        ($op:ident, immediate) => {
            $op.operand as u8
        };
        ($op:ident, ram) => {
            board.ram.get($op.operand)
        };
        ($op:ident, absolute) => {
            board.read($op.operand, cycle!(), ($op.operand >> 8) as u8)
        };
        ($op:ident, chip) => {
            board.read_chip($op.operand, cycle!(), $op.operand as u8)
        };
        ($op:ident, zero_page_x) => {
            operand!($op, registers.x)
        };
        ($op:ident, zero_page_y) => {
            operand!($op, registers.y)
        };
        ($op:ident, absolute_x) => {
            read_indexed!($op.operand, registers.x)
        };
        ($op:ident, absolute_y) => {
            read_indexed!($op.operand, registers.y)
        };
        ($op:ident, pointer) => {{
            let base = board.ram.pointer($op.operand);
            read_indexed!(base, registers.y)
        }};
        ($op:ident, registers.$index:ident) => {{
            let address = ($op.operand as u8).wrapping_add(registers.$index);
            if address < 0x80 {
                board.read_chip(u16::from(address), cycle!(), $op.operand as u8)
            } else {
                board.ram.get(u16::from(address))
            }
        }};
    }
    /// Passes the operand to an operation. Modes that may leave the loop count only after they have not.
    macro_rules! read {
        ($op:ident, $opcode:literal, $operation:ident, absolute_x) => {
            read!($op, $opcode, 3, $operation, absolute_x)
        };
        ($op:ident, $opcode:literal, $operation:ident, absolute_y) => {
            read!($op, $opcode, 3, $operation, absolute_y)
        };
        ($op:ident, $opcode:literal, $operation:ident, pointer) => {
            read!($op, $opcode, 2, $operation, pointer)
        };
        ($op:ident, $opcode:literal, $operation:ident, absolute) => {{
            count!($opcode, 3);
            let operand = operand!($op, absolute);
            registers.$operation(operand);
        }};
        ($op:ident, $opcode:literal, $operation:ident, $mode:ident) => {{
            count!($opcode, 2);
            let operand = operand!($op, $mode);
            registers.$operation(operand);
        }};
        ($op:ident, $opcode:literal, $length:literal, $operation:ident, $mode:ident) => {{
            let operand = operand!($op, $mode);
            count!($opcode, $length);
            registers.$operation(operand);
        }};
    }
    /// The STA fused to a load of A: to the TIA or to RAM.
    macro_rules! then {
        (tia) => {
            let register = program.at(slot).operand;
            count!(0x85, 2);
            write_tia!(register, registers.a);
        };
        (ram) => {
            let address = program.at(slot).operand;
            count!(0x85, 2);
            board.ram.set(address, registers.a);
        };
    }
    macro_rules! load_then {
        ($op:ident, $opcode:literal, $mode:ident, $place:ident) => {{
            read!($op, $opcode, lda, $mode);
            then!($place);
        }};
    }
    macro_rules! wsync {
        () => {{
            count!(0x85, 2);
            if let Some(line) = board.tia.write_wsync(cycle!()) {
                time = line << COUNT_BITS | time % ONE_CYCLE;
            } else {
                write_chip!(0x02, 0);
            }
        }};
    }
    macro_rules! implied {
        ($opcode:literal, $action:expr) => {{
            count!($opcode, 1);
            $action;
        }};
    }
    macro_rules! store {
        ($op:ident, $opcode:literal, $register:ident, ram) => {{
            count!($opcode, 2);
            board.ram.set($op.operand, registers.$register);
        }};
        ($op:ident, $opcode:literal, $register:ident, absolute) => {{
            count!($opcode, 3);
            write!($op.operand, registers.$register);
        }};
        ($op:ident, $opcode:literal, $register:ident, $index:ident) => {{
            count!($opcode, 2);
            write!(u16::from(($op.operand as u8).wrapping_add(registers.$index)), registers.$register);
        }};
    }
    /// Stores A at an address that must be in RAM; otherwise leaves the loop.
    macro_rules! store_in_ram {
        ($opcode:literal, $length:literal, $base:expr, $index:ident) => {{
            let address: u16 = $base.wrapping_add(u16::from(registers.$index));
            if address & 0x1280 != 0x80 {
                break;
            }
            count!($opcode, $length);
            board.ram.set(address, registers.a);
        }};
    }
    macro_rules! modify {
        ($op:ident, $opcode:literal, $operation:ident) => {{
            count!($opcode, 2);
            let changed = registers.$operation(board.ram.get($op.operand));
            board.ram.set($op.operand, changed);
        }};
        ($op:ident, $opcode:literal, $operation:ident, zero_page_x) => {{
            let address = u16::from(($op.operand as u8).wrapping_add(registers.x));
            if address < 0x80 {
                break;
            }
            count!($opcode, 2);
            let changed = registers.$operation(board.ram.get(address));
            board.ram.set(address, changed);
        }};
    }
    /// Continues at an address in the window.
    macro_rules! jump {
        ($target:expr) => {
            let target: u16 = $target;
            slot = board.cartridge.slot(target);
            mirror = target.wrapping_sub(slot as u16);
        };
    }

    // Fused instructions count two.
    while 0 <= time as i16 {
        let op = program.at(slot);
        // The most frequent kinds bypass the jump table, whose target the CPU often mispredicts.
        if op.code & BRANCH != 0 {
            // Bits 6 and 7 of the opcode select the flag, bit 5 the value that takes the branch.
            let flags = u16::from(registers.is_negative())
                | u16::from(registers.overflow) << 1
                | u16::from(registers.carry) << 2
                | u16::from(registers.is_zero()) << 3;
            count!(0x10, 2);
            if ((flags >> (op.code >> 6 & 3)) ^ (op.code >> 5)) & 1 == 0 {
                slot = usize::from(op.operand);
                time += ONE_CYCLE + u64::from(op.code & CROSSING != 0) * ONE_CYCLE;
                if op.code & TIMER_LOOP != 0 {
                    // All iterations but the last at once; the next load overwrites what they loaded.
                    let left = u64::from(COUNT_END - time as u16);
                    let iterations = board.riot.reads_before_zero(cycle!() + 4, TIMER_LOOP_CYCLES).min(left / 2);
                    time += iterations * (TIMER_LOOP_CYCLES * ONE_CYCLE + 2);
                }
            }
            continue;
        }
        if op.code & TIA_STORE != 0 {
            count!(0x85, 2);
            let value = match op.code & 3 {
                0 => registers.y,
                1 => registers.a,
                _ => registers.x,
            };
            write_tia!(op.operand, value);
            continue;
        }
        match op.code {
            0x005 => read!(op, 0x05, ora, chip),
            0x105 => read!(op, 0x05, ora, ram),
            0x009 => read!(op, 0x09, ora, immediate),
            0x00d => read!(op, 0x0d, ora, absolute),
            0x011 => read!(op, 0x11, ora, pointer),
            0x015 => read!(op, 0x15, ora, zero_page_x),
            0x019 => read!(op, 0x19, ora, absolute_y),
            0x01d => read!(op, 0x1d, ora, absolute_x),
            0x025 => read!(op, 0x25, and, chip),
            0x125 => read!(op, 0x25, and, ram),
            0x029 => read!(op, 0x29, and, immediate),
            0x02d => read!(op, 0x2d, and, absolute),
            0x031 => read!(op, 0x31, and, pointer),
            0x035 => read!(op, 0x35, and, zero_page_x),
            0x039 => read!(op, 0x39, and, absolute_y),
            0x03d => read!(op, 0x3d, and, absolute_x),
            0x045 => read!(op, 0x45, eor, chip),
            0x145 => read!(op, 0x45, eor, ram),
            0x049 => read!(op, 0x49, eor, immediate),
            0x04d => read!(op, 0x4d, eor, absolute),
            0x051 => read!(op, 0x51, eor, pointer),
            0x055 => read!(op, 0x55, eor, zero_page_x),
            0x059 => read!(op, 0x59, eor, absolute_y),
            0x05d => read!(op, 0x5d, eor, absolute_x),
            0x065 => read!(op, 0x65, adc, chip),
            0x165 => read!(op, 0x65, adc, ram),
            0x069 => read!(op, 0x69, adc, immediate),
            0x06d => read!(op, 0x6d, adc, absolute),
            0x071 => read!(op, 0x71, adc, pointer),
            0x075 => read!(op, 0x75, adc, zero_page_x),
            0x079 => read!(op, 0x79, adc, absolute_y),
            0x07d => read!(op, 0x7d, adc, absolute_x),
            0x0c5 => read!(op, 0xc5, cmp, chip),
            0x1c5 => read!(op, 0xc5, cmp, ram),
            0x0c9 => read!(op, 0xc9, cmp, immediate),
            0x0cd => read!(op, 0xcd, cmp, absolute),
            0x0d1 => read!(op, 0xd1, cmp, pointer),
            0x0d5 => read!(op, 0xd5, cmp, zero_page_x),
            0x0d9 => read!(op, 0xd9, cmp, absolute_y),
            0x0dd => read!(op, 0xdd, cmp, absolute_x),
            0x0e5 => read!(op, 0xe5, sbc, chip),
            0x1e5 => read!(op, 0xe5, sbc, ram),
            0x0e9 => read!(op, 0xe9, sbc, immediate),
            0x0ed => read!(op, 0xed, sbc, absolute),
            0x0f1 => read!(op, 0xf1, sbc, pointer),
            0x0f5 => read!(op, 0xf5, sbc, zero_page_x),
            0x0f9 => read!(op, 0xf9, sbc, absolute_y),
            0x0fd => read!(op, 0xfd, sbc, absolute_x),

            0x0a5 => read!(op, 0xa5, lda, chip),
            0x1a5 => read!(op, 0xa5, lda, ram),
            0x2a5 => load_then!(op, 0xa5, ram, tia),
            0x3a5 => load_then!(op, 0xa5, ram, ram),
            0x0a9 => read!(op, 0xa9, lda, immediate),
            0x2a9 => load_then!(op, 0xa9, immediate, tia),
            0x3a9 => load_then!(op, 0xa9, immediate, ram),
            0x0ad => read!(op, 0xad, lda, absolute),
            0x0b1 => read!(op, 0xb1, lda, pointer),
            0x2b1 => load_then!(op, 0xb1, pointer, tia),
            0x3b1 => load_then!(op, 0xb1, pointer, ram),
            0x0b5 => read!(op, 0xb5, lda, zero_page_x),
            0x2b5 => load_then!(op, 0xb5, zero_page_x, tia),
            0x3b5 => load_then!(op, 0xb5, zero_page_x, ram),
            0x0b9 => read!(op, 0xb9, lda, absolute_y),
            0x2b9 => load_then!(op, 0xb9, absolute_y, tia),
            0x3b9 => load_then!(op, 0xb9, absolute_y, ram),
            0x0bd => read!(op, 0xbd, lda, absolute_x),
            0x2bd => load_then!(op, 0xbd, absolute_x, tia),
            0x3bd => load_then!(op, 0xbd, absolute_x, ram),
            0x0a7 => read!(op, 0xa7, lax, chip),
            0x1a7 => read!(op, 0xa7, lax, ram),
            0x0b3 => read!(op, 0xb3, lax, pointer),
            0x0a2 => read!(op, 0xa2, ldx, immediate),
            0x0a6 => read!(op, 0xa6, ldx, chip),
            0x1a6 => read!(op, 0xa6, ldx, ram),
            0x0ae => read!(op, 0xae, ldx, absolute),
            0x0b6 => read!(op, 0xb6, ldx, zero_page_y),
            0x0be => read!(op, 0xbe, ldx, absolute_y),
            0x0a0 => read!(op, 0xa0, ldy, immediate),
            0x0a4 => read!(op, 0xa4, ldy, chip),
            0x1a4 => read!(op, 0xa4, ldy, ram),
            0x0ac => read!(op, 0xac, ldy, absolute),
            0x0b4 => read!(op, 0xb4, ldy, zero_page_x),
            0x0bc => read!(op, 0xbc, ldy, absolute_x),
            0x0e0 => read!(op, 0xe0, cpx, immediate),
            0x0e4 => read!(op, 0xe4, cpx, chip),
            0x1e4 => read!(op, 0xe4, cpx, ram),
            0x0c0 => read!(op, 0xc0, cpy, immediate),
            0x0c4 => read!(op, 0xc4, cpy, chip),
            0x1c4 => read!(op, 0xc4, cpy, ram),
            0x024 => read!(op, 0x24, bit, chip),
            0x124 => read!(op, 0x24, bit, ram),
            0x02c => read!(op, 0x2c, bit, absolute),
            0x004 => read!(op, 0x04, nop, chip),
            0x104 => read!(op, 0x04, nop, ram),

            WSYNC => wsync!(),
            WSYNC_THEN_TIA => {
                wsync!();
                if 0 <= time as i16 {
                    then!(tia);
                }
            }
            0x184 => store!(op, 0x84, y, ram),
            0x185 => store!(op, 0x85, a, ram),
            0x186 => store!(op, 0x86, x, ram),
            0x08c => store!(op, 0x8c, y, absolute),
            0x08d => store!(op, 0x8d, a, absolute),
            0x08e => store!(op, 0x8e, x, absolute),
            0x094 => store!(op, 0x94, y, x),
            0x095 => store!(op, 0x95, a, x),
            0x096 => store!(op, 0x96, x, y),
            0x091 => store_in_ram!(0x91, 2, board.ram.pointer(op.operand), y),
            0x099 => store_in_ram!(0x99, 3, op.operand, y),
            0x09d => store_in_ram!(0x9d, 3, op.operand, x),

            0x106 => modify!(op, 0x06, asl),
            0x126 => modify!(op, 0x26, rol),
            0x146 => modify!(op, 0x46, lsr),
            0x166 => modify!(op, 0x66, ror),
            0x1c6 => modify!(op, 0xc6, dec),
            0x1c7 => modify!(op, 0xc7, dcp),
            0x1e6 => modify!(op, 0xe6, inc),
            0x0d6 => modify!(op, 0xd6, dec, zero_page_x),
            0x0f6 => modify!(op, 0xf6, inc, zero_page_x),
            0x00a => implied!(0x0a, registers.a = registers.asl(registers.a)),
            0x02a => implied!(0x2a, registers.a = registers.rol(registers.a)),
            0x04a => implied!(0x4a, registers.a = registers.lsr(registers.a)),
            0x06a => implied!(0x6a, registers.a = registers.ror(registers.a)),

            0x018 => implied!(0x18, registers.carry = false),
            0x038 => implied!(0x38, registers.carry = true),
            0x0d8 => implied!(0xd8, registers.decimal = false),
            0x0f8 => implied!(0xf8, registers.decimal = true),
            0x088 => implied!(0x88, registers.y = registers.dec(registers.y)),
            0x0c8 => implied!(0xc8, registers.y = registers.inc(registers.y)),
            0x0ca => implied!(0xca, registers.x = registers.dec(registers.x)),
            0x0e8 => implied!(0xe8, registers.x = registers.inc(registers.x)),
            0x08a => implied!(0x8a, registers.lda(registers.x)),
            0x098 => implied!(0x98, registers.lda(registers.y)),
            0x0a8 => implied!(0xa8, registers.ldy(registers.a)),
            0x0aa => implied!(0xaa, registers.ldx(registers.a)),
            0x09a => implied!(0x9a, registers.s = registers.x),
            0x0ba => implied!(0xba, registers.ldx(registers.s)),
            0x0ea => {
                count!(0xea, 1);
            }

            0x04c => {
                count!(0x4c);
                jump!(op.operand);
            }
            0x020 => {
                // Both bytes must go to RAM.
                if registers.s <= 0x80 {
                    break;
                }
                count!(0x20);
                let [low, high] = (slot as u16).wrapping_add(mirror).wrapping_add(2).to_le_bytes();
                board.ram.set(u16::from(registers.s), high);
                board.ram.set(u16::from(registers.s - 1), low);
                registers.s -= 2;
                jump!(op.operand);
            }
            0x060 => {
                // Both bytes must come from RAM; the byte before the next instruction is read as well.
                if !(0x80..0xfe).contains(&registers.s) {
                    break;
                }
                let before = board.ram.pointer(u16::from(registers.s + 1));
                let target = before.wrapping_add(1);
                if !board.cartridge.is_plain_address(before) || target & 0x1000 == 0 {
                    break;
                }
                count!(0x60);
                registers.s += 2;
                jump!(target);
            }
            0x008 => implied!(0x08, {
                write!(0x100 | u16::from(registers.s), registers.status());
                registers.s = registers.s.wrapping_sub(1);
            }),
            0x048 => implied!(0x48, {
                write!(0x100 | u16::from(registers.s), registers.a);
                registers.s = registers.s.wrapping_sub(1);
            }),
            0x028 => {
                if !(0x80..0xff).contains(&registers.s) {
                    break;
                }
                count!(0x28, 1);
                registers.s += 1;
                registers.set_status(board.ram.get(u16::from(registers.s)));
            }
            0x068 => {
                if !(0x80..0xff).contains(&registers.s) {
                    break;
                }
                count!(0x68, 1);
                registers.s += 1;
                registers.lda(board.ram.get(u16::from(registers.s)));
            }
            _ => break,
        }
    }
    board.registers = registers;
    let count = time as u16;
    let left = if count == u16::MAX { STOPPED } else { i32::from(COUNT_END) - i32::from(count) };
    Resume { pc: (slot as u16).wrapping_add(mirror), cycle: cycle!(), left }
}
