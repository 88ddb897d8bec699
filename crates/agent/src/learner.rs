//! The learner: a batch in, one optimiser step and its [`LearnStats`] out. It also acts, by its [`Policy`].
//!
//! [`Learner::learn`] is the inner half of Algorithm 1 on one screen: target forward → targets → online forward → loss →
//! backward → Adam.

use crate::bound::{BoundState, BoundStats};
use crate::explorers::bayes_head::PosteriorFit;
use crate::noise::PassRole;
use crate::objective::KlParts;
use crate::pass::Memory;
use crate::perturbation::Purpose;
use crate::policy::Policy;
use crate::workspace::{Parameters, Workspace};
use crate::{ActMode, AgentConfig, AgentError, Decision, LearnError, SigmaStats, trace};
use sane_env::{EnvSpec, Stream};
use sane_nn::{Adam, Buffer, Kernel, NamedTensor};
use sane_replay::{Batch, WarmReplay};
use serde::{Deserialize, Serialize};

/// An agent that learns: online and target network, optimiser, and what it remembers of states.
#[derive(Debug, Clone)]
pub struct Learner {
    policy: Policy,
    target: Buffer,
    adam: Adam,
    workspace: Option<Box<Workspace>>,
    /// Sums of a refit, for agents with a posterior.
    posterior: Option<Box<PosteriorFit>>,
}

/// What one learn step gave.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LearnStats {
    /// The loss that was minimised: the TD loss and, where there is one, the KL term.
    pub loss: f32,
    /// The mean squared TD error.
    pub td_loss: f32,
    /// What the KL term adds to it.
    pub kl: Option<KlParts>,
    /// The weight of the KL term and what it follows, for agents that choose it by the size of the noise.
    pub bound: Option<BoundStats>,
    /// Mean of Q(s, a) over the batch.
    pub mean_q: f32,
    /// Mean of the targets.
    pub mean_target: f32,
    /// σ over the batch, for agents whose noise has one.
    pub sigma: Option<SigmaStats>,
    /// Norm of the whole gradient before clipping, where it was computed (with clipping or a KL term).
    pub gradient_norm: Option<f32>,
}

/// Parts of a learn step, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LearnPhase {
    /// Noise, Q(s', ·) of the target network and Q(s, ·) of the online network, which are computed side by side.
    Forward,
    /// Derivatives of the dense layers and the module, down to h(s).
    HeadBackward,
    /// Derivatives of the convolutions and of all weights, the optimiser's step, the statistics.
    Update,
}

impl LearnPhase {
    /// All of them, in order.
    pub const ALL: [Self; 3] = [Self::Forward, Self::HeadBackward, Self::Update];

    /// A name for a table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Forward => "forward",
            Self::HeadBackward => "head-backward",
            Self::Update => "update",
        }
    }
}

/// A callback at the end of each part of a learn step; it may read a clock, this crate has none.
pub trait PhaseObserver {
    fn finished(&mut self, phase: LearnPhase);
}

