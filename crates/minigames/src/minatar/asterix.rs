//! Asterix: gold and enemies enter eight lanes from the sides, faster and faster.

use super::Ramping;
use super::board::{Button, Rules, ahead, behind, mark, on_grid};
use crate::numpy_stream::NumpyStream;
use serde::{Deserialize, Serialize};

const PLAYER: usize = 0;
const ENEMY: usize = 1;
const TRAIL: usize = 2;
const GOLD: usize = 3;

/// Lane i is row i + 1.
const LANES: usize = 8;
const RAMP_INTERVAL: i8 = 100;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Object {
    x: i8,
    rightward: bool,
    gold: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Asterix {
    x: i8,
    y: i8,
    lanes: [Option<Object>; LANES],
    spawn_interval: u8,
    spawn_in: u8,
    move_interval: u8,
    move_in: u8,
    ramping: Ramping,
    ramp_in: i8,
    level: u8,
    over: bool,
}

impl Asterix {
    pub fn new(ramping: Ramping) -> Self {
        Self {
            x: 5,
            y: 5,
            lanes: [None; LANES],
            spawn_interval: 10,
            spawn_in: 10,
            move_interval: 5,
            move_in: 5,
            ramping,
            ramp_in: RAMP_INTERVAL,
            level: 0,
            over: false,
        }
    }

    fn spawn(&mut self, random: &mut NumpyStream) {
        let rightward = random.double() < 0.5;
        let gold = random.double() < 1.0 / 3.0;
        let free = self.lanes.iter().filter(|lane| lane.is_none()).count();
        if free == 0 {
            return;
        }
        let chosen = random.below(free as u32) as usize;
        if let Some(lane) = self.lanes.iter_mut().filter(|lane| lane.is_none()).nth(chosen) {
            *lane = Some(Object { x: if rightward { 0 } else { 9 }, rightward, gold });
        }
    }

    /// The reward for touching the object of lane `i`, if the player does: gold is removed, an enemy ends the episode.
    fn touch(&mut self, i: usize) -> u32 {
        let Some(object) = self.lanes[i] else { return 0 };
        if (object.x, i as i8 + 1) != (self.x, self.y) {
            return 0;
        }
        if object.gold {
            self.lanes[i] = None;
            return 1;
        }
        self.over = true;
        0
    }

    fn move_objects(&mut self) -> u32 {
        let mut reward = 0;
        for i in 0..LANES {
            if let Some(object) = &mut self.lanes[i] {
                object.x = ahead(object.x, object.rightward);
                if on_grid(object.x) {
                    reward += self.touch(i);
                } else {
                    self.lanes[i] = None;
                }
            }
        }
        reward
    }

    fn ramp(&mut self) {
        if self.ramping == Ramping::Off || (self.spawn_interval <= 1 && self.move_interval <= 1) {
            return;
        }
        if 0 <= self.ramp_in {
            self.ramp_in -= 1;
            return;
        }
        if 1 < self.move_interval && self.level % 2 == 1 {
            self.move_interval -= 1;
        }
        if 1 < self.spawn_interval {
            self.spawn_interval -= 1;
        }
        self.level += 1;
        self.ramp_in = RAMP_INTERVAL;
    }
}

impl Rules for Asterix {
    fn reset(&mut self, _random: &mut NumpyStream) {
        *self = Self::new(self.ramping);
    }

    fn step(&mut self, button: Button, random: &mut NumpyStream) -> u32 {
        if self.spawn_in == 0 {
            self.spawn(random);
            self.spawn_in = self.spawn_interval;
        }
        match button {
            Button::Left => self.x = (self.x - 1).max(0),
            Button::Right => self.x = (self.x + 1).min(9),
            Button::Up => self.y = (self.y - 1).max(1),
            Button::Down => self.y = (self.y + 1).min(8),
            Button::Nothing | Button::Fire => {}
        }
        // Lane i is row i + 1, so only one lane can be touched before the objects move.
        let mut reward = self.touch(self.y as usize - 1);
        if self.move_in == 0 {
            self.move_in = self.move_interval;
            reward += self.move_objects();
        }
        self.spawn_in -= 1;
        self.move_in -= 1;
        self.ramp();
        reward
    }

    fn is_valid(&self) -> bool {
        on_grid(self.x)
            && (1..=LANES as i8).contains(&self.y)
            && self.lanes.iter().flatten().all(|object| on_grid(object.x))
            && (1..=10).contains(&self.spawn_interval)
            && self.spawn_in <= 10
            && (1..=5).contains(&self.move_interval)
            && self.move_in <= 5
            && (-1..=RAMP_INTERVAL).contains(&self.ramp_in)
            && self.level <= 100
    }

    fn over(&self) -> bool {
        self.over
    }

    fn level(&self) -> Option<u8> {
        Some(self.level)
    }

    fn paint(&self, planes: &mut [u8]) {
        mark(planes, PLAYER, self.y, self.x);
        for (i, lane) in self.lanes.iter().enumerate() {
            let Some(object) = lane else { continue };
            let row = i as i8 + 1;
            mark(planes, if object.gold { GOLD } else { ENEMY }, row, object.x);
            let trail = behind(object.x, object.rightward);
            if on_grid(trail) {
                mark(planes, TRAIL, row, trail);
            }
        }
    }
}
