//! NoisyNet (Fortunato et al. 2018): one learned deviation per dense weight and bias, the same in every state.
//!
//! ```text
//! y = (μ_w + σ_w ⊙ ε_w) x + μ_b + σ_b ⊙ ε_b,   ε_w = z_m ⊗ z_l, ε_b = z_m
//!   = μ_w x + μ_b + z_m ⊙ (σ_w (z_l ⊙ x) + σ_b)
//! ```
//!
//! The second line is what is computed: a plain dense layer of deviations between two scalings, so that no noise matrix is
//! built. Derived in docs/derivations.md, §2.
//!
//! [`Noisynet`] minimises the TD error alone; [`NoisynetElbo`] keeps the KL term, Σⱼ (σⱼ²/2 − log σⱼ), and deviations of at
//! least 10⁻⁶: each step ends with a projection onto that range.

use super::reference::IndependentNoisynet;
use crate::behaviour::Thompson;
use crate::config::{check_noise_size, in_range};
use crate::explorer::{Explorer, NamedAgent, Registered, Setting};
use crate::network::{HeadBuilder, dense_parameters};
use crate::noise::{PassNoise, PassRole};
use crate::perturbation::{KlTerm, LayerContext, Perturbation, StateInputs, noise_shapes};
use crate::rows::for_each_row;
use crate::sigma::SMALLEST_SIGMA;
use crate::{AgentError, Bound, Noise, NoiseForm};
use sane_nn::{Activation, Dense, DenseUpdate, Head, Init, InputGradient, Kernel, Matrix};
use serde::{Deserialize, Serialize};

/// Settings of NoisyNet.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Noisynet {
    /// Deviations start at σ₀/√inputs.
    pub sigma_0: f32,
    pub noise: Noise,
    pub thompson: Thompson,
}

impl Default for Noisynet {
    fn default() -> Self {
        Self { sigma_0: 0.5, noise: Noise::per_batch(), thompson: Thompson::Step }
    }
}

/// Settings of NoisyNet with its KL term.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NoisynetElbo {
    /// Deviations start at σ₀/√inputs.
    pub sigma_0: f32,
    pub noise: Noise,
    pub thompson: Thompson,
    #[serde(flatten)]
    pub bound: Bound,
}

impl Default for NoisynetElbo {
    fn default() -> Self {
        let Noisynet { sigma_0, noise, thompson } = Noisynet::default();
        Self { sigma_0, noise, thompson, bound: Bound::default() }
    }
}

impl Registered for Noisynet {
    const KIND: &'static str = "noisynet";

    fn agents() -> Vec<NamedAgent<Self>> {
        let noisynet = |noise| Self { noise, ..Self::default() };
        vec![
            NamedAgent {
                name: "noisynet",
                summary: "one learned deviation per dense weight, noise shared by the batch (Fortunato et al. 2018)",
                settings: Self::default(),
            },
            NamedAgent {
                name: "noisynet-per-example",
                summary: "NoisyNet with a fresh draw for each example of a batch",
                settings: noisynet(Noise::default()),
            },
            NamedAgent {
                name: "noisynet-independent",
                summary: "NoisyNet with one draw per weight (slow reference)",
                settings: noisynet(Noise { form: NoiseForm::Independent, ..Noise::per_batch() }),
            },
        ]
    }

    fn settings() -> Vec<Setting> {
        let sigma_0 = Setting { key: "sigma_0", meaning: "noisynet: deviations start at sigma_0/√inputs" };
        [&[sigma_0][..], &Noise::SETTINGS].concat()
    }
}

impl Registered for NoisynetElbo {
    const KIND: &'static str = "noisynet-elbo";

    fn agents() -> Vec<NamedAgent<Self>> {
        let summary = "NoisyNet with its KL term: positive deviations, and noise of Q of a chosen size (q_noise)";
        vec![NamedAgent { name: "noisynet-elbo", summary, settings: Self::default() }]
    }

