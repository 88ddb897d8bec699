//! The oracle: what a learn step must give, computed literally from its inputs.
#![allow(dead_code, reason = "each test file uses its part of the oracle")]

pub mod model;
pub mod number;

use model::{Extras, Model, Params, PassNoise};
use number::{Number, Var};
use sane_agent::{AgentConfig, Contraction, Exploration, Learner, NamedTensor, NetworkSpec, QFeatures, QNoiseUnit};
use sane_env::{Action, Element, EnvSpec, FrameSkip, FrameSpace, Stream};
use sane_nn::Kernel;
use sane_replay::Batch;
use std::collections::BTreeMap;

/// What a learn step must have given.
pub struct Expected {
    pub loss: f64,
    pub gradient: Params<f64>,
    pub q: Vec<f64>,
    pub sigma: Vec<f64>,
    pub targets: Vec<f64>,
}

/// A state's log(1 + n).
pub type LogVisits<'a> = dyn Fn(&[u8]) -> f64 + 'a;

/// Whether a state is risky.
pub type IsRisky<'a> = dyn Fn(&[u8]) -> bool + 'a;

/// A learn step's inputs, all but the online parameters.
pub struct Inputs<'a> {
    pub model: Model<'a>,
    pub target: &'a Params<f64>,
    pub batch: &'a Batch,
    /// `online.z_in1` and the like, as [`Learner::last_step`] gives them.
    pub trace: &'a [NamedTensor],
    /// log(1 + n) of a state, if the module reads it.
    pub log_visits: Option<&'a LogVisits<'a>>,
    /// Whether a state is risky, as the world has told.
    pub is_risky: &'a IsRisky<'a>,
    /// The running gap between action values before the step, and how many batches it is the mean of.
    pub gap_before: (f64, u32),
    /// Transitions seen before the step.
    pub transitions: u64,
}

/// The running gap of a new learner.
pub const NO_GAP: (f64, u32) = (0.0, 0);

