//! The summary of a list of returns: mean, deviation, median, and a bootstrap interval of the mean.

use sane_env::Stream;
use sane_stats::{mean, median, percentile_interval, resampled_means, sample_std};

/// Resamplings behind the interval; enough for a stable second digit of its ends.
const RESAMPLINGS: usize = 2_000;

/// The shares at which the ends of the interval lie. Written out: (1 − 0.95) / 2 is a different double and would change
/// the bits of recorded evaluations.
const TAILS: [f64; 2] = [0.025, 0.975];

/// The summary of some returns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Summary {
    pub mean: f64,
    /// Standard deviation (n − 1); 0 for a single value.
    pub std: f64,
    pub median: f64,
    /// 95 % interval of the mean, by bootstrap: no assumption on the distribution of the returns.
    pub interval_95: [f64; 2],
}

impl Summary {
    /// Of at least one value.
    pub fn of(values: &[f64]) -> Self {
        // One fixed stream: the same returns give the same interval.
        let mut stream = Stream::named(0, "bootstrap");
        let means = resampled_means(values, RESAMPLINGS, |count| stream.below(count as u64) as usize);
        Self {
            mean: mean(values),
            std: sample_std(values).unwrap_or(0.0),
            median: median(values),
            interval_95: percentile_interval(means, TAILS),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mean_deviation_and_median_of_small_lists() {
        let summary = Summary::of(&[1.0, 2.0, 6.0, 7.0]);
        assert_eq!((summary.mean, summary.median), (4.0, 4.0));
        assert!((summary.std - (26.0_f64 / 3.0).sqrt()).abs() < 1e-12);
        let single = Summary::of(&[5.0]);
        assert_eq!((single.mean, single.std, single.median, single.interval_95), (5.0, 0.0, 5.0, [5.0, 5.0]));
    }

    #[test]
    fn the_interval_of_a_normal_sample_is_about_two_standard_errors_each_way() {
        let mut stream = Stream::named(1, "test");
        let values: Vec<f64> = (0..400).map(|_| 10.0 + 2.0 * stream.normal()).collect();
        let Summary { mean, std, interval_95: [low, high], .. } = Summary::of(&values);
        let expected = 1.96 * std / 20.0;
        assert!((mean - low - expected).abs() < 0.15 * expected && (high - mean - expected).abs() < 0.15 * expected);
    }
}
