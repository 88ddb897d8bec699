//! The passes of one learn step, and the loss between them.

use crate::AgentConfig;
use crate::backward::Backward;
use crate::network::Network;
use crate::objective::Objective;
use crate::pass::Pass;
use crate::td_target::{double_q_target, td_target};
use sane_replay::Batch;

/// Scratch for one batch size.
#[derive(Debug, Clone)]
pub(crate) struct Workspace {
    pub batch: usize,
    pub online: Pass,
    pub target: Pass,
    pub selector: Option<Pass>,
    /// Scratch of the passes over s', which run beside the one over s.
    pub target_network: Network,
    pub backward: Backward,
    pub targets: Vec<f32>,
    pub q_taken: Vec<f32>,
    slope: Vec<f32>,
}

impl Workspace {
    /// Room for `batch` transitions.
    pub fn new(network: &Network, config: &AgentConfig, batch: usize) -> Self {
        let pass = || Pass::new(network, &config.exploration, batch);
        let online = pass();
        Self {
            batch,
            backward: Backward::new(network, &online, batch),
            online,
            target: pass(),
            selector: config.double_q.then(pass),
            target_network: network.clone(),
            targets: vec![0.0; batch],
            q_taken: vec![0.0; batch],
            slope: vec![0.0; batch],
        }
    }

    /// Tᵢ of each transition, from the passes over s'.
    pub fn fill_targets(&mut self, batch: &Batch, gamma: f32) {
        for (i, target) in self.targets.iter_mut().enumerate() {
            let (reward, terminal, q_next) = (batch.rewards[i], batch.terminals[i], self.target.q().row(i));
            *target = match &self.selector {
                Some(selector) => double_q_target(reward, terminal, gamma, q_next, selector.q().row(i)),
                None => td_target(reward, terminal, gamma, q_next),
            };
        }
    }

    /// The loss, and its derivative towards Q laid out for the way back.
    pub fn td_loss(&mut self, batch: &Batch) -> f32 {
        let q = self.online.q();
        for (i, taken) in self.q_taken.iter_mut().enumerate() {
            *taken = q.row(i)[usize::from(batch.actions[i].0)];
        }
        let loss = Objective::td_loss(&self.q_taken, &self.targets, &mut self.slope);
        if let Some(d_q) = self.backward.d_y.last_mut() {
            d_q.clear();
            for (i, slope) in self.slope.iter().enumerate() {
                d_q.row_mut(i)[usize::from(batch.actions[i].0)] = *slope;
            }
        }
        loss
    }
}