impl Inputs<'_> {
    /// Loss, values and the gradient by reverse mode.
    pub fn expected(&self, online: &Params<f64>) -> Expected {
        Var::start_tape();
        let on_tape: Params<Var> = online
            .iter()
            .map(|(name, (shape, v))| (name.clone(), (shape.clone(), v.iter().map(|&x| Var::constant(x)).collect())))
            .collect();
        let (loss, q, sigma, targets) = self.loss(&on_tape, online);
        let gradient =
            on_tape.iter().map(|(name, (shape, v))| (name.clone(), (shape.clone(), loss.gradient(v)))).collect();
        Expected { loss: loss.value(), gradient, q, sigma, targets }
    }

    /// The loss alone, in plain f64.
    pub fn loss_at(&self, online: &Params<f64>, frozen: &Params<f64>) -> f64 {
        self.loss(online, frozen).0
    }

    /// `frozen` are the parameters through which nothing is derived: the selector of double-Q, the action values σ reads.
    fn loss<N: Number>(&self, online: &Params<N>, frozen: &Params<f64>) -> (N, Vec<f64>, Vec<f64>, Vec<f64>) {
        let config = self.model.config;
        let size = self.batch.size();
        let bytes = self.model.world.state_bytes();
        let q_features = match &config.exploration {
            Exploration::QSane(settings) => settings.q_features,
            _ => QFeatures::Clean,
        };
        let actions = self.model.world.actions.len();
        let heads = match &config.exploration {
            Exploration::Bootstrapped(settings) => settings.heads,
            _ => 1,
        };
        let noise = |prefix: &str| pass_noise(self.trace, prefix);
        let (of_online, of_target, of_selector) = (noise("online."), noise("target."), noise("selector."));
        let (mut sum, mut q_all, mut sigmas, mut targets) = (N::constant(0.0), vec![], vec![], vec![]);
        let mut noisy = Vec::new();
        for i in 0..size {
            let (s, s_next) = (&self.batch.states[i * bytes..][..bytes], &self.batch.next_states[i * bytes..][..bytes]);
            let extras = |noise, state, params| Extras {
                noise: Some((noise, i)),
                log_visits: self.log_visits.map(|log_visits| log_visits(state)),
                sigma_scale: self.scales(state, params).0,
                q_features,
                frozen: None,
            };
            let q_next = self.model.values(self.target, s_next, extras(&of_target, s_next, self.target)).q;
            let chooser = match config.double_q {
                true => self.model.values(frozen, s_next, extras(&of_selector, s_next, frozen)).q,
                false => q_next.clone(),
            };
            let values = self.model.values(online, s, Extras { frozen: Some(frozen), ..extras(&of_online, s, frozen) });
            noisy.push(self.model.values(frozen, s, extras(&of_online, s, frozen)).q);
            for head in 0..heads {
                let of_head = head * actions..(head + 1) * actions;
                let (q_next, chooser) = (&q_next[of_head.clone()], &chooser[of_head.clone()]);
                let best = (0..actions).max_by(|&a, &b| chooser[a].total_cmp(&chooser[b])).unwrap();
                let future = if self.batch.terminals[i] { 0.0 } else { f64::from(config.gamma) * q_next[best] };
                let target = f64::from(self.batch.rewards[i]) + future;
                let error = values.q[of_head][usize::from(self.batch.actions[i].0)] - N::constant(target);
                let weights = self.trace.iter().find(|tensor| tensor.name == "weight");
                let weight = weights.map_or(1.0, |weights| weights.values[i * heads + head]);
                sum = sum + N::constant(f64::from(weight)) * error * error;
                targets.push(target);
            }
            q_all.extend(values.q.iter().map(|q| q.value()));
            sigmas.push(values.sigma);
        }
        let mut gaps: Vec<f64> = self.batch.states.chunks_exact(bytes).map(|s| self.model.gap(frozen, s)).collect();
        gaps.sort_by(f64::total_cmp);
        let (before, batches) = self.gap_before;
        let gap = before + (gaps[size / 2] - before) / f64::from(batches + 1);
        let kl_scales: Vec<f64> = self.batch.states.chunks_exact(bytes).map(|s| self.scales(s, frozen).1).collect();
        let contraction = config.exploration.bound().map_or(1.0, |bound| match bound.contraction {
            Contraction::Constant => 1.0,
            Contraction::Posterior => (f64::from(bound.posterior_at) / self.transitions.max(1) as f64).sqrt(),
        });
        let wanted = contraction
            * config.exploration.bound().map_or(0.0, |bound| match bound.q_noise_unit {
                QNoiseUnit::Gap => f64::from(bound.q_noise) * gap,
                QNoiseUnit::Absolute => f64::from(bound.q_noise),
                QNoiseUnit::Share => {
                    self.first_noise_that_changes(f64::from(bound.q_noise), frozen, &noisy, &kl_scales)
                }
            });
        let loss =
            sum * N::constant(1.0 / (size * heads) as f64) + self.model.penalty(online, &sigmas, wanted, &kl_scales);
        (loss, q_all, sigmas.iter().flatten().map(|s| s.value()).collect(), targets)
    }
}

impl Inputs<'_> {
    /// v after the first batch, where noise shall change a share of the actions: its size r, in units of what scales the noise of
    /// each state, corrected by the share that noise of this size changes.
    fn first_noise_that_changes(&self, share: f64, params: &Params<f64>, noisy: &[Vec<f64>], kl_scales: &[f64]) -> f64 {
        let states = self.batch.states.chunks_exact(self.model.world.state_bytes());
        let plain: Vec<Vec<f64>> = states.map(|state| self.model.plain_values(params, state)).collect();
        let noise: Vec<Vec<f64>> =
            noisy.iter().zip(&plain).map(|(n, q)| n.iter().zip(q).map(|(n, q)| n - q).collect()).collect();
        let mean = |numbers: &[f64]| numbers.iter().sum::<f64>() / numbers.len() as f64;
        let squares: Vec<f64> = noise.iter().flatten().map(|n| n * n).collect();
        let size = (mean(&squares) / mean(kl_scales)).sqrt();
        // What the noise is multiplied by where it begins to choose another action.
        let factor = |(q, n): (&Vec<f64>, &Vec<f64>)| {
            let best = (0..q.len()).max_by(|&a, &b| q[a].total_cmp(&q[b])).unwrap();
            let chosen = (0..q.len()).filter(|&a| n[best] < n[a]);
            chosen.map(|a| (q[best] - q[a]) / (n[a] - n[best])).fold(f64::INFINITY, f64::min)
        };
        let factors: Vec<f64> = plain.iter().zip(&noise).map(factor).collect();
        if factors.iter().all(|factor| factor.is_infinite()) {
            return 0.0;
        }
        let changed = factors.iter().filter(|factor| **factor < 1.0).count() as f64 / plain.len() as f64;
        size * (1.0 + ((share - changed) / share).clamp(-0.5, 0.5))
    }

    /// What multiplies σ(s), and the weight of its KL, as each agent's page has it.
    fn scales(&self, state: &[u8], params: &Params<f64>) -> (f64, f64) {
        let of_noise = |factor: f64| (factor, factor * factor);
        match &self.model.config.exploration {
            Exploration::SaneGap(_) if 0.0 < self.gap_before.0 => {
                of_noise(1.0 / (1.0 + self.model.gap(params, state) / self.gap_before.0))
            }
            Exploration::Oracle(oracle) if (self.is_risky)(state) => of_noise(f64::from(oracle.variant.risky_noise)),
            Exploration::SaneCounts(counts) => {
                let visits = self.log_visits.map_or(0.0, |log_visits| log_visits(state).exp_m1());
                (1.0, f64::from(counts.variant.noise_at_visits) / visits.max(1.0))
            }
            _ => (1.0, 1.0),
        }
    }
}

