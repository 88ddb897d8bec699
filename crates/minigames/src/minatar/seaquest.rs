//! Seaquest: a submarine shoots fish and enemy submarines, rescues divers, and must surface for oxygen.
//!
//! Five lists of objects; new ones are appended, and each list is iterated from its end, so that an object can be
//! removed during the iteration. The order matters: it decides which of two simultaneous hits counts.

use super::Ramping;
use super::board::{Button, Rules, ahead, behind, mark, mark_row, on_grid};
use crate::numpy_stream::NumpyStream;
use serde::{Deserialize, Serialize};

const FRONT: usize = 0;
const BACK: usize = 1;
const PLAYER_SHOT: usize = 2;
const TRAIL: usize = 3;
const ENEMY_SHOT: usize = 4;
const FISH: usize = 5;
const SUBMARINE: usize = 6;
const OXYGEN: usize = 7;
const DIVERS_ABOARD: usize = 8;
const DIVER: usize = 9;

const GAUGE_ROW: usize = 9;

const FULL_OXYGEN: i16 = 200;
const FIRST_ENEMY_INTERVAL: u8 = 20;
const DIVER_INTERVAL: u8 = 30;
const FIRST_MOVE_INTERVAL: u8 = 5;
const LAST_MOVE_INTERVAL: u8 = 2;
const DIVER_MOVE_INTERVAL: u8 = 5;
const COOLDOWN: u8 = 5;
const ENEMY_SHOT_INTERVAL: u8 = 10;
const MOST_DIVERS: i32 = 6;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seaquest {
    x: i8,
    y: i8,
    rightward: bool,
    oxygen: i16,
    /// Falls below zero after a full rescue, and further with every surfacing from there.
    divers_aboard: i32,
    surfaced: bool,
    player_shots: Vec<Shot>,
    enemy_shots: Vec<Shot>,
    fish: Vec<Swimmer>,
    submarines: Vec<Submarine>,
    divers: Vec<Swimmer>,
    enemy_interval: u8,
    enemy_in: u8,
    diver_in: u8,
    move_interval: u8,
    cooldown: u8,
    ramping: Ramping,
    level: u8,
    over: bool,
}

impl Seaquest {
    pub fn new(ramping: Ramping) -> Self {
        Self {
            x: 5,
            y: 0,
            rightward: false,
            oxygen: FULL_OXYGEN,
            divers_aboard: 0,
            surfaced: true,
            player_shots: Vec::new(),
            enemy_shots: Vec::new(),
            fish: Vec::new(),
            submarines: Vec::new(),
            divers: Vec::new(),
            enemy_interval: FIRST_ENEMY_INTERVAL,
            enemy_in: FIRST_ENEMY_INTERVAL,
            diver_in: DIVER_INTERVAL,
            move_interval: FIRST_MOVE_INTERVAL,
            cooldown: 0,
            ramping,
            level: 0,
            over: false,
        }
    }

    /// Adds an enemy, unless its row holds one that moves the other way; the draws are made in both cases.
    fn spawn_enemy(&mut self, random: &mut NumpyStream) {
        let rightward = random.double() < 0.5;
        let is_submarine = random.double() < 1.0 / 3.0;
        let body = Swimmer::entering(random, rightward, self.move_interval);
        let mut others = self.fish.iter().chain(self.submarines.iter().map(|submarine| &submarine.body));
        if others.any(|other| other.y == body.y && other.rightward != rightward) {
            return;
        }
        if is_submarine {
            self.submarines.push(Submarine { body, shot_in: ENEMY_SHOT_INTERVAL });
        } else {
            self.fish.push(body);
        }
    }

    fn spawn_diver(&mut self, random: &mut NumpyStream) {
        let rightward = random.double() < 0.5;
        self.divers.push(Swimmer::entering(random, rightward, DIVER_MOVE_INTERVAL));
    }

