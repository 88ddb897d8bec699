//! Units of time. Frames and decisions differ by a factor of four; mixing them up trains, and trains wrongly.

use serde::{Deserialize, Serialize};

/// Frames emitted by a world: 60 per second on the console.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EnvFrames(pub u64);

/// Decisions of an agent ("interactions" in the paper); each lasts [`FrameSkip`] frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AgentSteps(pub u64);

/// How many frames one decision is held for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FrameSkip(pub u32);
