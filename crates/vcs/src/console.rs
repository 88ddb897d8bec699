//! The console: one frame of input in, RAM and a picture out. A clone is a complete snapshot.

use sane_env::Mt19937;
use serde::{Deserialize, Serialize};

use crate::board::Board;
use crate::cartridge::{Cartridge, CartridgeKind, CartridgeState};
use crate::config::{ConsoleConfig, Input, PictureMode};
use crate::cpu::{self, Halt, Registers};
use crate::film::Film;
use crate::memory::Memory;
use crate::riot::Riot;
use crate::tia::Tia;

/// Seed of the generator behind the RAM's first contents and the timer after each reset.
const SYSTEM_SEED: u32 = 4_753_849;
/// A frame that has not ended after so many instructions is broken off and goes on in the next call.
const INSTRUCTION_CAP: i32 = 25_000;

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
}

impl Console {
    /// Goes on from a snapshot, bit for bit.
    pub fn restore(&mut self, snapshot: &Snapshot) -> Result<(), SnapshotMismatch> {
        let expected = self.board.cartridge.kind();
        if snapshot.kind != expected {
            return Err(SnapshotMismatch::Cartridge { found: snapshot.kind, expected });
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
