//! An agent's network: convolutions θᵇ that are never perturbed, dense layers θᵖ, and what perturbs those. Its shape
//! ([`NetworkSpec`]), its size ([`ParameterCounts`]), and the engine's layers over one layout of parameters ([`Network`]).

use crate::perturbation::Perturbation;
use crate::{AgentConfig, AgentError};
use sane_env::{Element, EnvSpec, Stream};
use sane_nn::{Dense, DenseSpec, ImageShape, Init, InputOrder, Kernel, Layout, TensorId, Torso, TorsoSpec};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// One convolution: square kernel, no padding, ReLU after it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ConvSpec {
    /// Output channels.
    pub filters: usize,
    /// Height and width of the kernel.
    pub kernel: usize,
    /// Step between two places of the kernel.
    pub stride: usize,
}

/// A main network but for its input and its output, which follow from the world.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NetworkSpec {
    /// The convolutions, first to last; none makes h(s) the state itself.
    pub convolutions: Vec<ConvSpec>,
    /// Widths of the hidden dense layers; the output layer follows the world's actions.
    pub hidden: Vec<usize>,
    /// Whether convolutions have biases (Mnih et al. 2015: yes; the authors' run: no).
    pub conv_bias: bool,
}

/// Units of a layer, filters of a convolution: beyond this a number is a slip of the keyboard.
pub(crate) const MOST_WIDTH: usize = 1 << 16;

/// A hundred times the largest network of the paper; 1 GB of each buffer.
pub(crate) const MOST_PARAMETERS: usize = 1 << 28;

/// Numbers that a convolution gives for one state: a thousand times the largest network of the paper.
const MOST_ACTIVATIONS: usize = 1 << 24;

/// Names of the presets, as typed on the command line.
pub const NETWORK_PRESETS: [&str; 4] = ["nature", "nips", "minatar", "mlp"];

impl NetworkSpec {
    /// Mnih et al. 2015, for 84×84 screens.
    pub fn nature() -> Self {
        Self { convolutions: vec![conv(32, 8, 4), conv(64, 4, 2), conv(64, 3, 1)], hidden: vec![512], conv_bias: true }
    }

    /// Mnih et al. 2013, for 84×84 screens: a third of the work of [`nature`](Self::nature).
    pub fn nips() -> Self {
        Self { convolutions: vec![conv(16, 8, 4), conv(32, 4, 2)], hidden: vec![256], conv_bias: true }
    }

    /// For 10×10 planes (Young and Tian 2019).
    pub fn minatar() -> Self {
        Self { convolutions: vec![conv(16, 3, 1)], hidden: vec![128], conv_bias: true }
    }

    /// Dense layers only, for plain vectors.
    pub fn mlp() -> Self {
        Self { convolutions: Vec::new(), hidden: vec![64, 64], conv_bias: true }
    }

    /// The preset of this name.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "nature" => Self::nature(),
            "nips" => Self::nips(),
            "minatar" => Self::minatar(),
            "mlp" => Self::mlp(),
            _ => return None,
        })
    }

    /// The preset that suits a world: the largest whose kernels fit into its frames.
    pub fn for_world(world: &EnvSpec) -> Self {
        let presets = [Self::nature(), Self::minatar()];
        presets.into_iter().find(|spec| spec.features(world).is_ok()).unwrap_or_else(Self::mlp)
    }

    /// Length of h(s) in this world: channels × height × width after the last convolution.
    pub fn features(&self, world: &EnvSpec) -> Result<usize, AgentError> {
        let (mut height, mut width) = (world.frame.height, world.frame.width);
        let mut channels = world.state_channels();
        for (i, conv) in self.convolutions.iter().enumerate() {
            let layer = format!("conv{}", i + 1);
            if conv.filters == 0 || conv.kernel == 0 || conv.stride == 0 {
                let problem = format!("{} filters, kernel {}, stride {}", conv.filters, conv.kernel, conv.stride);
                return Err(AgentError::Zero { layer, problem });
            }
            if height.min(width) < conv.kernel {
                return Err(AgentError::KernelTooLarge { layer, kernel: conv.kernel, height, width });
            }
            if MOST_WIDTH < conv.filters {
                return Err(AgentError::TooLarge { layer, problem: format!("{} filters", conv.filters) });
            }
            height = (height - conv.kernel) / conv.stride + 1;
            width = (width - conv.kernel) / conv.stride + 1;
            channels = conv.filters;
            if MOST_ACTIVATIONS < channels.saturating_mul(height).saturating_mul(width) {
                return Err(AgentError::TooLarge {
                    layer,
                    problem: format!("{channels} channels of {height}×{width}"),
                });
            }
        }
        match channels.saturating_mul(height).saturating_mul(width) {
            features if features <= MOST_PARAMETERS => Ok(features),
            _ => Err(AgentError::TooLarge {
                layer: "the last convolution".into(),
                problem: format!("{channels} channels of {height}×{width}"),
            }),
        }
    }

    /// Widths of the dense layers' ends, from h(s) to the action values; all of them checked.
    pub fn dense_widths(&self, world: &EnvSpec) -> Result<Vec<usize>, AgentError> {
        let mut widths = vec![self.features(world)?];
        widths.extend(&self.hidden);
        widths.push(world.actions.len());
        for (i, ends) in widths.windows(2).enumerate() {
            if ends[0] == 0 || ends[1] == 0 {
                let problem = format!("{} inputs, {} outputs", ends[0], ends[1]);
                return Err(AgentError::Zero { layer: format!("fc{}", i + 1), problem });
            }
            if MOST_WIDTH < ends[1] || MOST_PARAMETERS < ends[0].saturating_mul(ends[1]) {
                let problem = format!("{} inputs, {} outputs", ends[0], ends[1]);
                return Err(AgentError::TooLarge { layer: format!("fc{}", i + 1), problem });
            }
        }
        Ok(widths)
    }
}