    fn press(&mut self, button: Button) {
        match button {
            Button::Fire if self.cooldown == 0 => {
                self.player_shots.push(Shot { x: self.x, y: self.y, rightward: self.rightward });
                self.cooldown = COOLDOWN;
            }
            Button::Left => (self.x, self.rightward) = ((self.x - 1).max(0), false),
            Button::Right => (self.x, self.rightward) = ((self.x + 1).min(9), true),
            Button::Up => self.y = (self.y - 1).max(0),
            Button::Down => self.y = (self.y + 1).min(8),
            Button::Fire | Button::Nothing => {}
        }
    }

    fn move_player_shots(&mut self) -> u32 {
        let mut reward = 0;
        for i in (0..self.player_shots.len()).rev() {
            let shot = &mut self.player_shots[i];
            if !shot.advance() {
                self.player_shots.remove(i);
                continue;
            }
            let cell = (shot.x, shot.y);
            if let Some(hit) = self.fish.iter().position(|fish| fish.cell() == cell) {
                self.fish.remove(hit);
            } else if let Some(hit) = self.submarines.iter().position(|submarine| submarine.body.cell() == cell) {
                self.submarines.remove(hit);
            } else {
                continue;
            }
            self.player_shots.remove(i);
            reward += 1;
        }
        reward
    }

    fn move_divers(&mut self) {
        let player = (self.x, self.y);
        for i in (0..self.divers.len()).rev() {
            let has_room = self.divers_aboard < MOST_DIVERS;
            let diver = &mut self.divers[i];
            if diver.cell() == player && has_room {
                self.divers.remove(i);
                self.divers_aboard += 1;
                continue;
            }
            match diver.swim(DIVER_MOVE_INTERVAL) {
                Fate::Left => {
                    self.divers.remove(i);
                }
                Fate::Moved if diver.cell() == player && has_room => {
                    self.divers.remove(i);
                    self.divers_aboard += 1;
                }
                Fate::Moved | Fate::Waited => {}
            }
        }
    }

    fn move_submarines(&mut self) -> u32 {
        let player = (self.x, self.y);
        let mut reward = 0;
        for i in (0..self.submarines.len()).rev() {
            let mut submarine = self.submarines[i];
            self.over |= submarine.body.cell() == player;
            let fate = submarine.body.swim(self.move_interval);
            let touched = fate == Fate::Moved && submarine.body.cell() == player;
            self.over |= touched;
            let shot_down =
                fate == Fate::Moved && !touched && remove_shot_at(&mut self.player_shots, submarine.body.cell());
            reward += u32::from(shot_down);
            // It fires even if it is shot down or leaves in this step.
            if submarine.shot_in == 0 {
                submarine.shot_in = ENEMY_SHOT_INTERVAL;
                let Swimmer { x, y, rightward, .. } = submarine.body;
                self.enemy_shots.push(Shot { x, y, rightward });
            } else {
                submarine.shot_in -= 1;
            }
            if shot_down || fate == Fate::Left {
                self.submarines.remove(i);
            } else {
                self.submarines[i] = submarine;
            }
        }
        reward
    }

    fn move_enemy_shots(&mut self) {
        let player = (self.x, self.y);
        for i in (0..self.enemy_shots.len()).rev() {
            let shot = &mut self.enemy_shots[i];
            self.over |= (shot.x, shot.y) == player;
            if shot.advance() {
                self.over |= (shot.x, shot.y) == player;
            } else {
                self.enemy_shots.remove(i);
            }
        }
    }

    fn move_fish(&mut self) -> u32 {
        let player = (self.x, self.y);
        let mut reward = 0;
        for i in (0..self.fish.len()).rev() {
            let fish = &mut self.fish[i];
            self.over |= fish.cell() == player;
            let fate = fish.swim(self.move_interval);
            let cell = fish.cell();
            if fate == Fate::Left {
                self.fish.remove(i);
            } else if fate == Fate::Moved && cell == player {
                self.over = true;
            } else if fate == Fate::Moved && remove_shot_at(&mut self.player_shots, cell) {
                self.fish.remove(i);
                reward += 1;
            }
        }
        reward
    }

