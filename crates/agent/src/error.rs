//! What can go wrong at the border of this crate.

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
    /// The engine refused shapes, or tensors that do not belong to this network.
    #[error(transparent)]
    Engine(#[from] NnError),
    /// A saved memory of visit counts does not fit.
    #[error("the saved visit counts hold {found} counters, this agent has {expected}; they are of another agent")]
    VisitCounts {
        /// Counters in the saved state.
        found: usize,
        /// Counters of this agent.
        expected: usize,
    },
}

/// Why a learn step gave no usable result. The parameters must not be used any further.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum LearnError {
    /// A number that is not finite, with what the agent looked like.
    #[error(
        "{what} is {value} at learn step {learn_step}: agent {agent}, mean Q {mean_q}, mean target {mean_target}, \
         mean |σ| {mean_abs_sigma:?}, largest |parameter| {largest_parameter}; go back to the last checkpoint, \
         and lower the learning rate or clip the gradient"
    )]
    NotFinite {
        /// Which number.
        what: &'static str,
        /// Its value.
        value: f32,
        /// Learn steps done before this one, plus one.
        learn_step: u64,
        /// The agent's name.
        agent: &'static str,
        /// Mean of Q(s, a) over the batch.
        mean_q: f32,
        /// Mean of the targets.
        mean_target: f32,
        /// Mean of |σ| over the batch, if the agent has one.
        mean_abs_sigma: Option<f32>,
        /// Largest absolute parameter of the online network.
        largest_parameter: f32,
    },
}
