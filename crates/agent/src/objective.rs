//! What is minimised: the squared TD error and, if wanted, the KL term of the paper's evidence lower bound.
//!
//! (Q(s, a), T, σ(s), parameters) → loss and its derivatives. Derivations: docs/derivations.md.

use crate::AgentError;
use crate::bound::BoundState;
use crate::config::in_range;
use crate::network::Network;
use crate::pass::Pass;
use crate::perturbation::KlTerm;
use serde::{Deserialize, Serialize};

/// The objective, to be minimised.
///
/// ```text
/// max Σᵢ −(Q(sᵢ, aᵢ; θ̂ᵢ) − Tᵢ)²                                                [SANE:objective-td]
/// max Σᵢ [−C₁ (Q(sᵢ, aᵢ; θ̂ᵢ) − Tᵢ)² − (1/N) KL(q(θ|sᵢ), p(θ))]                 [SANE:objective-elbo]
/// ```
///
/// Divided by −C₁·N this is the mean squared TD error plus `kl_weight` times the mean KL, with
/// `kl_weight` = 1/(C₁ N) = 2σₑ²/N. Agents that choose this weight by the size of the noise: `bound.rs`.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Objective {
    /// The squared TD error alone: the paper argues that it dominates.
    #[default]
    TdError,
    /// The whole evidence lower bound, prior N(0, I).
    Elbo {
        /// 2σₑ²/N, for N transitions with an error variance of σₑ². No default suits two worlds: the noise of Q becomes
        /// √(kl_weight·k₂/2) for k₂ perturbed parameters.
        kl_weight: f32,
    },
    /// The two penalties the authors tried: `parameters`·½‖θ‖² + `sigma`·mean(σ²/2 − log|σ|).
    Penalties {
        /// Weight of ½‖θ‖².
        #[serde(default = "authors_parameter_weight")]
        parameters: f32,
        /// Weight of the mean of σ²/2 − log|σ|.
        #[serde(default = "authors_sigma_weight")]
        sigma: f32,
    },
}

/// The objective's KL term resolved for one network: weights of what is added to the squared TD error.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Regulariser {
    /// Weight of ½‖μ‖² over all means.
    pub parameters: f32,
    /// Weight of σ(s)²/2 − log|σ(s)|, averaged over the batch, for every parameter that this σ(s) perturbs.
    per_perturbed: f32,
    /// The same, averaged over the batch and over all σ(s) of a state.
    per_sigma: f32,
    /// Weight of the sum over NoisyNet's deviations of σ²/2 − log|σ|.
    pub weight_sigma: f32,
    /// What does not depend on any parameter.
    pub constant: f32,
    /// Whether it has a derivative towards parameters themselves, not only through σ(s).
    pub reaches_parameters: bool,
}

impl Regulariser {
    /// Adds the derivative of the KL of NoisyNet's deviations to `gradients` and returns what the KL adds to the loss. A
    /// deviation of exactly zero is a lane that no weight uses.
    ///
    /// Millions of logarithms would take longer than the rest of a step: one is taken of the product of eight deviations.
    pub(crate) fn add_kl_of_deviations(&self, deviations: &[f32], gradients: &mut [f32]) -> f32 {
        let weight = self.weight_sigma;
        for (sigma, gradient) in deviations.iter().zip(gradients) {
            *gradient += if *sigma == 0.0 { 0.0 } else { weight * (sigma - 1.0 / sigma) };
        }
        let mut sum = 0.0;
        for eight in deviations.chunks(8) {
            let (mut squares, mut product) = (0.0, 1.0);
            for sigma in eight.iter().map(|sigma| f64::from(*sigma)) {
                squares += sigma * sigma;
                product *= if sigma == 0.0 { 1.0 } else { sigma.abs() };
            }
            sum += 0.5 * squares - libm::log(product);
        }
        (f64::from(weight) * sum) as f32
    }
}

/// What the KL term adds to the loss, part by part.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct KlParts {
    /// The part of the deviations: σ(s) of the batch's states, or NoisyNet's.
    pub sigma: f32,
    /// The part of the means: ½‖μ‖².
    pub means: f32,
}

impl KlParts {
    pub fn sum(self) -> f32 {
        self.sigma + self.means
    }
}

