//! How hard the road is, from 1 to 9, and what that means for its traffic.

use serde::{Deserialize, Serialize};

/// A number from 1 (wide and empty) to 9 (long jams, short breaks, cars that waver).
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

    /// What the traffic is made of.
    pub(super) fn mix(self) -> TrafficMix {
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

/// The numbers behind a difficulty.
#[derive(Debug, Clone, Copy)]
pub(super) struct TrafficMix {
    /// Empty rows of a break beyond those that safety asks for.
    pub longest_extra_break: u64,
    pub longest_corridor: u64,
    /// How often each kind of stretch follows a break, relative to the others.
    pub scattered_weight: u64,
    pub corridor_weight: u64,
    pub gate_weight: u64,
    /// Probability of each of two cars in a row of scattered traffic.
    pub car_percent: u64,
    /// Probability that a row of scattered traffic or of a corridor holds an undecided car.
    pub undecided_percent: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_difficulty_is_made_again_from_its_name() {
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
