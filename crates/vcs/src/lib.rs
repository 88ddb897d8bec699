//! An Atari 2600: knows chips, not games.
//!
//! ```text
//! Input ──▶ Console::run_frame ──▶ 128 bytes of RAM, a picture of colour indices, how many lines it took
//!             │ cpu      6507, one instruction at a time, all its cycles counted before its memory is touched
//!             │ board    which chip answers an address: cartridge, TIA, RIOT or RAM
//!             │ tia      the picture: drawn late, in spans, only as far as somebody could notice
//!             │ riot     timer, joysticks and switches
//!             └ film     how a picture that nobody looked at can still be coloured later, exactly
//! ```
//!
//! The console equals the one inside the Arcade Learning Environment (ale-py 0.12.1), not the hardware: that one counts
//! a whole instruction before its accesses, delays register writes by a fixed table and moves objects at once on HMOVE.
//! "More exact" would be wrong here. The facts were measured with ale-py as a black box.
#![forbid(unsafe_code)]

mod board;
mod cartridge;
mod config;
mod console;
mod cpu;
mod film;
mod memory;
pub mod palette;
mod riot;
mod tia;

pub use cartridge::{Cartridge, CartridgeError, CartridgeKind};
pub use config::{ConsoleConfig, Controller, Input, PictureMode, TvFormat};
pub use console::{Console, FrameReport, Snapshot, SnapshotMismatch};
pub use tia::WIDTH;
