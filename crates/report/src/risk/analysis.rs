//! The analysis of an audit: whether −|σ| rises with the measured risk, compared with chance and with the spread of the
//! action values as predictor.

use super::flip_law::FlipLaw;
use super::laws::{NoiseLaws, law_points};
use sane_record::{AuditedState, RiskAudit, StateNoise};
use sane_stats::{Estimate, auc, clustered_bootstrap, mean, quantile, sample_std, shuffled, spearman};
use serde::Serialize;
use std::cmp::Ordering;

/// True risk from which a state counts as risky: a random action leads to an avoidable crash more often than not.
pub(super) const HIGH_TRUE_RISK: f64 = 0.5;

/// About how many clusters of neighbouring states are resampled, at least.
const CLUSTERS: usize = 20;

/// A measure of the risk of a state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RiskMeasure {
    /// Return that a random action loses.
    RiskReturn,
    /// Probability that it loses a life which the best action keeps.
    RiskHarm,
    /// The true risk, known to the environment.
    TrueRisk,
}

/// A number that may predict the risk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Predictor {
    /// −|σ|: the paper expects it to be high where the risk is high.
    MinusSigma,
    /// Highest minus mean action value: what a random action costs by the network's own estimate.
    QSpread,
    /// Minus the standard deviation of Q over draws of the noise: how far the noise moves the action values.
    MinusQNoise,
    /// Minus the share of draws in which the noise changes the action: what the agent does about the risk.
    MinusChanged,
    /// How often the state occurred in the evaluation.
    Visits,
    /// Share of the module's units that are active.
    LiveUnits,
}

/// How the noise acts in risky states and in the others.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct NoiseByRisk {
    /// Mean share of draws that change the action, in risky states.
    pub changed_share_risky: Option<f64>,
    /// The same in the others.
    pub changed_share_other: Option<f64>,
    /// Mean size of the noise of Q over all states.
    pub q_noise_mean: f64,
    /// Its standard deviation over the states, divided by the mean: 0 where the noise of Q is the same in all.
    pub q_noise_variation: f64,
}

/// The results of an audit.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct RiskAnalysis {
    pub states: usize,
    /// Clusters of neighbouring states that the intervals resample. The name is a key of `audit.json`.
    pub stretches: usize,
    /// Share of the distinct states with the most frequent value of |σ|; none for agents whose noise has no σ(s).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub same_sigma: Option<SameSigma>,
    /// The laws of the noise, for agents whose noise one σ(s) scales.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub laws: Option<NoiseLaws>,
    /// The law of changed actions, for agents with noise.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flip_law: Option<FlipLaw>,
    /// One per measure of risk.
    pub measures: Vec<MeasureAnalysis>,
}

/// The most frequent value of |σ|. States in which all action values are equal, too, are one state, sampled more than once.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct SameSigma {
    /// Share of the distinct states that have it.
    pub share: f64,
    /// Whether no unit of the perturbation module is active in any of them.
    pub is_dead: bool,
}

/// One measure of risk and how well it is predicted.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MeasureAnalysis {
    pub measure: RiskMeasure,
    /// Mean over all states.
    pub mean: f64,
    /// States that count as risky for the AUC.
    pub risky_states: usize,
    /// −|σ| as predictor; none for agents whose noise has no σ(s).
    pub sigma: Option<Prediction>,
    /// Highest minus mean action value as predictor.
    pub q_spread: Prediction,
    /// AUC of −|σ| minus that of the spread of Q.
    pub auc_difference: Option<Estimate>,
    /// −|σ| randomly permuted over the states.
    pub shuffled: Option<Shuffled>,
    /// Further predictors, where they were measured in the states.
    pub predictors: Vec<NamedPrediction>,
    /// What the noise does in risky states and elsewhere, where it was drawn.
    pub noise: Option<NoiseByRisk>,
}

/// A predictor and how well it predicts.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct NamedPrediction {
    pub predictor: Predictor,
    #[serde(flatten)]
    pub prediction: Prediction,
}

