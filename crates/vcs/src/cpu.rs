//! The 6507: runs instructions on a [`Bus`] until one asks for a stop.
//!
//! All base cycles of an instruction are counted right after its opcode was fetched; every other access then happens at
//! that one moment, plus the extra cycles for crossed pages as they are found. There are no dummy accesses.

mod addressing;
mod arithmetic;
mod decode;
mod execute;
mod registers;

pub(crate) use registers::Registers;

/// What the processor is wired to. `cycle` is the moment of the access.
pub(crate) trait Bus {
    /// Reads a byte; `noise` is the byte that was on the wires before, which undriven bits keep.
    fn read(&mut self, address: u16, cycle: u64, noise: u8) -> u8;

    /// Writes a byte.
    fn write(&mut self, address: u16, value: u8, cycle: u64, place: WritePlace) -> AfterWrite;
}

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

/// What a write did to the processor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AfterWrite {
    /// The moment at which the instruction goes on: later than the write if the processor was halted.
    pub cycle: u64,
    /// This instruction shall be the last of the frame.
    pub stop: bool,
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
pub(crate) fn run<B: Bus>(registers: &mut Registers, bus: &mut B, cycle: &mut u64, limit: u32) -> Halt {
    let mut core = execute::Core::new(*registers, bus, *cycle);
    let mut left = limit;
    let mut halt = Halt::OutOfInstructions;
    while 0 < left && !core.registers.jammed {
        left -= 1;
        core.step();
        if core.stop {
            halt = Halt::Requested;
            break;
        }
    }
    *registers = core.registers;
    *cycle = core.cycle;
    halt
}
