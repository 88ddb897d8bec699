//! The learner: a batch in, one optimiser step and its [`LearnStats`] out. It also acts, by its [`Policy`].

mod state;
mod workspace;

pub use state::LearnerState;
pub(crate) use workspace::Workspace;

use crate::exploration::QFeatures;
use crate::noise::NoiseUser;
use crate::objective::Regulariser;
use crate::pass::HeadMode;
use crate::policy::{Policy, element};
use crate::probe::{Phase, Probe};
use crate::{ActMode, AgentConfig, AgentError, Decision, Exploration, LearnError, SigmaStats, trace};
use sane_env::{EnvSpec, Stream};
use sane_nn::{Adam, Buffer, Kernel, NamedTensor, clip_scale, global_norm};
use sane_replay::Batch;

/// An agent that learns: online and target network, optimiser, and what it remembers of states.
#[derive(Debug, Clone)]
pub struct Learner {
    policy: Policy,
    target: Buffer,
    adam: Adam,
    workspace: Option<Box<Workspace>>,
}

/// What one learn step gave.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LearnStats {
    /// The loss that was minimised.
    pub loss: f32,
    /// Mean of Q(s, a) over the batch.
    pub mean_q: f32,
    /// Mean of the targets.
    pub mean_target: f32,
    /// σ over the batch, for agents whose noise has one.
    pub sigma: Option<SigmaStats>,
    /// Norm of the whole gradient before clipping, where it was computed (with clipping or a KL term).
    pub gradient_norm: Option<f32>,
}

impl Learner {
    /// A new agent for this world, its parameters drawn from `init`, its target network a copy.
    ///
    /// DEVIATION(target-init): the paper draws the target network separately: docs/deviations.md#target-init.
    pub fn new(config: &AgentConfig, world: &EnvSpec, init: &mut Stream) -> Result<Self, AgentError> {
        Self::on_kernel(config, world, init, Kernel::detect())
    }

    /// As [`new`](Self::new), computing with the given kernel instead of the fastest.
    pub fn on_kernel(
        config: &AgentConfig,
        world: &EnvSpec,
        init: &mut Stream,
        kernel: Kernel,
    ) -> Result<Self, AgentError> {
        let policy = Policy::untrained(config, world, init, kernel)?;
        let crate::AdamConfig { learning_rate, beta_1, beta_2, epsilon } = config.optimiser;
        let adam = sane_nn::AdamHyperparameters { learning_rate, beta1: beta_1, beta2: beta_2, epsilon };
        let adam = Adam::new(kernel, adam, policy.network.layout.len());
        Ok(Self { target: policy.params.clone(), adam, policy, workspace: None })
    }

    /// Chooses an action; see [`Policy::act`].
    pub fn act(&mut self, state: &[u8], mode: ActMode, noise: &mut Stream) -> Decision {
        self.policy.act(state, mode, noise)
    }

    /// One optimiser step. Draws one number from `noise`; allocates only when the batch size changes.
    pub fn learn(&mut self, batch: &Batch, noise: &mut Stream) -> Result<LearnStats, LearnError> {
        self.learn_watched(batch, noise, &mut ())
    }

    /// As [`learn`](Self::learn), telling `probe` which part has just ended.
    ///
    /// ```text
    /// for i in 1…b: θᵖ' ← θᵖ + σ(h(sᵢ; θᵇ); Θ)·ε;  θ̂ᵖ' ← θ̂ᵖ + σ(h(s'ᵢ; θ̂ᵇ); Θ̂)·ε̂
    ///               L ← L + 1/b [Q(sᵢ, aᵢ; θᵖ', θᵇ) − Tᵢ]²
    /// backpropagate to minimise L                                                            [SANE:alg-learn]
    /// ```
    pub fn learn_watched(
        &mut self,
        batch: &Batch,
        noise: &mut Stream,
        probe: &mut impl Probe,
    ) -> Result<LearnStats, LearnError> {
        let mut work = self.workspace_for(batch.size());
        let result = self.step(&mut work, batch, noise.next_u64(), probe);
        self.workspace = Some(work);
        result
    }

    /// Copies the online network into the target network.
    ///
    /// ```text
    /// θ̂ ← θ;  Θ̂ ← Θ                                                                        [SANE:alg-sync]
    /// ```
    pub fn sync_target(&mut self) {
        self.target.copy_from_slice(&self.policy.params);
    }

    /// Learn steps done.
    pub fn learn_steps(&self) -> u64 {
        self.adam.steps()
    }

    /// The configuration it was built from.
    pub fn config(&self) -> &AgentConfig {
        &self.policy.config
    }

    /// The acting half on its own, with the parameters as they are now: for evaluation on other threads.
    pub fn policy(&self) -> Policy {
        let mut policy = self.policy.clone();
        if let Ok(small) = policy.network.resized(&policy.config, &policy.world, 1) {
            policy.network = small;
        }
        policy
    }

    /// Q(s, ·) of the last decision; see [`Policy::q_values`].
    pub fn q_values(&self) -> &[f32] {
        self.policy.q_values()
    }

    /// Size and sign of σ over some states and the health of the module; see [`Policy::module_health`].
    pub fn module_health(&self, states: &[u8]) -> Option<SigmaStats> {
        self.policy.module_health(states)
    }

    /// Parameters of the online network with PyTorch's names, shapes and layouts.
    pub fn export(&self) -> Vec<NamedTensor> {
        self.policy.export()
    }

