//! Bayesian last layer (Azizzadenesheli, Brunskill and Anandkumar 2018, "Efficient Exploration through Bayesian Deep Q-Networks"):
//! the weights of each action in the last layer have a normal posterior, given the features that the rest of the network has
//! learned. Its spread in a state is how little the replay knows of such features under that action.
//!
//! ```text
//! A_a = I/σ₀² + Σ φφᵀ/σₑ²                     over the transitions of the replay with action a, φ = inputs of the last layer
//! w̃_a = w_a + A_a^{−½} ε,  ε ~ N(0, I)         a ← argmax_a w̃_aᵀφ(s) + b_a
//! std of Q(s, a) = √(φᵀ A_a⁻¹ φ) = σ(s, a)
//! ```
//!
//! A_a = L_a L_aᵀ (Cholesky), A_a^{−½} = L_a^{−ᵀ}; so w̃_aᵀφ = w_aᵀφ + uᵀε with u = L_a⁻¹φ, and ‖u‖ is the deviation. One
//! substitution gives both. The factors are refitted at each copy of the target network from a sample of the replay, whose sum
//! is scaled up to the whole of it; they are parameters like the others for checkpoints and exports, but no gradient moves them.
//! Means w_a are learned as in a plain DQN, without noise.

use crate::AgentError;
use crate::behaviour::{ONLY_IN_ACTING, Thompson};
use crate::config::{check_noise_size, in_range};
use crate::explorer::{Explorer, NamedAgent, Registered, Setting};
use crate::network::{HeadBuilder, Network};
use crate::noise::{PassRole, action_seed};
use crate::perturbation::{ActedOn, KlTerm, LayerContext, Perturbation, StateInputs};
use rayon::prelude::*;
use sane_env::Action;
use sane_nn::{Init, Kernel, Matrix, Triangles};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Settings of the Bayesian last layer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct BayesHead {
    /// σ₀: deviation of a weight of which nothing is known.
    pub prior_deviation: f32,
    /// σₑ: deviation of a target around its mean.
    pub error_deviation: f32,
    /// The most transitions a refit samples, rounded up to whole batches.
    pub fit_transitions: usize,
    pub thompson: Thompson,
}

impl Default for BayesHead {
    fn default() -> Self {
        Self { prior_deviation: 1.0, error_deviation: 1.0, fit_transitions: 4_096, thompson: Thompson::Episode }
    }
}

impl BayesHead {
    /// Transitions that a refit samples: as many as learn steps lie between two refits, so that it takes a few percent of the time.
    pub(crate) fn sample_size(&self, learn_steps: u64) -> usize {
        usize::try_from(learn_steps).unwrap_or(usize::MAX).clamp(1, self.fit_transitions)
    }
}

impl Registered for BayesHead {
    const KIND: &'static str = "bayes-head";

    fn agents() -> Vec<NamedAgent<Self>> {
        let summary = "Thompson sampling of a Bayesian last layer (Azizzadenesheli et al. 2018)";
        vec![NamedAgent { name: "bayes-head", summary, settings: Self::default() }]
    }

    fn settings() -> Vec<Setting> {
        vec![
            Setting {
                key: "prior_deviation",
                meaning: "bayes-head: σ₀, from 1e-6 to 1e6, of a weight before any data",
            },
            Setting {
                key: "error_deviation",
                meaning: "bayes-head: σₑ, from 1e-6 to 1e6, of a target around its mean",
            },
            Setting {
                key: "fit_transitions",
                meaning: "bayes-head: most transitions sampled at a refit (else one per learn step since the last), rounded up to batches",
            },
            Thompson::SETTING,
        ]
    }
}

impl Explorer for BayesHead {
    fn check(&self) -> Result<(), AgentError> {
        self.thompson.check_is_acted_on(ONLY_IN_ACTING)?;
        check_noise_size("exploration.prior_deviation", self.prior_deviation)?;
        check_noise_size("exploration.error_deviation", self.error_deviation)?;
        in_range(
            "exploration.fit_transitions",
            self.fit_transitions as f64,
            1.0..f64::INFINITY,
            "a number of at least 1",
        )
    }

