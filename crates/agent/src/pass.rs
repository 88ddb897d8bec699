//! One pass of a batch through a network: states in, Q(s, ·) and σ(s) out, with everything the way back needs.

use crate::exploration::{NoiseForm, QFeatures};
use crate::extra_features::{FeatureContext, FeatureSources};
use crate::network::{Grain, Mechanism, Network};
use crate::noise::{NoiseUser, PassNoise};
use crate::perturbation;
use crate::perturbed_layer::RankOne;
use crate::rows::{for_each_row, for_each_row_and_number};
use crate::weight_noise::{Deviations, WeightNoise};
use crate::{Exploration, SigmaStats};
use sane_nn::{Activation, Kernel, Matrix, Observations, Trace};

/// Which action values a pass computes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum HeadMode {
    /// Without noise.
    Plain,
    /// With noise.
    Noisy,
    /// Both: the product of the first dense layer is shared.
    NoisyBesidePlain,
}

/// Activations of a batch.
#[derive(Debug, Clone)]
pub(crate) struct Pass {
    /// h(s) and, behind it, the extra features: [B, width].
    pub features: Matrix,
    /// Outputs of the dense layers, after ReLU but for the last: Q(s, ·).
    pub y: Vec<Matrix>,
    /// The same without noise, where both are wanted.
    pub plain: Vec<Matrix>,
    pub noise: Option<PassNoise>,
    /// c = ⟨z_l, x⟩ + 1 of each layer and example.
    pub reach: Vec<Vec<f32>>,
    /// Outputs of the module's layers; the last is σ.
    pub module: Vec<Matrix>,
    /// σ of each state, [B, sigmas], where there is one.
    pub sigma: Option<Matrix>,
    /// NoisyNet: z_l ⊙ x of each layer.
    pub scaled_x: Vec<Matrix>,
    /// NoisyNet: σ_w (z_l ⊙ x) + σ_b of each layer.
    pub scaled_y: Vec<Matrix>,
    /// Scratch for one row of a noise matrix.
    pub row: Vec<f32>,
    floats: Vec<f32>,
}

impl Pass {
    /// Room for `batch` states.
    pub fn new(network: &Network, exploration: &Exploration, batch: usize) -> Self {
        let outputs = || network.layers.iter().map(|layer| Matrix::zeros(batch, layer.mean.outputs())).collect();
        let noise = exploration.noise();
        let is_scaled = network.mechanism == Mechanism::NoisyNet && !Self::is_slow(network, noise.map(|n| n.form));
        let scaled = |width: &dyn Fn(usize) -> usize| match is_scaled {
            true => (0..network.layers.len()).map(|k| Matrix::zeros(batch, width(k))).collect(),
            false => Vec::new(),
        };
        let ends: Vec<(usize, usize)> =
            network.layers.iter().map(|layer| (layer.width(), layer.mean.outputs())).collect();
        Self {
            features: Matrix::zeros(batch, network.feature_width() + network.extra_width),
            y: outputs(),
            plain: outputs(),
            reach: vec![vec![0.0; batch]; network.layers.len()],
            module: network.module.iter().map(|dense| Matrix::zeros(batch, dense.outputs())).collect(),
            sigma: (0 < network.sigmas()).then(|| Matrix::zeros(batch, network.sigmas())),
            scaled_x: scaled(&|k| ends[k].0),
            scaled_y: scaled(&|k| ends[k].1),
            row: vec![0.0; ends.iter().map(|&(width, _)| width).max().unwrap_or(0)],
            noise: noise.map(|noise| PassNoise::new(noise, &ends, batch)),
            floats: Vec::new(),
        }
    }

    /// Draws the noise of the pass, where it has some.
    pub fn draw(&mut self, kernel: Kernel, draw: u64, user: NoiseUser) {
        self.noise.iter_mut().for_each(|noise| noise.draw(kernel, draw, user));
    }

    /// Q(s, ·) of the pass, [B, A].
    pub fn q(&self) -> &Matrix {
        &self.y[self.y.len() - 1]
    }

    /// Q̄(s, ·), where it was computed beside the perturbed one.
    pub fn plain_q(&self) -> &Matrix {
        &self.plain[self.plain.len() - 1]
    }

    /// Size and sign of σ over the batch and the health of the module.
    pub fn sigma_stats(&self) -> Option<SigmaStats> {
        let sigma = self.sigma.as_ref()?;
        let all = (0..sigma.rows()).flat_map(|i| sigma.row(i).iter().copied());
        let hidden = &self.module[..self.module.len().saturating_sub(1)];
        let units: usize = hidden.iter().map(Matrix::cols).sum();
        let is_live = |layer: &Matrix, unit: usize| (0..layer.rows()).any(|i| 0.0 < layer.row(i)[unit]);
        let live: usize =
            hidden.iter().map(|layer| (0..layer.cols()).filter(|&unit| is_live(layer, unit)).count()).sum();
        Some(SigmaStats::new(all, if units == 0 { 1.0 } else { live as f32 / units as f32 }))
    }

