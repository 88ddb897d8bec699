//! Noise: one 64-bit draw of the caller's stream → ε for every (network, example, layer) of a pass, reproducible at any
//! thread count because each of them has a seed of its own.

use crate::behaviour::Thompson;
use crate::explorer::Setting;
use crate::rows::for_each_row;
use sane_nn::{Kernel, Matrix};
use serde::{Deserialize, Serialize};

/// Shape and sharing of the noise: settings of every agent that perturbs weights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Noise {
    pub form: NoiseForm,
    pub shared_by: NoiseSharing,
}

impl Noise {
    /// What its settings mean, by their keys, and how long a draw is acted on, which the agents that have noise also set.
    pub const SETTINGS: [Setting; 3] = [
        Setting { key: "noise.form", meaning: "noisy agents: factored (the paper's) or independent (slow)" },
        Setting {
            key: "noise.shared_by",
            meaning: "noisy agents: whether a batch shares one draw (batch) or not (example)",
        },
        Thompson::SETTING,
    ];

    /// Factored noise, one draw for the whole batch.
    pub fn per_batch() -> Self {
        Self { form: NoiseForm::Factored, shared_by: NoiseSharing::Batch }
    }
}

/// How the numbers of a layer's noise are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoiseForm {
    /// l + m draws per layer, ε_w their outer product after z.
    #[default]
    Factored,
    /// l·m + m draws per layer: the slow reference.
    Independent,
}

/// Which examples share a draw.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoiseSharing {
    /// None: every example of a batch has its own.
    #[default]
    Example,
    /// All examples of a batch.
    Batch,
}

/// Which pass the noise is for. Passes never share a draw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PassRole {
    /// The online network on s.
    Online = 1,
    /// The target network on s'.
    Target = 2,
    /// The online network on s', where double-Q lets it choose.
    Selector = 3,
    /// The online network when acting.
    Actor = 4,
}

/// Seed of what is drawn for one action when acting.
pub(crate) fn action_seed(draw: u64, action: usize) -> u64 {
    mix(mix(draw, PassRole::Actor as u64), action as u64)
}

/// 32 bits that belong to a transition, by its number, and a head.
pub(crate) fn mask_bits(transition: u64, head: usize) -> u32 {
    (mix(transition, head as u64) >> 32) as u32
}

/// Seed of piece `piece` of the noise that an optimiser's step adds to the parameters: apart from every pass of the same draw.
pub(crate) fn update_seed(draw: u64, piece: usize) -> u64 {
    const UPDATE: u64 = 5;
    mix(mix(draw, UPDATE), piece as u64)
}

/// The noise of one pass over a batch: factored (after z) or, as the slow reference, independent.
///
/// ```text
/// z(x) = sgn(x)·√|x|,  ε_w = z(ε̂_m) ⊗ z(ε̂_l),  ε_b = z(ε̂_m),  ε̂ ~ N(0, I)                [SANE:factored-noise]
/// ```
///
/// DEVIATION(z-of-negatives): the paper prints sgn(x)·√x, which has no value for half of all draws:
/// docs/deviations.md#z-of-negatives.
#[derive(Debug, Clone)]
pub struct PassNoise {
    kernel: Kernel,
    form: NoiseForm,
    sharing: NoiseSharing,
    /// How many different draws there are: one, or one per example.
    draws: usize,
    base_seed: u64,
    /// z(ε̂_l) of each layer, [draws, l]; factored noise only.
    z_in: Vec<Matrix>,
    /// z(ε̂_m) of each layer, [draws, m]; with independent noise the plain normal ε_b.
    z_out: Vec<Matrix>,
}

impl PassNoise {
    /// Noise of `batch` examples through layers with the given (columns of an input row, outputs).
    pub fn new(noise: Noise, kernel: Kernel, layers: &[(usize, usize)], batch: usize) -> Self {
        let draws = match noise.shared_by {
            NoiseSharing::Example => batch,
            NoiseSharing::Batch => 1,
        };
        let z_in = match noise.form {
            NoiseForm::Factored => layers.iter().map(|&(l, _)| Matrix::zeros(draws, l)).collect(),
            NoiseForm::Independent => Vec::new(),
        };
        let z_out = layers.iter().map(|&(_, m)| Matrix::zeros(draws, m)).collect();
        Self { kernel, form: noise.form, sharing: noise.shared_by, draws, base_seed: 0, z_in, z_out }
    }

