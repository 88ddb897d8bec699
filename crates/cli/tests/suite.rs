//! `sane suite` as a process: runs in parallel, stopped, killed, failing, resumed; what it prints and how it exits.

mod process;

use process::{TIMEOUT, TempFolder, check, sane, stderr, succeed, wait_until};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Instant;

/// A suite file and the folder in which it is run.
struct Fixture {
    temp: TempFolder,
}

impl Fixture {
    fn new(budget: u64, agents: &str) -> Self {
        let fixture = Self { temp: TempFolder::new() };
        fixture.write(&format!(
            "name = 'tiny'\nbudget = {budget}\ngames = ['minatar/breakout', 'risky-road']\nagents = [{agents}]\n\
             seeds = [1]\n[set]\nlearner.optimiser.epsilon = 0.01\ntraining.learning_starts = 200\n\
             training.train_period = 4\nrecord.interval = 250\nrecord.checkpoint_interval = 500\n\
             replay.capacity = 5000\n[evaluation]\ninteractions = 200\n"
        ));
        fixture
    }

    fn write(&self, suite: &str) {
        fs::write(self.temp.path("tiny.toml"), suite).unwrap();
    }

    fn sane(&self, arguments: &[&str]) -> Command {
        let mut command = sane(arguments);
        command.current_dir(self.temp.root());
        command
    }

    fn start(&self) -> Child {
        let mut command = self.sane(&["suite", "run", "tiny.toml", "--jobs", "2"]);
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    }

    fn run_folder(&self, id: &str) -> PathBuf {
        self.temp.path("runs/suites/tiny/runs").join(id)
    }

    fn status(&self) -> serde_json::Value {
        let json = succeed(&mut self.sane(&["suite", "status", "tiny.toml", "--json"]));
        serde_json::from_str(&json).unwrap_or_else(|error| panic!("{error}: {json}"))
    }

    fn state(&self, id: &str) -> String {
        let status = self.status();
        let run = status["runs"].as_array().unwrap().iter().find(|run| run["run"] == id).unwrap().clone();
        run["state"].as_str().unwrap().to_owned()
    }

    fn wait_for_checkpoint(&self, id: &str) {
        let folder = self.run_folder(id).join("checkpoints");
        let exists = || {
            let names = fs::read_dir(&folder).into_iter().flatten().flatten();
            // That of interaction 0 is made before training begins.
            let is_later = |name: &str| name.starts_with("checkpoint-") && name != "checkpoint-000000000000.toml";
            names.map(|entry| entry.file_name()).any(|name| is_later(&name.to_string_lossy()))
        };
        wait_until("a checkpoint", exists);
    }

    fn digest(&self, id: &str) -> String {
        succeed(&mut self.sane(&["runs", "hash", self.run_folder(id).to_str().unwrap()]))
    }
}

/// The id of the process that holds a run's lock.
fn lock_holder(folder: &Path) -> Option<String> {
    let text = fs::read_to_string(folder.join("lock")).ok()?;
    text.split_whitespace().nth(1).map(str::to_owned)
}

#[test]
fn agents_that_cannot_be_are_refused_with_a_sentence_when_the_suite_is_planned() {
    let cases = [
        ("sane-elbo", "learner.exploration.q_noise = 0", "exploration.q_noise = 0 is not possible"),
        (
            "sane-elbo",
            "learner.exploration = { q_noise = 0.8, q_noise_unit = 'share' }",
            "tiny.toml:7: learner.exploration.q_noise = 0.8 is not possible with 3 actions",
        ),
        ("bootstrapped", "learner.exploration.heads = 0", "exploration.heads = 0 is not possible"),
        ("oracle", "", "the true risk, which minatar/breakout does not know"),
    ];
    let fixture = Fixture { temp: TempFolder::new() };
    for (agent, setting, expected) in cases {
        let games = "['minatar/breakout', 'risky-road']";
        fixture.write(&format!(
            "name = 'tiny'\nbudget = 1000\ngames = {games}\nagents = ['{agent}']\nseeds = [1]\n[set]\n{setting}\n"
        ));
        check(&mut fixture.sane(&["suite", "plan", "tiny.toml"]), 2, expected);
        check(&mut fixture.sane(&["suite", "run", "tiny.toml"]), 2, expected);
        assert!(!fixture.temp.path("runs").exists(), "{agent}: the suite has begun");
    }
}

