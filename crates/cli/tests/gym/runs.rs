//! A run in a Gymnasium environment: what it leaves behind, what repeats, how it is measured.

use crate::command::{Place, succeed};
use std::fs;

const SHORT: [&str; 2] = ["--steps", "1500"];

#[test]
fn the_same_seed_gives_the_same_run_and_it_is_marked_as_not_bit_exact() {
    let place = Place::new();
    let (one, other) = (place.path("one"), place.path("other"));
    succeed(&mut place.train("gym:CartPole-v1", &one, &SHORT));
    succeed(&mut place.train("gym:CartPole-v1", &other, &["--steps", "1500", "--set", "world.timeout_seconds=30"]));
    let events = |run: &std::path::Path| fs::read_to_string(run.join("events.jsonl")).unwrap();
    assert!(events(&one) == events(&other), "two runs of one seed differ");
    assert!(events(&one).lines().next().unwrap().contains("\"not_bit_exact\":\"the inner state of a Python"));
    assert!(fs::read_to_string(one.join("config.toml")).unwrap().starts_with("# not bit-exact: "));
    let shown = succeed(place.sane(&["runs", "show"]).arg(&one));
    assert!(shown.contains("not bit-exact: the inner state of a Python environment cannot be saved"), "{shown}");
    assert!(shown.contains("hidden = [256, 256]") && shown.contains("convolutions = []"), "{shown}");
}

#[test]
fn a_run_made_longer_goes_on_with_a_new_episode() {
    let place = Place::new();
    let run = place.path("run");
    succeed(&mut place.train("gym:CartPole-v1", &run, &SHORT));
    let mut longer = place.train("gym:CartPole-v1", &run, &["--steps", "2500"]);
    let output = longer.output().unwrap();
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{told}");
    assert!(told.contains("resuming at interaction 1500") && told.contains("not bit-exact"), "{told}");
    let events = fs::read_to_string(run.join("events.jsonl")).unwrap();
    assert!(events.lines().last().unwrap().contains("run_finished"));
}

#[test]
fn a_policy_is_measured_from_starts_that_do_not_depend_on_the_threads() {
    let place = Place::new();
    let run = place.path("run");
    succeed(&mut place.train("gym:CartPole-v1", &run, &SHORT));
    let measured = |threads: &str| {
        let mut command =
            place.sane(&["eval", "--json", "--noise", "on", "--interactions", "400", "--threads", threads]);
        let json: serde_json::Value = serde_json::from_str(&succeed(command.arg(&run))).unwrap();
        json[0]["returns"].clone()
    };
    let alone = measured("1");
    assert!(1 < alone.as_array().unwrap().len(), "{alone}");
    assert_eq!(alone, measured("3"));
}

#[test]
fn the_network_follows_from_what_the_environment_shows() {
    let place = Place::new();
    let module = "import gymnasium, numpy as np
from gymnasium.spaces import Box, Discrete
class Pictures(gymnasium.Env):
    observation_space, action_space = Box(0, 255, (40, 40, 3), np.uint8), Discrete(3)
    def reset(self, seed=None, options=None): return np.zeros((40, 40, 3), np.uint8), {}
    def step(self, action): return np.full((40, 40, 3), action, np.uint8), 0.0, False, True, {}
gymnasium.register('Pictures-v0', Pictures)
";
    fs::write(place.path("pictures.py"), module).unwrap();
    let shown = succeed(&mut place.sane(&["config", "show", "gym:pictures:Pictures-v0"]));
    assert!(shown.contains("hidden = [512]") && shown.contains("kernel = 8"), "{shown}");
    let run = place.path("run");
    succeed(&mut place.train("gym:pictures:Pictures-v0", &run, &["--steps", "150"]));
}
