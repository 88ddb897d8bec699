//! One decision: the action, what the world answers, and the units in which time is counted.
//!
//! Frames and decisions are types of their own: they differ by a factor of four on Atari, and a mistake between them
//! goes unnoticed.

use serde::{Deserialize, Serialize};

/// Index into the world's own list of actions, `0..EnvSpec::actions.len()`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Action(pub u16);

/// The world's answer to one action.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Step {
    /// Sum of the rewards of the frames of this step.
    pub reward: Reward,
    pub ending: Ending,
    /// Frames that were run: fewer than the frame skip if the game ended inside it.
    pub frames: EnvFrames,
}

/// A reward in the world's own units.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Reward(pub f32);

impl Reward {
    /// The unclipped reward, which scores are made of.
    pub fn raw(self) -> f32 {
        self.0
    }

    /// The reward clipped to [−1, 1], as DQN learns from it on Atari.
    pub fn clipped(self) -> f32 {
        self.0.clamp(-1.0, 1.0)
    }
}

/// How a step ended. Whether the target bootstraps and whether the episode continues are two different questions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum Ending {
    #[default]
    Continues,
    /// A life was lost: terminal for learning, but the episode continues.
    LifeLost,
    /// The game is over. A life lost on the step of the time limit also counts as this.
    GameOver,
    /// A time limit ended the episode: the state had a future, so the target still bootstraps.
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

/// Frames emitted by a world: 60 per second on the console.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct EnvFrames(pub u64);

/// Decisions of an agent ("interactions" in the paper); each lasts [`FrameSkip`] frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AgentSteps(pub u64);

/// Frames for which one decision is held.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FrameSkip(pub u32);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lost_life_is_terminal_but_the_episode_continues() {
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
