//! The contract between worlds and agents. It contains no world and no agent, and does no I/O.
//!
//! An [`Environment`] writes one [frame](FrameSpace) per decision and takes an [`Action`]; the last few frames, kept by
//! a [`FrameStack`], are the state an agent sees. Every random draw comes from an owned, named [`Stream`]. Worlds that
//! know more about themselves than they show hand that out as [`GroundTruth`].
//!
//! Reading order: `step` (action, reward, ending, units of time), `frame` (frames and states), `environment` (the trait),
//! `stream` (randomness).
//!
//! ```
//! use sane_env::*;
//!
//! /// Five cells in a row; the last one pays and ends the episode.
//! #[derive(Clone)]
//! struct Corridor {
//!     spec: EnvSpec,
//!     cell: u8,
//! }
//!
//! impl Environment for Corridor {
//!     fn spec(&self) -> &EnvSpec {
//!         &self.spec
//!     }
//!     fn reset(&mut self, starts: &mut Stream, frame: &mut [u8]) -> Result<(), WorldFault> {
//!         self.cell = starts.below(2) as u8;
//!         frame[0] = self.cell;
//!         Ok(())
//!     }
//!     fn step(&mut self, action: Action, frame: &mut [u8]) -> Result<Step, WorldFault> {
//!         self.cell = if action == Action(1) { self.cell + 1 } else { self.cell.saturating_sub(1) };
//!         frame[0] = self.cell;
//!         let (reward, ending) = if self.cell == 4 { (1.0, Ending::GameOver) } else { (0.0, Ending::Continues) };
//!         Ok(Step { reward: Reward(reward), ending, frames: EnvFrames(1) })
//!     }
//!     fn snapshot(&self) -> Vec<u8> {
//!         vec![self.cell]
//!     }
//!     fn restore(&mut self, snapshot: &[u8]) -> Result<(), SnapshotError> {
//!         self.cell = snapshot[0];
//!         Ok(())
//!     }
//!     fn fork(&self) -> Box<dyn Environment> {
//!         Box::new(self.clone())
//!     }
//!     fn picture(&self) -> Picture {
//!         Picture { width: 1, height: 1, rgb: vec![self.cell; 3] }
//!     }
//! }
//!
//! let spec = EnvSpec {
//!     name: "corridor".into(),
//!     frame: FrameSpace { channels: 1, height: 1, width: 1, element: Element::U8 { full_scale: 4 } },
//!     history: 2,
//!     actions: vec!["left".into(), "right".into()],
//!     frame_skip: FrameSkip(1),
//! };
//! let mut world = Corridor { spec, cell: 0 };
//! let mut frame = vec![0; world.spec().frame.bytes()];
//! let mut state = FrameStack::new(world.spec());
//! world.reset(&mut Stream::named(1, "starts"), &mut frame)?;
//! state.restart(&frame);
//! let mut total = 0.0;
//! loop {
//!     let step = world.step(Action(1), &mut frame)?;
//!     state.push(&frame);
//!     total += step.reward.raw();
//!     if step.ending.ends_episode() {
//!         break;
//!     }
//! }
//! assert_eq!((total, state.state()), (1.0, &[3, 4][..]));
//! # Ok::<(), WorldFault>(())
//! ```
#![forbid(unsafe_code)]

mod environment;
mod frame;
mod ground_truth;
mod mt19937;
mod names;
mod step;
mod stream;

pub use environment::{EnvSpec, Environment, LegendEntry, Picture, SnapshotError, WorldFault};
pub use frame::{Element, FrameSpace, FrameStack};
pub use ground_truth::GroundTruth;
pub use mt19937::Mt19937;
pub use names::closest_name;
pub use step::{Action, AgentSteps, Ending, EnvFrames, FrameSkip, Reward, Step};
pub use stream::Stream;
