//! The 6507: runs instructions on a [`Board`] until one asks for a stop.
//!
//! All base cycles of an instruction are counted right after its opcode was fetched; every other access then happens at
//! that one moment, plus the extra cycles for crossed pages as they are found. There are no dummy accesses.
//!
//! ```text
//! decode.rs   program → decoded instructions, once      execute.rs, addressing.rs, flow.rs   any instruction, from its bytes
//! fast.rs     runs of decoded instructions              registers.rs, arithmetic.rs          what it does to registers
//! ```

mod addressing;
mod arithmetic;
mod decode;
mod execute;
mod fast;
mod flow;
mod registers;

use std::sync::Arc;

use crate::board::Board;
pub(crate) use decode::Program;
use execute::{Resume, STOPPED, step};
use fast::run_decoded;
pub(crate) use registers::Registers;

/// Where in its instruction a write stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WritePlace {
    /// The only write, after a read.
    Alone,
    /// The first of several pushes, after a read.
    FirstPush,
    /// A push right after another push.
    LaterPush,
}

/// What a write did to the processor: nothing, or from which cycle on it goes on and whether its instruction shall be the
/// last of the frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WriteEffect(u64);

impl WriteEffect {
    /// Nothing.
    pub const NONE: WriteEffect = WriteEffect(0);
    const STOP: u64 = 1 << 63;

    /// The processor was halted until a cycle.
    #[inline(always)]
    pub fn wait(until: u64) -> Self {
        WriteEffect(until)
    }

    /// The frame shall end, too; the write was at `cycle`.
    #[inline(always)]
    pub fn and_stop(self, cycle: u64) -> Self {
        WriteEffect(self.0.max(cycle) | Self::STOP)
    }

    /// The cycle at which the instruction goes on.
    #[inline(always)]
    pub fn cycle(self) -> u64 {
        self.0 & !Self::STOP
    }

    /// Whether the frame shall end.
    #[inline(always)]
    pub fn stops(self) -> bool {
        self.0 & Self::STOP != 0
    }
}

/// Why a run of instructions ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Halt {
    /// A write asked for it.
    Requested,
    /// The allowed number of instructions was executed, or the processor is jammed.
    OutOfInstructions,
}

/// Runs at most `limit` instructions. `cycle` moves on with them.
pub(crate) fn run(board: &mut Board, cycle: &mut u64, limit: i32) -> Halt {
    board.registers.wires = 0;
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
    if at.left == STOPPED { Halt::Requested } else { Halt::OutOfInstructions }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cartridge::{Cartridge, CartridgeKind};
    use crate::config::ConsoleConfig;
    use crate::console::Console;

    /// Cycles of the first instruction of a program at $F0F0, whichever way it is executed.
    fn cycles(code: &[u8], prepare: impl Fn(&mut Board)) -> u64 {
        let mut program = vec![0xea; 4096];
        program[0xf0..][..code.len()].copy_from_slice(code);
        program[0xffc..0xffe].copy_from_slice(&[0xf0, 0xf0]);
        let cartridge = Cartridge::new(CartridgeKind::K4, &program).unwrap();
        let ways = [Program::decode(&cartridge), Program::literal()].map(|program| {
            let mut console = Console::power_on(cartridge.clone(), ConsoleConfig::default());
            console.reset();
            let board = console.board_mut();
            board.program = Arc::new(program);
            prepare(board);
            // Two instructions, since the fast way leaves the last one to the other; NOPs follow.
            let mut cycle = 0;
            run(board, &mut cycle, 2);
            cycle - 2
        });
        assert_eq!(ways[0], ways[1], "{code:02x?}");
        ways[0]
    }

    #[test]
    fn a_read_across_a_page_takes_one_cycle_more_and_a_store_always_takes_it() {
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
