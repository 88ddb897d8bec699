//! How a game is presented to an agent: as in the paper, as in Mnih et al. 2015, as recommended by Machado et al. 2018.
//! In: a profile's name; out: its [`ProfileSpec`].

use crate::game::Game;
use crate::joystick::Joystick;
use sane_env::{Ending, EnvFrames, FrameSkip, Stream};
use serde::{Deserialize, Serialize};

/// A named way of presenting games; [`Profile::spec`] defines it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// The last frame of four, rows 34–193, nearest neighbour; no sticky actions; a lost life is terminal.
    #[default]
    Paper,
    /// As `Paper`, but the pixelwise maximum of the last two frames, the whole screen, area interpolation.
    Nature,
    /// Sticky actions, all legal actions, no life signal, at most 108 000 frames.
    Machado,
}

/// The settings of a profile.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ProfileSpec {
    /// Frames per decision.
    pub frame_skip: FrameSkip,
    /// Probability that a frame repeats the previous action.
    pub repeat_action_probability: f32,
    pub actions: ActionSet,
    pub resize: Resize,
    pub life: LifeSignal,
    /// Frames after which an episode is truncated.
    pub max_episode: EnvFrames,
    /// An episode starts with 1 to this many no-op decisions, or with none.
    pub max_noops: Option<u64>,
}

/// Which actions an agent chooses from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActionSet {
    /// Those that have an effect in the game.
    Minimal,
    /// All that the game allows: 18, or 9 without the button.
    Legal,
}

/// How the screens of one decision become 84×84 pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resize {
    /// The last frame, rows 34–193, nearest neighbour.
    CropNearest,
    /// The pixelwise maximum of the last two frames, the whole screen, area interpolation.
    MaxArea,
}

/// What the learner is told of a lost life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LifeSignal {
    /// The transition is terminal; the episode continues.
    Terminal,
    Ignored,
}

impl ActionSet {
    /// The actions of a game.
    pub fn of(self, game: &Game) -> Vec<Joystick> {
        match self {
            Self::Minimal => game.minimal_actions.clone(),
            Self::Legal => game.legal_actions(),
        }
    }
}

impl Profile {
    pub const ALL: [Self; 3] = [Self::Paper, Self::Nature, Self::Machado];

    /// The name in configurations and on the command line.
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

    /// The settings behind the name.
    pub fn spec(self) -> ProfileSpec {
        let paper = ProfileSpec {
            frame_skip: FrameSkip(4),
            repeat_action_probability: 0.0,
            actions: ActionSet::Minimal,
            resize: Resize::CropNearest,
            life: LifeSignal::Terminal,
            max_episode: EnvFrames(400_000),
            max_noops: Some(30),
        };
        match self {
            Self::Paper => paper,
            Self::Nature => ProfileSpec { resize: Resize::MaxArea, ..paper },
            Self::Machado => ProfileSpec {
                repeat_action_probability: 0.25,
                actions: ActionSet::Legal,
                resize: Resize::MaxArea,
                life: LifeSignal::Ignored,
                max_episode: EnvFrames(108_000),
                max_noops: None,
                ..paper
            },
        }
    }
}

impl ProfileSpec {
    /// Draws how many no-op decisions start an episode.
    pub fn draw_noops(&self, starts: &mut Stream) -> u64 {
        self.max_noops.map_or(0, |max| 1 + starts.below(max))
    }

    /// How a decision ended, from what the game reports after it.
    pub fn ending(&self, terminal: bool, truncated: bool, life_lost: bool) -> Ending {
        let life_lost = life_lost && self.life == LifeSignal::Terminal;
        match (terminal, truncated, life_lost) {
            (true, ..) | (_, true, true) => Ending::GameOver,
            (_, true, _) => Ending::Truncated,
            (.., true) => Ending::LifeLost,
            _ => Ending::Continues,
        }
    }
}
