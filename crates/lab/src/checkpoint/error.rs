//! What can go wrong with checkpoints.

use sane_env::AgentSteps;
use sane_replay::ReplayError;
use std::io;
use std::path::{Path, PathBuf};

/// A checkpoint that could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum CheckpointError {
    /// The disk is full.
    #[error(
        "the disk is full: cannot write {} ({bytes} bytes); the last checkpoint is intact: make room and start again",
        path.display()
    )]
    DiskFull {
        /// The file that did not fit.
        path: PathBuf,
        /// Its size.
        bytes: u64,
    },
    /// The folder or a file in it cannot be written.
    #[error("cannot write {}: {source}; the last checkpoint is intact", path.display())]
    Write {
        /// Where.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A file is there but cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// Where.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A manifest names a file that is not there.
    #[error("{} is missing", path.display())]
    Missing {
        /// The file.
        path: PathBuf,
    },
    /// A file is torn or altered.
    #[error("{} is damaged: {what}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What gave it away.
        what: String,
    },
    /// Another version of the program wrote it.
    #[error(
        "{} has format version {found}, this program reads version {supported}; use the program that wrote it, or \
         start anew with --fresh",
        path.display()
    )]
    WrongVersion {
        /// The manifest.
        path: PathBuf,
        /// Version it names.
        found: u32,
        /// Version this program reads and writes.
        supported: u32,
    },
    /// The replay in it is not that of this configuration, or does not decode.
    #[error("the replay of {}: {source}", path.display())]
    Replay {
        /// The manifest.
        path: PathBuf,
        /// What the replay said.
        source: ReplayError,
    },
    /// There are checkpoints, and all are damaged.
    #[error("no checkpoint in {} can be used: {}; start anew with --fresh", folder.display(), reasons.join("; "))]
    NoneUsable {
        /// The folder of checkpoints.
        folder: PathBuf,
        /// What is wrong with each.
        reasons: Vec<String>,
    },
    /// A checkpoint was asked for by number and is not there.
    #[error("{} has no checkpoint at interaction {wanted}, only at {}", folder.display(), listed(there))]
    NotThere {
        /// The folder of checkpoints.
        folder: PathBuf,
        /// Asked for.
        wanted: u64,
        /// There.
        there: Vec<AgentSteps>,
    },
}

impl CheckpointError {
    /// Whether an older checkpoint may stand in: this one is torn, altered or incomplete. A wrong configuration, a
    /// newer format or a folder without permission would only be covered up by going back.
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

fn listed(there: &[AgentSteps]) -> String {
    match there {
        [] => "none at all".into(),
        there => there.iter().map(|steps| steps.0.to_string()).collect::<Vec<_>>().join(" and "),
    }
}
