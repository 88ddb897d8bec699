//! Space invaders: a block of aliens, a cannon, shots of both sides. It is deterministic.

use super::Ramping;
use super::board::{Button, Rules, SIDE, mark, mark_row, on_grid};
use crate::numpy_stream::NumpyStream;
use serde::{Deserialize, Serialize};

const CANNON: usize = 0;
const ALIEN: usize = 1;
const ALIEN_TO_THE_LEFT: usize = 2;
const ALIEN_TO_THE_RIGHT: usize = 3;
const PLAYER_SHOT: usize = 4;
const ENEMY_SHOT: usize = 5;

/// Bit c of word r stands for row r, column c.
type Map = [u16; SIDE];

const WAVE: Map = [0xfc, 0xfc, 0xfc, 0xfc, 0, 0, 0, 0, 0, 0];
const LAST_COLUMN: u16 = 1 << 9;
const COOLDOWN: u8 = 5;
const ENEMY_SHOT_INTERVAL: u8 = 10;
const FIRST_MOVE_INTERVAL: u8 = 12;
const LAST_MOVE_INTERVAL: u8 = 6;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpaceInvaders {
    cannon: i8,
    aliens: Map,
    player_shots: Map,
    enemy_shots: Map,
    rightward: bool,
    move_interval: u8,
    move_in: u8,
    shot_in: u8,
    cooldown: u8,
    ramping: Ramping,
    level: u8,
    over: bool,
}

impl SpaceInvaders {
    pub fn new(ramping: Ramping) -> Self {
        Self {
            cannon: 5,
            aliens: WAVE,
            player_shots: [0; SIDE],
            enemy_shots: [0; SIDE],
            rightward: false,
            move_interval: FIRST_MOVE_INTERVAL,
            move_in: FIRST_MOVE_INTERVAL,
            shot_in: ENEMY_SHOT_INTERVAL,
            cooldown: 0,
            ramping,
            level: 0,
            over: false,
        }
    }

    fn hits_cannon(&self, map: &Map) -> bool {
        map[9] >> self.cannon & 1 == 1
    }

    fn occupied_columns(&self) -> u16 {
        self.aliens.iter().fold(0, |columns, row| columns | row)
    }

    fn move_shots(&mut self) {
        self.player_shots.copy_within(1.., 0);
        self.player_shots[9] = 0;
        self.enemy_shots.copy_within(..9, 1);
        self.enemy_shots[0] = 0;
        self.over |= self.hits_cannon(&self.enemy_shots);
    }

    fn move_aliens(&mut self) {
        let left = self.aliens.iter().map(|row| row.count_ones()).sum::<u32>() as u8;
        self.move_in = left.min(self.move_interval);
        let wall = if self.rightward { LAST_COLUMN } else { 1 };
        if self.occupied_columns() & wall != 0 {
            self.rightward = !self.rightward;
            self.over |= self.aliens[9] != 0;
            self.aliens.rotate_right(1);
        } else if self.rightward {
            self.aliens.iter_mut().for_each(|row| *row <<= 1);
        } else {
            self.aliens.iter_mut().for_each(|row| *row >>= 1);
        }
        self.over |= self.hits_cannon(&self.aliens);
    }

    /// The lowest alien of the column nearest to the cannon shoots; of two equally near columns the left one.
    fn shoot_at_cannon(&mut self) {
        let columns = self.occupied_columns();
        let nearest = (0..SIDE as i8).filter(|x| columns >> x & 1 == 1).min_by_key(|x| (x - self.cannon).abs());
        if let Some(x) = nearest
            && let Some(row) = self.aliens.iter().rposition(|row| row >> x & 1 == 1)
        {
            self.enemy_shots[row] |= 1 << x;
        }
    }

    fn remove_hit_aliens(&mut self) -> u32 {
        let mut reward = 0;
        for (aliens, shots) in self.aliens.iter_mut().zip(&mut self.player_shots) {
            let hits = *aliens & *shots;
            *aliens &= !hits;
            *shots &= !hits;
            reward += hits.count_ones();
        }
        reward
    }
}

impl Rules for SpaceInvaders {
    fn reset(&mut self, _random: &mut NumpyStream) {
        *self = Self::new(self.ramping);
    }

    fn step(&mut self, button: Button, _random: &mut NumpyStream) -> u32 {
        match button {
            Button::Fire if self.cooldown == 0 => {
                self.player_shots[9] |= 1 << self.cannon;
                self.cooldown = COOLDOWN;
            }
            Button::Left => self.cannon = (self.cannon - 1).max(0),
            Button::Right => self.cannon = (self.cannon + 1).min(9),
            _ => {}
        }
        self.move_shots();
        self.over |= self.hits_cannon(&self.aliens);
        if self.move_in == 0 {
            self.move_aliens();
        }
        if self.shot_in == 0 {
            self.shot_in = ENEMY_SHOT_INTERVAL;
            self.shoot_at_cannon();
        }
        let reward = self.remove_hit_aliens();
        self.cooldown = self.cooldown.saturating_sub(1);
        self.move_in -= 1;
        self.shot_in -= 1;
        if self.aliens == [0; SIDE] {
            if LAST_MOVE_INTERVAL < self.move_interval && self.ramping == Ramping::On {
                self.move_interval -= 1;
                self.level += 1;
            }
            self.aliens = WAVE;
        }
        reward
    }

    fn is_valid(&self) -> bool {
        let on_board = |map: &Map| map.iter().all(|row| *row <= 0x3ff);
        on_grid(self.cannon)
            && self.aliens != [0; SIDE]
            && [&self.aliens, &self.player_shots, &self.enemy_shots].into_iter().all(on_board)
            && (LAST_MOVE_INTERVAL..=FIRST_MOVE_INTERVAL).contains(&self.move_interval)
            && self.move_in <= FIRST_MOVE_INTERVAL
            && self.shot_in <= ENEMY_SHOT_INTERVAL
            && self.cooldown <= COOLDOWN
            && self.level <= FIRST_MOVE_INTERVAL
    }

    fn over(&self) -> bool {
        self.over
    }

    fn level(&self) -> Option<u8> {
        Some(self.level)
    }

    fn paint(&self, planes: &mut [u8]) {
        mark(planes, CANNON, 9, self.cannon);
        let direction = if self.rightward { ALIEN_TO_THE_RIGHT } else { ALIEN_TO_THE_LEFT };
        for row in 0..SIDE {
            for (channel, map) in [
                (ALIEN, &self.aliens),
                (direction, &self.aliens),
                (PLAYER_SHOT, &self.player_shots),
                (ENEMY_SHOT, &self.enemy_shots),
            ] {
                if map[row] != 0 {
                    mark_row(planes, channel, row, map[row]);
                }
            }
        }
    }
}
