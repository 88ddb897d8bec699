//! Where traffic comes from: an endless road, row by row, made of stretches.
//!
//! Two promises hold, and the exactness of the risk rests on them. Breaks: before the first row of every tight stretch
//! lie at least [`BREAK`] empty rows. Passage: whoever enters a stretch where it is open can drive through it to its
//! end, whatever the coins say. Together: a car that has a break's rows before it survives in every lane.

use super::difficulty::{Difficulty, TrafficMix};
use super::row::Row;
use super::{LANES, ROWS_AHEAD};
use sane_env::Stream;
use serde::{Deserialize, Serialize};

/// Empty rows before a tight stretch: enough to come from any lane to where both gaps of a gate can be reached when
/// two rows remain, and to the mouth of any corridor.
pub const BREAK: u64 = LANES as u64 - 1;
const SHORTEST_CORRIDOR: u64 = 3;
const SHORTEST_SCATTER: u64 = 4;
const LONGEST_SCATTER: u64 = 10;

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Traffic {
    difficulty: Difficulty,
    stretch: Stretch,
    rows_left: u64,
    stream: Stream,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Stretch {
    /// Empty rows.
    Break,
    /// Single cars; every row can be entered from every lane.
    Scattered,
    /// A jam with one free lane, which winds between the outer lanes. `low..=high` is where the way may be in the row
    /// last made: one lane, or two neighbours while it is undecided.
    Corridor { low: usize, high: usize },
    /// One row of jam with two gaps, of which one closes.
    Gate,
}

impl Traffic {
    pub fn new(difficulty: Difficulty, stream: Stream) -> Self {
        // As many empty rows as are seen, so that no first state is lost.
        Self { difficulty, stretch: Stretch::Break, rows_left: ROWS_AHEAD as u64 + 1, stream }
    }

    /// The next row of the road, not yet decided.
    pub fn next_row(&mut self) -> Row {
        let mix = self.difficulty.mix();
        if self.rows_left == 0 {
            self.begin_stretch(&mix);
        }
        self.rows_left -= 1;
        match self.stretch {
            Stretch::Break => Row::EMPTY,
            Stretch::Scattered => self.scattered_row(&mix),
            Stretch::Corridor { low, high } => self.corridor_row(&mix, low, high),
            Stretch::Gate => self.gate_row(),
        }
    }

    /// Rows that come from now on are drawn from another stream; the stretch that has begun goes on.
    pub fn redraw(&mut self, stream: Stream) {
        self.stream = stream;
    }

    fn begin_stretch(&mut self, mix: &TrafficMix) {
        if self.stretch != Stretch::Break {
            self.stretch = Stretch::Break;
            self.rows_left = self.between(BREAK, BREAK + mix.longest_extra_break);
            return;
        }
        let draw = self.stream.below(mix.scattered_weight + mix.corridor_weight + mix.gate_weight);
        if draw < mix.scattered_weight {
            self.stretch = Stretch::Scattered;
            self.rows_left = self.between(SHORTEST_SCATTER, LONGEST_SCATTER);
        } else if draw < mix.scattered_weight + mix.corridor_weight {
            let mouth = self.between(1, LANES as u64 - 2) as usize;
            self.stretch = Stretch::Corridor { low: mouth, high: mouth };
            self.rows_left = self.between(SHORTEST_CORRIDOR, mix.longest_corridor);
        } else {
            self.stretch = Stretch::Gate;
            self.rows_left = 1;
        }
    }

    fn scattered_row(&mut self, mix: &TrafficMix) -> Row {
        let mut row = Row::EMPTY;
        for _ in 0..2 {
            if self.happens(mix.car_percent) {
                row.cars |= 1 << self.stream.below(LANES as u64);
            }
        }
        if self.happens(mix.undecided_percent) {
            let lane = self.stream.below(LANES as u64 - 1);
            row.undecided = 0b11 << lane & !row.cars;
            if row.undecided.count_ones() < 2 {
                row.undecided = 0;
            }
        }
        if row.is_open_to_all() { row } else { Row::EMPTY }
    }

    /// The way goes on into a lane, or into two of which one will close, that can be reached from wherever it was. It
    /// keeps off the outer lanes, where the rail would make two actions the same.
    fn corridor_row(&mut self, mix: &TrafficMix, low: usize, high: usize) -> Row {
        let first = (high - 1).max(1);
        let last = (low + 1).min(LANES - 2);
        let is_undecided = first < last && self.happens(mix.undecided_percent);
        if is_undecided {
            let lane = self.between(first as u64, last as u64 - 1) as usize;
            self.stretch = Stretch::Corridor { low: lane, high: lane + 1 };
            return Row::all_but_one_of(lane, lane + 1);
        }
        let lane = self.between(first as u64, last as u64) as usize;
        self.stretch = Stretch::Corridor { low: lane, high: lane };
        Row::all_but(lane)
    }

    fn gate_row(&mut self) -> Row {
        let half_width = self.between(1, 2) as usize;
        let middle = self.between(half_width as u64, (LANES - 1 - half_width) as u64) as usize;
        Row::all_but_one_of(middle - half_width, middle + half_width)
    }

    fn between(&mut self, smallest: u64, largest: u64) -> u64 {
        smallest + self.stream.below(largest - smallest + 1)
    }

    fn happens(&mut self, percent: u64) -> bool {
        self.stream.below(100) < percent
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_rows_lie_before_every_tight_stretch() {
        for difficulty in Difficulty::all() {
            let mut traffic = Traffic::new(difficulty, Stream::named(1, "traffic"));
            let mut empty = 0;
            let mut was_tight = false;
            for _ in 0..20_000 {
                let row = traffic.next_row();
                let is_tight = !row.is_open_to_all();
                assert!(
                    !is_tight || was_tight || BREAK <= empty,
                    "{difficulty:?}: a tight row after {empty} empty ones"
                );
                empty = if row == Row::EMPTY { empty + 1 } else { 0 };
                was_tight = is_tight;
            }
        }
    }

    #[test]
    fn every_kind_of_stretch_occurs_at_every_difficulty() {
        for difficulty in Difficulty::all() {
            let mut traffic = Traffic::new(difficulty, Stream::named(2, "traffic"));
            let rows: Vec<Row> = (0..5_000).map(|_| traffic.next_row()).collect();
            let tight_and_sure = rows.iter().any(|row| row.cars.count_ones() == 6);
            let gate = rows.iter().any(|row| row.cars.count_ones() == 5 && row.undecided != 0);
            let scattered = rows.iter().any(|row| row.cars != 0 && row.is_open_to_all());
            assert!(tight_and_sure && gate && scattered, "{difficulty:?}");
        }
    }
}
