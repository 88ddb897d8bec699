//! The console: the input of a frame in, RAM and screen out. [`Snapshot`] is its serialisable state.

use std::sync::Arc;

use sane_env::Mt19937;
use serde::{Deserialize, Serialize};

use crate::board::Board;
use crate::cartridge::{Cartridge, CartridgeKind, CartridgeState};
use crate::config::{ConsoleConfig, Input, RenderMode};
use crate::cpu::{self, Halt, Program, Registers};
use crate::frame_buffer::FrameBuffer;
use crate::ram::Ram;
use crate::riot::Riot;
use crate::tia::Tia;

/// Seed of the generator for the RAM at power-on and the timer after each reset.
const SYSTEM_SEED: u32 = 4_753_849;
/// A frame that has not ended after so many instructions is interrupted and continues in the next call.
const INSTRUCTION_CAP: i32 = 25_000;

/// Almost two years without a reset; frame arithmetic overflows only beyond four times as many.
const MAX_CYCLES: u64 = 1 << 46;
/// More rows than any screen has.
const MAX_ROWS: u32 = 1 << 16;

/// The result of [`Console::run_frame`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameReport {
    /// Lines since the frame began.
    pub lines: u32,
    /// The frame did not end; the next call continues it.
    pub partial: bool,
}

/// An Atari 2600 with a cartridge. A clone is independent and continues identically.
#[derive(Debug, Clone)]
pub struct Console {
    config: ConsoleConfig,
    board: Board,
    cycle: u64,
    partial: bool,
    random: Mt19937,
}

impl Console {
    /// A console after power-on, with pseudo-random RAM that is always the same. It must be [reset](Console::reset)
    /// before it runs.
    pub fn power_on(cartridge: Cartridge, config: ConsoleConfig) -> Self {
        let mut random = Mt19937::new(SYSTEM_SEED);
        let ram = Ram(std::array::from_fn(|_| random.next_u32() as u8));
        let timer = timer_draw(&mut random);
        let board = Board {
            registers: Registers::reset(0),
            program: Arc::new(Program::decode(&cartridge)),
            mirror: 0,
            cartridge,
            ram,
            riot: Riot::reset(timer),
            tia: Tia::reset(config),
            frame_buffer: FrameBuffer::black(config.height),
        };
        Self { config, board, cycle: 0, partial: false, random }
    }

    /// Changes the configuration; a [reset](Console::reset) must follow.
    pub fn set_config(&mut self, config: ConsoleConfig) {
        self.config = config;
    }

    pub fn config(&self) -> &ConsoleConfig {
        &self.config
    }

    /// Resets all chips. RAM is kept, and so is the fact that the last frame did not end.
    pub fn reset(&mut self) {
        self.cycle = 0;
        self.board.riot = Riot::reset(timer_draw(&mut self.random));
        self.board.tia = Tia::reset(self.config);
        self.board.frame_buffer.clear(self.config.height);
        let random = &mut self.random;
        self.board.cartridge.reset(|| random.next_u32() as u8);
        let low = self.board.read(0xfffc, 0, 0);
        let high = self.board.read(0xfffd, 0, low);
        self.board.registers = Registers::reset(u16::from_le_bytes([low, high]));
    }

    /// Runs one frame with an input.
    pub fn run_frame(&mut self, input: &Input, render: RenderMode) -> FrameReport {
        let Board { tia, riot, frame_buffer, .. } = &mut self.board;
        tia.press(input);
        riot.press(input, &self.config);
        tia.forget_repetition();
        if !self.partial {
            tia.start_frame(self.cycle);
            frame_buffer.start_frame();
        }
        frame_buffer.start_run(tia, 3 * self.cycle, render);
        let halt = cpu::run(&mut self.board, &mut self.cycle, INSTRUCTION_CAP);
        self.partial = halt == Halt::OutOfInstructions;
        let Board { tia, frame_buffer, .. } = &mut self.board;
        tia.draw_requested(frame_buffer);
        frame_buffer.end_run(tia);
        let lines = if self.partial {
            let lines = tia.lines(self.cycle);
            frame_buffer.dim_from(lines.saturating_sub(u64::from(self.config.first_line)));
            lines
        } else {
            tia.end_frame(self.cycle)
        };
        FrameReport { lines: lines as u32, partial: self.partial }
    }

