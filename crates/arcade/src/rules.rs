//! The rules of the 104 games: how RAM becomes score, lives and game over, how a game is started, how a mode is selected.
//!
//! In: the [`RamView`] after each frame. Out: the updated [`GameStatus`].
//!
//! A game is one `Rules::new(…)` row in the file of its genre. A row reads: where the score is stored, when the game is
//! over, where the lives are stored (`ram` is the RAM, `s` the status); then what is pressed after a reset and how a mode
//! is selected. Every rule was measured with ale-py 0.12.1 as a black box.

mod action_games;
mod adventures;
mod board_games;
mod mazes;
mod shooters;
mod sports;

use crate::joystick::Joystick;
use crate::ram_view::RamView;
use serde::{Deserialize, Serialize};

const GENRES: [&[Rules]; 6] =
    [action_games::GAMES, adventures::GAMES, board_games::GAMES, mazes::GAMES, shooters::GAMES, sports::GAMES];

/// The rules of the game with this name.
pub(crate) fn rules_of(name: &str) -> Option<&'static Rules> {
    GENRES.into_iter().flatten().find(|rules| rules.name == name)
}

#[cfg(test)]
pub(crate) fn count() -> usize {
    GENRES.into_iter().flatten().count()
}

/// The rules of one game.
#[derive(Debug)]
pub(crate) struct Rules {
    /// Name of the game, such as `road_runner`.
    name: &'static str,
    /// The status at the start of a game.
    pub initial: GameStatus,
    /// Reads RAM after a frame and updates the status.
    pub update: fn(RamView<'_>, &mut GameStatus),
    pub lives_at_end: LivesAtEnd,
    /// What is pressed after the last reset, before the first action.
    pub start_actions: &'static [StartAction],
    pub mode_select: ModeSelect,
    /// Greatest resistance of the paddle, in ohms.
    pub paddle_max: i32,
}

/// What a game's rule knows after a frame.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct GameStatus {
    pub score: i32,
    /// The reward of the last frame.
    pub reward: i32,
    pub over: bool,
    pub lives: i32,
    /// The mode in which the game was started.
    pub mode: i32,
    /// Values that the rule keeps from frame to frame; a comment at the rule says what they are.
    pub memo: [i32; 5],
}

impl GameStatus {
    /// The usual reward: the difference to the score of the previous frame.
    pub fn set_score(&mut self, score: i32) {
        self.reward = score - self.score;
        self.score = score;
    }
}

/// What `lives` is once the game is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum LivesAtEnd {
    /// 0, as in most games.
    Zero,
    /// The rule's own value.
    Kept,
}

/// One item of what is pressed after a reset.
#[derive(Debug, Clone, Copy)]
pub(crate) enum StartAction {
    /// The joystick, held for so many frames.
    Hold(Joystick, u32),
    /// The console's RESET switch, for one frame.
    ResetSwitch,
}

/// The button for one frame: the most common start action.
pub(crate) const PRESS_FIRE: &[StartAction] = &[StartAction::Hold(Joystick::FIRE, 1)];

/// How a mode is selected.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ModeSelect {
    /// The game has one mode; nothing is pressed.
    SingleMode,
    /// SELECT is pressed for `hold` frames at a time until `reached` is true.
    PressUntil {
        before: BeforeSelect,
        hold: u32,
        /// Whether RAM shows the wanted mode.
        reached: fn(RamView<'_>, i32) -> bool,
    },
    /// Adventure: SELECT is pressed for a random number of frames.
    Adventure,
    /// Double Dunk: a menu.
    DoubleDunk,
    /// Video Cube: SELECT chooses the variant, the joystick the cube.
    VideoCube,
}

/// What precedes the first test of [`ModeSelect::PressUntil`].
#[derive(Debug, Clone, Copy)]
pub(crate) enum BeforeSelect {
    Nothing,
    /// One press of SELECT, of so many frames.
    Press(u32),
    /// So many frames without input.
    Wait(u32),
    /// The RESET switch for four frames.
    SoftReset,
}

/// The usual test of a mode: the byte at `ADDRESS` equals it.
fn mode_byte<const ADDRESS: u8>(ram: RamView<'_>, mode: i32) -> bool {
    ram.at(ADDRESS) == mode
}

impl Rules {
    /// A game with one mode and no start actions, whose score starts at 0.
    const fn new(name: &'static str, initial_lives: i32, update: fn(RamView<'_>, &mut GameStatus)) -> Self {
        Self {
            name,
            initial: GameStatus { score: 0, reward: 0, over: false, lives: initial_lives, mode: 0, memo: [0; 5] },
            update,
            lives_at_end: LivesAtEnd::Zero,
            start_actions: &[],
            mode_select: ModeSelect::SingleMode,
            paddle_max: 790_196,
        }
    }

    const fn initial_score(mut self, score: i32) -> Self {
        self.initial.score = score;
        self
    }

    const fn initial_memo(mut self, memo: [i32; 5]) -> Self {
        self.initial.memo = memo;
        self
    }

    const fn lives_kept_at_end(mut self) -> Self {
        self.lives_at_end = LivesAtEnd::Kept;
        self
    }

    const fn start_actions(mut self, start_actions: &'static [StartAction]) -> Self {
        self.start_actions = start_actions;
        self
    }

    const fn mode_select(mut self, mode_select: ModeSelect) -> Self {
        self.mode_select = mode_select;
        self
    }

    /// SELECT is pressed for `hold` frames at a time until RAM shows the mode.
    const fn select_until(self, hold: u32, reached: fn(RamView<'_>, i32) -> bool) -> Self {
        self.select_until_after(BeforeSelect::Nothing, hold, reached)
    }

    const fn select_until_after(self, before: BeforeSelect, hold: u32, reached: fn(RamView<'_>, i32) -> bool) -> Self {
        self.mode_select(ModeSelect::PressUntil { before, hold, reached })
    }

    const fn paddle_max(mut self, resistance: i32) -> Self {
        self.paddle_max = resistance;
        self
    }
}
