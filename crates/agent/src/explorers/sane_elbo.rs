//! SANE with the KL term of its evidence lower bound kept, and a σ(s) that is always positive.
//!
//! ```text
//! L = 1/b Σᵢ (Q(sᵢ, aᵢ; θ + σ(sᵢ)·ε) − Tᵢ)² + λ · 1/b Σᵢ k₂ (σ(sᵢ)²/2 − log σ(sᵢ) − ½)      λ = 2v²/k₂
//! ```
//!
//! Without the second term the optimum is σ ≡ 0. With it, σ(s)²·V(s) = v² wherever V ≫ v², V the variance of Q that σ = 1
//! would give: the noise of Q has the wanted size v in every state, and whether it changes the action depends on the gap
//! between the action values. The forward and backward passes are those of `state_aware.rs`; λ is in `bound.rs`.
//!
//! [`Elbo`] holds what all agents of this kind share; in what each differs is an [`ElboVariant`], here those that differ in
//! nothing but what the module reads, the others in `sane_counts.rs`, `sane_gap.rs`, `sane_shuffled.rs` and `oracle.rs`.

use crate::behaviour::{Behaviour, Thompson};
use crate::explorer::{NamedAgent, Registered, Setting};
use crate::perturbation::QValuesRead;
use crate::perturbation_module::ModuleSettings;
use crate::sigma::SigmaForm;
use crate::state_aware::{StateAware, StateRule};
use crate::{AgentError, Bound, Noise};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fmt::Debug;
use std::sync::Arc;

/// Settings of simple-SANE with its KL term.
pub type SaneElbo = Elbo<ReadsFeatures>;

/// Settings of Q-SANE with its KL term.
pub type QSaneElbo = Elbo<ReadsQValues>;

/// Settings of an agent with a perturbation module and a KL term; `Variant` are those that only it has.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, bound = "Variant: ElboVariant")]
pub struct Elbo<Variant> {
    #[serde(flatten)]
    pub variant: Variant,
    pub module: ModuleSettings,
    pub noise: Noise,
    pub thompson: Thompson,
    #[serde(flatten)]
    pub bound: Bound,
}

/// In what an agent with a module and a KL term differs from `sane-elbo`; its fields are settings of the agent.
pub(super) trait ElboVariant:
    Debug + Clone + PartialEq + Default + Send + Sync + Serialize + DeserializeOwned + 'static
{
    /// The agent, as typed on the command line and in configuration files.
    const NAME: &'static str;

    /// What it is, in one line.
    const SUMMARY: &'static str;

    /// What its fields mean.
    const SETTINGS: &'static [Setting] = &[];

    /// Validates them, and how long a draw is acted on where that is not free.
    fn check(&self, _thompson: Thompson) -> Result<(), AgentError> {
        Ok(())
    }

    /// Which action values the module reads beside h(s).
    fn q_values(&self) -> QValuesRead {
        QValuesRead::None
    }

    /// What scales σ(s) beside the module.
    fn rule(&self) -> Option<Arc<dyn StateRule>> {
        None
    }

    /// What it remembers of states.
    fn memory(&self) -> Option<Box<dyn Behaviour>> {
        None
    }

    /// Whether it asks the world for the true risk.
    fn asks_for_risk(&self) -> bool {
        false
    }
}

/// The module reads h(s).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ReadsFeatures {}

impl ElboVariant for ReadsFeatures {
    const NAME: &'static str = "sane-elbo";
    const SUMMARY: &'static str = "SANE with its KL term: a positive σ(s), and noise of Q of a chosen size (q_noise)";
}

/// The module reads h(s) and Q̄(s, ·).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ReadsQValues {}

impl ElboVariant for ReadsQValues {
    const NAME: &'static str = "q-sane-elbo";
    const SUMMARY: &'static str = "Q-SANE with its KL term: its module also reads the unperturbed action values";

    fn q_values(&self) -> QValuesRead {
        QValuesRead::Clean
    }
}

impl<Variant: ElboVariant> Default for Elbo<Variant> {
    fn default() -> Self {
        Self {
            variant: Variant::default(),
            // A σ that a KL term can bear.
            module: ModuleSettings { sigma: SigmaForm::Positive, ..ModuleSettings::default() },
            noise: Noise::default(),
            thompson: Thompson::Step,
            bound: Bound::default(),
        }
    }
}

impl<Variant: ElboVariant> Registered for Elbo<Variant> {
    const KIND: &'static str = Variant::NAME;

    fn agents() -> Vec<NamedAgent<Self>> {
        vec![NamedAgent { name: Variant::NAME, summary: Variant::SUMMARY, settings: Self::default() }]
    }

    fn settings() -> Vec<Setting> {
        [Variant::SETTINGS, &Bound::SETTINGS, &ModuleSettings::SETTINGS, &Noise::SETTINGS].concat()
    }
}

impl<Variant: ElboVariant> StateAware for Elbo<Variant> {
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
        self.variant.q_values()
    }

    fn noise_bound(&self) -> Option<&Bound> {
        Some(&self.bound)
    }

    fn noise_bound_mut(&mut self) -> Option<&mut Bound> {
        Some(&mut self.bound)
    }

    fn rule(&self) -> Option<Arc<dyn StateRule>> {
        self.variant.rule()
    }

    fn memory(&self) -> Option<Box<dyn Behaviour>> {
        self.variant.memory()
    }

    fn check_own(&self) -> Result<(), AgentError> {
        self.variant.check(self.thompson)
    }

    fn asks_for_risk(&self) -> bool {
        self.variant.asks_for_risk()
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
            let module = ModuleSettings { sigma, ..ModuleSettings::default() };
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
