//! SANE's dense layer: W̃ x + b̃ with W̃ = W + σ(s)·ε_w and rank-one ε_w, forward and backward, W̃ never built.
//!
//! [`RankOne`] is one layer for one example, the equations; [`RankOneNoise`] applies it to a batch. Derived in
//! docs/derivations.md, §1. The literal form stands in the tests.

use crate::Noise;
use crate::network::Layer;
use crate::noise::{PassNoise, PassRole};
use crate::perturbation::{LayerContext, ScaledNoise, noise_shapes, sigma_column, squared_norm};
use crate::rows::{for_each_row, for_each_row_and_number};
use sane_nn::{Kernel, Matrix};

/// The noise of one layer for one example, and the σ that scales it.
#[derive(Debug, Clone, Copy)]
struct RankOne<'a> {
    /// z(ε̂_l).
    z_in: &'a [f32],
    /// z(ε̂_m).
    z_out: &'a [f32],
    /// σ(s).
    sigma: f32,
}

impl RankOne<'_> {
    /// Perturbs `y`, which holds W x + b, and returns c = ⟨z_l, x⟩ + 1 for the backward pass. The noise matrix has rank one,
    /// so W̃ is never built: O(l + m) per example, not O(l·m).
    ///
    /// ```text
    /// y = W̃ x + b̃                                                                          [SANE:perturbed-layer]
    /// W̃ = W + σ(s)·ε_w,  b̃ = b + σ(s)·ε_b   ⟹   y = W x + b + σ(s)·c·z_m                   [SANE:perturbed-weight]
    /// ```
    ///
    /// DEVIATION(outer-product-order): ε_w is [outputs × inputs] here: docs/deviations.md#outer-product-order.
    fn perturb(&self, kernel: Kernel, y: &mut [f32], x: &[f32]) -> f32 {
        let z_dot_x = self.z_dot_x(kernel, x);
        kernel.axpy(y, self.sigma * z_dot_x, self.z_out);
        z_dot_x
    }

    /// As [`perturb`](Self::perturb), followed by ReLU.
    fn perturb_relu(&self, kernel: Kernel, y: &mut [f32], x: &[f32]) -> f32 {
        let z_dot_x = self.z_dot_x(kernel, x);
        kernel.axpy_relu(y, self.sigma * z_dot_x, self.z_out);
        z_dot_x
    }

    /// e = ⟨δ, z_m⟩, where δ = ∂L/∂y: what both derivatives of the noise need.
    ///
    /// ```text
    /// ∂L/∂σ = c·e        ∂L/∂x = Wᵀδ + σ·e·z_l
    /// ```
    fn delta_dot_z(&self, kernel: Kernel, delta: &[f32]) -> f32 {
        kernel.dot(delta, self.z_out)
    }

    /// Adds the noise's part to `dx`, which holds Wᵀδ.
    fn add_input_gradient(&self, kernel: Kernel, delta_dot_z: f32, dx: &mut [f32]) {
        kernel.axpy(dx, self.sigma * delta_dot_z, self.z_in);
    }

    // The 1 is the input of the bias.
    fn z_dot_x(&self, kernel: Kernel, x: &[f32]) -> f32 {
        kernel.dot(self.z_in, x) + 1.0
    }
}

/// Rank-one noise on all dense layers of a pass, scaled by σ(s).
#[derive(Debug, Clone)]
pub(crate) struct RankOneNoise {
    kernel: Kernel,
    noise: PassNoise,
    /// c = ⟨z_l, x⟩ + 1 of each layer and example.
    z_dot_x: Vec<Vec<f32>>,
    /// e = ⟨δ, z_m⟩ of each example, of the layer whose derivatives were computed last.
    delta_dot_z: Vec<f32>,
}

impl RankOneNoise {
    pub fn new(noise: Noise, kernel: Kernel, layers: &[Layer]) -> Self {
        Self::sized(PassNoise::new(noise, kernel, &noise_shapes(layers), 1), kernel, layers.len(), 1)
    }

    fn sized(noise: PassNoise, kernel: Kernel, layers: usize, batch: usize) -> Self {
        Self { kernel, noise, z_dot_x: vec![vec![0.0; batch]; layers], delta_dot_z: vec![0.0; batch] }
    }
}

impl ScaledNoise for RankOneNoise {
    fn for_batch(&self, batch: usize) -> Box<dyn ScaledNoise> {
        Box::new(Self::sized(self.noise.for_batch(batch), self.kernel, self.z_dot_x.len(), batch))
    }

    fn draw(&mut self, draw: u64, role: PassRole) {
        self.noise.draw(draw, role);
    }

    fn drawn(&self) -> &PassNoise {
        &self.noise
    }

    /// E z_m² (⟨z_l, x⟩ + 1)² = m(m‖x‖² + 1), m = E z² = E|ε| = √(2/π).
    fn unit_variance(&self, x: &[f32]) -> f64 {
        let m = std::f64::consts::FRAC_2_PI.sqrt();
        m * (m * squared_norm(x) + 1.0)
    }

    fn perturb(&mut self, at: &LayerContext<'_>, sigma: &Matrix, x: &Matrix, y: &mut Matrix) {
        let Self { kernel, noise, z_dot_x, .. } = self;
        let (kernel, width) = (*kernel, at.layer.width());
        for_each_row_and_number(y, &mut z_dot_x[at.k], |i, row, z_dot_x| {
            let (noise, x) = (rank_one(noise, sigma, at.k, i), &x.row(i)[..width]);
            *z_dot_x = match at.is_last {
                true => noise.perturb(kernel, row, x),
                false => noise.perturb_relu(kernel, row, x),
            };
        });
    }

