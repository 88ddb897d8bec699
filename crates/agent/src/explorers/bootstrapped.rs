//! Bootstrapped DQN with randomised priors (Osband et al. 2016, "Deep Exploration via Bootstrapped DQN"; Osband, Aslanides and
//! Cassirer 2018, "Randomized Prior Functions for Deep Reinforcement Learning"): K heads that differ by their initial weights, by
//! the transitions they learn from and by a fixed random function each. One head acts for a whole episode.
//!
//! ```text
//! Q_k(s, a) = f_k(s, a; θ) + p_k(s, a)                      f_k: layer k of K on shared features, p_k: fixed
//! L = 1/(bK) Σᵢ Σ_k m_ik (Q_k(sᵢ, aᵢ) − T_ik)²,   T_ik = r + γ (1 − done) max_a' Q̂_k(s'ᵢ, a')
//! m_ik = 1/p with probability p, else 0                     p = ½: double or nothing
//! exploring: k ~ U{1 … K} for each episode, argmax_a Q_k(s, a);   without noise: argmax_a 1/K Σ_k Q_k(s, a)
//! ```
//!
//! The heads share the convolutions and the hidden layers and are one dense layer with K · A outputs. The prior functions are K
//! linear layers on a small fixed network of the same kind, a quarter of the filters and one hidden layer, whose weights are
//! never learned: parameters like the others for checkpoints and exports.
//!
//! m_ik is a hash of the transition's number and the head, so nothing is stored; the number, counted since the start of the run,
//! says nothing about the transition, so the same pattern serves every run.

use crate::AgentError;
use crate::behaviour::Thompson;
use crate::config::in_range;
use crate::explorer::{Explorer, NamedAgent, Registered, Setting};
use crate::network::HeadBuilder;
use crate::noise::{PassRole, mask_bits};
use crate::perturbation::{ActedOn, KlTerm, LayerContext, Perturbation, StateInputs};
use sane_nn::{Activation, Dense, Init, InputOrder, Kernel, Matrix, Observations, Torso};
use serde::{Deserialize, Serialize};

/// Settings of Bootstrapped DQN.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Bootstrapped {
    /// K.
    pub heads: usize,
    /// p: the probability that a head learns from a transition.
    pub mask_probability: f32,
    /// Size of the prior functions; 0 leaves them out.
    pub prior_scale: f32,
    /// Units of the hidden layer of the prior network.
    pub prior_hidden: usize,
}

impl Default for Bootstrapped {
    fn default() -> Self {
        Self { heads: 10, mask_probability: 0.5, prior_scale: 3.0, prior_hidden: 64 }
    }
}

impl Registered for Bootstrapped {
    const KIND: &'static str = "bootstrapped";

    fn agents() -> Vec<NamedAgent<Self>> {
        let summary = "ten heads, one of which acts for an episode; randomised priors (Osband et al. 2016, 2018)";
        vec![NamedAgent { name: "bootstrapped", summary, settings: Self::default() }]
    }

    fn settings() -> Vec<Setting> {
        vec![
            Setting { key: "heads", meaning: "bootstrapped: number of heads K, at least 1" },
            Setting {
                key: "mask_probability",
                meaning: "bootstrapped: probability above 0 that a head learns from a transition",
            },
            Setting { key: "prior_scale", meaning: "bootstrapped: size of the fixed prior functions; 0 = none" },
            Setting { key: "prior_hidden", meaning: "bootstrapped: hidden units of the fixed prior network" },
        ]
    }
}

impl Explorer for Bootstrapped {
    fn check(&self) -> Result<(), AgentError> {
        in_range("exploration.heads", self.heads as f64, 1.0..1025.0, "a number of heads from 1 to 1024")?;
        let probability = f64::from(f32::MIN_POSITIVE)..1.0 + f64::EPSILON;
        let expected = "a probability above 0 and at most 1";
        in_range("exploration.mask_probability", self.mask_probability.into(), probability, expected)?;
        in_range("exploration.prior_scale", self.prior_scale.into(), 0.0..f64::INFINITY, "a number of at least 0")?;
        in_range("exploration.prior_hidden", self.prior_hidden as f64, 1.0..f64::INFINITY, "a number of at least 1")
    }

