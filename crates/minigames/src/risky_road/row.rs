//! One row of the road: the lanes with cars, and the two lanes one of which an undecided car will take.

use super::LANES;
use sane_env::Stream;
use serde::{Deserialize, Serialize};

const ALL_LANES: u8 = (1 << LANES) - 1;

/// Bit l stands for lane l. Either no lane is undecided, or two are, and one of them will be closed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Row {
    pub cars: u8,
    pub undecided: u8,
}

impl Row {
    pub const EMPTY: Self = Self { cars: 0, undecided: 0 };

    /// A jam with one free lane.
    pub fn all_but(lane: usize) -> Self {
        Self { cars: ALL_LANES & !(1 << lane), undecided: 0 }
    }

    /// A jam with two gaps, of which one will be closed.
    pub fn all_but_one_of(lane: usize, other: usize) -> Self {
        let gaps = 1 << lane | 1 << other;
        Self { cars: ALL_LANES & !gaps, undecided: gaps }
    }

    pub fn is_valid(self) -> bool {
        (self.cars | self.undecided) & !ALL_LANES == 0
            && self.cars & self.undecided == 0
            && matches!(self.undecided.count_ones(), 0 | 2)
    }

    pub fn is_free(self, lane: usize) -> bool {
        self.cars >> lane & 1 == 0
    }

    /// Draws which of the two undecided lanes closes; draws nothing in a decided row.
    pub fn decide(&mut self, coins: &mut Stream) {
        if self.undecided != 0 {
            *self = self.outcomes()[coins.below(2) as usize];
        }
    }

    /// The two equally likely outcomes of the row; equal if nothing is undecided.
    pub fn outcomes(self) -> [Self; 2] {
        let low = self.undecided & self.undecided.wrapping_neg();
        let high = self.undecided & !low;
        [low, high].map(|closed| Self { cars: self.cars | closed, undecided: 0 })
    }

    /// Whether the row can be entered from every lane, whatever its outcome.
    pub fn is_open_to_all(self) -> bool {
        self.outcomes().iter().all(|row| {
            let free = !row.cars & ALL_LANES;
            (free | free << 1 | free >> 1) & ALL_LANES == ALL_LANES
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decided_row_has_one_outcome_and_an_undecided_one_closes_either_lane() {
        let row = Row::all_but(3);
        assert_eq!(row.outcomes(), [row, row]);
        assert_eq!(Row::all_but_one_of(2, 4).outcomes(), [Row::all_but(4), Row::all_but(2)]);
    }

    #[test]
    fn two_cars_at_the_rail_trap_the_outer_lane() {
        assert!(Row { cars: 0b000_0110, undecided: 0 }.is_open_to_all());
        assert!(!Row { cars: 0b000_0011, undecided: 0 }.is_open_to_all());
        assert!(!Row { cars: 0b000_0001, undecided: 0b000_0110 }.is_open_to_all());
    }

    #[test]
    fn a_coin_decides_both_ways() {
        let mut coins = Stream::named(1, "coins");
        let mut seen = [0; 2];
        for _ in 0..100 {
            let mut row = Row::all_but_one_of(1, 5);
            row.decide(&mut coins);
            assert_eq!(row.undecided, 0);
            seen[usize::from(row == Row::all_but(1))] += 1;
        }
        assert!(30 <= seen[0] && 30 <= seen[1], "{seen:?}");
    }
}
