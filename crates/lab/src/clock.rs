//! The run's own time: interactions, frames, episodes, train steps; independent of the system clock.

use sane_env::{AgentSteps, EnvFrames};
use serde::{Deserialize, Serialize};

/// Counters of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Clock {
    steps: AgentSteps,
    frames: EnvFrames,
    /// Finished episodes.
    pub episodes: u64,
    /// Optimiser steps.
    pub train_steps: u64,
}

impl Clock {
    /// A clock at this interaction with all other counters at zero.
    pub fn at(steps: AgentSteps) -> Self {
        Self { steps, ..Self::default() }
    }

    /// Interactions so far.
    pub fn steps(&self) -> AgentSteps {
        self.steps
    }

    /// Frames of the world so far.
    pub fn frames(&self) -> EnvFrames {
        self.frames
    }

    /// Whether the counters can be those of one run.
    pub fn is_consistent(&self) -> bool {
        let steps = self.steps.0;
        steps <= i64::MAX as u64
            && self.frames.0 <= steps.saturating_mul(1 << 16)
            && self.episodes <= steps
            && self.train_steps <= steps
    }

    /// Counts an interaction of this many frames.
    pub fn tick(&mut self, frames: EnvFrames) {
        self.steps.0 += 1;
        self.frames.0 += frames.0;
    }

    /// Whether the number of interactions is a multiple of `period`.
    pub fn is_due(&self, period: AgentSteps) -> bool {
        self.steps.0.is_multiple_of(period.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_of_four_is_due_after_each_fourth_interaction() {
        let mut clock = Clock::default();
        let due: Vec<u64> = (1..=12)
            .filter(|_| {
                clock.tick(EnvFrames(4));
                clock.is_due(AgentSteps(4))
            })
            .collect();
        assert_eq!(due, [4, 8, 12]);
        assert_eq!(clock.frames(), EnvFrames(48));
    }
}
