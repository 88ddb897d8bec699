//! The slow reference forms, weight by weight: noise that does not factor. O(l·m) per example.
//!
//! ```text
//! y_j += Σ_i S_ji·ε_ji·x_i + s_j·ε_j      ∂L/∂S_ji = δ_j·ε_ji·x_i      ∂L/∂s_j = δ_j·ε_j      ∂L/∂x_i += δ_j·S_ji·ε_ji
//! ```
//!
//! They stand behind the same interface as the fast forms: [`ScaledIndependent`] instead of rank-one noise,
//! [`IndependentNoisynet`] instead of NoisyNet's two scalings. A σ(s) per weight is `sane_weightwise.rs`.

use crate::Noise;
use crate::network::Layer;
use crate::noise::{PassNoise, PassRole};
use crate::perturbation::{
    KlTerm, LayerContext, Perturbation, ScaledNoise, StateInputs, noise_shapes, sigma_column, squared_norm,
};
use sane_nn::{Dense, Kernel, LANES, Matrix};
use std::ops::Range;

/// Where the deviations S of a layer come from.
#[derive(Debug, Clone, Copy)]
pub(super) enum Deviations<'a> {
    /// One σ for all weights and biases.
    Scalar(f32),
    /// One per weight in PyTorch's order, then one per bias.
    PerWeight(&'a [f32]),
    /// Parameters of a dense layer of deviations.
    Learned { params: &'a [f32], layer: &'a Dense },
}

/// One layer's noise for one example.
pub(super) struct WeightNoise<'a> {
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
    pub fn per_weight_gradient(&self, delta: &[f32], x: &[f32], out: &mut [f32], row: &mut [f32]) {
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
pub(super) struct BatchNoise {
    kernel: Kernel,
    pub noise: PassNoise,
    row: Vec<f32>,
}

impl BatchNoise {
    pub fn new(kernel: Kernel, noise: PassNoise, widest: usize) -> Self {
        Self { kernel, noise, row: vec![0.0; widest] }
    }

    pub fn for_batch(&self, batch: usize) -> Self {
        Self { noise: self.noise.for_batch(batch), ..self.clone() }
    }

    /// y ← W̃ x + b̃, then ReLU unless the layer is the last.
    pub fn perturb<'a>(
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
    pub fn backward_input<'a>(
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

    pub fn example<'a>(
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

pub(super) fn widest(layers: &[Layer]) -> usize {
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
