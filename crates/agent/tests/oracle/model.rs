//! The paper's agents written out literally in f64: convolutions as sums, perturbed weights really built, per example.

use super::number::Number;
use sane_agent::{AgentConfig, Exploration, ModuleActivation, Objective, QFeatures, SigmaForm};
use sane_env::{Element, EnvSpec};
use std::collections::BTreeMap;

/// Parameters by name, PyTorch's layout: shape and values.
pub type Params<N> = BTreeMap<String, (Vec<usize>, Vec<N>)>;

/// Noise of one network in one pass: name (`z_in1`, `z_out1`, or `eps_w1`, `eps_b1`) → numbers, and how many rows.
pub type PassNoise = BTreeMap<String, (usize, Vec<f64>)>;

/// An agent in a world.
pub struct Model<'a> {
    pub config: &'a AgentConfig,
    pub world: &'a EnvSpec,
}

/// What a pass gives for one state.
pub struct Values<N> {
    pub q: Vec<N>,
    /// One per network, per layer or per weight; empty without.
    pub sigma: Vec<N>,
}

/// What one pass may use beside the state.
#[derive(Clone, Copy)]
pub struct Extras<'a> {
    /// None: no perturbation at all.
    pub noise: Option<(&'a PassNoise, usize)>,
    /// log(1 + n(s)), if the module reads it.
    pub log_visits: Option<f64>,
    /// What the module's σ is multiplied by.
    pub sigma_scale: f64,
    pub q_features: QFeatures,
    /// Parameters behind the action values that σ reads, where they are not those of the pass: through these values nothing
    /// is derived, so finite differences must not see them move.
    pub frozen: Option<&'a Params<f64>>,
}