    fn backward_sigma(
        &mut self,
        at: &LayerContext<'_>,
        sigma: &Matrix,
        _x: &Matrix,
        delta: &Matrix,
        d_sigma: &mut Matrix,
    ) {
        let column = sigma_column(sigma, at.k);
        for i in 0..delta.rows() {
            let delta_dot_z = rank_one(&self.noise, sigma, at.k, i).delta_dot_z(self.kernel, delta.row(i));
            self.delta_dot_z[i] = delta_dot_z;
            d_sigma.row_mut(i)[column] += self.z_dot_x[at.k][i] * delta_dot_z;
        }
    }

    fn backward_input(&mut self, at: &LayerContext<'_>, sigma: &Matrix, _delta: &Matrix, dx: &mut Matrix) {
        let (kernel, width) = (self.kernel, at.layer.width());
        let (noise, delta_dot_z) = (&self.noise, &self.delta_dot_z);
        for_each_row(dx, |i, row| {
            rank_one(noise, sigma, at.k, i).add_input_gradient(kernel, delta_dot_z[i], &mut row[..width]);
        });
    }
}

/// The noise of layer `k` for example `i`, scaled by the σ it belongs to.
fn rank_one<'a>(noise: &'a PassNoise, sigma: &Matrix, k: usize, i: usize) -> RankOne<'a> {
    RankOne { z_in: noise.z_in(k, i), z_out: noise.z_out(k, i), sigma: sigma.row(i)[sigma_column(sigma, k)] }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sane_env::Stream;

    const L: usize = 37;
    const M: usize = 21;

    fn draw(stream: &mut Stream, count: usize) -> Vec<f32> {
        (0..count).map(|_| stream.normal() as f32).collect()
    }

    struct Literal {
        w: Vec<f32>,
        b: Vec<f32>,
        x: Vec<f32>,
        z_in: Vec<f32>,
        z_out: Vec<f32>,
        sigma: f32,
    }

    fn literal() -> Literal {
        let mut stream = Stream::named(1, "test");
        Literal {
            w: draw(&mut stream, L * M),
            b: draw(&mut stream, M),
            x: draw(&mut stream, L),
            z_in: draw(&mut stream, L),
            z_out: draw(&mut stream, M),
            sigma: -0.7,
        }
    }

    impl Literal {
        fn noise(&self) -> RankOne<'_> {
            RankOne { z_in: &self.z_in, z_out: &self.z_out, sigma: self.sigma }
        }

        /// w̃_ji = w_ji + σ·ε_ji, built.
        fn weight(&self, j: usize, i: usize) -> f64 {
            let epsilon = f64::from(self.z_out[j]) * f64::from(self.z_in[i]);
            f64::from(self.w[j * L + i]) + f64::from(self.sigma) * epsilon
        }
    }

    #[test]
    fn rank_one_noise_equals_the_literal_equation() {
        let layer = literal();
        let plain = |j: usize| (0..L).fold(layer.b[j], |sum, i| sum + layer.w[j * L + i] * layer.x[i]);
        let mut y: Vec<f32> = (0..M).map(plain).collect();
        layer.noise().perturb(Kernel::detect(), &mut y, &layer.x);
        for (j, &y_j) in y.iter().enumerate() {
            let bias = f64::from(layer.b[j]) + f64::from(layer.sigma) * f64::from(layer.z_out[j]);
            let expected = (0..L).fold(bias, |sum, i| sum + layer.weight(j, i) * f64::from(layer.x[i]));
            assert!((f64::from(y_j) - expected).abs() < 1e-4, "output {j}: {y_j} instead of {expected}");
        }
    }

    #[test]
    fn the_backward_pass_equals_the_literal_equation() {
        let layer = literal();
        let delta = draw(&mut Stream::named(2, "test"), M);
        let mut dx: Vec<f32> = (0..L).map(|i| (0..M).map(|j| layer.w[j * L + i] * delta[j]).sum()).collect();
        let mut y = vec![0.0; M];
        let z_dot_x = layer.noise().perturb(Kernel::detect(), &mut y, &layer.x);
        let delta_dot_z = layer.noise().delta_dot_z(Kernel::detect(), &delta);
        layer.noise().add_input_gradient(Kernel::detect(), delta_dot_z, &mut dx);
        let d_sigma = z_dot_x * delta_dot_z;

        let literal_d_sigma: f64 = (0..M)
            .map(|j| {
                let inputs: f64 = (0..L).map(|i| f64::from(layer.z_in[i]) * f64::from(layer.x[i])).sum();
                f64::from(delta[j]) * f64::from(layer.z_out[j]) * (inputs + 1.0)
            })
            .sum();
        assert!((f64::from(d_sigma) - literal_d_sigma).abs() < 1e-3 * literal_d_sigma.abs().max(1.0));
        for (i, &dx_i) in dx.iter().enumerate() {
            let expected: f64 = (0..M).map(|j| layer.weight(j, i) * f64::from(delta[j])).sum();
            assert!((f64::from(dx_i) - expected).abs() < 1e-3, "input {i}: {dx_i} instead of {expected}");
        }
    }

    #[test]
    fn without_sigma_nothing_changes_by_a_bit() {
        let layer = Literal { sigma: 0.0, ..literal() };
        let mut y = layer.b.clone();
        layer.noise().perturb(Kernel::detect(), &mut y, &layer.x);
        assert_eq!(y, layer.b);
        let mut dx = layer.x.clone();
        layer.noise().add_input_gradient(Kernel::detect(), 0.7, &mut dx);
        assert_eq!(dx, layer.x);
    }
}
