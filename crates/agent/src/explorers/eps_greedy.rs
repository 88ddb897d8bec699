//! ε-greedy (Mnih et al. 2015): a uniformly random action with probability ε, else the greedy one. The network is a plain
//! DQN.

use crate::behaviour::Behaviour;
use crate::config::in_range;
use crate::explorer::{Explorer, NamedAgent, Registered, Setting};
use crate::policy::epsilon_random;
use crate::{AgentError, LinearSchedule};
use sane_env::{Action, AgentSteps, Stream};
use serde::{Deserialize, Serialize};

/// Settings of ε-greedy.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EpsGreedy {
    /// ε over time.
    pub epsilon: LinearSchedule,
}

impl Registered for EpsGreedy {
    const KIND: &'static str = "eps-greedy";

    fn agents() -> Vec<NamedAgent<Self>> {
        let summary = "random action with probability ε, else greedy (Mnih et al. 2015)";
        vec![NamedAgent { name: "eps-greedy", summary, settings: Self::default() }]
    }

    fn settings() -> Vec<Setting> {
        LinearSchedule::EPSILON_SETTINGS.to_vec()
    }
}

impl Explorer for EpsGreedy {
    fn check(&self) -> Result<(), AgentError> {
        check_epsilon(&self.epsilon)
    }

    fn behaviour(&self) -> Box<dyn Behaviour> {
        Box::new(RandomActions { epsilon: self.epsilon })
    }

    fn epsilon(&self, now: AgentSteps) -> Option<f32> {
        Some(self.epsilon.at(now))
    }

    fn epsilon_schedule(&mut self) -> Option<&mut LinearSchedule> {
        Some(&mut self.epsilon)
    }
}

/// Validates that both ends of a schedule are probabilities.
pub(crate) fn check_epsilon(epsilon: &LinearSchedule) -> Result<(), AgentError> {
    for (key, value) in [("exploration.epsilon.first", epsilon.first), ("exploration.epsilon.last", epsilon.last)] {
        in_range(key, value.into(), 0.0..1.0 + f64::EPSILON, "a probability in [0, 1]")?;
    }
    Ok(())
}

/// The action rule.
#[derive(Debug, Clone, Copy)]
struct RandomActions {
    epsilon: LinearSchedule,
}

impl Behaviour for RandomActions {
    /// ```text
    /// a ~ U{actions} with probability ε, else argmax_a Q(s, a)
    /// ```
    fn choose(&mut self, now: AgentSteps, actions: usize, noise: &mut Stream) -> Option<Action> {
        epsilon_random(self.epsilon.at(now), actions, noise)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_share_of_random_actions_follows_the_schedule() {
        let epsilon = LinearSchedule { first: 1.0, last: 0.25, hold: AgentSteps(10), decay: AgentSteps(0) };
        let mut behaviour = EpsGreedy { epsilon }.behaviour();
        let mut noise = Stream::named(1, "test");
        let mut share = |now| {
            let random = (0..4_000).filter(|_| behaviour.choose(AgentSteps(now), 4, &mut noise).is_some()).count();
            random as f64 / 4_000.0
        };
        assert_eq!(share(0), 1.0);
        assert!((share(10) - 0.25).abs() < 0.03);
    }

    #[test]
    fn a_probability_above_one_is_refused_by_its_key() {
        let epsilon = LinearSchedule { first: 1.5, ..LinearSchedule::PAPER };
        let text = EpsGreedy { epsilon }.check().unwrap_err().to_string();
        assert!(text.starts_with("exploration.epsilon.first = 1.5"), "{text}");
    }
}