/// Adam and its Langevin form, literally, in f64.
pub struct Adam {
    first: Params<f64>,
    second: Params<f64>,
    step: i32,
}

impl Adam {
    pub fn new(params: &Params<f64>) -> Self {
        let zeros = |params: &Params<f64>| {
            params.iter().map(|(n, (s, v))| (n.clone(), (s.clone(), vec![0.0; v.len()]))).collect::<Params<f64>>()
        };
        Self { first: zeros(params), second: zeros(params), step: 0 }
    }

    /// `trace` holds the noise of a Langevin step.
    pub fn step(
        &mut self,
        params: &mut Params<f64>,
        gradient: &Params<f64>,
        config: &AgentConfig,
        trace: &[NamedTensor],
    ) {
        self.step += 1;
        let adam = config.optimiser;
        let (beta_1, beta_2) = (adam.beta_1, adam.beta_2);
        let norm = gradient.values().flat_map(|(_, v)| v).map(|g| g * g).sum::<f64>().sqrt();
        let scale = config.clip_gradient_norm.map_or(1.0, |limit| (f64::from(limit) / norm).min(1.0));
        for (name, (_, values)) in params {
            let (m, v) = (&mut self.first.get_mut(name).unwrap().1, &mut self.second.get_mut(name).unwrap().1);
            for (i, value) in values.iter_mut().enumerate() {
                let g = scale * gradient[name].1[i];
                m[i] = beta_1 * m[i] + (1.0 - beta_1) * g;
                v[i] = beta_2 * v[i] + (1.0 - beta_2) * g * g;
                if let Exploration::Langevin(langevin) = &config.exploration {
                    let noise = f64::from(tensor(trace, &format!("langevin.{name}")).values[i]);
                    let direction = g + langevin.bias_factor * m[i] / (v[i].sqrt() + adam.epsilon);
                    let deviation = (2.0 * adam.learning_rate / langevin.inverse_temperature).sqrt();
                    *value += deviation * noise - adam.learning_rate * direction;
                    continue;
                }
                let m_hat = m[i] / (1.0 - beta_1.powi(self.step));
                let v_hat = v[i] / (1.0 - beta_2.powi(self.step));
                *value -= adam.learning_rate * m_hat / (v_hat.sqrt() + adam.epsilon);
            }
        }
    }
}

/// A world of the given frames.
pub fn world(frame: FrameSpace, history: usize, actions: usize) -> EnvSpec {
    let actions = (0..actions).map(|a| a.to_string()).collect();
    EnvSpec { name: "test".into(), frame, history, actions, frame_skip: FrameSkip(1) }
}

/// A batch of random transitions with some ends in it.
pub fn random_batch(world: &EnvSpec, size: usize, stream: &mut Stream) -> Batch {
    let mut batch = Batch::new(size, world.state_bytes());
    for states in [&mut batch.states, &mut batch.next_states] {
        match world.frame.element {
            Element::U8 { full_scale } => states.fill_with(|| stream.below(u64::from(full_scale) + 1) as u8),
            Element::F32 => {
                for place in states.chunks_exact_mut(4) {
                    place.copy_from_slice(&(stream.normal() as f32).to_le_bytes());
                }
            }
        }
    }
    for i in 0..size {
        batch.actions[i] = Action(stream.below(world.actions.len() as u64) as u16);
        batch.rewards[i] = stream.uniform() as f32 * 2.0 - 1.0;
        batch.terminals[i] = stream.below(4) == 0;
        batch.numbers[i] = u64::from(batch.rewards[i].to_bits());
    }
    batch
}

