//! How a game is presented to an agent: the paper's way, that of the Nature article, today's standard.

use sane_env::{EnvFrames, FrameSkip};
use serde::{Deserialize, Serialize};

/// A way of presenting games. [`Profile::recipe`] says what it means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// The paper's: last frame of four, rows 34–193, nearest neighbour, no sticky actions, a lost life is terminal.
    #[default]
    Paper,
    /// As the paper's, but the brighter of the last two frames, the whole screen, resized by area.
    Nature,
    /// Machado et al. 2018: sticky actions, all 18 actions, no life signal, at most 108 000 frames.
    Machado,
}

/// Everything a profile decides.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Recipe {
    /// Frames per decision.
    pub frame_skip: FrameSkip,
    /// Probability that a frame repeats the action before it.
    pub repeat_action_probability: f32,
    /// Which actions there are.
    pub actions: ActionSet,
    /// How the screen becomes 84×84.
    pub picture: Picturing,
    /// What a lost life is to the learner.
    pub life: LifeSignal,
    /// Frames after which an episode is cut.
    pub longest_episode: EnvFrames,
    /// Decisions of doing nothing at the start of an episode: a number from 1 to this, or none.
    pub most_noops: Option<u64>,
}

/// Which actions an agent chooses from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActionSet {
    /// Those that make a difference in the game.
    Minimal,
    /// All the game allows: 18, or 9 where the button is forbidden.
    Legal,
}

/// How the screen becomes 84×84.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Picturing {
    /// The last frame, rows 34–193, nearest neighbour.
    CropNearest,
    /// The brighter of the last two frames, the whole screen, by area.
    MaxArea,
}

/// What a lost life is to the learner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LifeSignal {
    /// Terminal, though the episode goes on.
    Terminal,
    /// Nothing.
    Unseen,
}

impl Profile {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Paper, Self::Nature, Self::Machado];

    /// Name as typed on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Paper => "paper",
            Self::Nature => "nature",
            Self::Machado => "machado",
        }
    }

    /// The profile with this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|profile| profile.name() == name)
    }

    /// What it means.
    pub fn recipe(self) -> Recipe {
        let paper = Recipe {
            frame_skip: FrameSkip(4),
            repeat_action_probability: 0.0,
            actions: ActionSet::Minimal,
            picture: Picturing::CropNearest,
            life: LifeSignal::Terminal,
            longest_episode: EnvFrames(400_000),
            most_noops: Some(30),
        };
        match self {
            Self::Paper => paper,
            Self::Nature => Recipe { picture: Picturing::MaxArea, ..paper },
            Self::Machado => Recipe {
                repeat_action_probability: 0.25,
                actions: ActionSet::Legal,
                picture: Picturing::MaxArea,
                life: LifeSignal::Unseen,
                longest_episode: EnvFrames(108_000),
                most_noops: None,
                ..paper
            },
        }
    }
}