/// How well a predictor ranks the states by risk.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Prediction {
    /// Spearman's correlation with the risk.
    pub spearman: Option<Estimate>,
    /// Area under the ROC curve for the risky states.
    pub auc: Option<Estimate>,
}

/// The predictions of −|σ| under chance alone.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Shuffled {
    /// The middle 95 % of the correlations.
    pub spearman_range: Option<[f64; 2]>,
    /// Share of permutations with a correlation at least as far from 0 as the one found.
    pub spearman_p: Option<f64>,
    /// The middle 95 % of the areas.
    pub auc_range: Option<[f64; 2]>,
    /// Share of permutations with an area at least as far from ½ as the one found.
    pub auc_p: Option<f64>,
}

impl RiskMeasure {
    /// As tables call it.
    pub fn short_name(self) -> &'static str {
        match self {
            Self::RiskReturn => "return lost",
            Self::RiskHarm => "avoidable loss",
            Self::TrueRisk => "true risk",
        }
    }

    /// The risk of a state by this measure.
    pub fn of(self, audited: &AuditedState) -> Option<f64> {
        match self {
            Self::RiskReturn => Some(audited.risk_return),
            Self::RiskHarm => Some(audited.risk_harm),
            Self::TrueRisk => audited.state.true_risk,
        }
    }

    /// The risks of all states, if there are any and each is known.
    fn of_all(self, states: &[AuditedState]) -> Option<Vec<f64>> {
        let risk: Option<Vec<f64>> = states.iter().map(|audited| self.of(audited)).collect();
        risk.filter(|risk| !risk.is_empty())
    }
}

impl Predictor {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::MinusSigma, Self::QSpread, Self::MinusQNoise, Self::MinusChanged, Self::Visits, Self::LiveUnits];

    /// Those that not every audit has.
    pub const FURTHER: [Self; 4] = [Self::MinusQNoise, Self::MinusChanged, Self::Visits, Self::LiveUnits];

    /// As tables and figures call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::MinusSigma => "−|σ|",
            Self::QSpread => "spread of Q",
            Self::MinusQNoise => "−noise of Q",
            Self::MinusChanged => "−P(noise changes the action)",
            Self::Visits => "visits",
            Self::LiveUnits => "live units",
        }
    }

    /// Its value in a state; none where it was not measured.
    pub fn of(self, audited: &AuditedState) -> Option<f64> {
        let q = &audited.state.q;
        match self {
            Self::MinusSigma => Some(-audited.state.sigma_abs),
            Self::QSpread => {
                let highest = q.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                Some(highest - q.iter().sum::<f64>() / q.len() as f64)
            }
            Self::MinusQNoise => audited.noise.map(|noise| -noise.q_noise),
            Self::MinusChanged => audited.noise.map(|noise| -noise.changed_share),
            Self::Visits => audited.visits.map(|visits| visits as f64),
            Self::LiveUnits => audited.noise.and_then(|noise| noise.live_units_share),
        }
    }
}

impl MeasureAnalysis {
    /// All predictors in one list, −|σ| and the spread of Q first.
    pub fn predictions(&self) -> Vec<NamedPrediction> {
        let of = |predictor, prediction| NamedPrediction { predictor, prediction };
        let sigma = self.sigma.map(|prediction| of(Predictor::MinusSigma, prediction));
        let spread = of(Predictor::QSpread, self.q_spread);
        sigma.into_iter().chain([spread]).chain(self.predictors.iter().copied()).collect()
    }
}

impl RiskAnalysis {
    pub fn of(audit: &RiskAudit) -> Self {
        let clusters = clusters(&audit.states);
        let measures = [RiskMeasure::RiskReturn, RiskMeasure::RiskHarm, RiskMeasure::TrueRisk]
            .into_iter()
            .filter_map(|measure| Some(analyse(measure, &measure.of_all(&audit.states)?, &audit.states, &clusters)))
            .collect();
        let same_sigma = SameSigma::of(&audit.states);
        let (laws, flip_law) = (NoiseLaws::of(&law_points(audit)), FlipLaw::of([audit]));
        Self { states: audit.states.len(), stretches: clusters.len(), same_sigma, laws, flip_law, measures }
    }

