//! What a way of exploring does outside the network: actions it chooses itself, and what it remembers between decisions.

use sane_env::{Action, AgentSteps, Stream};
use std::fmt::Debug;

/// The acting side of a way of exploring. All of it is part of the checkpoint, through [`memory`](Self::memory).
pub trait Behaviour: CloneBehaviour + Debug + Send + Sync {
    /// An episode begins.
    fn begin_episode(&mut self) {}

    /// A state was seen while exploring.
    fn visit(&mut self, _state: &[u8]) {}

    /// The action rule: an action chosen without the network, or none for the greedy action of the (perturbed) network.
    /// `now` is the number of interactions so far, `actions` how many actions there are.
    fn choose(&mut self, _now: AgentSteps, _actions: usize, _noise: &mut Stream) -> Option<Action> {
        None
    }

    /// Writes what it knows about a state for the perturbation module.
    fn features(&self, _state: &[u8], _out: &mut [f32]) {}

    /// What a checkpoint keeps of it; the length never changes.
    fn memory(&self) -> &[u32] {
        &[]
    }

    /// Restores what [`memory`](Self::memory) gave; the length has been checked.
    fn restore(&mut self, _memory: &[u32]) {}
}

/// Always the greedy action of the (perturbed) network; remembers nothing.
#[derive(Debug, Clone, Copy)]
pub struct AlwaysGreedy;

impl Behaviour for AlwaysGreedy {}

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
