//! How much memory a replay will take, said before a run starts.

use crate::replay::segment_len;
use sane_env::{Element, EnvSpec};

/// Bytes of a full replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryEstimate {
    /// What to expect of a world whose frames resemble each other.
    pub likely_bytes: u64,
    /// What it takes if no frame compresses at all (episodes of a hundred steps and more).
    pub incompressible_bytes: u64,
}

/// Bytes per transition beside its frame, and its share of a group's entry.
const ROW_BYTES: u64 = 4 + 1 + 2 + 4 + 1 + 1;

/// The lengths in a patch that replaces everything.
const LENGTH_BYTES: u64 = 6;

/// Of a screen's bytes, how many remain: between 0.3 % and 5 % were measured on the 11 games (docs/performance.md), the
/// worst of them counts here.
const LIKELY_SHARE_OF_SCREEN: f64 = 0.05;

/// The same for planes of zeros and ones, and for plain vectors, which hardly compress.
const LIKELY_SHARE_OF_PLANES: f64 = 0.1;

impl MemoryEstimate {
    /// The estimate for a replay of this capacity in this world.
    pub fn new(capacity: usize, spec: &EnvSpec) -> Self {
        // One segment more than needed is held at the old end, and the open one may have as much room again in reserve.
        let transitions = (capacity + 2 * segment_len(capacity)) as u64;
        let repeated = (capacity / segment_len(capacity) + 2) as u64 * spec.history as u64;
        let frames = transitions + transitions / 100 + repeated;
        let frame_bytes = spec.frame.bytes() as u64;
        let share = match spec.frame.element {
            Element::U8 { full_scale: 255 } => LIKELY_SHARE_OF_SCREEN,
            Element::U8 { .. } => LIKELY_SHARE_OF_PLANES,
            Element::F32 => 1.0,
        };
        let likely_frame = (share * frame_bytes as f64).ceil() as u64;
        Self {
            likely_bytes: frames * likely_frame + transitions * ROW_BYTES,
            incompressible_bytes: frames * (frame_bytes + LENGTH_BYTES) + transitions * ROW_BYTES,
        }
    }
}