    /// Parameters of the target network, likewise.
    pub fn export_target(&self) -> Vec<NamedTensor> {
        self.policy.network.layout.export(&self.target)
    }

    /// Takes parameters over into the online network; refuses a set that does not fit, naming what does not.
    pub fn import(&mut self, tensors: &[NamedTensor]) -> Result<(), AgentError> {
        self.policy.import(tensors)
    }

    /// Takes parameters over into the target network.
    pub fn import_target(&mut self, tensors: &[NamedTensor]) -> Result<(), AgentError> {
        Ok(self.policy.network.layout.import(&mut self.target, tensors)?)
    }

    /// What the last learn step drew and computed, by name: `q[B,A]`, `target_value[B]`, `sigma[B]` or `sigma[B,sigmas]` and,
    /// under `online.`, `target.` and with double-Q `selector.`, the noise (`z_in1`, `z_out1`, …; `eps_w1`, `eps_b1`, …
    /// where it is independent). Empty before the first.
    pub fn last_step(&self) -> Vec<NamedTensor> {
        self.workspace.as_ref().map_or_else(Vec::new, |work| trace::of_step(&self.policy.network, work))
    }

    fn step(
        &mut self,
        work: &mut Workspace,
        batch: &Batch,
        draw: u64,
        probe: &mut impl Probe,
    ) -> Result<LearnStats, LearnError> {
        let Self { policy, target, adam, .. } = self;
        let Policy { config, world, network, params, sources, .. } = policy;
        let (kernel, kind) = (network.kernel, element(world));
        let q_features = match &config.exploration {
            Exploration::QSane { q_features, .. } => *q_features,
            _ => QFeatures::Clean,
        };
        let Workspace { online, target: next, selector, target_network, backward, .. } = work;
        // Both passes at once: threads that one of them leaves idle at its ends help with the other.
        rayon::join(
            || {
                next.draw(kernel, draw, NoiseUser::Target);
                next.hidden(target_network, target, &batch.next_states, kind, None);
                next.head(target_network, target, HeadMode::Noisy, q_features, sources, &batch.next_states);
                if let Some(pass) = selector {
                    pass.draw(kernel, draw, NoiseUser::Selector);
                    pass.hidden(target_network, params, &batch.next_states, kind, None);
                    pass.head(target_network, params, HeadMode::Noisy, q_features, sources, &batch.next_states);
                }
            },
            || {
                online.draw(kernel, draw, NoiseUser::Online);
                online.hidden(network, params, &batch.states, kind, Some(&mut backward.trace));
                online.head(network, params, HeadMode::Noisy, q_features, sources, &batch.states);
            },
        );
        work.fill_targets(batch, config.gamma);
        let mut loss = work.td_loss(batch);
        probe.finished(Phase::Forward);

        let learn_step = adam.steps() + 1;
        let report = |work: &Workspace, params: &[f32], what, value| LearnError::NotFinite {
            what,
            value,
            learn_step,
            agent: config.exploration.kind(),
            mean_q: mean(&work.q_taken),
            mean_target: mean(&work.targets),
            mean_abs_sigma: work.online.sigma_stats().map(|stats| stats.mean_abs),
            largest_parameter: params.iter().fold(0.0, |largest, p| if p.abs() <= largest { largest } else { p.abs() }),
        };
        if !loss.is_finite() {
            return Err(report(work, params, "the loss", loss));
        }
        let deviations = network.layers.iter().filter(|layer| layer.deviation.is_some()).map(|l| l.parameters()).sum();
        let perturbed = if work.online.sigma.is_some() { network.perturbed() } else { 0 };
        let regulariser: Option<Regulariser> = config.objective.regulariser(perturbed, deviations);
        let Workspace { online, backward, .. } = work;
        loss += backward.down_to_features(network, params, online, regulariser.as_ref());
        probe.finished(Phase::HeadBackward);
        let observations = online.observations(&batch.states, kind);
        let mut gradient_norm = None;
        if regulariser.is_none() && config.clip_gradient_norm.is_none() {
            backward.update(network, params, adam, online, observations);
        } else {
            backward.store(network, online, observations);
            if let Some(weights) = &regulariser {
                loss += backward.add_parameter_kl(network, params, weights);
            }
            let norm = global_norm(kernel, &backward.flat);
            if !(loss + norm).is_finite() {
                return Err(report(work, params, "the loss or its gradient", loss + norm));
            }
            adam.begin_clipped_step(config.clip_gradient_norm.map_or(1.0, |limit| clip_scale(norm, limit)));
            let all = 0..network.layout.len();
            adam.apply(params, &work.backward.flat, all);
            gradient_norm = Some(norm);
        }
        let stats = LearnStats {
            loss,
            mean_q: mean(&work.q_taken),
            mean_target: mean(&work.targets),
            sigma: work.online.sigma_stats(),
            gradient_norm,
        };
        probe.finished(Phase::Update);
        Ok(stats)
    }

    fn workspace_for(&mut self, batch: usize) -> Box<Workspace> {
        if let Some(work) = self.workspace.take()
            && work.batch == batch
        {
            return work;
        }
        let Policy { config, world, network, .. } = &mut self.policy;
        if network.max_batch < batch
            && let Ok(larger) = network.resized(config, world, batch)
        {
            *network = larger;
        }
        Box::new(Workspace::new(network, config, batch))
    }
}

fn mean(numbers: &[f32]) -> f32 {
    numbers.iter().sum::<f32>() / numbers.len() as f32
}
