//! The Arcade Learning Environment's layer over the console: loading, the reset procedure, sticky actions, lives, game
//! over, truncation. In: [`Joystick`] actions; out: rewards, RAM, screens.
//!
//! RAM, screen and reward equal those of ale-py 0.12.1 in every byte; `docs/atari.md` says how that is tested.

use crate::game::{Game, Port};
use crate::joystick::Joystick;
use crate::mode_select::select_mode;
use crate::ram_view::RamView;
use crate::rules::{GameStatus, LivesAtEnd, StartAction};
use sane_env::Mt19937;
use sane_vcs::{
    Cartridge, CartridgeError, Console, ConsoleConfig, Controller, Input, RenderMode, Snapshot, SnapshotMismatch,
    TvFormat, palette,
};
use serde::{Deserialize, Serialize};

const DETECTION_FRAMES: u32 = 60;
const PAL_FRAME_LINES: u32 = 286;
const PAL_FRAMES_NEEDED: u32 = 15;
const NOOP_FRAMES_AT_RESET: u32 = 60;
const SOFT_RESET_FRAMES: u32 = 4;
/// Both switches at B, even in backgammon, which does not offer that difficulty.
const DIFFICULTY_AT_LOAD: u32 = 0;
const PADDLE_MIN: i32 = 27_450;
const PADDLE_TURN: i32 = 23_000;
/// Frames of a reset are not rendered; the last one is, afterwards.
const UNSEEN: RenderMode = RenderMode::CollisionsOnly;

/// What is set before a game is loaded. The default is ALE's, without sticky actions.
#[derive(Debug, Clone, PartialEq)]
pub struct AleSettings {
    /// Seed of the generator for sticky actions and for Adventure's mode selection.
    pub seed: u32,
    /// Probability that a frame repeats the previous action instead of taking the new one.
    pub repeat_action_probability: f32,
    /// Frames per [`Ale::act`].
    pub frame_skip: u32,
    /// Frames after which an episode is truncated.
    pub max_episode_frames: Option<u64>,
    pub life_loss: LifeLoss,
}

/// What a lost life does to the episode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LifeLoss {
    Continues,
    /// The episode is truncated as soon as there are fewer lives than at the start.
    Truncates,
}

impl Default for AleSettings {
    fn default() -> Self {
        Self {
            seed: 0,
            repeat_action_probability: 0.0,
            frame_skip: 1,
            max_episode_frames: None,
            life_loss: LifeLoss::Continues,
        }
    }
}