    fn build(&self, head: &mut HeadBuilder) -> Result<Box<dyn Perturbation>, AgentError> {
        head.plain_layers()?;
        let (width, actions) = (head.layer_inputs(head.layer_count() - 1).width(), head.actions());
        // L_a = I/σ₀ before any data.
        let unknown = Init::Constant(1.0 / self.prior_deviation);
        let diagonal = head.vector("posterior.diagonal", actions * width, unknown)?;
        let lower =
            head.vector("posterior.lower", (actions * Triangles::below_diagonal(width)).max(1), Init::Constant(0.0))?;
        let factors = Factors { width, actions, diagonal, lower };
        Ok(Box::new(PosteriorHead::new(head.kernel(), factors)))
    }

    fn is_noisy(&self) -> bool {
        true
    }

    fn thompson(&self) -> Thompson {
        self.thompson
    }

    fn bayes_head(&self) -> Option<&BayesHead> {
        Some(self)
    }

    fn has_state_sigma(&self) -> bool {
        true
    }
}

/// Where L_a of every action lies among the parameters: diagonals, and rows below the diagonal one behind the other.
#[derive(Debug, Clone)]
struct Factors {
    width: usize,
    actions: usize,
    diagonal: Range<usize>,
    lower: Range<usize>,
}

impl Factors {
    /// Those of a network that was built with them.
    fn of(network: &Network) -> Self {
        let range = |name| network.layout.range(network.layout.find(name).expect("the network has a posterior"));
        let last = &network.layers[network.layers.len() - 1];
        let (diagonal, lower) = (range("posterior.diagonal"), range("posterior.lower"));
        Self { width: last.width(), actions: last.mean.outputs(), diagonal, lower }
    }
}

/// The last layer's posterior in one pass.
#[derive(Debug, Clone)]
struct PosteriorHead {
    kernel: Kernel,
    factors: Factors,
    /// ε of every action.
    epsilon: Matrix,
    /// u of every action.
    u: Matrix,
    /// σ(s, a) of the last state acted in.
    sigma: Matrix,
    has_acted: bool,
}

impl PosteriorHead {
    fn new(kernel: Kernel, factors: Factors) -> Self {
        let (width, actions) = (factors.width, factors.actions);
        Self {
            kernel,
            epsilon: Matrix::zeros(actions, width),
            u: Matrix::zeros(actions, width),
            sigma: Matrix::zeros(1, actions),
            has_acted: false,
            factors,
        }
    }
}

impl Perturbation for PosteriorHead {
    fn for_batch(&self, _batch: usize) -> Box<dyn Perturbation> {
        Box::new(Self::new(self.kernel, self.factors.clone()))
    }

    /// Learning is a plain DQN's.
    fn perturbs_weights(&self) -> bool {
        false
    }

    fn draws_to_act(&self) -> bool {
        true
    }

    fn draw(&mut self, draw: u64, role: PassRole) {
        if role == PassRole::Actor {
            for action in 0..self.factors.actions {
                self.kernel.fill_normal(self.epsilon.row_mut(action), action_seed(draw, action));
            }
        }
    }

