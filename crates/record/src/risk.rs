//! What is written down about risk: states seen in an evaluation, and what became of them when every action was tried.
//!
//! `gallery.json` is a [`RiskGallery`], `audit.json` begins with a [`RiskAudit`]; `docs/risk.md` explains both.

use crate::SigmaRange;
use serde::{Deserialize, Serialize};

/// Which policy was looked at, and where.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RiskSubject {
    /// [`SCHEMA_VERSION`](crate::SCHEMA_VERSION).
    pub schema_version: u32,
    /// The world as typed on the command line.
    pub world: String,
    /// The environment profile (Atari).
    pub profile: String,
    /// The agent.
    pub agent: String,
    /// The run's seed.
    pub seed: u64,
    /// Interactions of training behind the policy.
    pub trained_interactions: u64,
    /// `on` or `off`.
    pub noise: String,
    /// What the starts of the episodes followed from.
    pub start_seed: u64,
    /// Names of the actions, in order.
    pub actions: Vec<String>,
    /// Episodes that were begun.
    pub episodes: u64,
    /// Interactions played in them.
    pub interactions: u64,
    /// |σ| of all states met.
    pub sigma: SigmaRange,
}

/// A state met in an evaluation and what the policy thought of it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SeenState {
    /// Number of its episode, from 0.
    pub episode: u64,
    /// Interactions of that episode before it.
    pub interaction: u64,
    /// |σ(s)|, the mean over layers or weights where there are several.
    pub sigma_abs: f64,
    /// Q(s, ·), in the order of the actions; of the perturbed network where there was noise.
    pub q: Vec<f64>,
    /// Index of the action chosen.
    pub action: usize,
    /// Whether the noise-free network would have chosen otherwise.
    pub noise_changed_action: bool,
    /// The true risk, in worlds that know it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub true_risk: Option<f64>,
}

/// The states with the smallest and largest |σ| of an evaluation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RiskGallery {
    /// Whose.
    pub subject: RiskSubject,
    /// Interactions between two of these states in one episode, at least.
    pub apart_interactions: u64,
    /// Smallest |σ| first.
    pub smallest: Vec<GalleryState>,
    /// Largest |σ| first.
    pub largest: Vec<GalleryState>,
}

/// A state of a gallery.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GalleryState {
    /// Its picture, beside the file this stands in.
    pub picture: String,
    /// The state.
    #[serde(flatten)]
    pub state: SeenState,
}

/// How the futures of the states were measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AuditSettings {
    /// Futures per state and action.
    pub continuations: usize,
    /// Interactions that each future lasts at most, the tried action included.
    pub horizon_interactions: u64,
    /// Discount of the returns.
    pub gamma: f64,
    /// `clipped` or `raw`: the rewards the agent learned from.
    pub rewards: String,
    /// Probability of a random action while the policy plays on.
    pub epsilon: f64,
    /// Whether the world's own chance makes the futures differ.
    pub world_has_chance: bool,
}

/// States of an evaluation, each with what became of it after every action.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RiskAudit {
    /// Whose.
    pub subject: RiskSubject,
    /// How.
    pub settings: AuditSettings,
    /// In the order they were met.
    pub states: Vec<AuditedState>,
}

/// A state and its futures.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AuditedState {
    /// The state.
    #[serde(flatten)]
    pub state: SeenState,
    /// What followed each action, in the order of the actions.
    pub futures: Vec<ActionFutures>,
    /// How much more return the best action brings than a random one; best by the other continuations.
    pub risk_return: f64,
    /// Chance of losing a life (or the game) within the horizon after a random action, above that after the best one.
    pub risk_harm: f64,
}

/// What followed an action, over all continuations.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct ActionFutures {
    /// Mean discounted return.
    pub return_mean: f64,
    /// Share in which a life or the game was lost.
    pub harm_share: f64,
}
