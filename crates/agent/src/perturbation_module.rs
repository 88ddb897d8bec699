//! The perturbation module g_Θ: h(s) and extra features in, σ(s) out, and the backward pass.
//!
//! Dense layers with ReLU between them and a plain last layer, whose outputs become σ(s) by a [`SigmaForm`].

use crate::AgentError;
use crate::explorer::Setting;
use crate::network::HeadBuilder;
use crate::objective::{Objective, Regulariser};
use sane_nn::{Activation, Dense, DenseUpdate, Head, Init, InputGradient, Kernel, Matrix};
use serde::{Deserialize, Serialize};

/// Settings of the module.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModuleSettings {
    /// Widths of the hidden layers.
    pub hidden: Vec<usize>,
    /// What turns the module's output into σ.
    pub sigma: SigmaForm,
    /// Whether log(1 + n(s)), n(s) the visits of a hash of the state, is appended to the module's input.
    pub visit_counts: bool,
}

impl Default for ModuleSettings {
    fn default() -> Self {
        Self { hidden: vec![256], sigma: SigmaForm::Linear, visit_counts: false }
    }
}

impl ModuleSettings {
    /// What its settings mean, by their keys.
    pub const SETTINGS: [Setting; 3] = [
        Setting { key: "module.hidden", meaning: "sane agents: widths of the module's hidden layers" },
        Setting {
            key: "module.sigma", meaning: "sane agents: form of σ: linear (the paper's) or softplus (positive)"
        },
        Setting { key: "module.visit_counts", meaning: "sane agents: whether visit counts are a feature: true, false" },
    ];

    /// Validates the widths.
    pub(crate) fn check(&self) -> Result<(), AgentError> {
        match self.hidden.iter().position(|&width| width == 0) {
            Some(i) => Err(AgentError::Zero { layer: format!("sigma{}", i + 1), problem: "0 outputs".into() }),
            None => Ok(()),
        }
    }

    /// Parameters of a module that reads `inputs` numbers and gives `outputs`.
    pub(crate) fn parameter_count(&self, inputs: usize, outputs: usize) -> usize {
        let mut count = 0;
        let mut width = inputs;
        for &next in self.hidden.iter().chain([&outputs]) {
            count += width * next + next;
            width = next;
        }
        count
    }
}

/// What turns the module's output u into σ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SigmaForm {
    /// σ = u, the paper's; its sign carries no meaning.
    #[default]
    Linear,
    /// σ = log(1 + exp(u − 3)), always positive.
    Softplus,
}

/// What softplus subtracts first, so that σ begins small.
const SOFTPLUS_SHIFT: f32 = 3.0;

/// The module in one pass: its layers, activations and derivatives.
#[derive(Debug, Clone)]
pub(crate) struct PerturbationModule {
    kernel: Kernel,
    form: SigmaForm,
    layers: Vec<Dense>,
    /// Outputs of the layers, after ReLU but for the last.
    y: Vec<Matrix>,
    /// σ(s), [B, number of σ].
    pub sigma: Matrix,
    /// ∂L/∂σ(s), added up by the layers of the head.
    pub d_sigma: Matrix,
    /// ∂L/∂(outputs of the layers before ReLU).
    d_y: Vec<Matrix>,
    /// Input gradients of all layers but the first, whose part belongs to ∂L/∂h.
    into_layer: Vec<InputGradient>,
}

impl PerturbationModule {
    /// Adds the module's layers behind those of the head.
    ///
    /// ```text
    /// Θ ~ N(0, 2/l), biases of Θ: 0                                                    [SANE:initialisation-module]
    /// ```
    pub fn build(
        settings: &ModuleSettings,
        head: &mut HeadBuilder,
        extra_features: usize,
        outputs: usize,
    ) -> Result<Self, AgentError> {
        let mut layers: Vec<Dense> = Vec::new();
        for &width in settings.hidden.iter().chain([&outputs]) {
            let inputs = match layers.last() {
                None => head.features().followed_by(extra_features),
                Some(before) => sane_nn::InputOrder::natural(before.outputs()),
            };
            let name = |tensor: &str| format!("sigma{}.{tensor}", layers.len() + 1);
            let initial = [Init::HeNormal, Init::Constant(0.0)];
            layers.push(head.dense([name("weight"), name("bias")], inputs, width, initial)?);
        }
        Ok(Self::sized(head.kernel(), settings.sigma, layers, 1))
    }

    pub fn for_batch(&self, batch: usize) -> Self {
        Self::sized(self.kernel, self.form, self.layers.clone(), batch)
    }

    fn sized(kernel: Kernel, form: SigmaForm, layers: Vec<Dense>, batch: usize) -> Self {
        let y: Vec<Matrix> = layers.iter().map(|layer| Matrix::zeros(batch, layer.outputs())).collect();
        let sigma = y[y.len() - 1].clone();
        let into_layer = layers[1..].iter().map(|layer| InputGradient::new(kernel, &[layer], batch)).collect();
        Self { kernel, form, d_sigma: sigma.clone(), sigma, d_y: y.clone(), y, layers, into_layer }
    }