    /// Whether weights must be visited one by one.
    pub fn is_slow(network: &Network, form: Option<NoiseForm>) -> bool {
        let per_weight = matches!(network.mechanism, Mechanism::StateAware { grain: Grain::Weight, .. });
        per_weight || form == Some(NoiseForm::Independent)
    }

    /// h(s), keeping what a backward pass needs in `trace`, if there is one.
    ///
    /// ```text
    /// compute h(s; θᵇ)                                                                      [SANE:alg-hidden]
    /// ```
    ///
    /// DEVIATION(hidden-state-of-the-loss): the online network sees sᵢ, the target network s'ᵢ:
    /// docs/deviations.md#hidden-state-of-the-loss.
    pub fn hidden(
        &mut self,
        network: &mut Network,
        params: &[f32],
        states: &[u8],
        kind: Element,
        trace: Option<&mut Trace>,
    ) {
        let observations = match kind {
            Element::Bytes => Observations::Bytes(states),
            Element::Floats => {
                self.floats.clear();
                let float = |b: &[u8]| f32::from_le_bytes([b[0], b[1], b[2], b[3]]);
                self.floats.extend(states.chunks_exact(4).map(float));
                Observations::Floats(&self.floats)
            }
        };
        match trace {
            Some(trace) => network.torso.forward(params, observations, trace, &mut self.features),
            None => network.torso.infer(params, observations, &mut self.features),
        }
    }

    /// The observations of the last [`hidden`](Self::hidden), for the way back.
    pub fn observations<'a>(&'a self, states: &'a [u8], kind: Element) -> Observations<'a> {
        match kind {
            Element::Bytes => Observations::Bytes(states),
            Element::Floats => Observations::Floats(&self.floats),
        }
    }

    /// σ(s) and Q(s, ·) from h(s).
    pub fn head(
        &mut self,
        network: &mut Network,
        params: &[f32],
        mode: HeadMode,
        q_features: QFeatures,
        sources: &FeatureSources,
        states: &[u8],
    ) {
        if mode == HeadMode::Plain || network.mechanism == Mechanism::None {
            self.plain_head(network, params);
            self.append_features(network, sources, states, QSource::Main);
            return perturbation::forward(network, params, self);
        }
        // W₁h + b₁ is shared by the perturbed and the unperturbed pass.
        network.layers[0].mean.forward(params, &self.features, &mut self.y[0], Activation::Linear);
        if mode == HeadMode::NoisyBesidePlain || sources.read_q_values() {
            self.plain_beside(network, params);
        }
        self.append_features(network, sources, states, QSource::Plain);
        perturbation::forward(network, params, self);
        // DEVIATION(noisy-q-features): the authors' way, on request: docs/deviations.md#noisy-q-features.
        if sources.read_q_values() && q_features == QFeatures::Noisy {
            self.perturbed_head(network, params);
            self.append_features(network, sources, states, QSource::Main);
            perturbation::forward(network, params, self);
            network.layers[0].mean.forward(params, &self.features, &mut self.y[0], Activation::Linear);
        }
        self.perturbed_head(network, params);
    }

    fn plain_head(&mut self, network: &mut Network, params: &[f32]) {
        let count = network.layers.len();
        for (k, layer) in network.layers.iter_mut().enumerate() {
            let (before, here) = self.y.split_at_mut(k);
            layer.mean.forward(params, before.last().unwrap_or(&self.features), &mut here[0], activation(k, count));
        }
    }

    fn plain_beside(&mut self, network: &mut Network, params: &[f32]) {
        let (kernel, count) = (network.kernel, network.layers.len());
        self.plain[0].as_mut_slice().copy_from_slice(self.y[0].as_slice());
        if 1 < count {
            kernel.relu(self.plain[0].as_mut_slice());
        }
        for (k, layer) in network.layers.iter_mut().enumerate().skip(1) {
            let (before, here) = self.plain.split_at_mut(k);
            layer.mean.forward(params, &before[k - 1], &mut here[0], activation(k, count));
        }
    }

