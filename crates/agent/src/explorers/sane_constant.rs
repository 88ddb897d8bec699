//! SANE's control: one learned σ for all states. The noise is SANE's, its scale a single parameter instead of a module.
//!
//! [`SaneConstant`] learns σ itself, as the paper's objective has it; [`SaneConstantElbo`] keeps the KL term and learns u,
//! σ = 10⁻⁶ + softplus(u − 3), which is always positive. [`SaneFixed`] learns no σ: it is a setting, of acting and learning or
//! of acting alone.

use crate::behaviour::{ONLY_IN_ACTING, Thompson};
use crate::config::{check_noise_size, in_range};
use crate::explorer::{Explorer, NamedAgent, Registered, Setting};
use crate::network::{HeadBuilder, Layer};
use crate::noise::{PassNoise, PassRole};
use crate::objective::Regulariser;
use crate::perturbation::{KlTerm, LayerContext, Perturbation, Purpose, ScaledNoise, StateInputs, scaled_noise};
use crate::perturbation_module::check_rate_scale;
use crate::sigma::{SigmaForm, add_kl};
use crate::{AgentError, Bound, Noise};
use sane_nn::{Init, Matrix};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Settings of SANE with one σ.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SaneConstant {
    pub initial_sigma: f32,
    pub noise: Noise,
    pub thompson: Thompson,
}

impl Default for SaneConstant {
    fn default() -> Self {
        // About what |σ(s)| starts at when the module is initialised as in the paper and reads Atari features.
        Self { initial_sigma: 0.05, noise: Noise::default(), thompson: Thompson::Step }
    }
}

/// Settings of SANE with one σ and its KL term.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SaneConstantElbo {
    pub initial_sigma: f32,
    /// The learning rate of σ as a multiple of the network's.
    pub learning_rate_scale: f32,
    pub noise: Noise,
    pub thompson: Thompson,
    #[serde(flatten)]
    pub bound: Bound,
}

impl Default for SaneConstantElbo {
    fn default() -> Self {
        // A module moves its output by many weights at once; a single number at the same rate would take 16,000 steps from
        // its first value to a fiftieth of it.
        let learning_rate_scale = 10.0;
        Self {
            initial_sigma: 0.05,
            learning_rate_scale,
            noise: Noise::default(),
            thompson: Thompson::Step,
            bound: Bound::default(),
        }
    }
}

/// Settings of SANE with one σ that is not learned.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SaneFixed {
    pub sigma: f32,
    /// Whether the batches that are learned from are perturbed, too, or the noise is in acting alone.
    pub learn_with_noise: bool,
    pub noise: Noise,
    pub thompson: Thompson,
}

impl Default for SaneFixed {
    fn default() -> Self {
        Self { sigma: 0.01, learn_with_noise: true, noise: Noise::default(), thompson: Thompson::Step }
    }
}

impl Registered for SaneFixed {
    const KIND: &'static str = "sane-fixed";

    fn agents() -> Vec<NamedAgent<Self>> {
        let summary = "one σ for all states that is a setting and never learned: a control";
        vec![NamedAgent { name: "sane-fixed", summary, settings: Self::default() }]
    }

    fn settings() -> Vec<Setting> {
        let sigma = Setting { key: "sigma", meaning: "sane-fixed: the one σ, at least 0" };
        let learning = Setting {
            key: "learn_with_noise",
            meaning: "sane-fixed: whether learning is perturbed like acting: true, or false for a plain DQN's train step",
        };
        [&[sigma, learning][..], &Noise::SETTINGS].concat()
    }
}

impl Explorer for SaneFixed {
    fn is_noisy(&self) -> bool {
        true
    }

    fn thompson(&self) -> Thompson {
        self.thompson
    }

    fn check(&self) -> Result<(), AgentError> {
        if !self.learn_with_noise {
            self.thompson.check_is_acted_on(ONLY_IN_ACTING)?;
        }
        in_range("exploration.sigma", f64::from(self.sigma), 0.0..f64::INFINITY, "a number of at least 0")
    }

    fn build(&self, head: &mut HeadBuilder) -> Result<Box<dyn Perturbation>, AgentError> {
        head.plain_layers()?;
        let learning = if self.learn_with_noise { self.sigma } else { 0.0 };
        Ok(Box::new(ConstantNoise::new(head, self.noise, SigmaSource::Fixed { acting: self.sigma, learning })))
    }
}

