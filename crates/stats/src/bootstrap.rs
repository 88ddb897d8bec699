//! Percentile intervals by bootstrap. For scores, seeds are resampled within each game and the games are kept
//! (stratified). For states of an episode, whole clusters are resampled, since neighbours in time are correlated.
//! [`shuffled`] gives the distribution of a statistic under chance alone.

use crate::{Scores, mean, percentile_interval, quantile};

/// Resamplings behind an interval of scores.
pub const RESAMPLINGS: usize = 10_000;

/// Resamplings and shufflings of states, and of the band of a profile.
pub(crate) const FEWER_RESAMPLINGS: usize = 2_000;

/// What share of the resampled values an interval covers.
pub const LEVEL: f64 = 0.95;

/// The shares at which the ends of an interval lie.
pub(crate) const TAILS: [f64; 2] = [(1.0 - LEVEL) / 2.0, 1.0 - (1.0 - LEVEL) / 2.0];

/// A number with its interval.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Estimate {
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
    Estimate { point, interval: Some(TAILS.map(|tail| quantile(&values, tail))) }
}

/// The statistic of each of [`RESAMPLINGS`] resamplings, sorted.
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

/// The mean of each of `resamplings` resamplings of `values`; `below(n)` draws an index below n.
pub fn resampled_means(values: &[f64], resamplings: usize, mut below: impl FnMut(usize) -> usize) -> Vec<f64> {
    let mut drawn = vec![0.0; values.len()];
    (0..resamplings)
        .map(|_| {
            drawn.fill_with(|| values[below(values.len())]);
            mean(&drawn)
        })
        .collect()
}

/// The estimate of `statistic`, which is given indices in the data, drawn cluster by cluster with replacement. None where
/// it has no value on the data themselves; no interval where there is one cluster only, or where fewer than nine tenths
/// of the resamplings have a value.
pub fn clustered_bootstrap(clusters: &[Vec<usize>], statistic: impl Fn(&[usize]) -> Option<f64>) -> Option<Estimate> {
    let all: Vec<usize> = clusters.concat();
    let point = statistic(&all)?;
    if clusters.len() < 2 {
        return Some(Estimate { point, interval: None });
    }
    let (mut draws, mut drawn) = (Draws::default(), Vec::with_capacity(all.len()));
    let values = (0..FEWER_RESAMPLINGS).filter_map(|_| {
        drawn.clear();
        for _ in clusters {
            drawn.extend_from_slice(&clusters[draws.below(clusters.len())]);
        }
        statistic(&drawn)
    });
    Some(Estimate { point, interval: interval(values.collect()) })
}

/// The distribution of `statistic` when it is given the indices below `count` in random order; none where fewer than nine
/// tenths of the shufflings have a value.
pub fn shuffled(count: usize, statistic: impl Fn(&[usize]) -> Option<f64>) -> Option<Null> {
    let (mut draws, mut indices) = (Draws::default(), (0..count).collect::<Vec<usize>>());
    let mut values: Vec<f64> = (0..FEWER_RESAMPLINGS)
        .filter_map(|_| {
            for i in (1..count).rev() {
                indices.swap(i, draws.below(i + 1));
            }
            statistic(&indices)
        })
        .collect();
    let range = interval(values.clone())?;
    values.sort_by(f64::total_cmp);
    Some(Null { median: quantile(&values, 0.5), range, values })
}

/// The distribution of a statistic under chance alone.
#[derive(Debug, Clone, PartialEq)]
pub struct Null {
    pub median: f64,
    /// The middle 95 % of the shufflings.
    pub range: [f64; 2],
    values: Vec<f64>,
}

impl Null {
    /// Share of shufflings at least as far from `centre` as `found` is, itself counted (Phipson and Smyth 2010).
    pub fn p_value(&self, found: f64, centre: f64) -> f64 {
        let as_far = self.values.iter().filter(|value| (found - centre).abs() <= (**value - centre).abs()).count();
        (1 + as_far) as f64 / (1 + self.values.len()) as f64
    }
}

