//! A number that changes linearly with time: ε of ε-greedy.

use crate::explorer::Setting;
use sane_env::AgentSteps;
use serde::{Deserialize, Serialize};

/// `first` while `hold` lasts, then linear to `last` over `decay`, then `last`.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LinearSchedule {
    /// The value until `hold` is over.
    pub first: f32,
    /// The value after `hold + decay`.
    pub last: f32,
    /// How long the value stays at `first`.
    pub hold: AgentSteps,
    /// How long the change from `first` to `last` takes.
    pub decay: AgentSteps,
}

impl LinearSchedule {
    /// Keys of a setting `epsilon` of this type.
    pub(crate) const EPSILON_SETTINGS: [Setting; 4] = [
        Setting { key: "epsilon.first", meaning: "ε-greedy agents: first ε, a probability" },
        Setting { key: "epsilon.last", meaning: "ε-greedy agents: last ε, a probability" },
        Setting { key: "epsilon.hold", meaning: "ε-greedy agents: interactions at the first ε" },
        Setting { key: "epsilon.decay", meaning: "ε-greedy agents: interactions from the first ε to the last" },
    ];

    /// The paper's ε: 1 while the replay fills, then to 0.1 over a million interactions.
    pub const PAPER: Self = Self { first: 1.0, last: 0.1, hold: AgentSteps(50_000), decay: AgentSteps(1_000_000) };

    /// The value after `now` interactions; `AgentSteps(0)` is the first decision.
    pub fn at(&self, now: AgentSteps) -> f32 {
        let elapsed = now.0.saturating_sub(self.hold.0);
        if self.decay.0 <= elapsed {
            return if now < self.hold { self.first } else { self.last };
        }
        let share = elapsed as f64 / self.decay.0 as f64;
        (f64::from(self.first) + share * (f64::from(self.last) - f64::from(self.first))) as f32
    }
}

impl Default for LinearSchedule {
    fn default() -> Self {
        Self::PAPER
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn epsilon_holds_then_falls_linearly_then_stays() {
        let epsilon = LinearSchedule::PAPER;
        let cases = [(0, 1.0), (50_000, 1.0), (550_000, 0.55), (1_050_000, 0.1), (25_000_000, 0.1)];
        for (step, expected) in cases {
            assert!((epsilon.at(AgentSteps(step)) - expected).abs() < 1e-6, "at {step}");
        }
    }

    #[test]
    fn a_schedule_without_decay_jumps() {
        let jump = LinearSchedule { first: 1.0, last: 0.5, hold: AgentSteps(3), decay: AgentSteps(0) };
        assert_eq!((jump.at(AgentSteps(2)), jump.at(AgentSteps(3))), (1.0, 0.5));
    }
}
