//! How many parameters an agent has, the main network and the exploration mechanism apart: the paper's point on scaling.

use crate::{AgentConfig, AgentError, Exploration};
use sane_env::EnvSpec;

/// Numbers that are learned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ParameterCounts {
    /// The main network's weights and biases.
    pub main: usize,
    /// What exploring adds: nothing for ε-greedy, one per dense weight and bias for NoisyNet, the module for SANE.
    pub exploration: usize,
}

/// A weightwise module may not be larger than this: its parameters and Adam's moments would take a gigabyte.
pub(crate) const LARGEST_MODULE: usize = 64_000_000;

impl ParameterCounts {
    /// Counts without building anything.
    pub fn of(config: &AgentConfig, world: &EnvSpec) -> Result<Self, AgentError> {
        let widths = config.network.dense_widths(world)?;
        let dense: usize = widths.windows(2).map(|ends| ends[0] * ends[1] + ends[1]).sum();
        let mut channels = world.state_channels();
        let mut convolutions = 0;
        for conv in &config.network.convolutions {
            let biases = if config.network.conv_bias { conv.filters } else { 0 };
            convolutions += conv.filters * channels * conv.kernel * conv.kernel + biases;
            channels = conv.filters;
        }
        let exploration = match &config.exploration {
            Exploration::EpsGreedy { .. } => 0,
            Exploration::NoisyNet { .. } => dense,
            Exploration::SaneConstant { .. } => 1,
            _ => {
                let layers = module_widths(config, &widths);
                layers.windows(2).map(|ends| ends[0] * ends[1] + ends[1]).sum()
            }
        };
        if matches!(config.exploration, Exploration::SaneWeightwise { .. }) && LARGEST_MODULE < exploration {
            return Err(AgentError::ModuleTooLarge { parameters: exploration, limit: LARGEST_MODULE });
        }
        Ok(Self { main: convolutions + dense, exploration })
    }
}

/// Widths of the module's ends, from its input (h(s) and extra features) to its output; empty without a module.
pub(crate) fn module_widths(config: &AgentConfig, dense_widths: &[usize]) -> Vec<usize> {
    let Some(module) = config.exploration.module() else { return Vec::new() };
    let mut input = dense_widths[0] + usize::from(module.visit_counts);
    if let Exploration::QSane { .. } = config.exploration {
        input += dense_widths[dense_widths.len() - 1];
    }
    let mut widths = vec![input];
    widths.extend(&module.hidden);
    widths.push(match config.exploration {
        Exploration::SaneLayerwise { .. } => dense_widths.len() - 1,
        Exploration::SaneWeightwise { .. } => dense_widths.windows(2).map(|ends| ends[0] * ends[1] + ends[1]).sum(),
        _ => 1,
    });
    widths
}

#[cfg(test)]
mod tests {
    use super::*;
    use sane_env::{FrameSkip, FrameSpace};

    fn counts(agent: &str, frame: FrameSpace, history: usize) -> Result<ParameterCounts, AgentError> {
        let actions = (0..6).map(|a| a.to_string()).collect();
        let world = EnvSpec { name: "test".into(), frame, history, actions, frame_skip: FrameSkip(1) };
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
}
