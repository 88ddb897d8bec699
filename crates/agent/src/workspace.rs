//! What one learn step computes between its forward and its backward pass: targets and loss, and the buffers of all passes.

use crate::bound::BoundStats;
use crate::explorers::langevin::{LangevinNoise, LangevinStep};
use crate::network::Network;
use crate::objective::{KlParts, Objective, Regulariser};
use crate::pass::{Backward, Pass};
use crate::policy::{Policy, element};
use crate::td_target::{double_q_target, td_target};
use crate::{AgentConfig, LearnError, LearnStats};
use sane_nn::{Adam, Matrix, clip_scale};
use sane_replay::Batch;
use std::ops::Range;

/// What a step moves, and how.
pub(crate) struct Parameters<'a> {
    pub network: &'a mut Network,
    pub params: &'a mut [f32],
    pub adam: &'a mut Adam,
    pub config: &'a AgentConfig,
    /// The step's random number.
    pub draw: u64,
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
    /// Sets of action values per state.
    pub heads: usize,
    /// Tᵢ, of each head.
    pub targets: Vec<f32>,
    /// Q(sᵢ, aᵢ), of each head.
    pub q_taken: Vec<f32>,
    /// Weights in the loss, of each head.
    pub weights: Vec<f32>,
    slope: Vec<f32>,
    /// The noise of the optimiser's step, for agents that explore by it.
    pub langevin: Option<LangevinNoise>,
}

impl Workspace {
    /// Buffers for `batch` transitions.
    pub fn new(policy: &Policy, batch: usize) -> Self {
        let pass = || Pass::new(&policy.network, element(&policy.world), batch);
        // The size of the noise is measured against the plain action values.
        let mut online = pass();
        online.learns_plain_q = policy.bound.is_some();
        let heads = online.perturbation.heads();
        let numbers = || vec![0.0; batch * heads];
        Self {
            batch,
            heads,
            backward: Backward::new(&policy.network, &online),
            online,
            target: pass(),
            selector: policy.config.double_q.then(pass),
            target_network: policy.network.clone(),
            targets: numbers(),
            q_taken: numbers(),
            weights: numbers(),
            slope: numbers(),
            langevin: policy
                .config
                .exploration
                .langevin()
                .map(|langevin| LangevinNoise::new(langevin, policy.config.optimiser.learning_rate, &policy.network)),
        }
    }

    /// Tᵢ of each transition and head, from the passes over s'.
    pub fn fill_targets(&mut self, batch: &Batch, gamma: f32) {
        for (n, target) in self.targets.iter_mut().enumerate() {
            let (i, head) = (n / self.heads, n % self.heads);
            let range = values_of_head(self.target.q(), self.heads, head);
            let (reward, terminal) = (batch.rewards[i], batch.terminals[i]);
            let q_next = &self.target.q().row(i)[range.clone()];
            *target = match &self.selector {
                Some(selector) => double_q_target(reward, terminal, gamma, q_next, &selector.q().row(i)[range]),
                None => td_target(reward, terminal, gamma, q_next),
            };
        }
    }

    /// The TD loss, and its derivative towards Q written where the backward pass begins.
    pub fn td_loss(&mut self, batch: &Batch) -> f32 {
        let (q, heads) = (self.online.q(), self.heads);
        let place = |n: usize| values_of_head(q, heads, n % heads).start + usize::from(batch.actions[n / heads].0);
        for (n, (taken, weight)) in self.q_taken.iter_mut().zip(&mut self.weights).enumerate() {
            *taken = q.row(n / heads)[place(n)];
            *weight = self.online.perturbation.weight(batch.numbers[n / heads], n % heads);
        }
        let loss = Objective::td_loss(&self.q_taken, &self.targets, &self.weights, &mut self.slope);
        if let Some(d_q) = self.backward.d_y.last_mut() {
            d_q.clear();
            for (n, slope) in self.slope.iter().enumerate() {
                d_q.row_mut(n / heads)[place(n)] = *slope;
            }
        }
        loss
    }

    /// Adam's step down the gradient. It is fused with the derivatives of the dense weights unless those are needed whole, for
    /// the KL of the parameters, for clipping or for Langevin's step. Returns what that KL adds to the loss, and the norm of the gradient where
    /// it was computed.
    pub fn descend(
        &mut self,
        learner: Parameters<'_>,
        states: &[u8],
        regulariser: Option<&Regulariser>,
        loss: f32,
    ) -> Result<(KlParts, Option<f32>), LearnError> {
        let Parameters { network, params, adam, config, draw } = learner;
        let Self { online, backward, .. } = self;
        let regulariser = regulariser.filter(|weights| weights.reaches_parameters);
        if regulariser.is_none() && config.clip_gradient_norm.is_none() && self.langevin.is_none() {
            backward.update(network, params, adam, online, states);
            return Ok((KlParts::default(), None));
        }
        let (kl, norm) = backward.store(network, params, online, states, regulariser);
        self.require_finite("the loss or its gradient", loss + kl.sum() + norm, config, params, adam)?;
        let scale = config.clip_gradient_norm.map_or(1.0, |limit| clip_scale(norm, limit));
        match (&mut self.langevin, config.exploration.langevin()) {
            (Some(noise), Some(langevin)) => {
                let (learning_rate, gradients) = (config.optimiser.learning_rate, self.backward.gradients());
                let step = LangevinStep { langevin, learning_rate, gradients, scale, draw };
                noise.step(&step, params, adam);
            }
            _ => self.backward.apply_stored(params, adam, scale),
        }
        self.online.perturbation.project(params);
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
    pub fn stats(
        &self,
        td_loss: f32,
        kl: Option<KlParts>,
        bound: Option<BoundStats>,
        gradient_norm: Option<f32>,
    ) -> LearnStats {
        LearnStats {
            loss: kl.map_or(td_loss, |kl| td_loss + kl.sum()),
            td_loss,
            kl,
            bound,
            mean_q: mean(&self.q_taken),
            mean_target: mean(&self.targets),
            sigma: self.online.perturbation.sigma_stats(),
            gradient_norm,
        }
    }
}

/// Where the action values of one head lie in a row.
fn values_of_head(q: &Matrix, heads: usize, head: usize) -> Range<usize> {
    let actions = q.cols() / heads;
    head * actions..(head + 1) * actions
}

fn mean(numbers: &[f32]) -> f32 {
    numbers.iter().sum::<f32>() / numbers.len() as f32
}
