//! Starting `sane` and a small run that takes about a second: a MinAtar game, a tiny network, frequent checkpoints.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// The settings of the small run, but for agent, folder and threads.
pub const SMALL: [&str; 24] = [
    "--quiet",
    "train",
    "minatar/breakout",
    "--set",
    "training.total_interactions=4000",
    "--set",
    "learner.network.convolutions=[{filters=4, kernel=3, stride=1}]",
    "--set",
    "learner.network.hidden=[16]",
    "--set",
    "replay.capacity=2000",
    "--set",
    "training.learning_starts=200",
    "--set",
    "training.train_period=2",
    "--set",
    "training.target_period=500",
    "--set",
    "record.interval=700",
    "--set",
    "record.histogram_interval=1500",
    "--set",
    "record.checkpoint_interval=300",
    "--agent",
];

/// A folder for the runs of one test.
pub struct Place(TempDir);

impl Place {
    pub fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }

    pub fn run(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }
}

/// The command, ready to be started.
pub fn sane(args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sane"));
    command.args(args);
    command
}

/// The small run of this agent in this folder.
pub fn small_run(agent: &str, folder: &Path, more: &[&str]) -> Command {
    let mut command = sane(&SMALL);
    command.arg(agent).arg("--out").arg(folder).args(more);
    command
}

/// Runs a command to its end; it must succeed. Its standard output.
pub fn succeed(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.output().expect("sane starts");
    assert!(status.success(), "{command:?}: {status}\n{}", String::from_utf8_lossy(&stderr));
    String::from_utf8(stdout).expect("text")
}

/// Runs a command to its end; it must fail with this code. Its standard error.
pub fn fail(command: &mut Command, code: i32) -> String {
    let Output { status, stderr, .. } = command.output().expect("sane starts");
    let text = String::from_utf8(stderr).expect("text");
    assert_eq!(status.code(), Some(code), "{command:?}: {text}");
    text
}

/// The digest of a run's state.
pub fn digest(folder: &Path) -> String {
    succeed(sane(&["runs", "hash", "--parts"]).arg(folder))
}
