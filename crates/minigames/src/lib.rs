//! Worlds that need no ROM: the five MinAtar games, deep sea and the risky road. They know no agent and no run.
//!
//! [`make`] turns a name into a world; [`known_worlds`] lists them; [`Family`] is what a world registers about itself, so
//! that command line, presets and reports need no code per world. A new world is a file with a `Family` and one line in
//! `registry.rs`. The worlds are small enough that many seeds of many agents finish in an hour, and two of them hand out
//! [ground truth](sane_env::GroundTruth): deep sea marks failed episodes ([`SolvedRule`] says when a run counts as
//! solved), the risky road and its variants compute the true risk of every state ([`risky_road::Lookahead`]).
//!
//! Reading order: `registry`, then one world: `deep_sea` is the shortest. Sources and checks: `docs/small-worlds.md`.
//!
//! ```
//! use sane_env::{Action, Environment, Stream};
//!
//! let mut road = sane_minigames::make("risky-road/hard", 1)?;
//! let mut frame = vec![0; road.spec().frame.bytes()];
//! road.reset(&mut Stream::named(1, "starts"), &mut frame)?;
//! let mut rows = 1;
//! while !road.step(Action(1), &mut frame)?.ending.ends_episode() {
//!     let risk = road.ground_truth().and_then(|truth| truth.true_risk());
//!     assert!((0.0..=1.0).contains(&risk.expect("every state but a crash has a risk")));
//!     rows += 1;
//! }
//! println!("a car that never steers crashed after {rows} rows");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
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
