//! A run's configuration: a plain struct. Presets are functions, overrides are struct update; what a run folder holds is
//! the fully resolved one.

mod agent_names;
mod dotted;
mod error;
mod keys;
mod layers;

pub(crate) use agent_names::unknown_agent;
pub use dotted::{flatten_table, merge_tables, set_value, table_of_one, value_at};
pub use error::ConfigError;
pub use keys::{Key, keys};
pub use layers::{Differences, Layers, SettingOrigin, differences, from_toml, to_toml};
pub(crate) use layers::{differing, flat};

use sane_agent::{AgentConfig, Exploration};
use sane_arcade::Profile;
use sane_env::{AgentSteps, Reward};
use serde::{Deserialize, Serialize};

/// Everything that determines what a run computes. Threads and folders are not part of it, since results do not depend
/// on them.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunConfig {
    /// Name of the agent, as in `sane agents`.
    pub agent: String,
    /// Seed of all streams.
    pub seed: u64,
    pub world: WorldConfig,
    pub training: TrainingConfig,
    pub replay: ReplayConfig,
    pub record: RecordConfig,
    pub learner: AgentConfig,
}

/// The world of a run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorldConfig {
    /// Name of the world: `boxing`, `minatar/asterix`, `deep-sea/20`, `risky-road`, `gym:CartPole-v1`.
    pub name: String,
    /// How an Atari game becomes a world; other worlds have no profiles.
    pub profile: Profile,
    /// Gymnasium: frames per state, if not 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history: Option<usize>,
    /// Gymnasium: the interpreter, if not that of `SANE_PYTHON` or `python3`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub python: Option<String>,
    /// Gymnasium: timeout of a reply of the environment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub timeout_seconds: Option<f64>,
    /// Gymnasium: arguments the environment is made with.
    #[serde(default, skip_serializing_if = "toml::Table::is_empty")]
    pub kwargs: toml::Table,
}

impl WorldConfig {
    /// A world with default settings except for its profile.
    pub fn new(name: &str, profile: Profile) -> Self {
        let kwargs = toml::Table::new();
        Self { name: name.into(), profile, history: None, python: None, timeout_seconds: None, kwargs }
    }

    /// All settings as text: equal for two configurations of the same world.
    pub fn identity(&self) -> String {
        toml::to_string(self).expect("a world's settings are plain data")
    }

    /// Why a resumed run in this world may differ from an uninterrupted one, if it may.
    pub fn not_bit_exact(&self) -> Option<&'static str> {
        let is_gym = sane_gym::is_gym_world(&self.name);
        is_gym.then_some("the inner state of a Python environment cannot be saved; a resumed run begins a new episode")
    }
}

/// The schedule of learning.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrainingConfig {
    /// Length of the run.
    pub total_interactions: AgentSteps,
    /// Interactions before the first train step.
    pub learning_starts: AgentSteps,
    /// Interactions from one train step to the next.
    pub train_period: AgentSteps,
    /// Transitions per train step.
    pub batch_size: usize,
    /// Interactions from one copy of the network into the target network to the next.
    pub target_period: AgentSteps,
    /// Interactions from one evaluation while training to the next; 0: none. Nothing that is learned depends on them.
    #[serde(default, skip_serializing_if = "is_never")]
    pub evaluate_every: AgentSteps,
}

/// The replay.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplayConfig {
    /// Transitions kept.
    pub capacity: usize,
    pub rewards: RewardForm,
}

/// The form in which the replay stores rewards. Records always hold raw ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RewardForm {
    /// Clipped to [−1, 1].
    Clipped,
    Raw,
}

impl RewardForm {
    /// `clipped` or `raw`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Clipped => "clipped",
            Self::Raw => "raw",
        }
    }

    /// The reward in this form.
    pub fn of(self, reward: Reward) -> f32 {
        match self {
            Self::Clipped => reward.clipped(),
            Self::Raw => reward.raw(),
        }
    }
}

/// Intervals of records, checkpoints and films.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordConfig {
    /// Interactions from one interval record to the next.
    pub interval: AgentSteps,
    /// Interactions from one set of parameter histograms to the next.
    pub histogram_interval: AgentSteps,
    /// Interactions from one checkpoint to the next.
    pub checkpoint_interval: AgentSteps,
    /// Seconds from one film of the newest episode to the next; 0: no films. Nothing depends on them.
    #[serde(default)]
    pub film_interval: u64,
}

impl RunConfig {
    /// Validates all values; the error names the key, its value and the allowed range.
    pub fn check(&self) -> Result<(), ConfigError> {
        let training = &self.training;
        at_least_one("training.total_interactions", training.total_interactions)?;
        at_least_one("training.train_period", training.train_period)?;
        at_least_one("training.target_period", training.target_period)?;
        at_least_one("record.interval", self.record.interval)?;
        at_least_one("record.histogram_interval", self.record.histogram_interval)?;
        at_least_one("record.checkpoint_interval", self.record.checkpoint_interval)?;
        within("training.evaluate_every", training.evaluate_every.0, 0, i64::MAX as u64)?;
        within("seed", self.seed, 0, i64::MAX as u64)?;
        within("replay.capacity", self.replay.capacity as u64, 1, u64::from(u32::MAX))?;
        within("training.learning_starts", training.learning_starts.0, 1, self.replay.capacity as u64)?;
        within("training.batch_size", training.batch_size as u64, 1, training.learning_starts.0.min(65_536))?;
        self.check_agent()?;
        self.world.check()?;
        let actions = crate::world::action_count(&self.world);
        actions.map_or_else(|| self.learner.check(), |actions| self.learner.check_for(actions))?;
        self.check_true_risk()
    }