    /// σ(s) of every state of the pass.
    ///
    /// ```text
    /// σ(s) = g_Θ(h(s; θᵇ)),  ε = σ(s)·ε̂,  ε̂ ~ N(0, 1)                                        [SANE:perturbation]
    /// ```
    pub fn forward(&mut self, params: &[f32], features: &Matrix) {
        let count = self.layers.len();
        for (k, layer) in self.layers.iter_mut().enumerate() {
            let (before, here) = self.y.split_at_mut(k);
            let activation = if k + 1 < count { Activation::Relu } else { Activation::Linear };
            layer.forward(params, before.last().unwrap_or(features), &mut here[0], activation);
        }
        self.sigma.as_mut_slice().copy_from_slice(self.y[count - 1].as_slice());
        if self.form == SigmaForm::Softplus {
            for i in 0..self.sigma.rows() {
                self.sigma.row_mut(i).iter_mut().for_each(|u| *u = softplus(*u - SOFTPLUS_SHIFT));
            }
        }
        // The layers of the head add their parts in the backward pass.
        self.d_sigma.clear();
    }

    /// From ∂L/∂σ(s) to ∂L/∂(outputs of the first layer). Returns what the KL term of σ(s) adds to the loss;
    /// `perturbed(g)` is the number of parameters that the g-th σ of a state scales.
    pub fn backward(
        &mut self,
        params: &[f32],
        regulariser: Option<&Regulariser>,
        perturbed: impl Fn(usize) -> usize,
    ) -> f32 {
        let kl = regulariser.map_or(0.0, |weights| add_kl(weights, perturbed, &self.sigma, &mut self.d_sigma));
        if self.form == SigmaForm::Softplus {
            softplus_backward(&self.sigma, &mut self.d_sigma);
        }
        let last = self.layers.len() - 1;
        self.d_y[last].as_mut_slice().copy_from_slice(self.d_sigma.as_slice());
        for k in (1..=last).rev() {
            let (below, here) = self.d_y.split_at_mut(k);
            let heads = [Head { layer: &self.layers[k], dy: &here[0], input_scale: None }];
            self.into_layer[k - 1].compute(params, &heads, &mut below[k - 1]);
            self.kernel.relu_backward(below[k - 1].as_mut_slice(), self.y[k - 1].as_slice());
        }
        kl
    }

    /// The first layer, which reads h(s).
    pub fn feature_layer(&self) -> &Dense {
        &self.layers[0]
    }

    /// The module's part of ∂L/∂h, after [`backward`](Self::backward).
    pub fn feature_head(&self) -> Head<'_> {
        Head { layer: &self.layers[0], dy: &self.d_y[0], input_scale: None }
    }

    /// The update of layer `k` of the module, after [`backward`](Self::backward).
    pub fn update<'a>(&'a self, k: usize, features: &'a Matrix) -> Option<DenseUpdate<'a>> {
        let layer = self.layers.get(k)?;
        let x = if k == 0 { features } else { &self.y[k - 1] };
        Some(DenseUpdate { layer, x, dy: &self.d_y[k] })
    }

    /// Size and sign of σ over the batch, and how many hidden units are alive.
    pub fn sigma_stats(&self) -> SigmaStats {
        let hidden = &self.y[..self.y.len() - 1];
        let units: usize = hidden.iter().map(Matrix::cols).sum();
        let is_live = |layer: &Matrix, unit: usize| (0..layer.rows()).any(|i| 0.0 < layer.row(i)[unit]);
        let live: usize =
            hidden.iter().map(|layer| (0..layer.cols()).filter(|&unit| is_live(layer, unit)).count()).sum();
        let all = (0..self.sigma.rows()).flat_map(|i| self.sigma.row(i).iter().copied());
        SigmaStats::new(all, if units == 0 { 1.0 } else { live as f32 / units as f32 })
    }
}

/// Adds the KL term of the states' σ to ∂L/∂σ and returns what it adds to the loss.
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

/// ∂L/∂u in place of ∂L/∂σ, for σ = softplus(u): the slope of softplus is 1 − exp(−softplus).
fn softplus_backward(sigma: &Matrix, d_sigma: &mut Matrix) {
    for i in 0..sigma.rows() {
        for (d, s) in d_sigma.row_mut(i).iter_mut().zip(sigma.row(i)) {
            *d *= -(-s).exp_m1();
        }
    }
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
}

impl SigmaStats {
    /// From σ of all states, and the share of live units.
    pub fn new(sigma: impl Iterator<Item = f32> + Clone, live_units_share: f32) -> Self {
        let count = sigma.clone().count().max(1) as f64;
        let abs = || sigma.clone().map(f32::abs);
        // In f64, so that equal numbers have no spread at all.
        let mean = abs().map(f64::from).sum::<f64>() / count;
        let variance = abs().map(|s| (f64::from(s) - mean).powi(2)).sum::<f64>() / count;
        Self {
            mean_abs: mean as f32,
            min_abs: abs().fold(f32::INFINITY, f32::min),
            max_abs: abs().fold(0.0, f32::max),
            spread_abs: variance.sqrt() as f32,
            negative_share: sigma.clone().filter(|s| *s < 0.0).count() as f32 / count as f32,
            live_units_share,
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
        let mut sigma = Matrix::zeros(1, 1);
        sigma.row_mut(0)[0] = softplus(1.5);
        let mut d = Matrix::zeros(1, 1);
        d.row_mut(0)[0] = 1.0;
        softplus_backward(&sigma, &mut d);
        assert!((d.row(0)[0] - 1.0 / (1.0 + (-1.5_f32).exp())).abs() < 1e-6);
    }

    #[test]
    fn sizes_are_absolute_and_signs_are_counted() {
        let stats = SigmaStats::new([0.5, -1.5, 1.0, 1.0].into_iter(), 0.25);
        assert_eq!((stats.mean_abs, stats.min_abs, stats.max_abs, stats.negative_share), (1.0, 0.5, 1.5, 0.25));
        assert!((stats.spread_abs - 0.125_f32.sqrt()).abs() < 1e-6);
        assert!(!stats.is_dead());
    }
}