    fn settings() -> Vec<Setting> {
        [&Bound::SETTINGS[..], &Noisynet::settings()].concat()
    }
}

impl Explorer for NoisynetElbo {
    fn is_noisy(&self) -> bool {
        true
    }

    fn thompson(&self) -> Thompson {
        self.thompson
    }

    fn check(&self) -> Result<(), AgentError> {
        check_noise_size("exploration.sigma_0", self.sigma_0)?;
        if self.noise.form == NoiseForm::Independent {
            let (key, value) = ("exploration.noise.form", "independent".to_owned());
            return Err(AgentError::OutOfRange { key, value, expected: "factored" });
        }
        Ok(())
    }

    fn parameter_count(&self, dense_widths: &[usize]) -> Result<usize, AgentError> {
        Ok(dense_parameters(dense_widths))
    }

    fn build(&self, head: &mut HeadBuilder) -> Result<Box<dyn Perturbation>, AgentError> {
        let (deviations, noise) = build_layers(self.sigma_0, self.noise, head)?;
        let plain = LearnedDeviations::sized(head.kernel(), deviations, noise, 1);
        Ok(Box::new(LearnedDeviations { keeps_kl: true, ..plain }))
    }

    fn bound(&self) -> Option<&Bound> {
        Some(&self.bound)
    }

    fn bound_mut(&mut self) -> Option<&mut Bound> {
        Some(&mut self.bound)
    }
}

impl Explorer for Noisynet {
    fn is_noisy(&self) -> bool {
        true
    }

    fn thompson(&self) -> Thompson {
        self.thompson
    }

    fn check(&self) -> Result<(), AgentError> {
        in_range("exploration.sigma_0", f64::from(self.sigma_0), 0.0..f64::INFINITY, "a number of at least 0")
    }

    fn parameter_count(&self, dense_widths: &[usize]) -> Result<usize, AgentError> {
        Ok(dense_parameters(dense_widths))
    }

    fn build(&self, head: &mut HeadBuilder) -> Result<Box<dyn Perturbation>, AgentError> {
        let (deviations, noise) = build_layers(self.sigma_0, self.noise, head)?;
        Ok(match self.noise.form {
            NoiseForm::Factored => Box::new(LearnedDeviations::sized(head.kernel(), deviations, noise, 1)),
            NoiseForm::Independent => Box::new(IndependentNoisynet::new(head.kernel(), deviations, noise)),
        })
    }
}

/// The layers of means, those of deviations, and the noise.
///
/// ```text
/// μ ~ U[−1/√l, 1/√l],  σ = σ₀/√l, weights and biases alike                        [SANE:initialisation-noisynet]
/// ```
fn build_layers(sigma_0: f32, noise: Noise, head: &mut HeadBuilder) -> Result<(Vec<Dense>, PassNoise), AgentError> {
    let mut deviations = Vec::new();
    for k in 0..head.layer_count() {
        let root = (head.layer_inputs(k).count() as f32).sqrt();
        head.layer("_mu", [Init::FanInUniform, Init::Uniform(1.0 / root)])?;
        let name = |tensor: &str| format!("fc{}.{tensor}_sigma", k + 1);
        let initial = Init::Constant(sigma_0 / root);
        let (inputs, outputs) = (head.layer_inputs(k), head.layer_outputs(k));
        deviations.push(head.dense([name("weight"), name("bias")], inputs, outputs, [initial, initial])?);
    }
    Ok((deviations, PassNoise::new(noise, head.kernel(), &noise_shapes(head.layers()), 1)))
}

