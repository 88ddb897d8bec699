//! The generator of traffic: an endless road, row by row, made of stretches, and the difficulty that parametrises it.
//!
//! The computation of the exact risk relies on two invariants. Breaks: at least [`BREAK`] empty rows precede the first
//! row of every tight stretch. Passage: a car that enters a stretch through an opening can drive to its end, whatever
//! the coins. Hence a car with a break ahead survives in every lane.

use super::row::Row;
use super::{LANES, ROWS_AHEAD};
use sane_env::Stream;
use serde::{Deserialize, Serialize};

/// Empty rows before a tight stretch: enough to reach, from any lane, the entrance of any corridor, and a lane from which
/// both gaps of a gate are within two rows.
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
    /// A jam with one free lane, which winds between the outer lanes. `low..=high` are the lanes that may be free in the
    /// newest row: one, or two neighbours while they are undecided.
    Corridor { low: usize, high: usize },
    /// One row of jam with two gaps, of which one closes.
    Gate,
}

impl Traffic {
    pub fn new(difficulty: Difficulty, stream: Stream) -> Self {
        // As many empty rows as are visible, so that every first state can be survived.
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

    /// Whether the newest row lies in a break.
    pub fn is_break(&self) -> bool {
        self.stretch == Stretch::Break
    }

    /// Whether the newest row lies in a tight stretch: a corridor or a gate.
    pub fn is_tight(&self) -> bool {
        matches!(self.stretch, Stretch::Corridor { .. } | Stretch::Gate)
    }

    /// Whether this is a state of traffic of this difficulty.
    pub fn is_valid(&self, difficulty: Difficulty) -> bool {
        let inner = 1..=LANES - 2;
        let is_stretch = match self.stretch {
            Stretch::Corridor { low, high } => {
                inner.contains(&low) && inner.contains(&high) && (low == high || low + 1 == high)
            }
            Stretch::Break | Stretch::Scattered | Stretch::Gate => true,
        };
        self.difficulty == difficulty && self.rows_left <= 100 && is_stretch
    }

    /// Draws later rows from another stream; the current stretch continues.
    pub fn reseed(&mut self, stream: Stream) {
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
            let entrance = self.between(1, LANES as u64 - 2) as usize;
            self.stretch = Stretch::Corridor { low: entrance, high: entrance };
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

    /// The free lane of the next row, or two of which one will close, can be reached from every lane that may be free
    /// now. The outer lanes are left out, since at the rail two actions have the same effect.
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

/// Difficulty of the road, from 1 (wide and empty) to 9 (long jams, short breaks, many undecided cars).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Difficulty(u8);

impl Difficulty {
    /// Difficulty 2.
    pub const EASY: Self = Self(2);
    /// Difficulty 5.
    pub const NORMAL: Self = Self(5);
    /// Difficulty 8.
    pub const HARD: Self = Self(8);

    /// All nine.
    pub fn all() -> impl Iterator<Item = Self> + Clone {
        (1..=9).map(Self)
    }

    /// Reads `easy`, `normal`, `hard` or a number from 1 to 9.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "easy" => Some(Self::EASY),
            "normal" => Some(Self::NORMAL),
            "hard" => Some(Self::HARD),
            number => number.parse().ok().filter(|level| (1..=9).contains(level)).map(Self),
        }
    }

    /// The name of the road of this difficulty.
    pub fn world_name(self) -> String {
        match self {
            Self::NORMAL => "risky-road".into(),
            Self::EASY => "risky-road/easy".into(),
            Self::HARD => "risky-road/hard".into(),
            Self(level) => format!("risky-road/{level}"),
        }
    }

    /// Parameters of the traffic.
    fn mix(self) -> TrafficMix {
        let level = u64::from(self.0);
        TrafficMix {
            longest_extra_break: 10 - level,
            longest_corridor: 3 + level,
            scattered_weight: 8,
            corridor_weight: 4 + level,
            gate_weight: level,
            car_percent: 20 + 6 * level,
            undecided_percent: 5 * level,
        }
    }
}

/// Parameters of the traffic, as a function of the difficulty.
#[derive(Debug, Clone, Copy)]
struct TrafficMix {
    /// Largest number of empty rows of a break beyond [`BREAK`].
    longest_extra_break: u64,
    longest_corridor: u64,
    /// Relative frequencies of the stretches that follow a break.
    scattered_weight: u64,
    corridor_weight: u64,
    gate_weight: u64,
    /// Probability of each of two cars in a row of scattered traffic.
    car_percent: u64,
    /// Probability that a row of scattered traffic or of a corridor holds an undecided car.
    undecided_percent: u64,
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

    #[test]
    fn every_difficulty_is_parsed_from_its_world_name() {
        for difficulty in Difficulty::all() {
            let name = difficulty.world_name();
            let text = name.strip_prefix("risky-road").unwrap().strip_prefix('/').unwrap_or("normal");
            assert_eq!(Difficulty::parse(text), Some(difficulty));
        }
    }

    #[test]
    fn other_difficulties_are_refused() {
        for text in ["0", "10", "-1", "", "tough", "5.0"] {
            assert_eq!(Difficulty::parse(text), None);
        }
    }
}
