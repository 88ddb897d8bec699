//! The slow reference forms, weight by weight: noise that does not factor, and a σ(s) per weight. O(l·m) per example.
//!
//! ```text
//! y_j += Σ_i S_ji·ε_ji·x_i + s_j·ε_j      ∂L/∂S_ji = δ_j·ε_ji·x_i      ∂L/∂s_j = δ_j·ε_j      ∂L/∂x_i += δ_j·S_ji·ε_ji
//! ```
//!
//! They stand behind the same interface as the fast forms: [`ScaledIndependent`] instead of rank-one noise,
//! [`IndependentNoisynet`] instead of NoisyNet's two scalings, and [`SaneWeightwise`] as an agent of its own.

use super::sane::StateAware;
use crate::behaviour::Thompson;
use crate::explorer::{NamedAgent, Registered, Setting};
use crate::network::{HeadBuilder, Layer, dense_parameters};
use crate::noise::{PassNoise, PassRole};
use crate::objective::Regulariser;
use crate::perturbation::{
    KlTerm, LayerContext, Perturbation, ScaledNoise, StateInputs, noise_shapes, sigma_column, squared_norm,
};
use crate::perturbation_module::{ModuleSettings, PerturbationModule, SigmaStats};
use crate::{AgentError, Noise};
use sane_nn::{Dense, DenseUpdate, Head, Kernel, LANES, Matrix};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Where the deviations S of a layer come from.
#[derive(Debug, Clone, Copy)]
enum Deviations<'a> {
    /// One σ for all weights and biases.
    Scalar(f32),
    /// One per weight in PyTorch's order, then one per bias.
    PerWeight(&'a [f32]),
    /// Parameters of a dense layer of deviations.
    Learned { params: &'a [f32], layer: &'a Dense },
}

/// One layer's noise for one example.
struct WeightNoise<'a> {
    kernel: Kernel,
    noise: &'a PassNoise,
    layer: &'a Layer,
    k: usize,
    example: usize,
    deviations: Deviations<'a>,
}

