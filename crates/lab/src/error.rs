//! What can go wrong in a run.

use crate::checkpoint::CheckpointError;
use crate::config::{ConfigError, Differences};
use crate::lock::LockError;
use sane_agent::{AgentError, LearnError};
use sane_arcade::RomError;
use sane_env::{SnapshotError, WorldFault};
use sane_gym::GymError;
use sane_record::RecordError;
use std::io;
use std::path::PathBuf;

/// A run that could not be started, continued, evaluated or read.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// The configuration.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The agent does not fit the world, or a saved one does not fit the configuration.
    #[error(transparent)]
    Agent(#[from] AgentError),
    /// Learning went astray.
    #[error(transparent)]
    Learn(#[from] LearnError),
    /// A record.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// A checkpoint.
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// Somebody else is at work.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// A world's snapshot.
    #[error("{0}; was the checkpoint written by another version? go on with that one, or begin anew with --fresh")]
    Snapshot(#[from] SnapshotError),
    /// A game's ROM.
    #[error(transparent)]
    Rom(#[from] RomError),
    /// The world could not be made.
    #[error("cannot make the world {name}: {reason}")]
    World {
        /// Its name.
        name: String,
        /// What it said.
        reason: String,
    },
    /// A Gymnasium environment.
    #[error(transparent)]
    Gym(Box<GymError>),
    /// The world stopped working.
    #[error(transparent)]
    Fault(#[from] WorldFault),
    /// The world stopped working in the middle of a run.
    #[error(
        "{fault}\nthe run is saved at interaction {interactions}; the same command goes on from there with a new episode"
    )]
    Interrupted {
        /// What happened.
        fault: WorldFault,
        /// Where the run stands.
        interactions: u64,
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
    /// The folder holds a run of something else.
    #[error(
        "{} holds another run: {}; choose another folder with --out, or move the old run aside with --fresh",
        path.display(), listed(differences)
    )]
    OtherRun {
        /// The folder.
        path: PathBuf,
        /// What differs: key → (there, asked for).
        differences: Differences,
    },
    /// The folder holds no run.
    #[error("{} is not a run folder: it has no config.toml; `sane runs list` shows the runs below a folder", path.display())]
    NotARun {
        /// The folder.
        path: PathBuf,
    },
    /// The run has no checkpoint yet.
    #[error("{} has no checkpoint yet; let it train until its first one", path.display())]
    NoCheckpoint {
        /// The folder.
        path: PathBuf,
    },
    /// A section of the checkpoint is missing or cannot be decoded.
    #[error(
        "the checkpoint's section {section} cannot be read: {reason}; it was written by another version of the program"
    )]
    Section { section: &'static str, reason: String },
    /// The agent's noise does not depend on the state.
    #[error("{agent} has no σ(s) that could be looked at; agents that have one: {}", agents.join(", "))]
    NoSigma {
        /// The agent of the run.
        agent: String,
        /// Those that would do.
        agents: Vec<&'static str>,
    },
    /// The episode was over before the part of it that was asked for.
    #[error("episode {episode} lasts {interactions} interactions only; film from an earlier one, or another episode")]
    EpisodeTooShort {
        /// Its number.
        episode: u64,
        /// Its length.
        interactions: u64,
    },
    /// The worker threads could not be started.
    #[error("cannot start {threads} worker threads: {reason}")]
    Threads {
        /// How many.
        threads: usize,
        /// What the system said.
        reason: String,
    },
}

impl From<GymError> for LabError {
    fn from(error: GymError) -> Self {
        Self::Gym(Box::new(error))
    }
}

impl LabError {
    /// For `map_err`: names the deed and the place.
    pub(crate) fn io(doing: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { doing, path, source }
    }
}

fn listed(differences: &Differences) -> String {
    let line = |(key, (there, here)): (&String, &(String, String))| format!("{key} is {there} there, {here} here");
    // What is run comes before how.
    let (what, how): (Vec<_>, Vec<_>) = differences
        .iter()
        .partition(|(key, _)| ["agent", "seed", "world.name", "world.profile"].contains(&key.as_str()));
    let mut lines: Vec<String> = what.into_iter().chain(how).take(4).map(line).collect();
    if 4 < differences.len() {
        lines.push(format!("and {} more", differences.len() - 4));
    }
    lines.join(", ")
}
