//! The TIA: registers in, collisions and pixels out.
//!
//! Nothing is drawn when a register is written. The chip remembers how far the picture is drawn and catches up, with the
//! registers as they were, only before a change that could be seen. Each object is a mask of 160 bits, one per pixel,
//! made anew when it changed; collisions are ANDs of masks, and pixels are three disjoint masks over a background.
//!
//! ```text
//! write      register → state, with its delay        beam.rs       catching up, lines, window
//! object.rs  players and missiles → masks            playfield.rs  20 bits → mask
//! collision.rs  masks → latches                      paint.rs      masks and colours → pixels
//! hmove.rs   motion by cycle and nibble              read.rs       latches, buttons and paddles
//! sound.rs   whether a saved chip can be
//! ```

mod beam;
mod collision;
mod hmove;
mod object;
mod paint;
mod playfield;
mod read;
mod row;
mod sound;
mod write;

use serde::{Deserialize, Serialize};

use crate::config::ConsoleConfig;
pub(crate) use paint::{BLACK_ROW, PictureRow};
pub(crate) use read::Hands;
use row::Row;
pub(crate) use write::NO_REGISTER;

/// Pixels of a line.
pub const WIDTH: usize = 160;
/// Colour clocks of a line, and of its part before the first pixel.
const LINE: u64 = 228;
const BLANK: u64 = 68;

/// Objects by their place in arrays and in the bits of `stale`.
const P0: usize = 0;
const P1: usize = 1;
const M0: usize = 2;
const M1: usize = 3;
const BALL: usize = 4;
const PLAYFIELD: usize = 5;

/// Where pixels go, and who wants to know about writes.
pub(crate) trait Canvas {
    /// Whether pixels are wanted at all.
    fn is_coloured(&self) -> bool;
    /// A row of the picture; none if the canvas is not coloured or ends above it.
    fn row(&mut self, index: u32) -> Option<&mut PictureRow>;
    /// Makes a row equal to the one above it.
    fn repeat_row(&mut self, index: u32);
    /// A write that changed the chip.
    fn note(&mut self, clock: u64, register: u8, value: u8);
}

/// Steps of the missile-0 effect that a write of HMM0 21 cycles after HMOVE starts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Ark {
    Off,
    /// How many lines, modulo four, it runs.
    Running(u8),
}

/// The chip. Small enough to be copied at the start of each frame.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub(crate) struct Tia {
    config: ConsoleConfig,

    frame_start: u64,
    /// The cycle at which the last frame started; paddles count from it.
    frame_cycle: u64,
    /// From this clock on any write ends the frame.
    line_cap: u64,
    /// The clock from which a VSYNC write without bit 1 ends the frame.
    vsync_end: Option<u64>,
    lines_of_last_frame: u64,

    /// Start of the line being drawn, its row, and the next pixel of it.
    line_start: u64,
    row: u32,
    next_x: u8,
    window_end: u64,
    /// The earliest clock to which catching up would do anything.
    wake: u64,
    /// The latest clock anybody asked to catch up to.
    asked: u64,
    /// The line before was drawn whole and looks as this one will.
    row_repeats: bool,
    /// All collisions of a whole line with the present masks are in the latches.
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
    ark: Ark,
    /// The missile-0 effect has changed the missile's shape.
    ark_shape: bool,

    masks: [Row; 6],
    /// Bits of the masks that must be made anew.
    stale: u8,
    latches: u16,
    hands: Hands,
}

impl Tia {
    /// The chip after a reset at cycle 0. No frame has started: drawing would begin at the very first line.
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
            wake: BLANK + 1,
            asked: 0,
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
            ark: Ark::Off,
            ark_shape: false,
            masks: [Row::EMPTY; 6],
            stale: 0,
            latches: 0,
            hands: Hands::default(),
        }
    }

    fn blanked(&self) -> bool {
        self.vblank & 2 != 0
    }

    /// Clocks since the line began.
    fn in_line(&self, clock: u64) -> u64 {
        (clock - self.frame_start) % LINE
    }
}