impl WeightNoise<'_> {
    /// Perturbs `y`, which holds W x + b. `row` is scratch of the layer's width.
    fn perturb(&self, y: &mut [f32], x: &[f32], row: &mut [f32]) {
        for (j, y_j) in y.iter_mut().enumerate() {
            self.epsilon_row(j, row);
            self.times_deviation(j, row);
            *y_j += self.kernel.dot(row, x) + self.bias_deviation(j) * self.epsilon_bias(j);
        }
    }

    /// Adds the noise's part to `dx`, which holds Wᵀδ.
    fn add_input_gradient(&self, delta: &[f32], dx: &mut [f32], row: &mut [f32]) {
        for (j, &delta_j) in delta.iter().enumerate() {
            self.epsilon_row(j, row);
            self.times_deviation(j, row);
            self.kernel.axpy(dx, delta_j, row);
        }
    }

    /// ∂L/∂σ for one σ.
    fn scalar_gradient(&self, delta: &[f32], x: &[f32], row: &mut [f32]) -> f32 {
        let mut sum = 0.0;
        for (j, &delta_j) in delta.iter().enumerate() {
            self.epsilon_row(j, row);
            sum += delta_j * (self.kernel.dot(row, x) + self.epsilon_bias(j));
        }
        sum
    }

    /// ∂L/∂S and ∂L/∂s for a σ per weight, in the order of [`Deviations::PerWeight`].
    fn per_weight_gradient(&self, delta: &[f32], x: &[f32], out: &mut [f32], row: &mut [f32]) {
        let positions = self.layer.inputs.positions();
        let (weights, biases) = out.split_at_mut(positions.len() * delta.len());
        for (j, &delta_j) in delta.iter().enumerate() {
            self.epsilon_row(j, row);
            for (out_i, &at) in weights[j * positions.len()..].iter_mut().zip(positions) {
                *out_i = delta_j * row[at as usize] * x[at as usize];
            }
            biases[j] = delta_j * self.epsilon_bias(j);
        }
    }

    /// Adds ∂L/∂σ_w and ∂L/∂σ_b of this example to the gradients of `deviation`.
    fn add_learned_gradient(
        &self,
        deviation: &Dense,
        delta: &[f32],
        x: &[f32],
        gradients: &mut [f32],
        row: &mut [f32],
    ) {
        let weights = deviation.weight_range().start;
        for (j, &delta_j) in delta.iter().enumerate() {
            self.epsilon_row(j, row);
            for (i, (epsilon, x_i)) in row.iter().zip(x).enumerate() {
                gradients[weights + self.panel_position(j, i)] += delta_j * epsilon * x_i;
            }
            if let Some(biases) = deviation.bias_range() {
                gradients[biases.start + j] += delta_j * self.epsilon_bias(j);
            }
        }
    }

    fn epsilon_row(&self, j: usize, row: &mut [f32]) {
        self.noise.weight_row(self.k, self.example, j, row);
    }

    fn epsilon_bias(&self, j: usize) -> f32 {
        self.noise.z_out(self.k, self.example)[j]
    }

    fn times_deviation(&self, j: usize, row: &mut [f32]) {
        match self.deviations {
            Deviations::Scalar(sigma) => self.kernel.scale(row, sigma),
            Deviations::PerWeight(sigma) => {
                let positions = self.layer.inputs.positions();
                for (&at, sigma) in positions.iter().zip(&sigma[j * positions.len()..]) {
                    row[at as usize] *= sigma;
                }
            }
            Deviations::Learned { params, layer } => {
                let weights = layer.weight_range().start;
                for (i, epsilon) in row.iter_mut().enumerate() {
                    *epsilon *= params[weights + self.panel_position(j, i)];
                }
            }
        }
    }

    fn bias_deviation(&self, j: usize) -> f32 {
        match self.deviations {
            Deviations::Scalar(sigma) => sigma,
            Deviations::PerWeight(sigma) => sigma[self.layer.inputs.count() * self.layer.mean.outputs() + j],
            Deviations::Learned { params, layer } => layer.bias_range().map_or(0.0, |range| params[range.start + j]),
        }
    }

    // The engine keeps weights in panels of sixteen outputs.
    fn panel_position(&self, j: usize, i: usize) -> usize {
        (j / LANES * self.layer.width() + i) * LANES + j % LANES
    }
}

/// The noise of a batch and scratch for one row of it.
#[derive(Debug, Clone)]
struct BatchNoise {
    kernel: Kernel,
    noise: PassNoise,
    row: Vec<f32>,
}

impl BatchNoise {
    fn new(kernel: Kernel, noise: PassNoise, widest: usize) -> Self {
        Self { kernel, noise, row: vec![0.0; widest] }
    }

    fn for_batch(&self, batch: usize) -> Self {
        Self { noise: self.noise.for_batch(batch), ..self.clone() }
    }

    /// y ← W̃ x + b̃, then ReLU unless the layer is the last.
    fn perturb<'a>(
        &'a mut self,
        at: &LayerContext<'a>,
        deviations: impl Fn(usize) -> Deviations<'a>,
        x: &Matrix,
        y: &mut Matrix,
    ) {
        for i in 0..y.rows() {
            let (noise, row) = self.example(at, i, deviations(i));
            noise.perturb(y.row_mut(i), &x.row(i)[..at.layer.width()], row);
            if !at.is_last {
                noise.kernel.relu(y.row_mut(i));
            }
        }
    }

    /// dx ← dx + the noise's part.
    fn backward_input<'a>(
        &'a mut self,
        at: &LayerContext<'a>,
        deviations: impl Fn(usize) -> Deviations<'a>,
        delta: &Matrix,
        dx: &mut Matrix,
    ) {
        for i in 0..delta.rows() {
            let (noise, row) = self.example(at, i, deviations(i));
            noise.add_input_gradient(delta.row(i), &mut dx.row_mut(i)[..at.layer.width()], row);
        }
    }

    fn example<'a>(
        &'a mut self,
        at: &LayerContext<'a>,
        example: usize,
        deviations: Deviations<'a>,
    ) -> (WeightNoise<'a>, &'a mut [f32]) {
        let Self { kernel, noise, row } = self;
        let noise = WeightNoise { kernel: *kernel, noise, layer: at.layer, k: at.k, example, deviations };
        (noise, &mut row[..at.layer.width()])
    }
}