/// No observer: costs nothing.
impl PhaseObserver for () {
    #[inline(always)]
    fn finished(&mut self, _phase: LearnPhase) {}
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
        let mut adam = Adam::new(kernel, adam, policy.network.layout.len());
        if let Some((range, factor)) = policy.network.perturbation.rate_scale() {
            adam.scale_rate(range, factor);
        }
        Ok(Self { target: policy.params.clone(), adam, policy, workspace: None, posterior: None })
    }

    /// An episode begins; see [`Policy::begin_episode`].
    pub fn begin_episode(&mut self) {
        self.policy.begin_episode();
    }

    /// Tells the true risk of a state; see [`Policy::inform`].
    pub fn inform(&mut self, state: &[u8], true_risk: f64) {
        self.policy.inform(state, true_risk);
    }

    /// Whether one draw of the noise is acted on until the episode ends.
    pub fn holds_noise_for_an_episode(&self) -> bool {
        self.policy.holds_noise_for_an_episode()
    }

    /// Chooses an action; see [`Policy::act`].
    pub fn act(&mut self, state: &[u8], mode: ActMode, noise: &mut Stream) -> Decision {
        self.policy.act(state, mode, noise)
    }

    /// One optimiser step. Draws one number from `noise`; allocates only when the batch size changes.
    pub fn learn(&mut self, batch: &Batch, noise: &mut Stream) -> Result<LearnStats, LearnError> {
        self.learn_observed(batch, noise, &mut ())
    }

    /// As [`learn`](Self::learn), calling `observer` at the end of each part.
    pub fn learn_observed(
        &mut self,
        batch: &Batch,
        noise: &mut Stream,
        observer: &mut impl PhaseObserver,
    ) -> Result<LearnStats, LearnError> {
        let mut work = self.workspace_for(batch.size());
        let result = self.step(&mut work, batch, noise.next_u64(), observer);
        self.workspace = Some(work);
        result
    }

    /// Lines 18 to 27 of Algorithm 1.
    ///
    /// ```text
    /// for i in 1…b: θᵖ' ← θᵖ + σ(h(sᵢ; θᵇ); Θ)·ε;  θ̂ᵖ' ← θ̂ᵖ + σ(h(s'ᵢ; θ̂ᵇ); Θ̂)·ε̂
    ///               L ← L + 1/b [Q(sᵢ, aᵢ; θᵖ', θᵇ) − Tᵢ]²
    /// backpropagate to minimise L                                                            [SANE:alg-learn]
    /// ```
    fn step(
        &mut self,
        work: &mut Workspace,
        batch: &Batch,
        draw: u64,
        observer: &mut impl PhaseObserver,
    ) -> Result<LearnStats, LearnError> {
        let Self { policy: Policy { config, network, params, behaviour, bound, .. }, target, adam, .. } = self;
        let Workspace { online, target: next, selector, target_network, backward, .. } = work;
        let running_gap = bound.as_ref().map_or(0.0, BoundState::gap);
        let memory = Memory { behaviour: behaviour.as_ref(), running_gap };
        let (s, s_next) = (&batch.states, &batch.next_states);
        // Both networks at once: threads that one pass leaves idle at its ends help with the other.
        rayon::join(
            || {
                // Lines 21–24: Q(s', ·; θ̂', Θ̂) and, with double-Q, Q(s', ·; θ', Θ).
                next.forward(target_network, target, s_next, (draw, PassRole::Target), memory, None);
                if let Some(pass) = selector {
                    pass.forward(target_network, params, s_next, (draw, PassRole::Selector), memory, None);
                }
            },
            // Lines 21–24: Q(s, ·; θ', Θ).
            || online.forward(network, params, s, (draw, PassRole::Online), memory, Some(&mut backward.trace)),
        );
        work.fill_targets(batch, config.gamma); // Line 25: Tᵢ = r + γ (1 − done) max Q(s', ·)
        let td_loss = work.td_loss(batch); // Line 26, Eq. 1: L = 1/b Σ (Q(s, a) − Tᵢ)²
        observer.finished(LearnPhase::Forward);
        work.require_finite("the loss", td_loss, config, params, adam)?;
        // Line 27: backpropagate; with the whole bound (Eq. 8, 9) the KL of σ(s) and of θ joins the loss.
        if let Some(bound) = bound {
            bound.add_batch(work.online.plain_q(), work.online.q(), |i| work.online.perturbation.kl_scale(i));
            work.require_finite(
                "the weight of the KL term",
                bound.kl_weight(network.perturbed()),
                config,
                params,
                adam,
            )?;
        }
        let regulariser = config.objective.regulariser_of(bound.as_ref(), network, &work.online);
        let Workspace { online, backward, .. } = work;
        let kl_of_states = backward.down_to_features(network, params, online, regulariser.as_ref());
        observer.finished(LearnPhase::HeadBackward);
        let bound = bound.as_ref().map(|bound| bound.stats(network.perturbed()));
        let (loss, learner) = (td_loss + kl_of_states, Parameters { network, params, adam, config, draw });
        let (kl, gradient_norm) = work.descend(learner, s, regulariser.as_ref(), loss)?;
        let kl = regulariser.map(|_| KlParts { sigma: kl_of_states + kl.sigma, ..kl });
        let stats = work.stats(td_loss, kl, bound, gradient_norm);
        if let Some(sigma) = work.online.perturbation.sigma() {
            behaviour.learned(sigma);
        }
        observer.finished(LearnPhase::Update);
        Ok(stats)
    }

    /// Copies the online network into the target network.
    ///
    /// ```text
    /// θ̂ ← θ;  Θ̂ ← Θ                                                                        [SANE:alg-sync]
    /// ```
    pub fn sync_target(&mut self) {
        self.target.copy_from_slice(&self.policy.params);
    }

    /// Refits what an agent derives from the whole replay: the posterior of a Bayesian last layer. Call it before each
    /// [`sync_target`](Self::sync_target); `learn_steps` lie between two of them. Other agents draw nothing.
    pub fn refit(&mut self, replay: &mut WarmReplay<'_>, batch: &mut Batch, draws: &mut Stream, learn_steps: u64) {
        let Some(settings) = self.policy.config.exploration.bayes_head().cloned() else { return };
        let mut fit = self.posterior.take().unwrap_or_else(|| Box::new(PosteriorFit::new(&self.policy.network)));
        let mut work = self.workspace_for(batch.size());
        let Policy { params, behaviour, .. } = &mut self.policy;
        let Workspace { target: pass, target_network: network, .. } = &mut *work;
        let batches = settings.sample_size(learn_steps).div_ceil(batch.size());
        fit.clear();
        for _ in 0..batches {
            replay.sample(draws, batch);
            pass.hidden(network, params, &batch.states, None);
            let memory = Memory { behaviour: behaviour.as_ref(), running_gap: 0.0 };
            pass.head(network, params, Purpose::ActWithoutNoise, &batch.states, memory);
            fit.add(pass.last_inputs(), &batch.actions);
        }
        fit.finish(&settings, replay.transitions() as f64 / (batches * batch.size()) as f64, params);
        self.workspace = Some(work);
        self.posterior = Some(fit);
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
        policy.begin_episode();
        if let Ok(small) = policy.network.resized(&policy.config, &policy.world, 1) {
            policy.network = small;
        }
        policy
    }

    /// Q(s, ·) of the last decision; see [`Policy::q_values`].
    pub fn q_values(&self) -> &[f32] {
        self.policy.q_values()
    }

    /// Parameters of the online network with PyTorch's names, shapes and layouts.
    pub fn export(&self) -> Vec<NamedTensor> {
        self.policy.export()
    }

    /// Parameters of the target network, likewise.
    pub fn export_target(&self) -> Vec<NamedTensor> {
        self.policy.network.layout.export(&self.target)
    }

    /// Replaces the parameters of the online network; refuses a set that does not fit, naming what does not.
    pub fn import(&mut self, tensors: &[NamedTensor]) -> Result<(), AgentError> {
        self.policy.import(tensors)
    }

    /// Replaces the parameters of the target network.
    pub fn import_target(&mut self, tensors: &[NamedTensor]) -> Result<(), AgentError> {
        Ok(self.policy.network.layout.import(&mut self.target, tensors)?)
    }

    /// What the last learn step drew and computed, by name: `q[B,A]`, `target_value[B]` (with K heads `q[B,K·A]`,
    /// `target_value[B,K]` and `weight[B,K]`; `weight[B]` with one head whose weights are not all 1), `sigma[B]` or `sigma[B,sigmas]` and,
    /// under `online.`, `target.` and with double-Q `selector.`, the noise (`z_in1`, `z_out1`, …; `eps_w1`, `eps_b1`, …
    /// where it is independent). Under `langevin.`, by the parameter's name, what a Langevin step drew. Empty before the first.
    pub fn last_step(&self) -> Vec<NamedTensor> {
        self.workspace.as_ref().map_or_else(Vec::new, |work| trace::of_step(&self.policy.network, work))
    }

    /// Everything a checkpoint needs.
    pub fn save_state(&self) -> LearnerState {
        LearnerState {
            online: self.policy.params.to_vec(),
            target: self.target.to_vec(),
            first_moment: self.adam.first_moments().to_vec(),
            second_moment: self.adam.second_moments().to_vec(),
            learn_steps: self.adam.steps(),
            behaviour: self.policy.memory(),
        }
    }

    /// Restores a checkpoint; refuses one of another agent and is then unchanged.
    pub fn load_state(&mut self, state: &LearnerState) -> Result<(), AgentError> {
        let expected = self.policy.network.layout.len();
        for (what, part) in [("the saved online network", &state.online), ("the saved target network", &state.target)] {
            if part.len() != expected {
                return Err(sane_nn::NnError::WrongLength { what, found: part.len(), expected }.into());
            }
        }
        self.policy.check_memory(&state.behaviour)?;
        self.adam.restore(state.learn_steps, &state.first_moment, &state.second_moment)?;
        self.policy.params.copy_from_slice(&state.online);
        self.target.copy_from_slice(&state.target);
        self.policy.restore_memory(&state.behaviour);
        Ok(())
    }

    /// An error if a number of its state is not finite: the agent must not be used, saved or exported any further.
    pub fn require_finite(&self) -> Result<(), LearnError> {
        let bound = self.policy.bound.as_ref().map(|bound| bound.numbers(self.policy.network.perturbed()));
        let parts: [(&str, &[f32]); 5] = [
            ("the online network", &self.policy.params),
            ("the target network", &self.target),
            ("Adam's first moment", self.adam.first_moments()),
            ("Adam's second moment", self.adam.second_moments()),
            ("the size of the noise", bound.as_ref().map_or(&[], |numbers| &numbers[..])),
        ];
        for (what, numbers) in parts {
            if let Some(&value) = numbers.iter().find(|number| !number.is_finite()) {
                return Err(LearnError::StateNotFinite { what, value, learn_steps: self.adam.steps() });
            }
        }
        Ok(())
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
        Box::new(Workspace::new(&self.policy, batch))
    }
}

/// Everything a learner is but its configuration: with it a run resumes bit for bit. Buffers are in the engine's layout.
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
    /// What the way of exploring remembers, for example visit counts or the running gap between action values; empty for
    /// agents that remember nothing.
    pub behaviour: Vec<u32>,
}
