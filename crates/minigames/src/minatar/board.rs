//! What the five games share: buttons, the grid, the trait of their rules and the enum over them.

use super::Ramping;
use super::{
    asterix::Asterix, breakout::Breakout, freeway::Freeway, seaquest::Seaquest, space_invaders::SpaceInvaders,
};
use crate::numpy_stream::NumpyStream;
use serde::{Deserialize, Serialize};

/// Cells along each side of the grid.
pub const SIDE: usize = 10;
/// Cells of one plane.
pub const CELLS: usize = SIDE * SIDE;

/// One of the five games.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Game {
    Asterix,
    Breakout,
    Freeway,
    Seaquest,
    SpaceInvaders,
}

impl Game {
    /// All five, in the order of the trace format.
    pub const ALL: [Self; 5] = [Self::Asterix, Self::Breakout, Self::Freeway, Self::Seaquest, Self::SpaceInvaders];

    /// The package's name of the game.
    pub fn name(self) -> &'static str {
        match self {
            Self::Asterix => "asterix",
            Self::Breakout => "breakout",
            Self::Freeway => "freeway",
            Self::Seaquest => "seaquest",
            Self::SpaceInvaders => "space_invaders",
        }
    }

    /// Planes of an observation.
    pub fn channels(self) -> usize {
        self.planes().len()
    }

    /// What each plane of an observation shows.
    pub fn planes(self) -> &'static [&'static str] {
        match self {
            Self::Asterix => &["player", "enemy", "trail", "gold"],
            Self::Breakout => &["paddle", "ball", "trail of the ball", "brick"],
            Self::Freeway => &["chicken", "car", "speed 1", "speed 2", "speed 3", "speed 4", "speed 5"],
            Self::Seaquest => &[
                "front of the boat",
                "its back",
                "own shot",
                "trail",
                "enemy shot",
                "fish",
                "submarine",
                "oxygen",
                "divers aboard",
                "diver",
            ],
            Self::SpaceInvaders => {
                &["cannon", "alien", "aliens moving left", "aliens moving right", "own shot", "enemy shot"]
            }
        }
    }

    /// The buttons that have an effect in this game.
    pub fn minimal_buttons(self) -> &'static [Button] {
        use Button::{Down, Fire, Left, Nothing, Right, Up};
        match self {
            Self::Asterix => &[Nothing, Left, Up, Right, Down],
            Self::Breakout => &[Nothing, Left, Right],
            Self::Freeway => &[Nothing, Up, Down],
            Self::Seaquest => &Button::ALL,
            Self::SpaceInvaders => &[Nothing, Left, Right, Fire],
        }
    }
}

/// The buttons. One without an effect in a game acts as `Nothing`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Button {
    Nothing,
    Left,
    Up,
    Right,
    Down,
    Fire,
}

impl Button {
    /// All six, in the order of their numbers in the package.
    pub const ALL: [Self; 6] = [Self::Nothing, Self::Left, Self::Up, Self::Right, Self::Down, Self::Fire];

    pub fn name(self) -> &'static str {
        match self {
            Self::Nothing => "nothing",
            Self::Left => "left",
            Self::Up => "up",
            Self::Right => "right",
            Self::Down => "down",
            Self::Fire => "fire",
        }
    }
}

/// The rules of one game.
pub trait Rules {
    fn reset(&mut self, random: &mut NumpyStream);
    /// One step of an episode that is not over; the reward.
    fn step(&mut self, button: Button, random: &mut NumpyStream) -> u32;
    fn over(&self) -> bool;
    /// The current difficulty, in games that have one.
    fn level(&self) -> Option<u8>;
    /// Sets the cells of the observation in planes that are all zero.
    fn paint(&self, planes: &mut [u8]);
    /// Whether play can reach this state: from any other, a step could leave the grid or underflow a counter.
    fn is_valid(&self) -> bool;
}

/// A game in progress.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Board {
    Asterix(Asterix),
    Breakout(Breakout),
    Freeway(Freeway),
    Seaquest(Seaquest),
    SpaceInvaders(SpaceInvaders),
}

impl Board {
    pub fn new(game: Game, ramping: Ramping) -> Self {
        match game {
            Game::Asterix => Self::Asterix(Asterix::new(ramping)),
            Game::Breakout => Self::Breakout(Breakout::new()),
            Game::Freeway => Self::Freeway(Freeway::new()),
            Game::Seaquest => Self::Seaquest(Seaquest::new(ramping)),
            Game::SpaceInvaders => Self::SpaceInvaders(SpaceInvaders::new(ramping)),
        }
    }

    pub fn game(&self) -> Game {
        match self {
            Self::Asterix(_) => Game::Asterix,
            Self::Breakout(_) => Game::Breakout,
            Self::Freeway(_) => Game::Freeway,
            Self::Seaquest(_) => Game::Seaquest,
            Self::SpaceInvaders(_) => Game::SpaceInvaders,
        }
    }

    pub fn rules(&self) -> &dyn Rules {
        match self {
            Self::Asterix(game) => game,
            Self::Breakout(game) => game,
            Self::Freeway(game) => game,
            Self::Seaquest(game) => game,
            Self::SpaceInvaders(game) => game,
        }
    }

    pub fn rules_mut(&mut self) -> &mut dyn Rules {
        match self {
            Self::Asterix(game) => game,
            Self::Breakout(game) => game,
            Self::Freeway(game) => game,
            Self::Seaquest(game) => game,
            Self::SpaceInvaders(game) => game,
        }
    }
}

/// Sets the cell (`row`, `column`) of a channel.
pub fn mark(planes: &mut [u8], channel: usize, row: i8, column: i8) {
    planes[channel * CELLS + row as usize * SIDE + column as usize] = 1;
}

/// Sets the cells of a row whose bits are set.
pub fn mark_row(planes: &mut [u8], channel: usize, row: usize, columns: u16) {
    let cells = &mut planes[channel * CELLS + row * SIDE..][..SIDE];
    for (column, cell) in cells.iter_mut().enumerate() {
        *cell = (columns >> column & 1) as u8;
    }
}

/// Whether a column or a row lies on the grid.
pub fn on_grid(coordinate: i8) -> bool {
    (0..SIDE as i8).contains(&coordinate)
}

/// One column further in the direction of travel.
pub fn ahead(x: i8, rightward: bool) -> i8 {
    if rightward { x + 1 } else { x - 1 }
}

/// The column where the trail of an object is seen.
pub fn behind(x: i8, rightward: bool) -> i8 {
    ahead(x, !rightward)
}
