//! SANE with the KL term of its evidence lower bound kept, and a σ(s) that is always positive.
//!
//! ```text
//! L = 1/b Σᵢ (Q(sᵢ, aᵢ; θ + σ(sᵢ)·ε) − Tᵢ)² + λ · 1/b Σᵢ k₂ (σ(sᵢ)²/2 − log σ(sᵢ) − ½)      λ = 2v²/k₂
//! ```
//!
//! Without the second term the optimum is σ ≡ 0. With it, σ(s)²·V(s) = v² wherever V ≫ v², V the variance of Q that σ = 1
//! would give: the noise of Q has the wanted size v in every state, and whether it changes the action depends on the gap
//! between the action values. The forward and backward passes are those of `sane.rs`; λ is in `bound.rs`.

use super::sane::{StateAware, StateAwareNoise};
use crate::behaviour::Thompson;
use crate::explorer::{NamedAgent, Registered, Setting};
use crate::network::HeadBuilder;
use crate::perturbation::{Perturbation, QValuesRead};
use crate::perturbation_module::{ModuleSettings, SigmaForm};
use crate::{AgentError, Bound, Noise};
use serde::{Deserialize, Serialize};

/// Settings of simple-SANE with its KL term.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SaneElbo {
    pub module: ModuleSettings,
    pub noise: Noise,
    pub thompson: Thompson,
    #[serde(flatten)]
    pub bound: Bound,
}

impl Default for SaneElbo {
    fn default() -> Self {
        Self { module: positive_module(), noise: Noise::default(), thompson: Thompson::Step, bound: Bound::default() }
    }
}

/// Settings of Q-SANE with its KL term.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct QSaneElbo {
    pub module: ModuleSettings,
    pub noise: Noise,
    pub thompson: Thompson,
    #[serde(flatten)]
    pub bound: Bound,
}

impl Default for QSaneElbo {
    fn default() -> Self {
        Self { module: positive_module(), noise: Noise::default(), thompson: Thompson::Step, bound: Bound::default() }
    }
}

/// A module whose σ a KL term can bear.
pub(super) fn positive_module() -> ModuleSettings {
    ModuleSettings { sigma: SigmaForm::Positive, ..ModuleSettings::default() }
}

/// The settings of an agent with a module and a KL term.
pub(super) fn elbo_settings() -> Vec<Setting> {
    [&Bound::SETTINGS[..], &ModuleSettings::SETTINGS, &Noise::SETTINGS].concat()
}

impl Registered for SaneElbo {
    const KIND: &'static str = "sane-elbo";

    fn agents() -> Vec<NamedAgent<Self>> {
        let summary = "SANE with its KL term: a positive σ(s), and noise of Q of a chosen size (q_noise)";
        vec![NamedAgent { name: "sane-elbo", summary, settings: Self::default() }]
    }

    fn settings() -> Vec<Setting> {
        elbo_settings()
    }
}

impl Registered for QSaneElbo {
    const KIND: &'static str = "q-sane-elbo";

    fn agents() -> Vec<NamedAgent<Self>> {
        let summary = "Q-SANE with its KL term: its module also reads the unperturbed action values";
        vec![NamedAgent { name: "q-sane-elbo", summary, settings: Self::default() }]
    }

    fn settings() -> Vec<Setting> {
        elbo_settings()
    }
}

impl StateAware for SaneElbo {
    fn module_settings(&self) -> &ModuleSettings {
        &self.module
    }

    fn module_settings_mut(&mut self) -> &mut ModuleSettings {
        &mut self.module
    }

    fn acts_on(&self) -> Thompson {
        self.thompson
    }

    fn sigmas(&self, _dense_widths: &[usize]) -> usize {
        1
    }

    fn noise_bound(&self) -> Option<&Bound> {
        Some(&self.bound)
    }

    fn noise_bound_mut(&mut self) -> Option<&mut Bound> {
        Some(&mut self.bound)
    }

    fn build_perturbation(&self, head: &mut HeadBuilder) -> Result<Box<dyn Perturbation>, AgentError> {
        StateAwareNoise::build(self, self.noise, head)
    }
}

impl StateAware for QSaneElbo {
    fn module_settings(&self) -> &ModuleSettings {
        &self.module
    }

    fn module_settings_mut(&mut self) -> &mut ModuleSettings {
        &mut self.module
    }

    fn acts_on(&self) -> Thompson {
        self.thompson
    }

    fn q_values(&self) -> QValuesRead {
        QValuesRead::Clean
    }

    fn sigmas(&self, _dense_widths: &[usize]) -> usize {
        1
    }

    fn noise_bound(&self) -> Option<&Bound> {
        Some(&self.bound)
    }

    fn noise_bound_mut(&mut self) -> Option<&mut Bound> {
        Some(&mut self.bound)
    }

    fn build_perturbation(&self, head: &mut HeadBuilder) -> Result<Box<dyn Perturbation>, AgentError> {
        StateAwareNoise::build(self, self.noise, head)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explorer::Explorer;
    use crate::{AgentConfig, Exploration, Objective};

    #[test]
    fn a_sigma_that_may_vanish_is_refused() {
        for sigma in [SigmaForm::Linear, SigmaForm::Softplus] {
            let module = ModuleSettings { sigma, ..positive_module() };
            let text = SaneElbo { module, ..SaneElbo::default() }.check().unwrap_err().to_string();
            assert!(text.starts_with("exploration.module.sigma = "), "{text}");
        }
    }

    #[test]
    fn a_second_kl_term_is_refused() {
        let exploration = Exploration::SaneElbo(SaneElbo::default());
        let objective = Objective::Elbo { kl_weight: 1e-8 };
        let config = AgentConfig { exploration, objective, ..AgentConfig::default() };
        let text = config.check().unwrap_err().to_string();
        assert!(text.starts_with("objective.kind = "), "{text}");
    }
}
