//! The 6507: runs instructions on a [`Bus`] until one asks for a stop.
//!
//! All base cycles of an instruction are counted right after its opcode was fetched; every other access then happens at
//! that one moment, plus the extra cycles for crossed pages as they are found. There are no dummy accesses.

mod addressing;
mod arithmetic;
mod decode;
mod execute;
mod registers;

use execute::Core;
pub(crate) use registers::Registers;

/// What the processor is wired to. `cycle` is the moment of the access.
pub(crate) trait Bus {
    /// Four bytes of program from an address on, if reading them has no effect but to deliver them.
    fn prefetch(&self, address: u16) -> Option<u32>;

    /// How many reads of the timer, the first at `cycle` and the others `period` cycles apart, will all find it running
    /// and neither at zero nor above 127.
    fn timer_reads_before_zero(&self, cycle: u64, period: u64) -> u64;

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
    let mut stopped = false;
    let mut core = Core::new(registers, bus, *cycle, limit, &mut stopped);
    while 0 < core.left {
        core.left -= 1;
        match core.bus.prefetch(core.registers.busy.pc) {
            Some(bytes) => core.step(Prefetched(bytes)),
            None => core.step_slowly(),
        }
    }
    let busy = core.registers.busy;
    *cycle = core.cycle;
    registers.busy = busy;
    if stopped { Halt::Requested } else { Halt::OutOfInstructions }
}

/// Where an instruction's own bytes come from.
trait Program {
    /// The byte at the program counter.
    fn next<B: Bus>(&mut self, core: &mut Core<'_, B>) -> u8;

    /// Whether loops that wait for the timer may be run through at once.
    const CAN_SKIP_WAITS: bool;
}

/// Bytes read beforehand, next one lowest.
struct Prefetched(u32);

impl Program for Prefetched {
    #[inline(always)]
    fn next<B: Bus>(&mut self, core: &mut Core<'_, B>) -> u8 {
        let byte = self.0 as u8;
        self.0 >>= 8;
        core.noise = byte;
        byte
    }

    const CAN_SKIP_WAITS: bool = true;
}

/// Each byte read from the bus when its turn comes.
struct Bytewise;

impl Program for Bytewise {
    fn next<B: Bus>(&mut self, core: &mut Core<'_, B>) -> u8 {
        core.read(core.registers.busy.pc)
    }

    const CAN_SKIP_WAITS: bool = false;
}
