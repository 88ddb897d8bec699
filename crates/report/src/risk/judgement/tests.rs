//! Audits with a known answer, judged.

use super::*;
use sane_record::{AuditSettings, RiskSubject, SCHEMA_VERSION, SeenState, SigmaRange};

/// |σ|, Q, return lost, harm, true risk of a state.
type Row = (f64, [f64; 2], f64, f64, Option<f64>);

/// An audit of these states, five to an episode.
pub fn audit(rows: &[Row]) -> RiskAudit {
    let states = rows.iter().enumerate().map(|(i, &(sigma_abs, q, risk_return, risk_harm, true_risk))| AuditedState {
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
    let judgement = Judgement::of(&as_the_paper_expects(100));
    assert_eq!(judgement.measures.len(), 3);
    for judged in &judgement.measures {
        assert!((judged.sigma.spearman.unwrap().point - 1.0).abs() < 1e-12);
        assert_eq!(judged.sigma.auc.unwrap().point, 1.0);
        assert_eq!(judged.q_spread.spearman, None, "a spread that never varies predicts nothing");
        assert_eq!(judged.q_spread.auc.unwrap().point, 0.5);
        assert_eq!(judged.auc_difference.unwrap().point, 0.5);
        assert!(judged.shuffled.spearman_p.unwrap() < 0.001);
    }
    assert_eq!(judgement.measures[0].risky_states, 25);
    assert_eq!(judgement.measures[2].risky_states, 50);
}

#[test]
fn states_of_one_and_the_same_sigma_are_counted() {
    let rows = [0.1, 0.2, 0.1, 0.1].map(|sigma| (sigma, [0.0, 1.0], 0.0, 0.0, None));
    assert_eq!(Judgement::of(&audit(&rows)).same_sigma_share, 0.75);
}

#[test]
fn the_riskiest_quarter_is_found_among_many_equals() {
    let marks = |risk: &[f64]| risky(Measure::RiskHarm, risk);
    assert_eq!(marks(&[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.2]), [&[false; 7][..], &[true]].concat());
    assert_eq!(marks(&[0.0, 1.0, 1.0, 1.0]), [false, true, true, true]);
    assert_eq!(marks(&[0.0; 3]), [true; 3]);
}

#[test]
fn a_world_that_does_not_know_its_risk_is_judged_by_the_two_measured_ones() {
    let audit = audit(&[(0.1, [0.0, 1.0], 1.0, 0.0, None), (0.2, [0.0, 1.0], 0.0, 0.0, None)]);
    let judgement = Judgement::of(&audit);
    assert_eq!(
        judgement.measures.iter().map(|m| m.measure).collect::<Vec<_>>(),
        [Measure::RiskReturn, Measure::RiskHarm]
    );
    assert_eq!(judgement.measures[1].sigma, Prediction { spearman: None, auc: None });
}

#[test]
fn states_are_resampled_by_stretches_of_one_episode() {
    let long = clusters(&as_the_paper_expects(200).states);
    assert_eq!((long.len(), long[0].len()), (40, 5));
    let mut one_episode = as_the_paper_expects(200).states;
    one_episode.iter_mut().for_each(|audited| audited.state.episode = 0);
    assert_eq!((clusters(&one_episode).len(), clusters(&one_episode)[0].len()), (20, 10));
}
