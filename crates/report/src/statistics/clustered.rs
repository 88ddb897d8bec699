//! Intervals for states that came one after another: neighbours in time are alike, so whole stretches are drawn anew,
//! not single states. And what chance alone would give: the same numbers with one row shuffled.

use super::bootstrap::{Draws, LEVEL};
use super::{Estimate, quantile};

/// Resamplings and shufflings behind a number.
const RESAMPLINGS: usize = 2_000;

/// The estimate of `statistic`, which is given places in the data, drawn cluster by cluster with replacement. None where
/// it has no value on the data themselves; no interval where there is one cluster only, or where fewer than nine tenths
/// of the resamplings have a value.
pub fn clustered_bootstrap(clusters: &[Vec<usize>], statistic: impl Fn(&[usize]) -> Option<f64>) -> Option<Estimate> {
    let all: Vec<usize> = clusters.concat();
    let point = statistic(&all)?;
    if clusters.len() < 2 {
        return Some(Estimate { point, interval: None });
    }
    let (mut draws, mut drawn) = (Draws::default(), Vec::with_capacity(all.len()));
    let values = (0..RESAMPLINGS).filter_map(|_| {
        drawn.clear();
        for _ in clusters {
            drawn.extend_from_slice(&clusters[draws.below(clusters.len())]);
        }
        statistic(&drawn)
    });
    Some(Estimate { point, interval: interval(values.collect()) })
}

/// What `statistic` is worth when its places are dealt out at random: its middle and the range that holds 95 % of the
/// shufflings.
pub fn shuffled(count: usize, statistic: impl Fn(&[usize]) -> Option<f64>) -> Option<Null> {
    let (mut draws, mut places) = (Draws::default(), (0..count).collect::<Vec<usize>>());
    let mut values: Vec<f64> = (0..RESAMPLINGS)
        .filter_map(|_| {
            for i in (1..count).rev() {
                places.swap(i, draws.below(i + 1));
            }
            statistic(&places)
        })
        .collect();
    let range = interval(values.clone())?;
    values.sort_by(f64::total_cmp);
    Some(Null { median: quantile(&values, 0.5), range, values })
}

/// What chance alone gives.
#[derive(Debug, Clone, PartialEq)]
pub struct Null {
    /// Its middle.
    pub median: f64,
    /// Holds 95 % of the shufflings.
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

fn interval(mut values: Vec<f64>) -> Option<[f64; 2]> {
    if values.len() * 10 < RESAMPLINGS * 9 {
        return None;
    }
    values.sort_by(f64::total_cmp);
    let tail = (1.0 - LEVEL) / 2.0;
    Some([quantile(&values, tail), quantile(&values, 1.0 - tail)])
}

#[cfg(test)]
mod tests {
    use super::super::{mean, spearman};
    use super::*;

    fn mean_of<'a>(values: &'a [f64]) -> impl Fn(&[usize]) -> Option<f64> + 'a {
        |places| Some(mean(&places.iter().map(|&i| values[i]).collect::<Vec<_>>()))
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
        // Ten values, each met ten times in a row: as sure as ten values, not as a hundred.
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
        let null =
            shuffled(101, |places| spearman(&places.iter().map(|&i| values[i]).collect::<Vec<_>>(), &values)).unwrap();
        assert!(
            null.median.abs() < 0.01 && (null.range[1] - 0.196).abs() < 0.02 && (null.range[0] + 0.196).abs() < 0.02
        );
        assert!(null.p_value(0.9, 0.0) < 0.001 && 0.3 < null.p_value(0.05, 0.0));
    }
}
