//! The console: one frame of input in, RAM and a picture out. A clone is a complete snapshot.

use std::sync::Arc;

use sane_env::Mt19937;
use serde::{Deserialize, Serialize};

use crate::board::Board;
use crate::cartridge::{Cartridge, CartridgeKind, CartridgeState};
use crate::config::{ConsoleConfig, Input, PictureMode};
use crate::cpu::{self, Halt, Program, Registers};
use crate::film::Film;
use crate::memory::Memory;
use crate::riot::Riot;
use crate::tia::Tia;

/// Seed of the generator behind the RAM's first contents and the timer after each reset.
const SYSTEM_SEED: u32 = 4_753_849;
/// A frame that has not ended after so many instructions is broken off and goes on in the next call.
const INSTRUCTION_CAP: i32 = 25_000;

/// Almost two years without a reset; the arithmetic of a frame has room for four times as many.
const CYCLES_AT_MOST: u64 = 1 << 46;
/// More rows than any picture has.
const ROWS_AT_MOST: u32 = 1 << 16;

/// What [`Console::run_frame`] tells about the frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameReport {
    /// Lines since the frame began.
    pub lines: u32,
    /// The frame did not end; the next call goes on with it.
    pub partial: bool,
}

/// An Atari 2600 with a cartridge in it.
#[derive(Debug, Clone)]
pub struct Console {
    config: ConsoleConfig,
    board: Board,
    cycle: u64,
    partial: bool,
    random: Mt19937,
}

impl Console {
    /// A console that was just switched on: RAM is random, always the same. It must be [reset](Console::reset) before
    /// it runs.
    pub fn power_on(cartridge: Cartridge, config: ConsoleConfig) -> Self {
        let mut random = Mt19937::new(SYSTEM_SEED);
        let ram = Memory(std::array::from_fn(|_| random.next_u32() as u8));
        let timer = timer_draw(&mut random);
        let board = Board {
            registers: Registers::reset(0),
            program: Arc::new(Program::decode(&cartridge)),
            cartridge,
            ram,
            riot: Riot::reset(timer),
            tia: Tia::reset(config),
            film: Film::black(config.height),
        };
        Self { config, board, cycle: 0, partial: false, random }
    }

    /// Changes the set-up; a [reset](Console::reset) has to follow.
    pub fn set_config(&mut self, config: ConsoleConfig) {
        self.config = config;
    }

    /// The set-up.
    pub fn config(&self) -> &ConsoleConfig {
        &self.config
    }

    /// Resets all chips. RAM keeps its contents, and so does the knowledge that the last frame did not end.
    pub fn reset(&mut self) {
        self.cycle = 0;
        self.board.riot = Riot::reset(timer_draw(&mut self.random));
        self.board.tia = Tia::reset(self.config);
        self.board.film.clear(self.config.height);
        let random = &mut self.random;
        self.board.cartridge.reset(|| random.next_u32() as u8);
        let low = self.board.read(0xfffc, 0, 0);
        let high = self.board.read(0xfffd, 0, low);
        self.board.registers = Registers::reset(u16::from_le_bytes([low, high]));
    }

    /// Runs one frame while the input is held.
    pub fn run_frame(&mut self, input: &Input, picture: PictureMode) -> FrameReport {
        let Board { tia, riot, film, .. } = &mut self.board;
        tia.press(input);
        riot.press(input, &self.config);
        tia.forget_repetition();
        if !self.partial {
            tia.start_frame(self.cycle);
            film.start_frame();
        }
        film.start_run(tia, 3 * self.cycle, picture);
        let halt = cpu::run(&mut self.board, &mut self.cycle, INSTRUCTION_CAP);
        self.partial = halt == Halt::OutOfInstructions;
        let Board { tia, film, .. } = &mut self.board;
        tia.draw_what_was_asked(film);
        film.end_run(tia);
        let lines = if self.partial {
            let lines = tia.lines(self.cycle);
            film.dim_from(lines.saturating_sub(u64::from(self.config.first_line)));
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

    /// The cartridge's own RAM; empty if it has none.
    pub fn cartridge_ram(&self) -> &[u8] {
        self.board.cartridge.ram()
    }

    /// Colour indices of the frame just run, 160 per line. After a [`PictureMode::CollisionsOnly`] frame they are those
    /// of an older picture until [`Console::develop`] is called.
    pub fn screen(&self) -> &[u8] {
        self.board.film.pixels()
    }

    /// Colours the frame just run if it was not, exactly as if it had been.
    pub fn develop(&mut self) {
        self.board.film.develop();
    }

    /// Everything but the program.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot {
            config: self.config,
            kind: self.board.cartridge.kind(),
            cartridge: *self.board.cartridge.state(),
            registers: self.board.registers,
            ram: self.board.ram,
            riot: self.board.riot,
            tia: self.board.tia,
            film: self.board.film.clone(),
            cycle: self.cycle,
            partial: self.partial,
            random: self.random.clone(),
        }
    }
}

