//! The difference of two interquartile means with an interval that holds for few seeds and, corrected, for repeated looks.
//!
//! A bootstrap of five seeds gives intervals that are too narrow to be looked at again and again; this one is Yuen's (1974):
//! the two-sample t interval of trimmed means, with winsorised variances and Welch's degrees of freedom.

use crate::{interquartile_mean, mean};

/// IQM(a) − IQM(b) and its interval.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct IqmDifference {
    pub point: f64,
    /// None where values differ and those that remain once the outermost are cut do not: their spread is not known.
    pub interval: Option<[f64; 2]>,
}

impl IqmDifference {
    /// Whether both ends of the interval are on the same side of 0.
    pub fn excludes_zero(&self) -> bool {
        self.interval.is_some_and(|[low, high]| 0.0 < low || high < 0.0)
    }
}

/// IQM(a) − IQM(b) with an interval that covers the true difference with probability `level`; neither with fewer than three
/// values on a side, which say nothing about their spread once the outermost are cut.
///
/// ```text
/// d = (n − 1)·s_w² / (h·(h − 1))          s_w² variance of the winsorised values, h values left after cutting ⌊n/4⌋ on each side
/// interval = point ± t_{1−(1−level)/2, ν}·√(d_a + d_b)          ν = (d_a + d_b)² / (d_a²/(h_a−1) + d_b²/(h_b−1))
/// ```
pub fn iqm_difference(a: &[f64], b: &[f64], level: f64) -> Option<IqmDifference> {
    assert!((0.0..1.0).contains(&level), "iqm_difference: level {level} is no probability");
    if a.len().min(b.len()) < 3 || a.iter().chain(b).any(|value| !value.is_finite()) {
        return None;
    }
    let point = interquartile_mean(a) - interquartile_mean(b);
    let [(d_a, free_a), (d_b, free_b)] = [a, b].map(squared_error);
    let total = d_a + d_b;
    if total <= 0.0 {
        let all_equal = |values: &[f64]| values.iter().all(|value| *value == values[0]);
        return Some(IqmDifference { point, interval: (all_equal(a) && all_equal(b)).then_some([point, point]) });
    }
    let freedom = total * total / (d_a * d_a / free_a + d_b * d_b / free_b);
    let margin = student_quantile((1.0 - level) / 2.0, freedom) * total.sqrt();
    Some(IqmDifference { point, interval: Some([point - margin, point + margin]) })
}

/// Squared standard error of an interquartile mean, and its degrees of freedom.
fn squared_error(values: &[f64]) -> (f64, f64) {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (n, cut) = (sorted.len(), sorted.len() / 4);
    let (low, high) = (sorted[cut], sorted[n - 1 - cut]);
    let winsorised: Vec<f64> = sorted.iter().map(|value| value.clamp(low, high)).collect();
    let centre = mean(&winsorised);
    let squares: f64 = winsorised.iter().map(|value| (value - centre).powi(2)).sum();
    let left = (n - 2 * cut) as f64;
    (squares / (left * (left - 1.0)), left - 1.0)
}

/// The value that Student's t with this many degrees of freedom exceeds with probability `tail` < ½.
///
/// With value = √ν·tan φ the density becomes cos(φ)^(ν−1) up to its norm: smooth on a bounded interval, so that Simpson's rule
/// on a few points is exact to seven digits. φ is found by bisection.
fn student_quantile(tail: f64, freedom: f64) -> f64 {
    let end = std::f64::consts::FRAC_PI_2;
    let area_above = |from: f64| {
        const PIECES: usize = 64;
        let width = (end - from) / PIECES as f64;
        let density = |i: usize| (from + width * i as f64).cos().max(0.0).powf(freedom - 1.0);
        let weight = |i: usize| if i == 0 || i == PIECES { 1.0 } else { [2.0, 4.0][i % 2] };
        (0..=PIECES).map(|i| weight(i) * density(i)).sum::<f64>() * width / 3.0
    };
    let wanted = 2.0 * tail * area_above(0.0);
    let (mut low, mut high) = (0.0, end);
    for _ in 0..40 {
        let middle = (low + high) / 2.0;
        if wanted < area_above(middle) { low = middle } else { high = middle }
    }
    freedom.sqrt() * low.tan()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_equal_the_tables_of_students_distribution() {
        for (tail, freedom, published) in
            [(0.025, 4.0, 2.776), (0.025, 10.0, 2.228), (0.005, 2.0, 9.925), (0.05, 30.0, 1.697), (0.025, 2.0, 4.303)]
        {
            let found = student_quantile(tail, freedom);
            assert!((found - published).abs() < 6e-4, "t({tail}, {freedom}) = {found}");
        }
    }

    #[test]
    fn an_interval_by_hand() {
        // Cut to {2, 3, 4}, winsorised to {2, 2, 3, 4, 4}: squares 4, so d = 4/(3·2) on both sides, and ν = 4.
        let a = [1.0, 2.0, 3.0, 4.0, 50.0];
        let b = a.map(|value| value + 10.0);
        let found = iqm_difference(&b, &a, 0.95).unwrap();
        assert!((found.point - 10.0).abs() < 1e-12);
        let margin = 2.776_445 * (4.0 / 3.0_f64).sqrt();
        assert!((found.interval.unwrap()[1] - 10.0 - margin).abs() < 1e-5, "{found:?}");
        assert!(found.excludes_zero() && !iqm_difference(&a, &a, 0.95).unwrap().excludes_zero());
    }

    #[test]
    fn too_few_or_broken_values_have_no_interval() {
        assert_eq!(iqm_difference(&[1.0, 2.0], &[1.0, 2.0, 3.0], 0.95), None);
        assert_eq!(iqm_difference(&[1.0, 2.0, f64::NAN], &[1.0, 2.0, 3.0], 0.95), None);
        let equal = iqm_difference(&[2.0; 5], &[1.0; 5], 0.95).unwrap();
        assert_eq!((equal.point, equal.interval, equal.excludes_zero()), (1.0, Some([1.0, 1.0]), true));
    }

    #[test]
    fn values_that_differ_and_show_no_spread_once_cut_have_no_interval() {
        // Four of five seeds solve a world with one agent, one of five with the other.
        let found = iqm_difference(&[1.0, 1.0, 1.0, 1.0, 0.0], &[0.0, 0.0, 0.0, 0.0, 1.0], 0.95).unwrap();
        assert_eq!((found.interval, found.excludes_zero()), (None, false));
        assert!((found.point - 1.0).abs() < 1e-12, "{found:?}");
    }
}
