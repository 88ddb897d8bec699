//! `sane suite` as a process: runs side by side, stopped, killed, failing, resumed; what it says and how it exits.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

const PATIENCE: Duration = Duration::from_secs(60);

/// A suite file and the folder it is run in.
struct Place {
    root: tempfile::TempDir,
}

impl Place {
    fn new(budget: u64, agents: &str) -> Self {
        let place = Self { root: tempfile::tempdir().unwrap() };
        place.write(&format!(
            "name = 'tiny'\nbudget = {budget}\ngames = ['minatar/breakout', 'risky-road']\nagents = [{agents}]\n\
             seeds = [1]\n[set]\nlearner.optimiser.epsilon = 0.01\ntraining.learning_starts = 200\n\
             training.train_period = 4\nrecord.interval = 250\nrecord.checkpoint_interval = 500\n\
             replay.capacity = 5000\n[evaluation]\ninteractions = 200\n"
        ));
        place
    }

    fn write(&self, suite: &str) {
        fs::write(self.root.path().join("tiny.toml"), suite).unwrap();
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_sane"));
        command.current_dir(self.root.path()).args(arguments);
        command
    }

    fn sane(&self, arguments: &[&str]) -> Output {
        self.command(arguments).output().unwrap()
    }

    fn start(&self) -> Child {
        let mut command = self.command(&["suite", "run", "tiny.toml", "--jobs", "2"]);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    fn run(&self, id: &str) -> PathBuf {
        self.root.path().join("runs/suites/tiny/runs").join(id)
    }

    fn status(&self) -> serde_json::Value {
        let output = self.sane(&["suite", "status", "tiny.toml", "--json"]);
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", said(&output)))
    }

    fn state(&self, id: &str) -> String {
        let status = self.status();
        let run = status["runs"].as_array().unwrap().iter().find(|run| run["run"] == id).unwrap().clone();
        run["state"].as_str().unwrap().to_owned()
    }

    /// Waits until a run has a checkpoint.
    fn wait_for_checkpoint(&self, id: &str) {
        let folder = self.run(id).join("checkpoints");
        let is_there = || {
            let names = fs::read_dir(&folder).into_iter().flatten().flatten();
            names.map(|entry| entry.file_name()).any(|name| name.to_string_lossy().starts_with("checkpoint-"))
        };
        wait_until("a checkpoint", is_there);
    }

    fn digest(&self, id: &str) -> String {
        let output = self.sane(&["runs", "hash", self.run(id).to_str().unwrap()]);
        assert!(output.status.success(), "{}", said(&output));
        String::from_utf8(output.stdout).unwrap()
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn wait_until(what: &str, mut is_so: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_so() {
        assert!(start.elapsed() < PATIENCE, "waited in vain for {what}");
        sleep(Duration::from_millis(20));
    }
}

fn check_exit(output: &Output, code: i32, expected: &str) {
    assert_eq!(output.status.code(), Some(code), "{}", said(output));
    assert!(said(output).contains(expected), "{}\nexpected: {expected}", said(output));
}

/// The process that holds a run, as its lock names it.
fn holder(folder: &Path) -> Option<String> {
    let text = fs::read_to_string(folder.join("lock")).ok()?;
    text.split_whitespace().nth(1).map(str::to_owned)
}

#[test]
fn a_suite_trains_and_measures_every_run_and_is_done_when_asked_again() {
    let place = Place::new(1_000, "'eps-greedy', 'sane'");
    check_exit(&place.sane(&["suite", "run", "tiny.toml"]), 0, "done: 4 runs");
    let results = fs::read_to_string(place.root.path().join("runs/suites/tiny/results.csv")).unwrap();
    // Two worlds; ε-greedy is measured without noise alone, SANE without and with.
    assert_eq!(results.lines().count(), 1 + 2 * (1 + 2), "{results}");
    assert!(results.lines().nth(1).unwrap().starts_with(",minatar/breakout,eps-greedy,1,1000,"), "{results}");
    let first = place.digest("risky-road/sane/seed-1");
    let again = place.sane(&["suite", "run", "tiny.toml"]);
    check_exit(&again, 0, "done: 4 runs");
    assert!(!said(&again).contains("training"), "{}", said(&again));
    assert_eq!(place.digest("risky-road/sane/seed-1"), first);
    let machine = fs::read_to_string(place.run("risky-road/sane/seed-1").join("timings.jsonl")).unwrap();
    assert!(machine.contains("\"timing\":\"machine\""), "{machine}");
    check_exit(&place.sane(&["report", "runs/suites/tiny", "-o", "report"]), 0, "2 worlds, 2 agents");
    let runs = fs::read_to_string(place.root.path().join("report/runs.csv")).unwrap();
    let hash = first.split_whitespace().next().unwrap();
    assert!(runs.lines().any(|line| line.contains(hash) && line.contains("risky-road/sane/seed-1")), "{hash}\n{runs}");
}

#[test]
fn a_stopped_suite_goes_on_and_ends_in_the_same_state() {
    let place = Place::new(6_000, "'sane'");
    let ids = ["minatar/breakout/sane/seed-1", "risky-road/sane/seed-1"];
    let mut suite = place.start();
    ids.iter().for_each(|id| place.wait_for_checkpoint(id));
    let second = place.sane(&["suite", "run", "tiny.toml"]);
    check_exit(&second, 1, "runs/suites/tiny is in use by process");
    check_exit(&place.sane(&["suite", "stop", "tiny.toml"]), 0, "stopped");
    assert!(suite.wait().unwrap().success());
    assert!(ids.iter().any(|id| place.state(id) == "stopped"), "{}", place.status());
    check_exit(&place.sane(&["suite", "stop", "tiny.toml"]), 1, "no suite is running");
    check_exit(&place.sane(&["suite", "run", "tiny.toml"]), 0, "done: 2 runs");
    let straight = Place::new(6_000, "'sane'");
    check_exit(&straight.sane(&["suite", "run", "tiny.toml", "--jobs", "1", "--threads", "2"]), 0, "done: 2 runs");
    for id in ids {
        assert_eq!(place.digest(id), straight.digest(id), "{id}");
    }
}

#[test]
fn a_killed_run_is_tried_again_from_its_checkpoint() {
    let place = Place::new(6_000, "'sane'");
    let mut suite = place.start();
    let id = "risky-road/sane/seed-1";
    place.wait_for_checkpoint(id);
    let process = holder(&place.run(id)).unwrap();
    assert!(Command::new("kill").args(["-9", &process]).status().unwrap().success());
    assert!(suite.wait().unwrap().success());
    let status = place.status();
    let run = status["runs"].as_array().unwrap().iter().find(|run| run["run"] == id).unwrap();
    assert_eq!((run["state"].as_str(), run["attempts"].as_u64()), (Some("done"), Some(2)), "{status}");
    let timings = fs::read_to_string(place.run(id).join("timings.jsonl")).unwrap();
    let starts: Vec<&str> = timings.lines().filter(|line| line.contains("process_started")).collect();
    assert!(starts.len() == 2 && !starts[1].contains("\"from_interactions\":0,"), "{starts:?}");
}

#[test]
fn a_run_that_cannot_be_is_set_aside_and_the_others_go_on() {
    let place = Place::new(1_000, "'sane'");
    let folder = place.run("risky-road/sane/seed-1");
    let other = ["train", "risky-road", "--agent", "q-sane", "--steps", "300", "--out", folder.to_str().unwrap()];
    assert!(place.sane(&other).status.success());
    let output = place.sane(&["suite", "run", "tiny.toml"]);
    check_exit(&output, 1, "set aside: risky-road/sane/seed-1: ");
    assert!(said(&output).contains("holds another run: agent is"), "{}", said(&output));
    assert_eq!(place.state("minatar/breakout/sane/seed-1"), "done");
    assert_eq!(place.state("risky-road/sane/seed-1"), "set_aside");
}

#[test]
fn wrong_input_is_named_with_its_place_and_a_way_out() {
    let place = Place::new(1_000, "'sane', 'qsane'");
    check_exit(
        &place.sane(&["suite", "run", "tiny.toml"]),
        2,
        "tiny.toml:4: unknown agent qsane; did you mean q-sane?",
    );
    check_exit(&place.sane(&["suite", "run", "nowhere.toml"]), 2, "cannot read nowhere.toml");
    check_exit(&place.sane(&["suite", "status", "nowhere"]), 2, "nowhere holds no suite");
    check_exit(&place.sane(&["suite", "run", "tiny.toml", "--jobs", "0"]), 2, "--jobs");
    let place = Place::new(300, "'sane'");
    check_exit(&place.sane(&["suite", "run", "tiny.toml", "--out", "x"]), 0, "done");
    let text = fs::read_to_string(place.root.path().join("tiny.toml")).unwrap();
    place.write(&text.replace("'tiny'", "'other'"));
    check_exit(&place.sane(&["suite", "run", "tiny.toml", "--out", "x"]), 2, "x holds another suite: it is named tiny");
}

#[test]
fn a_plan_says_what_a_suite_takes_and_starts_nothing() {
    let place = Place::new(1_000, "'sane'");
    let output = place.sane(&["suite", "plan", "tiny.toml", "--json"]);
    check_exit(&output, 0, "");
    let plan: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((plan["runs"].as_u64(), plan["interactions"].as_u64()), (Some(2), Some(2_000)), "{plan}");
    let positive = |key: &str| plan[key].as_f64().is_some_and(|value| 0.0 < value);
    assert!(["seconds", "memory_bytes", "disk_bytes", "jobs", "threads"].iter().all(|key| positive(key)), "{plan}");
    assert!(!place.root.path().join("runs").exists());
}

#[test]
fn a_cluster_that_is_not_there_is_named_and_a_dry_run_shows_what_it_would_get() {
    let place = Place::new(1_000, "'sane'");
    let run = |engine: &str, more: &[&str]| {
        let mut command = place.command(&["suite", "run", "tiny.toml", "--on", engine]);
        command.env("PATH", place.root.path()).args(more).output().unwrap()
    };
    check_exit(&run("slurm", &[]), 1, "there is no `sinfo` on this machine");
    check_exit(&run("ray", &[]), 1, "there is no python3 on this machine");
    let script = run("slurm", &["--dry-run"]);
    check_exit(&script, 0, "");
    let script = String::from_utf8_lossy(&script.stdout).into_owned();
    let expected = ["#SBATCH --array=0-1", "#SBATCH --signal=B:USR1@120", "  risky-road/sane/seed-1", "suite task /"];
    expected.iter().for_each(|line| assert!(script.contains(line), "{line} is not in\n{script}"));
    let jobs: serde_json::Value = serde_json::from_slice(&run("ray", &["--dry-run"]).stdout).unwrap();
    assert_eq!(jobs["jobs"].as_array().map(Vec::len), Some(2), "{jobs}");
    let plan = place.sane(&["suite", "run", "tiny.toml", "--dry-run"]);
    check_exit(&plan, 0, "");
    assert!(String::from_utf8_lossy(&plan.stdout).contains("runs          2, 2000 interactions"), "without a cluster");
    place.write(&(fs::read_to_string(place.root.path().join("tiny.toml")).unwrap() + "[slurm]\npartition = 'a b'\n"));
    check_exit(&run("slurm", &["--dry-run"]), 2, "tiny.toml:16: partition is one word");
}

#[test]
fn a_job_of_a_cluster_works_on_its_run_alone_and_the_suite_knows() {
    let place = Place::new(500, "'sane'");
    let folder = place.root.path().join("runs/suites/tiny");
    fs::create_dir_all(&folder).unwrap();
    fs::copy(place.root.path().join("tiny.toml"), folder.join("suite.toml")).unwrap();
    let task = |run: &str| place.sane(&["suite", "task", folder.to_str().unwrap(), run]);
    check_exit(&task("risky-road/sane/seed-1"), 0, "risky-road/sane/seed-1: done");
    assert_eq!(place.state("risky-road/sane/seed-1"), "done");
    assert_eq!(place.state("minatar/breakout/sane/seed-1"), "waiting");
    check_exit(&task("risky-road/sane/seed-9"), 1, "has no run risky-road/sane/seed-9");
    assert_eq!(fs::read_to_string(folder.join("results.csv")).unwrap().lines().count(), 1 + 2);
}