#[cfg(test)]
impl Console {
    pub(crate) fn board_mut(&mut self) -> &mut Board {
        &mut self.board
    }
}

/// 25 to 99.
fn timer_draw(random: &mut Mt19937) -> u8 {
    25 + (random.next_u32() % 75) as u8
}

/// A saved console without its program.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Snapshot {
    config: ConsoleConfig,
    kind: CartridgeKind,
    cartridge: CartridgeState,
    registers: Registers,
    ram: Memory,
    riot: Riot,
    tia: Tia,
    film: Film,
    cycle: u64,
    partial: bool,
    random: Mt19937,
}

/// A snapshot that does not belong to this console.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SnapshotMismatch {
    /// It was taken from a console with another kind of cartridge.
    #[error("the snapshot is of a {} cartridge, this console holds a {} one; restore it with its own game", found.name(), expected.name())]
    Cartridge {
        /// The kind in the snapshot.
        found: CartridgeKind,
        /// The kind in the console.
        expected: CartridgeKind,
    },
    /// It holds something that no console can come to.
    #[error("the snapshot holds a state that no console can come to; it is damaged, take another one")]
    Damaged,
}

impl Snapshot {
    /// Whether a console could have come to this state, as far as going on from it depends on that.
    fn is_sound(&self) -> bool {
        self.cycle < CYCLES_AT_MOST
            && self.config.height <= ROWS_AT_MOST
            && self.config.first_line <= ROWS_AT_MOST
            && self.cartridge.is_sound()
            && self.riot.is_sound(self.cycle)
            && self.tia.is_sound(self.cycle)
            && self.film.is_sound(&self.tia, 3 * self.cycle)
    }
}

impl Console {
    /// Goes on from a snapshot, bit for bit.
    pub fn restore(&mut self, snapshot: &Snapshot) -> Result<(), SnapshotMismatch> {
        let expected = self.board.cartridge.kind();
        if snapshot.kind != expected {
            return Err(SnapshotMismatch::Cartridge { found: snapshot.kind, expected });
        }
        if !snapshot.is_sound() {
            return Err(SnapshotMismatch::Damaged);
        }
        self.config = snapshot.config;
        self.board.cartridge.set_state(snapshot.cartridge);
        self.board.registers = snapshot.registers;
        self.board.ram = snapshot.ram;
        self.board.riot = snapshot.riot;
        self.board.tia = snapshot.tia;
        self.board.film.clone_from(&snapshot.film);
        self.cycle = snapshot.cycle;
        self.partial = snapshot.partial;
        self.random.clone_from(&snapshot.random);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use sane_env::Stream;

    /// A program of instructions that reach RAM, the chips and the program itself, in a random order.
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
                // Those would stop the processor for good.
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
        fn decoded_instructions_do_what_their_bytes_do(
            kind in prop::sample::select(CartridgeKind::ALL.to_vec()), seed in any::<u64>(), stack in any::<u8>(),
        ) {
            let cartridge = Cartridge::new(kind, &program(kind, seed)).expect("the size fits");
            let mut decoded = Console::power_on(cartridge, ConsoleConfig::default());
            decoded.reset();
            decoded.board.registers.s = stack;
            let mut literal = decoded.clone();
            literal.board.program = Arc::new(Program::literal());
            for frame in 0..6 {
                let input = Input { fire: frame % 2 == 0, ..Input::default() };
                let mode = if frame % 3 == 0 { PictureMode::Coloured } else { PictureMode::CollisionsOnly };
                prop_assert_eq!(decoded.run_frame(&input, mode), literal.run_frame(&input, mode));
                // Only used within a frame.
                decoded.board.registers.wires = literal.board.registers.wires;
                prop_assert!(decoded.snapshot() == literal.snapshot(), "frame {}", frame);
            }
        }
    }
}
