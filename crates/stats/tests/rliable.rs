//! These statistics against those of the package `rliable` on the same numbers; recipe in
//! `golden/report/make_rliable.py`.

use sane_stats::{Aggregate, Scores, probability_of_improvement, profile, quantile, resampled};
use serde_json::Value;

/// Aggregates in the order of [`Aggregate::ALL`], by rliable's names.
const NAMES: [&str; 4] = ["iqm", "median", "mean", "optimality_gap"];

fn golden() -> Value {
    serde_json::from_str(include_str!("../../../golden/report/rliable.json")).unwrap()
}

fn numbers(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|number| number.as_f64().unwrap()).collect()
}

/// rliable's rows are runs; here rows are games.
fn scores(value: &Value) -> Scores {
    let runs: Vec<Vec<f64>> = value.as_array().unwrap().iter().map(numbers).collect();
    Scores((0..runs[0].len()).map(|game| runs.iter().map(|run| run[game]).collect()).collect())
}

fn check_every_case(mut check: impl FnMut(&str, &Value)) {
    let golden = golden();
    let cases = golden["cases"].as_object().unwrap();
    assert_eq!(cases.len(), 3);
    cases.iter().for_each(|(name, case)| check(name, case));
}

/// Two bootstraps of the same numbers differ by chance only. Resampled values come in lumps where there are few seeds,
/// so the ends are held against each other by rank: rliable's lie where ours would, were the level off by half a
/// percent.
fn check_interval(what: &str, resampled: &[f64], expected: &Value) {
    for (end, share) in numbers(expected).into_iter().zip([0.025, 0.975]) {
        let (low, high) = (quantile(resampled, share - 0.005), quantile(resampled, share + 0.005));
        let rounding = 1e-9;
        assert!(low - rounding <= end && end <= high + rounding, "{what}: rliable {end}, ours from {low} to {high}");
    }
}

#[test]
fn the_aggregates_equal_those_of_rliable() {
    check_every_case(|name, case| {
        for agent in ["a", "b"] {
            let scores = scores(&case["scores"][agent]);
            for (aggregate, rliable_name) in Aggregate::ALL.into_iter().zip(NAMES) {
                let expected = &case["aggregates"][agent][rliable_name];
                let what = format!("{name} {agent} {rliable_name}");
                let found = aggregate.of(&scores);
                let point = expected["point"].as_f64().unwrap();
                assert!((found - point).abs() < 1e-12 * point.abs().max(1.0), "{what}: {found}, rliable {point}");
                check_interval(&what, &resampled(&[&scores], |drawn| aggregate.of(&drawn[0])), &expected["interval"]);
            }
        }
    });
}

#[test]
fn the_profiles_equal_those_of_rliable() {
    check_every_case(|name, case| {
        let thresholds = numbers(&case["thresholds"]);
        for agent in ["a", "b"] {
            let found = profile(&scores(&case["scores"][agent]), &thresholds);
            let expected = &case["profiles"][agent];
            let (low, high) = found.band.unwrap();
            for i in 0..thresholds.len() {
                let what = format!("{name} {agent} above {}", thresholds[i]);
                let share = numbers(&expected["share"])[i];
                assert!((found.share[i] - share).abs() < 1e-12, "{what}: {} {share}", found.share[i]);
                // A share moves in steps of one run; an end of the interval may fall one step to either side.
                let step = 1.0 / scores(&case["scores"][agent]).0.concat().len() as f64 + 1e-9;
                for (found, ends) in [(low[i], "low"), (high[i], "high")] {
                    let expected = numbers(&expected[ends])[i];
                    assert!((found - expected).abs() <= step, "{what} {ends}: {found}, rliable {expected}");
                }
            }
        }
    });
}

#[test]
fn the_probability_of_improvement_equals_that_of_rliable() {
    check_every_case(|name, case| {
        let [a, b] = ["a", "b"].map(|agent| scores(&case["scores"][agent]));
        let expected = &case["improvement_of_a_over_b"];
        let found = probability_of_improvement(&a, &b);
        assert!((found - expected["point"].as_f64().unwrap()).abs() < 1e-12, "{name}");
        let draws = resampled(&[&a, &b], |drawn| probability_of_improvement(&drawn[0], &drawn[1]));
        check_interval(name, &draws, &expected["interval"]);
    });
}