/// Factored noise with learned deviations, in one pass.
#[derive(Debug, Clone)]
struct LearnedDeviations {
    kernel: Kernel,
    /// σ_w and σ_b of each layer.
    deviations: Vec<Dense>,
    /// Whether the KL term is minimised, so that deviations are positive.
    keeps_kl: bool,
    noise: PassNoise,
    /// z_l ⊙ x of each layer.
    scaled_x: Vec<Matrix>,
    /// σ_w (z_l ⊙ x) + σ_b of each layer.
    scaled_y: Vec<Matrix>,
    /// z_m ⊙ δ of each layer.
    d_scaled_y: Vec<Matrix>,
    /// σ_wᵀ(z_m ⊙ δ) of each layer.
    d_scaled_x: Vec<Matrix>,
    into_scaled: Vec<InputGradient>,
}

impl LearnedDeviations {
    fn sized(kernel: Kernel, deviations: Vec<Dense>, noise: PassNoise, batch: usize) -> Self {
        let outputs: Vec<Matrix> = deviations.iter().map(|layer| Matrix::zeros(batch, layer.outputs())).collect();
        let inputs: Vec<Matrix> = deviations.iter().map(|layer| Matrix::zeros(batch, layer.inputs())).collect();
        Self {
            kernel,
            keeps_kl: false,
            noise,
            scaled_x: inputs.clone(),
            scaled_y: outputs.clone(),
            d_scaled_y: outputs,
            d_scaled_x: inputs,
            into_scaled: deviations.iter().map(|layer| InputGradient::new(kernel, &[layer], batch)).collect(),
            deviations,
        }
    }
}

impl Perturbation for LearnedDeviations {
    fn for_batch(&self, batch: usize) -> Box<dyn Perturbation> {
        let sized = Self::sized(self.kernel, self.deviations.clone(), self.noise.for_batch(batch), batch);
        Box::new(Self { keeps_kl: self.keeps_kl, ..sized })
    }

    fn draw(&mut self, draw: u64, role: PassRole) {
        self.noise.draw(draw, role);
    }

    fn drawn(&self) -> Option<&PassNoise> {
        Some(&self.noise)
    }

