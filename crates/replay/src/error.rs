//! Why saved bytes do not make a replay.

/// A replay could not be restored; nothing of it is used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// The bytes are not what [`Replay`](crate::Replay) writes.
    #[error("these bytes are not a saved {expected}: they begin with {found:?}")]
    NotAReplay {
        /// `replay tail` or `replay segment`.
        expected: &'static str,
        /// The first bytes found.
        found: Vec<u8>,
    },
    /// Another version wrote them.
    #[error("the saved {part} has format version {found}, this program reads version {supported}")]
    WrongVersion {
        /// `replay tail` or `replay segment`.
        part: &'static str,
        /// Version in the bytes.
        found: u32,
        /// Version this program reads and writes.
        supported: u32,
    },
    /// It ends too early or contradicts itself.
    #[error("the saved replay is damaged: {what}")]
    Damaged {
        /// What is wrong.
        what: String,
    },
    /// It is a replay of something else.
    #[error("the saved replay has {what} {found}, this run has {expected}; use the configuration it was saved with")]
    OtherShape {
        /// `capacity`, `frame bytes`, …
        what: &'static str,
        /// In the bytes.
        found: u64,
        /// In the world and configuration it was to be restored into.
        expected: u64,
    },
    /// A segment is missing or in the wrong place.
    #[error("segment {expected} of the saved replay was expected, {} was handed in", found_name(*found))]
    WrongSegment {
        /// Number of the segment that belongs here.
        expected: u64,
        /// Number of the one handed in, if any.
        found: Option<u64>,
    },
}

fn found_name(found: Option<u64>) -> String {
    found.map_or_else(|| "none".into(), |number| format!("segment {number}"))
}
