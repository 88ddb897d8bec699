//! The way back: ∂L/∂Q in, ∂L/∂(every parameter) out, either stored or turned into Adam's step at once.
//!
//! All derivatives towards inputs are taken first, with the weights as they were; then come the weights' own.

use crate::network::{Grain, Mechanism, Network};
use crate::noise::PassNoise;
use crate::objective::{Objective, Regulariser};
use crate::pass::{Pass, deviations, rank_one, sigma_index};
use crate::perturbation;
use crate::rows::for_each_row;
use crate::weight_noise::WeightNoise;
use sane_nn::{Adam, Buffer, Dense, DenseUpdate, Head, InputGradient, Matrix, Observations, Trace};

/// Derivatives of a batch and room to compute them.
#[derive(Debug, Clone)]
pub(crate) struct Backward {
    /// ∂L/∂(outputs of each dense layer before ReLU); the last is ∂L/∂Q, which the caller fills.
    pub d_y: Vec<Matrix>,
    /// ∂L/∂(every parameter), where it is stored.
    pub flat: Buffer,
    /// The torso's activations, kept by the forward pass.
    pub trace: Trace,
    d_features: Matrix,
    d_sigma: Option<Matrix>,
    d_module: Vec<Matrix>,
    /// e = ⟨δ, z_m⟩ of the first layer, per example.
    pull: Vec<f32>,
    /// NoisyNet: z_m ⊙ δ of each layer.
    d_scaled_y: Vec<Matrix>,
    /// NoisyNet: σ_wᵀ(z_m ⊙ δ) of each layer.
    d_scaled_x: Vec<Matrix>,
    into_layer: Vec<InputGradient>,
    into_module: Vec<InputGradient>,
    into_scaled: Vec<InputGradient>,
}

impl Backward {
    /// Room for `batch` examples.
    pub fn new(network: &Network, pass: &Pass, batch: usize) -> Self {
        let kernel = network.kernel;
        let into = |layers: &[&Dense]| InputGradient::new(kernel, layers, batch);
        let into_layer = network
            .layers
            .iter()
            .enumerate()
            .map(|(k, layer)| match network.module.first() {
                Some(module) if k == 0 => into(&[&layer.mean, module]),
                _ => into(&[&layer.mean]),
            })
            .collect();
        let deviations = || network.layers.iter().filter_map(|layer| layer.deviation.as_ref());
        Self {
            d_y: pass.y.clone(),
            flat: network.layout.zeros(),
            trace: network.torso.trace(),
            d_features: pass.features.clone(),
            d_sigma: pass.sigma.clone(),
            d_module: pass.module.clone(),
            pull: vec![0.0; batch],
            d_scaled_y: pass.scaled_y.clone(),
            d_scaled_x: pass.scaled_x.clone(),
            into_layer,
            into_module: network.module.iter().map(|dense| into(&[dense])).collect(),
            into_scaled: deviations().map(|dense| into(&[dense])).collect(),
        }
    }

    /// All derivatives towards activations, down to h(s). Returns what the KL of σ(s) adds to the loss.
    pub fn down_to_features(
        &mut self,
        network: &Network,
        params: &[f32],
        pass: &mut Pass,
        regulariser: Option<&Regulariser>,
    ) -> f32 {
        let kernel = network.kernel;
        if let Some(d_sigma) = &mut self.d_sigma {
            d_sigma.clear();
        }
        for k in (0..network.layers.len()).rev() {
            if 0 < k {
                let (below, here) = self.d_y.split_at_mut(k);
                let heads = [Head { layer: &network.layers[k].mean, dy: &here[0], input_scale: None }];
                self.into_layer[k].compute(params, &heads, &mut below[k - 1]);
            }
            self.noise_gradient(network, params, pass, k);
            if 0 < k {
                self.noise_input_gradient(network, params, pass, k);
                kernel.relu_backward(self.d_y[k - 1].as_mut_slice(), pass.y[k - 1].as_slice());
            }
        }
        let kl = self.through_module(network, params, pass, regulariser);
        if network.learns_features {
            let main = Head { layer: &network.layers[0].mean, dy: &self.d_y[0], input_scale: None };
            match (network.module.first(), self.d_module.first()) {
                (Some(layer), Some(dy)) => {
                    let heads = [main, Head { layer, dy, input_scale: None }];
                    self.into_layer[0].compute(params, &heads, &mut self.d_features);
                }
                _ => self.into_layer[0].compute(params, &[main], &mut self.d_features),
            }
            self.noise_input_gradient(network, params, pass, 0);
        }
        kl
    }