    /// All heads but the first, which is a plain DQN's. The prior functions are not learned.
    fn parameter_count(&self, dense_widths: &[usize]) -> Result<usize, AgentError> {
        let [.., inputs, actions] = *dense_widths else { return Ok(0) };
        Ok(self.heads.saturating_sub(1) * (inputs * actions + actions))
    }

    fn build(&self, head: &mut HeadBuilder) -> Result<Box<dyn Perturbation>, AgentError> {
        let (actions, last) = (head.actions(), head.layer_count() - 1);
        head.multiply_outputs(self.heads);
        for k in 0..last {
            head.layer("", [Init::GlorotUniform, Init::Constant(0.0)])?;
            debug_assert_eq!(head.layers().len(), k + 1);
        }
        // Each head as if it were alone.
        let alone = glorot(head.widths()[last], actions);
        head.layer("", [Init::Uniform(alone), Init::Constant(0.0)])?;
        let prior = if self.prior_scale == 0.0 { None } else { Some(self.build_prior(actions, head)?) };
        let (heads, kernel) = (self.heads, head.kernel());
        Ok(Box::new(Ensemble { kernel, heads, mask_probability: self.mask_probability, prior, acting: 0 }))
    }

    fn is_noisy(&self) -> bool {
        true
    }

    fn thompson(&self) -> Thompson {
        Thompson::Episode
    }
}

impl Bootstrapped {
    fn build_prior(&self, actions: usize, head: &mut HeadBuilder) -> Result<Prior, AgentError> {
        let torso = head.fixed_torso("prior.", |filters| filters.div_ceil(4))?;
        let names = |layer: &str| ["weight", "bias"].map(|tensor| format!("prior.{layer}.{tensor}"));
        let zero = Init::Constant(0.0);
        let features = torso.features().clone();
        let hidden = head.dense(names("fc1"), features, self.prior_hidden, [Init::GlorotUniform, zero])?;
        let scaled = Init::Uniform(self.prior_scale * glorot(self.prior_hidden, actions));
        let inputs = InputOrder::natural(self.prior_hidden);
        let output = head.dense(names("fc2"), inputs, self.heads * actions, [scaled, zero])?;
        Ok(Prior::sized(torso, hidden, output, 1))
    }
}

/// The bound of Glorot's uniform initial weights.
fn glorot(inputs: usize, outputs: usize) -> f32 {
    (6.0 / (inputs + outputs) as f64).sqrt() as f32
}

/// The heads in one pass.
#[derive(Debug, Clone)]
struct Ensemble {
    kernel: Kernel,
    heads: usize,
    mask_probability: f32,
    prior: Option<Prior>,
    /// The head that acts.
    acting: usize,
}

/// p_k of all heads.
#[derive(Debug, Clone)]
struct Prior {
    torso: Torso,
    hidden: Dense,
    output: Dense,
    features: Matrix,
    h: Matrix,
    values: Matrix,
}

impl Prior {
    fn sized(torso: Torso, hidden: Dense, output: Dense, batch: usize) -> Self {
        Self {
            features: Matrix::zeros(batch, torso.features().width()),
            h: Matrix::zeros(batch, hidden.outputs()),
            values: Matrix::zeros(batch, output.outputs()),
            torso,
            hidden,
            output,
        }
    }
}

impl Perturbation for Ensemble {
    fn for_batch(&self, batch: usize) -> Box<dyn Perturbation> {
        let prior = self.prior.as_ref();
        let prior = prior.map(|p| Prior::sized(p.torso.clone(), p.hidden.clone(), p.output.clone(), batch));
        Box::new(Self { prior, acting: 0, ..*self })
    }

    fn perturbs_weights(&self) -> bool {
        false
    }

    fn draws_to_act(&self) -> bool {
        true
    }

    fn heads(&self) -> usize {
        self.heads
    }

    /// m_ik
    fn weight(&self, transition: u64, head: usize) -> f32 {
        let uniform = mask_bits(transition, head) as f64 / (1_u64 << 32) as f64;
        if uniform < f64::from(self.mask_probability) { 1.0 / self.mask_probability } else { 0.0 }
    }

