//! Each of the four agents learns: a tiny deep sea, whose only reward lies four right decisions away.

use crate::command::{Place, sane, succeed};

/// Random play finds the treasure once in 16 episodes; its mean return is about 0.06.
const LEARNT: f64 = 0.7;

fn check_learns(agent: &str) {
    let place = Place::new();
    let folder = place.run(agent);
    let text = succeed(
        sane(&["--quiet", "train", "deep-sea/4", "--agent", agent, "--steps", "6000", "--threads", "1", "--json"])
            .args(["--set", "learner.network.hidden=[32]", "--set", "training.learning_starts=400"])
            .arg("--out")
            .arg(&folder),
    );
    let last = text.lines().last().expect("a run ends with a record");
    let record: serde_json::Value = serde_json::from_str(last).expect("JSON");
    let mean = record["return_mean_last_100"].as_f64().expect("a mean return");
    assert!(LEARNT < mean, "{agent} reached {mean}, less than {LEARNT}");
}

#[test]
fn eps_greedy_finds_the_treasure() {
    check_learns("eps-greedy");
}

#[test]
fn noisynet_finds_the_treasure() {
    check_learns("noisynet");
}

#[test]
fn sane_finds_the_treasure() {
    check_learns("sane");
}

#[test]
fn q_sane_finds_the_treasure() {
    check_learns("q-sane");
}