    /// The convolutions' derivatives into `flat`, and Adam's step on everything, fused with the derivatives of the dense weights,
    /// which are never stored and fill the gaps that the convolutions leave.
    pub fn update(
        &mut self,
        network: &mut Network,
        params: &mut [f32],
        adam: &mut Adam,
        pass: &Pass,
        observations: Observations<'_>,
    ) {
        adam.begin_step();
        let Network { torso, layers, module, .. } = network;
        let (d_y, d_scaled_y, d_module) = (&self.d_y, &self.d_scaled_y, &self.d_module);
        let inputs = |k: usize| if k == 0 { &pass.features } else { &pass.y[k - 1] };
        let of_layers = layers.iter().enumerate().flat_map(|(k, layer)| {
            let deviation = layer.deviation.as_ref().zip(pass.scaled_x.get(k)).zip(d_scaled_y.get(k));
            [
                Some(DenseUpdate { layer: &layer.mean, x: inputs(k), dy: &d_y[k] }),
                deviation.map(|((layer, x), dy)| DenseUpdate { layer, x, dy }),
            ]
        });
        let of_module = module.iter().enumerate().map(|(k, layer)| {
            let x = if k == 0 { &pass.features } else { &pass.module[k - 1] };
            Some(DenseUpdate { layer, x, dy: &d_module[k] })
        });
        let dense = adam.weight_updates(params, of_layers.chain(of_module).flatten());
        torso.backward(observations, &self.trace, &pass.features, &self.d_features, &mut self.flat, dense);
        adam.apply(params, &self.flat, torso.param_range());
        for (k, layer) in layers.iter().enumerate() {
            layer.mean.update_bias(params, adam, &mut self.flat, &self.d_y[k]);
            if let Some(deviation) = &layer.deviation {
                match self.d_scaled_y.get(k) {
                    Some(dy) => deviation.update_bias(params, adam, &mut self.flat, dy),
                    None => {
                        adam.apply(params, &self.flat, deviation.weight_range());
                        deviation.bias_range().into_iter().for_each(|range| adam.apply(params, &self.flat, range));
                    }
                }
            }
        }
        for (dense, dy) in module.iter().zip(&self.d_module) {
            dense.update_bias(params, adam, &mut self.flat, dy);
        }
        if let Mechanism::Constant { sigma } = network.mechanism {
            adam.apply(params, &self.flat, network.layout.range(sigma));
        }
    }

    /// The derivatives of all weights into `flat`, for steps that need them whole.
    pub fn store(&mut self, network: &mut Network, pass: &Pass, observations: Observations<'_>) {
        let (features, d_features, none) = (&pass.features, &self.d_features, std::iter::empty());
        network.torso.backward(observations, &self.trace, features, d_features, &mut self.flat, none);
        for (k, layer) in network.layers.iter().enumerate() {
            let x = if k == 0 { &pass.features } else { &pass.y[k - 1] };
            layer.mean.gradient(&mut self.flat, x, &self.d_y[k]);
            if let (Some(deviation), Some(dy)) = (&layer.deviation, self.d_scaled_y.get(k)) {
                deviation.gradient(&mut self.flat, &pass.scaled_x[k], dy);
            }
        }
        for (k, dense) in network.module.iter().enumerate() {
            let x = if k == 0 { &pass.features } else { &pass.module[k - 1] };
            dense.gradient(&mut self.flat, x, &self.d_module[k]);
        }
    }

