//! SANE's dense layer: what the noise adds to W x + b and to the derivatives, one example at a time, W̃ never built.
//!
//! Derived in docs/derivations.md, §1. The literal form stands in the tests.

use sane_nn::Kernel;

/// The noise of one layer for one example, and the σ that scales it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RankOne<'a> {
    /// z(ε̂_l).
    pub z_in: &'a [f32],
    /// z(ε̂_m).
    pub z_out: &'a [f32],
    /// σ(s).
    pub sigma: f32,
}

impl RankOne<'_> {
    /// Perturbs `y`, which holds W x + b, and returns c = ⟨z_l, x⟩ + 1 for the way back. The noise matrix has rank one, so
    /// W̃ is never built: O(l + m) per example, not O(l·m).
    ///
    /// ```text
    /// y = W̃ x + b̃                                                                          [SANE:perturbed-layer]
    /// W̃ = W + σ(s)·ε_w,  b̃ = b + σ(s)·ε_b   ⟹   y = W x + b + σ(s)·c·z_m                   [SANE:perturbed-weight]
    /// ```
    ///
    /// DEVIATION(outer-product-order): ε_w is [outputs × inputs] here: docs/deviations.md#outer-product-order.
    pub fn add(&self, kernel: Kernel, y: &mut [f32], x: &[f32]) -> f32 {
        let reach = self.reach(kernel, x);
        kernel.axpy(y, self.sigma * reach, self.z_out);
        reach
    }

    /// As [`add`](Self::add), with ReLU after it.
    pub fn add_relu(&self, kernel: Kernel, y: &mut [f32], x: &[f32]) -> f32 {
        let reach = self.reach(kernel, x);
        kernel.axpy_relu(y, self.sigma * reach, self.z_out);
        reach
    }

    /// e = ⟨δ, z_m⟩, where δ = ∂L/∂y: what both derivatives of the noise need.
    ///
    /// ```text
    /// ∂L/∂σ = c·e        ∂L/∂x = Wᵀδ + σ·e·z_l
    /// ```
    pub fn pull(&self, kernel: Kernel, delta: &[f32]) -> f32 {
        kernel.dot(delta, self.z_out)
    }

    /// Adds the noise's part to `dx`, which holds Wᵀδ.
    pub fn add_input_gradient(&self, kernel: Kernel, pull: f32, dx: &mut [f32]) {
        kernel.axpy(dx, self.sigma * pull, self.z_in);
    }

    // The 1 is the input of the bias.
    fn reach(&self, kernel: Kernel, x: &[f32]) -> f32 {
        kernel.dot(self.z_in, x) + 1.0
    }
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
        layer.noise().add(Kernel::detect(), &mut y, &layer.x);
        for (j, &y_j) in y.iter().enumerate() {
            let bias = f64::from(layer.b[j]) + f64::from(layer.sigma) * f64::from(layer.z_out[j]);
            let expected = (0..L).fold(bias, |sum, i| sum + layer.weight(j, i) * f64::from(layer.x[i]));
            assert!((f64::from(y_j) - expected).abs() < 1e-4, "output {j}: {y_j} instead of {expected}");
        }
    }

    #[test]
    fn the_way_back_equals_the_literal_equation() {
        let layer = literal();
        let delta = draw(&mut Stream::named(2, "test"), M);
        let mut dx: Vec<f32> = (0..L).map(|i| (0..M).map(|j| layer.w[j * L + i] * delta[j]).sum()).collect();
        let mut y = vec![0.0; M];
        let reach = layer.noise().add(Kernel::detect(), &mut y, &layer.x);
        let pull = layer.noise().pull(Kernel::detect(), &delta);
        layer.noise().add_input_gradient(Kernel::detect(), pull, &mut dx);
        let d_sigma = reach * pull;

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
        layer.noise().add(Kernel::detect(), &mut y, &layer.x);
        assert_eq!(y, layer.b);
        let mut dx = layer.x.clone();
        layer.noise().add_input_gradient(Kernel::detect(), 0.7, &mut dx);
        assert_eq!(dx, layer.x);
    }
}
