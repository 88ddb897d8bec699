//! The perturbation module g_Θ: h(s) and extra features in, σ(s) out, and the backward pass.
//!
//! Dense layers with a [`ModuleActivation`] between them and a plain last layer, whose outputs become σ(s) by a [`SigmaForm`].

use crate::AgentError;
use crate::config::{SMALLEST_NOISE, in_range};
use crate::explorer::Setting;
use crate::network::HeadBuilder;
use crate::objective::Regulariser;
use crate::sigma::{SigmaForm, SigmaStats, add_kl};
use sane_nn::{Activation, Dense, DenseUpdate, Head, Init, InputGradient, Kernel, Matrix};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Settings of the module.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModuleSettings {
    /// Widths of the hidden layers.
    pub hidden: Vec<usize>,
    /// What follows each hidden layer.
    pub activation: ModuleActivation,
    /// What turns the module's output into σ.
    pub sigma: SigmaForm,
    /// Whether log(1 + n(s)), n(s) the visits of a hash of the state, is appended to the module's input.
    pub visit_counts: bool,
    /// The module's learning rate as a multiple of the network's.
    pub learning_rate_scale: f32,
    /// Whether the module reads h(s) as plain numbers, so that σ does not shape the features.
    pub stop_gradient: bool,
}

impl Default for ModuleSettings {
    fn default() -> Self {
        Self {
            hidden: vec![256],
            activation: ModuleActivation::Relu,
            sigma: SigmaForm::Linear,
            visit_counts: false,
            learning_rate_scale: 1.0,
            stop_gradient: false,
        }
    }
}

impl ModuleSettings {
    /// What its settings mean, by their keys.
    pub const SETTINGS: [Setting; 6] = [
        Setting { key: "module.hidden", meaning: "sane agents: widths of the module's hidden layers" },
        Setting {
            key: "module.activation",
            meaning: "sane agents: activation of the module: relu (the paper's), leaky-relu or tanh",
        },
        Setting {
            key: "module.sigma",
            meaning: "sane agents: form of σ: linear (the paper's), softplus, or positive (softplus + 1e-6)",
        },
        Setting { key: "module.visit_counts", meaning: "sane agents: whether visit counts are a feature: true, false" },
        Setting {
            key: "module.learning_rate_scale",
            meaning: "sane agents: the module's learning rate as a multiple of the network's, at least 0",
        },
        Setting {
            key: "module.stop_gradient",
            meaning: "sane agents: whether no gradient flows from σ into the features: true, false",
        },
    ];

    /// Validates the widths and the learning rate.
    pub(crate) fn check(&self) -> Result<(), AgentError> {
        check_rate_scale("exploration.module.learning_rate_scale", self.learning_rate_scale)?;
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

/// Validates the range of a learning rate's multiple.
pub(crate) fn check_rate_scale(key: &'static str, scale: f32) -> Result<(), AgentError> {
    in_range(key, scale.into(), 0.0..f64::INFINITY, "a number of at least 0")
}

/// What follows a hidden layer of the module.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ModuleActivation {
    /// max(x, 0), the paper's. A unit that is off in every state has no gradient and stays off.
    #[default]
    Relu,
    /// x where it is positive, else x/100: every unit has a gradient in every state.
    LeakyRelu,
    Tanh,
}

/// Slope of a leaky ReLU below zero.
const LEAK: f32 = 0.01;

impl ModuleActivation {
    /// y ← f(y)
    fn apply(self, kernel: Kernel, y: &mut [f32]) {
        match self {
            Self::Relu => kernel.relu(y),
            Self::LeakyRelu => y.iter_mut().for_each(|y| *y = y.max(LEAK * *y)),
            Self::Tanh => y.iter_mut().for_each(|y| *y = libm::tanh(f64::from(*y)) as f32),
        }
    }