    /// The same for another number of examples.
    pub fn for_batch(&self, batch: usize) -> Self {
        let draws = if self.is_shared() { 1 } else { batch };
        let resized = |side: &[Matrix]| side.iter().map(|z| Matrix::zeros(draws, z.cols())).collect();
        Self { draws, base_seed: 0, z_in: resized(&self.z_in), z_out: resized(&self.z_out), ..*self }
    }

    /// Draws all numbers of the pass.
    ///
    /// ```text
    /// sample ε, ε̂ ~ N(0, 1), for each example, for θᵖ and θ̂ᵖ apart                          [SANE:alg-sample-noise]
    /// ```
    pub fn draw(&mut self, draw: u64, role: PassRole) {
        self.base_seed = mix(draw, role as u64);
        let Self { kernel, form, base_seed, .. } = *self;
        for (layer, z_in) in self.z_in.iter_mut().enumerate() {
            for_each_row(z_in, |example, row| kernel.fill_z(row, seed(base_seed, example, layer, Side::Input)));
        }
        for (layer, z_out) in self.z_out.iter_mut().enumerate() {
            for_each_row(z_out, |example, row| {
                let seed = seed(base_seed, example, layer, Side::Output);
                match form {
                    NoiseForm::Factored => kernel.fill_z(row, seed),
                    NoiseForm::Independent => kernel.fill_normal(row, seed),
                }
            });
        }
    }

    pub fn form(&self) -> NoiseForm {
        self.form
    }

    /// How many different draws there are: one, or one per example.
    pub fn draws(&self) -> usize {
        self.draws
    }

    /// Whether all examples have the same draw.
    pub fn is_shared(&self) -> bool {
        self.sharing == NoiseSharing::Batch
    }

    /// z(ε̂_l) of one layer for one example.
    pub fn z_in(&self, layer: usize, example: usize) -> &[f32] {
        self.z_in[layer].row(self.draw_of(example))
    }

    /// ε_b of one layer for one example; with factored noise z(ε̂_m).
    pub fn z_out(&self, layer: usize, example: usize) -> &[f32] {
        self.z_out[layer].row(self.draw_of(example))
    }

    /// Row `output` of ε_w of one layer for one example, written out.
    pub fn weight_row(&self, layer: usize, example: usize, output: usize, row: &mut [f32]) {
        match self.form {
            NoiseForm::Factored => {
                row.copy_from_slice(self.z_in(layer, example));
                self.kernel.scale(row, self.z_out(layer, example)[output]);
            }
            NoiseForm::Independent => {
                let side = Side::Weights { output };
                self.kernel.fill_normal(row, seed(self.base_seed, self.draw_of(example), layer, side));
            }
        }
    }

    fn draw_of(&self, example: usize) -> usize {
        if self.is_shared() { 0 } else { example }
    }
}

/// Which vector of a layer a seed is for.
#[derive(Clone, Copy)]
enum Side {
    Input,
    Output,
    Weights { output: usize },
}

fn seed(base_seed: u64, example: usize, layer: usize, side: Side) -> u64 {
    let side = match side {
        Side::Input => 0,
        Side::Output => 1,
        Side::Weights { output } => 2 + output as u64,
    };
    mix(mix(mix(base_seed, example as u64), layer as u64), side)
}

