//! The trait every world implements, its description of itself, and its errors.

use crate::{Action, FrameSkip, FrameSpace, GroundTruth, Step, Stream};
use serde::{Deserialize, Serialize};

/// A world an agent can act in. The same seed and the same actions give the same bytes.
///
/// `frame` is always `spec().frame.bytes()` long; the world writes its newest frame there. After an error of `reset` or
/// `step` the frame is undefined and the world cannot be used any more.
pub trait Environment: Send {
    fn spec(&self) -> &EnvSpec;

    /// Starts an episode and writes its first frame. The randomness of the start is drawn from `starts`.
    fn reset(&mut self, starts: &mut Stream, frame: &mut [u8]) -> Result<(), WorldFault>;

    /// Carries out one decision and writes the frame that follows. Must not be called after the end of an episode.
    fn step(&mut self, action: Action, frame: &mut [u8]) -> Result<Step, WorldFault>;

    /// The complete state as bytes: a world restored from them continues bit for bit.
    fn snapshot(&self) -> Vec<u8>;

    /// Restores a snapshot; on error the world is unchanged.
    fn restore(&mut self, snapshot: &[u8]) -> Result<(), SnapshotError>;

    /// Whether a restored snapshot continues bit for bit. A world whose state cannot be saved (a Python environment)
    /// starts a new episode instead.
    fn exact_snapshots(&self) -> bool {
        true
    }

    /// Whether an episode never ends: a continuing task. Exploration that lasts until the end of an episode is refused there.
    fn never_ends(&self) -> bool {
        false
    }

    /// Whether it is unknown if its episodes end: their length has no limit, and the rules are not known here. Exploration that
    /// lasts until the end of an episode is taken there, with a note.
    fn may_never_end(&self) -> bool {
        false
    }

    /// A copy that continues independently, bit for bit.
    fn fork(&self) -> Box<dyn Environment>;

    /// Replaces the world's own source of randomness by one drawn from `seeds`; the current state stays. Returns whether
    /// the world is stochastic: a deterministic one is unchanged, and the same actions always give the same future.
    fn reseed(&mut self, _seeds: &mut Stream) -> bool {
        false
    }

    /// Brings a new world into the condition in which a long run leaves it, so that an evaluation meets what the agent has
    /// come to know: a world whose rules change after some interactions has changed them. Most worlds never change.
    fn settle(&mut self) {}

    /// The current state as a person would see it.
    fn picture(&self) -> Picture;

    /// What the colours of its picture stand for; empty where a person sees that without being told.
    fn legend(&self) -> Vec<LegendEntry> {
        Vec::new()
    }

    /// What the world knows about itself beyond its observations; `None` for worlds without such knowledge.
    fn ground_truth(&self) -> Option<&dyn GroundTruth> {
        None
    }
}

/// What a world is, known before it is run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EnvSpec {
    /// Name as typed on the command line: `boxing`, `minatar/asterix`, `deep-sea/20`.
    pub name: String,
    pub frame: FrameSpace,
    /// Frames per state: 4 on Atari, 1 where one frame shows everything.
    pub history: usize,
    /// Names of the actions, in order; their number is the width of the network's output.
    pub actions: Vec<String>,
    pub frame_skip: FrameSkip,
}

impl EnvSpec {
    /// Bytes of a state: `history` frames.
    pub fn state_bytes(&self) -> usize {
        self.history * self.frame.bytes()
    }

    /// Channels of a state: those of all its frames.
    pub fn state_channels(&self) -> usize {
        self.history * self.frame.channels
    }
}

/// A picture for people: `rgb` holds red, green and blue of each pixel, row by row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    pub width: usize,
    pub height: usize,
    pub rgb: Vec<u8>,
}

/// What a colour of a picture stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LegendEntry {
    pub meaning: &'static str,
    /// Red, green, blue.
    pub rgb: [u8; 3],
}

/// A snapshot that cannot be restored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SnapshotError {
    #[error("the snapshot is of {found}, this world is {expected}")]
    OtherWorld { found: String, expected: String },
    /// The bytes do not decode.
    #[error("the snapshot of {world} cannot be read: {reason}")]
    Unreadable { world: String, reason: String },
}

/// A failure outside of this program (a worker process died, did not answer or sent invalid numbers). The world cannot
/// be stepped any more; the run it belongs to can be resumed from its last checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct WorldFault {
    pub world: String,
    /// What happened, and what to do about it.
    pub reason: String,
}
