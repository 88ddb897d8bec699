//! The 6507: runs instructions on a [`Board`] until one asks for a stop.
//!
//! All base cycles of an instruction are counted right after its opcode was fetched; every other access then happens at
//! that one moment, plus the extra cycles for crossed pages as they are found. There are no dummy accesses.

mod addressing;
mod arithmetic;
mod decode;
mod execute;
mod registers;

use crate::board::Board;
use execute::{Core, Resume, STOPPED, step_bytewise};
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
    let left = if board.registers.jammed { 0 } else { limit };
    let mut core = Core { pc: board.registers.pc, cycle: *cycle, noise: 0, left, board };
    while 0 < core.left {
        core.left -= 1;
        match core.board.cartridge.plain_code(core.pc) {
            Some(at) => core.step(Plain { at }),
            None => {
                let from = Resume { pc: core.pc, cycle: core.cycle, left: core.left };
                Resume { pc: core.pc, cycle: core.cycle, left: core.left } = step_bytewise(core.board, from);
            }
        }
    }
    *cycle = core.cycle;
    core.board.registers.pc = core.pc;
    if core.left == STOPPED { Halt::Requested } else { Halt::OutOfInstructions }
}

/// Where an instruction's own bytes come from.
trait Program {
    /// The byte at the program counter.
    fn next(&mut self, core: &mut Core<'_>) -> u8;

    /// The byte that comes next.
    fn peek(&self, core: &Core<'_>) -> u8;

    /// Whether bytes can be read without effect, those of the next instruction included.
    const IS_PLAIN: bool;
}

/// Bytes that can be read without effect.
struct Plain {
    at: usize,
}

impl Program for Plain {
    #[inline(always)]
    fn next(&mut self, core: &mut Core<'_>) -> u8 {
        core.noise = core.board.cartridge.code(self.at);
        self.at += 1;
        core.noise
    }

    #[inline(always)]
    fn peek(&self, core: &Core<'_>) -> u8 {
        core.board.cartridge.code(self.at)
    }

    const IS_PLAIN: bool = true;
}

/// Each byte read from the bus when its turn comes.
struct Bytewise;

impl Program for Bytewise {
    fn next(&mut self, core: &mut Core<'_>) -> u8 {
        core.read(core.pc)
    }

    fn peek(&self, core: &Core<'_>) -> u8 {
        core.noise
    }

    const IS_PLAIN: bool = false;
}
