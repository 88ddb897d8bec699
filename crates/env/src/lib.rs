//! The contract between worlds and agents. There is no world in it and no agent.
//!
//! A world emits one [frame](FrameSpace) per decision and takes an [`Action`]; the last few frames, kept by a
//! [`FrameStack`], are the state an agent sees. Every random draw comes from an owned, named [`Stream`].
#![forbid(unsafe_code)]

mod environment;
mod frame;
mod ground_truth;
mod mt19937;
mod names;
mod stack;
mod step;
mod stream;
mod units;

pub use environment::{EnvSpec, Environment, Picture, SnapshotError, WorldFault};
pub use frame::{Element, FrameSpace};
pub use ground_truth::GroundTruth;
pub use mt19937::Mt19937;
pub use names::closest_name;
pub use stack::FrameStack;
pub use step::{Action, Ending, Reward, Step};
pub use stream::Stream;
pub use units::{AgentSteps, EnvFrames, FrameSkip};
