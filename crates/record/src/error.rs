//! What can go wrong with a record on disk.

use std::io;
use std::path::PathBuf;

/// A record that could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The operating system refused.
    #[error("cannot {doing} {}: {source}", path.display())]
    Io {
        /// What was attempted: `open`, `write`, …
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file ends before the place where a resumed run has to go on.
    #[error(
        "{} has {found_bytes} bytes, but the checkpoint continues it at byte {expected_bytes}: the file was shortened \
         or replaced; put it back, or start anew with --fresh",
        path.display()
    )]
    Shortened {
        /// The file.
        path: PathBuf,
        /// Its length.
        found_bytes: u64,
        /// Where writing was to go on.
        expected_bytes: u64,
    },
    /// A line in the middle of the file is not a record.
    #[error("{}, line {line}: {}; expected one JSON record per line", path.display(), said(source))]
    Line {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// What the parser said.
        source: serde_json::Error,
    },
}

/// The parser counts lines from the beginning of what it was given, which is one line of the file: that is left out.
fn said(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.split_once(" at line ").map_or(text.clone(), |(said, _)| said.to_owned())
}

impl RecordError {
    /// For `map_err`: names the deed and the file.
    pub(crate) fn io(doing: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self::Io { doing, path, source }
    }
}
