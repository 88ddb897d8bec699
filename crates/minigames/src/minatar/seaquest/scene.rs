//! What is seen of the sea: ten planes.

use super::{Seaquest, Swimmer};
use crate::minatar::board::{behind, mark, mark_row, on_grid};

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

pub fn paint(sea: &Seaquest, planes: &mut [u8]) {
    mark(planes, FRONT, sea.y, sea.x);
    mark(planes, BACK, sea.y, behind(sea.x, sea.rightward));
    mark_row(planes, OXYGEN, GAUGE_ROW, (1 << sea.oxygen_cells()) - 1);
    for diver_i in 0..sea.divers_aboard.max(0) {
        mark(planes, DIVERS_ABOARD, GAUGE_ROW as i8, 8 - diver_i as i8);
    }
    for shot in &sea.player_shots {
        mark(planes, PLAYER_SHOT, shot.y, shot.x);
    }
    for shot in &sea.enemy_shots {
        mark(planes, ENEMY_SHOT, shot.y, shot.x);
    }
    sea.fish.iter().for_each(|fish| paint_swimmer(planes, FISH, fish));
    sea.submarines.iter().for_each(|submarine| paint_swimmer(planes, SUBMARINE, &submarine.body));
    sea.divers.iter().for_each(|diver| paint_swimmer(planes, DIVER, diver));
}

fn paint_swimmer(planes: &mut [u8], channel: usize, swimmer: &Swimmer) {
    mark(planes, channel, swimmer.y, swimmer.x);
    let trail = behind(swimmer.x, swimmer.rightward);
    if on_grid(trail) {
        mark(planes, TRAIL, swimmer.y, trail);
    }
}
