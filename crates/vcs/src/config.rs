//! What a console is told from outside: which television and controllers are attached, and what is pressed.

use serde::{Deserialize, Serialize};

/// The television standard a program was written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum TvFormat {
    /// 262 lines, 60 pictures a second.
    Ntsc,
    /// 312 lines, 50 pictures a second; a frame with an odd number of lines loses its colour.
    Pal,
}

impl TvFormat {
    /// The last line a frame may reach; a register write beyond it ends the frame.
    pub(crate) fn line_cap(self) -> u64 {
        match self {
            TvFormat::Ntsc => 290,
            TvFormat::Pal => 342,
        }
    }
}

/// What is plugged into the left port.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Controller {
    /// A stick with one button.
    Joystick,
    /// A pair of paddles.
    Paddles {
        /// The two paddles of the pair have changed places. The one game wired so also has an untouched pair, turned
        /// to its end, in the right port; for all others that port's pots are open.
        swapped: bool,
    },
}

/// How a console is set up; constant while it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ConsoleConfig {
    /// Decides the line cap and whether colour can be lost.
    pub tv: TvFormat,
    /// First line of the picture, counted from the start of the frame.
    pub first_line: u32,
    /// Lines of the picture.
    pub height: u32,
    /// Whether HMOVE blanks the first eight pixels of a line.
    pub hmove_comb: bool,
    /// What the player holds.
    pub controller: Controller,
    /// The player's stick is in the right port.
    pub swapped_ports: bool,
}

impl Default for ConsoleConfig {
    /// NTSC, lines 34 to 243, one joystick on the left.
    fn default() -> Self {
        Self {
            tv: TvFormat::Ntsc,
            first_line: 34,
            height: 210,
            hmove_comb: true,
            controller: Controller::Joystick,
            swapped_ports: false,
        }
    }
}

/// What is pressed during one frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct Input {
    /// Stick up.
    pub up: bool,
    /// Stick down.
    pub down: bool,
    /// Stick left.
    pub left: bool,
    /// Stick right.
    pub right: bool,
    /// The button of the stick or of the first paddle.
    pub fire: bool,
    /// The console's RESET switch is held.
    pub reset: bool,
    /// The console's SELECT switch is held.
    pub select: bool,
    /// The left difficulty switch stands at A.
    pub left_difficulty_a: bool,
    /// The right difficulty switch stands at A.
    pub right_difficulty_a: bool,
    /// Resistances of the left port's two paddles, in ohms.
    pub paddles: [i32; 2],
}

/// Whether a frame's picture is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PictureMode {
    /// [`Console::screen`](crate::Console::screen) shows the frame.
    Coloured,
    /// Collisions count as ever, pixels are left out; [`Console::develop`](crate::Console::develop) can still make them.
    CollisionsOnly,
}
