//! Events of a run as plain structs: one line of `events.jsonl` each.
//!
//! Nothing here depends on the clock, the machine or the number of threads, so that the file of a run that was killed
//! and resumed equals, byte for byte, that of one never interrupted. `docs/metrics.md` explains each field.

use serde::{Deserialize, Serialize};

/// Version of the structs below; the first line of each file holds it.
pub const SCHEMA_VERSION: u32 = 1;

/// One line of `events.jsonl` (training) or `evaluations.jsonl` (evaluation).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// The first line.
    RunStarted(RunStarted),
    /// An episode ended.
    EpisodeFinished(EpisodeFinished),
    /// A fixed number of interactions has passed.
    IntervalFinished(IntervalFinished),
    /// The last line of a run that reached its number of interactions.
    RunFinished(RunFinished),
    /// A policy was evaluated.
    EvaluationFinished(EvaluationFinished),
}

/// What the run trains, and where.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunStarted {
    /// Is [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// The world as typed on the command line.
    pub world: String,
    /// The agent as named by `sane agents`.
    pub agent: String,
    /// Seed of all random streams.
    pub seed: u64,
    /// Names of the actions, in order.
    pub actions: Vec<String>,
    /// Trainable parameters of the online network.
    pub parameters: u64,
    /// Why a run that was stopped and resumed may differ from one never interrupted; absent where it never does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub not_bit_exact: Option<String>,
}

/// How an episode ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EpisodeEnd {
    /// The environment ended it.
    GameOver,
    /// A time limit truncated it.
    TimeLimit,
}

/// |σ| over some interactions.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SigmaRange {
    pub mean_abs: f64,
    pub min_abs: f64,
    pub max_abs: f64,
}

/// An episode from start to end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EpisodeFinished {
    /// Interactions of the run when the episode ended.
    pub interactions: u64,
    /// Number of the episode, from 1.
    pub episode: u64,
    /// Sum of the raw rewards.
    pub return_raw: f64,
    pub length_interactions: u64,
    /// Frames of the environment.
    pub length_frames: u64,
    pub ending: EpisodeEnd,
    /// Whether it was bad by the environment's own criterion, where it has one (deep sea, risky road).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bad: Option<bool>,
    /// Mean of `return_raw` over the last 100 episodes (fewer at the beginning).
    pub return_mean_last_100: f64,
    /// ε at the end of the episode (ε-greedy agents).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epsilon: Option<f64>,
    /// |σ| of the states acted in (agents with a σ).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sigma: Option<SigmaRange>,
    /// Share of interactions in which the noisy greedy action differed from the noise-free one; for ε-greedy agents,
    /// in which chance chose.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effective_exploration_share: Option<f64>,
}

/// Health of the perturbation module over the batches of an interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ModuleHealth {
    /// Mean over batches of the mean |σ|.
    pub sigma_mean_abs: f64,
    /// Smallest |σ|.
    pub sigma_min_abs: f64,
    /// Largest |σ|.
    pub sigma_max_abs: f64,
    /// Mean over batches of the standard deviation of |σ| across a batch; 0 means that σ ignores the state.
    pub sigma_spread_abs: f64,
    /// Share of states whose σ is negative.
    pub sigma_negative_share: f64,
    /// Share of hidden units active for at least one state of a batch, mean over batches; 0 means the module has died.
    pub live_units_share: f64,
    /// Share of states in which every unit of a hidden layer is off, so that σ is one constant there, mean over batches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dead_states_share: Option<f64>,
}

/// Where an agent explores, in environments that know the true risk of their states. A state is risky if a uniformly
/// random action leads to an avoidable harm in at least half of the cases.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ExplorationByRisk {
    /// Share of interactions in risky states.
    pub risky_states_share: f64,
    /// Share of changed actions among the interactions in risky states.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed_share_risky: Option<f64>,
    /// The same in the other states.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed_share_other: Option<f64>,
}

/// The loss of agents with a KL term, part by part: means over the train steps of an interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct BoundRecord {
    /// Mean squared TD error.
    pub td_loss_mean: f64,
    /// What the KL of σ adds to the loss.
    pub kl_sigma_mean: f64,
    /// What ½‖μ‖² adds to the loss; 0 where it is no part of it.
    pub kl_means_mean: f64,
    /// λ, the weight of the KL term.
    pub kl_weight_mean: f64,
    /// The wanted standard deviation of the noise of Q.
    pub q_noise_mean: f64,
    /// Running median of the gap max Q̄ − mean Q̄.
    pub gap_mean: f64,
}

