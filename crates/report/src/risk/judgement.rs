//! What an audit says: does −|σ| rise with the risk that was measured, beyond chance, and beyond what the action values
//! say by themselves?

use sane_record::{AuditedState, RiskAudit};
use sane_stats::{Estimate, auc, clustered_bootstrap, quantile, shuffled, spearman};
use serde::Serialize;

/// From this true risk on a state counts as one of high risk: a random action rather leads to an avoidable crash than not.
const HIGH_TRUE_RISK: f64 = 0.5;

/// States are resampled in at least about this many stretches.
const STRETCHES: usize = 20;

/// What σ is held against.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// How much return a random action costs.
    RiskReturn,
    /// How often it loses a life that the best action keeps.
    RiskHarm,
    /// The world's own true risk.
    TrueRisk,
}

/// What may tell the risk beforehand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Predictor {
    /// −|σ|: the paper expects it to be high where the risk is.
    MinusSigma,
    /// Highest minus mean action value: what the network itself thinks a random action costs.
    QSpread,
}

/// All that is said of an audit.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Judgement {
    /// States looked at.
    pub states: usize,
    /// Stretches of neighbouring states that the intervals resample.
    pub stretches: usize,
    /// Share of the states that have the most frequent value of |σ|; above a few states, the module is dead there.
    pub same_sigma_share: f64,
    /// One per measure of risk.
    pub measures: Vec<MeasureJudgement>,
}

/// One measure of risk and how well it is predicted.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MeasureJudgement {
    /// Which.
    pub measure: Measure,
    /// Mean over all states.
    pub mean: f64,
    /// States that count as risky for the AUC.
    pub risky_states: usize,
    /// −|σ| as predictor.
    pub sigma: Prediction,
    /// Highest minus mean action value as predictor.
    pub q_spread: Prediction,
    /// AUC of −|σ| minus that of the spread of Q.
    pub auc_difference: Option<Estimate>,
    /// −|σ| with its values dealt out at random.
    pub shuffled: Shuffled,
}

/// How well something predicts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Prediction {
    /// Spearman's correlation with the risk.
    pub spearman: Option<Estimate>,
    /// Area under the ROC curve for the risky states.
    pub auc: Option<Estimate>,
}

/// What chance alone gives.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Shuffled {
    /// 95 % of the correlations lie in here.
    pub spearman_range: Option<[f64; 2]>,
    /// Share of shufflings with a correlation as far from 0 as the one found.
    pub spearman_p: Option<f64>,
    /// 95 % of the areas lie in here.
    pub auc_range: Option<[f64; 2]>,
    /// Share of shufflings with an area as far from ½ as the one found.
    pub auc_p: Option<f64>,
}

impl Measure {
    /// The risk of a state by this measure.
    pub fn of(self, audited: &AuditedState) -> Option<f64> {
        match self {
            Self::RiskReturn => Some(audited.risk_return),
            Self::RiskHarm => Some(audited.risk_harm),
            Self::TrueRisk => audited.state.true_risk,
        }
    }
}

impl Predictor {
    /// What it says of a state.
    pub fn of(self, audited: &AuditedState) -> f64 {
        let q = &audited.state.q;
        match self {
            Self::MinusSigma => -audited.state.sigma_abs,
            Self::QSpread => {
                q.iter().copied().fold(f64::NEG_INFINITY, f64::max) - q.iter().sum::<f64>() / q.len() as f64
            }
        }
    }
}

impl Judgement {
    /// Of an audit.
    pub fn of(audit: &RiskAudit) -> Self {
        let clusters = clusters(&audit.states);
        let measures = [Measure::RiskReturn, Measure::RiskHarm, Measure::TrueRisk]
            .into_iter()
            .filter_map(|measure| {
                let risk: Option<Vec<f64>> = audit.states.iter().map(|audited| measure.of(audited)).collect();
                Some(judge(measure, &risk.filter(|risk| !risk.is_empty())?, &audit.states, &clusters))
            })
            .collect();
        let same_sigma_share = same_sigma_share(&audit.states);
        Self { states: audit.states.len(), stretches: clusters.len(), same_sigma_share, measures }
    }
}

