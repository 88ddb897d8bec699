//! What a way of exploring does outside the network: actions it chooses itself, and what it remembers between decisions.

use crate::AgentError;
use crate::explorer::Setting;
use sane_env::{Action, AgentSteps, Stream};
use sane_nn::Matrix;
use serde::{Deserialize, Serialize};
use std::fmt::Debug;

/// The acting side of a way of exploring. All of it is part of the checkpoint, through [`memory`](Self::memory).
pub trait Behaviour: CloneBehaviour + Debug + Send + Sync {
    /// An episode begins.
    fn begin_episode(&mut self) {}

    /// A decision is about to be made, exploring or with noise as if exploring.
    fn begin_decision(&mut self) {}

    /// A state was seen while exploring.
    fn visit(&mut self, _state: &[u8]) {}

    /// h(s) of a state that was seen while exploring.
    fn visit_features(&mut self, _features: &[f32]) {}

    /// The true risk of a state, for agents that ask for it ([`Explorer::reads_true_risk`](crate::Explorer::reads_true_risk)).
    fn inform(&mut self, _state: &[u8], _true_risk: f64) {}

    /// σ of the states of a batch that was learned from, for agents that have one.
    fn learned(&mut self, _sigma: &Matrix) {}

    /// The action rule: an action chosen without the network, or none for the greedy action of the (perturbed) network.
    /// `now` is the number of interactions so far, `actions` how many actions there are.
    fn choose(&mut self, _now: AgentSteps, _actions: usize, _noise: &mut Stream) -> Option<Action> {
        None
    }

    /// How often it has seen a state, or states it takes for the same; none where it does not count.
    fn visits(&self, _state: &[u8], _features: &[f32]) -> Option<u32> {
        None
    }

    /// Writes what it knows about a state with features h(s), for the perturbation.
    fn features(&self, _state: &[u8], _features: &[f32], _out: &mut [f32]) {}

    /// What a checkpoint keeps of it; the length never changes.
    fn memory(&self) -> &[u32] {
        &[]
    }

    /// Whether a saved memory of the right length can be one of a world with so many actions.
    fn is_valid(&self, _memory: &[u32], _actions: usize) -> bool {
        true
    }

    /// Restores what [`memory`](Self::memory) gave; it has been checked.
    fn restore(&mut self, _memory: &[u32]) {}
}

/// Always the greedy action of the (perturbed) network; remembers nothing.
#[derive(Debug, Clone, Copy)]
pub struct AlwaysGreedy;

impl Behaviour for AlwaysGreedy {}

/// How long one draw of the noise is acted on. Learning draws afresh for every batch either way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Thompson {
    /// For one decision, as in the paper: the noise dithers.
    #[default]
    Step,
    /// From the beginning of an episode to its end: the agent commits itself to one sampled network.
    Episode,
    /// Not at all: noise stays in learning, where the largest of noisy values makes targets optimistic, and the agent acts
    /// on the means.
    Never,
}

/// What `thompson` may be for an agent whose noise is in acting alone.
pub(crate) const ONLY_IN_ACTING: &str = "step or episode, since this agent has no noise but in acting";

impl Thompson {
    pub(crate) const SETTING: Setting = Setting {
        key: "thompson",
        meaning: "noisy agents: how long a draw of the noise is acted on: step, episode or never",
    };

    /// For agents that are nothing without noise in acting; `expected` says so.
    pub(crate) fn check_is_acted_on(self, expected: &'static str) -> Result<(), AgentError> {
        match self {
            Self::Step | Self::Episode => Ok(()),
            Self::Never => Err(AgentError::OutOfRange { key: "exploration.thompson", value: "never".into(), expected }),
        }
    }
}

/// Cloning behind a `Box<dyn Behaviour>`; every `Clone` type has it.
pub trait CloneBehaviour {
    fn clone_behaviour(&self) -> Box<dyn Behaviour>;
}

impl<T: Behaviour + Clone + 'static> CloneBehaviour for T {
    fn clone_behaviour(&self) -> Box<dyn Behaviour> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn Behaviour> {
    fn clone(&self) -> Self {
        self.as_ref().clone_behaviour()
    }
}
