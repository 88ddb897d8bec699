//! The checkpoints of a run: named sections and the replay, written so that a crash at any moment leaves one intact.
//!
//! ```text
//! checkpoints/checkpoint-000000100000.toml        manifest: format, interactions, the run's identity, digests of all below,
//!                                                 of the records so far, and of itself
//!             body-000000100000-5f3a….bin         the sections, end to end, and the replay's open segment
//!             best-000000090000.toml              manifest of the best policy: names a body as above, no replay
//!             replay-000000000007-9be1….bin       a full segment of the replay: written once, shared by checkpoints
//! ```
//!
//! At any moment of a crash, the newest complete manifest names complete files: each file is written under a temporary
//! name, synced, renamed, and only when all of them are durable is the manifest written the same way. Files that are
//! removed are named by no kept manifest. docs/checkpoints.md has the whole argument.

#[cfg(test)]
mod crash_tests;
mod error;
mod manifest;
mod store;
#[cfg(test)]
mod tests;

pub use error::CheckpointError;
pub use manifest::Entry;
pub use store::{CheckpointStore, Keep, Loaded, LoadedSections};
