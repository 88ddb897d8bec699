//! How much memory a replay can take at most, said before a run starts.

use crate::replay::segment_len;
use sane_env::EnvSpec;

/// Bytes of a full replay. What real frames take depends on the game and is measured, not guessed: fill a small replay
/// and ask [`Replay::memory_bytes`](crate::Replay::memory_bytes).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryEstimate {
    /// What it takes if no frame compresses at all (episodes of a hundred steps and more).
    pub incompressible_bytes: u64,
}

/// Bytes per transition beside its frame: its row, and a group's entry, which a frame of noise has to itself.
const ROW_BYTES: u64 = (4 + 1 + 2 + 4 + 1) + 12;

/// The lengths in a patch that replaces everything.
const LENGTH_BYTES: u64 = 6;

impl MemoryEstimate {
    /// The estimate for a replay of this capacity in this world.
    pub fn new(capacity: usize, spec: &EnvSpec) -> Self {
        // One segment more than needed is held at the old end, and the open one may have as much room again in reserve.
        let transitions = (capacity + 2 * segment_len(capacity)) as u64;
        let repeated = (capacity / segment_len(capacity) + 2) as u64 * spec.history as u64;
        let frames = transitions + transitions / 100 + repeated;
        let frame_bytes = spec.frame.bytes() as u64 + LENGTH_BYTES;
        Self { incompressible_bytes: frames * frame_bytes + transitions * ROW_BYTES }
    }
}
