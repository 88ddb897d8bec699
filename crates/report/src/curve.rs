//! Learning curves: the records of several seeds interpolated on one grid of interactions, their mean and range.

use crate::plot::SeriesPoint;
use crate::recorded_run::{Point, RecordedRun};

/// Points per curve: more than a figure resolves.
const GRID: u64 = 200;

/// A quantity over interactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    /// Mean return of the last 100 episodes.
    Return,
    /// Mean |σ| of the states acted in.
    Sigma,
    /// Share of interactions in which exploration changed the action.
    Exploration,
}

impl Quantity {
    pub const ALL: [Self; 3] = [Self::Return, Self::Sigma, Self::Exploration];

    /// Its value at a point.
    pub fn of(self, point: &Point) -> Option<f64> {
        match self {
            Self::Return => point.return_mean,
            Self::Sigma => point.sigma.map(|sigma| sigma.mean_abs),
            Self::Exploration => point.exploration,
        }
    }
}

/// Mean over the seeds, with the lowest and the highest of them as band. A point is complete if all seeds are in the mean;
/// no run is extrapolated beyond its records. `end` is the right end of the grid in interactions.
pub fn mean_curve(runs: &[RecordedRun], quantity: Quantity, end: u64) -> Vec<SeriesPoint> {
    let seeds: Vec<Vec<(f64, f64)>> = runs
        .iter()
        .map(|run| {
            let known = |point: &Point| Some((point.interactions as f64, quantity.of(point)?));
            run.points.iter().filter_map(known).collect::<Vec<_>>()
        })
        .filter(|points| !points.is_empty())
        .collect();
    mean_of_seeds(&seeds, runs.len(), end as f64)
}

/// As `mean_curve`, of curves given as points (x, y) in order of x; a point is complete if `all` of them are in the mean.
pub fn mean_of_seeds(seeds: &[Vec<(f64, f64)>], all: usize, end: f64) -> Vec<SeriesPoint> {
    (0..=GRID)
        .filter_map(|i| {
            let x = end * i as f64 / GRID as f64;
            let values: Vec<f64> = seeds.iter().filter_map(|points| value_at(points, x)).collect();
            if values.is_empty() {
                return None;
            }
            let y = values.iter().sum::<f64>() / values.len() as f64;
            let low = values.iter().copied().fold(f64::INFINITY, f64::min);
            let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let band = (1 < values.len()).then_some((low, high));
            Some(SeriesPoint { x, y, band, complete: values.len() == all })
        })
        .collect()
}

/// Linear interpolation between two records; none before the first and after the last.
fn value_at(points: &[(f64, f64)], x: f64) -> Option<f64> {
    let next = points.partition_point(|point| point.0 < x);
    let (x_next, y_next) = *points.get(next)?;
    if x_next == x {
        return Some(y_next);
    }
    let (x_last, y_last) = *points.get(next.checked_sub(1)?)?;
    Some(y_last + (y_next - y_last) * (x - x_last) / (x_next - x_last))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(points: &[(u64, f64)]) -> RecordedRun {
        let points = points
            .iter()
            .map(|&(interactions, value)| Point { interactions, return_mean: Some(value), ..Point::default() })
            .collect();
        RecordedRun { points, ..RecordedRun::default() }
    }

    #[test]
    fn the_mean_of_two_seeds_by_hand() {
        let curve = mean_curve(&[run(&[(0, 0.0), (200, 20.0)]), run(&[(0, 10.0), (100, 10.0)])], Quantity::Return, 200);
        let at = |x: f64| *curve.iter().find(|point| point.x == x).unwrap();
        assert_eq!(at(50.0), SeriesPoint { x: 50.0, y: 7.5, band: Some((5.0, 10.0)), complete: true });
        // The second seed ends at 100: from there the mean is of the first alone, and the point is incomplete.
        assert_eq!(at(150.0), SeriesPoint { x: 150.0, y: 15.0, band: None, complete: false });
        assert_eq!(curve.last().unwrap().x, 200.0);
    }

    #[test]
    fn nothing_is_drawn_before_the_first_record() {
        let curve = mean_curve(&[run(&[(100, 1.0), (200, 2.0)])], Quantity::Return, 200);
        assert_eq!((curve[0].x, curve[0].y), (100.0, 1.0));
        assert!(mean_curve(&[run(&[])], Quantity::Return, 200).is_empty());
    }
}
