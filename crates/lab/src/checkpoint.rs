//! The checkpoints of a run: named sections and the replay, written so that they are never lost and never half there.
//!
//! ```text
//! checkpoints/checkpoint-000000100000.toml        manifest: format, interactions, digests of all below and of itself
//!             body-000000100000-5f3a….bin         the sections, end to end, and the replay's open segment
//!             replay-000000000007-9be1….bin       a full segment of the replay: written once, shared by checkpoints
//! ```
//!
//! Whatever the moment of a crash, the newest complete manifest names files that are complete: each file is written
//! beside its place, put on the disk, renamed, and only when all of them are durable is the manifest treated the same
//! way. What is removed is named by no kept manifest. docs/checkpoints.md has the whole argument.

#[cfg(test)]
mod crash_tests;
mod disk;
mod error;
#[cfg(test)]
mod kill_tests;
mod load;
mod manifest;
mod store;
#[cfg(test)]
mod tests;

pub use error::CheckpointError;
pub use load::Loaded;
pub use store::CheckpointStore;
