//! Mean, standard deviation and quantiles of a list of numbers.

/// Mean of at least one value.
pub fn mean(values: &[f64]) -> f64 {
    assert!(!values.is_empty(), "mean: of no values");
    values.iter().sum::<f64>() / values.len() as f64
}

/// Standard deviation with n − 1; none for fewer than two values.
pub fn sample_std(values: &[f64]) -> Option<f64> {
    if values.len() < 2 {
        return None;
    }
    let mean = mean(values);
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    Some((squares / (values.len() - 1) as f64).sqrt())
}

/// Median of at least one value.
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    quantile(&sorted, 0.5)
}

/// Linear interpolation between the two nearest of the sorted values; `share` 0 is the smallest, 1 the largest.
pub fn quantile(sorted: &[f64], share: f64) -> f64 {
    assert!(!sorted.is_empty(), "quantile: of no values");
    let position = share * (sorted.len() - 1) as f64;
    let (low, high) = (sorted[position.floor() as usize], sorted[position.ceil() as usize]);
    low + (high - low) * position.fract()
}

/// The quantiles of `values` at two shares: the ends of a percentile interval.
pub fn percentile_interval(mut values: Vec<f64>, shares: [f64; 2]) -> [f64; 2] {
    values.sort_by(f64::total_cmp);
    shares.map(|share| quantile(&values, share))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_standard_deviation_divides_by_one_less_than_the_count() {
        assert_eq!(sample_std(&[1.0, 2.0, 6.0, 7.0]), Some((26.0_f64 / 3.0).sqrt()));
        assert_eq!(sample_std(&[5.0]), None);
    }

    #[test]
    fn quantiles_lie_on_the_line_between_neighbours() {
        assert_eq!(quantile(&[0.0, 10.0, 20.0], 0.25), 5.0);
        assert_eq!((quantile(&[3.0], 0.975), median(&[4.0, 1.0, 2.0, 3.0])), (3.0, 2.5));
    }
}
