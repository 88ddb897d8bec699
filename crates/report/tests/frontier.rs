//! What the frontier measures of a run, on records whose values are known.

mod support;

use sane_record::ExplorationByRisk;
use sane_report::frontier::{Frontier, FrontierRun, read_frontier_run};
use support::SyntheticRun;

/// 20,000 interactions, of which the last 10,000 are measured. The interval from 9,000 to 12,000 straddles their beginning, and
/// what comes after 18,000 is in no interval. Episodes are as long.
fn run(agent: &str) -> SyntheticRun {
    SyntheticRun { interval: 3_000, episode_length: 3_000, ..SyntheticRun::small("risky-road", agent, 1, 40.0) }
}

fn measured(run: &SyntheticRun) -> FrontierRun {
    let root = tempfile::tempdir().unwrap();
    read_frontier_run(&run.write(root.path()), 0.5).unwrap()
}

#[test]
fn harm_is_bad_episodes_that_ended_in_the_measured_part_per_1_000_interactions() {
    let short = SyntheticRun { episode_length: 250, ..run("sane") };
    let run = SyntheticRun {
        // One in two after the first half, and all of the first half, its last interaction included.
        of_episode: |episode| {
            episode.bad = Some(episode.interactions <= 10_000 || episode.interactions % 500 == 0);
        },
        // Where there is a criterion, lives are not what counts.
        of_interval: |interval| interval.lives_lost = Some(7),
        ..short
    };
    assert_eq!((measured(&run).harms_per_1000, measured(&run).interactions), (2.0, 10_000));
    let harmless = SyntheticRun { of_episode: |episode| episode.bad = Some(false), ..run };
    assert_eq!(measured(&harmless).harms_per_1000, 0.0);
}

#[test]
fn harm_is_lost_lives_where_the_world_has_no_criterion() {
    let run = SyntheticRun {
        of_interval: |interval| interval.lives_lost = Some(interval.interactions / 1_000),
        ..run("sane")
    };
    // Two thirds of the 12 of the straddling interval, 15 and 18, in the 8,000 interactions until the last interval ended.
    assert_eq!(measured(&run).harms_per_1000, (8.0 + 15.0 + 18.0) / 8.0);
}

#[test]
fn an_interval_that_straddles_the_beginning_counts_by_its_overlap() {
    let run = SyntheticRun {
        of_interval: |interval| {
            interval.changed_action_share = Some(match interval.interactions {
                12_000 => 0.25,
                15_000 => 0.5,
                18_000 => 0.125,
                _ => 1.0,
            });
            // Another number, which also counts random actions that happen to be the greedy ones.
            interval.effective_exploration_share = Some(0.9);
        },
        ..run("eps-greedy")
    };
    assert_eq!(measured(&run).changed_share, (2.0 * 0.25 + 3.0 * 0.5 + 3.0 * 0.125) / 8.0);
}

#[test]
fn shares_by_risk_are_weighted_by_the_interactions_in_states_of_that_kind() {
    let run = SyntheticRun {
        of_interval: |interval| {
            let (risky_states_share, changed_share_risky, changed_share_other) = match interval.interactions {
                12_000 => (0.5, Some(0.25), Some(0.5)),
                15_000 => (1.0, Some(0.75), None),
                18_000 => (0.0, None, Some(0.125)),
                _ => (0.5, Some(1.0), Some(1.0)),
            };
            interval.by_risk = Some(ExplorationByRisk { risky_states_share, changed_share_risky, changed_share_other });
        },
        ..run("sane")
    };
    let found = measured(&run);
    assert_eq!(found.changed_risky, Some((1.0 * 0.25 + 3.0 * 0.75) / 4.0));
    assert_eq!(found.changed_other, Some((1.0 * 0.5 + 3.0 * 0.125) / 4.0));
    let unknown = measured(&SyntheticRun { of_interval: |_| (), ..run });
    assert_eq!((unknown.changed_risky, unknown.changed_other), (None, None), "a world that does not know its risk");
}

#[test]
fn of_the_random_actions_of_older_records_one_in_as_many_as_there_are_actions_is_the_greedy_one() {
    let older = |agent: &str| SyntheticRun {
        of_interval: |interval| {
            interval.changed_action_share = None;
            interval.effective_exploration_share = Some(0.5);
        },
        ..run(agent)
    };
    // Of four actions.
    assert_eq!(measured(&older("eps-greedy")).changed_share, 0.375);
    assert_eq!(measured(&older("sane")).changed_share, 0.5, "what noise changes is never the greedy action");
}

#[test]
fn the_return_is_the_mean_of_the_episodes_that_ended_in_the_measured_part() {
    let run = SyntheticRun {
        of_episode: |episode| {
            episode.return_raw = episode.interactions as f64 / 1_000.0;
            episode.return_mean_last_100 = -1.0;
        },
        ..run("sane")
    };
    // Those that ended at 12,000, 15,000 and 18,000; the first began before the measured part.
    let found = measured(&run);
    assert_eq!((found.return_mean, found.episodes), (Some(15.0), 3));
    let none_ended = SyntheticRun { episode_length: 50_000, ..run };
    assert_eq!((measured(&none_ended).return_mean, measured(&none_ended).episodes), (None, 0));
}

#[test]
fn agents_that_never_explore_lie_on_an_axis_that_begins_at_zero() {
    let axis_of = |changed_share| {
        let run = FrontierRun { changed_share, ..measured(&run("sane")) };
        let files = Frontier::of(vec![run], Vec::new(), 0.5).files().unwrap();
        let figure = files.into_iter().find(|file| file.path == "frontier-risky-road.svg").unwrap();
        String::from_utf8(figure.bytes).unwrap()
    };
    assert!(axis_of(0.0).contains(">0 %<") && !axis_of(0.0).contains(">100 %<"));
    assert!(axis_of(0.05).contains(">10 %<") && !axis_of(0.05).contains(">0 %<"));
}
