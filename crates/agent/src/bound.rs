//! The evidence lower bound with a chosen size of the noise: how heavy its KL term must be so that the noise of the action
//! values has the wanted standard deviation, and the running quantities that this weight follows.

use crate::AgentError;
use crate::config::in_range;
use crate::explorer::Setting;
use sane_nn::Matrix;
use serde::{Deserialize, Serialize};

/// How large the noise of the action values shall be: settings of every agent that keeps the KL term. The prior is N(0, I).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Bound {
    /// Wanted standard deviation of Q̃(s, a) − Q̄(s, a).
    pub q_noise: f32,
    pub q_noise_unit: QNoiseUnit,
    pub contraction: Contraction,
    /// With a contraction like a posterior's: transitions after which the noise has the wanted size.
    pub posterior_at: u32,
    /// Whether ½‖μ‖², the means' part of the KL, is minimised as well, as the bound has it.
    pub kl_of_means: bool,
}

impl Default for Bound {
    fn default() -> Self {
        Self {
            q_noise: 0.3,
            q_noise_unit: QNoiseUnit::Gap,
            contraction: Contraction::Constant,
            posterior_at: 50_000,
            // λ = 2v²/k₂ is about 1e-8: as a weight decay it does nothing but force every gradient to be stored. What gives σ
            // its meaning is the part of the deviations alone, and without ½‖μ‖² the means learn exactly as in a DQN.
            kl_of_means: false,
        }
    }
}

/// What the wanted noise is measured in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QNoiseUnit {
    /// The running median of the gap max Q̄(s, ·) − mean Q̄(s, ·), so that the setting means the same in every world.
    #[default]
    Gap,
    /// Action values as they are.
    Absolute,
}

/// What becomes of the noise as transitions are seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Contraction {
    /// It keeps its size.
    #[default]
    Constant,
    /// It shrinks as 1/√N, N the transitions seen so far: λ = 2σₑ²/N with σₑ² = v²·`posterior_at`/k₂.
    Posterior,
}

impl Bound {
    /// What its settings mean, by their keys.
    pub const SETTINGS: [Setting; 5] = [
        Setting { key: "q_noise", meaning: "elbo agents: wanted standard deviation of the noise of Q, above 0" },
        Setting {
            key: "q_noise_unit",
            meaning: "elbo agents: unit of q_noise: gap (running median of max Q − mean Q) or absolute",
        },
        Setting {
            key: "contraction",
            meaning: "elbo agents: whether the noise of Q is constant or shrinks with 1/√transitions (posterior)",
        },
        Setting {
            key: "posterior_at",
            meaning: "elbo agents, contraction = posterior: transitions after which the noise of Q is q_noise",
        },
        Setting {
            key: "kl_of_means", meaning: "elbo agents: whether ½‖μ‖² is part of the KL term: true, false"
        },
    ];

    /// Validates the ranges.
    pub(crate) fn check(&self) -> Result<(), AgentError> {
        let positive = f64::from(f32::MIN_POSITIVE)..f64::INFINITY;
        in_range("exploration.q_noise", self.q_noise.into(), positive, "a number above 0")?;
        in_range("exploration.posterior_at", self.posterior_at.into(), 1.0..f64::INFINITY, "a number of at least 1")
    }
}

/// How fast the running median follows the batches once it has seen many of them.
const FORGETTING: f32 = 1e-3;

/// The weight of the KL term and what it follows: the median gap between action values, and how many transitions were seen.
#[derive(Debug, Clone)]
pub(crate) struct BoundState {
    settings: Bound,
    /// Running mean of the batches' median gaps.
    gap: f32,
    batches: u32,
    transitions: u64,
    /// The gaps of a batch.
    gaps: Vec<f32>,
}

/// Numbers of a checkpoint that hold a [`BoundState`].
pub(crate) const BOUND_WORDS: usize = 4;

impl BoundState {
    pub fn new(settings: Bound) -> Self {
        Self { settings, gap: 0.0, batches: 0, transitions: 0, gaps: Vec::new() }
    }

    /// A transition was seen.
    pub fn add_transition(&mut self) {
        self.transitions += 1;
    }

    /// Q̄(s, ·) of a batch: moves the running median of the gap.
    ///
    /// The first batches are averaged evenly, later ones with a memory of a thousand batches.
    pub fn add_batch(&mut self, q_values: &Matrix) {
        self.gaps.clear();
        self.gaps.extend((0..q_values.rows()).map(|i| gap(q_values.row(i))));
        let middle = self.gaps.len() / 2;
        let (_, median, _) = self.gaps.select_nth_unstable_by(middle, f32::total_cmp);
        let median = *median;
        if median.is_finite() {
            self.batches = self.batches.saturating_add(1);
            self.gap += (median - self.gap) * (1.0 / self.batches as f32).max(FORGETTING);
        }
    }

    /// The running median of the gap; 0 before the first batch.
    pub fn gap(&self) -> f32 {
        self.gap
    }

