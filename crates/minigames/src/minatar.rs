//! The five MinAtar games, bit for bit as the PyPI package `minatar` 1.0.15 plays them.
//!
//! [`Minatar`] is the package's own protocol (seed, reset, act) with its random stream and its sticky actions; buttons
//! go in, integer rewards and 0/1 planes come out. [`MinatarWorld`] is the same as an environment for agents, and
//! [`Trace`] a game recorded from the package, to compare with. The rules were written from a description of the games'
//! behaviour; how they were checked is in `docs/small-worlds.md`.

mod asterix;
mod board;
mod breakout;
mod freeway;
mod seaquest;
mod space_invaders;
mod trace;
mod world;

pub use board::{Button, Game};
pub use trace::{Comparison, Difference, Trace, TraceError};
pub(crate) use world::FAMILY;
pub use world::{ActionSet, MinatarOptions, MinatarWorld};

use crate::numpy_stream::NumpyStream;
use board::Board;
use serde::{Deserialize, Serialize};

/// Whether a game becomes harder with time. Breakout and freeway never do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Ramping {
    /// Objects come faster with time, as published results have it.
    #[default]
    On,
    /// The difficulty stays that of the start.
    Off,
}

/// The result of one act.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Acted {
    /// A non-negative integer in all five games.
    pub reward: u32,
    pub terminal: bool,
}

/// A game with its random stream and its sticky actions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Minatar {
    board: Board,
    random: NumpyStream,
    sticky: f64,
    previous: Button,
}

impl Minatar {
    /// The game after the package's `seed(seed)`; [`reset`](Self::reset) comes next. `sticky` is the probability that
    /// the previous button is pressed instead of the one asked for.
    pub fn new(game: Game, sticky: f64, ramping: Ramping, seed: u64) -> Self {
        Self { board: Board::new(game, ramping), random: NumpyStream::new(seed), sticky, previous: Button::Nothing }
    }

    /// Starts an episode. The random stream continues, and the last button can still stick.
    pub fn reset(&mut self) {
        self.board.rules_mut().reset(&mut self.random);
    }

    /// Presses a button or, with probability `sticky`, the previous one again. That is drawn even if `sticky` is 0 and
    /// after the end of the episode, when nothing else happens.
    pub fn act(&mut self, button: Button) -> Acted {
        if self.sticky <= self.random.double() {
            self.previous = button;
        }
        let rules = self.board.rules_mut();
        if rules.over() {
            return Acted { reward: 0, terminal: true };
        }
        let reward = rules.step(self.previous, &mut self.random);
        Acted { reward, terminal: rules.over() }
    }

    /// Replaces the random stream; the board stays.
    pub fn reseed(&mut self, seed: u64) {
        self.random = NumpyStream::new(seed);
    }

    /// Whether `other` is a state of this game with the same settings that play can reach.
    pub(crate) fn can_become(&self, other: &Self) -> bool {
        self.game() == other.game() && self.sticky == other.sticky && other.board.rules().is_valid()
    }

    pub fn game(&self) -> Game {
        self.board.game()
    }

    /// The current difficulty, in games that have one.
    pub fn level(&self) -> Option<u8> {
        self.board.rules().level()
    }

    /// Writes the observation, `[channel][row][column]`, zeros and ones.
    pub fn paint(&self, planes: &mut [u8]) {
        assert_eq!(
            planes.len(),
            self.game().channels() * board::CELLS,
            "paint: the planes have {} bytes",
            planes.len()
        );
        planes.fill(0);
        self.board.rules().paint(planes);
    }
}
