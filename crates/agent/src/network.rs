//! One agent's network: convolutions θᵇ, dense layers θᵖ, and what perturbs them, as the engine's layers over one layout of
//! parameters. Shapes and scratch only: the parameters (online or target) are passed in.

use crate::parameters::module_widths;
use crate::{AgentConfig, AgentError, Exploration, ParameterCounts, SigmaForm};
use sane_env::{Element, EnvSpec, Stream};
use sane_nn::{ConvSpec, Dense, DenseSpec, ImageShape, Init, InputOrder, Kernel, Layout, TensorId, Torso, TorsoSpec};

/// What perturbs the dense layers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Mechanism {
    /// Nothing.
    None,
    /// A learned deviation per weight.
    NoisyNet,
    /// One learned σ for all states.
    Constant {
        /// The parameter.
        sigma: TensorId,
    },
    /// σ(s) from a module.
    StateAware {
        /// How many σ a state has.
        grain: Grain,
        /// How they come out of the module.
        form: SigmaForm,
    },
}

/// What one σ(s) scales.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Grain {
    /// All noise.
    Network,
    /// The noise of one layer.
    Layer,
    /// The noise of one weight or bias.
    Weight,
}

/// One dense layer of θᵖ.
#[derive(Debug, Clone)]
pub(crate) struct Layer {
    /// W and b; NoisyNet's means.
    pub mean: Dense,
    /// NoisyNet's deviations.
    pub deviation: Option<Dense>,
    /// Where its inputs lie in a row of activations.
    pub inputs: InputOrder,
}

impl Layer {
    /// Columns of a row of activations that it reads.
    pub fn width(&self) -> usize {
        self.inputs.width()
    }

    /// Weights and biases.
    pub fn parameters(&self) -> usize {
        (self.inputs.count() + 1) * self.mean.outputs()
    }
}

/// The whole network.
#[derive(Debug, Clone)]
pub(crate) struct Network {
    pub kernel: Kernel,
    pub layout: Layout,
    pub torso: Torso,
    /// Whether h(s) has parameters before it, so that derivatives must reach it.
    pub learns_features: bool,
    pub layers: Vec<Layer>,
    pub mechanism: Mechanism,
    /// g_Θ's layers; empty without a module.
    pub module: Vec<Dense>,
    /// Numbers appended to h(s) for the module.
    pub extra_width: usize,
    pub max_batch: usize,
}

impl Network {
    /// Checks the configuration and builds the layers for batches of up to `max_batch` states.
    pub fn new(config: &AgentConfig, world: &EnvSpec, kernel: Kernel, max_batch: usize) -> Result<Self, AgentError> {
        config.check()?;
        ParameterCounts::of(config, world)?;
        let widths = config.network.dense_widths(world)?;
        let mut layout = Layout::default();
        let torso = Torso::new(kernel, &torso_spec(config, world), max_batch, &mut layout)?;
        let is_noisy_net = matches!(config.exploration, Exploration::NoisyNet { .. });
        let mut layers = Vec::new();
        for (k, ends) in widths.windows(2).enumerate() {
            let inputs = if k == 0 { torso.features().clone() } else { InputOrder::natural(ends[0]) };
            let mut dense = |suffix: &str| {
                let (weight, bias) = (format!("fc{}.weight{suffix}", k + 1), format!("fc{}.bias{suffix}", k + 1));
                let spec = DenseSpec { weight: &weight, bias: Some(&bias), inputs: inputs.clone(), outputs: ends[1] };
                Dense::new(kernel, &spec, max_batch, &mut layout)
            };
            let (mean, deviation) = match is_noisy_net {
                true => (dense("_mu")?, Some(dense("_sigma")?)),
                false => (dense("")?, None),
            };
            layers.push(Layer { mean, deviation, inputs });
        }
        let module_widths = module_widths(config, &widths);
        let extra_width = module_widths.first().map_or(0, |input| input - widths[0]);
        let mut module = Vec::new();
        for (k, ends) in module_widths.windows(2).enumerate() {
            let inputs = if k == 0 { torso.features().followed_by(extra_width) } else { InputOrder::natural(ends[0]) };
            let (weight, bias) = (format!("sigma{}.weight", k + 1), format!("sigma{}.bias", k + 1));
            let spec = DenseSpec { weight: &weight, bias: Some(&bias), inputs, outputs: ends[1] };
            module.push(Dense::new(kernel, &spec, max_batch, &mut layout)?);
        }
        let state_aware = |grain, form| Mechanism::StateAware { grain, form };
        let mechanism = match &config.exploration {
            Exploration::EpsGreedy { .. } => Mechanism::None,
            Exploration::NoisyNet { .. } => Mechanism::NoisyNet,
            Exploration::SaneConstant { .. } => Mechanism::Constant { sigma: layout.add_vector("sigma", 1)? },
            Exploration::Sane { module, .. } | Exploration::QSane { module, .. } => {
                state_aware(Grain::Network, module.sigma)
            }
            Exploration::SaneLayerwise { module, .. } => state_aware(Grain::Layer, module.sigma),
            Exploration::SaneWeightwise { module, .. } => state_aware(Grain::Weight, module.sigma),
        };
        Ok(Self {
            kernel,
            layout,
            torso,
            learns_features: !config.network.convolutions.is_empty(),
            layers,
            mechanism,
            module,
            extra_width,
            max_batch,
        })
    }