/// A ROM, mode or difficulty that the game does not accept.
#[derive(Debug, thiserror::Error)]
pub enum AleError {
    #[error("{game}: {source}")]
    Cartridge { game: &'static str, source: CartridgeError },
    #[error("{game} has no mode {asked}; it has {}", listed(.available))]
    NoSuchMode { game: &'static str, asked: u32, available: Vec<u32> },
    #[error("{game} has no difficulty {asked}; it has {}", listed(.available))]
    NoSuchDifficulty { game: &'static str, asked: u32, available: Vec<u32> },
}

fn listed(numbers: &[u32]) -> String {
    numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}

/// A loaded game. A clone is independent and continues identically.
#[derive(Debug, Clone)]
pub struct Ale {
    game: &'static Game,
    settings: AleSettings,
    tv: TvFormat,
    console: Console,
    state: AleState,
}

/// What this layer adds to the console's state.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
struct AleState {
    status: GameStatus,
    mode: u32,
    difficulty: u32,
    /// The action that a sticky frame repeats.
    held: Joystick,
    paddles: [i32; 2],
    frames: u64,
    episode_frames: u64,
    generator: Mt19937,
}

/// The state of an [`Ale`] without ROM and settings. Restored into any `Ale` of the same game it continues bit for bit.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct AleSnapshot {
    console: Snapshot,
    state: AleState,
}

impl AleSnapshot {
    /// Whether two snapshots of one game are of the same moment, whichever of their screens were rendered.
    pub fn is_same_state(&self, other: &Self) -> bool {
        self.state == other.state && self.console.is_same_state(&other.console)
    }
}

impl Ale {
    /// Inserts the cartridge, detects the television standard by running 60 frames, and resets the game once.
    pub fn load(game: &'static Game, rom: &[u8], settings: AleSettings) -> Result<Self, AleError> {
        let cartridge =
            Cartridge::new(game.cartridge, rom).map_err(|source| AleError::Cartridge { game: game.name, source })?;
        let mut config = ConsoleConfig {
            tv: TvFormat::Ntsc,
            first_line: game.first_line,
            height: 210,
            hmove_comb: game.hmove_comb,
            controller: match game.port {
                Port::LeftJoystick | Port::RightJoystick => Controller::Joystick,
                Port::Paddles => Controller::Paddles { swapped: false },
                Port::PaddlesSwapped => Controller::Paddles { swapped: true },
            },
            swapped_ports: game.port == Port::RightJoystick,
        };
        let mut console = Console::power_on(cartridge, config);
        console.reset();
        config.tv = detect_tv(&mut console, game);
        config.height = game.height;
        console.set_config(config);
        console.reset();

        let generator = Mt19937::new(settings.seed);
        let state = AleState {
            status: game.rules.initial,
            mode: game.modes[0],
            difficulty: DIFFICULTY_AT_LOAD,
            held: Joystick::NOOP,
            paddles: [0; 2],
            frames: 0,
            episode_frames: 0,
            generator,
        };
        let mut ale = Self { game, settings, tv: config.tv, console, state };
        ale.reset_game();
        Ok(ale)
    }

    /// Starts an episode: 60 frames of no-op, RESET, mode selection, RESET again, and the game's start actions.
    pub fn reset_game(&mut self) {
        self.state.episode_frames = 0;
        self.state.paddles = [(PADDLE_MIN + self.game.rules.paddle_max) / 2; 2];
        self.console.reset();
        for _ in 0..NOOP_FRAMES_AT_RESET {
            self.frame(Joystick::NOOP, UNSEEN);
        }
        self.soft_reset();
        self.state.status = GameStatus { mode: self.state.mode as i32, ..self.game.rules.initial };
        select_mode(self);
        self.soft_reset();
        for &start_action in self.game.rules.start_actions {
            match start_action {
                StartAction::Hold(action, times) => (0..times).for_each(|_| self.frame(action, UNSEEN)),
                StartAction::ResetSwitch => self.reset_frame(),
            }
        }
        self.render_deferred();
    }

    /// Holds `action` for [`AleSettings::frame_skip`] frames and returns the sum of their rewards.
    pub fn act(&mut self, action: Joystick) -> i32 {
        let reward = self.hold(action, self.settings.frame_skip, RenderMode::Full);
        self.render_deferred();
        reward
    }

    /// Holds `action` for some frames and returns the sum of their rewards. `render` is how the last of them is run, which
    /// may not come, since the episode can end before it; all others are not rendered.
    pub fn hold(&mut self, action: Joystick, frames: u32, render: RenderMode) -> i32 {
        let before: i32 = (1..frames).map(|_| self.act_frame(action, UNSEEN)).sum();
        before + if frames == 0 { 0 } else { self.act_frame(action, render) }
    }

    /// One frame with its two draws for sticky actions. After the end of the episode it draws and does nothing else.
    pub fn act_frame(&mut self, action: Joystick, render: RenderMode) -> i32 {
        let [take_new, _second_player] = [(); 2].map(|()| f64::from(self.state.generator.next_u32()) / 4_294_967_296.0);
        if f64::from(self.settings.repeat_action_probability) <= take_new {
            self.state.held = action;
        }
        if self.game_over() {
            return 0;
        }
        let legal = if self.game.may_fire || !self.state.held.fires() { self.state.held } else { Joystick::NOOP };
        self.frame(legal, render);
        self.state.frames += 1;
        self.state.episode_frames += 1;
        self.state.status.reward
    }

    pub fn game(&self) -> &'static Game {
        self.game
    }

    pub fn settings(&self) -> &AleSettings {
        &self.settings
    }

    /// Lives left; 0 in games without lives and, in most games, once the game is over.
    pub fn lives(&self) -> i32 {
        match self.game.rules.lives_at_end {
            LivesAtEnd::Zero if self.state.status.over => 0,
            _ => self.state.status.lives,
        }
    }

    /// Whether the episode has ended: [terminal](Self::is_terminal) or [truncated](Self::is_truncated).
    pub fn game_over(&self) -> bool {
        self.is_terminal() || self.is_truncated()
    }

    /// Whether the game itself is over.
    pub fn is_terminal(&self) -> bool {
        self.state.status.over
    }

    /// Whether a limit of the [`AleSettings`] has cut the episode.
    pub fn is_truncated(&self) -> bool {
        let too_long = self.settings.max_episode_frames.is_some_and(|limit| limit <= self.state.episode_frames);
        let life_lost = self.settings.life_loss == LifeLoss::Truncates && self.lives() < self.game.rules.initial.lives;
        too_long || life_lost
    }

    /// Frames since loading, without those of resets.
    pub fn frame_number(&self) -> u64 {
        self.state.frames
    }

    /// Frames since the last reset.
    pub fn episode_frame_number(&self) -> u64 {
        self.state.episode_frames
    }

    pub fn difficulty(&self) -> u32 {
        self.state.difficulty
    }

    pub fn mode(&self) -> u32 {
        self.state.mode
    }

    /// Sets the mode of the games after the next reset.
    pub fn set_mode(&mut self, mode: u32) -> Result<(), AleError> {
        if !self.game.modes.contains(&mode) {
            let available = self.game.modes.clone();
            return Err(AleError::NoSuchMode { game: self.game.name, asked: mode, available });
        }
        self.state.mode = mode;
        Ok(())
    }

    /// Sets the difficulty switches from the next frame on: bit 0 is the left switch, bit 1 the right one.
    pub fn set_difficulty(&mut self, difficulty: u32) -> Result<(), AleError> {
        if !self.game.difficulties.contains(&difficulty) {
            let available = self.game.difficulties.clone();
            return Err(AleError::NoSuchDifficulty { game: self.game.name, asked: difficulty, available });
        }
        self.state.difficulty = difficulty;
        Ok(())
    }

    pub fn ram(&self) -> &[u8; 128] {
        self.console.ram()
    }

    /// The screen as colour indices, 160 per row.
    pub fn screen(&self) -> &[u8] {
        self.console.screen()
    }

    /// Rows of the screen.
    pub fn screen_height(&self) -> usize {
        self.game.height as usize
    }

    /// Writes the screen in luma, one byte per pixel.
    pub fn screen_gray(&self, out: &mut [u8]) {
        let gray = self.gray_table();
        assert_eq!(out.len(), self.screen().len(), "screen_gray: {} bytes for the screen", out.len());
        // Most groups of eight pixels equal the one before. A screen has a multiple of eight.
        let (mut seen, mut shown) = ([0; 8], [gray[0]; 8]);
        for (pixels, group) in out.as_chunks_mut::<8>().0.iter_mut().zip(self.screen().as_chunks::<8>().0) {
            if *group != seen {
                seen = *group;
                shown = seen.map(|index| gray[usize::from(index)]);
            }
            *pixels = shown;
        }
    }

    /// The screen in colour, three bytes per pixel.
    pub fn screen_rgb(&self) -> Vec<u8> {
        let mut out = vec![0; 3 * self.screen().len()];
        self.write_rgb(&mut out);
        out
    }

    /// Writes the screen in colour, three bytes per pixel.
    pub fn write_rgb(&self, out: &mut [u8]) {
        let rgb = self.rgb_table();
        assert_eq!(out.len(), 3 * self.screen().len(), "write_rgb: {} bytes for the screen", out.len());
        let mut seen = [0; 8];
        let mut shown = [0; 24];
        shown.as_chunks_mut::<3>().0.fill(rgb[0]);
        for (pixels, group) in out.as_chunks_mut::<24>().0.iter_mut().zip(self.screen().as_chunks::<8>().0) {
            if *group != seen {
                seen = *group;
                let colours = seen.iter().map(|&index| rgb[usize::from(index)]);
                shown.as_chunks_mut::<3>().0.iter_mut().zip(colours).for_each(|(pixel, colour)| *pixel = colour);
            }
            *pixels = shown;
        }
    }

    /// Red, green and blue of each colour index in this game's television standard.
    pub fn rgb_table(&self) -> &'static [[u8; 3]; 256] {
        palette::rgb(self.tv)
    }

