//! Any Gymnasium environment as a world. The environment runs in a Python worker process, whose script is part of this
//! crate; messages go through pipes, one write and one read per step. The crate knows Python, processes and observation
//! spaces, but no network and no run.
//!
//! ```text
//! GymSource ──starts, reuses──▶ Worker ══pipes══▶ worker.py ──▶ gymnasium.make(id, **kwargs)
//!     │ make(seed)                │ Request, ReplyHeader
//!     ▼                           ▼
//! GymEnv: Environment      View: observation → frame, unchanged or by one of the arcade's profiles (gym:ALE/…)
//! ```
//!
//! Reading order: `options` (names and settings), `source`, `gym_env` (the environment), `space` (observations to
//! frames), `worker` (the process) with `protocol`, `replies`, `watchdog` and `stderr`; `ale` is the Atari case, `recorded` a
//! session without a process.
//!
//! Stepping an environment needs Python with Gymnasium, hence this example is compiled but not run:
//!
//! ```no_run
//! use sane_env::{Action, Environment, Stream};
//! use sane_gym::{GymOptions, GymSource};
//!
//! let source = GymSource::open(&GymOptions::new("gym:CartPole-v1"))?;
//! let mut world = source.make(1)?;
//! let mut frame = vec![0; world.spec().frame.bytes()];
//! world.reset(&mut Stream::named(1, "starts"), &mut frame)?;
//! let step = world.step(Action(1), &mut frame)?;
//! assert_eq!(step.reward.raw(), 1.0);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Names are checked without Python:
//!
//! ```
//! let options = sane_gym::GymOptions::new("gym:ALE/Pong-v5");
//! assert_eq!(options.id()?, "ALE/Pong-v5");
//! assert!(options.is_presented_by_profile() && sane_gym::is_ale_game("gym:ALE/Pong-v5"));
//! assert!(sane_gym::GymOptions::new("CartPole-v1").id().is_err());
//! # Ok::<(), sane_gym::GymError>(())
//! ```
#![forbid(unsafe_code)]

mod ale;
mod error;
mod gym_env;
mod options;
mod picture;
mod protocol;
mod recorded;
mod replies;
mod source;
mod space;
mod stderr;
mod watchdog;
mod worker;

pub use error::GymError;
pub use gym_env::GymEnv;
pub use options::{GymOptions, is_ale_game, is_gym_world};
pub use recorded::play_replies;
pub use source::GymSource;
