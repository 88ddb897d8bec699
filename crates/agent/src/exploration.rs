//! Which agent: how it explores, as an enum with its data, and the catalogue of names people type.

use crate::LinearSchedule;
use serde::{Deserialize, Serialize};

/// How an agent explores. What the variants share (noise, module) has one type each.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Exploration {
    /// A random action with probability ε, else the greedy one.
    EpsGreedy {
        /// ε over time.
        #[serde(default)]
        epsilon: LinearSchedule,
    },
    /// One learned deviation per weight of the dense layers (Fortunato et al. 2018).
    #[serde(rename = "noisynet")]
    NoisyNet {
        /// Deviations start at σ₀/√inputs.
        #[serde(default = "sigma_0_of_fortunato")]
        sigma_0: f32,
        /// Shape and sharing of the noise.
        #[serde(default = "Noise::per_batch")]
        noise: Noise,
    },
    /// One σ(s) for all dense weights, from a module that reads h(s): simple-SANE.
    Sane {
        /// The perturbation module.
        #[serde(default)]
        module: Module,
        /// Shape and sharing of the noise.
        #[serde(default)]
        noise: Noise,
    },
    /// SANE whose module also reads the unperturbed action values.
    QSane {
        /// The perturbation module.
        #[serde(default)]
        module: Module,
        /// Shape and sharing of the noise.
        #[serde(default)]
        noise: Noise,
        /// Which action values it reads.
        #[serde(default)]
        q_features: QFeatures,
    },
    /// One learned σ that does not depend on the state.
    SaneConstant {
        /// Its first value.
        #[serde(default = "first_constant_sigma")]
        initial_sigma: f32,
        /// Shape and sharing of the noise.
        #[serde(default)]
        noise: Noise,
    },
    /// A σ(s) per dense layer.
    SaneLayerwise {
        /// The perturbation module.
        #[serde(default)]
        module: Module,
        /// Shape and sharing of the noise.
        #[serde(default)]
        noise: Noise,
    },
    /// A σ(s) per dense weight and bias; for small networks, the module's output is as large as the network.
    SaneWeightwise {
        /// The perturbation module.
        #[serde(default)]
        module: Module,
        /// Shape and sharing of the noise.
        #[serde(default)]
        noise: Noise,
    },
}

/// The perturbation module g_Θ: dense layers with ReLU between, a plain last layer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Module {
    /// Widths of the hidden layers.
    pub hidden: Vec<usize>,
    /// What turns the module's output into σ.
    pub sigma: SigmaForm,
    /// Whether log(1 + n(s)), n(s) the visits of a hash of the state, is appended to the module's input.
    pub visit_counts: bool,
}

impl Default for Module {
    fn default() -> Self {
        Self { hidden: vec![256], sigma: SigmaForm::Linear, visit_counts: false }
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

/// Which action values Q-SANE's module reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QFeatures {
    /// Unperturbed ones, when learning and when acting.
    #[default]
    Clean,
    /// Perturbed ones when learning, unperturbed ones when acting.
    Noisy,
}

/// Shape and sharing of the noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Noise {
    /// How the numbers of a layer's noise are made.
    pub form: NoiseForm,
    /// Who gets the same draw.
    pub shared_by: NoiseSharing,
}

impl Noise {
    /// Factored noise, one draw for the whole batch.
    pub fn per_batch() -> Self {
        Self { form: NoiseForm::Factored, shared_by: NoiseSharing::Batch }
    }
}

/// How the numbers of a layer's noise are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoiseForm {
    /// l + m draws per layer, ε_w their outer product after z.
    #[default]
    Factored,
    /// l·m + m draws per layer: the slow reference.
    Independent,
}

/// Who gets the same draw.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoiseSharing {
    /// Nobody: every example of a batch has its own.
    #[default]
    Example,
    /// All examples of a batch.
    Batch,
}

/// One row of the catalogue: a name to type and what it stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CatalogueEntry {
    /// The name as typed on the command line.
    pub name: &'static str,
    /// What it is, in one line.
    pub what: &'static str,
}

/// Every named agent: the paper's four first, then the variations.
pub const CATALOGUE: [CatalogueEntry; 16] = [
    row("eps-greedy", "random action with probability ε, else greedy (Mnih et al. 2015)"),
    row("noisynet", "one learned deviation per dense weight, noise shared by the batch (Fortunato et al. 2018)"),
    row("sane", "σ(s) from a module that reads h(s) scales the noise of all dense weights (simple-SANE)"),
    row("q-sane", "SANE whose module also reads the unperturbed action values"),
    row("sane-constant", "one learned σ for all states"),
    row("sane-layerwise", "a σ(s) per dense layer"),
    row("sane-weightwise", "a σ(s) per dense weight (small networks only)"),
    row("noisynet-per-example", "NoisyNet with a fresh draw for each example of a batch"),
    row("sane-per-batch", "SANE with one draw for the whole batch"),
    row("q-sane-noisy-features", "Q-SANE that learns on perturbed action values and acts on unperturbed ones"),
    row("noisynet-independent", "NoisyNet with one draw per weight (slow reference)"),
    row("sane-independent", "SANE with one draw per weight (slow reference)"),
    row("sane-softplus", "SANE with a positive σ(s) = softplus(u − 3)"),
    row("q-sane-softplus", "Q-SANE with a positive σ(s) = softplus(u − 3)"),
    row("sane-visits", "SANE whose module also reads log(1 + visits of the state)"),
    row("q-sane-visits", "Q-SANE whose module also reads log(1 + visits of the state)"),
];

