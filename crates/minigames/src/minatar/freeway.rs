//! Freeway: a chicken crosses eight lanes of cars at random speeds, for a fixed time.

use super::board::{Button, Rules, mark, on_grid};
use crate::numpy_stream::NumpyStream;
use serde::{Deserialize, Serialize};

const CHICKEN: usize = 0;
const CAR: usize = 1;

const CARS: usize = 8;
const CHICKEN_COLUMN: i8 = 4;
const START_ROW: i8 = 9;
const MOVE_INTERVAL: u8 = 3;
const TIME: i16 = 2500;

/// Car i drives in row i + 1 and moves every |speed| + 1 steps, to the right if its speed is positive.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
struct Car {
    x: i8,
    move_in: u8,
    speed: i8,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Freeway {
    y: i8,
    move_in: u8,
    time_left: i16,
    cars: [Car; CARS],
    over: bool,
}

impl Freeway {
    pub fn new() -> Self {
        Self { y: START_ROW, move_in: MOVE_INTERVAL, time_left: TIME, cars: [Car::default(); CARS], over: false }
    }

    /// New speeds for all cars at their positions. All magnitudes are drawn before all directions.
    fn randomise(&mut self, random: &mut NumpyStream) {
        for car in &mut self.cars {
            car.speed = 1 + random.below(5) as i8;
            car.move_in = car.speed as u8;
        }
        for car in &mut self.cars {
            if random.double() < 0.5 {
                car.speed = -car.speed;
            }
        }
    }

    fn drive(&mut self) {
        for (i, car) in self.cars.iter_mut().enumerate() {
            let row = i as i8 + 1;
            if (car.x, row) == (CHICKEN_COLUMN, self.y) {
                self.y = START_ROW;
            }
            if 0 < car.move_in {
                car.move_in -= 1;
                continue;
            }
            car.move_in = car.speed.unsigned_abs();
            car.x = wrapped(car.x + car.speed.signum());
            if (car.x, row) == (CHICKEN_COLUMN, self.y) {
                self.y = START_ROW;
            }
        }
    }
}

impl Rules for Freeway {
    fn reset(&mut self, random: &mut NumpyStream) {
        *self = Self::new();
        self.randomise(random);
    }

    fn step(&mut self, button: Button, random: &mut NumpyStream) -> u32 {
        if self.move_in == 0 {
            match button {
                Button::Up => (self.move_in, self.y) = (MOVE_INTERVAL, (self.y - 1).max(0)),
                Button::Down => (self.move_in, self.y) = (MOVE_INTERVAL, (self.y + 1).min(9)),
                _ => {}
            }
        }
        let mut reward = 0;
        if self.y == 0 {
            reward = 1;
            self.randomise(random);
            self.y = START_ROW;
        }
        self.drive();
        self.move_in = self.move_in.saturating_sub(1);
        self.time_left -= 1;
        self.over = self.time_left < 0;
        reward
    }

    fn is_valid(&self) -> bool {
        let cars = |car: &Car| on_grid(car.x) && car.move_in <= 5 && (-5..=5).contains(&car.speed);
        on_grid(self.y)
            && self.move_in <= MOVE_INTERVAL
            && (-1..=TIME).contains(&self.time_left)
            && self.cars.iter().all(cars)
    }

    fn over(&self) -> bool {
        self.over
    }

    fn level(&self) -> Option<u8> {
        None
    }

    fn paint(&self, planes: &mut [u8]) {
        mark(planes, CHICKEN, self.y, CHICKEN_COLUMN);
        for (i, car) in self.cars.iter().enumerate() {
            let row = i as i8 + 1;
            mark(planes, CAR, row, car.x);
            mark(planes, CAR + usize::from(car.speed.unsigned_abs()), row, wrapped(car.x - car.speed.signum()));
        }
    }
}

/// Columns wrap around.
fn wrapped(x: i8) -> i8 {
    match x {
        -1 => 9,
        10 => 0,
        x => x,
    }
}
