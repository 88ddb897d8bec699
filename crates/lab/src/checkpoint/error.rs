//! Errors of checkpoints.

use crate::config::Differences;
use sane_env::AgentSteps;
use sane_replay::ReplayError;
use std::io;
use std::path::{Path, PathBuf};

/// A checkpoint that could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// The disk is full.
    #[error(
        "the disk is full: cannot write {} ({bytes} bytes); the last checkpoint is intact: free some space and start again",
        path.display()
    )]
    DiskFull { path: PathBuf, bytes: u64 },
    /// The folder or a file in it cannot be written.
    #[error("cannot write {}: {source}; the last checkpoint is intact", path.display())]
    Write { path: PathBuf, source: io::Error },
    /// A file exists but cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read { path: PathBuf, source: io::Error },
    /// A manifest names a missing file.
    #[error("{} is missing", path.display())]
    Missing { path: PathBuf },
    /// A file is torn or altered.
    #[error("{} is damaged: {what}", path.display())]
    Damaged { path: PathBuf, what: String },
    /// Another version of the program wrote it.
    #[error(
        "{} has format version {found}, this program reads version {supported}; use the program that wrote it, or \
         start anew with --fresh, which keeps the old run",
        path.display()
    )]
    WrongVersion { path: PathBuf, found: u32, supported: u32 },
    /// The checkpoint was made by a run with other settings.
    #[error(
        "{} belongs to another run: {}; put back the run's own config.toml and checkpoints, or start anew with --fresh, \
         which keeps the old run",
        path.display(), listed_differences(differences)
    )]
    OtherRun { path: PathBuf, differences: Differences },
    /// The replay in it is not that of this configuration, or does not decode.
    #[error("the replay of {}: {source}", path.display())]
    Replay { path: PathBuf, source: ReplayError },
    /// There are checkpoints, and all are damaged.
    #[error("no checkpoint in {} can be used: {}; start anew with --fresh", folder.display(), reasons.join("; "))]
    NoneUsable { folder: PathBuf, reasons: Vec<String> },
    /// No evaluation while training has kept one.
    #[error(
        "{} has no best checkpoint: none of its evaluations while training has kept one; set training.evaluate_every \
         (`sane config keys`), or leave out --checkpoint best for the newest",
        folder.display()
    )]
    NoBest { folder: PathBuf },
    /// No checkpoint at the requested interaction.
    #[error("{} has no checkpoint at interaction {wanted}, only at {}", folder.display(), listed(available))]
    NoSuch { folder: PathBuf, wanted: u64, available: Vec<AgentSteps> },
}

impl CheckpointError {
    /// Whether an older checkpoint may be used instead: this one is torn, altered or incomplete. Going back would only
    /// hide a wrong configuration, a newer format or missing permissions.
    pub(crate) fn is_damage(&self) -> bool {
        match self {
            Self::Missing { .. } | Self::Damaged { .. } => true,
            Self::Read { source, .. } => source.kind() != io::ErrorKind::PermissionDenied,
            Self::Replay { source, .. } => {
                matches!(source, ReplayError::Damaged { .. } | ReplayError::WrongSegment { .. })
            }
            _ => false,
        }
    }

    pub(crate) fn read(path: &Path, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::NotFound => Self::Missing { path: path.into() },
            _ => Self::Read { path: path.into(), source },
        }
    }

    pub(crate) fn write(path: &Path, bytes: u64, source: io::Error) -> Self {
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::DiskFull { path: path.into(), bytes },
            _ => Self::Write { path: path.into(), source },
        }
    }
}

/// The first few keys: what the checkpoint was made with, and what the run folder says.
fn listed_differences(differences: &Differences) -> String {
    let line = |(key, (there, here)): (&String, &(String, String))| format!("{key} is {there} in it, {here} here");
    let mut lines: Vec<String> = differences.iter().take(4).map(line).collect();
    if 4 < differences.len() {
        lines.push(format!("and {} more", differences.len() - 4));
    }
    lines.join(", ")
}

fn listed(available: &[AgentSteps]) -> String {
    match available {
        [] => "none at all".into(),
        available => available.iter().map(|steps| steps.0.to_string()).collect::<Vec<_>>().join(" and "),
    }
}
