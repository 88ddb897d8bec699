//! The shape of a main network: convolutions (θᵇ, never perturbed), then dense layers (θᵖ, perturbed).

use crate::AgentError;
use sane_env::EnvSpec;
use serde::{Deserialize, Serialize};

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
            height = (height - conv.kernel) / conv.stride + 1;
            width = (width - conv.kernel) / conv.stride + 1;
            channels = conv.filters;
        }
        Ok(channels * height * width)
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

#[cfg(test)]
mod tests {
    use super::*;
    use sane_env::{FrameSkip, FrameSpace};

    fn world(frame: FrameSpace, history: usize, actions: usize) -> EnvSpec {
        let actions = (0..actions).map(|a| a.to_string()).collect();
        EnvSpec { name: "test".into(), frame, history, actions, frame_skip: FrameSkip(1) }
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
