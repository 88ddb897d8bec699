//! The layer of the Arcade Learning Environment over the console: loading, the reset procedure, acting with sticky
//! actions and frame skip, lives, the end, truncation. In: [`Joystick`] actions; out: rewards, RAM, screens.
//!
//! It equals ale-py 0.12.1 in every byte of RAM and screen and in every reward: `docs/atari.md` says how that is shown.

mod screen;
mod settings;
mod snapshot;

pub use settings::{AleError, LifeLoss, Settings};
pub use snapshot::AleSnapshot;

use crate::action::Joystick;
use crate::game::{Game, Port};
use crate::memory::Memory;
use crate::mode_select;
use crate::rules::{LivesAtEnd, Opening, Tally};
use sane_env::Mt19937;
use sane_vcs::{Cartridge, Console, ConsoleConfig, Controller, Input, PictureMode, TvFormat};
use serde::{Deserialize, Serialize};

const DETECTION_FRAMES: u32 = 60;
const LINES_OF_A_PAL_FRAME: u32 = 286;
const PAL_FRAMES_NEEDED: u32 = 15;
const NOOP_FRAMES_AT_RESET: u32 = 60;
const SOFT_RESET_FRAMES: u32 = 4;
/// Both switches at B, even in the one game that then has no such difficulty to offer.
const DIFFICULTY_AT_LOAD: u32 = 0;
const PADDLE_MIN: i32 = 27_450;
const PADDLE_TURN: i32 = 23_000;
/// Pictures of resets are made only if somebody looks at the last one.
const UNSEEN: PictureMode = PictureMode::CollisionsOnly;

/// A loaded game. `Clone` is a full copy that continues on its own.
#[derive(Debug, Clone)]
pub struct Ale {
    game: &'static Game,
    settings: Settings,
    tv: TvFormat,
    console: Console,
    play: Play,
}

/// Everything this layer adds to the console's state.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Play {
    tally: Tally,
    mode: u32,
    difficulty: u32,
    held: Joystick,
    paddles: [i32; 2],
    frames: u64,
    episode_frames: u64,
    generator: Mt19937,
}

impl Ale {
    /// Puts the cartridge in, finds out the television standard by running 60 frames, and resets the game once.
    pub fn load(game: &'static Game, rom: &[u8], settings: Settings) -> Result<Self, AleError> {
        let cartridge =
            Cartridge::new(game.cartridge, rom).map_err(|source| AleError::Cartridge { game: game.name, source })?;
        let mut config = ConsoleConfig {
            tv: TvFormat::Ntsc,
            first_line: game.first_line,
            height: 210,
            hmove_comb: game.hmove_comb,
            controller: match game.port {
                Port::Joystick | Port::JoystickOnTheRight => Controller::Joystick,
                Port::Paddles => Controller::Paddles { swapped: false },
                Port::PaddlesSwapped => Controller::Paddles { swapped: true },
            },
            swapped_ports: game.port == Port::JoystickOnTheRight,
        };
        let mut console = Console::power_on(cartridge, config);
        console.reset();
        config.tv = detect_tv(&mut console, game);
        config.height = game.height;
        console.set_config(config);
        console.reset();

        let generator = Mt19937::new(settings.seed);
        let play = Play {
            tally: game.rules.first,
            mode: game.modes[0],
            difficulty: DIFFICULTY_AT_LOAD,
            held: Joystick::NOOP,
            paddles: [0; 2],
            frames: 0,
            episode_frames: 0,
            generator,
        };
        let mut ale = Self { game, settings, tv: config.tv, console, play };
        ale.reset_game();
        Ok(ale)
    }

    /// Starts an episode: 60 frames of nothing, RESET, the mode, RESET again, and the game's own opening.
    pub fn reset_game(&mut self) {
        self.play.episode_frames = 0;
        self.play.paddles = [(PADDLE_MIN + self.game.rules.paddle_max) / 2; 2];
        self.console.reset();
        for _ in 0..NOOP_FRAMES_AT_RESET {
            self.frame(Joystick::NOOP, UNSEEN);
        }
        self.soft_reset();
        self.play.tally = Tally { mode: self.play.mode as i32, ..self.game.rules.first };
        mode_select::choose_mode(self);
        self.soft_reset();
        for &opening in self.game.rules.opening {
            match opening {
                Opening::Hold(action, times) => (0..times).for_each(|_| self.frame(action, UNSEEN)),
                Opening::Reset => self.reset_frame(),
            }
        }
        self.develop();
    }

    /// Holds `action` for the frames of one step and returns the sum of their rewards.
    pub fn act(&mut self, action: Joystick) -> i32 {
        (0..self.settings.frame_skip).map(|_| self.act_frame(action, PictureMode::Coloured)).sum()
    }

    /// One frame of a step, with its two draws for sticky actions; nothing happens after the end.
    pub fn act_frame(&mut self, action: Joystick, picture: PictureMode) -> i32 {
        let [take_new, _second_player] = [(); 2].map(|()| f64::from(self.play.generator.next_u32()) / 4_294_967_296.0);
        if f64::from(self.settings.repeat_action_probability) <= take_new {
            self.play.held = action;
        }
        if self.game_over() {
            return 0;
        }
        let legal = if self.game.may_fire || !self.play.held.fires() { self.play.held } else { Joystick::NOOP };
        self.frame(legal, picture);
        self.play.frames += 1;
        self.play.episode_frames += 1;
        self.play.tally.reward
    }