#[test]
fn a_suite_trains_and_evaluates_every_run_and_does_nothing_when_run_again() {
    let suite = Fixture::new(1_000, "'eps-greedy', 'sane'");
    check(&mut suite.sane(&["suite", "run", "tiny.toml"]), 0, "done: 4 runs");
    let results = fs::read_to_string(suite.temp.path("runs/suites/tiny/results.csv")).unwrap();
    // Two worlds; ε-greedy is evaluated without noise only, SANE without and with.
    assert_eq!(results.lines().count(), 1 + 2 * (1 + 2), "{results}");
    assert!(results.lines().nth(1).unwrap().starts_with(",minatar/breakout,eps-greedy,1,1000,"), "{results}");
    let first = suite.digest("risky-road/sane/seed-1");
    let again = stderr(&check(&mut suite.sane(&["suite", "run", "tiny.toml"]), 0, "done: 4 runs"));
    assert!(!again.contains("training"), "{again}");
    assert_eq!(suite.digest("risky-road/sane/seed-1"), first);
    let machine = fs::read_to_string(suite.run_folder("risky-road/sane/seed-1").join("timings.jsonl")).unwrap();
    assert!(machine.contains("\"timing\":\"machine\""), "{machine}");
    // Each world's preset has an ε of its own, which makes no other agent of it.
    check(&mut suite.sane(&["report", "runs/suites/tiny", "-o", "report"]), 0, "2 worlds, 2 agents");
    let runs = fs::read_to_string(suite.temp.path("report/runs.csv")).unwrap();
    let hash = first.split_whitespace().next().unwrap();
    assert!(runs.lines().any(|line| line.contains(hash) && line.contains("risky-road/sane/seed-1")), "{hash}\n{runs}");
}

#[test]
fn a_stopped_suite_resumes_and_ends_in_the_same_state() {
    let suite = Fixture::new(6_000, "'sane'");
    let ids = ["minatar/breakout/sane/seed-1", "risky-road/sane/seed-1"];
    let mut runner = suite.start();
    ids.iter().for_each(|id| suite.wait_for_checkpoint(id));
    check(&mut suite.sane(&["suite", "run", "tiny.toml"]), 1, "runs/suites/tiny is in use by process");
    check(&mut suite.sane(&["suite", "stop", "tiny.toml"]), 0, "stopped");
    assert!(runner.wait().unwrap().success());
    assert!(ids.iter().any(|id| suite.state(id) == "stopped"), "{}", suite.status());
    check(&mut suite.sane(&["suite", "stop", "tiny.toml"]), 1, "no suite is running");
    check(&mut suite.sane(&["suite", "run", "tiny.toml"]), 0, "done: 2 runs");
    let straight = Fixture::new(6_000, "'sane'");
    check(&mut straight.sane(&["suite", "run", "tiny.toml", "--jobs", "1", "--threads", "2"]), 0, "done: 2 runs");
    for id in ids {
        assert_eq!(suite.digest(id), straight.digest(id), "{id}");
    }
}

#[test]
fn a_killed_run_is_retried_from_its_checkpoint() {
    let suite = Fixture::new(6_000, "'sane'");
    let mut runner = suite.start();
    let id = "risky-road/sane/seed-1";
    suite.wait_for_checkpoint(id);
    let process = lock_holder(&suite.run_folder(id)).unwrap();
    assert!(Command::new("kill").args(["-9", &process]).status().unwrap().success());
    assert!(runner.wait().unwrap().success());
    let status = suite.status();
    let run = status["runs"].as_array().unwrap().iter().find(|run| run["run"] == id).unwrap();
    assert_eq!((run["state"].as_str(), run["attempts"].as_u64()), (Some("done"), Some(2)), "{status}");
    let timings = fs::read_to_string(suite.run_folder(id).join("timings.jsonl")).unwrap();
    let starts: Vec<&str> = timings.lines().filter(|line| line.contains("process_started")).collect();
    assert!(starts.len() == 2 && !starts[1].contains("\"from_interactions\":0,"), "{starts:?}");
}