impl Registered for SaneConstant {
    const KIND: &'static str = "sane-constant";

    fn agents() -> Vec<NamedAgent<Self>> {
        vec![NamedAgent { name: "sane-constant", summary: "one learned σ for all states", settings: Self::default() }]
    }

    fn settings() -> Vec<Setting> {
        let sigma = Setting { key: "initial_sigma", meaning: "sane-constant: first value of the one σ" };
        [&[sigma][..], &Noise::SETTINGS].concat()
    }
}

impl Registered for SaneConstantElbo {
    const KIND: &'static str = "sane-constant-elbo";

    fn agents() -> Vec<NamedAgent<Self>> {
        let summary = "one learned σ for all states, with its KL term: the control of sane-elbo";
        vec![NamedAgent { name: "sane-constant-elbo", summary, settings: Self::default() }]
    }

    fn settings() -> Vec<Setting> {
        let sigma = Setting { key: "initial_sigma", meaning: "sane-constant: first value of the one σ" };
        let rate = Setting {
            key: "learning_rate_scale",
            meaning: "sane-constant-elbo: the learning rate of σ as a multiple of the network's, at least 0",
        };
        [&[sigma, rate][..], &Bound::SETTINGS, &Noise::SETTINGS].concat()
    }
}

impl Explorer for SaneConstantElbo {
    fn is_noisy(&self) -> bool {
        true
    }

    fn thompson(&self) -> Thompson {
        self.thompson
    }

    fn check(&self) -> Result<(), AgentError> {
        check_rate_scale("exploration.learning_rate_scale", self.learning_rate_scale)?;
        check_noise_size("exploration.initial_sigma", self.initial_sigma)
    }

    fn parameter_count(&self, _dense_widths: &[usize]) -> Result<usize, AgentError> {
        Ok(1)
    }

    fn build(&self, head: &mut HeadBuilder) -> Result<Box<dyn Perturbation>, AgentError> {
        head.plain_layers()?;
        let initial = Init::Constant(SigmaForm::Positive.output_of(self.initial_sigma));
        let source = SigmaSource::Output(head.vector("sigma_output", 1, initial)?);
        let noise = ConstantNoise::new(head, self.noise, source);
        Ok(Box::new(ConstantNoise { learning_rate_scale: self.learning_rate_scale, ..noise }))
    }

    fn bound(&self) -> Option<&Bound> {
        Some(&self.bound)
    }

    fn bound_mut(&mut self) -> Option<&mut Bound> {
        Some(&mut self.bound)
    }
}

impl Explorer for SaneConstant {
    fn is_noisy(&self) -> bool {
        true
    }

    fn thompson(&self) -> Thompson {
        self.thompson
    }

    fn check(&self) -> Result<(), AgentError> {
        let value = f64::from(self.initial_sigma);
        in_range("exploration.initial_sigma", value, f64::MIN..f64::INFINITY, "a finite number")
    }

    fn parameter_count(&self, _dense_widths: &[usize]) -> Result<usize, AgentError> {
        Ok(1)
    }

    fn build(&self, head: &mut HeadBuilder) -> Result<Box<dyn Perturbation>, AgentError> {
        head.plain_layers()?;
        let source = SigmaSource::Parameter(head.vector("sigma", 1, Init::Constant(self.initial_sigma))?);
        Ok(Box::new(ConstantNoise::new(head, self.noise, source)))
    }
}

/// Where the one σ comes from.
#[derive(Debug, Clone)]
enum SigmaSource {
    /// It is a parameter.
    Parameter(Range<usize>),
    /// It is positive by its form, and its output u is a parameter.
    Output(Range<usize>),
    /// It is a setting, of acting and of learning apart.
    Fixed { acting: f32, learning: f32 },
}

impl SigmaSource {
    fn parameter(&self) -> Option<&Range<usize>> {
        match self {
            Self::Parameter(range) | Self::Output(range) => Some(range),
            Self::Fixed { .. } => None,
        }
    }