    fn prepare(&mut self, _params: &[f32], _features: &mut Matrix, _inputs: &StateInputs<'_>) {}

    fn perturb(&mut self, _at: &LayerContext<'_>, _x: &Matrix, _y: &mut Matrix) {}

    /// u = L_a⁻¹φ by substitution; σ(s, a) = ‖u‖, Q̃(s, a) = Q(s, a) + uᵀε.
    fn action_values(&mut self, on: ActedOn<'_>, plain: &mut [f32], mut sampled: Option<&mut [f32]>) {
        plain.copy_from_slice(on.outputs);
        let Self { kernel, factors: Factors { width, diagonal, lower, .. }, epsilon, u, sigma, .. } = self;
        let (diagonal, lower) = (&on.params[diagonal.clone()], &on.params[lower.clone()]);
        // Parameters are padded to whole pieces.
        let (diagonal, lower) =
            (&diagonal[..plain.len() * *width], &lower[..plain.len() * Triangles::below_diagonal(*width)]);
        kernel.substitute(Triangles { width: *width, diagonal, lower }, &on.x[..*width], u);
        for (action, value) in plain.iter().enumerate() {
            let u = u.row(action);
            sigma.row_mut(0)[action] = kernel.dot(u, u).sqrt();
            if let Some(sampled) = &mut sampled {
                sampled[action] = value + kernel.dot(u, epsilon.row(action));
            }
        }
        self.has_acted = true;
    }

    fn backward_noise(&mut self, _at: &LayerContext<'_>, _x: &Matrix, _delta: &Matrix, _gradients: &mut [f32]) {}

    fn backward_input(&mut self, _at: &LayerContext<'_>, _delta: &Matrix, _dx: &mut Matrix) {}

    fn kl_term(&self, tensor: &str) -> KlTerm {
        if tensor.starts_with("posterior.") { KlTerm::OfStates } else { KlTerm::Mean }
    }

    fn sigma(&self) -> Option<&Matrix> {
        self.has_acted.then_some(&self.sigma)
    }
}

/// Σφφᵀ of each action over a sample, then its Cholesky factor: both in f64, since the sum's smallest and largest directions may
/// lie eight digits apart.
#[derive(Debug, Clone)]
pub(crate) struct PosteriorFit {
    factors: Factors,
    /// Rows of the lower triangle, diagonal included, of each action.
    sums: Vec<f64>,
}

impl PosteriorFit {
    pub fn new(network: &Network) -> Self {
        Self::of(Factors::of(network))
    }

    fn of(factors: Factors) -> Self {
        let triangle = Triangles::below_diagonal(factors.width) + factors.width;
        Self { sums: vec![0.0; factors.actions * triangle], factors }
    }

    /// Forgets all sums.
    pub fn clear(&mut self) {
        self.sums.fill(0.0);
    }

    /// Adds φφᵀ of each row to the sum of its action.
    pub fn add(&mut self, phi: &Matrix, actions: &[Action]) {
        let (triangle, width) = (self.sums.len() / self.factors.actions, self.factors.width);
        self.sums.par_chunks_mut(triangle).enumerate().for_each(|(action, sum)| {
            for n in (0..phi.rows()).filter(|&n| usize::from(actions[n].0) == action) {
                let phi = &phi.row(n)[..width];
                let mut rows = &mut *sum;
                for (i, &phi_i) in phi.iter().enumerate() {
                    let (row, rest) = rows.split_at_mut(i + 1);
                    rows = rest;
                    // Behind a ReLU about half of all features are 0.
                    if phi_i != 0.0 {
                        row.iter_mut().zip(phi).for_each(|(sum, &phi_j)| *sum += f64::from(phi_i) * f64::from(phi_j));
                    }
                }
            }
        });
    }

    /// L_a of A_a = I/σ₀² + `scale`·Σφφᵀ/σₑ² into the parameters.
    pub fn finish(&mut self, settings: &BayesHead, scale: f64, params: &mut [f32]) {
        let Factors { width, actions, diagonal, lower } = self.factors.clone();
        let precision = |deviation: f32| 1.0 / (f64::from(deviation) * f64::from(deviation));
        let prior_precision = precision(settings.prior_deviation);
        let scale = scale * precision(settings.error_deviation);
        let triangle = self.sums.len() / actions;
        self.sums.par_chunks_mut(triangle).for_each(|sum| {
            sum.iter_mut().for_each(|value| *value *= scale);
            (0..width).for_each(|i| sum[row_start(i) + i] += prior_precision);
            factorise(sum, width, prior_precision);
        });
        for (action, factor) in self.sums.chunks(triangle).enumerate() {
            let mut below = lower.start + action * Triangles::below_diagonal(width);
            for i in 0..width {
                let row = &factor[row_start(i)..][..i + 1];
                params[diagonal.start + action * width + i] = row[i] as f32;
                params[below..below + i].iter_mut().zip(row).for_each(|(out, &value)| *out = value as f32);
                below += i;
            }
        }
    }
}

/// Where row `i` of a packed lower triangle begins.
fn row_start(i: usize) -> usize {
    i * (i + 1) / 2
}

/// Replaces a packed lower triangle by its Cholesky factor, row by row. The matrix is a sum of squares and `smallest`·I, so no
/// pivot is below `smallest` but by rounding.
fn factorise(packed: &mut [f64], width: usize, smallest: f64) {
    for i in 0..width {
        let (above, rest) = packed.split_at_mut(row_start(i));
        let row = &mut rest[..i + 1];
        for j in 0..i {
            let other = &above[row_start(j)..][..j + 1];
            row[j] = (row[j] - dot(&row[..j], &other[..j])) / other[j];
        }
        row[i] = (row[i] - dot(&row[..i], &row[..i])).max(smallest).sqrt();
    }
}

/// Σ xᵢyᵢ in eight lanes, in an order that depends on the length alone.
fn dot(x: &[f64], y: &[f64]) -> f64 {
    let (x_pieces, x_rest) = x.as_chunks::<8>();
    let (y_pieces, y_rest) = y.as_chunks::<8>();
    let mut lanes = [0.0; 8];
    for (x, y) in x_pieces.iter().zip(y_pieces) {
        for l in 0..8 {
            lanes[l] += x[l] * y[l];
        }
    }
    let rest: f64 = x_rest.iter().zip(y_rest).map(|(x, y)| x * y).sum();
    lanes.iter().sum::<f64>() + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ActMode, AgentConfig, Exploration, Learner, NetworkSpec};
    use sane_env::{AgentSteps, Ending, EnvSpec, FrameSkip, FrameSpace, Stream};
    use sane_replay::{Batch, Replay};

    fn world() -> EnvSpec {
        let actions = (0..3).map(|a| a.to_string()).collect();
        let frame = FrameSpace::planes(2, 6, 6);
        EnvSpec { name: "test".into(), frame, history: 1, actions, frame_skip: FrameSkip(1) }
    }

    fn learner(settings: BayesHead) -> Learner {
        let exploration = Exploration::BayesHead(settings);
        let network = NetworkSpec { hidden: vec![40], ..NetworkSpec::minatar() };
        let config = AgentConfig { exploration, network, ..AgentConfig::default() };
        Learner::new(&config, &world(), &mut Stream::named(1, "init")).unwrap()
    }

    /// A state of random bits.
    fn state(seed: u64) -> Vec<u8> {
        let mut stream = Stream::named(seed, "state");
        (0..world().state_bytes()).map(|_| stream.below(2) as u8).collect()
    }

    /// A replay in which `action` was taken `count` times in each of the states of these seeds.
    fn replay(seeds: Range<u64>, action: u16, count: usize) -> Replay {
        let mut replay = Replay::new(10_000, &world());
        for seed in seeds {
            for _ in 0..count {
                replay.begin_episode(&state(seed));
                replay.push(Action(action), 0.0, Ending::GameOver, &state(seed));
            }
        }
        replay
    }

    fn refit(learner: &mut Learner, replay: &mut Replay) {
        let mut batch = Batch::new(16, world().state_bytes());
        let mut warm = replay.warmed_up(AgentSteps(0)).unwrap();
        learner.refit(&mut warm, &mut batch, &mut Stream::named(2, "replay"), 2_000);
    }

    fn deviations(learner: &mut Learner, state: &[u8]) -> Vec<f32> {
        let mut policy = learner.policy();
        policy.act(state, ActMode::Greedy, &mut Stream::named(3, "unused"));
        policy.sigmas().to_vec()
    }

    #[test]
    fn the_factor_times_its_transpose_is_the_precision() {
        let (width, actions) = (9, 2);
        let lower = Triangles::below_diagonal(width);
        let factors = Factors { width, actions, diagonal: 0..18, lower: 18..18 + 2 * lower };
        let mut fit = PosteriorFit::of(factors);
        let (mut phi, mut stream) = (Matrix::zeros(30, width), Stream::named(1, "phi"));
        for n in 0..30 {
            phi.row_mut(n).iter_mut().for_each(|x| *x = (stream.normal() as f32).max(0.0));
        }
        let taken: Vec<Action> = (0..30).map(|n| Action(u16::from(n % 3 == 0))).collect();
        fit.add(&phi, &taken);
        let settings = BayesHead { prior_deviation: 2.0, error_deviation: 0.5, ..BayesHead::default() };
        let mut params = vec![0.0; 18 + 2 * lower];
        fit.finish(&settings, 10.0, &mut params);
        for action in 0..2 {
            let factor = |i: usize, j: usize| match i.cmp(&j) {
                std::cmp::Ordering::Less => 0.0,
                std::cmp::Ordering::Equal => f64::from(params[action * width + i]),
                std::cmp::Ordering::Greater => {
                    f64::from(params[18 + action * lower + Triangles::below_diagonal(i.max(1)) + j])
                }
            };
            for (i, j) in (0..width).flat_map(|i| (0..width).map(move |j| (i, j))) {
                let product: f64 = (0..width).map(|k| factor(i, k) * factor(j, k)).sum();
                let rows = (0..30).filter(|&n| usize::from(taken[n].0) == action);
                let sum: f64 = rows.map(|n| f64::from(phi.row(n)[i]) * f64::from(phi.row(n)[j])).sum();
                let expected = 10.0 * sum / 0.25 + if i == j { 0.25 } else { 0.0 };
                assert!((product - expected).abs() < 1e-4 * expected.abs().max(1.0), "{i}, {j}: {product} {expected}");
            }
        }
    }

    #[test]
    fn before_any_data_the_deviation_is_that_of_the_prior() {
        let of = |prior_deviation| {
            deviations(&mut learner(BayesHead { prior_deviation, ..BayesHead::default() }), &state(1))
        };
        let (narrow, wide) = (of(0.5), of(1.0));
        assert!(0.0 < wide[0] && wide.iter().all(|sigma| *sigma == wide[0]), "{wide:?}");
        assert!(narrow.iter().all(|sigma| *sigma == wide[0] / 2.0), "{narrow:?} {wide:?}");
    }

    #[test]
    fn drawn_action_values_have_the_mean_and_the_deviation_that_is_reported() {
        let mut learner = learner(BayesHead { thompson: Thompson::Step, ..BayesHead::default() });
        refit(&mut learner, &mut replay(0..20, 1, 3));
        let (state, mut noise) = (state(4), Stream::named(4, "act"));
        learner.act(&state, ActMode::Greedy, &mut noise);
        let plain: Vec<f64> = learner.q_values().iter().map(|&q| f64::from(q)).collect();
        let sigma = deviations(&mut learner, &state);
        let draws: Vec<Vec<f64>> = (0..4_000)
            .map(|_| {
                learner.act(&state, ActMode::Noisy, &mut noise);
                learner.q_values().iter().map(|&q| f64::from(q)).collect()
            })
            .collect();
        for action in 0..3 {
            let sigma = f64::from(sigma[action]);
            let mean = draws.iter().map(|q| q[action]).sum::<f64>() / 4_000.0;
            let variance = draws.iter().map(|q| (q[action] - plain[action]).powi(2)).sum::<f64>() / 4_000.0;
            assert!((mean - plain[action]).abs() < 0.06 * sigma, "action {action}: mean {mean}");
            assert!((variance.sqrt() / sigma - 1.0).abs() < 0.05, "action {action}: {} {sigma}", variance.sqrt());
        }
    }

    #[test]
    fn the_deviation_shrinks_as_one_over_the_root_of_the_visits_and_only_for_the_action_that_was_taken() {
        let after = |count| {
            let mut learner = learner(BayesHead::default());
            refit(&mut learner, &mut replay(5..6, 1, count));
            deviations(&mut learner, &state(5))
        };
        let (few, many) = (after(100), after(400));
        assert!((few[1] / many[1] - 2.0).abs() < 0.05, "{few:?} {many:?}");
        assert!((few[1] - 0.1).abs() < 0.005, "σₑ/√n is {}", few[1]);
        assert_eq!((few[0], few[2]), (many[0], many[2]));
        assert!(5.0 * few[1] < few[0]);
    }

    #[test]
    fn a_refit_is_the_same_on_any_number_of_threads() {
        let on = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| {
                let mut learner = learner(BayesHead::default());
                refit(&mut learner, &mut replay(0..30, 2, 2));
                learner.save_state()
            })
        };
        let alone = on(1);
        assert!(on(2) == alone && on(5) == alone);
    }

    #[test]
    fn a_draw_lasts_for_a_decision_or_an_episode_as_asked() {
        let (state, mut noise) = (state(1), Stream::named(6, "act"));
        for (thompson, lasts) in [(Thompson::Step, false), (Thompson::Episode, true)] {
            let mut learner = learner(BayesHead { thompson, ..BayesHead::default() });
            let mut values = |begins: bool| {
                if begins {
                    learner.begin_episode();
                }
                learner.act(&state, ActMode::Explore { now: AgentSteps(0) }, &mut noise);
                learner.q_values().to_vec()
            };
            let first = values(true);
            assert_eq!(values(false) == first, lasts, "{thompson:?}");
            assert_ne!(values(true), first, "{thompson:?}");
        }
    }

    #[test]
    fn deviations_that_cannot_be_are_refused_by_their_keys() {
        let text = BayesHead { prior_deviation: 0.0, ..BayesHead::default() }.check().unwrap_err().to_string();
        assert!(text.starts_with("exploration.prior_deviation = 0 "), "{text}");
        let text = BayesHead { error_deviation: f32::NAN, ..BayesHead::default() }.check().unwrap_err().to_string();
        assert!(text.starts_with("exploration.error_deviation = NaN "), "{text}");
        let text = BayesHead { fit_transitions: 0, ..BayesHead::default() }.check().unwrap_err().to_string();
        assert!(text.starts_with("exploration.fit_transitions = 0 "), "{text}");
        let text = BayesHead { thompson: Thompson::Never, ..BayesHead::default() }.check().unwrap_err().to_string();
        assert!(text.starts_with("exploration.thompson = never "), "{text}");
    }
}
