//! SANE: one σ(s) per state scales the noise of all dense weights. A perturbation module computes it from the network's own
//! features h(s).
//!
//! ```text
//! σ(s) = g_Θ(h(s; θᵇ))      W̃ = W + σ(s)·ε_w,  b̃ = b + σ(s)·ε_b,  fresh ε for each example and each decision
//! ```
//!
//! Three agents differ in what the module reads and how many σ it gives: simple-SANE reads h(s); Q-SANE also reads the
//! unperturbed action values Q̄(s, ·); the layerwise variant gives a σ per dense layer. The module is in
//! `perturbation_module.rs`, the perturbed layer and its derivatives in `perturbed_layer.rs`; this file puts them together,
//! forward and backward.

use crate::behaviour::{AlwaysGreedy, Behaviour};
use crate::explorer::{Explorer, NamedAgent, Registered, Setting};
use crate::network::{HeadBuilder, Layer};
use crate::noise::{PassNoise, PassRole};
use crate::objective::Regulariser;
use crate::perturbation::{LayerContext, Perturbation, QValuesRead, ScaledNoise, StateInputs, scaled_noise};
use crate::perturbation_module::{ModuleSettings, PerturbationModule, SigmaForm, SigmaStats};
use crate::visit_counts::VisitCounts;
use crate::{AgentError, Noise, NoiseForm};
use sane_nn::{Dense, DenseUpdate, Head, Matrix};
use serde::{Deserialize, Serialize};
use std::fmt::Debug;

/// Settings of simple-SANE.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Sane {
    pub module: ModuleSettings,
    pub noise: Noise,
}

/// Settings of Q-SANE.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct QSane {
    pub module: ModuleSettings,
    pub noise: Noise,
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

/// In what the agents with a perturbation module differ; the rest of [`Explorer`] is the same for all of them.
pub(super) trait StateAware: Debug + Send + Sync {
    fn module_settings(&self) -> &ModuleSettings;

    fn module_settings_mut(&mut self) -> &mut ModuleSettings;

    /// Which action values the module reads beside h(s).
    fn q_values(&self) -> QValuesRead {
        QValuesRead::None
    }

    /// How many σ a state has, in a head with dense layers of these widths.
    fn sigmas(&self, dense_widths: &[usize]) -> usize;

    /// The most parameters that the module may have.
    fn largest_module(&self) -> usize {
        usize::MAX
    }

    fn build_perturbation(&self, head: &mut HeadBuilder) -> Result<Box<dyn Perturbation>, AgentError>;
}

impl<Agent: StateAware> Explorer for Agent {
    fn is_noisy(&self) -> bool {
        true
    }

    fn check(&self) -> Result<(), AgentError> {
        self.module_settings().check()
    }

    fn parameter_count(&self, dense_widths: &[usize]) -> Result<usize, AgentError> {
        let actions = if self.reads_q_values() { dense_widths[dense_widths.len() - 1] } else { 0 };
        let module = self.module_settings();
        let inputs = dense_widths[0] + actions + usize::from(module.visit_counts);
        let (parameters, limit) = (module.parameter_count(inputs, self.sigmas(dense_widths)), self.largest_module());
        match parameters <= limit {
            true => Ok(parameters),
            false => Err(AgentError::ModuleTooLarge { parameters, limit }),
        }
    }

    fn build(&self, head: &mut HeadBuilder) -> Result<Box<dyn Perturbation>, AgentError> {
        self.build_perturbation(head)
    }

    /// Greedy on the perturbed network; the visits of states are counted where the module reads them.
    fn behaviour(&self) -> Box<dyn Behaviour> {
        if self.module_settings().visit_counts { Box::new(VisitCounts::new()) } else { Box::new(AlwaysGreedy) }
    }

    fn module(&self) -> Option<&ModuleSettings> {
        Some(self.module_settings())
    }

    fn module_mut(&mut self) -> Option<&mut ModuleSettings> {
        Some(self.module_settings_mut())
    }

    fn reads_q_values(&self) -> bool {
        self.q_values() != QValuesRead::None
    }
}

impl StateAware for Sane {
    fn module_settings(&self) -> &ModuleSettings {
        &self.module
    }

    fn module_settings_mut(&mut self) -> &mut ModuleSettings {
        &mut self.module
    }

    fn sigmas(&self, _dense_widths: &[usize]) -> usize {
        1
    }

    fn build_perturbation(&self, head: &mut HeadBuilder) -> Result<Box<dyn Perturbation>, AgentError> {
        StateAwareNoise::build(self, self.noise, head)
    }
}

impl StateAware for QSane {
    fn module_settings(&self) -> &ModuleSettings {
        &self.module
    }

    fn module_settings_mut(&mut self) -> &mut ModuleSettings {
        &mut self.module
    }

    fn q_values(&self) -> QValuesRead {
        match self.q_features {
            QFeatures::Clean => QValuesRead::Clean,
            QFeatures::Noisy => QValuesRead::NoisyWhenLearning,
        }
    }

    fn sigmas(&self, _dense_widths: &[usize]) -> usize {
        1
    }

    fn build_perturbation(&self, head: &mut HeadBuilder) -> Result<Box<dyn Perturbation>, AgentError> {
        StateAwareNoise::build(self, self.noise, head)
    }
}

