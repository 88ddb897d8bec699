//! `risky-road/treasure`: a reward that only several exploratory choices in a row find, in stretches where they are harmless,
//! with stretches between in which they kill.
//!
//! In every break behind the second tight stretch there is a trail of three marked rows: a mouth of three lanes, then one of
//! its outer lanes, then the middle one, which is a way that no traffic makes a car take. Behind the mouth a marked cell
//! takes a toll, so that a driver who knows nothing else keeps off the trail; the car that follows it from its mouth to its
//! end finds the treasure.
//!
//! The toll is what tells noise of one size everywhere from noise that knows where it is harmless. Noise on the action values
//! changes an action if it is larger than what the action costs. Without a toll following the trail costs one row, and noise
//! far too small to make a car crash finds the treasure; with it, noise that pays the toll also steers into traffic.
//!
//! A treasure that is there from the first interaction on is found by chance while tolls are not learned yet. With the option
//! `after=N` trails end in another toll for N interactions, so that every driver learns to keep off them, and only then in the
//! treasure.

use super::LANES;
use super::marked_road::MarkRule;
use crate::picture::Colour;
use sane_env::Stream;
use serde::{Deserialize, Serialize};

/// What a marked cell behind the mouth costs, unless the world's name says otherwise (`risky-road/treasure:toll=1`): twenty
/// rows, a fifth of a crash.
pub const TOLL: f32 = 2.0;

/// Reward of the treasure beyond the tolls of its trail: thirty rows.
pub const TREASURE: f32 = 3.0;

/// Rows of a trail.
pub const TRAIL: u8 = 3;

/// Empty rows of a break before its trail.
const ROWS_BEFORE: u32 = 1;

/// The trail in sight, and how much of it the car has followed.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(super) struct Treasure {
    toll: f32,
    /// Interactions before trails end in a treasure.
    after: u64,
    /// Since the world was made, over all episodes.
    interactions: u64,
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

impl Treasure {
    pub fn new(toll: f32, after: u64) -> Self {
        Self { toll, after, interactions: 0, trail: [0; TRAIL as usize], followed: 0 }
    }
}

impl MarkRule for Treasure {
    /// The trail, and on the car's own cell whether it has followed the trail so far.
    const COLOURS: &'static [Colour] = &[[130, 170, 255], [84, 162, 75]];