/// A learner whose target network differs from its online network, and whose biases are not zero: at exactly zero a ReLU
/// has no derivative, and blank pictures would sit there.
pub fn learner(config: &AgentConfig, world: &EnvSpec, seed: u64) -> Learner {
    learner_on(config, world, seed, Kernel::detect())
}

/// As [`learner`], with the given kernel.
pub fn learner_on(config: &AgentConfig, world: &EnvSpec, seed: u64, kernel: Kernel) -> Learner {
    let tensors = |name: &str| {
        let mut stream = Stream::named(seed, name);
        let mut tensors = Learner::new(config, world, &mut stream).unwrap().export();
        for tensor in tensors.iter_mut().filter(|tensor| tensor.name.ends_with("bias")) {
            tensor.values.fill_with(|| 0.1 * stream.normal() as f32);
        }
        tensors
    };
    let mut learner = Learner::on_kernel(config, world, &mut Stream::named(seed, "overwritten"), kernel).unwrap();
    learner.import(&tensors("online")).unwrap();
    learner.import_target(&tensors("target")).unwrap();
    learner
}

/// A network small enough for the oracle: two convolutions and one hidden dense layer.
pub fn small_network() -> NetworkSpec {
    let conv = |filters, kernel, stride| sane_agent::ConvSpec { filters, kernel, stride };
    NetworkSpec { convolutions: vec![conv(5, 3, 2), conv(4, 2, 1)], hidden: vec![9], conv_bias: true }
}

/// The gradient of the first learn step: Adam's first moment is (1 − β₁) times it.
pub fn first_gradient(learner: &Learner, config: &AgentConfig) -> Params<f64> {
    let mut state = learner.save_state();
    state.online = state.first_moment.clone();
    let mut reader = learner.clone();
    reader.load_state(&state).unwrap();
    let mut gradient = params(&reader.export());
    let factor = 1.0 - config.optimiser.beta_1;
    gradient.values_mut().flat_map(|(_, v)| v).for_each(|g| *g /= factor);
    gradient
}

/// Exported tensors as the oracle's parameters.
pub fn params(tensors: &[NamedTensor]) -> Params<f64> {
    let wide = |values: &[f32]| values.iter().map(|&v| f64::from(v)).collect();
    tensors.iter().map(|t| (t.name.clone(), (t.shape.clone(), wide(&t.values)))).collect()
}

/// One tensor of a trace.
pub fn tensor<'a>(trace: &'a [NamedTensor], name: &str) -> &'a NamedTensor {
    trace.iter().find(|tensor| tensor.name == name).unwrap_or_else(|| panic!("no {name} in the trace"))
}

/// Fails unless `found` equals `expected` up to `tolerance` times the largest expected number.
pub fn check_close(what: &str, found: impl IntoIterator<Item = f64>, expected: &[f64], tolerance: f64) {
    check_within(what, found, expected, tolerance * largest(expected));
}

/// Fails unless `found` equals `expected` up to `allowed`.
pub fn check_within(what: &str, found: impl IntoIterator<Item = f64>, expected: &[f64], allowed: f64) {
    let found: Vec<f64> = found.into_iter().collect();
    assert_eq!(found.len(), expected.len(), "{what}: lengths differ");
    for (i, (f, e)) in found.iter().zip(expected).enumerate() {
        assert!((f - e).abs() <= allowed, "{what}[{i}]: {f} instead of {e}, allowed {allowed}");
    }
}

/// The largest size of a number, and something above zero where there is none.
pub fn largest(numbers: &[f64]) -> f64 {
    numbers.iter().fold(1e-6, |max, x| x.abs().max(max))
}

fn pass_noise(trace: &[NamedTensor], prefix: &str) -> PassNoise {
    let mut noise = BTreeMap::new();
    for tensor in trace {
        let Some(name) = tensor.name.strip_prefix(prefix) else { continue };
        let own_dimensions = if name.starts_with("eps_w") { 2 } else { 1 };
        let rows = if tensor.shape.len() == own_dimensions { 1 } else { tensor.shape[0] };
        noise.insert(name.to_owned(), (rows, tensor.values.iter().map(|&v| f64::from(v)).collect()));
    }
    noise
}
