//! Errors of reading and writing records.

use std::io;
use std::path::PathBuf;

/// A record that could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The operating system reported an error.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// What was attempted: `open`, `write`, …
        doing: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    /// The file ends before the byte at which a resumed run continues it.
    #[error(
        "{} has {found_bytes} bytes, but the checkpoint continues it at byte {expected_bytes}: the file was shortened \
         or replaced; restore it, or start over with --fresh",
        path.display()
    )]
    Shortened { path: PathBuf, found_bytes: u64, expected_bytes: u64 },
    /// The bytes that a checkpoint covers are not those that were written.
    #[error(
        "{} was altered: its first {bytes} bytes are not those that the checkpoint was made with; restore the file, or \
         start over with --fresh, which keeps the old run",
        path.display()
    )]
    Altered { path: PathBuf, bytes: u64 },
    /// The settings of a run cannot be read.
    #[error("{}: {reason}", path.display())]
    Settings { path: PathBuf, reason: String },
    /// The record of where a run comes from cannot be read.
    #[error("{}: {reason}; nothing but the origin of the run's settings is lost with it", path.display())]
    Origin { path: PathBuf, reason: String },
    /// A line that is too long to be a record.
    #[error("{}: line {line} is longer than {longest_bytes} bytes, which no record is", path.display())]
    LongLine {
        path: PathBuf,
        /// From 1.
        line: usize,
        longest_bytes: u64,
    },
    /// A line in the middle of the file is not a record.
    #[error("{}, line {line}: {}; expected one JSON record per line", path.display(), without_line(source))]
    Line {
        path: PathBuf,
        /// From 1.
        line: usize,
        source: serde_json::Error,
    },
}

/// The parser's message without its line number, which counts within the one line that it was given.
fn without_line(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split_once(" at line ").map_or(text.clone(), |(message, _)| message.to_owned())
}

impl RecordError {
    /// For `map_err`: adds what was attempted and the file.
    pub(crate) fn io(doing: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { doing, path, source }
    }
}
