//! σ, wherever it comes from: the form that makes it of a learned output, what its KL term adds to the loss, and its statistics
//! over a batch.

use crate::objective::Regulariser;
use sane_nn::Matrix;
use serde::{Deserialize, Serialize};

/// What turns the module's output u into σ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SigmaForm {
    /// σ = u, the paper's; its sign carries no meaning.
    #[default]
    Linear,
    /// σ = log(1 + exp(u − 3)), positive until it underflows.
    Softplus,
    /// σ = 10⁻⁶ + log(1 + exp(u − 3)), so that log σ is always finite: what a KL term needs.
    Positive,
}

/// What softplus subtracts first, so that σ begins small.
const SOFTPLUS_SHIFT: f32 = 3.0;

/// The smallest σ of agents with a KL term.
pub(crate) const SMALLEST_SIGMA: f32 = 1e-6;

impl SigmaForm {
    /// σ of an output u.
    pub(crate) fn sigma(self, u: f32) -> f32 {
        match self {
            Self::Linear => u,
            Self::Softplus => softplus(u - SOFTPLUS_SHIFT),
            Self::Positive => SMALLEST_SIGMA + softplus(u - SOFTPLUS_SHIFT),
        }
    }

    /// dσ/du, given σ: the slope of softplus is 1 − exp(−softplus).
    pub(crate) fn slope(self, sigma: f32) -> f32 {
        match self {
            Self::Linear => 1.0,
            Self::Softplus => -libm::expm1(-f64::from(sigma)) as f32,
            Self::Positive => -libm::expm1(f64::from(SMALLEST_SIGMA - sigma)) as f32,
        }
    }

    /// The smallest σ of this form, which it has where the output is so far below zero that σ no longer follows it.
    pub(crate) fn floor(self) -> Option<f32> {
        match self {
            Self::Linear => None,
            Self::Softplus => Some(0.0),
            Self::Positive => Some(SMALLEST_SIGMA),
        }
    }

    /// The output u that gives this σ.
    pub(crate) fn output_of(self, sigma: f32) -> f32 {
        // Behind e³⁰ the 1 that expm1 subtracts is nothing, and the exponential of a large σ is infinite.
        let inverse = |positive: f32| {
            let exact = || libm::log(libm::expm1(f64::from(positive))) as f32;
            SOFTPLUS_SHIFT + if positive < 30.0 { exact() } else { positive }
        };
        match self {
            Self::Linear => sigma,
            Self::Softplus => inverse(sigma),
            Self::Positive => inverse((sigma - SMALLEST_SIGMA).max(f32::MIN_POSITIVE)),
        }
    }
}

/// Adds the KL term of the states' σ to ∂L/∂σ and returns what it adds to the loss. `kl_scale(i)` multiplies the weight of
/// the i-th state.
pub(crate) fn add_kl(
    weights: &Regulariser,
    perturbed: impl Fn(usize) -> usize,
    kl_scale: impl Fn(usize) -> f32,
    sigma: &Matrix,
    d_sigma: &mut Matrix,
) -> f32 {
    let batch = sigma.rows() as f32;
    let mut loss = 0.0;
    for i in 0..sigma.rows() {
        for (g, (d, &s)) in d_sigma.row_mut(i).iter_mut().zip(sigma.row(i)).enumerate() {
            let (kl, slope) = weights.of_state_sigma(s, perturbed(g), sigma.cols());
            loss += kl_scale(i) * kl / batch;
            *d += kl_scale(i) * slope / batch;
        }
    }
    loss
}

/// log(1 + eˣ) without overflow, in `f64` by way of functions that give the same bits on every machine.
fn softplus(x: f32) -> f32 {
    (f64::from(x.max(0.0)) + libm::log1p(libm::exp(-f64::from(x.abs())))) as f32
}

/// σ over a batch of states, and the health of the module that computed it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SigmaStats {
    /// Mean of |σ|.
    pub mean_abs: f32,
    /// Smallest |σ|.
    pub min_abs: f32,
    /// Largest |σ|.
    pub max_abs: f32,
    /// Standard deviation of |σ| across the states: 0 means that the noise is no longer state-aware.
    pub spread_abs: f32,
    /// Share of negative σ.
    pub negative_share: f32,
    /// Share of the module's hidden units that are active for at least one state; 1 where there are none.
    pub live_units_share: f32,
    /// Share of the states in which the module is off or σ at its floor, so that it is the same in all of them; 0 where there
    /// is no module.
    pub dead_states_share: f32,
}

impl SigmaStats {
    /// From σ of all states, and the share of live units.
    pub fn new(sigma: impl Iterator<Item = f32> + Clone, live_units_share: f32) -> Self {
        let count = sigma.clone().count().max(1) as f64;
        let abs = || sigma.clone().map(f32::abs);
        // In f64, so that equal numbers have no spread at all.
        let mean = abs().map(f64::from).sum::<f64>() / count;
        let variance = abs().map(|s| f64::from(s) - mean).map(|deviation| deviation * deviation).sum::<f64>() / count;
        Self {
            mean_abs: mean as f32,
            min_abs: abs().fold(f32::INFINITY, f32::min),
            max_abs: abs().fold(0.0, f32::max),
            spread_abs: variance.sqrt() as f32,
            negative_share: sigma.clone().filter(|s| *s < 0.0).count() as f32 / count as f32,
            live_units_share,
            dead_states_share: 0.0,
        }
    }

    /// Whether every hidden unit is off for every state, so that σ is one constant, whatever the state.
    pub fn is_dead(&self) -> bool {
        self.live_units_share == 0.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn softplus_is_positive_and_its_slope_is_the_logistic_function() {
        for x in [-80.0_f32, -5.0, -0.3, 0.0, 0.7, 6.0, 90.0] {
            let expected = if x < 30.0 { f64::from(x).exp().ln_1p() } else { f64::from(x) };
            assert!((f64::from(softplus(x)) - expected).abs() <= 1e-6 * expected, "{x}");
        }
        for form in [SigmaForm::Softplus, SigmaForm::Positive] {
            assert!((form.slope(form.sigma(4.5)) - 1.0 / (1.0 + (-1.5_f32).exp())).abs() < 1e-6);
            for sigma in [1e-4_f32, 0.05, 2.0, 29.9, 30.1, 1e6] {
                assert!((form.sigma(form.output_of(sigma)) / sigma - 1.0).abs() < 1e-4, "{form:?} {sigma}");
            }
        }
    }

    #[test]
    fn the_logarithm_of_a_positive_sigma_is_finite_whatever_the_module_says() {
        for u in [-1e30_f32, -200.0, 0.0, 200.0, 1e30] {
            let sigma = SigmaForm::Positive.sigma(u);
            assert!(SMALLEST_SIGMA <= sigma && sigma.ln().is_finite() && SigmaForm::Positive.slope(sigma).is_finite());
        }
        assert_eq!(SigmaForm::Softplus.sigma(-200.0), 0.0);
    }

    #[test]
    fn sizes_are_absolute_and_signs_are_counted() {
        let stats = SigmaStats::new([0.5, -1.5, 1.0, 1.0].into_iter(), 0.25);
        assert_eq!((stats.mean_abs, stats.min_abs, stats.max_abs, stats.negative_share), (1.0, 0.5, 1.5, 0.25));
        assert!((stats.spread_abs - 0.125_f32.sqrt()).abs() < 1e-6);
        assert!(!stats.is_dead());
    }
}
