//! The evidence lower bound with a chosen size of the noise: how heavy its KL term must be so that the noise of the action
//! values has the wanted standard deviation, and the running quantities that this weight follows.

use crate::AgentError;
use crate::config::{SMALLEST_NOISE, check_noise_size, in_range};
use crate::explorer::Setting;
use crate::share::ShareNoise;
use sane_nn::Matrix;
use serde::{Deserialize, Serialize};

/// How large the noise of the action values shall be: settings of every agent that keeps the KL term. The prior is N(0, I).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Bound {
    /// Wanted standard deviation of Q̃(s, a) − Q̄(s, a), or the share of actions that it shall change.
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
    /// The running median of the gap max Q̄(s, ·) − mean Q̄(s, ·), so that the setting does not depend on the size of rewards.
    #[default]
    Gap,
    /// The share of actions that it changes, so that the setting does not depend on the number of actions either.
    Share,
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
        Setting {
            key: "q_noise",
            meaning: "elbo agents: wanted standard deviation of the noise of Q, from 1e-6 to 1e6; a share of actions is below 1",
        },
        Setting {
            key: "q_noise_unit",
            meaning: "elbo agents: unit of q_noise: gap (running median of max Q − mean Q), share (of actions that the noise \
                      changes) or absolute",
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

    /// Validates the ranges. With noise of the smallest size λ is still not 0, also where it contracts.
    pub(crate) fn check(&self) -> Result<(), AgentError> {
        let (key, share) = ("exploration.q_noise", f64::from(SMALLEST_NOISE)..1.0);
        match self.q_noise_unit {
            QNoiseUnit::Share => {
                in_range(key, self.q_noise.into(), share, "a share of actions of at least 1e-6 and below 1")?;
            }
            QNoiseUnit::Gap | QNoiseUnit::Absolute => check_noise_size(key, self.q_noise)?,
        }
        in_range("exploration.posterior_at", self.posterior_at.into(), 1.0..f64::INFINITY, "a number of at least 1")
    }

    /// Refuses a share of actions that noise cannot change: however large it is, each of the actions is as likely the one of the
    /// largest noise, and the greedy action stays with a probability of 1/A. No size of noise would be the wanted one.
    pub(crate) fn check_for(&self, actions: usize) -> Result<(), AgentError> {
        let is_possible =
            self.q_noise_unit != QNoiseUnit::Share || f64::from(self.q_noise) < 1.0 - 1.0 / actions as f64;
        if is_possible { Ok(()) } else { Err(AgentError::ShareOfActions { share: self.q_noise, actions }) }
    }
}

/// How far a running number follows the `batches`-th batch: the first ones are averaged evenly, later ones with a memory of a
/// thousand.
pub(crate) fn following(batches: u32) -> f32 {
    const FORGETTING: f32 = 1e-3;
    (1.0 / batches as f32).max(FORGETTING)
}

/// The weight of the KL term and what it follows: the median gap between action values or the noise that changes a share of
/// the actions, and how many transitions were seen.
#[derive(Debug, Clone)]
pub(crate) struct BoundState {
    settings: Bound,
    /// Running mean of the batches' median gaps.
    gap: f32,
    batches: u32,
    transitions: u64,
    /// The gaps of a batch.
    gaps: Vec<f32>,
    /// Where `q_noise` is a share of actions: the noise that changes it.
    share: Option<ShareNoise>,
}

impl BoundState {
    pub fn new(settings: Bound) -> Self {
        let share = (settings.q_noise_unit == QNoiseUnit::Share).then(|| ShareNoise::new(settings.q_noise));
        Self { settings, gap: 0.0, batches: 0, transitions: 0, gaps: Vec::new(), share }
    }

    /// A transition was seen.
    pub fn add_transition(&mut self) {
        self.transitions += 1;
    }

    /// Q̄(s, ·) and Q̃(s, ·) of a batch, and f² of its i-th state, which multiplies the weight of its KL: moves the running
    /// median of the gap, and the noise that changes a share of actions. Of an even number of gaps the upper one of the two in
    /// the middle counts as their median.
    pub fn add_batch(&mut self, plain: &Matrix, noisy: &Matrix, kl_scale: impl Fn(usize) -> f64) {
        if let Some(share) = &mut self.share {
            share.add_batch(plain, noisy, kl_scale);
        }
        self.gaps.clear();
        self.gaps.extend((0..plain.rows()).map(|i| gap(plain.row(i))));
        let middle = self.gaps.len() / 2;
        let (_, median, _) = self.gaps.select_nth_unstable_by(middle, f32::total_cmp);
        let median = *median;
        if median.is_finite() {
            self.batches = self.batches.saturating_add(1);
            self.gap += (median - self.gap) * following(self.batches);
        }
    }

    /// The running median of the gap; 0 before the first batch.
    pub fn gap(&self) -> f32 {
        self.gap
    }

