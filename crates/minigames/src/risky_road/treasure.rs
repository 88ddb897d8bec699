//! `risky-road/treasure`: a reward that only several exploratory choices in a row find, in stretches where they are harmless,
//! with stretches between in which they kill.
//!
//! In every break behind the second tight stretch there is a trail of three marked rows: a mouth of three lanes, then one of
//! its outer lanes, then the middle one, which is a way that no traffic makes a car take. A marked cell pays nothing for its
//! row, so that a driver who knows nothing else keeps off the trail; the car that follows it from its mouth to its end finds
//! the treasure. An agent without exploratory actions never learns of it. One that explores everywhere alike pays with
//! crashes, and reaches few trails.

use super::marked_road::MarkRule;
use super::{LANES, ROW_REWARD};
use crate::picture::Colour;
use sane_env::Stream;
use serde::{Deserialize, Serialize};

/// Reward of the treasure: thirty rows.
pub const TREASURE: f32 = 3.0;

/// Rows of a trail.
pub const TRAIL: u8 = 3;

/// Empty rows of a break before its trail.
const ROWS_BEFORE: u32 = 1;

/// The trail in sight, and how much of it the car has followed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Treasure {
    /// Lanes of the newest trail, as bits, row by row.
    trail: [u8; TRAIL as usize],
    /// Rows followed without a miss.
    followed: u8,
}

/// A row of a trail: its lanes as bits, and its number from 1; 0 in rows without.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TrailRow {
    lanes: u8,
    number: u8,
}

impl MarkRule for Treasure {
    /// The trail, and on the car's own cell whether it has followed the trail so far.
    const COLOURS: &'static [Colour] = &[[130, 170, 255], [84, 162, 75]];