impl Regulariser {
    /// What one σ(s) adds to the loss, and the derivative; it perturbs `perturbed` parameters and is one of `sigmas` of its
    /// state.
    pub fn of_state_sigma(&self, sigma: f32, perturbed: usize, sigmas: usize) -> (f32, f32) {
        let (kl, slope) = Objective::kl_of_deviation(sigma);
        let of_bound = self.per_perturbed * perturbed as f32;
        let weight = of_bound + self.per_sigma / sigmas as f32;
        (weight * kl - 0.5 * of_bound, weight * slope)
    }
}

impl Objective {
    /// Loss of a batch and ∂L/∂Q(sᵢ, aᵢ) into `slope`. The weights are 1 but for an ensemble, whose heads learn from parts of the
    /// data; b then counts examples times heads.
    ///
    /// ```text
    /// L = 1/b Σᵢ wᵢ (Q(sᵢ, aᵢ) − Tᵢ)²,   ∂L/∂Q(sᵢ, aᵢ) = 2/b wᵢ (Q(sᵢ, aᵢ) − Tᵢ)      [SANE:loss]
    /// ```
    pub fn td_loss(q_taken: &[f32], targets: &[f32], weights: &[f32], slope: &mut [f32]) -> f32 {
        assert_eq!(q_taken.len(), targets.len(), "td_loss: {} values, {} targets", q_taken.len(), targets.len());
        let b = q_taken.len() as f32;
        let mut sum = 0.0;
        for (((q, target), weight), slope) in q_taken.iter().zip(targets).zip(weights).zip(slope) {
            let error = q - target;
            sum += weight * error * error;
            *slope = 2.0 / b * error * weight;
        }
        sum / b
    }

    /// KL between q = N(μ, diag(σ²)) and p = N(0, I), the part of one parameter that depends on its deviation,
    /// and its derivative.
    ///
    /// ```text
    /// KL(q, p) = ½ [−log|Σ| + tr Σ + ‖μ‖² − k] = ½‖μ‖² + Σⱼ (σⱼ²/2 − log|σⱼ| − ½)     [SANE:kl]
    /// ```
    ///
    /// SANE has one σ(s) for all k₂ perturbed parameters, NoisyNet one σ per parameter. What is not perturbed has a
    /// constant, vanishing deviation and gives only its ½μ².
    pub fn kl_of_deviation(sigma: f32) -> (f32, f32) {
        (0.5 * sigma * sigma - libm::log(f64::from(sigma.abs())) as f32, sigma - 1.0 / sigma)
    }

    /// The weights for a pass through this network; none if only the TD error is minimised.
    pub(crate) fn regulariser_of(
        self,
        bound: Option<&BoundState>,
        network: &Network,
        pass: &Pass,
    ) -> Option<Regulariser> {
        if self == Self::TdError && bound.is_none() {
            return None;
        }
        let has_deviations =
            network.layout.names().any(|(name, _)| pass.perturbation.kl_term(name) == KlTerm::Deviation);
        let deviations = if has_deviations { network.perturbed() } else { 0 };
        match bound {
            None => self.regulariser(deviations),
            Some(bound) => {
                let kl_weight = bound.kl_weight(network.perturbed());
                let whole = Self::Elbo { kl_weight }.regulariser(deviations)?;
                let parameters = if bound.kl_of_means() { whole.parameters } else { 0.0 };
                Some(Regulariser { parameters, reaches_parameters: bound.kl_of_means() || has_deviations, ..whole })
            }
        }
    }

    /// The weights for a network with this many deviations of its own (NoisyNet), 0 where σ depends on the state.
    fn regulariser(self, deviations: usize) -> Option<Regulariser> {
        match self {
            Self::TdError => None,
            Self::Elbo { kl_weight } => Some(Regulariser {
                parameters: kl_weight,
                per_perturbed: kl_weight,
                per_sigma: 0.0,
                weight_sigma: kl_weight,
                constant: -0.5 * kl_weight * deviations as f32,
                reaches_parameters: true,
            }),
            Self::Penalties { parameters, sigma } => Some(Regulariser {
                parameters,
                per_perturbed: 0.0,
                per_sigma: sigma,
                weight_sigma: if deviations == 0 { 0.0 } else { sigma / deviations as f32 },
                constant: 0.0,
                reaches_parameters: true,
            }),
        }
    }

