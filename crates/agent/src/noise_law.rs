//! What the mathematics of the bound says about the noise in one state: V(s, a), the variance of Q(s, a) that σ = 1 would
//! give, from weights and features alone; and how heavy the KL term is there. Derived in docs/derivations.md, §6.

use crate::network::Network;
use crate::pass::Pass;
use sane_nn::{Head, InputGradient, Matrix};

/// What the size of the noise in a state should follow from, for agents whose noise one σ(s) scales.
#[derive(Debug, Clone, PartialEq)]
pub struct NoiseLaw {
    /// V(s, a) of each action: to first order σ(s)²·V(s, a) is the variance of Q(s, a).
    pub unit_variance: Vec<f64>,
    /// λ(s)·k₂: the weight of this state's KL, times the perturbed parameters. None without a KL term.
    pub kl_weight: Option<f64>,
}

impl NoiseLaw {
    /// V(s): the mean of V(s, a) over the actions.
    pub fn mean_unit_variance(&self) -> f64 {
        self.unit_variance.iter().sum::<f64>() / self.unit_variance.len().max(1) as f64
    }

    /// The σ(s) at which the squared error and the KL balance: σ² = λk₂/(λk₂ + 2V). None without a KL term.
    pub fn sigma(&self) -> Option<f64> {
        let kl = self.kl_weight?;
        Some((kl / (kl + 2.0 * self.mean_unit_variance())).sqrt())
    }
}

/// V(s, ·) of the first state of a pass without noise; none where no single σ scales all layers.
///
/// ```text
/// V(s, a) = Σ_k c(x_k) · ‖∂Q(s, a)/∂y_k‖²     c(x) = m(m‖x‖² + 1), m = E z² = √(2/π), for factored noise
/// ```
///
/// y_k = W_k x_k + b_k are the outputs of dense layer k before ReLU. Two outputs of a layer share ⟨z_l, x⟩, but not the sign
/// of their own z, so that they are uncorrelated, and so are two layers.
pub(crate) fn unit_variance(network: &Network, params: &[f32], pass: &Pass) -> Option<Vec<f64>> {
    let count = network.layers.len();
    let actions = pass.q().cols();
    // One row per action: ∂Q(s, a)/∂y_k, from the last layer down.
    let mut slope = Matrix::zeros(actions, actions);
    (0..actions).for_each(|a| slope.row_mut(a)[a] = 1.0);
    let mut variance = vec![0.0; actions];
    for k in (0..count).rev() {
        let layer = &network.layers[k];
        let x = if k == 0 { &pass.features } else { &pass.y[k - 1] };
        let of_output = pass.perturbation.unit_variance(&x.row(0)[..layer.width()])?;
        for (a, variance) in variance.iter_mut().enumerate() {
            *variance += of_output * slope.row(a).iter().map(|s| f64::from(*s) * f64::from(*s)).sum::<f64>();
        }
        if 0 < k {
            let mut below = Matrix::zeros(actions, pass.y[k - 1].cols());
            let heads = [Head { layer: &layer.mean, dy: &slope, input_scale: None }];
            InputGradient::new(network.kernel, &[&layer.mean], actions).compute(params, &heads, &mut below);
            for a in 0..actions {
                network.kernel.relu_backward(below.row_mut(a), pass.y[k - 1].row(0));
            }
            slope = below;
        }
    }
    Some(variance)
}