impl Default for NetworkSpec {
    fn default() -> Self {
        Self::nature()
    }
}

const fn conv(filters: usize, kernel: usize, stride: usize) -> ConvSpec {
    ConvSpec { filters, kernel, stride }
}

/// How many numbers an agent learns, the main network and the exploration mechanism apart: the paper's point on scaling.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParameterCounts {
    /// The main network's weights and biases.
    pub main: usize,
    /// What exploring adds: nothing for ε-greedy, one per dense weight and bias for NoisyNet, the module for SANE.
    pub exploration: usize,
}

impl ParameterCounts {
    /// Counts without building anything.
    pub fn of(config: &AgentConfig, world: &EnvSpec) -> Result<Self, AgentError> {
        let widths = config.network.dense_widths(world)?;
        let mut channels = world.state_channels();
        let mut convolutions = 0;
        for conv in &config.network.convolutions {
            let biases = if config.network.conv_bias { conv.filters } else { 0 };
            let weights = [conv.filters, channels, conv.kernel, conv.kernel].into_iter().fold(1, usize::saturating_mul);
            convolutions = usize::saturating_add(convolutions, weights).saturating_add(biases);
            channels = conv.filters;
        }
        let exploration = config.exploration.parameter_count(&widths)?;
        Ok(Self { main: convolutions.saturating_add(dense_parameters(&widths)), exploration })
    }
}

/// Weights and biases of dense layers with these widths, from the first input to the last output.
pub fn dense_parameters(widths: &[usize]) -> usize {
    widths.windows(2).map(|ends| ends[0] * ends[1] + ends[1]).sum()
}

/// One dense layer of θᵖ.
#[derive(Debug, Clone)]
pub struct Layer {
    /// W and b; NoisyNet's means.
    pub mean: Dense,
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

/// The whole network: shapes and scratch. The parameters, online or target, are passed in.
#[derive(Debug, Clone)]
pub(crate) struct Network {
    pub kernel: Kernel,
    pub layout: Layout,
    pub torso: Torso,
    /// Whether h(s) has parameters before it, so that derivatives must reach it.
    pub learns_features: bool,
    pub layers: Vec<Layer>,
    /// What passes through this network take their perturbation from.
    pub perturbation: Box<dyn Perturbation>,
    /// Initial values of all tensors, in the order of the layout.
    init: Vec<(TensorId, Init)>,
    pub max_batch: usize,
}

impl Network {
    /// Checks the configuration and builds the layers for batches of up to `max_batch` states.
    pub fn new(config: &AgentConfig, world: &EnvSpec, kernel: Kernel, max_batch: usize) -> Result<Self, AgentError> {
        config.check_for(world.actions.len())?;
        ParameterCounts::of(config, world)?;
        let mut layout = Layout::default();
        let torso_spec = torso_spec(config, world);
        let torso = Torso::new(kernel, &torso_spec, max_batch, &mut layout)?;
        let init = initial_convolutions(&torso).collect();
        let widths = config.network.dense_widths(world)?;
        let features = torso.features().clone();
        let layers = Vec::new();
        let mut head = HeadBuilder { kernel, max_batch, layout, init, torso_spec, features, widths, layers };
        let perturbation = config.exploration.build(&mut head)?;
        let HeadBuilder { layout, init, layers, .. } = head;
        let learns_features = !config.network.convolutions.is_empty();
        Ok(Self { kernel, layout, torso, learns_features, layers, perturbation, init, max_batch })
    }

    /// The same network for batches of another size; parameters keep their layout.
    pub fn resized(&self, config: &AgentConfig, world: &EnvSpec, max_batch: usize) -> Result<Self, AgentError> {
        Self::new(config, world, self.kernel, max_batch)
    }

