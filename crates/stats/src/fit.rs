//! A straight line through points, and how much of the values a line or a prediction explains.

use crate::mean;

/// y ≈ intercept + slope·x, by least squares.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct LinearFit {
    pub slope: f64,
    pub intercept: f64,
    /// Share of the variance of y that the line explains.
    pub r_squared: f64,
}

/// The line through these points; none where x or y is the same in all of them.
pub fn linear_fit(x: &[f64], y: &[f64]) -> Option<LinearFit> {
    assert_eq!(x.len(), y.len(), "linear_fit: lists of {} and {} values", x.len(), y.len());
    if x.is_empty() || is_constant(x) {
        return None;
    }
    let (mean_x, mean_y) = (mean(x), mean(y));
    let squares: f64 = x.iter().map(|x| (x - mean_x).powi(2)).sum();
    let products: f64 = x.iter().zip(y).map(|(x, y)| (x - mean_x) * (y - mean_y)).sum();
    let slope = products / squares;
    let intercept = mean_y - slope * mean_x;
    let predicted: Vec<f64> = x.iter().map(|x| intercept + slope * x).collect();
    Some(LinearFit { slope, intercept, r_squared: explained(y, &predicted)? })
}

/// R²: 1 − Σ(y − predicted)²/Σ(y − mean)², for a prediction in which nothing was fitted; negative where the mean of y would
/// predict better. None where y is the same in all.
pub fn explained(y: &[f64], predicted: &[f64]) -> Option<f64> {
    assert_eq!(y.len(), predicted.len(), "explained: lists of {} and {} values", y.len(), predicted.len());
    if y.is_empty() || is_constant(y) {
        return None;
    }
    let mean_y = mean(y);
    let total: f64 = y.iter().map(|y| (y - mean_y).powi(2)).sum();
    let left: f64 = y.iter().zip(predicted).map(|(y, predicted)| (y - predicted).powi(2)).sum();
    Some(1.0 - left / total)
}

/// Up to rounding.
fn is_constant(values: &[f64]) -> bool {
    let largest = values.iter().fold(0.0_f64, |largest, value| largest.max(value.abs()));
    values.iter().all(|value| (value - values[0]).abs() <= 1e-12 * largest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_on_a_line_give_the_line() {
        let fit = linear_fit(&[0.0, 1.0, 4.0], &[3.0, 2.5, 1.0]).unwrap();
        assert!((fit.slope + 0.5).abs() < 1e-12 && (fit.intercept - 3.0).abs() < 1e-12);
        assert!((fit.r_squared - 1.0).abs() < 1e-12);
    }

    #[test]
    fn a_line_explains_what_is_not_scatter_around_it() {
        // Residuals ±1 around a slope of 2: of the variance 5 + 1 a sixth is left.
        let fit = linear_fit(&[0.0, 0.0, 2.0, 2.0], &[-1.0, 1.0, 3.0, 5.0]).unwrap();
        assert_eq!((fit.slope, fit.r_squared), (2.0, 1.0 - 4.0 / 20.0));
    }

    #[test]
    fn where_nothing_varies_there_is_no_line() {
        assert_eq!(linear_fit(&[1.0, 1.0], &[0.0, 1.0]), None);
        assert_eq!(linear_fit(&[0.0, 1.0], &[2.0, 2.0]), None);
        assert_eq!((linear_fit(&[], &[]), explained(&[], &[])), (None, None));
    }

    #[test]
    fn a_prediction_worse_than_the_mean_has_a_negative_share() {
        assert_eq!(explained(&[0.0, 2.0], &[2.0, 0.0]), Some(-3.0));
    }
}