    /// The KL of all parameters: adds its derivative to `flat`, returns what it adds to the loss.
    pub fn add_parameter_kl(&mut self, network: &Network, params: &[f32], weights: &Regulariser) -> f32 {
        let mut loss = weights.constant;
        for (name, id) in network.layout.names() {
            let range = network.layout.range(id);
            let (p, g) = (&params[range.clone()], &mut self.flat[range]);
            if name.ends_with("_sigma") {
                // A deviation of exactly zero is a lane that no weight uses.
                for (&sigma, g) in p.iter().zip(g).filter(|(sigma, _)| **sigma != 0.0) {
                    let (kl, slope) = Objective::kl_of_deviation(sigma);
                    loss += weights.weight_sigma * kl;
                    *g += weights.weight_sigma * slope;
                }
            } else if name != "sigma" {
                loss += 0.5 * weights.parameters * network.kernel.dot(p, p);
                network.kernel.axpy(g, weights.parameters, p);
            }
        }
        loss
    }

    /// The noise's derivative towards σ, from δ of layer `k`.
    fn noise_gradient(&mut self, network: &Network, params: &[f32], pass: &mut Pass, k: usize) {
        let (kernel, mechanism) = (network.kernel, network.mechanism);
        let Some(noise) = &pass.noise else { return };
        let delta = &self.d_y[k];
        let layer = &network.layers[k];
        if Pass::is_slow(network, Some(noise.form())) {
            return self.slow_noise_gradient(network, params, pass, k);
        }
        if layer.deviation.is_some() {
            return for_each_row(&mut self.d_scaled_y[k], |i, row| {
                kernel.multiply(row, noise.z_out(k, i), delta.row(i));
            });
        }
        let (Some(sigma), Some(d_sigma)) = (&pass.sigma, &mut self.d_sigma) else { return };
        let g = sigma_index(mechanism, k);
        for i in 0..delta.rows() {
            let pull = rank_one(noise, sigma, mechanism, k, i).pull(kernel, delta.row(i));
            self.pull[i] = pull;
            d_sigma.row_mut(i)[g] += pass.reach[k][i] * pull;
        }
    }

    /// The noise's part of ∂L/∂x, added to what the means gave; for the first layer into ∂L/∂h.
    fn noise_input_gradient(&mut self, network: &Network, params: &[f32], pass: &mut Pass, k: usize) {
        let (kernel, mechanism) = (network.kernel, network.mechanism);
        let width = network.layers[k].width();
        let Pass { noise, sigma, row, .. } = pass;
        let Some(noise) = noise.as_ref() else { return };
        let (below, here) = self.d_y.split_at_mut(k);
        let (dx, delta) = (below.last_mut().unwrap_or(&mut self.d_features), &here[0]);
        if Pass::is_slow(network, Some(noise.form())) {
            for i in 0..delta.rows() {
                let weight_noise = weight_noise(network, noise, params, sigma.as_ref(), k, i);
                weight_noise.add_input_gradient(delta.row(i), &mut dx.row_mut(i)[..width], &mut row[..width]);
            }
        } else if let Some(deviation) = &network.layers[k].deviation {
            let heads = [Head { layer: deviation, dy: &self.d_scaled_y[k], input_scale: None }];
            self.into_scaled[k].compute(params, &heads, &mut self.d_scaled_x[k]);
            let d_scaled_x = &self.d_scaled_x[k];
            for_each_row(dx, |i, row| kernel.add_product(&mut row[..width], noise.z_in(k, i), d_scaled_x.row(i)));
        } else if let Some(sigma) = sigma {
            let pull = &self.pull;
            for_each_row(dx, |i, row| {
                rank_one(noise, sigma, mechanism, k, i).add_input_gradient(kernel, pull[i], &mut row[..width]);
            });
        }
    }

