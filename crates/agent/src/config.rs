//! An agent's configuration: plain data, defaults from the paper, every number checked before it is used.

use crate::{AgentError, Exploration, NetworkSpec, Objective, RandomStart, Sane};
use sane_env::{AgentSteps, EnvSpec};
use serde::{Deserialize, Serialize};
use std::ops::RangeBounds;

/// Everything that defines an agent except its world. The default is the paper's simple-SANE on Atari.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AgentConfig {
    /// How it explores.
    pub exploration: Exploration,
    /// Random actions before that, for agents that have none of their own; the paper has none.
    #[serde(skip_serializing_if = "RandomStart::is_none")]
    pub random_start: RandomStart,
    /// Its main network.
    pub network: NetworkSpec,
    /// Its optimiser.
    pub optimiser: AdamConfig,
    /// Discount γ.
    pub gamma: f32,
    /// Whether the online network chooses the action that the target network values.
    pub double_q: bool,
    /// What is minimised.
    pub objective: Objective,
    /// Largest norm of the whole gradient; none means unclipped, which is the paper's setting and faster.
    pub clip_gradient_norm: Option<f32>,
}

impl Default for AgentConfig {
    fn default() -> Self {
        Self {
            exploration: Exploration::Sane(Sane::default()),
            random_start: RandomStart::default(),
            network: NetworkSpec::nature(),
            optimiser: AdamConfig::default(),
            gamma: 0.99,
            double_q: false,
            objective: Objective::TdError,
            clip_gradient_norm: None,
        }
    }
}

/// Adam's numbers (Kingma and Ba 2015), the paper's by default.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AdamConfig {
    /// Step size α.
    pub learning_rate: f64,
    /// Decay of the first moment.
    pub beta_1: f64,
    /// Decay of the second moment.
    pub beta_2: f64,
    /// Added to the root of the second moment.
    pub epsilon: f64,
}

impl Default for AdamConfig {
    fn default() -> Self {
        Self { learning_rate: 6.25e-5, beta_1: 0.9, beta_2: 0.999, epsilon: 1.5e-4 }
    }
}

impl AgentConfig {
    /// The paper's configuration of a named agent, its network chosen to suit the world.
    pub fn named(name: &str, world: &EnvSpec) -> Option<Self> {
        let exploration = Exploration::named(name)?;
        Some(Self { exploration, network: NetworkSpec::for_world(world), ..Self::default() })
    }

    /// Its perturbation module with half as many units as the last hidden layer of the network, the paper's proportion (256 beside
    /// 512); an agent without a module stays as it is.
    #[must_use]
    pub fn with_module_of_half_the_width(mut self) -> Self {
        if let (Some(module), Some(width)) = (self.exploration.module_mut(), self.network.hidden.last()) {
            module.hidden = vec![width.div_ceil(2)];
        }
        self
    }

    /// The probability of an action that ignores the network, after `now` interactions; none where there is no such action.
    pub fn epsilon(&self, now: AgentSteps) -> Option<f32> {
        let of_start = (!self.random_start.is_none()).then(|| self.random_start.epsilon(now));
        self.exploration.epsilon(now).or(of_start)
    }

    /// As [`check`](Self::check), and what depends on how many actions the world has.
    pub fn check_for(&self, actions: usize) -> Result<(), AgentError> {
        self.check()?;
        self.exploration.bound().map_or(Ok(()), |bound| bound.check_for(actions))
    }

    /// Validates the ranges of all numbers; an error names the key.
    pub fn check(&self) -> Result<(), AgentError> {
        let AdamConfig { learning_rate, beta_1, beta_2, epsilon } = self.optimiser;
        in_range("optimiser.learning_rate", learning_rate, 0.0..f64::INFINITY, "a number of at least 0")?;
        in_range("optimiser.beta_1", beta_1, 0.0..1.0, "a number in [0, 1)")?;
        in_range("optimiser.beta_2", beta_2, 0.0..1.0, "a number in [0, 1)")?;
        in_range("optimiser.epsilon", epsilon, f64::MIN_POSITIVE..f64::INFINITY, "a number above 0")?;
        in_range("gamma", self.gamma.into(), 0.0..1.0 + f64::EPSILON, "a number in [0, 1]")?;
        if let Some(norm) = self.clip_gradient_norm {
            in_range("clip_gradient_norm", norm.into(), f64::MIN_POSITIVE..f64::INFINITY, "a number above 0")?;
        }
        self.exploration.check()?;
        if !self.random_start.is_none() && self.exploration.epsilon(AgentSteps(0)).is_some() {
            let RandomStart { hold, decay } = self.random_start;
            let (key, value) = ("random_start", format!("{{hold = {}, decay = {}}}", hold.0, decay.0));
            let expected = "nothing, since this agent has random actions of its own (exploration.epsilon)";
            return Err(AgentError::OutOfRange { key, value, expected });
        }
        if let Some(bound) = self.exploration.bound() {
            bound.check()?;
            if self.objective != Objective::TdError {
                let (key, value) = ("objective.kind", "not td-error".to_owned());
                let expected = "td-error, since this agent has a KL term of its own (exploration.q_noise)";
                return Err(AgentError::OutOfRange { key, value, expected });
            }
        }
        self.objective.check()
    }
}