    const MEANINGS: &'static [&'static str] = &["trail", "own car, on the trail so far"];

    type Marks = TrailRow;

    fn begin_episode(&mut self) {
        *self = Self::default();
    }

    fn marks(&mut self, i: u32, stream: &mut Stream) -> TrailRow {
        let Some(row) = i.checked_sub(ROWS_BEFORE).filter(|row| *row < u32::from(TRAIL)) else {
            return TrailRow::default();
        };
        if row == 0 {
            // Not a lane at the rail, so that the mouth fits between them.
            let middle = 1_u8 << (1 + stream.below(LANES as u64 - 2));
            let beside = if stream.below(2) == 1 { middle << 1 } else { middle >> 1 };
            self.trail = [middle << 1 | middle | middle >> 1, beside, middle];
        }
        TrailRow { lanes: self.trail[row as usize], number: row as u8 + 1 }
    }

    fn pay(&mut self, row: TrailRow, lane: usize) -> f32 {
        if row.lanes >> lane & 1 == 0 {
            self.followed = 0;
            return 0.0;
        }
        self.followed = if self.followed + 1 == row.number { row.number } else { 0 };
        let found = if self.followed == TRAIL { TREASURE } else { 0.0 };
        found - ROW_REWARD
    }

    fn is_valid(&self, _other: &Self) -> bool {
        self.followed <= TRAIL
    }

    fn paint(&self, row: TrailRow, lane: Option<usize>, plane: usize) -> u8 {
        match (plane, lane) {
            (0, _) => row.lanes,
            (1, Some(lane)) if self.followed != 0 => 1 << lane,
            _ => 0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::marked_road::MarkedRoad;
    use super::super::{RiskyRoad, Steering};
    use super::*;
    use sane_env::{Action, Environment, GroundTruth};

    /// What a driver meets in `ROWS` interactions: treasures, crashes, changed actions.
    #[derive(Debug, Default)]
    struct Drive {
        treasures: u32,
        crashes: u32,
        changed: u32,
    }

    const ROWS: u32 = 60_000;

    /// The best play that keeps off the trail, straight on if that is one of its choices.
    fn safe_steering(road: &RiskyRoad, trail: u8) -> Steering {
        let lookahead = road.lookahead();
        let best = lookahead.best_survival();
        let order = [Steering::Straight, Steering::Left, Steering::Right];
        let is_best = |steering: &Steering| lookahead.survival(*steering) == best;
        let is_paid = |steering: &Steering| trail >> steering.lane_after(road.state.lane) & 1 == 0;
        let choices: Vec<Steering> = order.into_iter().filter(is_best).collect();
        choices.iter().copied().find(is_paid).unwrap_or(choices[0])
    }

    /// Drives safely, but with this probability steers at random: everywhere, or only where nothing is at risk.
    fn drive(probability: f64, only_where_harmless: bool) -> Drive {
        let mut world = MarkedRoad::new("test".into(), Treasure::default(), 1);
        let mut frame = vec![0; world.spec().frame.bytes()];
        let (mut starts, mut noise) = (Stream::named(1, "starts"), Stream::named(1, "noise"));
        world.reset(&mut starts, &mut frame).unwrap();
        let mut found = Drive::default();
        for _ in 0..ROWS {
            let plain = safe_steering(world.road(), world.next_marks(0));
            let may_explore = !only_where_harmless || world.road().true_risk() == Some(0.0);
            let is_random = may_explore && noise.uniform() < probability;
            let steering = if is_random { Steering::ALL[noise.below(3) as usize] } else { plain };
            found.changed += u32::from(steering != plain);
            let step = world.step(Action(steering as u16), &mut frame).unwrap();
            found.treasures += u32::from(1.0 < step.reward.raw());
            if step.ending.ends_episode() {
                found.crashes += u32::from(step.ending.is_terminal());
                world.reset(&mut starts, &mut frame).unwrap();
            }
        }
        found
    }

    /// Probability of a random steering; whether only where it is harmless; and per 1,000 interactions: changed actions,
    /// crashes, treasures.
    type Row = (f64, bool, f64, f64, f64);

    /// `docs/small-worlds.md` shows this table.
    const CHARACTER: [Row; 8] = [
        (0.0, false, 0.0, 0.0, 0.0),
        (0.05, false, 32.7, 8.8, 0.0),
        (0.1, false, 66.2, 17.2, 0.067),
        (0.2, false, 131.8, 31.0, 0.050),
        (0.4, false, 267.0, 49.6, 0.067),
        (0.2, true, 85.4, 0.0, 0.100),
        (0.4, true, 171.9, 0.0, 0.267),
        (0.8, true, 344.4, 0.0, 1.567),
    ];

    #[test]
    fn noise_in_open_stretches_finds_the_treasure_and_noise_everywhere_crashes_first() {
        let per_thousand = |count: u32| 1000.0 * f64::from(count) / f64::from(ROWS);
        let found: Vec<_> = CHARACTER
            .iter()
            .map(|&(probability, only_where_harmless, ..)| {
                let Drive { treasures, crashes, changed } = drive(probability, only_where_harmless);
                (
                    probability,
                    only_where_harmless,
                    per_thousand(changed),
                    per_thousand(crashes),
                    per_thousand(treasures),
                )
            })
            .collect();
        let is_near =
            |(a, b): (&Row, &Row)| (a.2 - b.2).abs() < 0.1 && (a.3 - b.3).abs() < 0.1 && (a.4 - b.4).abs() < 0.001;
        assert!(found.iter().zip(&CHARACTER).all(is_near), "{found:.4?}");
        let best = |everywhere: bool| {
            let of_kind = found.iter().filter(|row| row.1 != everywhere);
            of_kind.map(|row| row.4).fold(0.0, f64::max)
        };
        assert_eq!(found[0].4, 0.0, "without noise nothing is found");
        assert!(5.0 * best(true) < best(false), "the oracle's gain over the best constant noise: {found:.4?}");
    }

    #[test]
    fn a_trail_followed_from_its_mouth_pays_once_and_a_miss_ends_it() {
        let rows = [(1, 0b1110), (2, 0b1000), (3, 0b0100)].map(|(number, lanes)| TrailRow { lanes, number });
        let pays = |lanes: [usize; 3]| {
            let mut rule = Treasure::default();
            rows.iter().zip(lanes).map(|(&row, lane)| rule.pay(row, lane)).collect::<Vec<f32>>()
        };
        assert_eq!(pays([2, 3, 2]), [-ROW_REWARD, -ROW_REWARD, TREASURE - ROW_REWARD]);
        assert_eq!(pays([3, 3, 2]), [-ROW_REWARD, -ROW_REWARD, TREASURE - ROW_REWARD]);
        assert_eq!(pays([4, 3, 2]), [0.0, -ROW_REWARD, -ROW_REWARD], "the mouth was missed");
        assert_eq!(pays([2, 2, 2]), [-ROW_REWARD, 0.0, -ROW_REWARD], "the second row was missed");
    }

    #[test]
    fn a_trail_has_a_mouth_and_leaves_its_middle_once() {
        let (mut rule, mut stream) = (Treasure::default(), Stream::named(3, "marks"));
        let mut directions = [0; 2];
        for _ in 0..200 {
            let rows: Vec<TrailRow> = (0..8).map(|i| rule.marks(i, &mut stream)).collect();
            let numbers: Vec<u8> = rows.iter().map(|row| row.number).collect();
            assert_eq!(numbers, [0, 1, 2, 3, 0, 0, 0, 0]);
            let [mouth, beside, middle] = [1, 2, 3].map(|i| rows[i].lanes);
            assert_eq!([mouth, beside, middle].map(u8::count_ones), [3, 1, 1]);
            assert!(mouth & beside != 0 && beside != middle && mouth == middle << 1 | middle | middle >> 1);
            assert!(mouth < 1 << LANES);
            directions[usize::from(middle < beside)] += 1;
        }
        assert!(directions.iter().all(|&count| 60 < count), "{directions:?}");
    }
}