    /// An agent that reads the true risk needs a world that knows it. A world that is not built in is asked when the run begins.
    fn check_true_risk(&self) -> Result<(), ConfigError> {
        if self.learner.exploration.reads_true_risk() && crate::world::knows_true_risk(&self.world.name) == Some(false)
        {
            return Err(self.no_true_risk());
        }
        Ok(())
    }

    /// The refusal of an agent whose world does not know the risk it reads.
    pub(crate) fn no_true_risk(&self) -> ConfigError {
        let expected = format!("an agent that does not read the true risk, which {} does not know", self.world.name);
        ConfigError::OutOfRange { key: "agent", value: self.agent.clone(), expected }
    }

    /// The exploration must be of the kind of the named agent.
    fn check_agent(&self) -> Result<(), ConfigError> {
        let exploration = &self.learner.exploration;
        let expected = match exploration {
            Exploration::Custom(_) => self.agent.clone(),
            _ => match Exploration::named(&self.agent) {
                Some(named) => named.kind().to_owned(),
                None => return Err(unknown_agent(&self.agent)),
            },
        };
        if exploration.kind() == expected {
            return Ok(());
        }
        Err(ConfigError::OutOfRange {
            key: "learner.exploration.kind",
            value: exploration.kind().to_owned(),
            expected: format!("the kind of the agent {}", self.agent),
        })
    }
}

impl WorldConfig {
    /// Validates ranges, and that settings of Gymnasium are absent for other worlds.
    fn check(&self) -> Result<(), ConfigError> {
        let refused = |key, value: String, expected: &str| {
            Err(ConfigError::OutOfRange { key, value, expected: expected.to_owned() })
        };
        if let Some(seconds) = self.timeout_seconds.filter(|seconds| !(0.001..=1e6).contains(seconds)) {
            return refused("world.timeout_seconds", seconds.to_string(), "seconds from 0.001 to 1000000");
        }
        if let Some(history) = self.history.filter(|history| !(1..=256).contains(history)) {
            return refused("world.history", history.to_string(), "a whole number from 1 to 256");
        }
        if !sane_gym::is_gym_world(&self.name) && !self.kwargs.is_empty() {
            let expected = format!("nothing, since {} is no gym: world", self.name);
            return refused("world.kwargs", self.kwargs.to_string().trim().to_owned(), &expected);
        }
        Ok(())
    }
}

/// A setting that is off is not written: configurations from before it was known stay as they are.
fn is_never(period: &AgentSteps) -> bool {
    period.0 == 0
}

fn at_least_one(key: &'static str, value: AgentSteps) -> Result<(), ConfigError> {
    within(key, value.0, 1, i64::MAX as u64)
}

fn within(key: &'static str, value: u64, least: u64, most: u64) -> Result<(), ConfigError> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    let because = match key {
        "training.learning_starts" => " (replay.capacity)",
        "training.batch_size" => " (training.learning_starts)",
        _ => "",
    };
    let expected = format!("a whole number from {least} to {most}{because}");
    Err(ConfigError::OutOfRange { key, value: value.to_string(), expected })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preset::Preset;

    fn check_refused(change: impl Fn(&mut RunConfig), start: &str) {
        let mut config = Preset::Paper.config("boxing", "sane").unwrap();
        assert!(config.check().is_ok());
        change(&mut config);
        let text = config.check().unwrap_err().to_string();
        assert!(text.starts_with(start), "{text}");
    }

    #[test]
    fn nonsense_is_refused_by_its_key() {
        check_refused(|config| config.training.train_period = AgentSteps(0), "training.train_period = 0");
        check_refused(|config| config.training.target_period = AgentSteps(0), "training.target_period = 0");
        check_refused(|config| config.record.interval = AgentSteps(0), "record.interval = 0");
        check_refused(|config| config.training.batch_size = 50_001, "training.batch_size = 50001");
        check_refused(|config| config.training.batch_size = 0, "training.batch_size = 0");
        check_refused(|config| config.replay.capacity = 100, "training.learning_starts = 50000");
        check_refused(|config| config.learner.optimiser.learning_rate = -1.0, "learner.optimiser.learning_rate = -1");
        check_refused(|config| config.agent = "eps-greedy".into(), "learner.exploration.kind = sane");
    }

    #[test]
    fn the_actions_of_built_in_worlds_bound_the_share_that_noise_can_change() {
        let check = |world: &str, profile, share| {
            let mut config = Preset::default_for(world).unwrap().config(world, "sane-elbo").unwrap();
            config.world.profile = profile;
            let bound = config.learner.exploration.bound_mut().unwrap();
            (bound.q_noise, bound.q_noise_unit) = (share, sane_agent::QNoiseUnit::Share);
            config.check().map_err(|error| error.to_string())
        };
        for (world, profile, actions) in [
            ("risky-road", Profile::Paper, 3),
            ("deep-sea/10", Profile::Paper, 2),
            ("breakout", Profile::Paper, 4),
            ("breakout", Profile::Machado, 18),
        ] {
            let least_impossible = 1.0 - 1.0 / actions as f32;
            assert_eq!(check(world, profile, least_impossible - 0.01), Ok(()));
            let text = check(world, profile, least_impossible + 0.01).unwrap_err();
            assert!(text.contains(&format!("is not possible with {actions} actions")), "{text}");
        }
        // The actions of a Gymnasium environment are known once it is made.
        assert_eq!(check("gym:CartPole-v1", Profile::Paper, 0.99), Ok(()));
    }
}