    /// The measure that comes closest to the truth: the true risk where the world knows it, else the return lost.
    pub fn primary(&self) -> Option<&MeasureAnalysis> {
        let of = |measure| self.measures.iter().find(|measured| measured.measure == measure);
        of(RiskMeasure::TrueRisk).or_else(|| of(RiskMeasure::RiskReturn))
    }
}

/// Which of the states of one audit are risky by the primary measure.
pub(super) fn risky_states(states: &[AuditedState]) -> Vec<bool> {
    let by = |measure: RiskMeasure| Some(risky(measure, &measure.of_all(states)?));
    by(RiskMeasure::TrueRisk).or_else(|| by(RiskMeasure::RiskReturn)).unwrap_or_else(|| vec![false; states.len()])
}

fn analyse(measure: RiskMeasure, risk: &[f64], states: &[AuditedState], clusters: &[Vec<usize>]) -> MeasureAnalysis {
    let risky = risky(measure, risk);
    let row = |predictor: Predictor| states.iter().map(|audited| predictor.of(audited)).collect::<Option<Vec<f64>>>();
    let sigma = row(Predictor::MinusSigma).filter(|_| has_sigma(states));
    let spread = row(Predictor::QSpread).expect("every state has Q");
    let rho = |x: &[f64], at: &[usize]| spearman(&taken(x, at), &taken(risk, at));
    let area = |x: &[f64], at: &[usize]| auc(&taken(x, at), &taken(&risky, at));
    let prediction = |x: &[f64]| Prediction {
        spearman: clustered_bootstrap(clusters, |at| rho(x, at)),
        auc: clustered_bootstrap(clusters, |at| area(x, at)),
    };
    let by_sigma = sigma.as_deref().map(prediction);
    let by_chance = |sigma: &Vec<f64>| {
        let found = by_sigma?;
        let rho = shuffled(risk.len(), |at| spearman(&taken(sigma, at), risk));
        let area = shuffled(risk.len(), |at| auc(&taken(sigma, at), &risky));
        let p = |null: &Option<sane_stats::Null>, found: Option<Estimate>, centre: f64| {
            Some(null.as_ref()?.p_value(found?.point, centre))
        };
        Some(Shuffled {
            spearman_p: p(&rho, found.spearman, 0.0),
            spearman_range: rho.map(|null| null.range),
            auc_p: p(&area, found.auc, 0.5),
            auc_range: area.map(|null| null.range),
        })
    };
    let difference = |sigma: &Vec<f64>| clustered_bootstrap(clusters, |at| Some(area(sigma, at)? - area(&spread, at)?));
    let named = |predictor| Some(NamedPrediction { predictor, prediction: prediction(&row(predictor)?) });
    MeasureAnalysis {
        predictors: Predictor::FURTHER.into_iter().filter_map(named).collect(),
        noise: noise_by_risk(states, &risky),
        measure,
        mean: risk.iter().sum::<f64>() / risk.len() as f64,
        risky_states: risky.iter().filter(|&&mark| mark).count(),
        sigma: by_sigma,
        q_spread: prediction(&spread),
        auc_difference: sigma.as_ref().and_then(difference),
        shuffled: sigma.as_ref().and_then(by_chance),
    }
}

fn noise_by_risk(states: &[AuditedState], risky: &[bool]) -> Option<NoiseByRisk> {
    let noise: Option<Vec<StateNoise>> = states.iter().map(|audited| audited.noise).collect();
    let noise = noise.filter(|noise| !noise.is_empty())?;
    let changed = |wanted: bool| {
        let of_kind = noise.iter().zip(risky).filter(|(_, risky)| **risky == wanted);
        let shares: Vec<f64> = of_kind.map(|(noise, _)| noise.changed_share).collect();
        (!shares.is_empty()).then(|| mean(&shares))
    };
    let sizes: Vec<f64> = noise.iter().map(|noise| noise.q_noise).collect();
    let q_noise_mean = mean(&sizes);
    let deviation = sample_std(&sizes).unwrap_or(0.0);
    let q_noise_variation = if 0.0 < q_noise_mean { deviation / q_noise_mean } else { 0.0 };
    Some(NoiseByRisk {
        changed_share_risky: changed(true),
        changed_share_other: changed(false),
        q_noise_mean,
        q_noise_variation,
    })
}

