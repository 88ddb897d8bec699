//! What a list of returns says: mean, spread, median, and how sure the mean is.

use sane_env::Stream;

/// Resamplings behind the interval; enough for a steady second digit of its ends.
const RESAMPLINGS: usize = 2_000;

/// The summary of some returns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Summary {
    /// Mean.
    pub mean: f64,
    /// Standard deviation (n − 1); 0 for a single value.
    pub std: f64,
    /// Median.
    pub median: f64,
    /// 95 % interval of the mean, by bootstrap: no assumption on the shape of the returns.
    pub interval_95: [f64; 2],
}

impl Summary {
    /// Of at least one value.
    pub fn of(values: &[f64]) -> Self {
        assert!(!values.is_empty(), "of: a summary needs a value");
        let mean = mean_of(values.iter().copied(), values.len());
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let std = if values.len() < 2 { 0.0 } else { (squares / (values.len() - 1) as f64).sqrt() };
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        Self { mean, std, median: quantile(&sorted, 0.5), interval_95: bootstrap(values) }
    }
}

fn bootstrap(values: &[f64]) -> [f64; 2] {
    // One fixed stream: the same returns give the same interval.
    let mut stream = Stream::named(0, "bootstrap");
    let mut means: Vec<f64> = (0..RESAMPLINGS)
        .map(|_| {
            let draws = values.iter().map(|_| values[stream.below(values.len() as u64) as usize]);
            mean_of(draws, values.len())
        })
        .collect();
    means.sort_by(f64::total_cmp);
    [quantile(&means, 0.025), quantile(&means, 0.975)]
}

fn mean_of(values: impl Iterator<Item = f64>, count: usize) -> f64 {
    values.sum::<f64>() / count as f64
}

/// Linear interpolation between the two nearest of the sorted values.
fn quantile(sorted: &[f64], share: f64) -> f64 {
    let place = share * (sorted.len() - 1) as f64;
    let (low, high) = (sorted[place.floor() as usize], sorted[place.ceil() as usize]);
    low + (high - low) * place.fract()
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
