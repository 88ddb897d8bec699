//! Breakout: a ball, a paddle, three rows of bricks that are restored when all are hit.

use super::board::{Button, Rules, SIDE, mark, mark_row, on_grid};
use crate::numpy_stream::NumpyStream;
use serde::{Deserialize, Serialize};

const PADDLE: usize = 0;
const BALL: usize = 1;
const TRAIL: usize = 2;
const BRICK: usize = 3;

const FULL_WALL: [u16; SIDE] = [0, 0x3ff, 0x3ff, 0x3ff, 0, 0, 0, 0, 0, 0];
const PADDLE_ROW: i8 = 9;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Breakout {
    paddle: i8,
    x: i8,
    y: i8,
    dx: i8,
    dy: i8,
    previous_x: i8,
    previous_y: i8,
    /// Bit c of word r: a brick in row r, column c.
    bricks: [u16; SIDE],
    /// A brick was hit and the ball has not been free of bricks since.
    latched: bool,
    over: bool,
}

impl Breakout {
    pub fn new() -> Self {
        Self::served_from(0, 1)
    }

    fn served_from(x: i8, dx: i8) -> Self {
        Self {
            paddle: 4,
            x,
            y: 3,
            dx,
            dy: 1,
            previous_x: x,
            previous_y: 3,
            bricks: FULL_WALL,
            latched: false,
            over: false,
        }
    }

    fn has_brick(&self, x: i8, y: i8) -> bool {
        self.bricks[y as usize] >> x & 1 == 1
    }

    /// The ball reaches the paddle's row in column `x`: sets its new direction and returns the row it moves to.
    fn meet_paddle(&mut self, x: i8) -> i8 {
        if self.bricks.iter().all(|&row| row == 0) {
            self.bricks = FULL_WALL;
        }
        if self.previous_x == self.paddle {
            self.dy = -self.dy;
            self.previous_y
        } else if x == self.paddle {
            self.dx = -self.dx;
            self.dy = -self.dy;
            self.previous_y
        } else {
            self.over = true;
            PADDLE_ROW
        }
    }
}

impl Rules for Breakout {
    fn reset(&mut self, random: &mut NumpyStream) {
        *self = if random.below(2) == 0 { Self::served_from(0, 1) } else { Self::served_from(9, -1) };
    }

    fn step(&mut self, button: Button, _random: &mut NumpyStream) -> u32 {
        match button {
            Button::Left => self.paddle = (self.paddle - 1).max(0),
            Button::Right => self.paddle = (self.paddle + 1).min(9),
            _ => {}
        }
        (self.previous_x, self.previous_y) = (self.x, self.y);
        let (mut x, mut y) = (self.x + self.dx, self.y + self.dy);
        if !on_grid(x) {
            x = x.clamp(0, 9);
            self.dx = -self.dx;
        }
        let mut reward = 0;
        let mut touched = false;
        if y < 0 {
            y = 0;
            self.dy = -self.dy;
        } else if self.has_brick(x, y) {
            touched = true;
            if !self.latched {
                reward = 1;
                self.latched = true;
                self.bricks[y as usize] &= !(1 << x);
                y = self.previous_y;
                self.dy = -self.dy;
            }
        } else if y == PADDLE_ROW {
            y = self.meet_paddle(x);
        }
        if !touched {
            self.latched = false;
        }
        (self.x, self.y) = (x, y);
        reward
    }

    fn is_valid(&self) -> bool {
        // A ball in the row of the paddle is lost.
        [self.paddle, self.x, self.y, self.previous_x, self.previous_y].into_iter().all(on_grid)
            && (self.over || self.y < PADDLE_ROW)
            && self.dx.unsigned_abs() == 1
            && self.dy.unsigned_abs() == 1
            && self.bricks.iter().zip(FULL_WALL).all(|(row, full)| row & !full == 0)
    }

    fn over(&self) -> bool {
        self.over
    }

    fn level(&self) -> Option<u8> {
        None
    }

    fn paint(&self, planes: &mut [u8]) {
        mark(planes, PADDLE, PADDLE_ROW, self.paddle);
        mark(planes, BALL, self.y, self.x);
        mark(planes, TRAIL, self.previous_y, self.previous_x);
        for row in 1..=3 {
            mark_row(planes, BRICK, row, self.bricks[row]);
        }
    }
}
