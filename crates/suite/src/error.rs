//! Errors of suites: a file that cannot be read, or a suite that cannot be run here.

use crate::file::Location;
use sane_lab::{ConfigError, LabError, LockError};
use std::io;
use std::path::PathBuf;

/// A suite that cannot be read, or cannot be run here.
#[derive(Debug, thiserror::Error)]
pub enum SuiteError {
    /// The file is not a suite.
    #[error("{location}: {reason}")]
    Format { location: Location, reason: String },
    /// The configuration of a run is invalid; `location` is the key of the suite file that causes it.
    #[error("{location}: {source}")]
    Config { location: Location, source: ConfigError },
    /// One of the lists `games`, `agents`, `seeds` is empty.
    #[error(
        "{location}: no {what}; a suite runs every agent in every game with every seed, so it needs at least one of each"
    )]
    Empty { location: Location, what: &'static str },
    /// An entry is listed twice; `location` is the second.
    #[error("{location}: {what} is listed twice; a run is made once")]
    Repeated { location: Location, what: String },
    /// Two variants resolve to the same configuration; `location` is the second.
    #[error(
        "{location}: the variants {first} and {second} give the same run of {run}; set something that tells them apart"
    )]
    SameRun { location: Location, first: String, second: String, run: String },
    /// The folder belongs to another suite.
    #[error("{} holds another suite: {reason}; choose another folder with --out", folder.display())]
    OtherSuite { folder: PathBuf, reason: String },
    /// The folder holds no suite.
    #[error("{} holds no suite: it has no suite.toml; `sane suite run SUITE.toml --out DIR` makes one", folder.display())]
    NoSuite { folder: PathBuf },
    /// No process runs the suite in this folder.
    #[error("no suite is running in {}; `sane suite status` shows its runs", folder.display())]
    NotRunning { folder: PathBuf },
    /// The suite has no such run.
    #[error("the suite in {} has no run {run}; `sane suite status` lists them", folder.display())]
    NoRun { folder: PathBuf, run: String },
    /// A run that cannot be started.
    #[error("{run}: {reason}")]
    Run { run: String, reason: String },
    /// Slurm or Ray refused the suite.
    #[error("{engine}: {reason}")]
    Cluster { engine: &'static str, reason: String },
    /// Another process holds the folder.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// An error of a single run, its world or its measurement.
    #[error(transparent)]
    Lab(Box<LabError>),
    /// `status.json` cannot be parsed.
    #[error("{} cannot be read: {reason}; it is written anew when the suite is run", path.display())]
    Status { path: PathBuf, reason: String },
    /// A file operation failed.
    #[error("cannot {operation} {}: {source}", path.display())]
    Io { operation: &'static str, path: PathBuf, source: io::Error },
}

impl From<LabError> for SuiteError {
    fn from(error: LabError) -> Self {
        Self::Lab(Box::new(error))
    }
}

impl SuiteError {
    /// For `map_err`: adds the operation and the path to an I/O error.
    pub(crate) fn io(operation: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { operation, path, source }
    }
}
