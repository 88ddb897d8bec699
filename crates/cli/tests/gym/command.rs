//! Starting `sane` on a small Gymnasium run of a few seconds.

use crate::packages::{python_path, write_script};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use tempfile::TempDir;

/// A folder for runs and for environments of its own.
pub struct Place(TempDir);

impl Place {
    pub fn new() -> Self {
        Self(tempfile::tempdir().expect("a temporary folder"))
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// `sane` with an interpreter that finds Gymnasium, and modules in this folder.
    pub fn sane(&self, args: &[&str]) -> Command {
        let python = self.path("python-here");
        if !python.exists() {
            let line = format!("PYTHONPATH='{}:{}' exec python3 \"$@\"", self.0.path().display(), python_path());
            write_script(&python, &line);
        }
        let mut command = Command::new(env!("CARGO_BIN_EXE_sane"));
        command.args(args).env("SANE_PYTHON", python);
        command
    }

    /// A short training run in this world and folder.
    pub fn train(&self, world: &str, folder: &Path, more: &[&str]) -> Command {
        let start = ["train", world, "--agent", "sane", "--threads", "1", "--set", "record.interval=200"];
        let mut command = self.sane(&start);
        command.args(["--set", "training.learning_starts=200", "--set", "replay.capacity=1000", "--out"]);
        command.arg(folder).args(more);
        command
    }
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