/// A suite of which one evaluation cannot end, since its result cannot be recorded before `release` is called.
struct HeldEvaluation {
    suite: Fixture,
    records: fs::File,
}

/// The run whose evaluation is held, and the other one.
const HELD: &str = "risky-road/sane/seed-1";
const OTHER: &str = "minatar/breakout/sane/seed-1";

impl HeldEvaluation {
    fn new() -> Self {
        let suite = Fixture::new(500, "'sane'");
        fs::create_dir_all(suite.run_folder(HELD)).unwrap();
        let records = fs::File::create(suite.run_folder(HELD).join("evaluations.jsonl")).unwrap();
        records.lock().unwrap();
        Self { suite, records }
    }

    fn release(&self) {
        self.records.unlock().unwrap();
    }

    /// What the process that runs the suite wrote last about the held run.
    fn written_status(&self) -> serde_json::Value {
        let text = fs::read_to_string(self.suite.temp.path("runs/suites/tiny/status.json")).unwrap_or_default();
        let status: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
        let mut runs = status["runs"].as_array().into_iter().flatten();
        runs.find(|run| run["run"] == HELD).cloned().unwrap_or_default()
    }

    /// Starts the suite and kills it, and nothing else, as soon as it has started the evaluation. That is halted before it has
    /// done much.
    fn kill_during_evaluation(&self) -> Halted {
        let mut runner = self.suite.start();
        let start = Instant::now();
        let process = loop {
            assert!(start.elapsed() < TIMEOUT, "the evaluation does not begin");
            if let Some(process) = evaluation_started_by(runner.id(), HELD) {
                break process;
            }
        };
        // In this order: a halted process whose parent ends is sent SIGHUP, and woken.
        runner.kill().unwrap();
        runner.wait().unwrap();
        signal(&process, "-STOP");
        Halted(process)
    }

    /// Each run has the two evaluations of its agent, without noise and with it, and they are what another evaluation gives.
    fn check_evaluated_once(&self) {
        for id in [HELD, OTHER] {
            let folder = self.suite.run_folder(id);
            let evaluations = || fs::read_to_string(folder.join("evaluations.jsonl")).unwrap();
            let once = evaluations();
            assert_eq!(once.lines().count(), 2, "{id}: {once}");
            let again = ["eval", folder.to_str().unwrap(), "--interactions", "200"];
            succeed(&mut self.suite.sane(&again));
            assert_eq!(evaluations(), [&once[..], &once].concat(), "{id}");
        }
    }
}

/// The id of the process that evaluates this run and was started by process `parent`.
fn evaluation_started_by(parent: u32, run: &str) -> Option<String> {
    let processes = fs::read_dir("/proc").unwrap().flatten().filter_map(|entry| entry.file_name().into_string().ok());
    processes.filter(|name| name.parse::<u32>().is_ok()).find(|process| {
        let read = |file: &str| fs::read_to_string(format!("/proc/{process}/{file}")).unwrap_or_default();
        let is_child = read("stat").rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(1)?.parse().ok());
        let command = read("cmdline");
        is_child == Some(parent) && command.split('\0').nth(1) == Some("eval") && command.contains(run)
    })
}

/// A process that was halted; dropping it kills it.
struct Halted(String);

impl Halted {
    fn resume(mut self) {
        signal(&std::mem::take(&mut self.0), "-CONT");
    }
}

impl Drop for Halted {
    fn drop(&mut self) {
        if !self.0.is_empty() {
            signal(&self.0, "-KILL");
        }
    }
}

fn signal(process: &str, name: &str) {
    assert!(Command::new("kill").args([name, process]).status().unwrap().success());
}

