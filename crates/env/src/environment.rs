//! The trait every world implements, and what it says about itself.

use crate::{Action, FrameSkip, FrameSpace, GroundTruth, Step, Stream};
use serde::{Deserialize, Serialize};

/// What a world says about itself before anything is run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EnvSpec {
    /// Name as typed on the command line: `boxing`, `minatar/asterix`, `deep-sea/20`.
    pub name: String,
    /// Shape of one frame.
    pub frame: FrameSpace,
    /// How many frames make a state (4 on Atari, 1 where one frame says everything).
    pub history: usize,
    /// Names of the actions, in order; their number is the width of the network's output.
    pub actions: Vec<String>,
    /// Frames per decision.
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

/// A picture for people: `rgb` holds 3 bytes per pixel, row by row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// Pixels per row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Red, green, blue of each pixel.
    pub rgb: Vec<u8>,
}

/// Why a snapshot could not be taken back.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SnapshotError {
    /// The bytes are of another world.
    #[error("the snapshot is of {found}, this world is {expected}")]
    OtherWorld {
        /// World named in the snapshot.
        found: String,
        /// World it was to be restored into.
        expected: String,
    },
    /// The bytes do not decode.
    #[error("the snapshot of {world} cannot be read: {reason}")]
    Unreadable {
        /// World it was to be restored into.
        world: String,
        /// What the decoder said.
        reason: String,
    },
}

/// A failure outside of this program (a worker process died, did not answer or sent invalid numbers). The world cannot
/// be stepped any more; the run it belongs to can be resumed from its last checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct WorldFault {
    /// Name of the world.
    pub world: String,
    /// What happened, and the way out.
    pub reason: String,
}

/// A world an agent can act in. Same seed, same actions: same bytes.
///
/// `frame` is always `spec().frame.bytes()` long; a world writes its newest frame there.
pub trait Environment: Send {
    /// What the world says about itself.
    fn spec(&self) -> &EnvSpec;

    /// Starts an episode and writes its first frame; whatever the start leaves to chance is drawn from `starts`.
    fn reset(&mut self, starts: &mut Stream, frame: &mut [u8]) -> Result<(), WorldFault>;

    /// Carries out one decision and writes the frame that follows. Not to be called after an episode's end.
    fn step(&mut self, action: Action, frame: &mut [u8]) -> Result<Step, WorldFault>;

    /// Everything that decides the future, as bytes.
    fn snapshot(&self) -> Vec<u8>;

    /// Takes a snapshot back; on error the world is unchanged.
    fn restore(&mut self, snapshot: &[u8]) -> Result<(), SnapshotError>;

    /// Whether a restored snapshot goes on bit for bit. A world whose inner state cannot be saved (a Python
    /// environment) begins a new episode instead.
    fn exact_snapshots(&self) -> bool {
        true
    }

    /// A copy that continues independently, bit for bit.
    fn fork(&self) -> Box<dyn Environment>;

    /// Draws afresh, from `chance`, all that the world leaves to chance from here on; what is seen stays. Says whether
    /// there is any chance: a world without it is unchanged, and all its futures after the same actions are the same.
    fn redraw_chance(&mut self, _chance: &mut Stream) -> bool {
        false
    }

    /// The world as a person would see it now.
    fn picture(&self) -> Picture;

    /// What the world knows about itself beyond its observations; `None` for worlds without such knowledge.
    fn ground_truth(&self) -> Option<&dyn GroundTruth> {
        None
    }
}
