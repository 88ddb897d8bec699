//! Percentile intervals by stratified bootstrap: seeds are drawn anew within each game, games stay as they are.

use super::{Scores, quantile};

/// Resamplings behind an interval.
pub const RESAMPLINGS: usize = 10_000;

/// What share of the resampled values an interval covers.
pub const LEVEL: f64 = 0.95;

/// A number and how sure it is.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Estimate {
    /// The number itself.
    pub point: f64,
    /// Its 95 % interval; none where a game has a single seed, since resampling one seed says nothing.
    pub interval: Option<[f64; 2]>,
}

/// The estimate of `statistic` on several agents' scores, each resampled on its own.
pub fn bootstrap(agents: &[&Scores], statistic: impl Fn(&[Scores]) -> f64) -> Estimate {
    let point = statistic(&agents.iter().map(|&scores| scores.clone()).collect::<Vec<_>>());
    if agents.iter().any(|scores| scores.fewest_seeds() < 2) {
        return Estimate { point, interval: None };
    }
    let values = resampled(agents, statistic);
    let tail = (1.0 - LEVEL) / 2.0;
    Estimate { point, interval: Some([quantile(&values, tail), quantile(&values, 1.0 - tail)]) }
}

/// The statistic of each of [`RESAMPLINGS`] resamplings, in order of size.
pub fn resampled(agents: &[&Scores], statistic: impl Fn(&[Scores]) -> f64) -> Vec<f64> {
    let mut drawn: Vec<Scores> = agents.iter().map(|&scores| scores.clone()).collect();
    let mut draws = Draws::default();
    let mut values: Vec<f64> = (0..RESAMPLINGS)
        .map(|_| {
            resample(agents, &mut drawn, &mut draws);
            statistic(&drawn)
        })
        .collect();
    values.sort_by(f64::total_cmp);
    values
}

/// Fills `drawn` with seeds of the same game, with replacement.
pub(super) fn resample(agents: &[&Scores], drawn: &mut [Scores], draws: &mut Draws) {
    for (scores, drawn) in agents.iter().zip(drawn) {
        for (seeds, drawn) in scores.0.iter().zip(&mut drawn.0) {
            drawn.fill_with(|| seeds[draws.below(seeds.len())]);
        }
    }
}

/// Random indices, SplitMix64. Every interval starts it anew from one fixed state: same numbers, same page.
#[derive(Debug, Clone)]
pub(super) struct Draws(u64);

impl Default for Draws {
    fn default() -> Self {
        Self(0x5a4e_e2ab_0071_57a9)
    }
}

impl Draws {
    pub(super) fn below(&mut self, count: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        // The high half of a 128-bit product is uniform up to count/2⁶⁴.
        ((u128::from(mixed) * count as u128) >> 64) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Aggregate, mean};
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_interval_of_two_seeds_has_the_exact_ends() {
        // The resampled mean of {0, 1} is 0, ½ or 1 with chances ¼, ½, ¼: both tails of 2.5 % lie on the ends.
        let scores = Scores(vec![vec![0.0, 1.0]]);
        let estimate = bootstrap(&[&scores], |drawn| Aggregate::Mean.of(&drawn[0]));
        assert_eq!(estimate, Estimate { point: 0.5, interval: Some([0.0, 1.0]) });
    }

    #[test]
    fn the_interval_of_many_seeds_is_about_two_standard_errors_each_way() {
        // 0, 1, …, 99: standard deviation of the population 28.866, standard error of the mean 2.8866.
        let scores = Scores(vec![(0..100).map(f64::from).collect()]);
        let estimate = bootstrap(&[&scores], |drawn| mean(&drawn[0].0[0]));
        let [low, high] = estimate.interval.unwrap();
        assert!((low - (49.5 - 1.96 * 2.8866)).abs() < 0.2 && (high - (49.5 + 1.96 * 2.8866)).abs() < 0.2);
    }

    #[test]
    fn a_single_seed_has_a_point_and_no_interval() {
        let scores = Scores(vec![vec![1.0, 2.0], vec![3.0]]);
        let estimate = bootstrap(&[&scores], |drawn| Aggregate::Mean.of(&drawn[0]));
        assert_eq!(estimate, Estimate { point: 2.25, interval: None });
    }

    proptest! {
        #[test]
        fn a_resample_takes_each_game_s_scores_from_that_game(
            games in prop::collection::vec(prop::collection::vec(-5.0_f64..5.0, 1..6), 1..6),
        ) {
            let scores = Scores(games.clone());
            let mut drawn = vec![scores.clone()];
            let mut draws = Draws::default();
            for _ in 0..20 {
                resample(&[&scores], &mut drawn, &mut draws);
                for (seeds, drawn) in games.iter().zip(&drawn[0].0) {
                    prop_assert_eq!(seeds.len(), drawn.len());
                    prop_assert!(drawn.iter().all(|score| seeds.contains(score)));
                }
            }
        }
    }
}
