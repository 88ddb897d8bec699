//! The 6507: runs instructions on a [`Board`] until a write ends the frame or the limit is reached.
//!
//! All base cycles of an instruction are counted right after its opcode is fetched; every other access happens at that
//! clock, plus the extra cycles of page crossings as they are found. There are no dummy accesses.
//!
//! ```text
//! decode.rs     program → decoded instructions, once    interpreter.rs, opcodes.rs   any instruction, from its bytes
//! handlers.rs   decoded instructions, each calls the next    registers.rs            registers, flags, arithmetic
//! ```

mod decode;
mod handlers;
mod interpreter;
mod opcodes;
mod registers;

use std::sync::Arc;

use crate::board::Board;
pub(crate) use decode::Program;
use handlers::run_decoded;
use interpreter::{Resume, STOPPED, step};
pub(crate) use registers::Registers;

/// The position of a write in its instruction; WSYNC depends on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WriteKind {
    /// The only write, after a read.
    Single,
    /// The first of several pushes, after a read.
    FirstPush,
    /// A push right after another push.
    LaterPush,
}

/// The effect of a write on the processor: none, or the cycle at which it resumes and whether the frame ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WriteEffect(u64);

impl WriteEffect {
    pub const NONE: WriteEffect = WriteEffect(0);
    const STOP: u64 = 1 << 63;

    /// The processor is halted until a cycle.
    #[inline(always)]
    pub fn wait(until: u64) -> Self {
        WriteEffect(until)
    }

    /// Also ends the frame; the write was at `cycle`.
    #[inline(always)]
    pub fn and_stop(self, cycle: u64) -> Self {
        WriteEffect(self.0.max(cycle) | Self::STOP)
    }

    /// The cycle at which the processor resumes.
    #[inline(always)]
    pub fn cycle(self) -> u64 {
        self.0 & !Self::STOP
    }

    /// Whether the frame ends.
    #[inline(always)]
    pub fn stops(self) -> bool {
        self.0 & Self::STOP != 0
    }
}

/// Why a run of instructions ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Halt {
    /// A write ended the frame.
    FrameEnd,
    /// The limit was reached, or the processor is jammed.
    OutOfInstructions,
}

/// Runs at most `limit` instructions and advances `cycle`.
pub(crate) fn run(board: &mut Board, cycle: &mut u64, limit: i32) -> Halt {
    board.registers.data_bus = 0;
    let program = Arc::clone(&board.program);
    let left = if board.registers.jammed { 0 } else { limit };
    let mut at = Resume { pc: board.registers.pc, cycle: *cycle, left };
    while 0 < at.left {
        if at.pc & 0x1000 != 0 {
            at = run_decoded(board, &program, at);
        }
        if 0 < at.left {
            at = step(board, at);
        }
    }
    *cycle = at.cycle;
    board.registers.pc = at.pc;
    if at.left == STOPPED { Halt::FrameEnd } else { Halt::OutOfInstructions }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cartridge::{Cartridge, CartridgeKind};
    use crate::config::ConsoleConfig;
    use crate::console::Console;

    /// Cycles of the first instruction of a program at $F0F0. NOPs and an endless loop follow, up to the same cycle whether
    /// decoded or interpreted.
    fn cycles(code: &[u8], prepare: impl Fn(&mut Board)) -> u64 {
        let mut program = vec![0xea; 4096];
        program[0xf0..][..code.len()].copy_from_slice(code);
        program[0x180..0x183].copy_from_slice(&[0x4c, 0x80, 0xf1]);
        program[0xffc..0xffe].copy_from_slice(&[0xf0, 0xf0]);
        let cartridge = Cartridge::new(CartridgeKind::K4, &program).unwrap();
        let cycles = |program: Program, limit: i32| {
            let mut console = Console::power_on(cartridge.clone(), ConsoleConfig::default());
            console.reset();
            let board = console.board_mut();
            board.program = Arc::new(program);
            prepare(board);
            let mut cycle = 0;
            run(board, &mut cycle, limit);
            cycle
        };
        let decoded = Program::decode(&cartridge);
        // The last instructions before the limit are interpreted.
        let limit = decoded.longest_run() + 1000;
        assert_eq!(cycles(decoded, limit), cycles(Program::interpreted(), limit), "{code:02x?}");
        cycles(Program::interpreted(), 1)
    }

    #[test]
    fn a_read_across_a_page_takes_one_more_cycle_and_a_store_always_does() {
        for (index, extra) in [(0, 0), (1, 1)] {
            let at = |board: &mut Board| {
                (board.registers.x, board.registers.y) = (index, index);
                board.ram.set(0x90, 0xff);
                board.ram.set(0x91, 0xf1);
            };
            assert_eq!(cycles(&[0xbd, 0xff, 0xf1], at), 4 + extra, "LDA absolute,X");
            assert_eq!(cycles(&[0xd9, 0xff, 0xf1], at), 4 + extra, "CMP absolute,Y");
            assert_eq!(cycles(&[0xb1, 0x90], at), 5 + extra, "LDA (zero page),Y");
            assert_eq!(cycles(&[0x9d, 0xff, 0xf1], at), 5, "STA absolute,X");
            assert_eq!(cycles(&[0x91, 0x90], at), 6, "STA (zero page),Y");
            assert_eq!(cycles(&[0xde, 0xff, 0xf1], at), 7, "DEC absolute,X");
        }
    }

    #[test]
    fn a_branch_takes_two_cycles_three_if_taken_and_four_into_another_page() {
        let carry = |set: bool| move |board: &mut Board| board.registers.carry = set;
        assert_eq!(cycles(&[0xb0, 0x04], carry(false)), 2);
        assert_eq!(cycles(&[0xb0, 0x04], carry(true)), 3);
        assert_eq!(cycles(&[0xb0, 0x20], carry(true)), 4);
        assert_eq!(cycles(&[0x90, 0x20], carry(true)), 2);
    }
}