fn judge(measure: Measure, risk: &[f64], states: &[AuditedState], clusters: &[Vec<usize>]) -> MeasureJudgement {
    let risky = risky(measure, risk);
    let row = |predictor: Predictor| states.iter().map(|audited| predictor.of(audited)).collect::<Vec<f64>>();
    let (sigma, spread) = (row(Predictor::MinusSigma), row(Predictor::QSpread));
    let rho = |x: &[f64], at: &[usize]| spearman(&taken(x, at), &taken(risk, at));
    let area = |x: &[f64], at: &[usize]| auc(&taken(x, at), &taken(&risky, at));
    let prediction = |x: &[f64]| Prediction {
        spearman: clustered_bootstrap(clusters, |at| rho(x, at)),
        auc: clustered_bootstrap(clusters, |at| area(x, at)),
    };
    let (by_sigma, by_spread) = (prediction(&sigma), prediction(&spread));
    let null_rho = shuffled(risk.len(), |at| spearman(&taken(&sigma, at), risk));
    let null_area = shuffled(risk.len(), |at| auc(&taken(&sigma, at), &risky));
    let p = |null: &Option<sane_stats::Null>, found: Option<Estimate>, centre: f64| {
        Some(null.as_ref()?.p_value(found?.point, centre))
    };
    MeasureJudgement {
        measure,
        mean: risk.iter().sum::<f64>() / risk.len() as f64,
        risky_states: risky.iter().filter(|&&mark| mark).count(),
        sigma: by_sigma,
        q_spread: by_spread,
        auc_difference: clustered_bootstrap(clusters, |at| Some(area(&sigma, at)? - area(&spread, at)?)),
        shuffled: Shuffled {
            spearman_p: p(&null_rho, by_sigma.spearman, 0.0),
            spearman_range: null_rho.map(|null| null.range),
            auc_p: p(&null_area, by_sigma.auc, 0.5),
            auc_range: null_area.map(|null| null.range),
        },
    }
}

fn same_sigma_share(states: &[AuditedState]) -> f64 {
    let mut sigmas: Vec<f64> = states.iter().map(|audited| audited.state.sigma_abs).collect();
    sigmas.sort_by(f64::total_cmp);
    let most = sigmas.chunk_by(|a, b| a == b).map(<[f64]>::len).max().unwrap_or(0);
    most as f64 / states.len().max(1) as f64
}

fn taken<T: Copy>(values: &[T], at: &[usize]) -> Vec<T> {
    at.iter().map(|&i| values[i]).collect()
}

/// Which states count as risky. Where the truth is known, a bound; else the riskiest quarter: those above the upper
/// quartile, or at it where none is above.
fn risky(measure: Measure, risk: &[f64]) -> Vec<bool> {
    if measure == Measure::TrueRisk {
        return risk.iter().map(|&risk| HIGH_TRUE_RISK <= risk).collect();
    }
    let mut sorted = risk.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (bound, highest) = (quantile(&sorted, 0.75), sorted[sorted.len() - 1]);
    risk.iter().map(|&risk| bound < risk || (bound == highest && risk == highest)).collect()
}

/// Stretches of neighbouring states of one episode, short enough for about [`STRETCHES`] of them.
fn clusters(states: &[AuditedState]) -> Vec<Vec<usize>> {
    let longest = states.len().div_ceil(STRETCHES).max(1);
    let mut clusters: Vec<Vec<usize>> = Vec::new();
    for (i, audited) in states.iter().enumerate() {
        match clusters.last_mut() {
            Some(last) if last.len() < longest && states[last[0]].state.episode == audited.state.episode => {
                last.push(i);
            }
            _ => clusters.push(vec![i]),
        }
    }
    clusters
}

#[cfg(test)]
pub(super) mod tests;
