//! A run's configuration: a plain struct. Presets are functions, overrides are struct update; what a run folder holds is
//! the fully resolved one.

mod error;
mod keys;
mod layers;
mod range;

pub use error::ConfigError;
pub use keys::{Key, keys};
#[cfg(test)]
pub(crate) use layers::flat;
pub(crate) use layers::unknown_agent;
pub use layers::{Differences, Layers, differences, flatten_table, from_toml, merge_tables, to_toml};

use sane_agent::AgentConfig;
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
