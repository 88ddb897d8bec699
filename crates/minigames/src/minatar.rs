//! The five MinAtar games, bit for bit as the PyPI package `minatar` 1.0.15 plays them.
//!
//! [`Minatar`] is the package's own protocol (seed, reset, act) with its random stream and its sticky actions; buttons
//! go in, whole-number rewards and 0/1 planes come out. [`MinatarWorld`] is the same as an environment for agents, and
//! [`Trace`] what was recorded from the package, to be compared by [`replay()`]. The rules were written from a
//! description of the games' behaviour; how they were checked is in `docs/small-worlds.md`.

mod asterix;
mod board;
mod breakout;
mod freeway;
mod replay;
mod seaquest;
mod space_invaders;
mod trace;
mod world;

pub use board::{Button, Game};
pub use replay::{Difference, Replayed, replay};
pub use trace::{Trace, TraceError};
pub(crate) use world::FAMILY;
pub use world::{ActionSet, MinatarOptions, MinatarWorld};

use crate::numpy_stream::NumpyStream;
use board::Board;
use serde::{Deserialize, Serialize};

/// Whether a game grows harder as it goes on. Breakout and freeway never do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Ramping {
    /// Objects come faster with time, as published results have it.
    #[default]
    On,
    /// The difficulty of the start stays.
    Off,
}

/// What one act gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Acted {
    /// Never negative, and a whole number in all five games.
    pub reward: u32,
    /// Whether the episode is over.
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

    /// Starts an episode. The stream goes on where it was, and the button pressed last is still remembered.
    pub fn reset(&mut self) {
        self.board.rules_mut().reset(&mut self.random);
    }

    /// Presses a button, or the previous one again if chance has it so. The draw for that is made even when nothing
    /// can stick and after the end of the episode, when the game itself stands still.
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

    /// From here on chance comes from the stream of another seed; the board stays.
    pub fn redraw_chance(&mut self, seed: u64) {
        self.random = NumpyStream::new(seed);
    }

    /// Which game it is.
    pub fn game(&self) -> Game {
        self.board.game()
    }

    /// The difficulty reached, in the games that have one.
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