#[test]
fn a_suite_that_was_killed_during_an_evaluation_waits_for_it_and_evaluates_once() {
    let held = HeldEvaluation::new();
    let evaluation = held.kill_during_evaluation();
    let second = held.suite.start();
    let waits = || held.written_status()["reason"].as_str().is_some_and(|why| why.starts_with("being evaluated by"));
    wait_until("the second suite to wait for the evaluation", || {
        assert_ne!(held.written_status()["state"], "done", "its result cannot have been recorded");
        waits()
    });
    held.release();
    evaluation.resume();
    assert!(second.wait_with_output().unwrap().status.success());
    let status = held.suite.status();
    assert!(status["runs"].as_array().unwrap().iter().all(|run| run["state"] == "done"), "{status}");
    held.check_evaluated_once();
}

#[test]
fn an_evaluation_that_was_killed_with_its_suite_is_taken_over() {
    let held = HeldEvaluation::new();
    drop(held.kill_during_evaluation());
    held.release();
    check(&mut held.suite.sane(&["suite", "run", "tiny.toml"]), 0, "done: 2 runs");
    held.check_evaluated_once();
}

#[test]
fn a_run_that_cannot_start_is_set_aside_and_the_others_continue() {
    let suite = Fixture::new(1_000, "'sane'");
    let folder = suite.run_folder("risky-road/sane/seed-1");
    let other = ["train", "risky-road", "--agent", "q-sane", "--steps", "300", "--out", folder.to_str().unwrap()];
    succeed(&mut suite.sane(&other));
    let output = check(&mut suite.sane(&["suite", "run", "tiny.toml"]), 1, "set aside: risky-road/sane/seed-1: ");
    assert!(stderr(&output).contains("holds another run: agent is"), "{}", stderr(&output));
    assert_eq!(suite.state("minatar/breakout/sane/seed-1"), "done");
    assert_eq!(suite.state("risky-road/sane/seed-1"), "set_aside");
}

#[test]
fn wrong_input_is_named_with_its_line_and_a_remedy() {
    let suite = Fixture::new(1_000, "'sane', 'qsane'");
    check(&mut suite.sane(&["suite", "run", "tiny.toml"]), 2, "tiny.toml:4: unknown agent qsane; did you mean q-sane?");
    check(&mut suite.sane(&["suite", "run", "nowhere.toml"]), 2, "cannot read nowhere.toml");
    check(&mut suite.sane(&["suite", "status", "nowhere"]), 2, "nowhere holds no suite");
    check(&mut suite.sane(&["suite", "run", "tiny.toml", "--jobs", "0"]), 2, "--jobs");
    let suite = Fixture::new(300, "'sane'");
    check(&mut suite.sane(&["suite", "run", "tiny.toml", "--out", "x"]), 0, "done");
    let text = fs::read_to_string(suite.temp.path("tiny.toml")).unwrap();
    suite.write(&text.replace("'tiny'", "'other'"));
    check(
        &mut suite.sane(&["suite", "run", "tiny.toml", "--out", "x"]),
        2,
        "x holds another suite: its name is tiny, not other",
    );
}

#[test]
fn a_plan_estimates_what_a_suite_takes_and_starts_nothing() {
    let suite = Fixture::new(1_000, "'sane'");
    let json = succeed(&mut suite.sane(&["suite", "plan", "tiny.toml", "--json"]));
    let plan: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!((plan["runs"].as_u64(), plan["interactions"].as_u64()), (Some(2), Some(2_000)), "{plan}");
    let positive = |key: &str| plan[key].as_f64().is_some_and(|value| 0.0 < value);
    assert!(["seconds", "memory_bytes", "disk_bytes", "jobs", "threads"].iter().all(|key| positive(key)), "{plan}");
    assert!(!suite.temp.path("runs").exists());
}

/// A folder whose name has everything that means something to a shell, to Slurm or to our own templates.
const HARD_NAME: &str = "it's \"my\" $HOME `id` \\ %A_%j @RUN@ @SHELL@;&|<>(){}*?#~ \u{e9}";

