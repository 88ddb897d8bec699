//! The figures of a report, each a scene with the name of its files.

mod curves;
mod improvement;
mod intervals;
mod profiles;

pub use curves::{curve_grid, world_curve};
pub use improvement::improvement_figure;
pub use intervals::interval_figure;
pub use profiles::profile_figure;

use crate::plot::Scene;

/// A figure and what is said below it.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// Name of its files, without ending.
    pub name: String,
    /// What it shows and how to read it.
    pub caption: String,
    /// The picture.
    pub scene: Scene,
}