/// Whether the agent's noise has a σ(s); 0 is recorded in every state where it has none.
pub(super) fn has_sigma(states: &[AuditedState]) -> bool {
    states.iter().any(|audited| audited.state.sigma_abs != 0.0)
}

impl SameSigma {
    fn of(states: &[AuditedState]) -> Option<Self> {
        let by_sigma = |a: &AuditedState, b: &AuditedState| a.state.sigma_abs.total_cmp(&b.state.sigma_abs);
        let mut distinct: Vec<&AuditedState> = if has_sigma(states) { states.iter().collect() } else { Vec::new() };
        distinct
            .sort_by(|a, b| by_sigma(a, b).then_with(|| a.state.q.partial_cmp(&b.state.q).unwrap_or(Ordering::Equal)));
        distinct.dedup_by(|a, b| a.state.sigma_abs == b.state.sigma_abs && a.state.q == b.state.q);
        let most = distinct.chunk_by(|a, b| by_sigma(a, b).is_eq()).max_by_key(|same| same.len())?;
        let is_off = |audited: &&AuditedState| audited.noise.and_then(|noise| noise.live_units_share) == Some(0.0);
        Some(Self { share: most.len() as f64 / distinct.len() as f64, is_dead: most.iter().all(is_off) })
    }
}

fn taken<T: Copy>(values: &[T], at: &[usize]) -> Vec<T> {
    at.iter().map(|&i| values[i]).collect()
}

/// Which states count as risky: by a threshold where the true risk is known, else the riskiest quarter, which is above
/// the upper quartile, or at it if no state is above.
fn risky(measure: RiskMeasure, risk: &[f64]) -> Vec<bool> {
    if measure == RiskMeasure::TrueRisk {
        return risk.iter().map(|&risk| HIGH_TRUE_RISK <= risk).collect();
    }
    let mut sorted = risk.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (bound, highest) = (quantile(&sorted, 0.75), sorted[sorted.len() - 1]);
    risk.iter().map(|&risk| bound < risk || (bound == highest && risk == highest)).collect()
}

