//! An Atari 2600. The crate knows chips, not games: no score, no life, no action id.
//!
//! ```text
//! Input ──▶ Console::run_frame ──▶ 128 bytes of RAM, a screen of colour indices, the number of lines
//!             │ cpu           the 6507: an instruction counts all its cycles before its memory accesses
//!             │ board         address decoding: cartridge, TIA, RIOT or RAM
//!             │ tia           video: drawn lazily, in spans, only up to the next visible change
//!             │ riot          timer, joysticks and switches
//!             └ frame_buffer  pixels, and rendering afterwards of frames that were run without pixels
//! ```
//!
//! The console equals the one inside the Arcade Learning Environment (ale-py 0.12.1), not the hardware: that one counts a
//! whole instruction before its accesses, delays register writes by a fixed table and moves objects at once on HMOVE.
//! More accuracy would be an error here. Every fact was measured with ale-py as a black box.
//!
//! Read `console.rs` first, then `board.rs`, then the chips: `cpu.rs`, `tia.rs`, `riot.rs`, `cartridge.rs`.
//!
//! ```
//! use sane_vcs::{Cartridge, CartridgeKind, Console, ConsoleConfig, Input, RenderMode, WIDTH};
//!
//! // A white screen, and a counter of frames at address $80.
//! let code = [
//!     0xa9, 0x0e, 0x85, 0x09, // F000  LDA #$0E   STA COLUBK
//!     0xa9, 0x02, 0x85, 0x00, // F004  LDA #2     STA VSYNC
//!     0x85, 0x02, 0x85, 0x02, // F008  STA WSYNC  STA WSYNC
//!     0xa9, 0x00, 0x85, 0x00, // F00C  LDA #0     STA VSYNC     (ends the frame)
//!     0xe6, 0x80, 0xa2, 0xff, // F010  INC $80    LDX #255
//!     0x85, 0x02, 0xca, 0xd0, 0xfb, // F014  STA WSYNC  DEX  BNE $F014
//!     0x4c, 0x04, 0xf0, //       F019  JMP $F004
//! ];
//! let mut program = vec![0; 4096];
//! program[..code.len()].copy_from_slice(&code);
//! program[0xffc..0xffe].copy_from_slice(&[0x00, 0xf0]);
//!
//! let cartridge = Cartridge::new(CartridgeKind::K4, &program)?;
//! let mut console = Console::power_on(cartridge, ConsoleConfig::default());
//! console.reset();
//! console.run_frame(&Input::default(), RenderMode::Full);
//! let frames = console.ram()[0];
//! let report = console.run_frame(&Input::default(), RenderMode::Full);
//! assert_eq!(report.lines, 257);
//! assert_eq!(console.ram()[0], frames.wrapping_add(1));
//! assert_eq!(console.screen(), [0x0e; 210 * WIDTH]);
//! # Ok::<(), sane_vcs::CartridgeError>(())
//! ```
#![forbid(unsafe_code)]

mod board;
mod cartridge;
mod config;
mod console;
mod cpu;
mod frame_buffer;
pub mod palette;
mod ram;
mod riot;
mod tia;

pub use cartridge::{Cartridge, CartridgeError, CartridgeKind};
pub use config::{ConsoleConfig, Controller, Input, RenderMode, TvFormat};
pub use console::{Console, FrameReport, Snapshot, SnapshotMismatch};
pub use tia::WIDTH;
