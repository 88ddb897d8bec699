//! A run killed at any moment and resumed is the run that was never interrupted: same state, same events, byte for byte.

use crate::command::{Place, digest, small_run, succeed};
use sane_env::Stream;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::thread::sleep;
use std::time::Duration;

/// Kills each run must survive.
const KILLS: u32 = 10;

fn check_killed_runs_repeat(agent: &str) {
    let place = Place::new();
    let (straight, killed) = (place.run("straight"), place.run("killed"));
    succeed(&mut small_run(agent, &straight, &["--threads", "1"]));
    let kills = run_with_kills(agent, &killed);
    assert!(KILLS <= kills, "{agent}: the run ended after {kills} kills");
    assert_eq!(digest(&straight), digest(&killed), "{agent}: the state differs");
    for file in ["events.jsonl", "config.toml"] {
        let (one, other) = (fs::read(straight.join(file)).unwrap(), fs::read(killed.join(file)).unwrap());
        assert!(one == other, "{agent}: {file} differs");
    }
    let board = |run: &Path| fs::metadata(run.join("tensorboard/events.out.tfevents.sane")).unwrap().len();
    assert_eq!(board(&straight), board(&killed), "{agent}: the TensorBoard files differ in length");
}

/// Starts the run again and again, kills it after a random while, and lets it end after enough kills.
fn run_with_kills(agent: &str, folder: &Path) -> u32 {
    let mut moments = Stream::named(1, agent);
    for kills in 0.. {
        // One seed gives one run at any number of threads, also when the number changes on the way.
        let threads = if kills % 2 == 0 { "1" } else { "2" };
        let mut process = small_run(agent, folder, &["--threads", threads]).stderr(Stdio::inherit()).spawn().unwrap();
        if kills < KILLS {
            sleep(Duration::from_millis(5 + moments.below(60)));
            process.kill().unwrap();
        }
        let status = process.wait().unwrap();
        if status.success() {
            return kills;
        }
        assert!(kills < KILLS, "{agent}: the last life failed");
    }
    unreachable!("the loop ends with a successful life")
}

#[test]
fn eps_greedy_repeats_bit_for_bit_through_ten_kills() {
    check_killed_runs_repeat("eps-greedy");
}

#[test]
fn noisynet_repeats_bit_for_bit_through_ten_kills() {
    check_killed_runs_repeat("noisynet");
}

#[test]
fn sane_repeats_bit_for_bit_through_ten_kills() {
    check_killed_runs_repeat("sane");
}

#[test]
fn q_sane_repeats_bit_for_bit_through_ten_kills() {
    check_killed_runs_repeat("q-sane");
}

#[test]
fn a_run_made_longer_later_equals_one_that_was_long_from_the_start() {
    let place = Place::new();
    let (at_once, in_steps) = (place.run("at-once"), place.run("in-steps"));
    succeed(&mut small_run("sane", &at_once, &["--set", "record.checkpoint_interval=1000000"]));
    // The last of two equal settings counts.
    succeed(&mut small_run("sane", &in_steps, &["--set", "training.total_interactions=1234"]));
    let shorter = fs::read(in_steps.join("events.jsonl")).unwrap();
    succeed(&mut small_run("sane", &in_steps, &[]));
    assert_eq!(digest(&at_once), digest(&in_steps));
    let events = |run: &Path| fs::read(run.join("events.jsonl")).unwrap();
    assert!(events(&at_once) == events(&in_steps) && shorter.len() < events(&at_once).len());
}
