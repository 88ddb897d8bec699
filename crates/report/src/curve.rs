//! Learning curves: the records of several seeds interpolated on one grid of interactions, their mean and range.

use crate::plot::SeriesPoint;
use crate::recorded_run::{Point, RecordedRun};
use sane_record::EvaluatedWhileTraining;
use sane_stats::{Scores, bootstrap, mean};

/// Points per curve: more than a figure resolves.
const GRID: u64 = 200;

/// A quantity over interactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quantity {
    /// Mean return of the last 100 episodes.
    Return,
    /// Mean return of the evaluations made while training.
    Evaluation,
    /// Mean |σ| of the states acted in.
    Sigma,
    /// Share of interactions in which exploration changed the action.
    Exploration,
}

impl Quantity {
    pub const ALL: [Self; 4] = [Self::Return, Self::Evaluation, Self::Sigma, Self::Exploration];

    /// What a run recorded of it: interactions and value.
    fn points(self, run: &RecordedRun) -> Vec<(f64, f64)> {
        let recorded = |of: fn(&Point) -> Option<f64>| {
            run.points.iter().filter_map(|point| Some((point.interactions as f64, of(point)?))).collect()
        };
        match self {
            Self::Return => recorded(|point| point.return_mean),
            Self::Evaluation => run.in_training.iter().map(|made| (made.interactions as f64, made.mean)).collect(),
            Self::Sigma => recorded(|point| point.sigma.map(|sigma| sigma.mean_abs)),
            Self::Exploration => recorded(|point| point.exploration),
        }
    }
}

/// Mean over the seeds, with the lowest and the highest of them as band. A point is complete if all seeds are in the mean;
/// no run is extrapolated beyond its records. `end` is the right end of the grid in interactions.
pub fn mean_curve(runs: &[RecordedRun], quantity: Quantity, end: u64) -> Vec<SeriesPoint> {
    if let ([run], Quantity::Evaluation) = (runs, quantity) {
        return run.in_training.iter().map(with_interval).collect();
    }
    let seeds: Vec<Vec<(f64, f64)>> =
        runs.iter().map(|run| quantity.points(run)).filter(|points| !points.is_empty()).collect();
    mean_of_seeds(&seeds, runs.len(), end as f64)
}

/// The evaluation of a single run, with the 95 % interval of its mean over episodes as band.
fn with_interval(made: &EvaluatedWhileTraining) -> SeriesPoint {
    let episodes = Scores(vec![made.returns.clone()]);
    let known = 1 < made.returns.len() && made.returns.iter().all(|value| value.is_finite());
    let interval = known.then(|| bootstrap(&[&episodes], |drawn| mean(&drawn[0].0[0])).interval).flatten();
    let band = interval.map(|[low, high]| (low, high));
    SeriesPoint { x: made.interactions as f64, y: made.mean, band, complete: true }
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
    fn an_evaluation_of_one_seed_has_the_interval_over_its_episodes_around_it() {
        let returns: Vec<f64> = (0..40).map(f64::from).collect();
        let made = EvaluatedWhileTraining { interactions: 100, episodes: 40, mean: 19.5, returns, best: true };
        let run = RecordedRun { in_training: vec![made], ..RecordedRun::default() };
        let [point] = mean_curve(&[run], Quantity::Evaluation, 200)[..] else { panic!("one point") };
        let (low, high) = point.band.unwrap();
        assert!(15.0 < low && low < 19.5 && 19.5 < high && high < 24.0, "{low} to {high}");
    }

    #[test]
    fn nothing_is_drawn_before_the_first_record() {
        let curve = mean_curve(&[run(&[(100, 1.0), (200, 2.0)])], Quantity::Return, 200);
        assert_eq!((curve[0].x, curve[0].y), (100.0, 1.0));
        assert!(mean_curve(&[run(&[])], Quantity::Return, 200).is_empty());
    }
}
