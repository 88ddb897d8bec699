//! The risky road: the computed risk against measured crash rates.

use sane_env::{Action, Ending, Environment, GroundTruth, Stream};
use sane_minigames::risky_road::{Difficulty, EPISODE_ROWS, ROW_REWARD, RiskyRoad};

fn action_of(road: &RiskyRoad) -> Action {
    Action(road.lookahead().best_steering() as u16)
}

struct Drive {
    road: RiskyRoad,
    frame: Vec<u8>,
    starts: Stream,
}

impl Drive {
    fn new(difficulty: Difficulty, seed: u64) -> Self {
        let mut road = RiskyRoad::new(difficulty, seed);
        let mut frame = vec![0; road.spec().frame.bytes()];
        let mut starts = Stream::named(seed, "starts");
        road.reset(&mut starts, &mut frame).unwrap();
        Self { road, frame, starts }
    }

    fn step(&mut self, action: Action) -> Ending {
        self.road.step(action, &mut self.frame).unwrap().ending
    }

    fn restart(&mut self) {
        self.road.reset(&mut self.starts, &mut self.frame).unwrap();
    }
}

#[test]
fn the_best_play_never_crashes_at_any_difficulty() {
    for difficulty in Difficulty::all() {
        let mut drive = Drive::new(difficulty, 3);
        for _ in 0..20 {
            let mut ending = Ending::Continues;
            let mut rows = 0;
            while !ending.ends_episode() {
                assert_eq!(drive.road.lookahead().best_survival(), 1.0);
                ending = drive.step(action_of(&drive.road));
                rows += 1;
            }
            assert_eq!((ending, rows), (Ending::Truncated, EPISODE_ROWS), "{difficulty:?}");
            drive.restart();
        }
    }
}

/// Per difficulty 1 to 9: shares of states without risk and with the highest, under the best play, and rows driven by a
/// random player until it crashes. `docs/small-worlds.md` shows this table.
const CHARACTER: [(f64, f64, f64); 9] = [
    (0.82, 0.11, 19.1),
    (0.77, 0.14, 15.9),
    (0.73, 0.17, 14.2),
    (0.69, 0.20, 13.4),
    (0.64, 0.23, 12.2),
    (0.61, 0.26, 11.8),
    (0.56, 0.29, 11.2),
    (0.53, 0.32, 10.9),
    (0.49, 0.35, 10.9),
];

#[test]
fn open_and_tight_states_are_as_common_as_the_handbook_says() {
    const STEPS: u32 = 50_000;
    const EPISODES: u32 = 2_000;
    let mut found = Vec::new();
    for difficulty in Difficulty::all() {
        let mut drive = Drive::new(difficulty, 4);
        let (mut harmless, mut tight) = (0, 0);
        for _ in 0..STEPS {
            let risk = drive.road.true_risk().unwrap();
            harmless += u32::from(risk == 0.0);
            tight += u32::from(risk == 2.0 / 3.0);
            if drive.step(action_of(&drive.road)).ends_episode() {
                drive.restart();
            }
        }
        let mut draws = Stream::named(4, "random play");
        let mut rows = 0;
        for _ in 0..EPISODES {
            drive.restart();
            while !drive.step(Action(draws.below(3) as u16)).ends_episode() {
                rows += 1;
            }
        }
        let share = |count: u32| f64::from(count) / f64::from(STEPS);
        found.push((share(harmless), share(tight), f64::from(rows) / f64::from(EPISODES)));
    }
    let is_near = |(a, b): (&(f64, f64, f64), &(f64, f64, f64))| {
        (a.0 - b.0).abs() < 0.01 && (a.1 - b.1).abs() < 0.01 && (a.2 - b.2).abs() < 0.5
    };
    assert!(found.iter().zip(&CHARACTER).all(is_near), "{found:.3?}");
}

/// Random first action, best play afterwards, repeated from one state: the share of crashes is the true risk.
#[test]
fn the_true_risk_equals_the_measured_crash_rate() {
    let mut drive = Drive::new(Difficulty::HARD, 5);
    let mut draws = Stream::named(5, "test");
    let mut checked = 0;
    while checked < 20 {
        let risk = drive.road.true_risk().unwrap();
        let is_certain = drive.road.lookahead().best_survival() == 1.0;
        if is_certain && 0.0 < risk && (risk < 0.6 || draws.below(20) == 0) {
            checked += 1;
            const TRIALS: u32 = 2000;
            let crashes: u32 = (0..TRIALS).map(|_| u32::from(crashes_from(&drive.road, &mut draws))).sum();
            let measured = f64::from(crashes) / f64::from(TRIALS);
            let deviation = (risk * (1.0 - risk) / f64::from(TRIALS)).sqrt();
            assert!((measured - risk).abs() < 5.0 * deviation, "computed {risk}, measured {measured}");
        }
        if drive.step(action_of(&drive.road)).ends_episode() {
            drive.restart();
        }
    }
}

/// Drives a copy of the road with new coins and later rows.
fn crashes_from(road: &RiskyRoad, draws: &mut Stream) -> bool {
    let mut copy = road.reseeded(draws.next_u64());
    let mut frame = vec![0; copy.spec().frame.bytes()];
    let mut ending = copy.step(Action(draws.below(3) as u16), &mut frame).unwrap().ending;
    for _ in 0..30 {
        if ending.ends_episode() {
            break;
        }
        ending = copy.step(action_of(&copy), &mut frame).unwrap().ending;
    }
    ending == Ending::GameOver
}

#[test]
fn a_crash_ends_the_episode_without_reward_and_a_row_is_paid() {
    let mut drive = Drive::new(Difficulty::NORMAL, 6);
    loop {
        let step = drive.road.step(Action(0), &mut drive.frame).unwrap();
        match step.ending {
            Ending::GameOver => {
                assert_eq!(step.reward.raw(), 0.0);
                assert_eq!(drive.road.true_risk(), None);
                return;
            }
            _ => assert_eq!(step.reward.raw(), ROW_REWARD),
        }
    }
}

#[test]
fn episodes_depend_on_the_stream_of_starts_alone() {
    let first_frames = |world_seed: u64, starts_seed: u64| {
        let mut road = RiskyRoad::new(Difficulty::NORMAL, world_seed);
        let mut frame = vec![0; road.spec().frame.bytes()];
        road.reset(&mut Stream::named(starts_seed, "starts"), &mut frame).unwrap();
        let mut frames = frame.clone();
        for _ in 0..12 {
            road.step(Action(1), &mut frame).unwrap();
            frames.extend(&frame);
        }
        frames
    };
    assert_eq!(first_frames(1, 8), first_frames(2, 8));
    assert_ne!(first_frames(1, 8), first_frames(1, 9));
}