    /// The 128 bytes of RAM; address $80 comes first.
    pub fn ram(&self) -> &[u8; 128] {
        &self.board.ram.0
    }

    /// Sets one of the 128 bytes of RAM; higher indices wrap around, as addresses do.
    pub fn set_ram(&mut self, index: u8, value: u8) {
        self.board.ram.0[usize::from(index & 0x7f)] = value;
    }

    /// The cartridge's own RAM; empty if it has none.
    pub fn cartridge_ram(&self) -> &[u8] {
        self.board.cartridge.ram()
    }

    /// Colour indices of the last frame, 160 per line. After a [`RenderMode::CollisionsOnly`] frame they are those of an
    /// older frame until [`Console::render_deferred`] is called.
    pub fn screen(&self) -> &[u8] {
        self.board.frame_buffer.pixels()
    }

    /// Renders the last frame if it was not, exactly as [`RenderMode::Full`] would have.
    pub fn render_deferred(&mut self) {
        self.board.frame_buffer.render_deferred();
    }

    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            config: self.config,
            kind: self.board.cartridge.kind(),
            cartridge: *self.board.cartridge.state(),
            registers: self.board.registers,
            ram: self.board.ram,
            riot: self.board.riot,
            tia: self.board.tia,
            frame_buffer: self.board.frame_buffer.clone(),
            cycle: self.cycle,
            partial: self.partial,
            random: self.random.clone(),
        }
    }

    /// Restores a snapshot of the same kind of cartridge; an error changes nothing.
    pub fn restore(&mut self, snapshot: &Snapshot) -> Result<(), SnapshotMismatch> {
        let expected = self.board.cartridge.kind();
        if snapshot.kind != expected {
            return Err(SnapshotMismatch::Cartridge { found: snapshot.kind, expected });
        }
        if !snapshot.is_valid() {
            return Err(SnapshotMismatch::Damaged);
        }
        self.config = snapshot.config;
        self.board.cartridge.set_state(snapshot.cartridge);
        self.board.registers = snapshot.registers;
        self.board.ram = snapshot.ram;
        self.board.riot = snapshot.riot;
        self.board.tia = snapshot.tia;
        self.board.frame_buffer.clone_from(&snapshot.frame_buffer);
        self.cycle = snapshot.cycle;
        self.partial = snapshot.partial;
        self.random.clone_from(&snapshot.random);
        Ok(())
    }
}

/// The state of a console without its program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    config: ConsoleConfig,
    kind: CartridgeKind,
    cartridge: CartridgeState,
    registers: Registers,
    ram: Ram,
    riot: Riot,
    tia: Tia,
    frame_buffer: FrameBuffer,
    cycle: u64,
    partial: bool,
    random: Mt19937,
}

/// Why a snapshot cannot be restored into a console.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SnapshotMismatch {
    #[error("the snapshot is of a {} cartridge, this console holds a {} one; restore it with its own game", found.name(), expected.name())]
    Cartridge { found: CartridgeKind, expected: CartridgeKind },
    #[error("the snapshot holds a state that no console can reach; it is damaged, take another one")]
    Damaged,
}

impl Snapshot {
    /// The configuration of the console it was taken from.
    pub fn config(&self) -> &ConsoleConfig {
        &self.config
    }

    /// Whether two consoles with the same program would continue identically and show the same, whichever of their frames
    /// were rendered when they were run.
    pub fn is_same_state(&self, other: &Self) -> bool {
        self.settled() == other.settled()
    }

    /// The same state, everything rendered, and without what only makes drawing faster.
    fn settled(&self) -> Self {
        let mut settled = self.clone();
        settled.frame_buffer.settle();
        settled.tia.settle();
        // Only used within a frame.
        settled.registers.data_bus = 0;
        settled
    }

