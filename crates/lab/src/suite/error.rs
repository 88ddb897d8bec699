//! What can be wrong with a suite.

use super::document::Place;
use crate::LabError;
use crate::config::ConfigError;
use crate::lock::LockError;
use std::io;
use std::path::PathBuf;

/// A suite that cannot be read, or cannot be run here.
#[derive(Debug, thiserror::Error)]
pub enum SuiteError {
    /// The file is not a suite.
    #[error("{place}: {reason}")]
    Format {
        /// Where.
        place: Place,
        /// What is wrong.
        reason: String,
    },
    /// A run that the file asks for cannot be.
    #[error("{place}: {source}")]
    Config {
        /// Where it is asked for.
        place: Place,
        /// What is wrong with it.
        source: ConfigError,
    },
    /// Nothing to run.
    #[error(
        "{place}: no {what}; a suite runs every agent in every game with every seed, so it needs at least one of each"
    )]
    Empty {
        /// Where it is missing.
        place: Place,
        /// `games`, `agents` or `seeds`.
        what: &'static str,
    },
    /// One thing twice.
    #[error("{place}: {what} stands there twice; a run is made once")]
    Repeated {
        /// Where the second is.
        place: Place,
        /// What it is.
        what: String,
    },
    /// Two variants that come to the same.
    #[error(
        "{place}: the variants {first} and {second} give the same run of {run}; set something that tells them apart"
    )]
    SameRun {
        /// Where the second is.
        place: Place,
        /// Name of the first.
        first: String,
        /// Name of the second.
        second: String,
        /// World, agent and seed.
        run: String,
    },
    /// The folder belongs to another suite.
    #[error("{} holds another suite: {reason}; choose another folder with --out", folder.display())]
    OtherSuite {
        /// The folder.
        folder: PathBuf,
        /// In what they differ.
        reason: String,
    },
    /// The folder holds no suite.
    #[error("{} holds no suite: it has no suite.toml; `sane suite run SUITE.toml --out DIR` makes one", folder.display())]
    NoSuite {
        /// The folder.
        folder: PathBuf,
    },
    /// Nobody is at work in the folder.
    #[error("no suite is running in {}; `sane suite status` says how it stands", folder.display())]
    NotRunning {
        /// The folder.
        folder: PathBuf,
    },
    /// The suite has no such run.
    #[error("the suite in {} has no run {run}; `sane suite status` lists them", folder.display())]
    NoRun {
        /// The folder.
        folder: PathBuf,
        /// What was asked for.
        run: String,
    },
    /// A run that cannot be made.
    #[error("{run}: {reason}")]
    Run {
        /// Which run.
        run: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A cluster does not take the suite.
    #[error("{engine}: {reason}")]
    Cluster {
        /// Which engine.
        engine: &'static str,
        /// Why.
        reason: String,
    },
    /// Somebody else is at work.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// A run, a world or a measurement.
    #[error(transparent)]
    Lab(Box<LabError>),
    /// `status.json` cannot be understood.
    #[error("{} cannot be read: {reason}; it is written anew when the suite is run", path.display())]
    Status {
        /// The file.
        path: PathBuf,
        /// What the parser said.
        reason: String,
    },
    /// The operating system refused.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// What was attempted.
        doing: &'static str,
        /// Where.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl From<LabError> for SuiteError {
    fn from(error: LabError) -> Self {
        Self::Lab(Box::new(error))
    }
}

impl SuiteError {
    /// For `map_err`: names the deed and the place.
    pub(crate) fn io(doing: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { doing, path, source }
    }
}
