//! What a decision is, and what comes back from it.

use crate::EnvFrames;
use serde::{Deserialize, Serialize};

/// Index into the world's own list of actions, `0..EnvSpec::actions`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Action(pub u16);

/// A reward as the world gave it. Learning sees it [clipped](Reward::clipped), reports see it raw.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Reward(pub f32);

impl Reward {
    /// The reward as the world counts it.
    pub fn raw(self) -> f32 {
        self.0
    }

    /// The reward as the replay keeps it: into [−1, 1].
    pub fn clipped(self) -> f32 {
        self.0.clamp(-1.0, 1.0)
    }
}

/// How a step ended. Two questions are asked of it, and they differ: does the value bootstrap, and does the episode go on?
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum Ending {
    /// Nothing ended.
    #[default]
    Continues,
    /// A life was lost: terminal for learning, but the episode goes on.
    LifeLost,
    /// The game is over (a life lost on the very step of the time limit counts as this, too).
    GameOver,
    /// A time limit cut the episode: it ends, but the state had a future, so the value still bootstraps.
    Truncated,
}

impl Ending {
    /// Whether the target must not bootstrap from the next state.
    pub fn is_terminal(self) -> bool {
        matches!(self, Self::LifeLost | Self::GameOver)
    }

    /// Whether the world must be reset before the next step.
    pub fn ends_episode(self) -> bool {
        matches!(self, Self::GameOver | Self::Truncated)
    }
}

/// The answer of a world to one action.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Step {
    /// Sum of the rewards of the frames of this step.
    pub reward: Reward,
    /// How the step ended.
    pub ending: Ending,
    /// Frames the world really ran (fewer than the skip when the game ended inside it).
    pub frames: EnvFrames,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_life_is_terminal_but_the_episode_goes_on() {
        assert!(Ending::LifeLost.is_terminal() && !Ending::LifeLost.ends_episode());
    }

    #[test]
    fn a_time_limit_ends_the_episode_but_bootstraps() {
        assert!(!Ending::Truncated.is_terminal() && Ending::Truncated.ends_episode());
    }

    #[test]
    fn clipping_keeps_small_rewards_and_the_raw_one() {
        let reward = Reward(7.0);
        assert_eq!((reward.raw(), reward.clipped(), Reward(-0.5).clipped()), (7.0, 1.0, -0.5));
    }
}
