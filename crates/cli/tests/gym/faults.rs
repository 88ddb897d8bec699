//! Workers that die, hang or lose their master, seen from outside.

use crate::command::{Place, fail, succeed};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

const STEPS: [&str; 2] = ["--steps", "1000"];

/// Lives through 300 steps, then does what the file `deed` says, unless it is empty. Its process writes its number.
const MODULE: &str = "import gymnasium, numpy as np, os, pathlib, time
from gymnasium.spaces import Box, Discrete
here = pathlib.Path(__file__).parent
class Fickle(gymnasium.Env):
    observation_space, action_space = Box(-1e3, 1e3, (2,), np.float32), Discrete(2)
    steps = 0
    def reset(self, seed=None, options=None):
        (here / 'process').write_text(str(os.getpid()))
        return np.zeros(2, np.float32), {}
    def step(self, action):
        self.steps += 1
        deed = (here / 'deed').read_text() if self.steps == 300 else ''
        if deed == 'exit':
            print('the lights go out')
            os._exit(7)
        if deed == 'hang':
            (here / 'hangs').write_text('')
            time.sleep(1000)
        return np.full(2, self.steps % 50, np.float32), 1.0, self.steps % 50 == 0, False, {}
gymnasium.register('Fickle-v0', Fickle)
";

fn place_with(deed: &str) -> (Place, PathBuf) {
    let place = Place::new();
    fs::write(place.path("fickle.py"), MODULE).unwrap();
    fs::write(place.path("deed"), deed).unwrap();
    let run = place.path("run");
    (place, run)
}

fn waits_until(what: &str, is_so: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < Duration::from_secs(60), "{what} did not happen within a minute");
        sleep(Duration::from_millis(20));
    }
}

fn is_alive(process: &str) -> bool {
    // A process that has ended and was not waited for yet is still listed.
    fs::read_to_string(Path::new("/proc").join(process).join("stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

#[test]
fn a_worker_that_dies_ends_the_run_with_its_last_lines_and_the_run_can_be_resumed() {
    let (place, run) = place_with("exit");
    let text = fail(&mut place.train("gym:fickle:Fickle-v0", &run, &STEPS), 1);
    for part in ["died on step: exit code 7", "the lights go out", "the run is saved at interaction 299"] {
        assert!(text.contains(part), "{text}\nlacks {part}");
    }
    assert!(fs::read_to_string(run.join("timings.jsonl")).unwrap().contains("\"reason\":\"fault\""));
    fs::write(place.path("deed"), "").unwrap();
    succeed(&mut place.train("gym:fickle:Fickle-v0", &run, &STEPS));
    let events = fs::read_to_string(run.join("events.jsonl")).unwrap();
    // The abandoned episode is nowhere: each one that is recorded has all its 50 steps.
    assert!(events.lines().filter(|line| line.contains("episode_finished")).all(|line| line.contains(":50.0,")));
    assert!(events.lines().last().unwrap().contains("run_finished"), "{events}");
}

#[test]
fn a_worker_that_hangs_is_ended_after_the_time_that_was_set() {
    let (place, run) = place_with("hang");
    let more = [&STEPS[..], &["--set", "world.timeout_seconds=12"]].concat();
    let text = fail(&mut place.train("gym:fickle:Fickle-v0", &run, &more), 1);
    assert!(text.contains("did not answer step for 12 s and was ended"), "{text}");
    assert!(text.contains("the run is saved at interaction 299"), "{text}");
    let process = fs::read_to_string(place.path("process")).unwrap();
    assert!(!is_alive(&process), "the worker {process} goes on");
}

fn start(place: &Place, run: &Path) -> Child {
    place.train("gym:fickle:Fickle-v0", run, &STEPS).stderr(Stdio::null()).stdout(Stdio::null()).spawn().unwrap()
}

#[test]
fn a_worker_never_outlives_the_binary_not_even_one_that_hangs() {
    let (place, run) = place_with("hang");
    let mut binary = start(&place, &run);
    waits_until("the hanging step", || place.path("hangs").exists());
    let process = fs::read_to_string(place.path("process")).unwrap();
    assert!(is_alive(&process));
    binary.kill().unwrap();
    binary.wait().unwrap();
    waits_until("the worker's end", || !is_alive(&process));
}