    fn sigma(&self, params: &[f32], purpose: Purpose) -> f32 {
        match (self, purpose) {
            (Self::Parameter(range), _) => params[range.start],
            (Self::Output(range), _) => SigmaForm::Positive.sigma(params[range.start]),
            (Self::Fixed { acting, .. }, Purpose::Act | Purpose::ActWithoutNoise) => *acting,
            (Self::Fixed { learning, .. }, Purpose::Learn) => *learning,
        }
    }
}

/// One σ and the noise that it scales, in one pass.
#[derive(Debug, Clone)]
struct ConstantNoise {
    noise: Box<dyn ScaledNoise>,
    source: SigmaSource,
    learning_rate_scale: f32,
    /// σ of every state: the same number.
    sigma: Matrix,
    d_sigma: Matrix,
    /// Parameters that σ scales.
    perturbed: usize,
}

impl ConstantNoise {
    fn new(head: &HeadBuilder, noise: Noise, source: SigmaSource) -> Self {
        Self {
            noise: scaled_noise(noise, head.kernel(), head.layers()),
            source,
            learning_rate_scale: 1.0,
            sigma: Matrix::zeros(1, 1),
            d_sigma: Matrix::zeros(1, 1),
            perturbed: head.layers().iter().map(Layer::parameters).sum(),
        }
    }
}

impl Perturbation for ConstantNoise {
    fn for_batch(&self, batch: usize) -> Box<dyn Perturbation> {
        Box::new(Self {
            noise: self.noise.for_batch(batch),
            sigma: Matrix::zeros(batch, 1),
            d_sigma: Matrix::zeros(batch, 1),
            ..self.clone()
        })
    }

    fn draw(&mut self, draw: u64, role: PassRole) {
        self.noise.draw(draw, role);
    }

    fn drawn(&self) -> Option<&PassNoise> {
        Some(self.noise.drawn())
    }

    fn prepare(&mut self, params: &[f32], _features: &mut Matrix, inputs: &StateInputs<'_>) {
        let value = self.source.sigma(params, inputs.purpose);
        (0..self.sigma.rows()).for_each(|i| self.sigma.row_mut(i)[0] = value);
        self.d_sigma.clear();
    }

    fn perturb(&mut self, at: &LayerContext<'_>, x: &Matrix, y: &mut Matrix) {
        self.noise.perturb(at, &self.sigma, x, y);
    }

    fn backward_noise(&mut self, at: &LayerContext<'_>, x: &Matrix, delta: &Matrix, _gradients: &mut [f32]) {
        self.noise.backward_sigma(at, &self.sigma, x, delta, &mut self.d_sigma);
    }

    fn backward_input(&mut self, at: &LayerContext<'_>, delta: &Matrix, dx: &mut Matrix) {
        self.noise.backward_input(at, &self.sigma, delta, dx);
    }

    /// ∂L/∂σ = Σᵢ ∂L/∂σ(sᵢ), times dσ/du where u is learned.
    fn backward_sigma(&mut self, regulariser: Option<&Regulariser>, _params: &[f32], gradients: &mut [f32]) -> f32 {
        let kl = regulariser
            .map_or(0.0, |weights| add_kl(weights, |_| self.perturbed, |_| 1.0, &self.sigma, &mut self.d_sigma));
        let d_sigma: f32 = (0..self.d_sigma.rows()).map(|i| self.d_sigma.row(i)[0]).sum();
        match &self.source {
            SigmaSource::Parameter(range) => gradients[range.start] = d_sigma,
            SigmaSource::Output(range) => {
                gradients[range.start] = d_sigma * SigmaForm::Positive.slope(self.sigma.row(0)[0]);
            }
            SigmaSource::Fixed { .. } => {}
        }
        kl
    }

    fn rate_scale(&self) -> Option<(Range<usize>, f32)> {
        let parameter = self.source.parameter()?.clone();
        (self.learning_rate_scale != 1.0).then_some((parameter, self.learning_rate_scale))
    }

    fn stored_gradient(&self, i: usize) -> Option<Range<usize>> {
        self.source.parameter().filter(|_| i == 0).cloned()
    }

    fn kl_term(&self, tensor: &str) -> KlTerm {
        if tensor.starts_with("sigma") { KlTerm::OfStates } else { KlTerm::Mean }
    }

    fn sigma(&self) -> Option<&Matrix> {
        Some(&self.sigma)
    }

    fn unit_variance(&self, x: &[f32]) -> Option<f64> {
        Some(self.noise.unit_variance(x))
    }
}
