//! Atari games as environments: score, lives, actions and preprocessing on top of the console of `sane-vcs`. The crate
//! knows no network and no training.
//!
//! ```text
//! Roms ──bytes──▶ Ale::load ──▶ Ale::act(Joystick) ──▶ reward, lives, game over, RAM, screen    (equals ale-py 0.12.1)
//!                  Game: cartridge, modes, actions, rules                  │
//!                                                                          ▼
//!                 AtariEnv: no-op start, frame skip, 84×84 luma by Profile, life signal ──▶ sane_env::Environment
//!                 VectorEnv: many games at once, as ale-py's vector environment presents them
//! Trace ──▶ Trace::compare ──▶ TraceComparison: every recorded frame of ale-py against this emulator
//! ```
//!
//! Read `game.rs` (the table), `rules.rs` (RAM → score, lives, game over), `ale.rs` (loading, reset, frames), then
//! `profile.rs`, `preprocess.rs`, `area.rs` and `atari_env.rs` (what an agent is given), `vector/lane.rs` and `vector.rs`
//! (many at once). `rom.rs` finds ROMs; `trace.rs` proves exactness.
//!
//! ```
//! use sane_arcade::{AtariEnv, AtariOptions, Game, Profile, Roms};
//! use sane_env::{Action, Environment, Stream};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let game = Game::named("boxing")?;
//! // `Roms::load` would also fetch a missing ROM.
//! if let Some(path) = Roms::new(None).find(game, &mut |event| println!("{event}"))? {
//!     let options = AtariOptions { profile: Profile::Paper, ..AtariOptions::default() };
//!     let mut env = AtariEnv::new(game, &std::fs::read(path)?, options)?;
//!     let mut frame = vec![0; env.spec().frame.bytes()];
//!     env.reset(&mut Stream::named(1, "starts"), &mut frame)?;
//!     let step = env.step(Action(0), &mut frame)?;
//!     assert_eq!((frame.len(), step.frames.0), (84 * 84, 4));
//! }
//! # Ok(())
//! # }
//! ```
#![forbid(unsafe_code)]

mod ale;
mod area;
mod atari_env;
mod game;
mod joystick;
mod mode_select;
mod preprocess;
mod profile;
mod ram_view;
mod rom;
mod rules;
mod trace;
mod vector;

pub use ale::{Ale, AleError, AleSettings, AleSnapshot, LifeLoss};
pub use atari_env::{AtariEnv, AtariOptions, Observation};
pub use game::{Game, Port, UnknownGame};
pub use joystick::Joystick;
pub use preprocess::{Preprocessor, SIDE};
pub use profile::{ActionSet, LifeSignal, Profile, ProfileSpec, Resize};
pub use rom::{LocationKind, RomError, RomEvent, RomLocation, Roms, fetch_into, md5_hex, roms_in_wheel};
pub use trace::{RecordKind, Trace, TraceComparison, TraceDifference, TraceError, TraceHeader, TraceRecord};
pub use vector::{
    Autoreset, Colour, LaneGame, LaneInfo, LaneSnapshot, LaneStep, LifeRule, VectorEnv, VectorError, VectorSettings,
};

pub use sane_vcs::RenderMode;

/// CRC-32 (IEEE), the checksum of traces.
pub fn crc32(bytes: &[u8]) -> u32 {
    crc32fast::hash(bytes)
}