/// The smallest and the largest size of noise, or factor of it, that may be set: so far from the ends of `f32` that a product
/// of some of them and their squares neither vanishes nor overflows.
pub(crate) const SMALLEST_NOISE: f32 = 1e-6;
const LARGEST_NOISE: f32 = 1e6;

/// Refuses a size of noise that is not between the smallest and the largest.
pub(crate) fn check_noise_size(key: &'static str, size: f32) -> Result<(), AgentError> {
    let range = f64::from(SMALLEST_NOISE)..=f64::from(LARGEST_NOISE);
    in_range(key, size.into(), range, "a number from 1e-6 to 1e6")
}

/// Refuses a number outside `range`.
pub(crate) fn in_range(
    key: &'static str,
    value: f64,
    range: impl RangeBounds<f64>,
    expected: &'static str,
) -> Result<(), AgentError> {
    if range.contains(&value) {
        return Ok(());
    }
    // A single-precision setting in its own digits, not in those that double precision adds.
    let is_single = f64::from(value as f32) == value;
    let value = if is_single { (value as f32).to_string() } else { value.to_string() };
    Err(AgentError::OutOfRange { key, value, expected })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_is_the_table_of_the_paper() {
        let config = AgentConfig::default();
        let AdamConfig { learning_rate, beta_1, beta_2, epsilon } = config.optimiser;
        assert_eq!((learning_rate, beta_1, beta_2, epsilon), (6.25e-5, 0.9, 0.999, 1.5e-4));
        assert_eq!((config.gamma, config.double_q, config.clip_gradient_norm), (0.99, false, None));
        assert_eq!(config.exploration.module().unwrap().hidden, [256]);
        assert_eq!(config.network.hidden, [512]);
    }

    #[test]
    fn a_random_start_beside_another_epsilon_is_refused() {
        let random_start = RandomStart { hold: AgentSteps(1), decay: AgentSteps(2) };
        for (name, is_refused) in [("eps-greedy", true), ("ez-greedy", true), ("sane", false), ("noisynet", false)] {
            let exploration = Exploration::named(name).unwrap();
            let checked = AgentConfig { exploration, random_start, ..AgentConfig::default() }.check();
            assert_eq!(checked.is_err(), is_refused, "{name}");
            if let Err(error) = checked {
                assert!(error.to_string().starts_with("random_start = {hold = 1, decay = 2}"), "{error}");
            }
        }
    }

    #[test]
    fn numbers_out_of_range_are_refused_by_their_key() {
        let adam = AdamConfig::default();
        let cases = [
            (AgentConfig { gamma: 1.5, ..AgentConfig::default() }, "gamma = 1.5"),
            (AgentConfig { gamma: f32::NAN, ..AgentConfig::default() }, "gamma = NaN"),
            (
                AgentConfig { optimiser: AdamConfig { learning_rate: -1.0, ..adam }, ..AgentConfig::default() },
                "optimiser.learning_rate = -1",
            ),
            (
                AgentConfig { optimiser: AdamConfig { beta_2: 1.0, ..adam }, ..AgentConfig::default() },
                "optimiser.beta_2 = 1",
            ),
            (AgentConfig { clip_gradient_norm: Some(0.0), ..AgentConfig::default() }, "clip_gradient_norm = 0"),
        ];
        for (config, start) in cases {
            let text = config.check().unwrap_err().to_string();
            assert!(text.starts_with(start), "{text}");
        }
        assert_eq!(AgentConfig::default().check(), Ok(()));
    }
}