/// Writes a program of this name that writes its arguments to `arguments`, each ended by a zero byte.
fn recorder(folder: &Path) -> String {
    let (program, arguments) = (folder.join("sane ' $x"), folder.join("arguments"));
    let quoted = format!("'{}'", arguments.display().to_string().replace('\'', r"'\''"));
    let write = "printf '#!/bin/sh\\nprintf \"%%s\\\\0\" \"$@\" > %s\\n' \"$1\" > \"$0\" && chmod 755 \"$0\"";
    let written = Command::new("sh").args(["-c", write]).arg(&program).arg(quoted).status();
    assert!(written.unwrap().success());
    program.display().to_string()
}

fn check_arguments(folder: &Path, out: &str) {
    let written = fs::read(folder.join("arguments")).unwrap();
    let words: Vec<String> =
        written.split(|&byte| byte == 0).map(|word| String::from_utf8_lossy(word).into_owned()).collect();
    assert_eq!(words[..4], ["suite", "task", out, "risky-road/sane/seed-1"]);
    fs::remove_file(folder.join("arguments")).unwrap();
}

#[test]
fn folders_with_spaces_and_quotes_reach_the_jobs_of_a_cluster_unchanged() {
    let suite = Fixture::new(500, "'sane'");
    let folder = suite.temp.path(HARD_NAME);
    fs::create_dir_all(folder.join("slurm")).unwrap();
    let out = folder.display().to_string();
    let text = "name = 'hard'\nbudget = 500\ngames = ['risky-road']\nagents = ['sane']\nseeds = [1]\n\
        [resources]\nmemory_gb = 0.1\n[cluster]\nprogram = ";
    suite.write(&format!("{text}{}\n", toml_text(&recorder(&folder))));
    let plan =
        |on: &str| succeed(&mut suite.sane(&["suite", "run", "tiny.toml", "--on", on, "--dry-run", "--out", &out]));

    let script = plan("slurm");
    fs::write(suite.temp.path("job"), &script).unwrap();
    let job = Command::new("bash")
        .arg(suite.temp.path("job"))
        .envs([("SLURM_ARRAY_TASK_ID", "0"), ("SLURM_ARRAY_JOB_ID", "7"), ("SLURM_JOB_ID", "7")])
        .output()
        .unwrap();
    assert!(job.status.success(), "{script}\n{}", String::from_utf8_lossy(&job.stderr));
    check_arguments(&folder, &out);
    assert!(folder.join("slurm/7_0.log").is_file(), "the job's log is in its folder:\n{script}");
    assert!(script.lines().filter(|line| line.starts_with("#SBATCH")).all(|line| !line.contains("it's")), "{script}");

    let jobs: serde_json::Value = serde_json::from_str(&plan("ray")).unwrap();
    let shell = jobs["jobs"][0]["shell"].as_str().unwrap();
    assert!(Command::new("bash").args(["-c", shell]).status().unwrap().success(), "{shell}");
    check_arguments(&folder, &out);
}

/// The text as a TOML string.
fn toml_text(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', r"\\").replace('"', "\\\""))
}

#[test]
fn a_missing_cluster_is_named_and_a_dry_run_prints_what_would_be_submitted() {
    let suite = Fixture::new(1_000, "'sane'");
    let run = |engine: &str, more: &[&str]| {
        let mut command = suite.sane(&["suite", "run", "tiny.toml", "--on", engine]);
        command.env("PATH", suite.temp.root()).args(more);
        command
    };
    check(&mut run("slurm", &[]), 1, "there is no `sinfo` on this machine");
    check(&mut run("ray", &[]), 1, "there is no python3 on this machine");
    let script = succeed(&mut run("slurm", &["--dry-run"]));
    let expected = ["#SBATCH --array=0-1", "#SBATCH --signal=B:USR1@120", "  risky-road/sane/seed-1", "suite task /"];
    expected.iter().for_each(|line| assert!(script.contains(line), "{line} is missing in\n{script}"));
    let jobs: serde_json::Value = serde_json::from_str(&succeed(&mut run("ray", &["--dry-run"]))).unwrap();
    assert_eq!(jobs["jobs"].as_array().map(Vec::len), Some(2), "{jobs}");
    let plan = succeed(&mut suite.sane(&["suite", "run", "tiny.toml", "--dry-run"]));
    assert!(plan.contains("runs          2, 2000 interactions"), "{plan}");
    suite.write(&(fs::read_to_string(suite.temp.path("tiny.toml")).unwrap() + "[slurm]\npartition = 'a b'\n"));
    check(&mut run("slurm", &["--dry-run"]), 2, "tiny.toml:16: partition is one word");
}

