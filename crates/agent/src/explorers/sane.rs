//! SANE: one σ(s) per state scales the noise of all dense weights. A perturbation module computes it from the network's own
//! features h(s).
//!
//! ```text
//! σ(s) = g_Θ(h(s; θᵇ))      W̃ = W + σ(s)·ε_w,  b̃ = b + σ(s)·ε_b,  fresh ε for each example and each decision
//! ```
//!
//! Three agents differ in what the module reads and how many σ it gives: simple-SANE reads h(s); Q-SANE also reads the
//! unperturbed action values Q̄(s, ·); the layerwise variant gives a σ per dense layer. The module is in
//! `perturbation_module.rs`, the perturbed layer and its derivatives in `perturbed_layer.rs`, what puts them together, forward
//! and backward, in `state_aware.rs`.

use crate::behaviour::Thompson;
use crate::explorer::{NamedAgent, Registered, Setting};
use crate::perturbation::QValuesRead;
use crate::perturbation_module::ModuleSettings;
use crate::sigma::SigmaForm;
use crate::state_aware::StateAware;
use crate::{Noise, NoiseForm};
use serde::{Deserialize, Serialize};

/// Settings of simple-SANE.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Sane {
    pub module: ModuleSettings,
    pub noise: Noise,
    pub thompson: Thompson,
}

/// Settings of Q-SANE.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct QSane {
    pub module: ModuleSettings,
    pub noise: Noise,
    pub thompson: Thompson,
    pub q_features: QFeatures,
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

/// Settings of SANE with a σ(s) per dense layer.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SaneLayerwise {
    pub module: ModuleSettings,
    pub noise: Noise,
    pub thompson: Thompson,
}

impl Registered for Sane {
    const KIND: &'static str = "sane";

    fn agents() -> Vec<NamedAgent<Self>> {
        let module = |module| Self { module, ..Self::default() };
        let noise = |noise| Self { noise, ..Self::default() };
        vec![
            NamedAgent {
                name: "sane",
                summary: "σ(s) from a module that reads h(s) scales the noise of all dense weights (simple-SANE)",
                settings: Self::default(),
            },
            NamedAgent {
                name: "sane-per-batch",
                summary: "SANE with one draw for the whole batch",
                settings: noise(Noise::per_batch()),
            },
            NamedAgent {
                name: "sane-independent",
                summary: "SANE with one draw per weight (slow reference)",
                settings: noise(Noise { form: NoiseForm::Independent, ..Noise::default() }),
            },
            NamedAgent {
                name: "sane-softplus",
                summary: "SANE with a positive σ(s) = softplus(u − 3)",
                settings: module(softplus()),
            },
            NamedAgent {
                name: "sane-visits",
                summary: "SANE whose module also reads log(1 + visits of the state)",
                settings: module(visits()),
            },
        ]
    }

    fn settings() -> Vec<Setting> {
        [&ModuleSettings::SETTINGS[..], &Noise::SETTINGS].concat()
    }
}

impl Registered for QSane {
    const KIND: &'static str = "q-sane";

    fn agents() -> Vec<NamedAgent<Self>> {
        let module = |module| Self { module, ..Self::default() };
        vec![
            NamedAgent {
                name: "q-sane",
                summary: "SANE whose module also reads the unperturbed action values",
                settings: Self::default(),
            },
            NamedAgent {
                name: "q-sane-noisy-features",
                summary: "Q-SANE that learns on perturbed action values and acts on unperturbed ones",
                settings: Self { q_features: QFeatures::Noisy, ..Self::default() },
            },
            NamedAgent {
                name: "q-sane-softplus",
                summary: "Q-SANE with a positive σ(s) = softplus(u − 3)",
                settings: module(softplus()),
            },
            NamedAgent {
                name: "q-sane-visits",
                summary: "Q-SANE whose module also reads log(1 + visits of the state)",
                settings: module(visits()),
            },
        ]
    }

    fn settings() -> Vec<Setting> {
        let q_features = Setting {
            key: "q_features",
            meaning: "q-sane: which action values the module reads when learning: clean, noisy",
        };
        [&[q_features][..], &ModuleSettings::SETTINGS, &Noise::SETTINGS].concat()
    }
}

impl Registered for SaneLayerwise {
    const KIND: &'static str = "sane-layerwise";

    fn agents() -> Vec<NamedAgent<Self>> {
        vec![NamedAgent { name: "sane-layerwise", summary: "a σ(s) per dense layer", settings: Self::default() }]
    }

    fn settings() -> Vec<Setting> {
        Sane::settings()
    }
}

fn softplus() -> ModuleSettings {
    ModuleSettings { sigma: SigmaForm::Softplus, ..ModuleSettings::default() }
}

fn visits() -> ModuleSettings {
    ModuleSettings { visit_counts: true, ..ModuleSettings::default() }
}

impl StateAware for Sane {
    fn module_settings(&self) -> &ModuleSettings {
        &self.module
    }

    fn module_settings_mut(&mut self) -> &mut ModuleSettings {
        &mut self.module
    }

    fn noise(&self) -> Noise {
        self.noise
    }

    fn acts_on(&self) -> Thompson {
        self.thompson
    }
}

impl StateAware for QSane {
    fn module_settings(&self) -> &ModuleSettings {
        &self.module
    }

    fn module_settings_mut(&mut self) -> &mut ModuleSettings {
        &mut self.module
    }

    fn noise(&self) -> Noise {
        self.noise
    }

    fn acts_on(&self) -> Thompson {
        self.thompson
    }

    fn q_values(&self) -> QValuesRead {
        match self.q_features {
            QFeatures::Clean => QValuesRead::Clean,
            QFeatures::Noisy => QValuesRead::NoisyWhenLearning,
        }
    }
}

impl StateAware for SaneLayerwise {
    fn module_settings(&self) -> &ModuleSettings {
        &self.module
    }

    fn module_settings_mut(&mut self) -> &mut ModuleSettings {
        &mut self.module
    }

    fn noise(&self) -> Noise {
        self.noise
    }

    fn acts_on(&self) -> Thompson {
        self.thompson
    }

    fn sigmas(&self, dense_widths: &[usize]) -> usize {
        dense_widths.len() - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NoiseSharing;
    use crate::explorer::Explorer;

    #[test]
    fn every_example_has_a_draw_of_its_own_unless_asked_otherwise() {
        assert_eq!(Sane::default().noise.shared_by, NoiseSharing::Example);
    }

    #[test]
    fn a_module_without_width_is_refused_by_its_layer() {
        let module = ModuleSettings { hidden: vec![256, 0], ..ModuleSettings::default() };
        let refused = Sane { module, ..Sane::default() }.check().unwrap_err().to_string();
        assert!(refused.starts_with("sigma2: "), "{refused}");
    }
}