fn interval(values: Vec<f64>) -> Option<[f64; 2]> {
    if values.len() * 10 < FEWER_RESAMPLINGS * 9 {
        return None;
    }
    Some(percentile_interval(values, TAILS))
}

/// Fills `drawn` with seeds of the same game, with replacement.
pub(crate) fn resample(agents: &[&Scores], drawn: &mut [Scores], draws: &mut Draws) {
    for (scores, drawn) in agents.iter().zip(drawn) {
        for (seeds, drawn) in scores.0.iter().zip(&mut drawn.0) {
            drawn.fill_with(|| seeds[draws.below(seeds.len())]);
        }
    }
}

/// Random indices, SplitMix64. Every interval starts from one fixed state: the same numbers give the same interval.
#[derive(Debug, Clone)]
pub(crate) struct Draws(u64);

impl Default for Draws {
    fn default() -> Self {
        Self(0x5a4e_e2ab_0071_57a9)
    }
}

impl Draws {
    fn below(&mut self, count: usize) -> usize {
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
    use super::*;
    use crate::{Aggregate, spearman};
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

    fn mean_of<'a>(values: &'a [f64]) -> impl Fn(&[usize]) -> Option<f64> + 'a {
        |indices| Some(mean(&indices.iter().map(|&i| values[i]).collect::<Vec<_>>()))
    }

    #[test]
    fn clusters_of_one_give_the_plain_bootstrap() {
        // 0, 1, …, 99: standard error of the mean 2.8866.
        let values: Vec<f64> = (0..100).map(f64::from).collect();
        let clusters: Vec<Vec<usize>> = (0..100).map(|i| vec![i]).collect();
        let estimate = clustered_bootstrap(&clusters, mean_of(&values)).unwrap();
        let [low, high] = estimate.interval.unwrap();
        assert_eq!(estimate.point, 49.5);
        assert!((low - (49.5 - 1.96 * 2.8866)).abs() < 0.4 && (high - (49.5 + 1.96 * 2.8866)).abs() < 0.4);
    }

    #[test]
    fn states_that_repeat_their_neighbours_do_not_make_the_interval_narrower() {
        // Ten values, each ten times in a row: as much evidence as ten values, not as a hundred.
        let values: Vec<f64> = (0..100).map(|i| f64::from(i / 10)).collect();
        let width = |length: usize| {
            let clusters: Vec<Vec<usize>> =
                (0..100).collect::<Vec<_>>().chunks(length).map(<[usize]>::to_vec).collect();
            let [low, high] = clustered_bootstrap(&clusters, mean_of(&values)).unwrap().interval.unwrap();
            high - low
        };
        // Standard deviation 2.872 of 0 … 9: 3.92 · 2.872 / √10 = 3.56 and a third of it.
        assert!((width(10) - 3.56).abs() < 0.3 && (width(1) - 1.126).abs() < 0.15, "{} {}", width(10), width(1));
    }

    #[test]
    fn one_cluster_has_a_point_only_and_no_value_has_nothing() {
        let estimate = clustered_bootstrap(&[vec![0, 1]], mean_of(&[1.0, 2.0])).unwrap();
        assert_eq!(estimate, Estimate { point: 1.5, interval: None });
        assert_eq!(clustered_bootstrap(&[vec![0], vec![1]], |_| None), None);
    }

    #[test]
    fn shuffled_rows_are_uncorrelated_within_the_known_spread() {
        // Without ties ρ of random orders has mean 0 and variance 1/(n − 1).
        let values: Vec<f64> = (0..101).map(f64::from).collect();
        let null = shuffled(101, |indices| spearman(&indices.iter().map(|&i| values[i]).collect::<Vec<_>>(), &values))
            .unwrap();
        assert!(
            null.median.abs() < 0.01 && (null.range[1] - 0.196).abs() < 0.02 && (null.range[0] + 0.196).abs() < 0.02
        );
        assert!(null.p_value(0.9, 0.0) < 0.001 && 0.3 < null.p_value(0.05, 0.0));
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