/// Clusters of neighbouring states of one episode, short enough for about [`CLUSTERS`] of them.
fn clusters(states: &[AuditedState]) -> Vec<Vec<usize>> {
    let longest = states.len().div_ceil(CLUSTERS).max(1);
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
pub(super) mod tests {
    use super::*;
    use sane_record::{AuditSettings, RiskSubject, SCHEMA_VERSION, SeenState, SigmaRange};

    /// |σ|, Q, return lost, harm, true risk of a state.
    type Row = (f64, [f64; 2], f64, f64, Option<f64>);

    /// An audit of these states, five to an episode.
    pub fn audit(rows: &[Row]) -> RiskAudit {
        let states =
            rows.iter().enumerate().map(|(i, &(sigma_abs, q, risk_return, risk_harm, true_risk))| AuditedState {
                state: SeenState {
                    episode: i as u64 / 5,
                    interaction: i as u64 % 5,
                    sigma_abs,
                    q: q.to_vec(),
                    action: 0,
                    noise_changed_action: false,
                    true_risk,
                },
                futures: Vec::new(),
                noise: None,
                gap: None,
                visits: None,
                law: None,
                risk_return,
                risk_harm,
            });
        RiskAudit {
            subject: RiskSubject {
                schema_version: SCHEMA_VERSION,
                world: "risky-road".into(),
                profile: "paper".into(),
                agent: "sane".into(),
                seed: 1,
                trained_interactions: 20_000,
                noise: "off".into(),
                start_seed: 0,
                actions: vec!["left".into(), "right".into()],
                episodes: rows.len().div_ceil(5) as u64,
                interactions: rows.len() as u64,
                sigma: SigmaRange { mean_abs: 0.1, min_abs: 0.01, max_abs: 0.3 },
            },
            settings: AuditSettings {
                continuations: 4,
                horizon_interactions: 30,
                gamma: 0.99,
                rewards: "clipped".into(),
                epsilon: 0.0,
                world_has_chance: true,
            },
            states: states.collect(),
        }
    }

    /// σ falls as the risk rises; the values' spread is the same everywhere.
    pub fn as_the_paper_expects(count: usize) -> RiskAudit {
        let rows: Vec<_> = (0..count)
            .map(|i| (i * 7) % count)
            .map(|i| {
                let risk = i as f64 / count as f64;
                (1.0 - 0.9 * risk, [0.0, 1.0], risk, risk / 2.0, Some(risk))
            })
            .collect();
        audit(&rows)
    }

    #[test]
    fn risk_where_sigma_is_low_has_a_correlation_and_an_area_of_one() {
        let analysis = RiskAnalysis::of(&as_the_paper_expects(100));
        assert_eq!(analysis.measures.len(), 3);
        for measured in &analysis.measures {
            let sigma = measured.sigma.unwrap();
            assert!((sigma.spearman.unwrap().point - 1.0).abs() < 1e-12);
            assert_eq!(sigma.auc.unwrap().point, 1.0);
            assert_eq!(measured.q_spread.spearman, None, "a spread that never varies predicts nothing");
            assert_eq!(measured.q_spread.auc.unwrap().point, 0.5);
            assert_eq!(measured.auc_difference.unwrap().point, 0.5);
            assert!(measured.shuffled.unwrap().spearman_p.unwrap() < 0.001);
        }
        assert_eq!(analysis.measures[0].risky_states, 25);
        assert_eq!(analysis.measures[2].risky_states, 50);
    }

    #[test]
    fn noise_that_changes_no_action_in_risky_states_separates_them_whatever_its_size() {
        let mut audit = as_the_paper_expects(100);
        for audited in &mut audit.states {
            let is_risky = 0.5 <= audited.state.true_risk.unwrap();
            let changed_share = if is_risky { 0.0 } else { 0.25 };
            audited.noise = Some(StateNoise { draws: 10, changed_share, q_noise: 0.07, live_units_share: None });
        }
        let analysis = RiskAnalysis::of(&audit);
        let by_truth = &analysis.measures[2];
        let auc = |wanted| {
            by_truth.predictors.iter().find(|p| p.predictor == wanted).map(|p| p.prediction.auc.unwrap().point)
        };
        assert_eq!((auc(Predictor::MinusChanged), auc(Predictor::MinusQNoise)), (Some(1.0), Some(0.5)));
        assert_eq!(auc(Predictor::LiveUnits), None, "an agent without a module has no units");
        let noise = by_truth.noise.unwrap();
        assert_eq!((noise.changed_share_risky, noise.changed_share_other), (Some(0.0), Some(0.25)));
        assert!((noise.q_noise_mean - 0.07).abs() < 1e-12 && noise.q_noise_variation < 1e-9);
    }

    #[test]
    fn the_return_lost_is_the_primary_risk_where_the_truth_is_not_known() {
        let known = as_the_paper_expects(100);
        assert_eq!(RiskAnalysis::of(&known).primary().unwrap().measure, RiskMeasure::TrueRisk);
        assert_eq!(risky_states(&known.states).iter().filter(|&&is_risky| is_risky).count(), 50);
        let mut unknown = known;
        for audited in &mut unknown.states {
            audited.state.true_risk = None;
            // The chance of a loss is highest where the return lost is lowest.
            audited.risk_harm = 1.0 - audited.risk_return;
            let changed_share = if 0.75 <= audited.risk_return { 0.1 } else { 0.4 };
            audited.noise = Some(StateNoise { draws: 10, changed_share, q_noise: 0.07, live_units_share: None });
        }
        let analysis = RiskAnalysis::of(&unknown);
        assert_eq!(analysis.primary().unwrap().measure, RiskMeasure::RiskReturn);
        let risky: Vec<bool> = unknown.states.iter().map(|audited| 0.75 <= audited.risk_return).collect();
        assert_eq!(risky_states(&unknown.states), risky);
        let said = crate::risk::remarks(&analysis).join(" ");
        let expected = "in 10 % of the draws in states that are risky by the return that a random action loses and in 40 % elsewhere";
        assert!(said.contains(expected), "{said}");
    }

    #[test]
    fn states_of_one_and_the_same_sigma_are_counted_once_each() {
        let rows = [(0.1, 1.0), (0.2, 2.0), (0.1, 3.0), (0.1, 4.0), (0.2, 2.0), (0.2, 2.0)];
        let mut audit = audit(&rows.map(|(sigma, q)| (sigma, [0.0, q], 0.0, 0.0, None)));
        let same = |audit: &RiskAudit| RiskAnalysis::of(audit).same_sigma;
        assert_eq!(same(&audit), Some(SameSigma { share: 0.75, is_dead: false }), "no module, as far as is known");
        for audited in &mut audit.states {
            let live_units_share = Some(if audited.state.sigma_abs == 0.1 { 0.0 } else { 0.5 });
            audited.noise = Some(StateNoise { draws: 1, changed_share: 0.0, q_noise: 0.1, live_units_share });
        }
        assert_eq!(same(&audit), Some(SameSigma { share: 0.75, is_dead: true }));
        audit.states[2].noise.as_mut().unwrap().live_units_share = Some(0.1);
        assert_eq!(same(&audit), Some(SameSigma { share: 0.75, is_dead: false }), "its units are not all off");
    }

    #[test]
    fn without_sigma_nothing_is_said_about_sigma() {
        let rows: Vec<_> = (0..40).map(|i| (0.0, [0.0, f64::from(i)], f64::from(i), 0.0, None)).collect();
        let analysis = RiskAnalysis::of(&audit(&rows));
        let measured = &analysis.measures[0];
        assert_eq!((analysis.same_sigma, measured.sigma, measured.shuffled), (None, None, None));
        assert_eq!(measured.predictions()[0].predictor, Predictor::QSpread);
        assert_eq!(measured.q_spread.auc.unwrap().point, 1.0);
    }

    #[test]
    fn the_riskiest_quarter_is_found_among_many_equals() {
        let marks = |risk: &[f64]| risky(RiskMeasure::RiskHarm, risk);
        assert_eq!(marks(&[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.2]), [&[false; 7][..], &[true]].concat());
        assert_eq!(marks(&[0.0, 1.0, 1.0, 1.0]), [false, true, true, true]);
        assert_eq!(marks(&[0.0; 3]), [true; 3]);
    }

    #[test]
    fn a_world_that_does_not_know_its_risk_is_analysed_by_the_two_measured_risks() {
        let audit = audit(&[(0.1, [0.0, 1.0], 1.0, 0.0, None), (0.2, [0.0, 1.0], 0.0, 0.0, None)]);
        let analysis = RiskAnalysis::of(&audit);
        assert_eq!(
            analysis.measures.iter().map(|m| m.measure).collect::<Vec<_>>(),
            [RiskMeasure::RiskReturn, RiskMeasure::RiskHarm]
        );
        assert_eq!(analysis.measures[1].sigma, Some(Prediction { spearman: None, auc: None }));
    }

    #[test]
    fn states_are_resampled_by_clusters_within_an_episode() {
        let long = clusters(&as_the_paper_expects(200).states);
        assert_eq!((long.len(), long[0].len()), (40, 5));
        let mut one_episode = as_the_paper_expects(200).states;
        one_episode.iter_mut().for_each(|audited| audited.state.episode = 0);
        assert_eq!((clusters(&one_episode).len(), clusters(&one_episode)[0].len()), (20, 10));
    }
}