    /// The same network for batches of another size; parameters keep their layout.
    pub fn resized(&self, config: &AgentConfig, world: &EnvSpec, max_batch: usize) -> Result<Self, AgentError> {
        Self::new(config, world, self.kernel, max_batch)
    }

    /// First values of all parameters, in the order of the layout.
    ///
    /// ```text
    /// θ: Glorot uniform;  Θ: N(0, 2/l);  NoisyNet: μ ~ U[−1/√l, 1/√l], σ = σ₀/√l;  biases of θ, Θ: 0   [SANE:initialisation]
    /// ```
    pub fn initialise(&self, config: &AgentConfig, flat: &mut [f32], init: &mut Stream) {
        let mut uniform = || init.uniform();
        let mut set = |id: TensorId, how: Init| self.layout.initialise(flat, id, how, &mut uniform);
        for (weight, bias) in self.torso.tensors() {
            set(weight, Init::GlorotUniform);
            bias.into_iter().for_each(|bias| set(bias, Init::Constant(0.0)));
        }
        for layer in &self.layers {
            let root = (layer.inputs.count() as f32).sqrt();
            let noisy_net = match config.exploration {
                Exploration::NoisyNet { sigma_0, .. } => Some(sigma_0 / root),
                _ => None,
            };
            let (weight, bias) = match noisy_net {
                Some(_) => (Init::FanInUniform, Init::Uniform(1.0 / root)),
                None => (Init::GlorotUniform, Init::Constant(0.0)),
            };
            for (dense, weight, bias) in
                [Some((&layer.mean, weight, bias)), deviation_init(layer, noisy_net)].into_iter().flatten()
            {
                set(dense.weight(), weight);
                dense.bias().into_iter().for_each(|id| set(id, bias));
            }
        }
        for dense in &self.module {
            set(dense.weight(), Init::HeNormal);
            dense.bias().into_iter().for_each(|id| set(id, Init::Constant(0.0)));
        }
        if let (Mechanism::Constant { sigma }, Exploration::SaneConstant { initial_sigma, .. }) =
            (self.mechanism, &config.exploration)
        {
            set(sigma, Init::Constant(*initial_sigma));
        }
    }

    /// How many σ a state has; 0 where σ belongs to no state.
    pub fn sigmas(&self) -> usize {
        match self.mechanism {
            Mechanism::None | Mechanism::NoisyNet => 0,
            Mechanism::Constant { .. } => 1,
            Mechanism::StateAware { .. } => self.module.last().map_or(0, Dense::outputs),
        }
    }

    /// Columns of h(s), without extra features.
    pub fn feature_width(&self) -> usize {
        self.torso.features().width()
    }

    /// Parameters of θᵖ, k₂ in the paper.
    pub fn perturbed(&self) -> usize {
        self.layers.iter().map(Layer::parameters).sum()
    }
}

fn deviation_init(layer: &Layer, first: Option<f32>) -> Option<(&Dense, Init, Init)> {
    let first = Init::Constant(first?);
    Some((layer.deviation.as_ref()?, first, first))
}

/// DEVIATION(conv-bias): by default the convolutions have biases, unlike in the authors' run: docs/deviations.md#conv-bias.
fn torso_spec(config: &AgentConfig, world: &EnvSpec) -> TorsoSpec {
    let byte_scale = match world.frame.element {
        Element::U8 { full_scale } => 1.0 / f32::from(full_scale.max(1)),
        Element::F32 => 1.0,
    };
    let layer = |conv: &crate::ConvSpec| ConvSpec { channels: conv.filters, kernel: conv.kernel, stride: conv.stride };
    TorsoSpec {
        input: ImageShape { channels: world.state_channels(), height: world.frame.height, width: world.frame.width },
        byte_scale,
        layers: config.network.convolutions.iter().map(layer).collect(),
        has_bias: config.network.conv_bias,
    }
}