    /// Luma of each colour index in this game's television standard.
    pub fn gray_table(&self) -> &'static [u8; 256] {
        palette::gray(self.tv)
    }

    /// Renders the last frame if it was run with [`RenderMode::CollisionsOnly`].
    pub fn render_deferred(&mut self) {
        self.console.render_deferred();
    }

    pub fn snapshot(&self) -> AleSnapshot {
        AleSnapshot { console: self.console.snapshot(), state: self.state.clone() }
    }

    /// Restores a snapshot of the same game. One of another cartridge or a damaged one is an error and changes nothing.
    pub fn restore(&mut self, snapshot: &AleSnapshot) -> Result<(), SnapshotMismatch> {
        // Of another size or television standard no screen could be read.
        if !snapshot.state.is_valid(self.game) || snapshot.console.config() != self.console.config() {
            return Err(SnapshotMismatch::Damaged);
        }
        self.console.restore(&snapshot.console)?;
        self.state = snapshot.state.clone();
        Ok(())
    }

    /// Restores a snapshot, but keeps this game's generator: what is left to chance afterwards is drawn anew.
    pub fn restore_without_randomness(&mut self, snapshot: &AleSnapshot) -> Result<(), SnapshotMismatch> {
        let generator = self.state.generator.clone();
        self.restore(snapshot)?;
        self.state.generator = generator;
        Ok(())
    }

    /// Sets one byte of RAM.
    pub fn set_ram(&mut self, index: u8, value: u8) {
        self.console.set_ram(index, value);
    }

    pub(crate) fn ram_view(&self) -> RamView<'_> {
        RamView::new(self.console.ram(), self.console.cartridge_ram())
    }

    pub(crate) fn generator(&mut self) -> &mut Mt19937 {
        &mut self.state.generator
    }

    /// SELECT for `hold` frames, which the rules do not read, then one no-op frame.
    pub(crate) fn press_select(&mut self, hold: u32) {
        let input = Input { select: true, ..self.switches() };
        for _ in 0..hold {
            self.console.run_frame(&input, UNSEEN);
        }
        self.frame(Joystick::NOOP, UNSEEN);
        self.state.frames += 1;
        self.state.episode_frames += 1;
    }

    /// [`act_frame`](Self::act_frame), draws included, not rendered.
    pub(crate) fn act_unseen(&mut self, action: Joystick) {
        self.act_frame(action, UNSEEN);
    }

    /// The RESET switch for four frames.
    pub(crate) fn soft_reset(&mut self) {
        for _ in 0..SOFT_RESET_FRAMES {
            self.reset_frame();
        }
        self.state.held = Joystick::NOOP;
    }

    fn reset_frame(&mut self) {
        let input = Input { reset: true, ..self.switches() };
        self.console.run_frame(&input, UNSEEN);
        self.update_status();
    }

    fn frame(&mut self, action: Joystick, render: RenderMode) {
        self.turn_paddle(action);
        let mut input = self.switches();
        action.press(&mut input);
        self.console.run_frame(&input, render);
        self.update_status();
    }

    fn update_status(&mut self) {
        let ram = RamView::new(self.console.ram(), self.console.cartridge_ram());
        (self.game.rules.update)(ram, &mut self.state.status);
    }

    fn turn_paddle(&mut self, action: Joystick) {
        let turn = if action.is_right() {
            -PADDLE_TURN
        } else if action.is_left() {
            PADDLE_TURN
        } else {
            return;
        };
        self.state.paddles[0] = (self.state.paddles[0] + turn).clamp(PADDLE_MIN, self.game.rules.paddle_max);
    }

    fn switches(&self) -> Input {
        Input {
            left_difficulty_a: self.state.difficulty & 1 != 0,
            right_difficulty_a: self.state.difficulty & 2 != 0,
            paddles: self.state.paddles,
            ..Input::default()
        }
    }
}

