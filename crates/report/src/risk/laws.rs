//! The laws of the noise, as an audit measures them: with the KL term kept, σ² = λk₂/(λk₂ + 2V), so that the noise of Q is
//! √(λk₂/2) wherever V is large; and with a count-weighted bound the noise of Q falls as 1/√n. Nothing is fitted to say how
//! well a law predicts; the fitted lines show in what the states differ from it.

use sane_record::{AuditedState, RiskAudit};
use sane_stats::{LinearFit, explained, linear_fit, mean, median, sample_std};
use serde::Serialize;

/// What a law needs of one state; all of it positive.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LawPoint {
    pub sigma: f64,
    /// V(s): the variance of Q that σ = 1 would give.
    pub unit_variance: f64,
    /// λ(s)k₂.
    pub kl_weight: Option<f64>,
    /// The size of the noise of Q over draws, if it was drawn.
    pub q_noise: Option<f64>,
    /// n(s), by the agent's own count.
    pub counted_visits: Option<f64>,
}

impl LawPoint {
    /// None where σ is 0 or belongs to no law.
    pub fn of(audited: &AuditedState) -> Option<Self> {
        let law = audited.law?;
        let positive = |value: f64| (0.0 < value && value.is_finite()).then_some(value);
        Some(Self {
            sigma: positive(audited.state.sigma_abs)?,
            unit_variance: positive(law.unit_variance)?,
            kl_weight: law.kl_weight.and_then(positive),
            q_noise: audited.noise.and_then(|noise| positive(noise.q_noise)),
            counted_visits: law.counted_visits.and_then(|visits| positive(visits.into())),
        })
    }

    /// σ√V: the size of the noise of Q to first order.
    pub fn first_order_noise(&self) -> f64 {
        self.sigma * self.unit_variance.sqrt()
    }

    /// 1 + 2V/(λk₂): the law says that it is 1/σ².
    pub fn balance(&self) -> Option<f64> {
        Some(1.0 + 2.0 * self.unit_variance / self.kl_weight?)
    }

    /// σ by the law.
    pub fn predicted_sigma(&self) -> Option<f64> {
        Some(self.balance()?.powf(-0.5))
    }

    /// The size of the noise of Q by the law: close to √(λk₂/2) where V is large.
    pub fn predicted_noise(&self) -> Option<f64> {
        Some(self.predicted_sigma()? * self.unit_variance.sqrt())
    }
}

/// The points of an audit that a law speaks about.
pub fn law_points(audit: &RiskAudit) -> Vec<LawPoint> {
    audit.states.iter().filter_map(LawPoint::of).collect()
}

/// The laws, measured on the states of one or more audits.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct NoiseLaws {
    /// States that a law speaks about.
    pub states: usize,
    /// σ against V, for agents with a KL term.
    pub sigma: Option<SigmaLaw>,
    /// log σ√V against log n(s), for agents that count visits. The law of a count-weighted bound is a slope of −½.
    pub counts: Option<LinearFit>,
}

/// σ² = λk₂/(λk₂ + 2V), measured.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SigmaLaw {
    /// Median of σ ÷ the σ of the law.
    pub sigma_ratio_median: f64,
    /// Share of the variance of log σ that the law explains with nothing fitted; none where σ is one number.
    pub r_squared: Option<f64>,
    /// log σ² against log(1 + 2V/(λk₂)); the law is a slope of −1 and an intercept of 0.
    pub fit: Option<LinearFit>,
    /// Mean over the states of the noise of Q: over draws where there were any, else σ√V.
    pub q_noise_mean: f64,
    /// Mean over the states of √(λk₂/2), the size that the bound asks for.
    pub q_noise_wanted: f64,
    /// Standard deviation of (noise of Q ÷ √(λk₂/2)) over the states, divided by its mean: 0 where the noise of Q is what was
    /// asked for in every state alike.
    pub q_noise_relative_variation: f64,
}

impl NoiseLaws {
    /// None where no state has a law.
    pub fn of(points: &[LawPoint]) -> Option<Self> {
        (!points.is_empty()).then(|| Self {
            states: points.len(),
            sigma: sigma_law(points),
            counts: counts_law(points),
        })
    }
}

