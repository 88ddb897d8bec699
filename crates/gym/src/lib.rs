//! Any Gymnasium environment as a world. The environment lives in a Python worker process, whose script is part of this
//! crate; orders and frames go through pipes, one write and one read per step.
//!
//! ```text
//! GymSource ──starts, keeps──▶ Worker ══pipes═══▶ worker.py ──▶ gymnasium.make(id, **kwargs)
//!     │ make(seed)               │ Order, Reply
//!     ▼                          ▼
//! GymEnv: Environment     View: Box → frame, plain or by one of the arcade's profiles (gym:ALE/…)
//! ```
//!
//! It knows Python, processes and observation spaces, but no network and no run.
#![forbid(unsafe_code)]

mod ale;
mod error;
mod gym_env;
mod options;
mod picture;
mod protocol;
mod source;
mod space;
mod tail;
mod watch;
mod worker;

pub use error::GymError;
pub use gym_env::GymEnv;
pub use options::{GymOptions, is_ale_game, is_gym_world};
pub use source::GymSource;
