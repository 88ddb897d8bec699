//! Atari games as environments: knows score and lives, not networks.
//!
//! ```text
//! Roms ──bytes──▶ Ale::load ──▶ Ale::act(Joystick) ──▶ reward, lives, end, RAM, screen          (equals ale-py 0.12.1)
//!                  Game: cartridge, modes, actions, Rules                  │
//!                                                                          ▼
//!                 AtariEnv: no-op start, frame skip, 84×84 luma by Profile, life signal ──▶ sane_env::Environment
//! Trace ──▶ replay ──▶ Comparison: every recorded frame against ours
//! ```
#![forbid(unsafe_code)]

mod action;
mod ale;
mod atari_env;
mod game;
mod games;
mod memory;
mod mode_select;
mod preprocess;
mod profile;
mod replay;
mod rom;
mod rules;
mod trace;

pub use action::Joystick;
pub use ale::{Ale, AleError, AleSnapshot, LifeLoss, Settings};
pub use atari_env::{AtariEnv, AtariOptions, Observation};
pub use game::{Game, Port, UnknownGame};
pub use memory::Memory;
pub use preprocess::{Area, Nearest, SIDE, area_of_max, crop_nearest};
pub use profile::{ActionSet, LifeSignal, Picturing, Profile, Recipe};
pub use replay::{Comparison, Difference, replay};
pub use rom::{News, Place, PlaceKind, RomError, Roms, fetch_into, md5_hex};
pub use rules::{LivesAtEnd, Opening, Prelude, Rules, Select, Tally};
pub use trace::{Cause, Header, Record, Trace, TraceError};

pub use sane_vcs::{PictureMode, TvFormat};

/// CRC-32 (IEEE) of some bytes, the checksum of traces.
pub fn crc32(bytes: &[u8]) -> u32 {
    crc32fast::hash(bytes)
}