impl StateAware for SaneLayerwise {
    fn module_settings(&self) -> &ModuleSettings {
        &self.module
    }

    fn module_settings_mut(&mut self) -> &mut ModuleSettings {
        &mut self.module
    }

    fn sigmas(&self, dense_widths: &[usize]) -> usize {
        dense_widths.len() - 1
    }

    fn build_perturbation(&self, head: &mut HeadBuilder) -> Result<Box<dyn Perturbation>, AgentError> {
        StateAwareNoise::build(self, self.noise, head)
    }
}

/// A module's σ(s) and the noise that it scales, in one pass.
#[derive(Debug, Clone)]
struct StateAwareNoise {
    module: PerturbationModule,
    noise: Box<dyn ScaledNoise>,
    q_values: QValuesRead,
    visit_counts: bool,
    /// Columns of h(s) in a row of features; extra features follow.
    feature_width: usize,
    /// Number of dense layers of the head.
    layers: usize,
    /// Columns of extra features.
    extra_features: usize,
    /// Parameters that each σ of a state scales.
    perturbed: Vec<usize>,
}

impl StateAwareNoise {
    /// One σ per state, or one per layer.
    fn build(
        agent: &impl StateAware,
        noise: Noise,
        head: &mut HeadBuilder,
    ) -> Result<Box<dyn Perturbation>, AgentError> {
        head.plain_layers()?;
        let (module, q_values) = (agent.module_settings(), agent.q_values());
        let actions = if q_values == QValuesRead::None { 0 } else { head.actions() };
        let extra_features = actions + usize::from(module.visit_counts);
        let each: Vec<usize> = head.layers().iter().map(Layer::parameters).collect();
        let perturbed = if agent.sigmas(head.widths()) == 1 { vec![each.iter().sum()] } else { each };
        Ok(Box::new(Self {
            noise: scaled_noise(noise, head.kernel(), head.layers()),
            q_values,
            visit_counts: module.visit_counts,
            feature_width: head.features().width(),
            layers: head.layers().len(),
            extra_features,
            module: PerturbationModule::build(module, head, extra_features, perturbed.len())?,
            perturbed,
        }))
    }
}

impl Perturbation for StateAwareNoise {
    fn for_batch(&self, batch: usize) -> Box<dyn Perturbation> {
        let (module, noise) = (self.module.for_batch(batch), self.noise.for_batch(batch));
        Box::new(Self { module, noise, perturbed: self.perturbed.clone(), ..*self })
    }

    fn extra_features(&self) -> usize {
        self.extra_features
    }

    fn reads_q_values(&self) -> QValuesRead {
        self.q_values
    }

    fn draw(&mut self, draw: u64, role: PassRole) {
        self.noise.draw(draw, role);
    }

    fn drawn(&self) -> Option<&PassNoise> {
        Some(self.noise.drawn())
    }

    /// σ(s) from h(s) and, behind it, what else the module reads.
    ///
    /// ```text
    /// σ(s) = g_Θ([h(s; θᵇ), Q̄(s, ·)])                                              [SANE:q-features]
    /// ```
    ///
    /// Q̄ are the unperturbed action values. No derivative flows back through them.
    fn prepare(&mut self, params: &[f32], features: &mut Matrix, inputs: &StateInputs<'_>) {
        if 0 < self.extra_features {
            let bytes = inputs.states.len() / features.rows();
            for (i, state) in inputs.states.chunks_exact(bytes).enumerate() {
                let mut extra = &mut features.row_mut(i)[self.feature_width..];
                if self.q_values != QValuesRead::None {
                    let (own, rest) = extra.split_at_mut(inputs.q_values.cols());
                    own.copy_from_slice(inputs.q_values.row(i));
                    extra = rest;
                }
                if self.visit_counts {
                    inputs.behaviour.features(state, extra);
                }
            }
        }
        self.module.forward(params, features);
    }

    fn perturb(&mut self, at: &LayerContext<'_>, x: &Matrix, y: &mut Matrix) {
        self.noise.perturb(at, &self.module.sigma, x, y);
    }

    fn backward_noise(&mut self, at: &LayerContext<'_>, x: &Matrix, delta: &Matrix, _gradients: &mut [f32]) {
        self.noise.backward_sigma(at, &self.module.sigma, x, delta, &mut self.module.d_sigma);
    }

    fn backward_input(&mut self, at: &LayerContext<'_>, delta: &Matrix, dx: &mut Matrix) {
        self.noise.backward_input(at, &self.module.sigma, delta, dx);
    }

    fn backward_sigma(&mut self, regulariser: Option<&Regulariser>, params: &[f32], _gradients: &mut [f32]) -> f32 {
        self.module.backward(params, regulariser, |g| self.perturbed[g])
    }

    fn feature_layer(&self) -> Option<&Dense> {
        Some(self.module.feature_layer())
    }

    fn feature_head(&self) -> Option<Head<'_>> {
        Some(self.module.feature_head())
    }

    fn own_update<'a>(&'a self, k: usize, features: &'a Matrix) -> Option<DenseUpdate<'a>> {
        self.module.update(k.checked_sub(self.layers)?, features)
    }

    fn sigma(&self) -> Option<&Matrix> {
        Some(&self.module.sigma)
    }

    fn sigma_stats(&self) -> Option<SigmaStats> {
        Some(self.module.sigma_stats())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NoiseSharing;

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
