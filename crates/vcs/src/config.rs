//! What a console is given: television standard, controllers, input of a frame, whether to render.

use serde::{Deserialize, Serialize};

/// The television standard a program was written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum TvFormat {
    /// 262 lines, 60 frames per second.
    Ntsc,
    /// 312 lines, 50 frames per second; the frame after one with an odd number of lines loses its colour.
    Pal,
}

impl TvFormat {
    /// The last line of a frame; a TIA write after it ends the frame.
    pub(crate) fn line_cap(self) -> u64 {
        match self {
            TvFormat::Ntsc => 290,
            TvFormat::Pal => 342,
        }
    }
}

/// The player's controller.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Controller {
    Joystick,
    Paddles {
        /// The two paddles of the pair are exchanged, and the right port has a pair with resistance 0. Otherwise the
        /// right port has none.
        swapped: bool,
    },
}

/// The configuration of a console; constant while it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ConsoleConfig {
    /// Determines the longest frame and whether colour can be lost.
    pub tv: TvFormat,
    /// First visible line, counted from the start of the frame.
    pub first_line: u32,
    /// Visible lines.
    pub height: u32,
    /// Whether HMOVE blanks the first eight pixels of a line (the comb).
    pub hmove_comb: bool,
    pub controller: Controller,
    /// Whether the joystick is in the right port.
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

/// The input of one frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub struct Input {
    pub up: bool,
    pub down: bool,
    pub left: bool,
    pub right: bool,
    /// The button of the joystick or of the first paddle.
    pub fire: bool,
    /// The console's RESET switch.
    pub reset: bool,
    /// The console's SELECT switch.
    pub select: bool,
    /// The left difficulty switch is at A.
    pub left_difficulty_a: bool,
    /// The right difficulty switch is at A.
    pub right_difficulty_a: bool,
    /// Resistances of the left port's two paddles, in ohms.
    pub paddles: [i32; 2],
}

/// Whether a frame is rendered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RenderMode {
    /// [`Console::screen`](crate::Console::screen) is the frame.
    Full,
    /// Collisions are computed, pixels are not; [`Console::render_deferred`](crate::Console::render_deferred) can still
    /// render them. Faster.
    CollisionsOnly,
}
