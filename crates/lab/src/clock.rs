//! The run's own time: interactions, frames, episodes, train steps. It never looks at the machine's clock.

use sane_env::{AgentSteps, EnvFrames};
use serde::{Deserialize, Serialize};

/// How far a run has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Clock {
    steps: AgentSteps,
    frames: EnvFrames,
    /// Whole episodes.
    pub episodes: u64,
    /// Optimiser steps.
    pub train_steps: u64,
}

impl Clock {
    /// A clock that stands at this interaction and has counted nothing else.
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

    /// One interaction is over; the world ran this many frames for it.
    pub fn tick(&mut self, frames: EnvFrames) {
        self.steps.0 += 1;
        self.frames.0 += frames.0;
    }

    /// Whether the interaction that just ended is one of every `period`.
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
