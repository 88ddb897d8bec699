//! `risky-road/shift`: a rule that changes while the agent learns. Who explores again, and where?
//!
//! In every break behind the second tight stretch one lane is fast and one is slow, four rows long: the fast lane pays double
//! for a row, the slow one nothing. After a number of interactions the two change places: what was slow is fast. That the
//! fast lane pays no more, every driver notices; that the slow one does, only a driver who tries it. In breaks
//! trying is harmless, but for a few states near their end.

use super::marked_road::MarkRule;
use super::{LANES, ROW_REWARD};
use crate::picture::Colour;
use sane_env::Stream;
use serde::{Deserialize, Serialize};

/// Interactions before the change, unless the world's name says otherwise (`risky-road/shift:after=100000`).
pub const SHIFT_AFTER: u64 = 30_000;

/// Rows of a fast or slow lane: fewer than a break has.
const ROWS: u32 = 4;

/// Empty rows of a break before them.
const ROWS_BEFORE: u32 = 1;

/// The rule, its age, and the lanes of the newest break.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Shift {
    after: u64,
    /// Since the world was made, over all episodes.
    interactions: u64,
    first: u8,
    second: u8,
}

/// The two lanes of a row, as bits: the one that is fast first, and the one that is fast after the change.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct MarkedLanes {
    first: u8,
    second: u8,
}

impl Shift {
    pub fn new(after: u64) -> Self {
        Self { after, interactions: 0, first: 0, second: 0 }
    }
}

impl MarkRule for Shift {
    const COLOURS: &'static [Colour] = &[[84, 162, 75], [178, 121, 162]];

    const MEANINGS: &'static [&'static str] = &["lane that is fast first", "lane that is fast after the change"];

    type Marks = MarkedLanes;

    fn marks(&mut self, i: u32, stream: &mut Stream) -> MarkedLanes {
        let Some(row) = i.checked_sub(ROWS_BEFORE).filter(|row| *row < ROWS) else {
            return MarkedLanes::default();
        };
        if row == 0 {
            let first = stream.below(LANES as u64);
            let other = stream.below(LANES as u64 - 1);
            self.first = first as u8;
            self.second = if other < first { other as u8 } else { other as u8 + 1 };
        }
        MarkedLanes { first: 1 << self.first, second: 1 << self.second }
    }

    fn pay(&mut self, marks: MarkedLanes, lane: usize) -> f32 {
        let is_in = |lanes: u8| lanes >> lane & 1 == 1;
        let has_changed = self.after <= self.interactions;
        let (fast, slow) = if has_changed { (marks.second, marks.first) } else { (marks.first, marks.second) };
        if is_in(fast) {
            ROW_REWARD
        } else if is_in(slow) {
            -ROW_REWARD
        } else {
            0.0
        }
    }

    fn is_valid(&self, other: &Self) -> bool {
        let is_lane = |lane: u8| usize::from(lane) < LANES;
        self.after == other.after && self.interactions <= u64::MAX / 2 && is_lane(self.first) && is_lane(self.second)
    }

    fn paint(&self, marks: MarkedLanes, _lane: Option<usize>, plane: usize) -> u8 {
        if plane == 0 { marks.first } else { marks.second }
    }

    fn tick(&mut self) {
        self.interactions += 1;
    }

    fn settle(&mut self) {
        self.interactions = self.interactions.max(self.after);
    }
}

#[cfg(test)]
mod tests {
    use super::super::marked_road::MarkedRoad;
    use super::*;
    use sane_env::{Action, Environment};

    const MARKS: MarkedLanes = MarkedLanes { first: 0b10, second: 0b1000 };

    #[test]
    fn the_lanes_change_places_after_the_given_number_of_interactions() {
        let mut rule = Shift::new(2);
        let pays = |rule: &mut Shift| [1, 3, 5].map(|lane| rule.pay(MARKS, lane));
        for _ in 0..2 {
            assert_eq!(pays(&mut rule), [ROW_REWARD, -ROW_REWARD, 0.0]);
            rule.tick();
        }
        assert_eq!(pays(&mut rule), [-ROW_REWARD, ROW_REWARD, 0.0]);
        let mut settled = Shift::new(1_000);
        settled.settle();
        assert_eq!(pays(&mut settled), [-ROW_REWARD, ROW_REWARD, 0.0]);
    }

    #[test]
    fn every_marked_row_has_two_lanes_which_are_the_same_for_four_rows() {
        let (mut rule, mut stream) = (Shift::new(1), Stream::named(1, "marks"));
        for _ in 0..200 {
            let rows: Vec<MarkedLanes> = (0..8).map(|i| rule.marks(i, &mut stream)).collect();
            assert!(rows[1..5].iter().all(|row| *row == rows[1] && row.first != row.second));
            assert!(rows[1].first.count_ones() == 1 && rows[1].second.count_ones() == 1 && rows[1].second < 1 << LANES);
            assert_eq!([rows[0], rows[5], rows[7]], [MarkedLanes::default(); 3]);
        }
    }

    #[test]
    fn interactions_are_counted_over_episodes_and_a_snapshot_keeps_the_count() {
        let mut world = MarkedRoad::new("test".into(), Shift::new(40), 1);
        let mut frame = vec![0; world.spec().frame.bytes()];
        let mut starts = Stream::named(1, "starts");
        for _ in 0..3 {
            world.reset(&mut starts, &mut frame).unwrap();
            while !world.step(Action(0), &mut frame).unwrap().ending.ends_episode() {}
        }
        let mut copy = MarkedRoad::new("test".into(), Shift::new(40), 2);
        copy.restore(&world.snapshot()).unwrap();
        assert_eq!(copy.snapshot(), world.snapshot());
        assert_ne!(MarkedRoad::new("test".into(), Shift::new(40), 1).snapshot(), world.snapshot());
    }
}
