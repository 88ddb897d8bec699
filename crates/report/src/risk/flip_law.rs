//! The law of changed actions. Normal noise whose difference between the two best actions has the deviation std puts the second
//! above the best with the probability Φ(−gap/std). With two actions that is P(flip), the share of draws that change the action;
//! with more, a third action of nearly the same value changes it more often than this says. Nothing is fitted.

use sane_record::{AuditedState, RiskAudit};
use sane_stats::{LinearFit, explained, linear_fit, mean, normal_cdf};
use serde::Serialize;

/// P(flip) of a state.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FlipPoint {
    /// Φ(−gap/std).
    pub predicted: f64,
    /// Share of the draws that changed the action.
    pub measured: f64,
}

impl FlipPoint {
    /// None where no noise was drawn, or where it does not move the two best actions against each other.
    pub fn of(audited: &AuditedState) -> Option<Self> {
        let (gap, noise) = (audited.gap?, audited.noise?);
        (0.0 < gap.noise).then(|| Self { predicted: normal_cdf(-gap.q / gap.noise), measured: noise.changed_share })
    }
}

/// P(flip) = Φ(−gap/std), measured on the states of one or more audits.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct FlipLaw {
    pub states: usize,
    /// Mean over the states of Φ(−gap/std).
    pub predicted_mean: f64,
    /// Mean over the states of the share of draws that changed the action.
    pub measured_mean: f64,
    /// Share of the variance of P(flip) that the law explains with nothing fitted; none where P(flip) is one number.
    pub r_squared: Option<f64>,
    /// P(flip) against Φ(−gap/std); the law is a slope of 1 and an intercept of 0.
    pub fit: Option<LinearFit>,
}

impl FlipLaw {
    /// None where the law speaks about no state.
    pub fn of<'a>(audits: impl IntoIterator<Item = &'a RiskAudit>) -> Option<Self> {
        let points: Vec<FlipPoint> =
            audits.into_iter().flat_map(|audit| &audit.states).filter_map(FlipPoint::of).collect();
        let predicted: Vec<f64> = points.iter().map(|point| point.predicted).collect();
        let measured: Vec<f64> = points.iter().map(|point| point.measured).collect();
        (!points.is_empty()).then(|| Self {
            states: points.len(),
            predicted_mean: mean(&predicted),
            measured_mean: mean(&measured),
            r_squared: explained(&measured, &predicted),
            fit: linear_fit(&predicted, &measured),
        })
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::analysis::tests::as_the_paper_expects;
    use super::*;
    use sane_record::{ActionGap, StateNoise};

    /// Gaps from 0 to 2 against noise of very different size, so that only their ratio decides; P(flip) is what `flips` makes
    /// of that ratio.
    pub fn with_flips(count: usize, flips: impl Fn(f64) -> f64) -> RiskAudit {
        let mut audit = as_the_paper_expects(count);
        for (i, audited) in audit.states.iter_mut().enumerate() {
            let (ratio, noise) = (2.0 * i as f64 / count as f64, 0.01 * (1 + i % 7) as f64);
            let changed_share = flips(ratio);
            audited.gap = Some(ActionGap { q: ratio * noise, noise });
            audited.noise = Some(StateNoise { draws: 10, changed_share, q_noise: noise, live_units_share: None });
        }
        audit
    }

    #[test]
    fn normal_noise_of_two_actions_follows_the_law_with_nothing_fitted() {
        let law = FlipLaw::of([&with_flips(40, |ratio| normal_cdf(-ratio))]).unwrap();
        assert!((law.r_squared.unwrap() - 1.0).abs() < 1e-12 && law.states == 40);
        let fit = law.fit.unwrap();
        assert!((fit.slope - 1.0).abs() < 1e-9 && fit.intercept.abs() < 1e-9);
        assert!((law.measured_mean - law.predicted_mean).abs() < 1e-12);
    }

    #[test]
    fn noise_that_flips_half_as_often_keeps_the_line_and_loses_the_prediction() {
        let law = FlipLaw::of([&with_flips(40, |ratio| normal_cdf(-ratio) / 2.0)]).unwrap();
        let fit = law.fit.unwrap();
        assert!((fit.slope - 0.5).abs() < 1e-9 && (fit.r_squared - 1.0).abs() < 1e-9);
        assert!(law.r_squared.unwrap() < 0.0, "{:?}", law.r_squared);
    }

    #[test]
    fn flips_that_do_not_depend_on_the_gap_are_not_explained() {
        // Alternately, from state to state.
        let alternate = |ratio: f64| if ((20.0 * ratio).round() as u32).is_multiple_of(2) { 0.1 } else { 0.4 };
        let law = FlipLaw::of([&with_flips(40, alternate)]).unwrap();
        assert!(law.r_squared.unwrap() < 0.1 && law.fit.unwrap().r_squared < 0.1, "{law:?}");
        let same = FlipLaw::of([&with_flips(40, |_| 0.1)]).unwrap();
        assert_eq!((same.r_squared, same.fit), (None, None));
    }

    #[test]
    fn states_without_noise_between_the_actions_are_no_evidence() {
        let mut audit = with_flips(3, |_| 0.1);
        audit.states[0].gap = Some(ActionGap { q: 1.0, noise: 0.0 });
        audit.states[1].gap = None;
        assert_eq!(FlipLaw::of([&audit]).unwrap().states, 1);
        assert_eq!(FlipLaw::of([&as_the_paper_expects(3)]), None);
    }
}