    fn prepare(&mut self, _params: &[f32], _features: &mut Matrix, _inputs: &StateInputs<'_>) {}

    /// y ← y + z_m ⊙ (σ_w (z_l ⊙ x) + σ_b)
    fn perturb(&mut self, at: &LayerContext<'_>, x: &Matrix, y: &mut Matrix) {
        let Self { kernel, deviations, noise, scaled_x, scaled_y, .. } = self;
        let (kernel, k, width) = (*kernel, at.k, at.layer.width());
        for_each_row(&mut scaled_x[k], |i, row| kernel.multiply(row, noise.z_in(k, i), &x.row(i)[..width]));
        deviations[k].forward(at.params, &scaled_x[k], &mut scaled_y[k], Activation::Linear);
        let scaled_y = &scaled_y[k];
        for_each_row(y, |i, row| {
            kernel.add_product(row, noise.z_out(k, i), scaled_y.row(i));
            if !at.is_last {
                kernel.relu(row);
            }
        });
    }

    /// ∂L/∂(σ_w (z_l ⊙ x) + σ_b) = z_m ⊙ δ, from which the dense update takes ∂L/∂σ_w and ∂L/∂σ_b.
    fn backward_noise(&mut self, at: &LayerContext<'_>, _x: &Matrix, delta: &Matrix, _gradients: &mut [f32]) {
        let Self { kernel, noise, d_scaled_y, .. } = self;
        for_each_row(&mut d_scaled_y[at.k], |i, row| kernel.multiply(row, noise.z_out(at.k, i), delta.row(i)));
    }

    /// ∂L/∂x = μ_wᵀδ + z_l ⊙ σ_wᵀ(z_m ⊙ δ)
    fn backward_input(&mut self, at: &LayerContext<'_>, _delta: &Matrix, dx: &mut Matrix) {
        let (k, width) = (at.k, at.layer.width());
        let heads = [Head { layer: &self.deviations[k], dy: &self.d_scaled_y[k], input_scale: None }];
        self.into_scaled[k].compute(at.params, &heads, &mut self.d_scaled_x[k]);
        let (kernel, noise, d_scaled_x) = (self.kernel, &self.noise, &self.d_scaled_x[k]);
        for_each_row(dx, |i, row| kernel.add_product(&mut row[..width], noise.z_in(k, i), d_scaled_x.row(i)));
    }

    fn own_update<'a>(&'a self, k: usize, _features: &'a Matrix) -> Option<DenseUpdate<'a>> {
        let layer = self.deviations.get(k)?;
        Some(DenseUpdate { layer, x: &self.scaled_x[k], dy: &self.d_scaled_y[k] })
    }

    /// σ ← max(σ, 10⁻⁶)
    fn project(&self, params: &mut [f32]) {
        if !self.keeps_kl {
            return;
        }
        for layer in &self.deviations {
            for range in [Some(layer.weight_range()), layer.bias_range()].into_iter().flatten() {
                // A deviation of exactly zero is a lane that no weight uses.
                let used = params[range].iter_mut().filter(|sigma| **sigma != 0.0);
                used.for_each(|sigma| *sigma = sigma.max(SMALLEST_SIGMA));
            }
        }
    }

    fn kl_term(&self, tensor: &str) -> KlTerm {
        kl_term(tensor)
    }
}

/// μ enters the KL term as means, σ as deviations.
pub(super) fn kl_term(tensor: &str) -> KlTerm {
    if tensor.ends_with("_sigma") { KlTerm::Deviation } else { KlTerm::Mean }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NoiseSharing;
    use crate::network::Network;
    use crate::{AgentConfig, Exploration, NetworkSpec};
    use sane_env::{EnvSpec, FrameSkip, FrameSpace, Stream};

    #[test]
    fn noisynet_shares_its_draw_by_the_batch() {
        assert_eq!(Noisynet::default().noise.shared_by, NoiseSharing::Batch);
    }

    #[test]
    fn two_scalings_around_a_dense_layer_equal_the_literal_equation() {
        let actions = (0..3).map(|a| a.to_string()).collect();
        let world = EnvSpec {
            name: "test".into(),
            frame: FrameSpace::vector(5),
            history: 1,
            actions,
            frame_skip: FrameSkip(1),
        };
        let network = NetworkSpec { hidden: Vec::new(), ..NetworkSpec::mlp() };
        let exploration = Exploration::Noisynet(Noisynet::default());
        let config = AgentConfig { exploration, network, ..AgentConfig::default() };
        let network = Network::new(&config, &world, Kernel::detect(), 2).unwrap();
        let mut params = network.layout.zeros();
        let mut stream = Stream::named(1, "test");
        params.iter_mut().for_each(|p| *p = stream.normal() as f32);
        let mut perturbation = network.perturbation.for_batch(2);
        perturbation.draw(7, PassRole::Online);
        let (mut x, mut y) = (Matrix::zeros(2, 5), Matrix::zeros(2, 3));
        (0..2).for_each(|i| x.row_mut(i).iter_mut().for_each(|x| *x = stream.normal() as f32));
        let at = LayerContext { params: &params, k: 0, layer: &network.layers[0], is_last: true };
        perturbation.perturb(&at, &x, &mut y);

        let tensors = network.layout.export(&params);
        let values = |name: &str| &tensors.iter().find(|tensor| tensor.name == name).unwrap().values;
        let (sigma_w, sigma_b) = (values("fc1.weight_sigma"), values("fc1.bias_sigma"));
        let noise = perturbation.drawn().unwrap();
        for (i, j) in (0..2).flat_map(|i| (0..3).map(move |j| (i, j))) {
            let (z_l, z_m) = (noise.z_in(0, i), noise.z_out(0, i));
            let weights = (0..5).map(|l| sigma_w[j * 5 + l] * z_m[j] * z_l[l] * x.row(i)[l]).sum::<f32>();
            let expected = weights + sigma_b[j] * z_m[j];
            assert!((y.row(i)[j] - expected).abs() < 1e-4, "example {i}, output {j}: {} {expected}", y.row(i)[j]);
        }
    }
}
