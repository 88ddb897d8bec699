//! What a checkpoint keeps of a learner.

use super::Learner;
use crate::AgentError;
use crate::extra_features::ExtraFeatures;
use serde::{Deserialize, Serialize};

/// Everything a learner is but its configuration: with it a run goes on bit for bit. Buffers are in the engine's layout.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LearnerState {
    /// Parameters of the online network.
    pub online: Vec<f32>,
    /// Parameters of the target network.
    pub target: Vec<f32>,
    /// Adam's first moments.
    pub first_moment: Vec<f32>,
    /// Adam's second moments.
    pub second_moment: Vec<f32>,
    /// Learn steps done.
    pub learn_steps: u64,
    /// Visit counters; empty for agents that keep none.
    pub visits: Vec<u32>,
}

impl Learner {
    /// Everything a checkpoint needs.
    pub fn save_state(&self) -> LearnerState {
        LearnerState {
            online: self.policy.params.to_vec(),
            target: self.target.to_vec(),
            first_moment: self.adam.first_moments().to_vec(),
            second_moment: self.adam.second_moments().to_vec(),
            learn_steps: self.adam.steps(),
            visits: self.policy.sources.visits.as_ref().map_or_else(Vec::new, |visits| visits.memory().to_vec()),
        }
    }

    /// Takes a checkpoint over; refuses one of another agent and is then unchanged.
    pub fn load_state(&mut self, state: &LearnerState) -> Result<(), AgentError> {
        let expected = self.policy.network.layout.len();
        for (what, part) in [("the saved online network", &state.online), ("the saved target network", &state.target)] {
            if part.len() != expected {
                return Err(sane_nn::NnError::WrongLength { what, found: part.len(), expected }.into());
            }
        }
        let counters = self.policy.sources.visits.as_ref().map_or(0, |visits| visits.memory().len());
        if state.visits.len() != counters {
            return Err(AgentError::VisitCounts { found: state.visits.len(), expected: counters });
        }
        self.adam.restore(state.learn_steps, &state.first_moment, &state.second_moment)?;
        self.policy.params.copy_from_slice(&state.online);
        self.target.copy_from_slice(&state.target);
        if let Some(visits) = &mut self.policy.sources.visits {
            visits.restore(&state.visits);
        }
        Ok(())
    }
}