impl Model<'_> {
    /// Action values and σ of one state.
    pub fn values<N: Number>(&self, params: &Params<N>, state: &[u8], extras: Extras) -> Values<N> {
        let h = self.features("", params, state);
        if let Exploration::Bootstrapped(_) = self.config.exploration {
            return Values { q: self.heads(params, state, extras.frozen), sigma: Vec::new() };
        }
        let Some((noise, example)) = extras.noise else {
            return Values { q: self.head(params, &h, None), sigma: Vec::new() };
        };
        if noise.is_empty() {
            return Values { q: self.head(params, &h, None), sigma: Vec::new() };
        }
        if self.has_weight_deviations() {
            return Values { q: self.head(params, &h, Some((&[], noise, example))), sigma: Vec::new() };
        }
        let q: Vec<f64> = match extras.frozen {
            Some(frozen) => self.q_seen(frozen, state, extras),
            None => self.q_seen(params, state, extras),
        };
        let q: Vec<N> = q.into_iter().map(N::constant).collect();
        let seen = self.features_seen(params, &h, state, extras);
        let mut sigma = self.sigma(params, &seen, &q, extras.log_visits);
        sigma.iter_mut().for_each(|sigma| *sigma = *sigma * N::constant(extras.sigma_scale));
        Values { q: self.head(params, &h, Some((&sigma, noise, example))), sigma }
    }

    /// h(s) as the module reads it: plain numbers where no gradient flows from σ into the features.
    fn features_seen<N: Number>(&self, params: &Params<N>, h: &[N], state: &[u8], extras: Extras) -> Vec<N> {
        if !self.config.exploration.module().is_some_and(|module| module.stop_gradient) {
            return h.to_vec();
        }
        let values: Vec<f64> = match extras.frozen {
            Some(frozen) => self.features("", frozen, state),
            None => self.features("", params, state).into_iter().map(Number::value).collect(),
        };
        values.into_iter().map(N::constant).collect()
    }

    /// Whether each weight has a deviation of its own.
    fn has_weight_deviations(&self) -> bool {
        matches!(self.config.exploration, Exploration::Noisynet(_) | Exploration::NoisynetElbo(_))
    }

    /// Q̄(s, ·)
    pub fn plain_values(&self, params: &Params<f64>, state: &[u8]) -> Vec<f64> {
        self.head(params, &self.features("", params, state), None)
    }

    /// max Q̄(s, ·) − mean Q̄(s, ·)
    pub fn gap(&self, params: &Params<f64>, state: &[u8]) -> f64 {
        let q = self.plain_values(params, state);
        q.iter().fold(f64::NEG_INFINITY, |best, q| best.max(*q)) - q.iter().sum::<f64>() / q.len() as f64
    }

    /// Every head's learned and fixed action values, added; nothing is derived through the fixed ones.
    fn heads<N: Number>(&self, params: &Params<N>, state: &[u8], frozen: Option<&Params<f64>>) -> Vec<N> {
        let learned = self.head(params, &self.features("", params, state), None);
        let fixed = frozen.map_or_else(|| self.prior(params, state), |frozen| self.prior(frozen, state));
        learned.into_iter().zip(fixed).map(|(f, p)| f + N::constant(p)).collect()
    }

    /// The fixed action values of every head.
    fn prior<N: Number>(&self, params: &Params<N>, state: &[u8]) -> Vec<f64> {
        let parameter = |name: &str| &params[&format!("prior.{name}")].1[..];
        let h = self.features("prior.", params, state);
        let hidden: Vec<N> = dense(parameter("fc1.weight"), parameter("fc1.bias"), &h);
        let hidden: Vec<N> = hidden.into_iter().map(Number::relu).collect();
        dense(parameter("fc2.weight"), parameter("fc2.bias"), &hidden).into_iter().map(Number::value).collect()
    }

    /// The action values that σ reads, as plain numbers.
    fn q_seen<N: Number>(&self, params: &Params<N>, state: &[u8], extras: Extras) -> Vec<f64> {
        let h = self.features("", params, state);
        let mut q = self.head(params, &h, None);
        if let (QFeatures::Noisy, Some((noise, example))) = (extras.q_features, extras.noise) {
            let sigma = self.sigma(params, &h, &q, extras.log_visits);
            q = self.head(params, &h, Some((&sigma, noise, example)));
        }
        q.iter().map(|q| q.value()).collect()
    }

    /// h(s): convolutions with ReLU, flattened channels first; their names begin with `prefix`.
    fn features<N: Number>(&self, prefix: &str, params: &Params<N>, state: &[u8]) -> Vec<N> {
        let frame = self.world.frame;
        let (mut c, mut h, mut w) = (self.world.state_channels(), frame.height, frame.width);
        let mut x: Vec<N> = match frame.element {
            Element::U8 { full_scale } => {
                state.iter().map(|&byte| N::constant(f64::from(byte) / f64::from(full_scale))).collect()
            }
            Element::F32 => state
                .chunks_exact(4)
                .map(|b| N::constant(f64::from(f32::from_le_bytes(b.try_into().unwrap()))))
                .collect(),
        };
        for (n, conv) in self.config.network.convolutions.iter().enumerate() {
            let (shape, weight) = &params[&format!("{prefix}conv{}.weight", n + 1)];
            let bias = params.get(&format!("{prefix}conv{}.bias", n + 1));
            let (k, s) = (conv.kernel, conv.stride);
            let (oh, ow) = ((h - k) / s + 1, (w - k) / s + 1);
            let mut y = Vec::new();
            for o in 0..shape[0] {
                for (oy, ox) in (0..oh).flat_map(|oy| (0..ow).map(move |ox| (oy, ox))) {
                    let mut sum = bias.map_or(N::constant(0.0), |(_, b)| b[o]);
                    for ci in 0..c {
                        for (ky, kx) in (0..k).flat_map(|ky| (0..k).map(move |kx| (ky, kx))) {
                            let pixel = x[(ci * h + oy * s + ky) * w + ox * s + kx];
                            sum = sum + weight[((o * c + ci) * k + ky) * k + kx] * pixel;
                        }
                    }
                    y.push(sum.relu());
                }
            }
            (x, c, h, w) = (y, shape[0], oh, ow);
        }
        x
    }

    /// The dense layers; with noise, w̃ = w + σ·ε is built for this one state.
    fn head<N: Number>(&self, params: &Params<N>, h: &[N], noise: Option<(&[N], &PassNoise, usize)>) -> Vec<N> {
        let layers = self.config.network.hidden.len() + 1;
        let (weight_name, bias_name) =
            if self.has_weight_deviations() { ("weight_mu", "bias_mu") } else { ("weight", "bias") };
        let mut x = h.to_vec();
        let mut weights_before = 0;
        for k in 1..=layers {
            let (shape, weight) = &params[&format!("fc{k}.{weight_name}")];
            let bias = &params[&format!("fc{k}.{bias_name}")].1;
            let (m, l) = (shape[0], shape[1]);
            let (mut weight, mut bias) = (weight.clone(), bias.clone());
            if let Some((sigma, noise, example)) = noise {
                let deviation = |place: usize, row: usize, column: Option<usize>| match &self.config.exploration {
                    Exploration::Noisynet(_) | Exploration::NoisynetElbo(_) => match column {
                        Some(i) => params[&format!("fc{k}.weight_sigma")].1[row * l + i],
                        None => params[&format!("fc{k}.bias_sigma")].1[row],
                    },
                    Exploration::SaneLayerwise(_) => sigma[k - 1],
                    Exploration::SaneWeightwise(_) => sigma[weights_before + place],
                    _ => sigma[0],
                };
                let epsilon = LayerNoise { noise, example, k, l, m };
                for (j, bias_j) in bias.iter_mut().enumerate() {
                    for i in 0..l {
                        let place = j * l + i;
                        weight[place] =
                            weight[place] + deviation(place, j, Some(i)) * N::constant(epsilon.of_weight(j, i));
                    }
                    *bias_j = *bias_j + deviation(m * l + j, j, None) * N::constant(epsilon.of_bias(j));
                }
            }
            x = dense(&weight, &bias, &x);
            if k < layers {
                x = x.into_iter().map(Number::relu).collect();
            }
            weights_before += m * l + m;
        }
        x
    }

    fn sigma<N: Number>(&self, params: &Params<N>, h: &[N], q: &[N], log_visits: Option<f64>) -> Vec<N> {
        if let Exploration::SaneFixed(fixed) = &self.config.exploration {
            return vec![N::constant(if fixed.learn_with_noise { f64::from(fixed.sigma) } else { 0.0 })];
        }
        let Some(module) = self.config.exploration.module() else {
            return match params.get("sigma_output") {
                Some((_, u)) => u.iter().map(|&u| positive(u)).collect(),
                None => params["sigma"].1.clone(),
            };
        };
        let mut x = h.to_vec();
        if self.config.exploration.reads_q_values() {
            x.extend(q);
        }
        x.extend(log_visits.map(N::constant));
        for k in 1..=module.hidden.len() + 1 {
            x = dense(&params[&format!("sigma{k}.weight")].1, &params[&format!("sigma{k}.bias")].1, &x);
            if k <= module.hidden.len() {
                x = x.into_iter().map(|x| activation(module.activation, x)).collect();
            }
        }
        match module.sigma {
            SigmaForm::Linear => x,
            SigmaForm::Positive => x.into_iter().map(positive).collect(),
            SigmaForm::Softplus => x.into_iter().map(|u| (u - N::constant(3.0)).softplus()).collect(),
        }
    }

    /// What the KL term adds to the loss, `wanted` being the size of the noise of Q that it shall keep and `kl_scales` what
    /// multiplies the weight of each state.
    pub fn penalty<N: Number>(&self, params: &Params<N>, sigmas: &[Vec<N>], wanted: f64, kl_scales: &[f64]) -> N {
        let half = N::constant(0.5);
        let kl = |s: N| half * s * s - s.ln_abs();
        let mean = |values: Vec<N>, over: f64| {
            values.into_iter().fold(N::constant(0.0), |sum, v| sum + v) * N::constant(1.0 / over)
        };
        let is_deviation = |name: &str| name.ends_with("_sigma");
        let is_single = |name: &str| name == "sigma" || name == "sigma_output";
        let square =
            params.iter().filter(|(name, _)| !is_deviation(name) && !is_single(name)).flat_map(|(_, (_, v))| v);
        let square = half * square.fold(N::constant(0.0), |sum, &v| sum + v * v);
        let weight_deviations: Vec<N> =
            params.iter().filter(|(name, _)| is_deviation(name)).flat_map(|(_, (_, v))| v.clone()).map(kl).collect();
        let perturbed: Vec<f64> = (1..=self.config.network.hidden.len() + 1)
            .filter_map(|k| params.get(&format!("fc{k}.weight")).or_else(|| params.get(&format!("fc{k}.weight_mu"))))
            .map(|(shape, _)| (shape[0] * shape[1] + shape[0]) as f64)
            .collect();
        let (kl_weight, of_means) = match (self.config.exploration.bound(), self.config.objective) {
            (Some(bound), _) => (Self::kl_weight(wanted, perturbed.iter().sum()), f64::from(bound.kl_of_means as u8)),
            (None, Objective::Elbo { kl_weight }) => (f64::from(kl_weight), 1.0),
            (None, _) => (0.0, 0.0),
        };
        match self.config.objective {
            Objective::TdError if self.config.exploration.bound().is_none() => N::constant(0.0),
            Objective::TdError | Objective::Elbo { .. } => {
                let share = |g: usize| match &self.config.exploration {
                    Exploration::SaneLayerwise(_) => perturbed[g],
                    Exploration::SaneWeightwise(_) => 1.0,
                    _ => perturbed.iter().sum(),
                };
                let mut total = N::constant(of_means) * square;
                for (sigma, kl_scale) in sigmas.iter().zip(kl_scales) {
                    for (g, &sigma_g) in sigma.iter().enumerate() {
                        let term = kl(sigma_g) - half;
                        total = total + N::constant(kl_scale * share(g) / sigmas.len() as f64) * term;
                    }
                }
                total = weight_deviations.iter().fold(total, |sum, &v| sum + v - half);
                N::constant(kl_weight) * total
            }
            Objective::Penalties { parameters, sigma } => {
                let all: Vec<N> = sigmas.iter().flatten().map(|&s| kl(s)).collect();
                let count = all.len().max(1) as f64;
                let mut total = N::constant(f64::from(parameters)) * square;
                total = total + N::constant(f64::from(sigma)) * mean(all, count);
                let count = weight_deviations.len().max(1) as f64;
                total + N::constant(f64::from(sigma)) * mean(weight_deviations, count)
            }
        }
    }
}

