//! What can be chosen of a game, and what is said of a choice that it does not have.

use sane_vcs::CartridgeError;
use serde::{Deserialize, Serialize};

/// What can be set before a game is loaded; the default is ALE's own with sticky actions off.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// Seed of the generator that sticky actions (and Adventure's mode selection) draw from.
    pub seed: u32,
    /// Probability that a frame repeats the action held before it instead of taking the new one.
    pub repeat_action_probability: f32,
    /// Frames per [`Ale::act`](super::Ale::act).
    pub frame_skip: u32,
    /// Frames after which an episode is cut, if any.
    pub max_episode_frames: Option<u64>,
    /// What a lost life does.
    pub life_loss: LifeLoss,
}

/// What a lost life does to the episode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum LifeLoss {
    /// Nothing; the game goes on.
    GoesOn,
    /// It cuts the episode as soon as there are fewer lives than at the start.
    Truncates,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            seed: 0,
            repeat_action_probability: 0.0,
            frame_skip: 1,
            max_episode_frames: None,
            life_loss: LifeLoss::GoesOn,
        }
    }
}

/// Something the game does not have, or a ROM it cannot be loaded from.
#[derive(Debug, thiserror::Error)]
pub enum AleError {
    /// The ROM does not make a cartridge.
    #[error("{game}: {source}")]
    Cartridge {
        /// Name of the game.
        game: &'static str,
        /// What is wrong with the ROM.
        source: CartridgeError,
    },
    /// No such mode.
    #[error("{game} has no mode {asked}; it has {}", listed(.available))]
    NoSuchMode {
        /// Name of the game.
        game: &'static str,
        /// The mode asked for.
        asked: u32,
        /// The modes there are.
        available: Vec<u32>,
    },
    /// No such difficulty.
    #[error("{game} has no difficulty {asked}; it has {}", listed(.available))]
    NoSuchDifficulty {
        /// Name of the game.
        game: &'static str,
        /// The difficulty asked for.
        asked: u32,
        /// The difficulties there are.
        available: Vec<u32>,
    },
}

fn listed(numbers: &[u32]) -> String {
    numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(", ")
}
