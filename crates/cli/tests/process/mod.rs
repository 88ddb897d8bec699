//! Running `sane` as a process: commands, temporary folders, checks of exit code and output, and a training run that
//! takes about a second.
#![allow(dead_code, reason = "each test file uses a part of these helpers")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::thread::sleep;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long to wait for another process; generous, since the machine may be loaded.
pub const TIMEOUT: Duration = Duration::from_secs(60);

pub fn sane(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sane"));
    command.args(arguments);
    command
}

/// Runs a command; checks its exit code and that `expected` occurs in its standard error.
pub fn check(command: &mut Command, code: i32, expected: &str) -> Output {
    let output = command.output().expect("the command starts");
    let (out, err) = (stdout(&output), stderr(&output));
    assert_eq!(output.status.code(), Some(code), "{command:?}\n{out}\n{err}");
    assert!(err.contains(expected), "{command:?} does not print `{expected}` to standard error:\n{out}\n{err}");
    output
}

/// Runs a command that must succeed; its standard output.
pub fn succeed(command: &mut Command) -> String {
    stdout(&check(command, 0, ""))
}

/// Runs a command that must fail with this exit code; its standard error.
pub fn fail(command: &mut Command, code: i32) -> String {
    stderr(&check(command, code, ""))
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

pub fn wait_until(event: &str, mut has_happened: impl FnMut() -> bool) {
    let start = Instant::now();
    while !has_happened() {
        assert!(start.elapsed() < TIMEOUT, "timed out waiting for {event}");
        sleep(Duration::from_millis(20));
    }
}

/// A temporary folder for the files of one test.
pub struct TempFolder(TempDir);

impl TempFolder {
    pub fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }

    pub fn root(&self) -> &Path {
        self.0.path()
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}

/// Settings of the small run: MinAtar breakout, a tiny network, frequent checkpoints.
const SMALL_RUN: [&str; 10] = [
    "training.total_interactions=4000",
    "learner.network.convolutions=[{filters=4, kernel=3, stride=1}]",
    "learner.network.hidden=[16]",
    "replay.capacity=2000",
    "training.learning_starts=200",
    "training.train_period=2",
    "training.target_period=500",
    "record.interval=700",
    "record.histogram_interval=1500",
    "record.checkpoint_interval=300",
];

/// Trains this agent in the small run; `more` arguments override its settings.
pub fn small_run(agent: &str, folder: &Path, more: &[&str]) -> Command {
    small_run_in("minatar/breakout", agent, folder, more)
}

/// The same in another world whose states are small pictures.
pub fn small_run_in(world: &str, agent: &str, folder: &Path, more: &[&str]) -> Command {
    let mut command = sane(&["--quiet", "train", world, "--agent", agent, "--out"]);
    command.arg(folder).args(SMALL_RUN.iter().flat_map(|setting| ["--set", setting])).args(more);
    command
}

/// The digest of a run's state.
pub fn digest(folder: &Path) -> String {
    succeed(sane(&["runs", "hash", "--parts"]).arg(folder))
}
