//! The TIA, the video chip: register writes in, collisions and pixels out.
//!
//! Drawing is lazy. The chip knows how far it has drawn and catches up, with the registers as they were, only before a
//! write that could change what is still to be drawn. Each object is a mask of 160 bits, one per pixel, rebuilt when the
//! object has changed; collisions are ANDs of masks, and pixels are three disjoint masks over a background.
//!
//! ```text
//! write.rs      registers → state, with their delays     beam.rs      frames, lines, catching up
//! hmove.rs      motion by cycle and nibble               objects.rs   state → masks (mask.rs)
//! collision.rs  masks → latches                          paint.rs     masks and colours → pixels
//! read.rs       latches, buttons and paddles             validate.rs  whether a deserialised chip can run
//! ```

mod beam;
mod collision;
mod hmove;
mod mask;
mod objects;
mod paint;
mod read;
mod validate;
mod write;

use serde::{Deserialize, Serialize};

use crate::config::ConsoleConfig;
use mask::PixelMask;
pub(crate) use paint::{BLACK_ROW, PixelRow};
use read::ControllerPins;
pub(crate) use write::NO_REGISTER;

/// Pixels of a line.
pub const WIDTH: usize = 160;
/// Colour clocks of a line, and of its part before the first pixel.
const LINE: u64 = 228;
const BLANK: u64 = 68;

/// Indices of the objects in arrays and in the bits of `stale`.
const P0: usize = 0;
const P1: usize = 1;
const M0: usize = 2;
const M1: usize = 3;
const BALL: usize = 4;
const PLAYFIELD: usize = 5;

/// Receives pixels, or the log of writes from which they can be drawn later.
pub(crate) trait Canvas {
    fn wants_pixels(&self) -> bool;
    /// A row of pixels; none if the canvas takes no pixels or ends above it.
    fn row(&mut self, index: u32) -> Option<&mut PixelRow>;
    /// Copies the row above.
    fn repeat_row(&mut self, index: u32);
    /// Receives a write that changed the chip.
    fn log_write(&mut self, clock: u64, register: u8, value: u8);
}

/// The starfield effect of Cosmic Ark: a write of HMM0 21 cycles after HMOVE makes missile 0 move on every line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum CosmicArk {
    Off,
    /// Lines since its start, modulo four.
    Running(u8),
}

/// The chip's state; small enough to be copied at the start of each frame.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Tia {
    config: ConsoleConfig,

    frame_start: u64,
    /// The cycle at which the last frame started; paddles count from it.
    frame_cycle: u64,
    /// From this clock on every write ends the frame.
    line_cap: u64,
    /// The clock from which a VSYNC write without bit 1 ends the frame.
    vsync_end: Option<u64>,
    lines_of_last_frame: u64,

    /// Start of the line being drawn, its row, and its next pixel.
    line_start: u64,
    row: u32,
    next_x: u8,
    window_end: u64,
    /// The earliest clock to which catching up has an effect.
    next_draw: u64,
    /// The latest clock up to which pixels were requested.
    requested: u64,
    /// The line above was drawn whole, and this one has the same pixels.
    row_repeats: bool,
    /// The latches hold all collisions of a whole line with the current masks.
    collisions_repeat: bool,

    vblank: u8,
    dump_off_cycle: u64,
    /// COLUP0, COLUP1, COLUPF, COLUBK.
    colours: [u8; 4],
    nusiz: [u8; 2],
    ctrlpf: u8,
    reflect_playfield: bool,
    playfield: u32,
    grp: [u8; 2],
    grp_delayed: [u8; 2],
    vdelp: [bool; 2],
    reflect_player: [bool; 2],
    /// The copy at offset 0 is hidden.
    suppressed: [bool; 2],
    enam: [bool; 2],
    locked_missile: [bool; 2],
    enabl: bool,
    enabl_delayed: bool,
    vdelbl: bool,
    positions: [u8; 5],
    motions: [u8; 5],
    hmove_clock: u64,
    comb: bool,
    /// When the comb was last switched on.
    comb_clock: u64,
    cosmic_ark: CosmicArk,
    /// The effect has changed the shape of missile 0.
    cosmic_ark_shape: bool,

    masks: [PixelMask; 6],
    /// Bits of the masks that must be rebuilt.
    stale: u8,
    latches: u16,
    pins: ControllerPins,
}

impl Tia {
    /// The chip after a reset at cycle 0. No frame has started; drawing would begin at line 0.
    pub fn reset(config: ConsoleConfig) -> Self {
        Self {
            config,
            frame_start: 0,
            frame_cycle: 0,
            line_cap: (config.tv.line_cap() + 1) * LINE,
            vsync_end: None,
            lines_of_last_frame: 0,
            line_start: 0,
            row: 0,
            next_x: 0,
            window_end: u64::from(config.first_line + config.height) * LINE,
            next_draw: BLANK + 1,
            requested: 0,
            row_repeats: false,
            collisions_repeat: false,
            vblank: 0,
            dump_off_cycle: 0,
            colours: [0; 4],
            nusiz: [0; 2],
            ctrlpf: 0,
            reflect_playfield: false,
            playfield: 0,
            grp: [0; 2],
            grp_delayed: [0; 2],
            vdelp: [false; 2],
            reflect_player: [false; 2],
            suppressed: [false; 2],
            enam: [false; 2],
            locked_missile: [false; 2],
            enabl: false,
            enabl_delayed: false,
            vdelbl: false,
            positions: [0; 5],
            motions: [0; 5],
            hmove_clock: 0,
            comb: false,
            comb_clock: 0,
            cosmic_ark: CosmicArk::Off,
            cosmic_ark_shape: false,
            masks: [PixelMask::EMPTY; 6],
            stale: 0,
            latches: 0,
            pins: ControllerPins::default(),
        }
    }

    /// Rows of the window.
    pub fn height(&self) -> usize {
        self.config.height as usize
    }

    fn is_blanked(&self) -> bool {
        self.vblank & 2 != 0
    }

    /// Clocks since the line began.
    fn in_line(&self, clock: u64) -> u64 {
        (clock - self.frame_start) % LINE
    }
}
