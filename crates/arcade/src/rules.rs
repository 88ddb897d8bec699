//! What a game's rules are: a function from memory to score, lives and the end, how it is started, how a mode is chosen.
//!
//! In: the [`Memory`] after each frame. Out: the [`Tally`], which also holds the little that a rule must remember.

use crate::action::Joystick;
use crate::memory::Memory;
use serde::{Deserialize, Serialize};

/// Where the game stands, and what its rule remembers of the frame before.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// The score the next reward is counted from.
    pub score: i32,
    /// The reward of the last frame.
    pub reward: i32,
    /// Whether the game is over.
    pub over: bool,
    /// Lives as the rule counts them.
    pub lives: i32,
    /// The mode the game was started in.
    pub mode: i32,
    /// What the rule itself wants to remember; its meaning stands beside the rule.
    pub memo: [i32; 5],
}

impl Tally {
    /// The usual reward: the difference to the score before.
    pub fn scores(&mut self, score: i32) {
        self.reward = score - self.score;
        self.score = score;
    }
}

/// One frame of the opening that follows the reset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Opening {
    /// The stick held for so many frames.
    Hold(Joystick, u32),
    /// The console's RESET switch, for one frame.
    Reset,
}

/// How a game mode is chosen with the console's SELECT switch.
#[derive(Debug, Clone, Copy)]
pub enum Select {
    /// The game has one mode and nothing is pressed.
    Nothing,
    /// SELECT is pressed for `hold` frames again and again until `reached` says so.
    Until {
        /// What happens before the first look.
        first: Prelude,
        /// Frames of each press.
        hold: u32,
        /// Whether the memory shows the wanted mode.
        reached: fn(Memory<'_>, i32) -> bool,
    },
    /// Adventure presses SELECT for a random number of frames.
    Adventure,
    /// Double Dunk walks through a menu.
    DoubleDunk,
    /// Video Cube chooses a variant with SELECT and a cube with the stick.
    VideoCube,
}

/// What a mode selection begins with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Prelude {
    /// Nothing.
    Nothing,
    /// One press of so many frames.
    Press(u32),
    /// So many frames of waiting.
    Wait(u32),
    /// The RESET switch for four frames.
    SoftReset,
}

/// Whether `lives` still counts when the game is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LivesAtEnd {
    /// It is 0 then, as in most games.
    Zero,
    /// It stays as the rule counts it.
    AsCounted,
}

/// The rules of one game.
#[derive(Debug, Clone, Copy)]
pub struct Rules {
    /// Name of the ROM, such as `road_runner`.
    pub name: &'static str,
    /// The tally a new game starts with.
    pub first: Tally,
    /// Reads the memory after a frame and moves the tally on.
    pub watch: fn(Memory<'_>, &mut Tally),
    /// Whether lives are still counted when the game is over.
    pub lives_at_end: LivesAtEnd,
    /// What is done after the last reset, before the player takes over.
    pub opening: &'static [Opening],
    /// How a mode is chosen.
    pub select: Select,
    /// Greatest resistance of the paddle.
    pub paddle_max: i32,
}

impl Rules {
    /// A game with one mode and no opening, whose score starts at 0.
    pub const fn new(name: &'static str, first_lives: i32, watch: fn(Memory<'_>, &mut Tally)) -> Self {
        let first = Tally { score: 0, reward: 0, over: false, lives: first_lives, mode: 0, memo: [0; 5] };
        let lives_at_end = LivesAtEnd::Zero;
        Self { name, first, watch, lives_at_end, opening: &[], select: Select::Nothing, paddle_max: 790_196 }
    }

    /// The score at the start is this.
    pub const fn first_score(mut self, score: i32) -> Self {
        self.first.score = score;
        self
    }

    /// The rule remembers these numbers at the start.
    pub const fn memo(mut self, memo: [i32; 5]) -> Self {
        self.first.memo = memo;
        self
    }

    /// The lives stay as counted when the game is over.
    pub const fn lives_counted_at_end(mut self) -> Self {
        self.lives_at_end = LivesAtEnd::AsCounted;
        self
    }

    /// The player takes over after this opening.
    pub const fn opening(mut self, opening: &'static [Opening]) -> Self {
        self.opening = opening;
        self
    }

    /// A mode is chosen in this way.
    pub const fn select(mut self, select: Select) -> Self {
        self.select = select;
        self
    }

    /// SELECT is pressed for `hold` frames until the memory shows the mode.
    pub const fn press_until(self, hold: u32, reached: fn(Memory<'_>, i32) -> bool) -> Self {
        self.select(Select::Until { first: Prelude::Nothing, hold, reached })
    }

    /// The same, beginning with `first`.
    pub const fn press_until_after(self, first: Prelude, hold: u32, reached: fn(Memory<'_>, i32) -> bool) -> Self {
        self.select(Select::Until { first, hold, reached })
    }

    /// The paddle turns up to this resistance.
    pub const fn paddle_max(mut self, resistance: i32) -> Self {
        self.paddle_max = resistance;
        self
    }
}

/// The button for one frame: the commonest opening.
pub const FIRE: &[Opening] = &[Opening::Hold(Joystick::FIRE, 1)];