/// A seed out of a seed and a number (SplitMix64's finaliser).
fn mix(seed: u64, number: u64) -> u64 {
    let z = seed.wrapping_add(number.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LAYERS: [(usize, usize); 2] = [(400, 30), (30, 7)];

    fn drawn(noise: Noise, batch: usize, draw: u64, role: PassRole) -> PassNoise {
        let mut pass = PassNoise::new(noise, Kernel::detect(), &LAYERS, 1).for_batch(batch);
        pass.draw(draw, role);
        pass
    }

    fn correlation(x: &[f32], y: &[f32]) -> f64 {
        let dot = |x: &[f32], y: &[f32]| x.iter().zip(y).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum::<f64>();
        dot(x, y) / (dot(x, x) * dot(y, y)).sqrt()
    }

    fn weights(pass: &PassNoise, layer: usize, example: usize) -> Vec<Vec<f32>> {
        let (l, m) = LAYERS[layer];
        let row = |output| {
            let mut row = vec![0.0; l];
            pass.weight_row(layer, example, output, &mut row);
            row
        };
        (0..m).map(row).collect()
    }

    #[test]
    fn z_is_the_signed_root_of_a_normal_number() {
        // E|z(x)|² = E|x| = √(2/π), E|z(x)|⁴ = E x² = 1, and signs are even.
        let mut z = vec![0.0_f32; 400_000];
        Kernel::detect().fill_z(&mut z, 7);
        let moment = |power: i32| z.iter().map(|&v| f64::from(v).powi(power)).sum::<f64>() / z.len() as f64;
        let expected = (2.0 / std::f64::consts::PI).sqrt();
        assert!(moment(1).abs() < 0.01, "mean {}", moment(1));
        assert!((moment(2) - expected).abs() < 0.01, "second moment {}", moment(2));
        assert!((moment(4) - 1.0).abs() < 0.02, "fourth moment {}", moment(4));
    }

    #[test]
    fn factored_noise_has_rank_one_and_independent_noise_has_not() {
        let determinant =
            |e: &[Vec<f32>]| f64::from(e[0][0]) * f64::from(e[1][1]) - f64::from(e[0][1]) * f64::from(e[1][0]);
        let factored = weights(&drawn(Noise::default(), 2, 3, PassRole::Online), 0, 1);
        for (j, i) in [(0, 0), (5, 9), (28, 398)] {
            let minor = |e: &[Vec<f32>]| vec![e[j][i..i + 2].to_vec(), e[j + 1][i..i + 2].to_vec()];
            assert!(determinant(&minor(&factored)).abs() < 1e-6);
        }
        let noise = Noise { form: NoiseForm::Independent, ..Noise::default() };
        let independent = weights(&drawn(noise, 2, 3, PassRole::Online), 0, 1);
        assert!(1e-3 < determinant(&independent).abs());
    }

    #[test]
    fn independent_weights_are_standard_normal() {
        let noise = Noise { form: NoiseForm::Independent, ..Noise::default() };
        let all: Vec<f32> = weights(&drawn(noise, 1, 4, PassRole::Online), 0, 0).concat();
        let moment = |power: i32| all.iter().map(|&v| f64::from(v).powi(power)).sum::<f64>() / all.len() as f64;
        assert!(moment(1).abs() < 0.03 && (moment(2) - 1.0).abs() < 0.04, "{} {}", moment(1), moment(2));
    }

    #[test]
    fn examples_layers_and_networks_draw_independently() {
        let online = drawn(Noise::default(), 4, 5, PassRole::Online);
        let target = drawn(Noise::default(), 4, 5, PassRole::Target);
        let later = drawn(Noise::default(), 4, 6, PassRole::Online);
        // 400 numbers: the correlation of independent ones has a deviation of 0.05.
        for (i, j) in [(0, 1), (1, 2), (2, 3), (0, 3)] {
            assert!(correlation(online.z_in(0, i), online.z_in(0, j)).abs() < 0.2);
        }
        for i in 0..4 {
            assert!(correlation(online.z_in(0, i), target.z_in(0, i)).abs() < 0.2);
            assert!(correlation(online.z_in(0, i), later.z_in(0, i)).abs() < 0.2);
            assert_ne!(online.z_out(0, i), online.z_in(1, i));
        }
    }

    #[test]
    fn a_shared_draw_is_the_same_for_all_examples_and_a_separate_one_is_not() {
        let shared = drawn(Noise::per_batch(), 3, 8, PassRole::Online);
        assert_eq!(shared.z_in(1, 0), shared.z_in(1, 2));
        let separate = drawn(Noise::default(), 3, 8, PassRole::Online);
        assert_ne!(separate.z_in(1, 0), separate.z_in(1, 2));
    }
}
