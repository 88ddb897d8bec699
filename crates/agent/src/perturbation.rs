//! The perturbation module g_Θ: h(s) and extra features in, σ(s) out, and the way back.

use crate::SigmaForm;
use crate::network::{Mechanism, Network};
use crate::objective::{Objective, Regulariser};
use crate::pass::Pass;
use sane_nn::{Activation, Matrix};

/// What softplus subtracts first, so that σ begins small.
const SOFTPLUS_SHIFT: f32 = 3.0;

/// σ of every state of the pass.
///
/// ```text
/// σ(s) = g_Θ(h(s; θᵇ)),  ε = σ(s)·ε̂,  ε̂ ~ N(0, 1)                                        [SANE:perturbation]
/// ```
pub(crate) fn forward(network: &mut Network, params: &[f32], pass: &mut Pass) {
    let Some(sigma) = &mut pass.sigma else { return };
    if let Mechanism::Constant { sigma: id } = network.mechanism {
        let value = params[network.layout.range(id).start];
        return (0..sigma.rows()).for_each(|i| sigma.row_mut(i)[0] = value);
    }
    let count = network.module.len();
    for (k, dense) in network.module.iter_mut().enumerate() {
        let (before, here) = pass.module.split_at_mut(k);
        let activation = if k + 1 < count { Activation::Relu } else { Activation::Linear };
        dense.forward(params, before.last().unwrap_or(&pass.features), &mut here[0], activation);
    }
    let Some(output) = pass.module.last() else { return };
    sigma.as_mut_slice().copy_from_slice(output.as_slice());
    if let Mechanism::StateAware { form: SigmaForm::Softplus, .. } = network.mechanism {
        for i in 0..sigma.rows() {
            sigma.row_mut(i).iter_mut().for_each(|u| *u = softplus(*u - SOFTPLUS_SHIFT));
        }
    }
}

/// ∂L/∂u, u the module's output, in place of ∂L/∂σ.
pub(crate) fn through_sigma(mechanism: Mechanism, sigma: &Matrix, d_sigma: &mut Matrix) {
    if let Mechanism::StateAware { form: SigmaForm::Softplus, .. } = mechanism {
        for i in 0..sigma.rows() {
            // The slope of softplus is 1 − exp(−softplus).
            for (d, s) in d_sigma.row_mut(i).iter_mut().zip(sigma.row(i)) {
                *d *= -(-s).exp_m1();
            }
        }
    }
}

/// Adds the KL term of the state's σ to ∂L/∂σ and returns what it adds to the loss. `perturbed(g)` says how many
/// parameters the g-th σ of a state scales.
pub(crate) fn add_kl(
    weights: &Regulariser,
    perturbed: impl Fn(usize) -> usize,
    sigma: &Matrix,
    d_sigma: &mut Matrix,
) -> f32 {
    let batch = sigma.rows() as f32;
    let mut loss = 0.0;
    for i in 0..sigma.rows() {
        for (g, (d, &s)) in d_sigma.row_mut(i).iter_mut().zip(sigma.row(i)).enumerate() {
            let weight = weights.state_sigma(perturbed(g), sigma.cols()) / batch;
            let (kl, slope) = Objective::kl_of_deviation(s);
            loss += weight * kl;
            *d += weight * slope;
        }
    }
    loss
}

/// log(1 + eˣ) without overflow.
fn softplus(x: f32) -> f32 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::network::Grain;

    #[test]
    fn softplus_is_positive_and_its_slope_is_the_logistic_function() {
        for x in [-80.0_f32, -5.0, -0.3, 0.0, 0.7, 6.0, 90.0] {
            let expected = if x < 30.0 { f64::from(x).exp().ln_1p() } else { f64::from(x) };
            assert!((f64::from(softplus(x)) - expected).abs() <= 1e-6 * expected, "{x}");
        }
        let mut sigma = Matrix::zeros(1, 1);
        sigma.row_mut(0)[0] = softplus(1.5);
        let mut d = Matrix::zeros(1, 1);
        d.row_mut(0)[0] = 1.0;
        through_sigma(Mechanism::StateAware { grain: Grain::Network, form: SigmaForm::Softplus }, &sigma, &mut d);
        assert!((d.row(0)[0] - 1.0 / (1.0 + (-1.5_f32).exp())).abs() < 1e-6);
    }
}