    fn append_features(&mut self, network: &Network, sources: &FeatureSources, states: &[u8], q: QSource) {
        if network.extra_width == 0 {
            return;
        }
        let (batch, width) = (self.features.rows(), network.feature_width());
        let q_values = match q {
            QSource::Plain => &self.plain[self.plain.len() - 1],
            QSource::Main => &self.y[self.y.len() - 1],
        };
        for (i, state) in states.chunks_exact(states.len() / batch).enumerate() {
            let context = FeatureContext { state, q_values: q_values.row(i) };
            sources.write(&context, &mut self.features.row_mut(i)[width..]);
        }
    }

    /// Perturbs y₁, which holds W₁h + b₁, and goes on to Q.
    fn perturbed_head(&mut self, network: &mut Network, params: &[f32]) {
        let Self { features, y, noise, reach, sigma, scaled_x, scaled_y, row, .. } = self;
        let Some(noise) = noise else { return };
        let (kernel, count, mechanism) = (network.kernel, network.layers.len(), network.mechanism);
        let is_slow = Self::is_slow(network, Some(noise.form()));
        let mut weights_before = 0;
        for (k, layer) in network.layers.iter_mut().enumerate() {
            let (before, here) = y.split_at_mut(k);
            let (x, y) = (before.last().unwrap_or(features), &mut here[0]);
            if 0 < k {
                layer.mean.forward(params, x, y, Activation::Linear);
            }
            let is_last = k + 1 == count;
            let (width, parameters) = (layer.width(), layer.parameters());
            if is_slow {
                for i in 0..y.rows() {
                    let deviations = deviations(
                        mechanism,
                        params,
                        sigma.as_ref(),
                        i,
                        k,
                        weights_before..weights_before + parameters,
                    );
                    let weight_noise = WeightNoise { kernel, noise, layer, index: k, example: i, deviations };
                    weight_noise.add(y.row_mut(i), &x.row(i)[..width], &mut row[..width]);
                    if !is_last {
                        kernel.relu(y.row_mut(i));
                    }
                }
            } else if let Some(deviation) = &mut layer.deviation {
                for_each_row(&mut scaled_x[k], |i, row| kernel.multiply(row, noise.z_in(k, i), &x.row(i)[..width]));
                deviation.forward(params, &scaled_x[k], &mut scaled_y[k], Activation::Linear);
                let scaled_y = &scaled_y[k];
                for_each_row(y, |i, row| {
                    kernel.add_product(row, noise.z_out(k, i), scaled_y.row(i));
                    if !is_last {
                        kernel.relu(row);
                    }
                });
            } else if let Some(sigma) = sigma {
                for_each_row_and_number(y, &mut reach[k], |i, row, reach| {
                    let noise = rank_one(noise, sigma, mechanism, k, i);
                    let x = &x.row(i)[..width];
                    *reach = if is_last { noise.add(kernel, row, x) } else { noise.add_relu(kernel, row, x) };
                });
            }
            weights_before += parameters;
        }
    }
}

/// How the numbers of a state are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Element {
    /// As bytes.
    Bytes,
    /// As little-endian `f32`.
    Floats,
}

/// Which action values the extra features see.
enum QSource {
    /// Those computed beside the perturbed ones.
    Plain,
    /// Those of the pass itself.
    Main,
}

/// The noise of layer `k` for example `i`, scaled by the σ it belongs to.
pub(crate) fn rank_one<'a>(
    noise: &'a PassNoise,
    sigma: &Matrix,
    mechanism: Mechanism,
    k: usize,
    i: usize,
) -> RankOne<'a> {
    RankOne { z_in: noise.z_in(k, i), z_out: noise.z_out(k, i), sigma: sigma.row(i)[sigma_index(mechanism, k)] }
}

/// Which σ of a state scales layer `k`.
pub(crate) fn sigma_index(mechanism: Mechanism, k: usize) -> usize {
    match mechanism {
        Mechanism::StateAware { grain: Grain::Layer, .. } => k,
        _ => 0,
    }
}

/// The deviations of layer `k` for example `i`; `weights` is the layer's part of a σ per weight.
pub(crate) fn deviations<'a>(
    mechanism: Mechanism,
    params: &'a [f32],
    sigma: Option<&'a Matrix>,
    i: usize,
    k: usize,
    weights: std::ops::Range<usize>,
) -> Deviations<'a> {
    match (mechanism, sigma) {
        (Mechanism::StateAware { grain: Grain::Weight, .. }, Some(sigma)) => {
            Deviations::PerWeight(&sigma.row(i)[weights])
        }
        (_, Some(sigma)) => Deviations::Scalar(sigma.row(i)[sigma_index(mechanism, k)]),
        (_, None) => Deviations::Learned(params),
    }
}

fn activation(k: usize, layers: usize) -> Activation {
    if k + 1 < layers { Activation::Relu } else { Activation::Linear }
}