impl Exploration {
    /// The agent of this catalogue name.
    pub fn named(name: &str) -> Option<Self> {
        let (module, noise) = (Module::default(), Noise::default());
        let independent = NoiseForm::Independent;
        let softplus = Module { sigma: SigmaForm::Softplus, ..Module::default() };
        let visits = Module { visit_counts: true, ..Module::default() };
        let q_features = QFeatures::Clean;
        Some(match name {
            "eps-greedy" => Self::EpsGreedy { epsilon: LinearSchedule::PAPER },
            "noisynet" => Self::NoisyNet { sigma_0: sigma_0_of_fortunato(), noise: Noise::per_batch() },
            "sane" => Self::Sane { module, noise },
            "q-sane" => Self::QSane { module, noise, q_features },
            "sane-constant" => Self::SaneConstant { initial_sigma: first_constant_sigma(), noise },
            "sane-layerwise" => Self::SaneLayerwise { module, noise },
            "sane-weightwise" => Self::SaneWeightwise { module, noise },
            "noisynet-per-example" => Self::NoisyNet { sigma_0: sigma_0_of_fortunato(), noise },
            "sane-per-batch" => Self::Sane { module, noise: Noise::per_batch() },
            "q-sane-noisy-features" => Self::QSane { module, noise, q_features: QFeatures::Noisy },
            "noisynet-independent" => Self::NoisyNet {
                sigma_0: sigma_0_of_fortunato(),
                noise: Noise { form: independent, ..Noise::per_batch() },
            },
            "sane-independent" => Self::Sane { module, noise: Noise { form: independent, ..noise } },
            "sane-softplus" => Self::Sane { module: softplus, noise },
            "q-sane-softplus" => Self::QSane { module: softplus, noise, q_features },
            "sane-visits" => Self::Sane { module: visits, noise },
            "q-sane-visits" => Self::QSane { module: visits, noise, q_features },
            _ => return None,
        })
    }

    /// The kind, as configuration files name it.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::EpsGreedy { .. } => "eps-greedy",
            Self::NoisyNet { .. } => "noisynet",
            Self::Sane { .. } => "sane",
            Self::QSane { .. } => "q-sane",
            Self::SaneConstant { .. } => "sane-constant",
            Self::SaneLayerwise { .. } => "sane-layerwise",
            Self::SaneWeightwise { .. } => "sane-weightwise",
        }
    }

    /// ε over time, for agents that have one.
    pub fn epsilon(&self) -> Option<LinearSchedule> {
        match self {
            Self::EpsGreedy { epsilon } => Some(*epsilon),
            _ => None,
        }
    }

    /// Shape and sharing of the noise, for agents that have any.
    pub fn noise(&self) -> Option<Noise> {
        match self {
            Self::EpsGreedy { .. } => None,
            Self::NoisyNet { noise, .. }
            | Self::Sane { noise, .. }
            | Self::QSane { noise, .. }
            | Self::SaneConstant { noise, .. }
            | Self::SaneLayerwise { noise, .. }
            | Self::SaneWeightwise { noise, .. } => Some(*noise),
        }
    }

    /// The perturbation module, for agents whose σ depends on the state.
    pub fn module(&self) -> Option<&Module> {
        match self {
            Self::EpsGreedy { .. } | Self::NoisyNet { .. } | Self::SaneConstant { .. } => None,
            Self::Sane { module, .. }
            | Self::QSane { module, .. }
            | Self::SaneLayerwise { module, .. }
            | Self::SaneWeightwise { module, .. } => Some(module),
        }
    }
}

const fn row(name: &'static str, what: &'static str) -> CatalogueEntry {
    CatalogueEntry { name, what }
}

fn sigma_0_of_fortunato() -> f32 {
    0.5
}

// About what |σ(s)| starts at when the module is initialised as in the paper and reads Atari features.
fn first_constant_sigma() -> f32 {
    0.05
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_of_the_catalogue_is_an_agent_and_no_two_are_the_same() {
        let agents: Vec<Exploration> = CATALOGUE.iter().map(|entry| Exploration::named(entry.name).unwrap()).collect();
        for (i, agent) in agents.iter().enumerate() {
            assert!(!agents[..i].contains(agent), "{} repeats an earlier agent", CATALOGUE[i].name);
        }
        assert_eq!(Exploration::named("sane2"), None);
    }

    #[test]
    fn noisynet_shares_its_draw_by_the_batch_and_sane_does_not() {
        let sharing = |name| Exploration::named(name).unwrap().noise().unwrap().shared_by;
        assert_eq!(sharing("noisynet"), NoiseSharing::Batch);
        assert_eq!(sharing("sane"), NoiseSharing::Example);
    }
}
