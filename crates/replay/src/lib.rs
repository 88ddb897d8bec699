//! Transitions remembered: frames are stored once and compressed; batches come out.
//!
//! ```text
//! begin_episode(first frame) ─┐                        ┌─▶ warmed_up ─▶ sample ─▶ Batch
//! push(a, r, ending, frame) ──┴─▶ open segment ─▶ ring ┤
//!                                                      └─▶ sealed segments + tail, as bytes (checkpoints)
//! ```
//!
//! From small to large: a `patch` says what changed between two frames; a `group` is a key frame and the
//! patches that follow it, compressed together; a [`Segment`] is a fixed number of transitions with every frame they
//! need, so that it can be dropped, saved and sampled alone; a [`Replay`] is a ring of segments. Nothing here reads a
//! clock, a file or a random number that was not handed in.
#![forbid(unsafe_code)]

mod batch;
mod error;
mod group;
mod memory;
mod patch;
mod replay;
mod sampler;
mod saved;
mod segment;

pub use batch::Batch;
pub use error::ReplayError;
pub use memory::MemoryEstimate;
pub use replay::Replay;
pub use sampler::Warm;
pub use segment::Segment;