fn widest(layers: &[Layer]) -> usize {
    layers.iter().map(Layer::width).max().unwrap_or(0)
}

/// Independent noise scaled by σ(s): the slow form of rank-one noise.
#[derive(Debug, Clone)]
pub(crate) struct ScaledIndependent(BatchNoise);

impl ScaledIndependent {
    pub fn new(noise: Noise, kernel: Kernel, layers: &[Layer]) -> Self {
        let noise = PassNoise::new(noise, kernel, &noise_shapes(layers), 1);
        Self(BatchNoise::new(kernel, noise, widest(layers)))
    }
}

impl ScaledNoise for ScaledIndependent {
    fn for_batch(&self, batch: usize) -> Box<dyn ScaledNoise> {
        Box::new(Self(self.0.for_batch(batch)))
    }

    fn draw(&mut self, draw: u64, role: PassRole) {
        self.0.noise.draw(draw, role);
    }

    fn drawn(&self) -> &PassNoise {
        &self.0.noise
    }

    /// E (⟨ε, x⟩ + ε_b)² = ‖x‖² + 1
    fn unit_variance(&self, x: &[f32]) -> f64 {
        squared_norm(x) + 1.0
    }

    fn perturb(&mut self, at: &LayerContext<'_>, sigma: &Matrix, x: &Matrix, y: &mut Matrix) {
        self.0.perturb(at, |i| Deviations::Scalar(sigma.row(i)[sigma_column(sigma, at.k)]), x, y);
    }

    fn backward_sigma(
        &mut self,
        at: &LayerContext<'_>,
        sigma: &Matrix,
        x: &Matrix,
        delta: &Matrix,
        d_sigma: &mut Matrix,
    ) {
        let column = sigma_column(sigma, at.k);
        for i in 0..delta.rows() {
            let (noise, row) = self.0.example(at, i, Deviations::Scalar(sigma.row(i)[column]));
            d_sigma.row_mut(i)[column] += noise.scalar_gradient(delta.row(i), &x.row(i)[..at.layer.width()], row);
        }
    }

    fn backward_input(&mut self, at: &LayerContext<'_>, sigma: &Matrix, delta: &Matrix, dx: &mut Matrix) {
        self.0.backward_input(at, |i| Deviations::Scalar(sigma.row(i)[sigma_column(sigma, at.k)]), delta, dx);
    }
}

/// NoisyNet with one draw per weight.
#[derive(Debug, Clone)]
pub(super) struct IndependentNoisynet {
    deviations: Vec<Dense>,
    noise: BatchNoise,
}

impl IndependentNoisynet {
    pub fn new(kernel: Kernel, deviations: Vec<Dense>, noise: PassNoise) -> Self {
        let widest = deviations.iter().map(Dense::inputs).max().unwrap_or(0);
        Self { deviations, noise: BatchNoise::new(kernel, noise, widest) }
    }
}

impl Perturbation for IndependentNoisynet {
    fn for_batch(&self, batch: usize) -> Box<dyn Perturbation> {
        Box::new(Self { deviations: self.deviations.clone(), noise: self.noise.for_batch(batch) })
    }

    fn draw(&mut self, draw: u64, role: PassRole) {
        self.noise.noise.draw(draw, role);
    }

    fn drawn(&self) -> Option<&PassNoise> {
        Some(&self.noise.noise)
    }