    /// v: the wanted standard deviation of the noise of Q, now.
    pub fn q_noise(&self) -> f32 {
        let Bound { q_noise, q_noise_unit, contraction, posterior_at, .. } = self.settings;
        let wanted = match q_noise_unit {
            QNoiseUnit::Gap => q_noise * self.gap,
            QNoiseUnit::Absolute => q_noise,
        };
        match contraction {
            Contraction::Constant => wanted,
            Contraction::Posterior => wanted * (posterior_at as f32 / self.transitions.max(1) as f32).sqrt(),
        }
    }

    /// λ: the weight of the KL term against the squared TD error, for `perturbed` = k₂ perturbed parameters.
    ///
    /// ```text
    /// 2σV + λk₂(σ − 1/σ) = 0   ⇒   σ²V = λk₂/2 where 2V ≫ λk₂   ⇒   λ = 2v²/k₂ for a noise of size v
    /// ```
    pub fn kl_weight(&self, perturbed: usize) -> f32 {
        let v = self.q_noise();
        2.0 * v * v / perturbed as f32
    }

    pub fn stats(&self, perturbed: usize) -> BoundStats {
        BoundStats { kl_weight: self.kl_weight(perturbed), q_noise: self.q_noise(), gap: self.gap }
    }

    pub fn kl_of_means(&self) -> bool {
        self.settings.kl_of_means
    }

    /// What a checkpoint keeps.
    pub fn words(&self) -> [u32; BOUND_WORDS] {
        [self.gap.to_bits(), self.batches, self.transitions as u32, (self.transitions >> 32) as u32]
    }

    /// Restores what [`words`](Self::words) gave.
    pub fn restore(&mut self, words: [u32; BOUND_WORDS]) {
        let [gap, batches, low, high] = words;
        (self.gap, self.batches) = (f32::from_bits(gap), batches);
        self.transitions = u64::from(high) << 32 | u64::from(low);
    }
}

/// max Q̄(s, ·) − mean Q̄(s, ·)
pub(crate) fn gap(q_values: &[f32]) -> f32 {
    let largest = q_values.iter().fold(f32::NEG_INFINITY, |largest, q| largest.max(*q));
    largest - q_values.iter().sum::<f32>() / q_values.len() as f32
}

/// The running quantities of the bound in one learn step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BoundStats {
    /// λ, the weight of the KL term.
    pub kl_weight: f32,
    /// v, the wanted standard deviation of the noise of Q.
    pub q_noise: f32,
    /// Running median of max Q̄ − mean Q̄.
    pub gap: f32,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn q_values(rows: &[[f32; 2]]) -> Matrix {
        let mut matrix = Matrix::zeros(rows.len(), 2);
        rows.iter().enumerate().for_each(|(i, row)| matrix.row_mut(i).copy_from_slice(row));
        matrix
    }

    #[test]
    fn the_gap_is_the_best_action_value_above_the_mean() {
        assert_eq!(gap(&[1.0, 4.0, 1.0]), 2.0);
        assert_eq!(gap(&[-3.0]), 0.0);
    }

    #[test]
    fn the_weight_is_that_of_the_wanted_noise_in_units_of_the_median_gap() {
        let mut state = BoundState::new(Bound { q_noise: 0.5, ..Bound::default() });
        assert_eq!(state.kl_weight(10), 0.0);
        state.add_batch(&q_values(&[[0.0, 8.0], [2.0, 0.0], [5.0, 5.0]]));
        assert_eq!((state.gap, state.q_noise(), state.kl_weight(10)), (1.0, 0.5, 0.05));
        state.add_batch(&q_values(&[[0.0, 4.0], [4.0, 0.0], [9.0, 5.0]]));
        assert_eq!(state.gap, 1.5);
        let absolute = BoundState::new(Bound { q_noise_unit: QNoiseUnit::Absolute, ..Bound::default() });
        assert_eq!(absolute.q_noise(), 0.3);
    }

    #[test]
    fn a_posterior_contracts_with_the_root_of_the_transitions() {
        let settings = Bound {
            q_noise_unit: QNoiseUnit::Absolute,
            contraction: Contraction::Posterior,
            posterior_at: 100,
            q_noise: 2.0,
            ..Bound::default()
        };
        let mut state = BoundState::new(settings);
        (0..100).for_each(|_| state.add_transition());
        assert_eq!(state.q_noise(), 2.0);
        (0..300).for_each(|_| state.add_transition());
        assert_eq!(state.q_noise(), 1.0);
    }

    #[test]
    fn the_state_survives_a_checkpoint() {
        let mut state = BoundState::new(Bound::default());
        state.add_batch(&q_values(&[[0.0, 0.7]]));
        state.transitions = (5 << 32) + 3;
        let mut copy = BoundState::new(Bound::default());
        copy.restore(state.words());
        assert_eq!((copy.words(), copy.q_noise()), (state.words(), state.q_noise()));
    }

    #[test]
    fn noise_that_is_not_above_zero_is_refused() {
        for q_noise in [0.0, -1.0, f32::NAN, f32::INFINITY] {
            let text = Bound { q_noise, ..Bound::default() }.check().unwrap_err().to_string();
            assert!(text.starts_with("exploration.q_noise = "), "{text}");
        }
    }
}