    /// Initial values of all parameters, drawn in the order of the layout.
    pub fn initialise(&self, flat: &mut [f32], init: &mut Stream) {
        for &(tensor, how) in &self.init {
            self.layout.initialise(flat, tensor, how, &mut || init.uniform());
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

/// Builds the head: the dense layers and, beside or behind them in the layout, what a way of exploring adds.
#[derive(Debug)]
pub struct HeadBuilder {
    kernel: Kernel,
    max_batch: usize,
    layout: Layout,
    init: Vec<(TensorId, Init)>,
    torso_spec: TorsoSpec,
    features: InputOrder,
    widths: Vec<usize>,
    layers: Vec<Layer>,
}

impl HeadBuilder {
    /// Adds W and b of every layer.
    ///
    /// ```text
    /// θ: Glorot uniform, biases of θ: 0 (the convolutions alike)                             [SANE:initialisation]
    /// ```
    pub fn plain_layers(&mut self) -> Result<(), AgentError> {
        (0..self.layer_count()).try_for_each(|_| self.layer("", [Init::GlorotUniform, Init::Constant(0.0)]))
    }

    /// Adds the next layer, the names of its weight and bias ending in `suffix`, with their initial values.
    pub fn layer(&mut self, suffix: &str, initial: [Init; 2]) -> Result<(), AgentError> {
        let k = self.layers.len();
        let names = ["weight", "bias"].map(|tensor| format!("fc{}.{tensor}{suffix}", k + 1));
        let inputs = self.layer_inputs(k);
        let mean = self.dense(names, inputs.clone(), self.layer_outputs(k), initial)?;
        self.layers.push(Layer { mean, inputs });
        Ok(())
    }

    /// Adds a dense layer of the way of exploring: names of its weight and bias, where its inputs lie in the rows it reads,
    /// its number of outputs, initial values of weight and bias.
    pub fn dense(
        &mut self,
        [weight, bias]: [String; 2],
        inputs: InputOrder,
        outputs: usize,
        [of_weight, of_bias]: [Init; 2],
    ) -> Result<Dense, AgentError> {
        let spec = DenseSpec { weight: &weight, bias: Some(&bias), inputs, outputs };
        let dense = Dense::new(self.kernel, &spec, self.max_batch, &mut self.layout)?;
        self.init.push((dense.weight(), of_weight));
        self.init.extend(dense.bias().map(|bias| (bias, of_bias)));
        Ok(dense)
    }

    /// Adds convolutions like those of the network, beside them: the names of their tensors begin with `prefix`, and a layer of n
    /// filters has `filters(n)`. They are run by the way of exploring that adds them, and are not learned.
    pub fn fixed_torso(&mut self, prefix: &str, filters: impl Fn(usize) -> usize) -> Result<Torso, AgentError> {
        let mut spec = self.torso_spec.clone();
        spec.layers.iter_mut().for_each(|layer| layer.channels = filters(layer.channels));
        let torso = Torso::prefixed(self.kernel, prefix, &spec, self.max_batch, &mut self.layout)?;
        self.init.extend(initial_convolutions(&torso));
        Ok(torso)
    }

    /// Gives the last layer, before it is added, `heads` sets of action values instead of one.
    pub fn multiply_outputs(&mut self, heads: usize) {
        if let Some(actions) = self.widths.last_mut() {
            *actions *= heads;
        }
    }

    /// Adds a vector of parameters and returns where it lies.
    pub fn vector(&mut self, name: &str, len: usize, initial: Init) -> Result<Range<usize>, AgentError> {
        let id = self.layout.add_vector(name, len)?;
        self.init.push((id, initial));
        Ok(self.layout.range(id))
    }

    pub fn kernel(&self) -> Kernel {
        self.kernel
    }

    /// Widths of the dense layers, from h(s) to the action values.
    pub fn widths(&self) -> &[usize] {
        &self.widths
    }

    /// Where h(s) lies in a row of features.
    pub fn features(&self) -> &InputOrder {
        &self.features
    }

    /// Where the inputs of layer `k` lie in the rows it reads.
    pub fn layer_inputs(&self, k: usize) -> InputOrder {
        if k == 0 { self.features.clone() } else { InputOrder::natural(self.widths[k]) }
    }

    pub fn layer_outputs(&self, k: usize) -> usize {
        self.widths[k + 1]
    }

    /// How many layers the head has when it is complete.
    pub fn layer_count(&self) -> usize {
        self.widths.len() - 1
    }

    /// The layers added so far.
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }

    /// Number of actions.
    pub fn actions(&self) -> usize {
        self.widths[self.widths.len() - 1]
    }
}

/// Initial values of the convolutions' tensors.
fn initial_convolutions(torso: &Torso) -> impl Iterator<Item = (TensorId, Init)> {
    torso.tensors().flat_map(|(weight, bias)| {
        [Some((weight, Init::GlorotUniform)), bias.map(|bias| (bias, Init::Constant(0.0)))].into_iter().flatten()
    })
}

/// DEVIATION(conv-bias): by default the convolutions have biases, unlike in the authors' run: docs/deviations.md#conv-bias.
fn torso_spec(config: &AgentConfig, world: &EnvSpec) -> TorsoSpec {
    let byte_scale = match world.frame.element {
        Element::U8 { full_scale } => 1.0 / f32::from(full_scale.max(1)),
        Element::F32 => 1.0,
    };
    let layer =
        |conv: &ConvSpec| sane_nn::ConvSpec { channels: conv.filters, kernel: conv.kernel, stride: conv.stride };
    TorsoSpec {
        input: ImageShape { channels: world.state_channels(), height: world.frame.height, width: world.frame.width },
        byte_scale,
        layers: config.network.convolutions.iter().map(layer).collect(),
        has_bias: config.network.conv_bias,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sane_env::{FrameSkip, FrameSpace};

    fn world(frame: FrameSpace, history: usize, actions: usize) -> EnvSpec {
        let actions = (0..actions).map(|a| a.to_string()).collect();
        EnvSpec { name: "test".into(), frame, history, actions, frame_skip: FrameSkip(1) }
    }

    fn counts(agent: &str, frame: FrameSpace, history: usize) -> Result<ParameterCounts, AgentError> {
        let world = world(frame, history, 6);
        ParameterCounts::of(&AgentConfig::named(agent, &world).unwrap(), &world)
    }

    #[test]
    fn the_atari_network_has_as_many_parameters_as_the_hand_count() {
        // conv 32·4·64 + 32, 64·32·16 + 64, 64·64·9 + 64; dense 3136·512 + 512, 512·6 + 6.
        let main = 8_224 + 32_832 + 36_928 + 1_606_144 + 3_078;
        let expected = [
            ("eps-greedy", 0),
            ("noisynet", 1_606_144 + 3_078),
            ("sane", 3136 * 256 + 256 + 257),
            ("q-sane", 3142 * 256 + 256 + 257),
            ("sane-constant", 1),
            ("sane-layerwise", 3136 * 256 + 256 + 2 * 257),
            ("sane-visits", 3137 * 256 + 256 + 257),
        ];
        for (agent, exploration) in expected {
            let found = counts(agent, FrameSpace::gray(84, 84), 4).unwrap();
            assert_eq!(found, ParameterCounts { main, exploration }, "{agent}");
        }
    }

    #[test]
    fn a_deviation_per_weight_from_a_module_is_for_small_networks_only() {
        assert!(counts("sane-weightwise", FrameSpace::vector(4), 1).is_ok());
        let text = counts("sane-weightwise", FrameSpace::gray(84, 84), 4).unwrap_err().to_string();
        assert!(text.contains("sane-weightwise would need"), "{text}");
    }

    #[test]
    fn the_preset_follows_the_world() {
        let cases = [
            (world(FrameSpace::gray(84, 84), 4, 6), NetworkSpec::nature(), 3136),
            (world(FrameSpace::planes(4, 10, 10), 1, 6), NetworkSpec::minatar(), 1024),
            (world(FrameSpace::vector(4), 1, 2), NetworkSpec::mlp(), 4),
        ];
        for (world, spec, features) in cases {
            assert_eq!(NetworkSpec::for_world(&world), spec);
            assert_eq!(spec.features(&world).unwrap(), features);
        }
    }

    #[test]
    fn a_kernel_larger_than_the_image_is_refused_with_layer_and_shapes() {
        let small = world(FrameSpace::gray(10, 10), 4, 6);
        let text = NetworkSpec::nature().features(&small).unwrap_err().to_string();
        assert_eq!(
            text,
            "conv2: a kernel of 4×4 does not fit into its input of 1×1; choose a smaller kernel or stride"
        );
    }

    #[test]
    fn zero_widths_and_no_actions_are_refused_with_the_layer() {
        let planes = world(FrameSpace::planes(4, 10, 10), 1, 6);
        let no_width = NetworkSpec { hidden: vec![128, 0], ..NetworkSpec::minatar() };
        assert!(no_width.dense_widths(&planes).unwrap_err().to_string().starts_with("fc2: "));
        let no_actions = world(FrameSpace::planes(4, 10, 10), 1, 0);
        assert!(NetworkSpec::minatar().dense_widths(&no_actions).unwrap_err().to_string().starts_with("fc2: "));
        let no_stride = NetworkSpec { convolutions: vec![conv(4, 3, 0)], ..NetworkSpec::minatar() };
        assert!(no_stride.features(&planes).unwrap_err().to_string().starts_with("conv1: "));
    }
}
