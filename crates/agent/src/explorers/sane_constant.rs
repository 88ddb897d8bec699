//! SANE's control: one learned σ for all states. The noise is SANE's, its scale a single parameter instead of a module.

use crate::config::in_range;
use crate::explorer::{Explorer, NamedAgent, Registered, Setting};
use crate::network::{HeadBuilder, Layer};
use crate::noise::{PassNoise, PassRole};
use crate::objective::Regulariser;
use crate::perturbation::{KlTerm, LayerContext, Perturbation, ScaledNoise, StateInputs, scaled_noise};
use crate::perturbation_module::add_kl;
use crate::{AgentError, Noise};
use sane_nn::{Init, Matrix};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Settings of SANE with one σ.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SaneConstant {
    pub initial_sigma: f32,
    pub noise: Noise,
}

impl Default for SaneConstant {
    fn default() -> Self {
        // About what |σ(s)| starts at when the module is initialised as in the paper and reads Atari features.
        Self { initial_sigma: 0.05, noise: Noise::default() }
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

impl Explorer for SaneConstant {
    fn is_noisy(&self) -> bool {
        true
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
        Ok(Box::new(ConstantNoise {
            noise: scaled_noise(self.noise, head.kernel(), head.layers()),
            parameter: head.vector("sigma", 1, Init::Constant(self.initial_sigma))?,
            sigma: Matrix::zeros(1, 1),
            d_sigma: Matrix::zeros(1, 1),
            perturbed: head.layers().iter().map(Layer::parameters).sum(),
        }))
    }
}

/// One σ and the noise that it scales, in one pass.
#[derive(Debug, Clone)]
struct ConstantNoise {
    noise: Box<dyn ScaledNoise>,
    parameter: Range<usize>,
    /// σ of every state: the same number.
    sigma: Matrix,
    d_sigma: Matrix,
    /// Parameters that σ scales.
    perturbed: usize,
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

    fn prepare(&mut self, params: &[f32], _features: &mut Matrix, _inputs: &StateInputs<'_>) {
        let value = params[self.parameter.start];
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

    /// ∂L/∂σ = Σᵢ ∂L/∂σ(sᵢ)
    fn backward_sigma(&mut self, regulariser: Option<&Regulariser>, _params: &[f32], gradients: &mut [f32]) -> f32 {
        let kl = regulariser.map_or(0.0, |weights| add_kl(weights, |_| self.perturbed, &self.sigma, &mut self.d_sigma));
        gradients[self.parameter.start] = (0..self.d_sigma.rows()).map(|i| self.d_sigma.row(i)[0]).sum();
        kl
    }

    fn stored_gradient(&self, i: usize) -> Option<Range<usize>> {
        (i == 0).then(|| self.parameter.clone())
    }

    fn kl_term(&self, tensor: &str) -> KlTerm {
        if tensor == "sigma" { KlTerm::OfStates } else { KlTerm::Mean }
    }

    fn sigma(&self) -> Option<&Matrix> {
        Some(&self.sigma)
    }
}