    /// v: the wanted standard deviation of the noise of Q, now.
    pub fn q_noise(&self) -> f32 {
        let Bound { q_noise, q_noise_unit, contraction, posterior_at, .. } = self.settings;
        let wanted = match (&self.share, q_noise_unit) {
            (Some(share), _) => share.size(),
            (None, QNoiseUnit::Gap) => q_noise * self.gap,
            (None, _) => q_noise,
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

    /// Its running numbers, and the weight that follows from them: all of them are finite in an agent that can be used.
    pub fn numbers(&self, perturbed: usize) -> [f32; 3] {
        [self.gap, self.q_noise(), self.kl_weight(perturbed)]
    }

    /// What a checkpoint keeps.
    pub fn words(&self) -> impl Iterator<Item = u32> {
        let always = [self.gap.to_bits(), self.batches, self.transitions as u32, (self.transitions >> 32) as u32];
        always.into_iter().chain(self.share.iter().flat_map(ShareNoise::words))
    }

    /// Whether these can be what [`words`](Self::words) gave; more may follow it.
    pub fn is_valid(&self, words: &[u32]) -> bool {
        let mut restored = self.clone();
        restored.restore(words);
        let sizes = [Some(restored.gap), restored.share.as_ref().map(ShareNoise::size)];
        sizes.into_iter().flatten().all(|size| size.is_finite() && 0.0 <= size)
    }

    /// Restores what [`words`](Self::words) gave; more may follow it.
    pub fn restore(&mut self, words: &[u32]) {
        let Some(([gap, batches, low, high], rest)) = words.split_first_chunk() else { return };
        (self.gap, self.batches) = (f32::from_bits(*gap), *batches);
        self.transitions = u64::from(*high) << 32 | u64::from(*low);
        if let (Some(share), Some(words)) = (&mut self.share, rest.first_chunk()) {
            share.restore(*words);
        }
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

    /// A batch whose noise is not looked at.
    fn add(state: &mut BoundState, rows: &[[f32; 2]]) {
        let q_values = q_values(rows);
        state.add_batch(&q_values, &q_values, |_| 1.0);
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
        add(&mut state, &[[0.0, 8.0], [2.0, 0.0], [5.0, 5.0]]);
        assert_eq!((state.gap, state.q_noise(), state.kl_weight(10)), (1.0, 0.5, 0.05));
        add(&mut state, &[[0.0, 4.0], [4.0, 0.0], [9.0, 5.0]]);
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
        add(&mut state, &[[0.0, 0.7]]);
        state.transitions = (5 << 32) + 3;
        let mut copy = BoundState::new(Bound::default());
        copy.restore(&state.words().collect::<Vec<u32>>());
        assert!(copy.words().eq(state.words()));
        assert_eq!(copy.q_noise(), state.q_noise());
    }

    #[test]
    fn noise_that_changes_a_share_of_actions_survives_a_checkpoint_and_contracts() {
        let settings = Bound { q_noise: 0.2, q_noise_unit: QNoiseUnit::Share, ..Bound::default() };
        let mut state = BoundState::new(settings);
        assert_eq!(state.q_noise(), 0.0);
        let plain = q_values(&[[0.0, 0.7], [1.0, 0.0], [0.2, 0.1]]);
        state.add_batch(&plain, &q_values(&[[0.1, 0.6], [0.5, 0.3], [0.3, 0.5]]), |_| 1.0);
        assert!(0.0 < state.q_noise());
        let mut words: Vec<u32> = state.words().collect();
        words.push(9);
        let mut copy = BoundState::new(settings);
        copy.restore(&words);
        assert!(copy.words().eq(state.words()));
        assert_eq!(copy.q_noise(), state.q_noise());
        let contracting = Bound { contraction: Contraction::Posterior, posterior_at: 100, ..settings };
        let mut contracted = BoundState::new(contracting);
        contracted.restore(&words);
        contracted.transitions = 400;
        assert_eq!(contracted.q_noise(), 0.5 * state.q_noise());
    }

    #[test]
    fn a_share_of_actions_that_no_noise_changes_is_refused() {
        let check =
            |q_noise, q_noise_unit, actions| Bound { q_noise, q_noise_unit, ..Bound::default() }.check_for(actions);
        for (share, actions) in [(0.49, 2), (0.66, 3), (0.94, 18)] {
            assert_eq!(check(share, QNoiseUnit::Share, actions), Ok(()));
        }
        for (share, actions) in [(0.1, 1), (0.5, 2), (0.67, 3), (0.95, 18)] {
            let text = check(share, QNoiseUnit::Share, actions).unwrap_err().to_string();
            assert!(
                text.starts_with(&format!("exploration.q_noise = {share} is not possible with {actions} actions")),
                "{text}"
            );
            assert_eq!(check(share, QNoiseUnit::Gap, actions), Ok(()));
        }
    }

    #[test]
    fn no_noise_that_may_be_set_gives_the_kl_term_a_weight_of_zero_or_infinity() {
        let weight = |settings: Bound, transitions| {
            assert_eq!(settings.check(), Ok(()));
            let mut state = BoundState::new(settings);
            add(&mut state, &[[0.0, 2.0]]);
            state.transitions = transitions;
            state.kl_weight(crate::network::MOST_PARAMETERS)
        };
        for q_noise_unit in [QNoiseUnit::Gap, QNoiseUnit::Absolute] {
            for contraction in [Contraction::Constant, Contraction::Posterior] {
                let bound = Bound { q_noise_unit, contraction, ..Bound::default() };
                let smallest = weight(Bound { q_noise: 1e-6, posterior_at: 1, ..bound }, 1 << 40);
                let largest = weight(Bound { q_noise: 1e6, posterior_at: u32::MAX, ..bound }, 1);
                assert!(smallest.is_normal() && largest.is_normal(), "{bound:?}: {smallest} {largest}");
            }
        }
    }

    #[test]
    fn a_size_of_noise_out_of_range_is_refused() {
        for q_noise in [0.0, -1.0, 1e-25, 9e-7, 1.1e6, f32::NAN, f32::INFINITY] {
            let text = Bound { q_noise, ..Bound::default() }.check().unwrap_err().to_string();
            assert!(text.starts_with("exploration.q_noise = ") && text.ends_with("from 1e-6 to 1e6"), "{text}");
        }
        for q_noise in [0.0, 1e-25, 1.0, 3.0, f32::NAN] {
            let text =
                Bound { q_noise, q_noise_unit: QNoiseUnit::Share, ..Bound::default() }.check().unwrap_err().to_string();
            assert!(text.contains("a share of actions of at least 1e-6 and below 1"), "{text}");
        }
    }
}
