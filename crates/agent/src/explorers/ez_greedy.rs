//! εz-greedy (Dabney, Ostrovski, Barreto 2021, "Temporally-Extended ε-Greedy Exploration"): as ε-greedy, but a random action
//! is repeated for a random, heavy-tailed number of interactions. The network is a plain DQN.
//!
//! ```text
//! with probability ε:  a ~ U{actions},  n ~ z(μ),  take a for n interactions        z(n) ∝ n^−μ,  n = 1 … 10,000
//! else:                argmax_a Q(s, a)
//! ```
//!
//! A repetition ends with its episode. While it lasts, nothing is drawn.

use super::eps_greedy::check_epsilon;
use crate::behaviour::Behaviour;
use crate::config::in_range;
use crate::explorer::{Explorer, NamedAgent, Registered, Setting};
use crate::policy::epsilon_random;
use crate::{AgentError, LinearSchedule};
use sane_env::{Action, AgentSteps, Stream};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Settings of εz-greedy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EzGreedy {
    /// The probability that a repetition begins, over time.
    pub epsilon: LinearSchedule,
    /// μ: the larger, the shorter the repetitions.
    pub exponent: f32,
}

impl Default for EzGreedy {
    fn default() -> Self {
        Self { epsilon: LinearSchedule::default(), exponent: 2.0 }
    }
}

/// The longest repetition, as in the paper.
const LONGEST: usize = 10_000;

impl Registered for EzGreedy {
    const KIND: &'static str = "ez-greedy";

    fn agents() -> Vec<NamedAgent<Self>> {
        let summary = "random action with probability ε, repeated for a heavy-tailed time (Dabney et al. 2021)";
        vec![NamedAgent { name: "ez-greedy", summary, settings: Self::default() }]
    }

    fn settings() -> Vec<Setting> {
        let meaning = "ez-greedy: μ > 1 of the durations n of random actions, P(n) ∝ n^−μ";
        [&LinearSchedule::EPSILON_SETTINGS[..], &[Setting { key: "exponent", meaning }]].concat()
    }
}

impl Explorer for EzGreedy {
    fn check(&self) -> Result<(), AgentError> {
        check_epsilon(&self.epsilon)?;
        let above_one = 1.0 + f64::EPSILON..f64::INFINITY;
        in_range("exploration.exponent", f64::from(self.exponent), above_one, "a number above 1")
    }

    fn behaviour(&self) -> Box<dyn Behaviour> {
        let durations = cumulative(f64::from(self.exponent)).into();
        Box::new(RepeatedActions { epsilon: self.epsilon, durations, repetition: [0, 0] })
    }

    fn epsilon(&self, now: AgentSteps) -> Option<f32> {
        Some(self.epsilon.at(now))
    }

    fn epsilon_schedule(&mut self) -> Option<&mut LinearSchedule> {
        Some(&mut self.epsilon)
    }
}

/// P(duration ≤ n) for n = 1, 2, …, in units of 2⁻³².
fn cumulative(exponent: f64) -> Vec<u64> {
    let weight = |n: usize| libm::pow(n as f64, -exponent);
    let total: f64 = (1..=LONGEST).map(weight).sum();
    let share = |sum: &mut f64, n: usize| {
        *sum += weight(n) / total;
        Some((*sum * (1_u64 << 32) as f64).round() as u64)
    };
    (1..=LONGEST).scan(0.0, share).collect()
}

/// The action rule.
#[derive(Debug, Clone)]
struct RepeatedActions {
    epsilon: LinearSchedule,
    durations: Arc<[u64]>,
    /// How often the current random action is still to be taken, and which it is.
    repetition: [u32; 2],
}

impl Behaviour for RepeatedActions {
    fn begin_episode(&mut self) {
        self.repetition = [0, 0];
    }

    fn choose(&mut self, now: AgentSteps, actions: usize, noise: &mut Stream) -> Option<Action> {
        if self.repetition[0] == 0 {
            let action = epsilon_random(self.epsilon.at(now), actions, noise)?;
            let draw = noise.next_u64() >> 32;
            let shorter = self.durations.partition_point(|&cumulative| cumulative <= draw);
            self.repetition = [shorter.min(LONGEST - 1) as u32 + 1, u32::from(action.0)];
        }
        self.repetition[0] -= 1;
        Some(Action(self.repetition[1] as u16))
    }

