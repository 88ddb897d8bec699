//! Errors of a run.

use crate::checkpoint::CheckpointError;
use crate::config::{ConfigError, Differences};
use crate::lock::LockError;
use sane_agent::{AgentError, LearnError};
use sane_arcade::RomError;
use sane_env::{AgentSteps, SnapshotError, WorldFault};
use sane_gym::GymError;
use sane_record::RecordError;
use std::io;
use std::path::{Path, PathBuf};

/// A run that could not be started, resumed, evaluated or read.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The agent does not fit the world, or a saved one does not fit the configuration.
    #[error(transparent)]
    Agent(#[from] AgentError),
    /// The agent's numbers are not finite.
    #[error(transparent)]
    Learn(#[from] LearnError),
    /// Learning diverged during training; the last good checkpoint is intact.
    #[error(
        "{error}\nthe run diverged at interaction {interactions}; {}. The same command would diverge again, bit for bit: choose \
         other settings (a lower learner.optimiser.learning_rate, or learner.clip_gradient_norm) and start with --fresh",
        .saved.map_or("no checkpoint had been saved".into(), |saved| {
            format!("its last good checkpoint, of interaction {saved}, is intact")
        })
    )]
    Diverged { error: LearnError, interactions: u64, saved: Option<u64> },
    #[error(transparent)]
    Record(#[from] RecordError),
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    /// Another process holds the folder.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The snapshot of a world cannot be restored.
    #[error(
        "{0}; was the checkpoint written by another version? resume with that one, or start a new run with --fresh"
    )]
    Snapshot(#[from] SnapshotError),
    #[error(transparent)]
    Rom(#[from] RomError),
    /// The world could not be made.
    #[error("cannot make the world {name}: {reason}")]
    World { name: String, reason: String },
    #[error(transparent)]
    Gym(Box<GymError>),
    /// A fault of the world outside of training.
    #[error(transparent)]
    Fault(#[from] WorldFault),
    /// A fault of the world during training; the run was saved.
    #[error(
        "{fault}\nthe run is saved at interaction {interactions}; the same command resumes from there with a new episode"
    )]
    Interrupted { fault: WorldFault, interactions: u64 },
    /// A file operation failed.
    #[error("cannot {operation} {}: {source}", path.display())]
    Io { operation: &'static str, path: PathBuf, source: io::Error },
    /// The folder holds a run with another configuration.
    #[error(
        "{} holds another run: {}; choose another folder with --out, or move the old run aside with --fresh",
        path.display(), listed(differences)
    )]
    OtherRun { path: PathBuf, differences: Differences },
    /// The run is longer than it was asked to become.
    #[error(
        "{} has {done} interactions already, more than the {asked} asked for, and nothing was changed; a larger --steps \
         continues it, --out names another folder, --fresh moves the old run aside",
        path.display()
    )]
    AlreadyLonger { path: PathBuf, done: u64, asked: u64 },
    /// The folder holds the records of a run whose checkpoints are gone.
    #[error(
        "{} has records ({bytes} bytes of events.jsonl) but no checkpoint to continue them from; put back its \
         checkpoints/, choose another folder with --out, or move the old run aside with --fresh",
        path.display()
    )]
    RecordsWithoutCheckpoint { path: PathBuf, bytes: u64 },
    /// The records are not those that a checkpoint was made with.
    #[error("{reason}")]
    Altered { reason: String },
    /// The file holds no policy.
    #[error("{} is not an exported policy: {reason}", path.display())]
    NotAPolicy { path: PathBuf, reason: String },
    /// The folder holds no run.
    #[error("{} is not a run folder: it has no config.toml; `sane runs list` shows the runs below a folder", path.display())]
    NotARun { path: PathBuf },
    /// The run has no checkpoint yet.
    #[error("{} has no checkpoint yet; let it train until its first one", path.display())]
    NoCheckpoint { path: PathBuf },
    /// A section of the checkpoint is missing or cannot be decoded.
    #[error(
        "the checkpoint's section {section} cannot be read: {reason}; it was written by another version of the program"
    )]
    Section { section: &'static str, reason: String },
    /// A checkpoint that is whole, and whose content no run of this configuration has.
    #[error("the checkpoint at interaction {interactions} in {}: {source}", path.display())]
    InCheckpoint { path: PathBuf, interactions: u64, source: Box<LabError> },
    /// The agent's noise does not depend on the state.
    #[error("{agent} has no σ(s); agents that have one: {}", agents.join(", "))]
    NoSigma { agent: String, agents: Vec<&'static str> },
    /// The agent's network has no noise to draw.
    #[error("{agent} has no noise in its network; agents that have: {}", agents.join(", "))]
    NoNoise { agent: String, agents: Vec<&'static str> },
    /// The episode ended before the requested range.
    #[error("episode {episode} lasts {interactions} interactions only; film from an earlier one, or another episode")]
    EpisodeTooShort { episode: u64, interactions: u64 },
    /// The trace of a world whose rules are not part of this program.
    #[error(
        "{world} cannot be verified: its rules are Python code that is no part of this program; built-in worlds and Atari \
         games can"
    )]
    NotVerifiable { world: String },
    /// The recorded actions are not those of the world.
    #[error("the trace was recorded with {recorded} actions of {world}, which has {found} here, or others")]
    OtherActions { world: String, recorded: usize, found: usize },
    /// The worker threads could not be started.
    #[error("cannot start {threads} worker threads: {reason}")]
    Threads { threads: usize, reason: String },
}

impl From<GymError> for LabError {
    fn from(error: GymError) -> Self {
        Self::Gym(Box::new(error))
    }
}

impl LabError {
    /// Names the checkpoint in which an error was found.
    pub(crate) fn in_checkpoint(folder: &Path, interactions: AgentSteps) -> impl FnOnce(Self) -> Self {
        let (path, interactions) = (folder.join("checkpoints"), interactions.0);
        move |source| Self::InCheckpoint { path, interactions, source: Box::new(source) }
    }

    /// For `map_err`: adds the operation and the path to an I/O error.
    pub(crate) fn io(operation: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { operation, path, source }
    }
}

fn listed(differences: &Differences) -> String {
    let line = |(key, (there, here)): (&String, &(String, String))| format!("{key} is {there} there, {here} here");
    // What is trained comes before how.
    let (what, how): (Vec<_>, Vec<_>) = differences
        .iter()
        .partition(|(key, _)| ["agent", "seed", "world.name", "world.profile"].contains(&key.as_str()));
    let mut lines: Vec<String> = what.into_iter().chain(how).take(4).map(line).collect();
    if 4 < differences.len() {
        lines.push(format!("and {} more", differences.len() - 4));
    }
    lines.join(", ")
}