    fn prepare(&mut self, _params: &[f32], _features: &mut Matrix, _inputs: &StateInputs<'_>) {}

    fn perturb(&mut self, at: &LayerContext<'_>, x: &Matrix, y: &mut Matrix) {
        let deviations = Deviations::Learned { params: at.params, layer: &self.deviations[at.k] };
        self.noise.perturb(at, |_| deviations, x, y);
    }

    fn backward_noise(&mut self, at: &LayerContext<'_>, x: &Matrix, delta: &Matrix, gradients: &mut [f32]) {
        let deviation = &self.deviations[at.k];
        gradients[deviation.weight_range()].fill(0.0);
        deviation.bias_range().into_iter().for_each(|range| gradients[range].fill(0.0));
        for i in 0..delta.rows() {
            let deviations = Deviations::Learned { params: at.params, layer: deviation };
            let (noise, row) = self.noise.example(at, i, deviations);
            noise.add_learned_gradient(deviation, delta.row(i), &x.row(i)[..at.layer.width()], gradients, row);
        }
    }

    fn backward_input(&mut self, at: &LayerContext<'_>, delta: &Matrix, dx: &mut Matrix) {
        let deviations = Deviations::Learned { params: at.params, layer: &self.deviations[at.k] };
        self.noise.backward_input(at, |_| deviations, delta, dx);
    }

    fn stored_gradient(&self, i: usize) -> Option<Range<usize>> {
        let layer = self.deviations.get(i / 2)?;
        if i.is_multiple_of(2) { Some(layer.weight_range()) } else { layer.bias_range() }
    }

    fn kl_term(&self, tensor: &str) -> KlTerm {
        super::noisynet::kl_term(tensor)
    }
}

/// Settings of SANE with a σ(s) per dense weight and bias; for small networks, the module's output is as large as the
/// network.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SaneWeightwise {
    pub module: ModuleSettings,
    pub noise: Noise,
    pub thompson: Thompson,
}

/// The largest module: its parameters and Adam's moments would take a gigabyte.
const LARGEST_MODULE: usize = 64_000_000;

impl Registered for SaneWeightwise {
    const KIND: &'static str = "sane-weightwise";

    fn agents() -> Vec<NamedAgent<Self>> {
        let summary = "a σ(s) per dense weight (small networks only)";
        vec![NamedAgent { name: "sane-weightwise", summary, settings: Self::default() }]
    }

    fn settings() -> Vec<Setting> {
        [&ModuleSettings::SETTINGS[..], &Noise::SETTINGS].concat()
    }
}

impl StateAware for SaneWeightwise {
    fn module_settings(&self) -> &ModuleSettings {
        &self.module
    }

    fn module_settings_mut(&mut self) -> &mut ModuleSettings {
        &mut self.module
    }

    fn acts_on(&self) -> Thompson {
        self.thompson
    }

    fn sigmas(&self, dense_widths: &[usize]) -> usize {
        dense_parameters(dense_widths)
    }

    fn largest_module(&self) -> usize {
        LARGEST_MODULE
    }

    fn build_perturbation(&self, head: &mut HeadBuilder) -> Result<Box<dyn Perturbation>, AgentError> {
        head.plain_layers()?;
        let extra_features = usize::from(self.module.visit_counts);
        let perturbed: usize = head.layers().iter().map(Layer::parameters).sum();
        let noise = PassNoise::new(self.noise, head.kernel(), &noise_shapes(head.layers()), 1);
        Ok(Box::new(WeightwiseNoise {
            noise: BatchNoise::new(head.kernel(), noise, widest(head.layers())),
            feature_width: head.features().width(),
            first_sigma: head
                .layers()
                .iter()
                .scan(0, |next, layer| Some(std::mem::replace(next, *next + layer.parameters())))
                .collect(),
            extra_features,
            module: PerturbationModule::build(&self.module, head, extra_features, perturbed)?,
        }))
    }
}