    fn memory(&self) -> &[u32] {
        &self.repetition
    }

    fn is_valid(&self, memory: &[u32], actions: usize) -> bool {
        memory[0] as usize <= LONGEST && (memory[1] as usize) < actions
    }

    fn restore(&mut self, memory: &[u32]) {
        self.repetition.copy_from_slice(memory);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn always(epsilon: f32) -> LinearSchedule {
        LinearSchedule { first: epsilon, last: epsilon, hold: AgentSteps(0), decay: AgentSteps(0) }
    }

    fn behaviour(epsilon: f32) -> Box<dyn Behaviour> {
        EzGreedy { epsilon: always(epsilon), ..EzGreedy::default() }.behaviour()
    }

    /// Durations of `count` repetitions of one of 10,000 actions, which almost never follow themselves.
    fn durations(count: usize) -> Vec<usize> {
        let (mut behaviour, mut noise) = (behaviour(1.0), Stream::named(1, "test"));
        let (mut durations, mut last) = (Vec::new(), None);
        while durations.len() < count {
            let action = behaviour.choose(AgentSteps(0), 10_000, &mut noise);
            match durations.last_mut() {
                Some(duration) if action == last => *duration += 1,
                _ => durations.push(1),
            }
            last = action;
        }
        durations
    }

    #[test]
    fn durations_follow_the_zeta_law() {
        let durations = durations(20_000);
        let share = |n: usize| durations.iter().filter(|&&duration| duration == n).count() as f64 / 20_000.0;
        // P(n) = n^−2 / ζ(2), ζ(2) = π²/6.
        for n in 1..=4 {
            let expected = 6.0 / std::f64::consts::PI.powi(2) / (n * n) as f64;
            assert!((share(n) - expected).abs() < 0.012, "{n}: {} instead of {expected}", share(n));
        }
        let longest = durations.iter().max().unwrap();
        assert!(100 < *longest && *longest <= LONGEST, "{longest}");
    }

    #[test]
    fn a_larger_exponent_gives_shorter_repetitions() {
        let [two, four] = [2.0, 4.0].map(|exponent| cumulative(exponent)[0]);
        assert!(two < four);
        assert!(((two as f64 / 2_f64.powi(32)) - 6.0 / std::f64::consts::PI.powi(2)).abs() < 1e-4);
    }

    #[test]
    fn without_epsilon_the_network_decides() {
        let (mut behaviour, mut noise) = (behaviour(0.0), Stream::named(2, "test"));
        assert!((0..1_000).all(|_| behaviour.choose(AgentSteps(0), 4, &mut noise).is_none()));
    }

    /// Chooses until a repetition of at least five interactions has just begun.
    fn in_a_repetition(behaviour: &mut dyn Behaviour, noise: &mut Stream) -> Action {
        loop {
            let action = behaviour.choose(AgentSteps(0), 4, noise);
            if 4 <= behaviour.memory()[0] {
                return action.unwrap();
            }
        }
    }

    #[test]
    fn a_restored_repetition_continues_and_a_new_episode_ends_it() {
        let (mut original, mut noise) = (behaviour(1.0), Stream::named(3, "test"));
        let action = in_a_repetition(original.as_mut(), &mut noise);
        let mut restored = behaviour(0.0);
        restored.restore(original.memory());
        let before = noise.clone();
        for _ in 0..4 {
            assert_eq!(original.choose(AgentSteps(0), 4, &mut noise), Some(action));
            assert_eq!(restored.choose(AgentSteps(0), 4, &mut noise), Some(action));
        }
        assert_eq!(noise, before, "a repetition draws nothing");
        in_a_repetition(original.as_mut(), &mut noise);
        original.begin_episode();
        assert_eq!(original.memory(), [0, 0]);
    }

    #[test]
    fn an_exponent_without_a_law_is_refused() {
        let text = EzGreedy { exponent: 1.0, ..EzGreedy::default() }.check().unwrap_err().to_string();
        assert!(text.starts_with("exploration.exponent = 1 "), "{text}");
    }
}