    /// Uses oxygen below the surface. Surfacing needs a diver aboard; six divers earn the oxygen that is left.
    fn breathe(&mut self) -> u32 {
        if 0 < self.y {
            self.oxygen -= 1;
            self.surfaced = false;
            return 0;
        }
        if self.surfaced {
            return 0;
        }
        if self.divers_aboard == 0 {
            self.over = true;
            return 0;
        }
        self.surfaced = true;
        let mut reward = 0;
        if self.divers_aboard == MOST_DIVERS {
            reward = u32::from(self.oxygen_cells());
            self.divers_aboard = 0;
        }
        self.oxygen = FULL_OXYGEN;
        self.divers_aboard -= 1;
        self.ramp();
        reward
    }

    fn ramp(&mut self) {
        if self.ramping == Ramping::Off || (self.enemy_interval <= 1 && self.move_interval <= LAST_MOVE_INTERVAL) {
            return;
        }
        if LAST_MOVE_INTERVAL < self.move_interval && self.level % 2 == 1 {
            self.move_interval -= 1;
        }
        if 1 < self.enemy_interval {
            self.enemy_interval -= 1;
        }
        self.level += 1;
    }

    /// Tenths of a full tank, rounded down.
    fn oxygen_cells(&self) -> u16 {
        (self.oxygen.max(0) * 10 / FULL_OXYGEN) as u16
    }
}

impl Rules for Seaquest {
    fn reset(&mut self, _random: &mut NumpyStream) {
        // The lists keep their allocations from one episode to the next.
        *self = Self {
            player_shots: emptied(&mut self.player_shots),
            enemy_shots: emptied(&mut self.enemy_shots),
            fish: emptied(&mut self.fish),
            submarines: emptied(&mut self.submarines),
            divers: emptied(&mut self.divers),
            ..Self::new(self.ramping)
        };
    }

    fn step(&mut self, button: Button, random: &mut NumpyStream) -> u32 {
        if self.enemy_in == 0 {
            self.spawn_enemy(random);
            self.enemy_in = self.enemy_interval;
        }
        if self.diver_in == 0 {
            self.spawn_diver(random);
            self.diver_in = DIVER_INTERVAL;
        }
        self.press(button);
        let mut reward = self.move_player_shots();
        self.move_divers();
        reward += self.move_submarines();
        self.move_enemy_shots();
        reward += self.move_fish();
        self.enemy_in = self.enemy_in.saturating_sub(1);
        self.diver_in = self.diver_in.saturating_sub(1);
        self.cooldown = self.cooldown.saturating_sub(1);
        self.over |= self.oxygen <= 0;
        reward + self.breathe()
    }

    fn is_valid(&self) -> bool {
        let shot = |shot: &Shot| on_grid(shot.x) && on_grid(shot.y);
        let swims = |body: &Swimmer| on_grid(body.x) && on_grid(body.y) && body.move_in <= DIVER_MOVE_INTERVAL;
        let armed = |submarine: &Submarine| swims(&submarine.body) && submarine.shot_in <= ENEMY_SHOT_INTERVAL;
        let counts = [self.player_shots.len(), self.enemy_shots.len(), self.fish.len(), self.submarines.len()];
        on_grid(self.x)
            && on_grid(behind(self.x, self.rightward))
            && (0..GAUGE_ROW as i8).contains(&self.y)
            && (-1..=FULL_OXYGEN).contains(&self.oxygen)
            && (-1_000_000_000..=MOST_DIVERS).contains(&self.divers_aboard)
            && counts.into_iter().chain([self.divers.len()]).all(|count| count <= 1000)
            && self.player_shots.iter().chain(&self.enemy_shots).all(shot)
            && self.fish.iter().chain(&self.divers).all(swims)
            && self.submarines.iter().all(armed)
            && (1..=FIRST_ENEMY_INTERVAL).contains(&self.enemy_interval)
            && self.enemy_in <= FIRST_ENEMY_INTERVAL
            && self.diver_in <= DIVER_INTERVAL
            && (LAST_MOVE_INTERVAL..=FIRST_MOVE_INTERVAL).contains(&self.move_interval)
            && self.cooldown <= COOLDOWN
            && self.level <= 100
    }