/// A σ(s) per weight and the noise that they scale, in one pass.
#[derive(Debug, Clone)]
struct WeightwiseNoise {
    module: PerturbationModule,
    noise: BatchNoise,
    feature_width: usize,
    /// Where the σ of each layer begin.
    first_sigma: Vec<usize>,
    extra_features: usize,
}

impl WeightwiseNoise {
    fn sigmas(&self, at: &LayerContext<'_>) -> Range<usize> {
        self.first_sigma[at.k]..self.first_sigma[at.k] + at.layer.parameters()
    }
}

impl Perturbation for WeightwiseNoise {
    fn for_batch(&self, batch: usize) -> Box<dyn Perturbation> {
        let (module, noise) = (self.module.for_batch(batch), self.noise.for_batch(batch));
        Box::new(Self { module, noise, first_sigma: self.first_sigma.clone(), ..*self })
    }

    fn extra_features(&self) -> usize {
        self.extra_features
    }

    fn draw(&mut self, draw: u64, role: PassRole) {
        self.noise.noise.draw(draw, role);
    }

    fn drawn(&self) -> Option<&PassNoise> {
        Some(&self.noise.noise)
    }

    fn prepare(&mut self, params: &[f32], features: &mut Matrix, inputs: &StateInputs<'_>) {
        if 0 < self.extra_features {
            let bytes = inputs.states.len() / features.rows();
            for (i, state) in inputs.states.chunks_exact(bytes).enumerate() {
                let (hidden, extra) = features.row_mut(i).split_at_mut(self.feature_width);
                inputs.behaviour.features(state, hidden, extra);
            }
        }
        self.module.forward(params, features);
    }

    fn perturb(&mut self, at: &LayerContext<'_>, x: &Matrix, y: &mut Matrix) {
        let (sigmas, sigma) = (self.sigmas(at), &self.module.sigma);
        self.noise.perturb(at, |i| Deviations::PerWeight(&sigma.row(i)[sigmas.clone()]), x, y);
    }

    fn backward_noise(&mut self, at: &LayerContext<'_>, x: &Matrix, delta: &Matrix, _gradients: &mut [f32]) {
        let sigmas = self.sigmas(at);
        let PerturbationModule { sigma, d_sigma, .. } = &mut self.module;
        for i in 0..delta.rows() {
            let (noise, row) = self.noise.example(at, i, Deviations::PerWeight(&sigma.row(i)[sigmas.clone()]));
            let out = &mut d_sigma.row_mut(i)[sigmas.clone()];
            noise.per_weight_gradient(delta.row(i), &x.row(i)[..at.layer.width()], out, row);
        }
    }

    fn backward_input(&mut self, at: &LayerContext<'_>, delta: &Matrix, dx: &mut Matrix) {
        let (sigmas, sigma) = (self.sigmas(at), &self.module.sigma);
        self.noise.backward_input(at, |i| Deviations::PerWeight(&sigma.row(i)[sigmas.clone()]), delta, dx);
    }

    fn backward_sigma(&mut self, regulariser: Option<&Regulariser>, params: &[f32], _gradients: &mut [f32]) -> f32 {
        self.module.backward(params, regulariser, |_| 1)
    }

    fn feature_layer(&self) -> Option<&Dense> {
        self.module.feature_layer()
    }

    fn feature_head(&self) -> Option<Head<'_>> {
        self.module.feature_head()
    }

    fn own_update<'a>(&'a self, k: usize, features: &'a Matrix) -> Option<DenseUpdate<'a>> {
        self.module.update(k.checked_sub(self.first_sigma.len())?, features)
    }

    fn rate_scale(&self) -> Option<(Range<usize>, f32)> {
        self.module.rate_scale()
    }

    fn sigma(&self) -> Option<&Matrix> {
        Some(&self.module.sigma)
    }

    fn sigma_stats(&self) -> Option<SigmaStats> {
        Some(self.module.sigma_stats())
    }
}