#[test]
fn a_cluster_job_works_on_its_run_alone_and_the_suite_sees_it() {
    let suite = Fixture::new(500, "'sane'");
    let folder = suite.temp.path("runs/suites/tiny");
    fs::create_dir_all(&folder).unwrap();
    fs::copy(suite.temp.path("tiny.toml"), folder.join("suite.toml")).unwrap();
    let task = |run: &str| suite.sane(&["suite", "task", folder.to_str().unwrap(), run]);
    check(&mut task("risky-road/sane/seed-1"), 0, "risky-road/sane/seed-1: done");
    assert_eq!(suite.state("risky-road/sane/seed-1"), "done");
    assert_eq!(suite.state("minatar/breakout/sane/seed-1"), "waiting");
    check(&mut task("risky-road/sane/seed-9"), 1, "has no run risky-road/sane/seed-9");
    assert_eq!(fs::read_to_string(folder.join("results.csv")).unwrap().lines().count(), 1 + 2);
}

#[test]
fn a_run_that_diverges_is_set_aside_at_once_and_not_tried_again() {
    let suite = Fixture::new(1_000, "'eps-greedy'");
    let text = fs::read_to_string(suite.temp.path("tiny.toml")).unwrap();
    suite.write(&text.replace("epsilon = 0.01", "epsilon = 0.01\nlearner.optimiser.learning_rate = 1e30"));
    let id = "minatar/breakout/eps-greedy/seed-1";
    check(&mut suite.sane(&["--quiet", "suite", "run", "tiny.toml"]), 1, &format!("set aside: {id}: "));
    let timings = || fs::read_to_string(suite.run_folder(id).join("timings.jsonl")).unwrap();
    assert_eq!(timings().matches("process_started").count(), 1, "{}", timings());
    assert!(timings().contains("\"reason\":\"diverged\""), "{}", timings());
    let output = check(&mut suite.sane(&["suite", "run", "tiny.toml"]), 1, "it diverged at interaction");
    assert_eq!(timings().matches("process_started").count(), 1, "{}", stderr(&output));
    assert_eq!(suite.state(id), "set_aside");
}

#[test]
fn one_damaged_run_stops_neither_the_others_nor_the_status() {
    let suite = Fixture::new(500, "'eps-greedy'");
    let [whole, damaged] = ["minatar/breakout/eps-greedy/seed-1", "risky-road/eps-greedy/seed-1"];
    check(&mut suite.sane(&["suite", "run", "tiny.toml"]), 0, "done: 2 runs");
    let results = || fs::read_to_string(suite.temp.path("runs/suites/tiny/results.csv")).unwrap();
    let before = results();
    fs::write(suite.run_folder(damaged).join("evaluations.jsonl"), "no record\n{}\n").unwrap();
    fs::write(suite.temp.path("runs/suites/tiny/status.json"), "{").unwrap();
    fs::write(suite.run_folder(damaged).join("job.json"), "{").unwrap();
    assert_eq!((suite.state(whole).as_str(), suite.state(damaged).as_str()), ("done", "set_aside"));
    check(&mut suite.sane(&["suite", "run", "tiny.toml"]), 1, "evaluations.jsonl, line 1");
    assert!(results().lines().count() == before.lines().count() - 1 && results().contains(whole), "{}", results());
    // A run whose process cannot even be started is set aside, too.
    fs::remove_dir_all(suite.run_folder(damaged)).unwrap();
    fs::create_dir_all(suite.run_folder(damaged).join("log.txt")).unwrap();
    check(&mut suite.sane(&["suite", "run", "tiny.toml"]), 1, "it is a folder, not a file");
    assert_eq!((suite.state(whole).as_str(), suite.state(damaged).as_str()), ("done", "set_aside"));
}
