//! Screen → 84×84 luma. Two ways, one per file: the paper's crop and nearest neighbour, and the whole screen by area.
//!
//! Both remember the rows they saw last: a game changes few of its rows from step to step, and a row that did not
//! change need not be worked out again. The result never depends on what is remembered.

mod area;
mod nearest;

pub use area::{Area, area_of_max};
pub use nearest::{Nearest, crop_nearest};

/// Rows and columns of a preprocessed frame.
pub const SIDE: usize = 84;

/// Pixels per row of the console's screen.
const WIDTH: usize = sane_vcs::WIDTH;