/// Means over the interactions and train steps since the last such line.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IntervalFinished {
    /// Interactions of the run so far.
    pub interactions: u64,
    /// Frames of the environment so far.
    pub frames: u64,
    /// Episodes finished so far.
    pub episodes: u64,
    /// Optimiser steps so far.
    pub train_steps: u64,
    /// Transitions in the replay.
    pub replay_transitions: u64,
    /// Mean of the last 100 returns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub return_mean_last_100: Option<f64>,
    /// ε now (ε-greedy agents).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub epsilon: Option<f64>,
    /// |σ| of the states acted in (agents with a σ).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sigma: Option<SigmaRange>,
    /// As in [`EpisodeFinished::effective_exploration_share`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effective_exploration_share: Option<f64>,
    /// Share of interactions whose action differs from the greedy one without noise, whether noise or chance chose it: the
    /// exploratory actions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub changed_action_share: Option<f64>,
    /// Where those actions were, in environments that know their true risk.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by_risk: Option<ExplorationByRisk>,
    /// Interactions that lost a life or the game; a time limit loses neither.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lives_lost: Option<u64>,
    /// Mean loss (absent before learning starts).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub loss_mean: Option<f64>,
    /// Mean of Q(s, a) over the batches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub q_mean: Option<f64>,
    /// Mean of the targets over the batches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_mean: Option<f64>,
    /// Mean Euclidean norm of the gradient.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gradient_norm_mean: Option<f64>,
    /// The perturbation module, over the batches.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub module: Option<ModuleHealth>,
    /// The loss and its KL term, over the batches (agents with a KL term).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound: Option<BoundRecord>,
}

/// The run reached its number of interactions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunFinished {
    pub interactions: u64,
    pub frames: u64,
    pub episodes: u64,
    pub train_steps: u64,
    /// Mean of the last 100 returns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub return_mean_last_100: Option<f64>,
    /// Digest of the run's complete state, as `sane runs hash` prints it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
}

/// The result of one evaluation in one noise mode.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EvaluationFinished {
    pub world: String,
    /// The environment profile (Atari).
    pub profile: String,
    pub agent: String,
    /// Seed of the run.
    pub seed: u64,
    /// Interactions of training behind the policy.
    pub trained_interactions: u64,
    /// `off` or `on`.
    pub noise: String,
    /// Seed of the starts of the episodes.
    pub start_seed: u64,
    /// Interactions played.
    pub interactions: u64,
    /// Whole episodes played.
    pub episodes: u64,
    /// Mean of the raw returns.
    pub return_mean: f64,
    /// Standard deviation of the raw returns (n − 1).
    pub return_std: f64,
    /// Median of the raw returns.
    pub return_median: f64,
    /// Bootstrap 95 % interval of the mean: lower and upper end.
    pub return_mean_interval_95: [f64; 2],
    /// (agent − random) / (human − random), where those scores are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub human_normalised: Option<f64>,
    /// Share of interactions in which the noise changed the greedy action.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effective_exploration_share: Option<f64>,
    /// |σ| of the states visited.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sigma: Option<SigmaRange>,
    /// Mean of the true risk over all states, in environments that know it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub true_risk_mean: Option<f64>,
    /// Episodes that were bad by the environment's own criterion, where it has one (deep sea, risky road).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bad_episodes: Option<u64>,
    /// Episodes truncated because one alone took as many interactions as the whole evaluation.
    #[serde(default)]
    pub cut_episodes: u64,
    /// Whether it was stopped before it had played what was asked for.
    #[serde(default, skip_serializing_if = "is_false")]
    pub partial: bool,
    /// The file with the actions taken, if they were kept; relative to the run folder if it is in there. `sane verify`
    /// plays them again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traces: Option<String>,
    /// Return of each episode, in the order of their starts.
    pub returns: Vec<f64>,
    /// Length of each episode in interactions.
    pub lengths_interactions: Vec<u64>,
}

fn is_false(value: &bool) -> bool {
    !value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_names_its_kind_first_and_leaves_out_unknown_fields() {
        let event = Event::RunFinished(RunFinished {
            interactions: 8,
            frames: 32,
            episodes: 1,
            train_steps: 2,
            return_mean_last_100: None,
            digest: None,
        });
        let line = serde_json::to_string(&event).unwrap();
        assert_eq!(line, r#"{"event":"run_finished","interactions":8,"frames":32,"episodes":1,"train_steps":2}"#);
        assert_eq!(serde_json::from_str::<Event>(&line).unwrap(), event);
    }
}
