//! What can go wrong at the border of this crate.

use crate::network::{MOST_PARAMETERS, MOST_WIDTH};
use sane_nn::NnError;

/// Why an agent cannot be built, loaded or restored.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum AgentError {
    /// A size is zero.
    #[error("{layer}: {problem}; every size must be at least 1")]
    Zero {
        /// The layer, as it is named in exports.
        layer: String,
        /// The sizes.
        problem: String,
    },
    /// A convolution's kernel is larger than what it reads.
    #[error(
        "{layer}: a kernel of {kernel}×{kernel} does not fit into its input of {height}×{width}; \
         choose a smaller kernel or stride"
    )]
    KernelTooLarge {
        /// The layer, as it is named in exports.
        layer: String,
        /// Rows and columns of the kernel.
        kernel: usize,
        /// Rows of its input.
        height: usize,
        /// Columns of its input.
        width: usize,
    },
    /// A module with an output per weight would be enormous.
    #[error(
        "sane-weightwise would need a module of {parameters} parameters, at most {limit} are allowed; \
         use a smaller network or sane-layerwise"
    )]
    ModuleTooLarge {
        /// What it would take.
        parameters: usize,
        /// What is allowed.
        limit: usize,
    },
    /// A number of the configuration is out of its range.
    #[error("{key} = {value} is not possible; expected {expected}")]
    OutOfRange {
        /// The configuration key.
        key: &'static str,
        /// What it is.
        value: String,
        /// What it may be.
        expected: &'static str,
    },
    /// Noise of any size changes fewer actions than it shall.
    #[error(
        "exploration.q_noise = {share} is not possible with {actions} actions: noise of whatever size changes fewer than 1 − 1/{actions} \
         of them; choose a smaller share of actions, or another unit (exploration.q_noise_unit = gap)"
    )]
    ShareOfActions { share: f32, actions: usize },
    /// The engine refused shapes, or tensors that do not belong to this network.
    #[error(transparent)]
    Engine(#[from] NnError),
    /// What a saved way of exploring remembers does not fit.
    #[error("the saved exploration state holds {found} numbers, this agent has {expected}; it is of another agent")]
    BehaviourMemory { found: usize, expected: usize },
    /// What a saved way of exploring remembers is impossible in this world.
    #[error("the saved exploration state is none of this agent in this world; the file was altered")]
    BehaviourState,
    /// A network that no computer holds.
    #[error(
        "{layer}: {problem}; a layer has at most {MOST_WIDTH} units, a network at most {MOST_PARAMETERS} parameters"
    )]
    TooLarge {
        /// The layer, as it is named in exports.
        layer: String,
        /// The sizes.
        problem: String,
    },
    /// A custom way of exploring was read from a file, which holds only its name.
    #[error(
        "the way of exploring `{name}` is not part of this program; it can be used only by the program that defines it \
         (Exploration::custom)"
    )]
    CustomExplorer { name: String },
}

/// Why a learn step gave no usable result. The parameters must not be used any further.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum LearnError {
    /// A number that is not finite, with what the agent looked like.
    #[error(
        "{what} is {value} at learn step {learn_step}: agent {agent}, mean Q {mean_q}, mean target {mean_target}, {}largest \
         |parameter| {largest_parameter}",
        .mean_abs_sigma.map_or(String::new(), |sigma| format!("mean |σ| {sigma}, "))
    )]
    NotFinite {
        /// Which number.
        what: &'static str,
        /// Its value.
        value: f32,
        /// Learn steps done before this one, plus one.
        learn_step: u64,
        /// The agent's name.
        agent: String,
        /// Mean of Q(s, a) over the batch.
        mean_q: f32,
        /// Mean of the targets.
        mean_target: f32,
        /// Mean of |σ| over the batch, if the agent has one.
        mean_abs_sigma: Option<f32>,
        /// Largest absolute parameter of the online network.
        largest_parameter: f32,
    },
    /// A number of the agent's state that is not finite.
    #[error(
        "{what} holds {value} after {learn_steps} learn steps, so its decisions mean nothing; use an earlier checkpoint, \
         or train with a lower learning rate or a clipped gradient"
    )]
    StateNotFinite {
        /// The network or the moments.
        what: &'static str,
        /// The first such number.
        value: f32,
        /// Learn steps done.
        learn_steps: u64,
    },
}