    fn slow_noise_gradient(&mut self, network: &Network, params: &[f32], pass: &mut Pass, k: usize) {
        let Pass { noise, sigma, row, features, y, .. } = pass;
        let Some(noise) = noise.as_ref() else { return };
        let layer = &network.layers[k];
        let width = layer.width();
        if let Some(deviation) = &layer.deviation {
            self.flat[deviation.weight_range()].fill(0.0);
            deviation.bias_range().into_iter().for_each(|range| self.flat[range].fill(0.0));
        }
        let before: usize = network.layers[..k].iter().map(|layer| layer.parameters()).sum();
        for i in 0..self.d_y[k].rows() {
            let (delta, row) = (self.d_y[k].row(i), &mut row[..width]);
            let x = if k == 0 { &features.row(i)[..width] } else { y[k - 1].row(i) };
            let weight_noise = weight_noise(network, noise, params, sigma.as_ref(), k, i);
            match (&mut self.d_sigma, network.mechanism) {
                (None, _) => weight_noise.add_learned_gradient(delta, x, &mut self.flat, row),
                (Some(d_sigma), Mechanism::StateAware { grain: Grain::Weight, .. }) => {
                    let out = &mut d_sigma.row_mut(i)[before..before + layer.parameters()];
                    weight_noise.per_weight_gradient(delta, x, out, row);
                }
                (Some(d_sigma), mechanism) => {
                    d_sigma.row_mut(i)[sigma_index(mechanism, k)] += weight_noise.scalar_gradient(delta, x, row);
                }
            }
        }
    }

    /// ∂L/∂σ through the module, down to the outputs of its first layer.
    fn through_module(
        &mut self,
        network: &Network,
        params: &[f32],
        pass: &Pass,
        regulariser: Option<&Regulariser>,
    ) -> f32 {
        let (Some(sigma), Some(d_sigma)) = (&pass.sigma, &mut self.d_sigma) else { return 0.0 };
        let perturbed = |g: usize| match network.mechanism {
            Mechanism::StateAware { grain: Grain::Layer, .. } => network.layers[g].parameters(),
            Mechanism::StateAware { grain: Grain::Weight, .. } => 1,
            _ => network.perturbed(),
        };
        let kl = regulariser.map_or(0.0, |weights| perturbation::add_kl(weights, perturbed, sigma, d_sigma));
        if let Mechanism::Constant { sigma: id } = network.mechanism {
            self.flat[network.layout.range(id).start] = (0..d_sigma.rows()).map(|i| d_sigma.row(i)[0]).sum();
            return kl;
        }
        perturbation::through_sigma(network.mechanism, sigma, d_sigma);
        let Some(d_output) = self.d_module.last_mut() else { return kl };
        d_output.as_mut_slice().copy_from_slice(d_sigma.as_slice());
        for k in (1..network.module.len()).rev() {
            let (below, here) = self.d_module.split_at_mut(k);
            let heads = [Head { layer: &network.module[k], dy: &here[0], input_scale: None }];
            self.into_module[k].compute(params, &heads, &mut below[k - 1]);
            network.kernel.relu_backward(below[k - 1].as_mut_slice(), pass.module[k - 1].as_slice());
        }
        kl
    }
}

fn weight_noise<'a>(
    network: &'a Network,
    noise: &'a PassNoise,
    params: &'a [f32],
    sigma: Option<&'a Matrix>,
    k: usize,
    i: usize,
) -> WeightNoise<'a> {
    let before: usize = network.layers[..k].iter().map(|layer| layer.parameters()).sum();
    let weights = before..before + network.layers[k].parameters();
    let deviations = deviations(network.mechanism, params, sigma, i, k, weights);
    WeightNoise { kernel: network.kernel, noise, layer: &network.layers[k], index: k, example: i, deviations }
}
