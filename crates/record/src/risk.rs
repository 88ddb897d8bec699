//! Records of risk: states seen in an evaluation with their σ, and the outcomes of trying every action in them.
//!
//! `gallery.json` is a [`RiskGallery`], `audit.json` begins with a [`RiskAudit`]; `docs/risk.md` explains both.

use crate::SigmaRange;
use serde::{Deserialize, Serialize};

/// The evaluated policy and its environment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RiskSubject {
    /// Is [`SCHEMA_VERSION`](crate::SCHEMA_VERSION).
    pub schema_version: u32,
    /// The world as typed on the command line.
    pub world: String,
    /// The environment profile (Atari).
    pub profile: String,
    pub agent: String,
    /// The run's seed.
    pub seed: u64,
    /// Interactions of training behind the policy.
    pub trained_interactions: u64,
    /// `on` or `off`.
    pub noise: String,
    /// Seed of the starts of the episodes.
    pub start_seed: u64,
    /// Names of the actions, in order.
    pub actions: Vec<String>,
    /// Episodes begun.
    pub episodes: u64,
    /// Interactions played in them.
    pub interactions: u64,
    /// |σ| of all states visited.
    pub sigma: SigmaRange,
}

/// A state visited in an evaluation, with the policy's σ, Q and action.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SeenState {
    /// Number of its episode, from 0.
    pub episode: u64,
    /// Interactions of the episode before this state.
    pub interaction: u64,
    /// |σ(s)|, the mean over layers or weights where there are several.
    pub sigma_abs: f64,
    /// Q(s, ·) in the order of the actions; of the perturbed network if the policy had its noise.
    pub q: Vec<f64>,
    /// Index of the action chosen.
    pub action: usize,
    /// Whether the noise-free network would have chosen another action.
    pub noise_changed_action: bool,
    /// The true risk, in environments that know it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub true_risk: Option<f64>,
}

/// The states with the smallest and largest |σ| of an evaluation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RiskGallery {
    pub subject: RiskSubject,
    /// Minimum interactions between two of these states in one episode.
    pub apart_interactions: u64,
    /// Smallest |σ| first.
    pub smallest: Vec<GalleryState>,
    /// Largest |σ| first.
    pub largest: Vec<GalleryState>,
}

/// A state of a gallery.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GalleryState {
    /// File name of its picture, in the folder of `gallery.json`.
    pub picture: String,
    #[serde(flatten)]
    pub state: SeenState,
}

/// How the outcomes of the actions were measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AuditSettings {
    /// Continuations per state and action.
    pub continuations: usize,
    /// Maximum interactions of a continuation, the tried action included.
    pub horizon_interactions: u64,
    /// Discount of the returns.
    pub gamma: f64,
    /// `clipped` or `raw`: the rewards the agent learned from.
    pub rewards: String,
    /// Probability of a random action during the continuation.
    pub epsilon: f64,
    /// Whether the environment itself is stochastic.
    pub world_has_chance: bool,
}

/// States of an evaluation with the outcomes of every action.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RiskAudit {
    pub subject: RiskSubject,
    pub settings: AuditSettings,
    /// In the order they were visited.
    pub states: Vec<AuditedState>,
}

/// A state and the outcomes of its actions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AuditedState {
    #[serde(flatten)]
    pub state: SeenState,
    /// Outcome of each action, in the order of the actions.
    pub futures: Vec<ActionFutures>,
    /// What the policy's noise does in it, by many draws.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub noise: Option<StateNoise>,
    /// How far apart its two best actions are, in units that the noise can be compared with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap: Option<ActionGap>,
    /// How often this very state occurred in the evaluation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub visits: Option<u64>,
    /// What the size of the noise in it should follow from, for agents whose noise one σ(s) scales.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub law: Option<StateLaw>,
    /// Return of the best action minus that of a random one; the best is chosen by the other continuations.
    pub risk_return: f64,
    /// Probability of losing a life (or the game) within the horizon after a random action, minus that after the best.
    pub risk_harm: f64,
}

/// The noise of a policy in one state, by many draws.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct StateNoise {
    /// Number of draws.
    pub draws: usize,
    /// Share of the draws that changed the action.
    pub changed_share: f64,
    /// Standard deviation of Q(s, a) over the draws, mean over the actions: the size of the noise of Q.
    pub q_noise: f64,
    /// Share of the perturbation module's hidden units that are active in this state, for agents with a module.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub live_units_share: Option<f64>,
}

/// The two best actions of a state, and how far the noise moves their values against each other.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ActionGap {
    /// Value of the greedy action less that of the second best, without noise.
    pub q: f64,
    /// Standard deviation of this difference over the draws of the noise.
    pub noise: f64,
}

/// What decides the size of the noise in a state, computed from the network's weights and features.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct StateLaw {
    /// V(s): the variance of Q that σ = 1 would give, to first order, mean over the actions.
    pub unit_variance: f64,
    /// λ(s)·k₂, the weight of the state's KL times the perturbed parameters, for agents with a KL term.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kl_weight: Option<f64>,
    /// n(s): visits in training by the agent's own count, for agents that count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counted_visits: Option<u32>,
}

/// Outcome of an action over all continuations.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ActionFutures {
    /// Mean discounted return.
    pub return_mean: f64,
    /// Share of continuations in which a life or the game was lost.
    pub harm_share: f64,
}
