//! `risky-road/treasure` and `risky-road/shift` beside `risky-road`: driven by the same actions from the same seed, they differ
//! in what marked cells pay and in nothing else.

use proptest::prelude::*;
use sane_env::{Action, Environment, GroundTruth, Stream};
use sane_minigames::make;
use sane_minigames::risky_road::{Difficulty, LANES, ROW_REWARD, ROWS_AHEAD, RiskyRoad, Steering, TOLL, TREASURE};

const PLANE: usize = (ROWS_AHEAD + 1) * LANES;

/// Planes of the road itself; those of the marks are behind them.
const ROAD: usize = 3 * PLANE;

/// Two worlds driven side by side.
struct Pair {
    plain: RiskyRoad,
    marked: Box<dyn Environment>,
    plain_frame: Vec<u8>,
    marked_frame: Vec<u8>,
    /// Interactions so far.
    driven: u64,
}

/// What an interaction paid for marks, and whether the car is now in a marked cell: of the first plane of marks, of the second.
struct Paid {
    for_marks: f32,
    is_marked: [bool; 2],
}

impl Pair {
    fn new(name: &str, seed: u64) -> Self {
        let (plain, marked) = (RiskyRoad::new(Difficulty::NORMAL, seed), make(name, seed).unwrap());
        let [plain_frame, marked_frame] = [plain.spec(), marked.spec()].map(|spec| vec![0; spec.frame.bytes()]);
        let mut pair = Self { plain, marked, plain_frame, marked_frame, driven: 0 };
        pair.reset(seed);
        pair
    }

    fn reset(&mut self, seed: u64) {
        let starts = || Stream::named(seed, "starts");
        self.plain.reset(&mut starts(), &mut self.plain_frame).unwrap();
        self.marked.reset(&mut starts(), &mut self.marked_frame).unwrap();
        self.check_equal();
    }

    /// The same traffic, and the same knowledge of it.
    fn check_equal(&self) {
        assert_eq!(self.marked_frame[..ROAD], self.plain_frame[..]);
        let truth = |world: &dyn Environment| {
            let truth = world.ground_truth().unwrap();
            (truth.true_risk(), truth.bad_episode())
        };
        assert_eq!(truth(&*self.marked), truth(&self.plain));
    }

    /// The true risk, if the next row is marked.
    fn risk_before_marks(&self) -> Option<f64> {
        let next_row = (ROWS_AHEAD - 1) * LANES..ROWS_AHEAD * LANES;
        let is_marked = |plane: &[u8]| plane[next_row.clone()].contains(&1);
        let risk = self.plain.true_risk().unwrap();
        self.marked_frame[ROAD..].chunks_exact(PLANE).any(is_marked).then_some(risk)
    }

    /// The best steering, given noise of this size on the probability of survival.
    fn steering(&self, noise: f64, stream: &mut Stream) -> Steering {
        let lookahead = self.plain.lookahead();
        let valued = Steering::ALL.map(|steering| (lookahead.survival(steering) + noise * stream.normal(), steering));
        valued.into_iter().max_by(|one, other| one.0.total_cmp(&other.0)).unwrap().1
    }

    /// Drives both; a new episode begins where one has ended.
    fn drive(&mut self, steering: Steering) -> Paid {
        let action = Action(steering as u16);
        let plain = self.plain.step(action, &mut self.plain_frame).unwrap();
        let marked = self.marked.step(action, &mut self.marked_frame).unwrap();
        self.check_equal();
        assert_eq!((marked.ending, marked.frames), (plain.ending, plain.frames));
        let own = ROWS_AHEAD * LANES..PLANE;
        let lane = self.plain_frame[own.clone()].iter().position(|cell| *cell == 1).unwrap();
        let is_marked = [0, 1].map(|plane| self.marked_frame[ROAD + plane * PLANE..][own.clone()][lane] == 1);
        let paid = Paid { for_marks: marked.reward.raw() - plain.reward.raw(), is_marked };
        self.driven += 1;
        if plain.ending.is_terminal() {
            assert_eq!(paid.for_marks, 0.0, "a crash pays nothing");
        }
        if plain.ending.ends_episode() {
            self.reset(self.driven);
        }
        paid
    }
}

/// Drives so far that marks are met, and gives every interaction to `check` with their number; what noise it takes to leave
/// the safe way differs from case to case.
fn drive(name: &str, seed: u64, mut check: impl FnMut(u64, &Paid)) {
    let (mut pair, mut stream) = (Pair::new(name, seed), Stream::named(seed, "driver"));
    let noise = 0.3 * stream.uniform();
    for i in 0..3_000 {
        if i % 700 == 699 {
            let seeds = || Stream::named(i, "future");
            assert!(pair.plain.reseed(&mut seeds()) && pair.marked.reseed(&mut seeds()));
            pair.check_equal();
        }
        let steering = pair.steering(noise, &mut stream);
        check(i, &pair.drive(steering));
    }
}

#[test]
fn steering_in_a_marked_row_is_harmless_but_in_a_few_states_near_the_end_of_a_break() {
    // `docs/small-worlds.md` names these shares.
    for (name, expected) in [("risky-road/treasure", 0.034), ("risky-road/shift", 0.060)] {
        let (mut pair, mut stream) = (Pair::new(name, 1), Stream::named(1, "driver"));
        let (mut states, mut risky) = (0, 0);
        for _ in 0..60_000 {
            if let Some(risk) = pair.risk_before_marks() {
                (states, risky) = (states + 1, risky + u32::from(0.0 < risk));
            }
            let steering = pair.steering(0.2, &mut stream);
            pair.drive(steering);
        }
        let share = f64::from(risky) / f64::from(states);
        assert!(5_000 < states && (share - expected).abs() < 0.005, "{name}: {risky} of {states}");
    }
}

fn is_near(one: f32, other: f32) -> bool {
    (one - other).abs() < 1e-6
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn a_treasure_changes_rewards_in_marked_cells_and_neither_traffic_crashes_nor_risk(seed in any::<u64>()) {
        let mut tolls = 0;
        drive("risky-road/treasure", seed, |_, paid| {
            let pays = [0.0, -TOLL, TOLL + TREASURE];
            assert!(pays.iter().any(|pay| is_near(paid.for_marks, *pay)), "{}", paid.for_marks);
            assert!(is_near(paid.for_marks, 0.0) || paid.is_marked[0], "the cell is not marked");
            tolls += u32::from(paid.for_marks < 0.0);
        });
        assert!(0 < tolls, "no marked cell was met");
    }

    #[test]
    fn a_shift_changes_rewards_in_its_two_lanes_and_neither_traffic_crashes_nor_risk(seed in any::<u64>()) {
        const AFTER: u64 = 1_500;
        let mut met = [[0; 2]; 2];
        drive(&format!("risky-road/shift:after={AFTER}"), seed, |i, paid| {
            let has_changed = AFTER <= i;
            let fast = if has_changed { [-ROW_REWARD, ROW_REWARD] } else { [ROW_REWARD, -ROW_REWARD] };
            let expected = match paid.is_marked {
                [true, false] => fast[0],
                [false, true] => fast[1],
                _ => 0.0,
            };
            assert!(is_near(paid.for_marks, expected), "{} instead of {expected}", paid.for_marks);
            (0..2).for_each(|lane| met[usize::from(has_changed)][lane] += u32::from(paid.is_marked[lane]));
        });
        assert!(met.iter().flatten().all(|count| 0 < *count), "{met:?}");
    }
}