    /// Whether a console can continue from this state without overflow or an index out of range.
    fn is_valid(&self) -> bool {
        self.cycle < MAX_CYCLES
            && self.config.height <= MAX_ROWS
            && self.config.first_line <= MAX_ROWS
            && self.cartridge.is_valid()
            && self.riot.is_valid(self.cycle)
            && self.tia.is_valid(self.cycle)
            && self.frame_buffer.is_valid(&self.tia, 3 * self.cycle)
    }
}

/// The timer after a reset: 25 to 99.
fn timer_draw(random: &mut Mt19937) -> u8 {
    25 + (random.next_u32() % 75) as u8
}

#[cfg(test)]
impl Console {
    pub(crate) fn board_mut(&mut self) -> &mut Board {
        &mut self.board
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use sane_env::Stream;

    /// A random program of instructions that access RAM, the chips and the program itself.
    fn program(kind: CartridgeKind, seed: u64) -> Vec<u8> {
        const PAGES: [u8; 8] = [0x00, 0x02, 0x10, 0xf0, 0xf3, 0xf7, 0xff, 0x01];
        let mut stream = Stream::named(seed, "program");
        let mut pick = |bytes: &[u8]| match stream.below(bytes.len() as u64 + 1) as usize {
            i if i < bytes.len() => bytes[i],
            _ => stream.next_u64() as u8,
        };
        let mut bytes = Vec::new();
        while bytes.len() < kind.sizes().0 {
            let opcode = match pick(&[0x85, 0xa9, 0xa5, 0xb1, 0xbd, 0xca, 0xd0, 0x20, 0x60, 0x48, 0x95, 0xc6]) {
                // Those would jam the processor.
                jam if jam & 0x1f == 0x12 || jam & 0x9f == 0x02 => 0xea,
                opcode => opcode,
            };
            bytes.extend([opcode, pick(&[0x02, 0x0d, 0x1b, 0x80, 0xff, 0x84, 0xf8, 0x2a, 0x96]), pick(&PAGES)]);
        }
        bytes.truncate(kind.sizes().0);
        bytes
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn decoded_programs_equal_the_interpreter(
            kind in prop::sample::select(CartridgeKind::ALL.to_vec()), seed in any::<u64>(), stack in any::<u8>(),
        ) {
            let cartridge = Cartridge::new(kind, &program(kind, seed)).expect("the size fits");
            let mut decoded = Console::power_on(cartridge, ConsoleConfig::default());
            decoded.reset();
            decoded.board.registers.s = stack;
            let mut interpreted = decoded.clone();
            interpreted.board.program = Arc::new(Program::interpreted());
            for frame in 0..6 {
                let input = Input { fire: frame % 2 == 0, ..Input::default() };
                let mode = if frame % 3 == 0 { RenderMode::Full } else { RenderMode::CollisionsOnly };
                prop_assert_eq!(decoded.run_frame(&input, mode), interpreted.run_frame(&input, mode));
                // Only used within a frame.
                decoded.board.registers.data_bus = interpreted.board.registers.data_bus;
                prop_assert!(decoded.snapshot() == interpreted.snapshot(), "frame {}", frame);
            }
        }

        #[test]
        fn a_state_is_the_same_whether_its_frames_were_rendered_or_not(
            kind in prop::sample::select(CartridgeKind::ALL.to_vec()), seed in any::<u64>(), unseen in any::<u8>(),
        ) {
            let cartridge = Cartridge::new(kind, &program(kind, seed)).expect("the size fits");
            let mut seen = Console::power_on(cartridge, ConsoleConfig::default());
            seen.reset();
            let mut partly_seen = seen.clone();
            for frame in 0..8 {
                let input = Input { fire: frame % 3 == 0, ..Input::default() };
                let mode = if unseen >> frame & 1 == 0 { RenderMode::Full } else { RenderMode::CollisionsOnly };
                prop_assert_eq!(seen.run_frame(&input, RenderMode::Full), partly_seen.run_frame(&input, mode));
                prop_assert!(seen.snapshot().is_same_state(&partly_seen.snapshot()), "frame {}", frame);
            }
            partly_seen.set_ram(5, !seen.ram()[5]);
            prop_assert!(!seen.snapshot().is_same_state(&partly_seen.snapshot()));
        }
    }
}
