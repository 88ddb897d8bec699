//! Replay memory: stores transitions, each frame once and compressed, and returns batches. It does not read clocks, files
//! or random numbers other than those of the stream it is given.
//!
//! ```text
//! begin_episode(first frame) ─┐                        ┌─▶ warmed_up ─▶ sample ─▶ Batch
//! push(a, r, ending, frame) ──┴─▶ open segment ─▶ ring ┤
//!                                                      └─▶ sealed segments + tail, as bytes (checkpoints)
//! ```
//!
//! Reading order, from large to small: `replay` is a ring of segments; a `segment` is a fixed number of transitions with
//! every frame they need, so that it can be dropped, saved and sampled alone; `compression` turns frames into key frames
//! and deltas, compressed in groups; `batch` draws and decodes transitions; `encoding` is the byte format.
//!
//! ```
//! use sane_env::{Action, AgentSteps, Ending, EnvSpec, FrameSkip, FrameSpace, Stream};
//! use sane_replay::{Batch, Replay};
//!
//! let spec = EnvSpec {
//!     name: "example".into(),
//!     frame: FrameSpace::gray(2, 2),
//!     history: 4,
//!     actions: vec!["noop".into()],
//!     frame_skip: FrameSkip(4),
//! };
//! let mut replay = Replay::new(1000, &spec);
//! let mut batch = Batch::new(1, spec.state_bytes());
//! let mut stream = Stream::named(1, "replay");
//! replay.begin_episode(&[0; 4]);
//! replay.push(Action(0), 1.0, Ending::Continues, &[1; 4]);
//! if let Some(mut warm) = replay.warmed_up(AgentSteps(1)) {
//!     warm.sample(&mut stream, &mut batch);
//! }
//! assert_eq!(batch.states, [0; 16]);
//! assert_eq!(batch.next_states[12..], [1; 4]);
//! ```
#![forbid(unsafe_code)]

mod batch;
mod compression;
mod encoding;
mod replay;
mod segment;

pub use batch::{Batch, WarmReplay};
pub use encoding::ReplayError;
pub use replay::Replay;
pub use segment::Segment;
