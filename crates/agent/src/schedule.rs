//! A number that changes linearly with time: ε of ε-greedy, and of a random start.

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

/// Random actions at the beginning, for agents that have none of their own: ε is 1 while `hold` lasts, then falls linearly
/// to 0 over `decay`. Noise can only change actions whose values are close, and what an untrained network happens to prefer
/// everywhere, it keeps on choosing; random actions begin with other data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct RandomStart {
    /// Interactions that are random alone.
    pub hold: AgentSteps,
    /// Interactions over which their share falls to none.
    pub decay: AgentSteps,
}

impl RandomStart {
    /// Whether there is none: the default, and the paper.
    pub fn is_none(&self) -> bool {
        *self == Self::default()
    }

    /// ε after `now` interactions.
    pub fn epsilon(&self, now: AgentSteps) -> f32 {
        LinearSchedule { first: 1.0, last: 0.0, hold: self.hold, decay: self.decay }.at(now)
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
    fn a_random_start_ends_and_without_one_there_is_no_random_action() {
        let start = RandomStart { hold: AgentSteps(100), decay: AgentSteps(200) };
        let cases = [(0, 1.0), (99, 1.0), (200, 0.5), (300, 0.0), (25_000_000, 0.0)];
        for (step, expected) in cases {
            assert_eq!(start.epsilon(AgentSteps(step)), expected, "at {step}");
        }
        assert!(RandomStart::default().is_none());
        assert_eq!(RandomStart::default().epsilon(AgentSteps(0)), 0.0);
    }

    #[test]
    fn a_schedule_without_decay_jumps() {
        let jump = LinearSchedule { first: 1.0, last: 0.5, hold: AgentSteps(3), decay: AgentSteps(0) };
        assert_eq!((jump.at(AgentSteps(2)), jump.at(AgentSteps(3))), (1.0, 0.5));
    }
}
