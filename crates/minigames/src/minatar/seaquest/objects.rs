//! What moves in the sea: shots every step, swimmers every few steps, all along their row until they leave the grid.

use crate::minatar::board::{ahead, on_grid};
use crate::numpy_stream::NumpyStream;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shot {
    pub x: i8,
    pub y: i8,
    pub rightward: bool,
}

impl Shot {
    /// Flies on by one column; whether it is still on the grid.
    pub fn advance(&mut self) -> bool {
        self.x = ahead(self.x, self.rightward);
        on_grid(self.x)
    }
}

/// A fish, a diver, or the hull of a submarine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Swimmer {
    pub x: i8,
    pub y: i8,
    pub rightward: bool,
    pub move_in: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Submarine {
    pub body: Swimmer,
    pub shot_in: u8,
}

/// What a step did to a swimmer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    Waited,
    Moved,
    /// It left the grid.
    Left,
}

impl Swimmer {
    /// At the side it comes from, in a row that is drawn.
    pub fn entering(random: &mut NumpyStream, rightward: bool, move_interval: u8) -> Self {
        Self { x: if rightward { 0 } else { 9 }, y: 1 + random.below(8) as i8, rightward, move_in: move_interval }
    }

    pub fn cell(&self) -> (i8, i8) {
        (self.x, self.y)
    }

    /// Counts down to its next move, or moves.
    pub fn swim(&mut self, move_interval: u8) -> Fate {
        if 0 < self.move_in {
            self.move_in -= 1;
            return Fate::Waited;
        }
        self.move_in = move_interval;
        self.x = ahead(self.x, self.rightward);
        if on_grid(self.x) { Fate::Moved } else { Fate::Left }
    }
}

/// Takes out the first shot in a cell; whether there was one.
pub fn remove_shot_at(shots: &mut Vec<Shot>, cell: (i8, i8)) -> bool {
    let hit = shots.iter().position(|shot| (shot.x, shot.y) == cell);
    if let Some(i) = hit {
        shots.remove(i);
    }
    hit.is_some()
}
