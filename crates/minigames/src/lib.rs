//! Worlds that need no ROM: the five MinAtar games, deep sea, the risky road.
//!
//! [`make`] turns a name into a world, [`known_worlds`] lists them. They are small enough that many seeds of many
//! agents finish in an hour, and two of them know something no agent is told: deep sea, when it counts as solved
//! ([`SolvedRule`]); the risky road, how dangerous a random action is in every state
//! ([`risky_road::Outlook`]). What each world is and how it was checked: `docs/small-worlds.md`.
#![forbid(unsafe_code)]

pub mod deep_sea;
mod error;
pub mod minatar;
mod numpy_stream;
mod picture;
mod registry;
pub mod risky_road;
mod snapshot;
mod solved;

pub use error::MinigameError;
pub use registry::{Family, KnownWorld, SuitableNetwork, families, family_of, known_worlds, make};
pub use solved::SolvedRule;