    const MEANINGS: &'static [&'static str] = &["trail", "own car, on the trail so far"];

    type Marks = TrailRow;

    fn begin_episode(&mut self) {
        *self = Self { interactions: self.interactions, ..Self::new(self.toll, self.after) };
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
        match (row.number, self.followed) {
            (1, _) => 0.0,
            (_, TRAIL) if self.after <= self.interactions => TREASURE + self.toll,
            _ => -self.toll,
        }
    }

    fn is_valid(&self, other: &Self) -> bool {
        let is_same = self.toll == other.toll && self.after == other.after;
        is_same && self.followed <= TRAIL && self.interactions <= u64::MAX / 2
    }

    fn paint(&self, row: TrailRow, lane: Option<usize>, plane: usize) -> u8 {
        match (plane, lane) {
            (0, _) => row.lanes,
            (1, Some(lane)) if self.followed != 0 => 1 << lane,
            _ => 0,
        }
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
    use super::super::Steering;
    use super::super::marked_road::MarkedRoad;
    use super::*;
    use sane_env::{Action, Environment, GroundTruth};

    /// What a driver meets in `ROWS` interactions.
    #[derive(Debug, Default)]
    struct Drive {
        crashes: u32,
        tolls: u32,
        treasures: u32,
    }

    const ROWS: u32 = 60_000;

    /// What a crash costs, as `ROW_REWARD` says.
    const WORTH: f64 = 10.0;

    /// Drives by the value of the next step: survival, less the toll. Noise of this size is added to the values of all
    /// actions: everywhere, or only where nothing is at risk.
    fn drive(noise_size: f64, only_where_harmless: bool) -> Drive {
        let mut world = MarkedRoad::new("test".into(), Treasure::new(TOLL, 0), 1);
        let mut frame = vec![0; world.spec().frame.bytes()];
        let (mut starts, mut noise) = (Stream::named(1, "starts"), Stream::named(1, "noise"));
        world.reset(&mut starts, &mut frame).unwrap();
        let mut met = Drive::default();
        for _ in 0..ROWS {
            let road = world.road();
            let (lookahead, trail) = (road.lookahead(), world.next_marks(0));
            let is_taxed = trail.count_ones() == 1;
            let toll = |steering: Steering| is_taxed && trail >> steering.lane_after(road.state.lane) & 1 == 1;
            let may_explore = !only_where_harmless || road.true_risk() == Some(0.0);
            let size = if may_explore { noise_size } else { 0.0 };
            let mut value = |steering: Steering| {
                let cost = if toll(steering) { f64::from(TOLL) } else { 0.0 };
                WORTH * lookahead.survival(steering) - cost + size * noise.normal()
            };
            let valued = Steering::ALL.map(|steering| (value(steering), steering));
            let (_, steering) = *valued.iter().max_by(|one, other| one.0.total_cmp(&other.0)).unwrap();
            met.tolls += u32::from(toll(steering));
            let step = world.step(Action(steering as u16), &mut frame).unwrap();
            met.treasures += u32::from(1.0 < step.reward.raw());
            if step.ending.ends_episode() {
                met.crashes += u32::from(step.ending.is_terminal());
                world.reset(&mut starts, &mut frame).unwrap();
            }
        }
        met
    }

    /// Size of the noise; whether only where it is harmless; and per 1,000 interactions: crashes, tolls, treasures.
    type Row = (f64, bool, f64, f64, f64);

    /// `docs/small-worlds.md` shows this table.
    const CHARACTER: [Row; 10] = [
        (0.0, false, 0.00, 1.27, 0.000),
        (0.5, false, 0.00, 0.37, 0.017),
        (1.0, false, 0.02, 1.98, 0.050),
        (2.0, false, 1.20, 7.23, 0.467),
        (4.0, false, 18.05, 5.52, 0.483),
        (8.0, false, 49.27, 0.78, 0.083),
        (1.0, true, 0.00, 2.02, 0.067),
        (2.0, true, 0.00, 7.38, 0.483),
        (4.0, true, 0.00, 12.78, 1.233),
        (8.0, true, 0.00, 16.28, 1.833),
    ];

    #[test]
    fn noise_that_pays_the_toll_crashes_unless_it_knows_where_it_is_harmless() {
        let per_thousand = |count: u32| 1000.0 * f64::from(count) / f64::from(ROWS);
        let found: Vec<Row> = CHARACTER
            .iter()
            .map(|&(size, only_where_harmless, ..)| {
                let met = drive(size, only_where_harmless);
                let [crashes, tolls, treasures] = [met.crashes, met.tolls, met.treasures].map(per_thousand);
                (size, only_where_harmless, crashes, tolls, treasures)
            })
            .collect();
        let is_near =
            |(a, b): (&Row, &Row)| (a.2 - b.2).abs() < 0.01 && (a.3 - b.3).abs() < 0.01 && (a.4 - b.4).abs() < 0.001;
        assert!(found.iter().zip(&CHARACTER).all(is_near), "{found:.4?}");
        assert_eq!(found[0].4, 0.0, "without noise nothing is found");
        // What the oracle gains over noise of one size, which may crash once in 1,000 interactions.
        let best = |only: bool| {
            let of_kind = found.iter().filter(|row| row.1 == only && row.2 <= 1.0);
            of_kind.map(|row| row.4).fold(0.0, f64::max)
        };
        assert!(10.0 * best(false) < best(true), "{found:.4?}");
    }

    #[test]
    fn a_trail_followed_from_its_mouth_pays_once_and_a_miss_ends_it() {
        let rows = [(1, 0b1110), (2, 0b1000), (3, 0b0100)].map(|(number, lanes)| TrailRow { lanes, number });
        let pays = |lanes: [usize; 3]| {
            let mut rule = Treasure::new(TOLL, 0);
            rows.iter().zip(lanes).map(|(&row, lane)| rule.pay(row, lane)).collect::<Vec<f32>>()
        };
        assert_eq!(pays([2, 3, 2]), [0.0, -TOLL, TREASURE + TOLL]);
        assert_eq!(pays([3, 3, 2]), [0.0, -TOLL, TREASURE + TOLL]);
        assert_eq!(pays([4, 3, 2]), [0.0, -TOLL, -TOLL], "the mouth was missed");
        assert_eq!(pays([2, 2, 2]), [0.0, 0.0, -TOLL], "the second row was missed");
    }

    #[test]
    fn a_trail_ends_in_another_toll_until_there_is_a_treasure() {
        let end = TrailRow { lanes: 0b0100, number: TRAIL };
        let pay = |rule: &mut Treasure| {
            rule.followed = TRAIL - 1;
            rule.pay(end, 2)
        };
        let mut rule = Treasure::new(TOLL, 2);
        for _ in 0..2 {
            assert_eq!(pay(&mut rule), -TOLL);
            rule.begin_episode();
            rule.tick();
        }
        assert_eq!(pay(&mut rule), TREASURE + TOLL);
        let mut settled = Treasure::new(TOLL, 1_000);
        settled.settle();
        assert_eq!(pay(&mut settled), TREASURE + TOLL);
    }

    #[test]
    fn a_trail_has_a_mouth_and_leaves_its_middle_once() {
        let (mut rule, mut stream) = (Treasure::new(TOLL, 0), Stream::named(3, "marks"));
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