    /// Validates the ranges of the weights.
    pub(crate) fn check(self) -> Result<(), AgentError> {
        let weights = match self {
            Self::TdError => [None, None],
            Self::Elbo { kl_weight } => [Some(("objective.kl_weight", kl_weight)), None],
            Self::Penalties { parameters, sigma } => {
                [Some(("objective.parameters", parameters)), Some(("objective.sigma", sigma))]
            }
        };
        weights
            .into_iter()
            .flatten()
            .try_for_each(|(key, value)| in_range(key, value.into(), 0.0..f64::INFINITY, "a number of at least 0"))
    }
}

fn authors_parameter_weight() -> f32 {
    1e-4
}

fn authors_sigma_weight() -> f32 {
    1e-2
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loss_is_the_mean_of_the_squared_errors() {
        let mut slope = [0.0; 2];
        let loss = Objective::td_loss(&[1.0, 2.0], &[0.0, 4.0], &[1.0; 2], &mut slope);
        assert_eq!((loss, slope), (2.5, [1.0, -2.0]));
    }

    #[test]
    fn kl_vanishes_only_at_the_prior() {
        let kl = |sigma: f32| Objective::kl_of_deviation(sigma).0 - 0.5;
        assert_eq!(kl(1.0), 0.0);
        assert!(0.0 < kl(0.5) && 0.0 < kl(2.0) && kl(-0.5) == kl(0.5));
        assert_eq!(Objective::kl_of_deviation(1.0).1, 0.0);
    }

    #[test]
    fn the_slope_of_the_kl_matches_finite_differences() {
        for sigma in [-1.7_f32, -0.2, 0.05, 0.9, 3.0] {
            let at = |s: f64| 0.5 * s * s - s.abs().ln();
            let h = 1e-6;
            let expected = (at(f64::from(sigma) + h) - at(f64::from(sigma) - h)) / (2.0 * h);
            let (_, slope) = Objective::kl_of_deviation(sigma);
            assert!((f64::from(slope) - expected).abs() < 1e-4 * expected.abs().max(1.0), "{sigma}");
        }
    }

    #[test]
    fn the_kl_of_many_deviations_is_the_sum_of_each_and_unused_lanes_do_not_count() {
        let deviations: Vec<f32> = (0..100).map(|i| if i % 7 == 0 { 0.0 } else { 1e-6 * 1.2_f32.powi(i) }).collect();
        let mut gradients = vec![0.5; deviations.len()];
        let weights = Objective::Elbo { kl_weight: 0.1 }.regulariser(0).unwrap();
        let found = weights.add_kl_of_deviations(&deviations, &mut gradients);
        let used = deviations.iter().filter(|sigma| **sigma != 0.0);
        let expected: f32 = used.map(|sigma| 0.1 * Objective::kl_of_deviation(*sigma).0).sum();
        assert!((found - expected).abs() < 1e-4 * expected, "{found} {expected}");
        for (sigma, gradient) in deviations.iter().zip(gradients) {
            let slope = if *sigma == 0.0 { 0.0 } else { 0.1 * Objective::kl_of_deviation(*sigma).1 };
            assert!((gradient - 0.5 - slope).abs() <= 1e-5 * slope.abs().max(1.0), "{sigma}");
        }
    }

    #[test]
    fn the_bound_of_a_network_equals_the_hand_computation() {
        // k₂ = 10 perturbed parameters, σ(s) = 0.5, ‖μ‖² = 4, weight 0.1:
        // 0.1 · ½[10 (0.25 − 1 − log 0.25) + 4] = 0.1 · ½[10 · 0.636294 + 4] = 0.518147.
        let weights = Objective::Elbo { kl_weight: 0.1 }.regulariser(0).unwrap();
        let (of_sigma, _) = weights.of_state_sigma(0.5, 10, 1);
        let kl = weights.parameters * 0.5 * 4.0 + of_sigma + weights.constant;
        assert!((kl - 0.518_147).abs() < 1e-6, "{kl}");
    }

    #[test]
    fn a_negative_weight_is_refused() {
        let text = Objective::Penalties { parameters: 1e-4, sigma: -1.0 }.check().unwrap_err().to_string();
        assert!(text.starts_with("objective.sigma = -1 "), "{text}");
    }
}
