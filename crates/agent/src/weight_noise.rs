//! The general perturbed layer, weight by weight: for noise that does not factor and for a σ per weight. O(l·m) per example:
//! the slow reference.
//!
//! ```text
//! y_j += Σ_i S_ji·ε_ji·x_i + s_j·ε_j      ∂L/∂S_ji = δ_j·ε_ji·x_i      ∂L/∂s_j = δ_j·ε_j      ∂L/∂x_i += δ_j·S_ji·ε_ji
//! ```

use crate::network::Layer;
use crate::noise::PassNoise;
use sane_nn::{Kernel, LANES};

/// Where the deviations S of a layer come from.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Deviations<'a> {
    /// One σ for all weights and biases.
    Scalar(f32),
    /// One per weight in PyTorch's order, then one per bias.
    PerWeight(&'a [f32]),
    /// Parameters of the layer's `deviation`.
    Learned(&'a [f32]),
}

/// One layer's noise for one example.
pub(crate) struct WeightNoise<'a> {
    pub kernel: Kernel,
    pub noise: &'a PassNoise,
    pub layer: &'a Layer,
    pub index: usize,
    pub example: usize,
    pub deviations: Deviations<'a>,
}

impl WeightNoise<'_> {
    /// Perturbs `y`, which holds W x + b. `row` is scratch of the layer's width.
    pub fn add(&self, y: &mut [f32], x: &[f32], row: &mut [f32]) {
        for (j, y_j) in y.iter_mut().enumerate() {
            self.epsilon_row(j, row);
            self.times_deviation(j, row);
            *y_j += self.kernel.dot(row, x) + self.bias_deviation(j) * self.epsilon_bias(j);
        }
    }

    /// Adds the noise's part to `dx`, which holds Wᵀδ.
    pub fn add_input_gradient(&self, delta: &[f32], dx: &mut [f32], row: &mut [f32]) {
        for (j, &delta_j) in delta.iter().enumerate() {
            self.epsilon_row(j, row);
            self.times_deviation(j, row);
            self.kernel.axpy(dx, delta_j, row);
        }
    }

    /// ∂L/∂σ for one σ.
    pub fn scalar_gradient(&self, delta: &[f32], x: &[f32], row: &mut [f32]) -> f32 {
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

    /// Adds ∂L/∂σ_w and ∂L/∂σ_b of this example to the flat gradients.
    pub fn add_learned_gradient(&self, delta: &[f32], x: &[f32], gradients: &mut [f32], row: &mut [f32]) {
        let Some(deviation) = &self.layer.deviation else { return };
        let weights = deviation.weight_range().start;
        for (j, &delta_j) in delta.iter().enumerate() {
            self.epsilon_row(j, row);
            for (i, (epsilon, x_i)) in row.iter().zip(x).enumerate() {
                gradients[weights + self.place(j, i)] += delta_j * epsilon * x_i;
            }
            if let Some(biases) = deviation.bias_range() {
                gradients[biases.start + j] += delta_j * self.epsilon_bias(j);
            }
        }
    }

    fn epsilon_row(&self, j: usize, row: &mut [f32]) {
        self.noise.weight_row(self.kernel, self.index, self.example, j, row);
    }

    fn epsilon_bias(&self, j: usize) -> f32 {
        self.noise.z_out(self.index, self.example)[j]
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
            Deviations::Learned(params) => {
                let weights = self.layer.deviation.as_ref().map_or(0, |deviation| deviation.weight_range().start);
                for (i, epsilon) in row.iter_mut().enumerate() {
                    *epsilon *= params[weights + self.place(j, i)];
                }
            }
        }
    }

    fn bias_deviation(&self, j: usize) -> f32 {
        match self.deviations {
            Deviations::Scalar(sigma) => sigma,
            Deviations::PerWeight(sigma) => sigma[self.layer.inputs.count() * self.layer.mean.outputs() + j],
            Deviations::Learned(params) => {
                let biases = self.layer.deviation.as_ref().and_then(|deviation| deviation.bias_range());
                biases.map_or(0.0, |biases| params[biases.start + j])
            }
        }
    }

    // The engine keeps weights in panels of sixteen outputs.
    fn place(&self, j: usize, i: usize) -> usize {
        (j / LANES * self.layer.width() + i) * LANES + j % LANES
    }
}
