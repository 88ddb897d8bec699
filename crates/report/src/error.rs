//! Errors of making a report.

use std::io;
use std::path::PathBuf;

/// A report, or a run of it, could not be read or drawn.
#[derive(Debug, thiserror::Error)]
pub enum ReportError {
    /// There is no run in the given folders.
    #[error(
        "no run below {}: expected folders with config.toml and events.jsonl, as `sane train` writes them under runs/",
        listed(folders)
    )]
    NoRuns { folders: Vec<PathBuf> },
    /// There are runs, but none of them can be read.
    #[error("no run that was found can be used ({count} in all); the first: {first}")]
    NoneUsable {
        count: usize,
        /// The error of the first.
        first: String,
    },
    /// The operating system reported an error.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// What was attempted: `open`, `write`, …
        doing: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    /// A record cannot be read.
    #[error(transparent)]
    Record(#[from] sane_record::RecordError),
    /// A run that cannot be used for what was asked.
    #[error("{}: {reason}", path.display())]
    Unusable { path: PathBuf, reason: String },
    /// The resolved configuration cannot be read.
    #[error("{}: {reason}; expected the resolved configuration that `sane train` writes", path.display())]
    Config { path: PathBuf, reason: String },
    /// Written by another version of the program.
    #[error(
        "{} is written in version {found} of the event schema, this program reads version {supported}; \
         report on it with the version that made it",
        path.display()
    )]
    Schema { path: PathBuf, found: u32, supported: u32 },
    /// The events are not those of the configuration beside them.
    #[error("{}: the events are those of {events}, the configuration beside them is of {config}", path.display())]
    Mismatch {
        path: PathBuf,
        /// World, agent and seed in the events.
        events: String,
        /// World, agent and seed in the configuration.
        config: String,
    },
    /// A figure could not be drawn.
    #[error("cannot draw {figure}: {reason}")]
    Figure { figure: String, reason: String },
}

impl ReportError {
    /// For `map_err`: adds what was attempted and where.
    pub(crate) fn io(doing: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { doing, path, source }
    }
}

fn listed(folders: &[PathBuf]) -> String {
    folders.iter().map(|folder| folder.display().to_string()).collect::<Vec<_>>().join(", ")
}
