//! Facts about looking at states: an untrained policy has a σ, too, and that is enough for them.

use super::*;
use crate::preset::Preset;
use crate::world::tests::source;

fn with_run<T>(world: &str, agent: &str, then: impl FnOnce(&RiskProbe<'_>) -> T) -> T {
    let source = source(world).unwrap();
    let trained = TrainedAgent::untrained(&Preset::Minatar.config(world, agent).unwrap(), &source).unwrap();
    let stop = AtomicBool::new(false);
    then(&RiskProbe { trained: &trained, source: &source, noise: NoiseMode::Off, start_seed: 3, stop: &stop })
}

const AUDIT: Audit =
    Audit { states: 40, interactions: 400, continuations: 2, horizon: 5, epsilon: None, draws: 20, threads: 1 };

#[test]
fn an_agent_without_a_sigma_of_the_state_is_refused_with_those_that_have_one() {
    for agent in ["eps-greedy", "noisynet", "sane-constant"] {
        let wanted = Gallery { states: 1, interactions: 10, apart: 1 };
        let found = with_run("risky-road", agent, |probe| gallery(probe, wanted, |_, _| ()).err().unwrap().to_string());
        assert!(found.starts_with(&format!("{agent} has no σ(s)")) && found.contains("sane, q-sane"), "{found}");
        assert!(!found.contains("noisynet,") && !found.contains("sane-constant,"), "{found}");
    }
}

#[test]
fn a_gallery_shows_the_ends_of_the_scale_in_order_and_repeats() {
    for world in ["risky-road", "minatar/seaquest", "deep-sea/5"] {
        let wanted = Gallery { states: 3, interactions: 300, apart: 4 };
        let found = || with_run(world, "q-sane", |probe| gallery(probe, wanted, |_, _| ()).unwrap().unwrap());
        let GalleryWithPictures { gallery, pictures } = found();
        assert_eq!((&gallery, &pictures), (&found().gallery, &found().pictures), "{world}");
        assert_eq!(pictures.len(), gallery.smallest.len() + gallery.largest.len());
        let sigmas =
            |states: &[sane_record::GalleryState]| states.iter().map(|s| s.state.sigma_abs).collect::<Vec<_>>();
        assert!(sigmas(&gallery.smallest).is_sorted() && sigmas(&gallery.largest).is_sorted_by(|a, b| b <= a));
        let range = gallery.subject.sigma;
        assert_eq!(
            (gallery.smallest[0].state.sigma_abs, gallery.largest[0].state.sigma_abs),
            (range.min_abs, range.max_abs)
        );
    }
}

#[test]
fn an_audit_is_the_same_at_any_number_of_threads() {
    let measure = |threads| {
        with_run("risky-road", "sane", |probe| audit(probe, &Audit { threads, ..AUDIT }, |_, _| ()).unwrap().unwrap())
    };
    let alone = measure(1);
    assert_eq!(alone.states.len(), 40);
    let noise: Vec<_> = alone.states.iter().map(|audited| audited.noise.unwrap()).collect();
    assert!(noise.iter().all(|noise| noise.draws == 20 && 0.0 < noise.q_noise && noise.live_units_share.is_some()));
    assert!(noise.iter().any(|noise| 0.0 < noise.changed_share), "the noise of an untrained policy changes actions");
    assert_eq!(alone, measure(3));
}

#[test]
fn noise_without_a_sigma_of_the_state_is_audited_by_what_it_does_and_no_noise_is_refused() {
    let wanted = Audit { states: 10, interactions: 40, ..AUDIT };
    let found = with_run("risky-road", "noisynet", |probe| audit(probe, &wanted, |_, _| ()).unwrap().unwrap());
    let noise: Vec<_> = found.states.iter().map(|audited| audited.noise.unwrap()).collect();
    assert!(noise.iter().all(|noise| 0.0 < noise.q_noise && noise.live_units_share.is_none()));
    let refused = with_run("risky-road", "eps-greedy", |probe| audit(probe, &wanted, |_, _| ()).err().unwrap());
    assert!(
        refused.to_string().starts_with("eps-greedy has no noise in its network; agents that have: noisynet"),
        "{refused}"
    );
}

#[test]
fn every_audited_state_has_its_visits_and_where_one_sigma_scales_the_noise_its_law() {
    let wanted = Audit { states: 30, interactions: 300, ..AUDIT };
    let found = |agent| with_run("risky-road", agent, |probe| audit(probe, &wanted, |_, _| ()).unwrap().unwrap());
    let counting = found("sane-counts");
    for audited in &counting.states {
        let (law, noise) = (audited.law.unwrap(), audited.noise.unwrap());
        assert!(1 <= audited.visits.unwrap() && law.counted_visits == Some(0) && law.kl_weight == Some(0.0));
        // Untrained noise is too large for the first order; its size is right all the same.
        let first_order = audited.state.sigma_abs * law.unit_variance.sqrt();
        assert!((0.3..3.0).contains(&(noise.q_noise / first_order)), "{} {first_order}", noise.q_noise);
    }
    let law = found("sane").states[0].law.unwrap();
    assert!(0.0 < law.unit_variance && law.kl_weight.is_none() && law.counted_visits.is_none());
    assert!(found("noisynet").states.iter().all(|audited| audited.law.is_none() && audited.visits.is_some()));
}

#[test]
fn the_gap_of_a_state_is_that_of_its_two_best_actions_and_says_how_often_noise_changes_the_action() {
    let wanted = Audit { states: 60, interactions: 600, draws: 400, ..AUDIT };
    for agent in ["noisynet", "sane"] {
        let found = with_run("risky-road", agent, |probe| audit(probe, &wanted, |_, _| ()).unwrap().unwrap());
        let (mut predicted, mut measured) = (Vec::new(), Vec::new());
        for audited in &found.states {
            let (gap, noise) = (audited.gap.unwrap(), audited.noise.unwrap());
            let mut q = audited.state.q.clone();
            q.sort_by(|a, b| b.total_cmp(a));
            assert!((gap.q - (q[0] - q[1])).abs() < 1e-6, "{agent}: {gap:?} of {q:?}");
            predicted.push(sane_stats::normal_cdf(-gap.q / gap.noise));
            measured.push(noise.changed_share);
        }
        // Factored noise is not quite normal, and there is a third action.
        let fit = sane_stats::linear_fit(&predicted, &measured).unwrap();
        assert!(0.6 < fit.r_squared && (0.8..1.3).contains(&fit.slope), "{agent}: {fit:?}");
    }
}

#[test]
fn at_a_horizon_of_one_step_the_harm_found_is_that_of_the_true_risk() {
    let found = with_run("risky-road/9", "sane", |probe| {
        audit(probe, &Audit { states: 200, interactions: 2_000, horizon: 1, ..AUDIT }, |_, _| ()).unwrap().unwrap()
    });
    // A crash now that another action avoids is part of the true risk, which also counts crashes that come later.
    assert!(found.states.iter().all(|audited| audited.risk_harm <= audited.state.true_risk.unwrap() + 1e-9));
    assert!(found.states.iter().any(|audited| 0.3 < audited.risk_harm), "no state was dangerous");
    assert!(found.settings.world_has_chance && found.settings.epsilon == 0.0);
}

#[test]
fn a_world_without_chance_gets_its_chance_from_random_actions_or_one_future_only() {
    let settings = |epsilon| {
        let wanted = Audit { epsilon, states: 5, interactions: 20, ..AUDIT };
        with_run("deep-sea/5", "sane", |probe| audit(probe, &wanted, |_, _| ()).unwrap().unwrap()).settings
    };
    let (by_default, none) = (settings(None), settings(Some(0.0)));
    assert_eq!((by_default.epsilon as f32, by_default.continuations), (0.05, 2));
    assert_eq!((none.epsilon, none.continuations), (0.0, 1));
}