fn sigma_law(points: &[LawPoint]) -> Option<SigmaLaw> {
    let known: Vec<(LawPoint, f64, f64)> =
        points.iter().filter_map(|point| Some((*point, point.balance()?, point.predicted_sigma()?))).collect();
    if known.is_empty() {
        return None;
    }
    let row = |pick: &dyn Fn(&(LawPoint, f64, f64)) -> f64| known.iter().map(pick).collect::<Vec<f64>>();
    let log_sigma = row(&|(point, ..)| point.sigma.ln());
    let noise = |point: &LawPoint| point.q_noise.unwrap_or_else(|| point.first_order_noise());
    let wanted = |point: &LawPoint| (point.kl_weight.unwrap_or(0.0) / 2.0).sqrt();
    let relative = row(&|(point, ..)| noise(point) / wanted(point));
    Some(SigmaLaw {
        sigma_ratio_median: median(&row(&|(point, _, predicted)| point.sigma / predicted)),
        r_squared: explained(&log_sigma, &row(&|(_, _, predicted)| predicted.ln())),
        fit: linear_fit(&row(&|(_, balance, _)| balance.ln()), &row(&|(point, ..)| 2.0 * point.sigma.ln())),
        q_noise_mean: mean(&row(&|(point, ..)| noise(point))),
        q_noise_wanted: mean(&row(&|(point, ..)| wanted(point))),
        q_noise_relative_variation: sample_std(&relative).unwrap_or(0.0) / mean(&relative),
    })
}

fn counts_law(points: &[LawPoint]) -> Option<LinearFit> {
    let counted: Vec<(f64, f64)> =
        points.iter().filter_map(|point| Some((point.counted_visits?.ln(), point.first_order_noise().ln()))).collect();
    let (x, y): (Vec<f64>, Vec<f64>) = counted.into_iter().unzip();
    linear_fit(&x, &y)
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::analysis::tests::as_the_paper_expects;
    use super::*;
    use sane_record::{StateLaw, StateNoise};

    /// An audit whose noise follows the law with λk₂ = 0.02, σ being `off` times the predicted one, and n(s) = 1, 2, 3 …
    pub fn lawful(count: usize, off: f64) -> RiskAudit {
        let mut audit = as_the_paper_expects(count);
        for (i, audited) in audit.states.iter_mut().enumerate() {
            let (unit_variance, kl_weight) = (1.0 + i as f64, 0.02);
            let sigma = off * (kl_weight / (kl_weight + 2.0 * unit_variance)).sqrt();
            audited.state.sigma_abs = sigma;
            let q_noise = sigma * unit_variance.sqrt();
            audited.noise = Some(StateNoise { draws: 10, changed_share: 0.1, q_noise, live_units_share: None });
            let counted_visits = Some(1 + i as u32);
            audited.law = Some(StateLaw { unit_variance, kl_weight: Some(kl_weight), counted_visits });
            audited.visits = Some(1);
        }
        audit
    }

    #[test]
    fn noise_that_follows_the_law_is_predicted_with_nothing_fitted() {
        let laws = NoiseLaws::of(&law_points(&lawful(50, 1.0))).unwrap();
        let law = laws.sigma.unwrap();
        assert!((law.sigma_ratio_median - 1.0).abs() < 1e-12 && (law.r_squared.unwrap() - 1.0).abs() < 1e-12);
        let fit = law.fit.unwrap();
        assert!((fit.slope + 1.0).abs() < 1e-9 && fit.intercept.abs() < 1e-9);
        assert!((law.q_noise_mean / law.q_noise_wanted - 1.0).abs() < 0.01 && law.q_noise_relative_variation < 0.01);
    }

    #[test]
    fn a_sigma_twice_too_large_keeps_the_slope_and_loses_the_prediction() {
        let law = NoiseLaws::of(&law_points(&lawful(50, 2.0))).unwrap().sigma.unwrap();
        assert!((law.sigma_ratio_median - 2.0).abs() < 1e-12 && (law.fit.unwrap().slope + 1.0).abs() < 1e-9);
        assert!(law.r_squared.unwrap() < 0.5, "{:?}", law.r_squared);
    }

    #[test]
    fn noise_that_falls_with_the_root_of_the_visits_has_a_slope_of_a_half() {
        let mut audit = lawful(40, 1.0);
        for audited in &mut audit.states {
            let law = audited.law.unwrap();
            audited.state.sigma_abs = (f64::from(law.counted_visits.unwrap()) * law.unit_variance).powf(-0.5);
        }
        let counts = NoiseLaws::of(&law_points(&audit)).unwrap().counts.unwrap();
        assert!((counts.slope + 0.5).abs() < 1e-9 && (counts.r_squared - 1.0).abs() < 1e-9);
    }

    #[test]
    fn one_sigma_for_all_states_has_a_ratio_and_no_share_explained() {
        let mut audit = lawful(20, 1.0);
        audit.states.iter_mut().for_each(|audited| audited.state.sigma_abs = 0.1);
        let law = NoiseLaws::of(&law_points(&audit)).unwrap().sigma.unwrap();
        assert_eq!((law.r_squared, law.fit), (None, None));
        assert_eq!(NoiseLaws::of(&law_points(&as_the_paper_expects(20))), None, "no state has a law");
    }
}