    fn over(&self) -> bool {
        self.over
    }

    fn level(&self) -> Option<u8> {
        Some(self.level)
    }

    fn paint(&self, planes: &mut [u8]) {
        mark(planes, FRONT, self.y, self.x);
        mark(planes, BACK, self.y, behind(self.x, self.rightward));
        mark_row(planes, OXYGEN, GAUGE_ROW, (1 << self.oxygen_cells()) - 1);
        for diver_i in 0..self.divers_aboard.max(0) {
            mark(planes, DIVERS_ABOARD, GAUGE_ROW as i8, 8 - diver_i as i8);
        }
        for shot in &self.player_shots {
            mark(planes, PLAYER_SHOT, shot.y, shot.x);
        }
        for shot in &self.enemy_shots {
            mark(planes, ENEMY_SHOT, shot.y, shot.x);
        }
        self.fish.iter().for_each(|fish| fish.paint(planes, FISH));
        self.submarines.iter().for_each(|submarine| submarine.body.paint(planes, SUBMARINE));
        self.divers.iter().for_each(|diver| diver.paint(planes, DIVER));
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Shot {
    x: i8,
    y: i8,
    rightward: bool,
}

impl Shot {
    /// Moves by one column; whether it is still on the grid.
    fn advance(&mut self) -> bool {
        self.x = ahead(self.x, self.rightward);
        on_grid(self.x)
    }
}

/// A fish, a diver, or the hull of a submarine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Swimmer {
    x: i8,
    y: i8,
    rightward: bool,
    move_in: u8,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Submarine {
    body: Swimmer,
    shot_in: u8,
}

/// What a step did to a swimmer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Fate {
    Waited,
    Moved,
    /// It left the grid.
    Left,
}

impl Swimmer {
    /// A swimmer at the edge it comes from, in a random row.
    fn entering(random: &mut NumpyStream, rightward: bool, move_interval: u8) -> Self {
        Self { x: if rightward { 0 } else { 9 }, y: 1 + random.below(8) as i8, rightward, move_in: move_interval }
    }

    fn cell(&self) -> (i8, i8) {
        (self.x, self.y)
    }

    /// Counts down to its next move, or moves.
    fn swim(&mut self, move_interval: u8) -> Fate {
        if 0 < self.move_in {
            self.move_in -= 1;
            return Fate::Waited;
        }
        self.move_in = move_interval;
        self.x = ahead(self.x, self.rightward);
        if on_grid(self.x) { Fate::Moved } else { Fate::Left }
    }

    fn paint(&self, planes: &mut [u8], channel: usize) {
        mark(planes, channel, self.y, self.x);
        let trail = behind(self.x, self.rightward);
        if on_grid(trail) {
            mark(planes, TRAIL, self.y, trail);
        }
    }
}

/// Removes the first shot in a cell; whether there was one.
fn remove_shot_at(shots: &mut Vec<Shot>, cell: (i8, i8)) -> bool {
    let hit = shots.iter().position(|shot| (shot.x, shot.y) == cell);
    if let Some(i) = hit {
        shots.remove(i);
    }
    hit.is_some()
}

/// The list with its allocation but without its elements; an unallocated list stays in its place.
fn emptied<T>(list: &mut Vec<T>) -> Vec<T> {
    list.clear();
    std::mem::take(list)
}
