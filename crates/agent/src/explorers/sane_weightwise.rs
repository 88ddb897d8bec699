//! SANE with a σ(s) per dense weight and bias, for small networks: the module's output is as large as the network.
//!
//! ```text
//! y_j += Σ_i S_ji·ε_ji·x_i + s_j·ε_j      ∂L/∂S_ji = δ_j·ε_ji·x_i      ∂L/∂s_j = δ_j·ε_j
//! ```
//!
//! Nothing factors here; the noise of a layer is added weight by weight, as in `reference.rs`.

use super::reference::{BatchNoise, Deviations, widest};
use crate::behaviour::Thompson;
use crate::explorer::{NamedAgent, Registered, Setting};
use crate::network::{HeadBuilder, Layer, dense_parameters};
use crate::noise::{PassNoise, PassRole};
use crate::objective::Regulariser;
use crate::perturbation::{LayerContext, Perturbation, StateInputs, noise_shapes};
use crate::perturbation_module::{ModuleSettings, PerturbationModule};
use crate::sigma::SigmaStats;
use crate::state_aware::StateAware;
use crate::{AgentError, Noise};
use sane_nn::{Dense, DenseUpdate, Head, Matrix};
use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Settings of SANE with a σ(s) per dense weight and bias; for small networks, the module's output is as large as the
/// network.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SaneWeightwise {
    pub module: ModuleSettings,
    pub noise: Noise,
    pub thompson: Thompson,
}

/// The largest module: its parameters and Adam's moments would take a gigabyte.
const LARGEST_MODULE: usize = 64_000_000;

impl Registered for SaneWeightwise {
    const KIND: &'static str = "sane-weightwise";

    fn agents() -> Vec<NamedAgent<Self>> {
        let summary = "a σ(s) per dense weight (small networks only)";
        vec![NamedAgent { name: "sane-weightwise", summary, settings: Self::default() }]
    }

    fn settings() -> Vec<Setting> {
        [&ModuleSettings::SETTINGS[..], &Noise::SETTINGS].concat()
    }
}

impl StateAware for SaneWeightwise {
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
        dense_parameters(dense_widths)
    }

    fn largest_module(&self) -> usize {
        LARGEST_MODULE
    }

    fn build_perturbation(&self, head: &mut HeadBuilder) -> Result<Box<dyn Perturbation>, AgentError> {
        head.plain_layers()?;
        let extra_features = usize::from(self.module.visit_counts);
        let perturbed: usize = head.layers().iter().map(Layer::parameters).sum();
        let noise = PassNoise::new(self.noise, head.kernel(), &noise_shapes(head.layers()), 1);
        Ok(Box::new(WeightwiseNoise {
            noise: BatchNoise::new(head.kernel(), noise, widest(head.layers())),
            feature_width: head.features().width(),
            first_sigma: head
                .layers()
                .iter()
                .scan(0, |next, layer| Some(std::mem::replace(next, *next + layer.parameters())))
                .collect(),
            extra_features,
            module: PerturbationModule::build(&self.module, head, extra_features, perturbed)?,
        }))
    }
}

/// A σ(s) per weight and the noise that they scale, in one pass.
#[derive(Debug, Clone)]
struct WeightwiseNoise {
    module: PerturbationModule,
    noise: BatchNoise,
    feature_width: usize,
    /// Where the σ of each layer begin.
    first_sigma: Vec<usize>,
    extra_features: usize,
}

impl WeightwiseNoise {
    fn sigmas(&self, at: &LayerContext<'_>) -> Range<usize> {
        self.first_sigma[at.k]..self.first_sigma[at.k] + at.layer.parameters()
    }
}

impl Perturbation for WeightwiseNoise {
    fn for_batch(&self, batch: usize) -> Box<dyn Perturbation> {
        let (module, noise) = (self.module.for_batch(batch), self.noise.for_batch(batch));
        Box::new(Self { module, noise, first_sigma: self.first_sigma.clone(), ..*self })
    }

    fn extra_features(&self) -> usize {
        self.extra_features
    }

    fn draw(&mut self, draw: u64, role: PassRole) {
        self.noise.noise.draw(draw, role);
    }

    fn drawn(&self) -> Option<&PassNoise> {
        Some(&self.noise.noise)
    }

    fn prepare(&mut self, params: &[f32], features: &mut Matrix, inputs: &StateInputs<'_>) {
        if 0 < self.extra_features {
            let bytes = inputs.states.len() / features.rows();
            for (i, state) in inputs.states.chunks_exact(bytes).enumerate() {
                let (hidden, extra) = features.row_mut(i).split_at_mut(self.feature_width);
                inputs.behaviour.features(state, hidden, extra);
            }
        }
        self.module.forward(params, features);
    }

    fn perturb(&mut self, at: &LayerContext<'_>, x: &Matrix, y: &mut Matrix) {
        let (sigmas, sigma) = (self.sigmas(at), &self.module.sigma);
        self.noise.perturb(at, |i| Deviations::PerWeight(&sigma.row(i)[sigmas.clone()]), x, y);
    }

    fn backward_noise(&mut self, at: &LayerContext<'_>, x: &Matrix, delta: &Matrix, _gradients: &mut [f32]) {
        let sigmas = self.sigmas(at);
        let PerturbationModule { sigma, d_sigma, .. } = &mut self.module;
        for i in 0..delta.rows() {
            let (noise, row) = self.noise.example(at, i, Deviations::PerWeight(&sigma.row(i)[sigmas.clone()]));
            let out = &mut d_sigma.row_mut(i)[sigmas.clone()];
            noise.per_weight_gradient(delta.row(i), &x.row(i)[..at.layer.width()], out, row);
        }
    }

    fn backward_input(&mut self, at: &LayerContext<'_>, delta: &Matrix, dx: &mut Matrix) {
        let (sigmas, sigma) = (self.sigmas(at), &self.module.sigma);
        self.noise.backward_input(at, |i| Deviations::PerWeight(&sigma.row(i)[sigmas.clone()]), delta, dx);
    }

    fn backward_sigma(&mut self, regulariser: Option<&Regulariser>, params: &[f32], _gradients: &mut [f32]) -> f32 {
        self.module.backward(params, regulariser, |_| 1)
    }

    fn feature_layer(&self) -> Option<&Dense> {
        self.module.feature_layer()
    }

    fn feature_head(&self) -> Option<Head<'_>> {
        self.module.feature_head()
    }

    fn own_update<'a>(&'a self, k: usize, features: &'a Matrix) -> Option<DenseUpdate<'a>> {
        self.module.update(k.checked_sub(self.first_sigma.len())?, features)
    }

    fn rate_scale(&self) -> Option<(Range<usize>, f32)> {
        self.module.rate_scale()
    }

    fn sigma(&self) -> Option<&Matrix> {
        Some(&self.module.sigma)
    }

    fn sigma_stats(&self) -> Option<SigmaStats> {
        Some(self.module.sigma_stats())
    }
}