    /// The game.
    pub fn game(&self) -> &'static Game {
        self.game
    }

    /// What was set when it was loaded.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Lives left; 0 in games that have none and, in most games, after the end.
    pub fn lives(&self) -> i32 {
        match self.game.rules.lives_at_end {
            LivesAtEnd::Zero if self.play.tally.over => 0,
            _ => self.play.tally.lives,
        }
    }

    /// Whether the episode has ended, by the game or by a limit.
    pub fn game_over(&self) -> bool {
        self.is_terminal() || self.is_truncated()
    }

    /// Whether the game itself is over.
    pub fn is_terminal(&self) -> bool {
        self.play.tally.over
    }

    /// Whether a limit has cut the episode.
    pub fn is_truncated(&self) -> bool {
        let too_long = self.settings.max_episode_frames.is_some_and(|limit| limit <= self.play.episode_frames);
        let life_lost = self.settings.life_loss == LifeLoss::Truncates && self.lives() < self.game.rules.first.lives;
        too_long || life_lost
    }

    /// Frames since loading, without those of resets.
    pub fn frame_number(&self) -> u64 {
        self.play.frames
    }

    /// Frames since the last reset.
    pub fn episode_frame_number(&self) -> u64 {
        self.play.episode_frames
    }

    /// The game mode.
    pub fn mode(&self) -> u32 {
        self.play.mode
    }

    /// Chooses a mode; it takes effect at the next reset.
    pub fn set_mode(&mut self, mode: u32) -> Result<(), AleError> {
        if !self.game.modes.contains(&mode) {
            let available = self.game.modes.clone();
            return Err(AleError::NoSuchMode { game: self.game.name, asked: mode, available });
        }
        self.play.mode = mode;
        Ok(())
    }

    /// The difficulty: bit 0 is the left switch, bit 1 the right one.
    pub fn difficulty(&self) -> u32 {
        self.play.difficulty
    }

    /// Sets the difficulty switches; they are read from the next frame on.
    pub fn set_difficulty(&mut self, difficulty: u32) -> Result<(), AleError> {
        if !self.game.difficulties.contains(&difficulty) {
            let available = self.game.difficulties.clone();
            return Err(AleError::NoSuchDifficulty { game: self.game.name, asked: difficulty, available });
        }
        self.play.difficulty = difficulty;
        Ok(())
    }

    /// The 128 bytes of RAM.
    pub fn ram(&self) -> &[u8; 128] {
        self.console.ram()
    }

    pub(crate) fn memory(&self) -> Memory<'_> {
        Memory::new(self.console.ram(), self.console.cartridge_ram())
    }

    pub(crate) fn generator(&mut self) -> &mut Mt19937 {
        &mut self.play.generator
    }

    /// SELECT for so many frames, unseen by the rules, then one frame of nothing.
    pub(crate) fn press_select(&mut self, hold: u32) {
        let input = Input { select: true, ..self.switches() };
        for _ in 0..hold {
            self.console.run_frame(&input, UNSEEN);
        }
        self.frame(Joystick::NOOP, UNSEEN);
        self.play.frames += 1;
        self.play.episode_frames += 1;
    }

    /// An act of the player, draws included, whose picture nobody sees.
    pub(crate) fn act_unseen(&mut self, action: Joystick) {
        self.act_frame(action, UNSEEN);
    }

    /// The RESET switch for four frames.
    pub(crate) fn soft_reset(&mut self) {
        for _ in 0..SOFT_RESET_FRAMES {
            self.reset_frame();
        }
        self.play.held = Joystick::NOOP;
    }

    fn reset_frame(&mut self) {
        let input = Input { reset: true, ..self.switches() };
        self.console.run_frame(&input, UNSEEN);
        self.watch();
    }

    fn frame(&mut self, action: Joystick, picture: PictureMode) {
        self.turn_paddle(action);
        let mut input = self.switches();
        action.press(&mut input);
        self.console.run_frame(&input, picture);
        self.watch();
    }

    fn watch(&mut self) {
        let memory = Memory::new(self.console.ram(), self.console.cartridge_ram());
        (self.game.rules.watch)(memory, &mut self.play.tally);
    }

    fn turn_paddle(&mut self, action: Joystick) {
        let turn = if action.is_right() {
            -PADDLE_TURN
        } else if action.is_left() {
            PADDLE_TURN
        } else {
            return;
        };
        self.play.paddles[0] = (self.play.paddles[0] + turn).clamp(PADDLE_MIN, self.game.rules.paddle_max);
    }

    fn switches(&self) -> Input {
        Input {
            left_difficulty_a: self.play.difficulty & 1 != 0,
            right_difficulty_a: self.play.difficulty & 2 != 0,
            paddles: self.play.paddles,
            ..Input::default()
        }
    }
}

/// Half a second of long frames in the second half of the first second means PAL.
fn detect_tv(console: &mut Console, game: &Game) -> TvFormat {
    let [left, right] = game.switches_at_load;
    let input = Input { left_difficulty_a: left, right_difficulty_a: right, ..Input::default() };
    let long_frames = (0..DETECTION_FRAMES)
        .map(|i| (i, console.run_frame(&input, UNSEEN).lines))
        .filter(|&(i, lines)| DETECTION_FRAMES / 2 <= i && LINES_OF_A_PAL_FRAME <= lines)
        .count();
    if PAL_FRAMES_NEEDED as usize <= long_frames { TvFormat::Pal } else { TvFormat::Ntsc }
}