    /// dy ← dy·f', given y = f(x).
    fn backward(self, kernel: Kernel, dy: &mut [f32], y: &[f32]) {
        match self {
            Self::Relu => kernel.relu_backward(dy, y),
            Self::LeakyRelu => dy.iter_mut().zip(y).for_each(|(d, y)| *d *= if 0.0 < *y { 1.0 } else { LEAK }),
            Self::Tanh => dy.iter_mut().zip(y).for_each(|(d, y)| *d *= 1.0 - y * y),
        }
    }
}

/// What a rule makes of the module's σ in one state.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Scales {
    /// Factor of σ(s).
    pub sigma: f32,
    /// Factor of the weight of its KL.
    pub kl: f32,
}

impl Scales {
    pub const ONE: Self = Self { sigma: 1.0, kl: 1.0 };

    /// Noise of Q that is `factor` times the wanted one: σ is scaled, and the KL weighs as that noise asks. Smaller noise than the
    /// smallest that may be set is that one: a positive σ stays positive, and its logarithm finite.
    pub fn of_noise(factor: f32) -> Self {
        let factor = factor.max(SMALLEST_NOISE);
        Self { sigma: factor, kl: factor * factor }
    }
}

/// The module in one pass: its layers, activations and derivatives.
#[derive(Debug, Clone)]
pub(crate) struct PerturbationModule {
    kernel: Kernel,
    settings: ModuleSettings,
    layers: Vec<Dense>,
    /// Outputs of the layers, after the activation but for the last.
    y: Vec<Matrix>,
    /// σ(s), [B, number of σ].
    pub sigma: Matrix,
    /// ∂L/∂σ(s), added up by the layers of the head.
    pub d_sigma: Matrix,
    /// What each state's σ is multiplied by, and what the weight of its KL; 1 unless a rule says otherwise.
    pub scales: Vec<Scales>,
    /// ∂L/∂(outputs of the layers before the activation).
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
        Ok(Self::sized(head.kernel(), settings.clone(), layers, 1))
    }

    pub fn for_batch(&self, batch: usize) -> Self {
        Self::sized(self.kernel, self.settings.clone(), self.layers.clone(), batch)
    }

    fn sized(kernel: Kernel, settings: ModuleSettings, layers: Vec<Dense>, batch: usize) -> Self {
        let y: Vec<Matrix> = layers.iter().map(|layer| Matrix::zeros(batch, layer.outputs())).collect();
        let sigma = y[y.len() - 1].clone();
        let into_layer = layers[1..].iter().map(|layer| InputGradient::new(kernel, &[layer], batch)).collect();
        let scales = vec![Scales::ONE; batch];
        Self { kernel, settings, d_sigma: sigma.clone(), sigma, scales, d_y: y.clone(), y, layers, into_layer }
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
            let is_hidden = k + 1 < count;
            let fused = is_hidden && self.settings.activation == ModuleActivation::Relu;
            let activation = if fused { Activation::Relu } else { Activation::Linear };
            layer.forward(params, before.last().unwrap_or(features), &mut here[0], activation);
            if is_hidden && !fused {
                self.settings.activation.apply(self.kernel, here[0].as_mut_slice());
            }
        }
        self.sigma.as_mut_slice().copy_from_slice(self.y[count - 1].as_slice());
        let form = self.settings.sigma;
        if form != SigmaForm::Linear {
            (0..self.sigma.rows()).for_each(|i| self.sigma.row_mut(i).iter_mut().for_each(|u| *u = form.sigma(*u)));
        }
        // The layers of the head add their parts in the backward pass.
        self.d_sigma.clear();
    }

    /// σ(sᵢ) ← scale·σ(sᵢ), after [`forward`](Self::forward).
    pub fn scale(&mut self, i: usize, scales: Scales) {
        self.scales[i] = scales;
        self.sigma.row_mut(i).iter_mut().for_each(|sigma| *sigma *= scales.sigma);
    }

    /// From ∂L/∂σ(s) to ∂L/∂(outputs of the first layer). Returns what the KL term of σ(s) adds to the loss;
    /// `perturbed(g)` is the number of parameters that the g-th σ of a state scales.
    pub fn backward(
        &mut self,
        params: &[f32],
        regulariser: Option<&Regulariser>,
        perturbed: impl Fn(usize) -> usize,
    ) -> f32 {
        let scales = &self.scales;
        let kl_scale = |i: usize| scales[i].kl;
        let kl =
            regulariser.map_or(0.0, |weights| add_kl(weights, perturbed, kl_scale, &self.sigma, &mut self.d_sigma));
        let (form, last) = (self.settings.sigma, self.layers.len() - 1);
        if form != SigmaForm::Linear {
            for (i, scales) in self.scales.iter().enumerate() {
                let pairs = self.d_sigma.row_mut(i).iter_mut().zip(self.y[last].row(i));
                pairs.for_each(|(d, u)| *d *= scales.sigma * form.slope(form.sigma(*u)));
            }
        }
        self.d_y[last].as_mut_slice().copy_from_slice(self.d_sigma.as_slice());
        for k in (1..=last).rev() {
            let (below, here) = self.d_y.split_at_mut(k);
            let heads = [Head { layer: &self.layers[k], dy: &here[0], input_scale: None }];
            self.into_layer[k - 1].compute(params, &heads, &mut below[k - 1]);
            let activation = self.settings.activation;
            activation.backward(self.kernel, below[k - 1].as_mut_slice(), self.y[k - 1].as_slice());
        }
        kl
    }

    /// The first layer, if derivatives flow through it into h(s).
    pub fn feature_layer(&self) -> Option<&Dense> {
        (!self.settings.stop_gradient).then_some(&self.layers[0])
    }

    /// The module's part of ∂L/∂h, after [`backward`](Self::backward).
    pub fn feature_head(&self) -> Option<Head<'_>> {
        Some(Head { layer: self.feature_layer()?, dy: &self.d_y[0], input_scale: None })
    }

    /// All parameters of the module, if they learn at a rate of their own, and that rate's multiple.
    pub fn rate_scale(&self) -> Option<(Range<usize>, f32)> {
        let last = &self.layers[self.layers.len() - 1];
        let end = last.bias_range().map_or(last.weight_range().end, |bias| bias.end);
        let scale = self.settings.learning_rate_scale;
        (scale != 1.0).then(|| (self.layers[0].weight_range().start..end, scale))
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
        let can_die = self.settings.activation == ModuleActivation::Relu;
        let is_live = |layer: &Matrix, unit: usize| !can_die || (0..layer.rows()).any(|i| 0.0 < layer.row(i)[unit]);
        let live: usize =
            hidden.iter().map(|layer| (0..layer.cols()).filter(|&unit| is_live(layer, unit)).count()).sum();
        let all = (0..self.sigma.rows()).flat_map(|i| self.sigma.row(i).iter().copied());
        SigmaStats {
            dead_states_share: self.dead_states_share(),
            ..SigmaStats::new(all, if units == 0 { 1.0 } else { live as f32 / units as f32 })
        }
    }

    /// Share of the states in which σ no longer follows the state: some hidden layer is off as a whole, so that σ has the
    /// value that the biases behind that layer give, or σ is at the floor of its form.
    fn dead_states_share(&self) -> f32 {
        let (form, can_die) = (self.settings.sigma, self.settings.activation == ModuleActivation::Relu);
        let (output, hidden) = self.y.split_last().expect("a module has an output layer");
        let is_off = |i: usize| can_die && hidden.iter().any(|layer| layer.row(i).iter().all(|y| *y <= 0.0));
        let is_at_floor = |i: usize| output.row(i).iter().all(|u| form.floor() == Some(form.sigma(*u)));
        let states = output.rows();
        (0..states).filter(|&i| is_off(i) || is_at_floor(i)).count() as f32 / states.max(1) as f32
    }
}
