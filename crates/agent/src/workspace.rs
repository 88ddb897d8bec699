//! What one learn step computes between its forward and its backward pass: targets and loss, and the buffers of all passes.

use crate::network::Network;
use crate::objective::{Objective, Regulariser};
use crate::pass::{Backward, Pass};
use crate::policy::{Policy, element};
use crate::td_target::{double_q_target, td_target};
use crate::{AgentConfig, LearnError, LearnStats};
use sane_nn::{Adam, clip_scale};
use sane_replay::Batch;

/// What a step moves, and how.
pub(crate) struct Parameters<'a> {
    pub network: &'a mut Network,
    pub params: &'a mut [f32],
    pub adam: &'a mut Adam,
    pub config: &'a AgentConfig,
}

/// Buffers for one batch size.
#[derive(Debug, Clone)]
pub(crate) struct Workspace {
    pub batch: usize,
    pub online: Pass,
    pub target: Pass,
    /// With double-Q: the online network on s'.
    pub selector: Option<Pass>,
    /// Scratch of the passes over s', which run beside the one over s.
    pub target_network: Network,
    pub backward: Backward,
    /// Tᵢ.
    pub targets: Vec<f32>,
    /// Q(sᵢ, aᵢ).
    pub q_taken: Vec<f32>,
    slope: Vec<f32>,
}

impl Workspace {
    /// Buffers for `batch` transitions.
    pub fn new(policy: &Policy, batch: usize) -> Self {
        let pass = || Pass::new(&policy.network, element(&policy.world), batch);
        let online = pass();
        Self {
            batch,
            backward: Backward::new(&policy.network, &online),
            online,
            target: pass(),
            selector: policy.config.double_q.then(pass),
            target_network: policy.network.clone(),
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

    /// The TD loss, and its derivative towards Q written where the backward pass begins.
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

    /// Adam's step down the gradient. It is fused with the derivatives of the dense weights unless those are needed whole, for
    /// the KL of the parameters or for clipping. Returns what that KL adds to the loss, and the norm of the gradient where
    /// it was computed.
    pub fn descend(
        &mut self,
        learner: Parameters<'_>,
        states: &[u8],
        regulariser: Option<&Regulariser>,
        loss: f32,
    ) -> Result<(f32, Option<f32>), LearnError> {
        let Parameters { network, params, adam, config } = learner;
        let Self { online, backward, .. } = self;
        if regulariser.is_none() && config.clip_gradient_norm.is_none() {
            backward.update(network, params, adam, online, states);
            return Ok((0.0, None));
        }
        let (kl, norm) = backward.store(network, params, online, states, regulariser);
        self.require_finite("the loss or its gradient", loss + kl + norm, config, params, adam)?;
        let scale = config.clip_gradient_norm.map_or(1.0, |limit| clip_scale(norm, limit));
        self.backward.apply_stored(params, adam, scale);
        Ok((kl, Some(norm)))
    }

    /// Refuses a number that is not finite, with a description of the agent's state.
    pub fn require_finite(
        &self,
        what: &'static str,
        value: f32,
        config: &AgentConfig,
        params: &[f32],
        adam: &Adam,
    ) -> Result<(), LearnError> {
        if value.is_finite() {
            return Ok(());
        }
        Err(LearnError::NotFinite {
            what,
            value,
            learn_step: adam.steps() + 1,
            agent: config.exploration.kind().to_owned(),
            mean_q: mean(&self.q_taken),
            mean_target: mean(&self.targets),
            mean_abs_sigma: self.online.perturbation.sigma_stats().map(|stats| stats.mean_abs),
            largest_parameter: params.iter().fold(0.0, |largest, p| if p.abs() <= largest { largest } else { p.abs() }),
        })
    }

    /// What the step gave.
    pub fn stats(&self, loss: f32, gradient_norm: Option<f32>) -> LearnStats {
        LearnStats {
            loss,
            mean_q: mean(&self.q_taken),
            mean_target: mean(&self.targets),
            sigma: self.online.perturbation.sigma_stats(),
            gradient_norm,
        }
    }
}

fn mean(numbers: &[f32]) -> f32 {
    numbers.iter().sum::<f32>() / numbers.len() as f32
}