    fn draw(&mut self, draw: u64, role: PassRole) {
        if role == PassRole::Actor {
            self.acting = (((draw >> 32) * self.heads as u64) >> 32) as usize;
        }
    }

    fn prepare(&mut self, _params: &[f32], _features: &mut Matrix, _inputs: &StateInputs<'_>) {}

    fn perturb(&mut self, _at: &LayerContext<'_>, _x: &Matrix, _y: &mut Matrix) {}

    /// f_k + p_k
    fn add_prior(&mut self, params: &[f32], observations: Observations<'_>, q: &mut Matrix) {
        let Some(Prior { torso, hidden, output, features, h, values }) = &mut self.prior else { return };
        torso.infer(params, observations, features);
        hidden.forward(params, features, h, Activation::Relu);
        output.forward(params, h, values, Activation::Linear);
        self.kernel.add(q.as_mut_slice(), values.as_slice());
    }

    fn backward_noise(&mut self, _at: &LayerContext<'_>, _x: &Matrix, _delta: &Matrix, _gradients: &mut [f32]) {}

    fn backward_input(&mut self, _at: &LayerContext<'_>, _delta: &Matrix, _dx: &mut Matrix) {}

    /// The mean over the heads, or the acting head.
    fn action_values(&mut self, on: ActedOn<'_>, plain: &mut [f32], sampled: Option<&mut [f32]>) {
        let actions = plain.len();
        plain.fill(0.0);
        for head in on.outputs.chunks_exact(actions) {
            plain.iter_mut().zip(head).for_each(|(sum, q)| *sum += q);
        }
        plain.iter_mut().for_each(|sum| *sum /= self.heads as f32);
        if let Some(q) = sampled {
            q.copy_from_slice(&on.outputs[self.acting * actions..][..actions]);
        }
    }

    fn kl_term(&self, tensor: &str) -> KlTerm {
        if tensor.starts_with("prior.") { KlTerm::OfStates } else { KlTerm::Mean }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ActMode, AgentConfig, Exploration, Learner, NetworkSpec};
    use sane_env::{AgentSteps, EnvSpec, FrameSkip, FrameSpace, Stream};
    use sane_replay::Batch;

    fn learner(settings: Bootstrapped) -> (Learner, EnvSpec) {
        learner_with(settings, None)
    }

    fn learner_with(settings: Bootstrapped, clip_gradient_norm: Option<f32>) -> (Learner, EnvSpec) {
        let actions = (0..3).map(|a| a.to_string()).collect();
        let frame = FrameSpace::planes(2, 6, 6);
        let world = EnvSpec { name: "test".into(), frame, history: 1, actions, frame_skip: FrameSkip(1) };
        let exploration = Exploration::Bootstrapped(settings);
        let network = NetworkSpec { hidden: vec![20], ..NetworkSpec::minatar() };
        let config = AgentConfig { exploration, network, clip_gradient_norm, ..AgentConfig::default() };
        (Learner::new(&config, &world, &mut Stream::named(1, "init")).unwrap(), world)
    }

    fn state(world: &EnvSpec) -> Vec<u8> {
        (0..world.state_bytes()).map(|i| (i % 2) as u8).collect()
    }

    #[test]
    fn each_head_learns_from_the_share_of_transitions_that_was_asked_for_and_from_others() {
        let ensemble = |mask_probability| Ensemble {
            kernel: Kernel::detect(),
            heads: 10,
            mask_probability,
            prior: None,
            acting: 0,
        };
        let half = ensemble(0.5);
        let weights = |head| (0..10_000).map(|n| half.weight(n, head)).collect::<Vec<_>>();
        for head in 0..10 {
            let (mine, next) = (weights(head), weights(head + 1));
            assert!(mine.iter().all(|&weight| weight == 0.0 || weight == 2.0));
            assert!((mine.iter().sum::<f32>() / 10_000.0 - 1.0).abs() < 0.04, "head {head}");
            let both = mine.iter().zip(&next).filter(|(a, b)| **a * **b != 0.0).count();
            assert!((2_300..2_700).contains(&both), "heads {head} and {}: {both}", head + 1);
        }
        assert!((0..1_000).all(|n| ensemble(1.0).weight(n, 3) == 1.0), "without masks");
    }

    #[test]
    fn one_head_acts_for_an_episode_and_all_of_them_do_in_turn() {
        let (mut learner, world) = learner(Bootstrapped::default());
        let (state, mut noise) = (state(&world), Stream::named(2, "act"));
        let mut seen = Vec::new();
        for _ in 0..100 {
            learner.begin_episode();
            learner.act(&state, ActMode::Explore { now: AgentSteps(0) }, &mut noise);
            let first = learner.q_values().to_vec();
            let before = noise.clone();
            for mode in [ActMode::Explore { now: AgentSteps(1) }, ActMode::Noisy] {
                learner.act(&state, mode, &mut noise);
                assert_eq!(learner.q_values(), first);
            }
            assert_eq!(noise, before, "nothing is drawn within an episode");
            if !seen.contains(&first) {
                seen.push(first);
            }
        }
        assert_eq!(seen.len(), 10);
        learner.act(&state, ActMode::Greedy, &mut noise);
        for (a, q) in learner.q_values().iter().enumerate() {
            let mean = seen.iter().map(|head| head[a]).sum::<f32>() / 10.0;
            assert!((q - mean).abs() < 1e-5, "{q} is not the mean {mean}");
        }
    }

    #[test]
    fn a_restored_learner_acts_with_the_same_head_to_the_end_of_the_episode() {
        let (mut unbroken, world) = learner(Bootstrapped::default());
        let state = state(&world);
        let mut noise = Stream::named(5, "act");
        unbroken.begin_episode();
        unbroken.act(&state, ActMode::Noisy, &mut noise);
        let (mut restored, _) = learner(Bootstrapped::default());
        restored.load_state(&unbroken.save_state()).unwrap();
        restored.act(&state, ActMode::Noisy, &mut Stream::named(6, "another"));
        assert_eq!(restored.q_values(), unbroken.q_values());
    }

    #[test]
    fn the_prior_makes_heads_differ_and_is_never_learned() {
        let spread = |prior_scale| {
            let (learner, _) = learner(Bootstrapped { prior_scale, ..Bootstrapped::default() });
            let tensors = learner.export().into_iter().filter(|tensor| tensor.name == "prior.fc2.weight");
            tensors.flat_map(|tensor| tensor.values).map(|w| w.abs()).fold(0.0, f32::max)
        };
        assert_eq!(spread(0.0), 0.0, "no prior network");
        assert!((spread(6.0) / spread(3.0) - 2.0).abs() < 1e-3);
        let prior = |learner: &Learner| {
            learner.export().into_iter().filter(|tensor| tensor.name.starts_with("prior.")).collect::<Vec<_>>()
        };
        // Without a limit of the norm gradients are never stored; with one they are.
        for clip_gradient_norm in [None, Some(0.1)] {
            let (mut learner, world) = learner_with(Bootstrapped::default(), clip_gradient_norm);
            let (all, before) = (learner.export(), prior(&learner));
            assert_eq!(before.len(), 6);
            let mut batch = Batch::new(8, world.state_bytes());
            batch.states.fill(1);
            let stats = learner.learn(&batch, &mut Stream::named(3, "noise")).unwrap();
            assert_eq!(stats.gradient_norm.is_some(), clip_gradient_norm.is_some());
            assert!(learner.export() != all, "{clip_gradient_norm:?}: nothing was learned");
            assert_eq!(prior(&learner), before, "{clip_gradient_norm:?}");
            learner.sync_target();
            assert!(learner.export_target() == learner.export());
        }
    }

    #[test]
    fn no_heads_are_refused_by_the_key() {
        let text = Bootstrapped { heads: 0, ..Bootstrapped::default() }.check().unwrap_err().to_string();
        assert!(text.starts_with("exploration.heads = 0 is not possible"), "{text}");
        let text = Bootstrapped { mask_probability: 0.0, ..Bootstrapped::default() }.check().unwrap_err().to_string();
        assert!(text.starts_with("exploration.mask_probability = 0 "), "{text}");
    }
}
