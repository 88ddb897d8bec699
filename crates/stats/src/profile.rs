//! Performance profiles: for each threshold τ, the share of runs that score above it.

use crate::bootstrap::{Draws, FEWER_RESAMPLINGS, TAILS, resample};
use crate::{Scores, percentile_interval};

/// The performance profile of one agent.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    /// Thresholds τ.
    pub thresholds: Vec<f64>,
    /// Share of runs above each threshold.
    pub share: Vec<f64>,
    /// Pointwise 95 % band, lower and upper; none where a game has a single seed.
    pub band: Option<(Vec<f64>, Vec<f64>)>,
}

/// ```text
/// share(τ) = (1/N) Σ_{g,s} [x[g,s] > τ]
/// ```
pub fn profile(scores: &Scores, thresholds: &[f64]) -> Profile {
    assert!(!scores.is_empty(), "profile: of no scores");
    let share = thresholds.iter().map(|&threshold| share_above(scores, threshold)).collect();
    let band = (1 < scores.fewest_seeds()).then(|| band(scores, thresholds));
    Profile { thresholds: thresholds.to_vec(), share, band }
}

fn band(scores: &Scores, thresholds: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let mut drawn = vec![scores.clone()];
    let mut draws = Draws::default();
    let mut values = vec![Vec::with_capacity(FEWER_RESAMPLINGS); thresholds.len()];
    for _ in 0..FEWER_RESAMPLINGS {
        resample(&[scores], &mut drawn, &mut draws);
        for (values, &threshold) in values.iter_mut().zip(thresholds) {
            values.push(share_above(&drawn[0], threshold));
        }
    }
    values.into_iter().map(|values| percentile_interval(values, TAILS)).map(|[low, high]| (low, high)).unzip()
}

fn share_above(scores: &Scores, threshold: f64) -> f64 {
    let runs: usize = scores.0.iter().map(Vec::len).sum();
    let above = scores.0.iter().flatten().filter(|&&score| threshold < score).count();
    above as f64 / runs as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_score_on_the_threshold_is_not_above_it() {
        let scores = Scores(vec![vec![0.0, 1.0], vec![1.0, 3.0]]);
        let found = profile(&scores, &[-1.0, 0.0, 0.5, 1.0, 3.0]);
        assert_eq!(found.share, [1.0, 0.75, 0.75, 0.25, 0.0]);
        let (low, high) = found.band.unwrap();
        assert!(low.iter().zip(&found.share).all(|(low, share)| low <= share));
        assert!(high.iter().zip(&found.share).all(|(high, share)| share <= high));
    }

    #[test]
    fn one_seed_gives_a_profile_without_a_band() {
        assert_eq!(profile(&Scores(vec![vec![0.5], vec![2.0]]), &[1.0]).band, None);
    }
}
