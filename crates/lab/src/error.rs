//! What can go wrong in a run.

use crate::config::ConfigError;
use sane_arcade::RomError;

/// A run that could not be started, continued, evaluated or read.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// The configuration.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A game's ROM.
    #[error(transparent)]
    Rom(#[from] RomError),
    /// The world could not be made.
    #[error("cannot make the world {name}: {reason}")]
    World {
        /// Its name.
        name: String,
        /// What it said.
        reason: String,
    },
}