impl Model<'_> {
    /// λ = 2v²/k₂ for noise of size v.
    fn kl_weight(wanted: f64, perturbed: f64) -> f64 {
        2.0 * wanted.powi(2) / perturbed
    }
}

/// σ = 10⁻⁶ + softplus(u − 3)
fn positive<N: Number>(u: N) -> N {
    N::constant(1e-6) + (u - N::constant(3.0)).softplus()
}

fn activation<N: Number>(activation: ModuleActivation, x: N) -> N {
    match activation {
        ModuleActivation::Relu => x.relu(),
        ModuleActivation::LeakyRelu => x.relu() - N::constant(0.01) * (N::constant(0.0) - x).relu(),
        ModuleActivation::Tanh => x.tanh(),
    }
}

/// ε of one layer for one example, from whatever was drawn.
struct LayerNoise<'a> {
    noise: &'a PassNoise,
    example: usize,
    k: usize,
    l: usize,
    m: usize,
}

impl LayerNoise<'_> {
    fn row(&self, name: &str, width: usize) -> Option<&[f64]> {
        let (rows, numbers) = self.noise.get(&format!("{name}{}", self.k))?;
        let row = if *rows == 1 { 0 } else { self.example };
        Some(&numbers[row * width..(row + 1) * width])
    }

    fn of_weight(&self, j: usize, i: usize) -> f64 {
        match self.row("eps_w", self.m * self.l) {
            Some(epsilon) => epsilon[j * self.l + i],
            None => self.row("z_out", self.m).unwrap()[j] * self.row("z_in", self.l).unwrap()[i],
        }
    }

    fn of_bias(&self, j: usize) -> f64 {
        self.row("eps_b", self.m).or_else(|| self.row("z_out", self.m)).unwrap()[j]
    }
}

fn dense<N: Number>(weight: &[N], bias: &[N], x: &[N]) -> Vec<N> {
    let row = |j: usize| x.iter().zip(&weight[j * x.len()..]).fold(bias[j], |sum, (&x_i, &w)| sum + w * x_i);
    (0..bias.len()).map(row).collect()
}