/// PAL if at least 15 of the frames 30 to 59 are long.
fn detect_tv(console: &mut Console, game: &Game) -> TvFormat {
    let [left, right] = game.switches_at_load;
    let input = Input { left_difficulty_a: left, right_difficulty_a: right, ..Input::default() };
    let long_frames = (0..DETECTION_FRAMES)
        .map(|i| (i, console.run_frame(&input, UNSEEN).lines))
        .filter(|&(i, lines)| DETECTION_FRAMES / 2 <= i && PAL_FRAME_LINES <= lines)
        .count();
    if PAL_FRAMES_NEEDED as usize <= long_frames { TvFormat::Pal } else { TvFormat::Ntsc }
}

impl AleState {
    /// Whether the game has the mode and difficulty of a deserialised state and no later sum with its numbers overflows.
    fn is_valid(&self, game: &Game) -> bool {
        const LIMIT: i32 = 1 << 28;
        let GameStatus { score, reward, lives, mode, memo, over: _ } = self.status;
        let numbers = [score, reward, lives, mode, self.paddles[0], self.paddles[1]];
        game.modes.contains(&self.mode)
            && (self.difficulty == DIFFICULTY_AT_LOAD || game.difficulties.contains(&self.difficulty))
            && Joystick::from_id(self.held.id()).is_some()
            && numbers.iter().chain(&memo).all(|number| (-LIMIT..LIMIT).contains(number))
            && self.frames < 1 << 48
            && self.episode_frames < 1 << 48
    }
}
