//! Playing recorded actions again: in, the actions of an evaluation; out, whether each of its scores comes out. The world
//! alone does it: no network and no policy.

use crate::LabError;
use crate::config::{ConfigError, WorldConfig};
use crate::evaluate::{single_threaded, start_evaluation_episode};
use crate::world::WorldSource;
use sane_arcade::Profile;
use sane_env::Action;
use sane_record::{ActionTraces, TracedEpisode, TracesHeader};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// An episode that did not come out as it was recorded.
#[derive(Debug, Clone, PartialEq)]
pub struct Mismatch {
    /// Noise mode of its evaluation.
    pub noise: String,
    /// Number of the episode, from 0.
    pub episode: u64,
    /// What is different: one clause.
    pub what: String,
}

/// The world in which these actions were recorded, from settings that the file names.
pub fn world_of(header: &TracesHeader) -> Result<WorldConfig, LabError> {
    // A file from elsewhere must not choose which Python code runs here.
    if sane_gym::is_gym_world(&header.world) {
        return Err(LabError::NotVerifiable { world: header.world.clone() });
    }
    let Some(profile) = Profile::named(&header.profile) else {
        let suggestion = None;
        let name = header.profile.clone();
        return Err(ConfigError::UnknownName { kind: "profile", name, suggestion }.into());
    };
    Ok(WorldConfig::new(&header.world, profile))
}

/// Plays every episode again, `threads` at the same time; the ones that differ, in order. `progress` gets the number of
/// interactions played; `None` if stopped.
pub fn verify(
    traces: &ActionTraces,
    source: &WorldSource,
    threads: usize,
    progress: impl Fn(u64) + Sync,
    stop: &AtomicBool,
) -> Result<Option<Vec<Mismatch>>, LabError> {
    let actions = source.make(0)?.spec().actions.clone();
    if actions != traces.header.actions {
        return Err(LabError::OtherActions {
            world: traces.header.world.clone(),
            recorded: traces.header.actions.len(),
            found: actions.len(),
        });
    }
    let episodes: Vec<(&str, u64, &TracedEpisode)> = traces
        .evaluations
        .iter()
        .flat_map(|evaluation| {
            (0..).zip(&evaluation.episodes).map(|(number, episode)| (&evaluation.noise[..], number, episode))
        })
        .collect();
    let (next, found) = (AtomicUsize::new(0), Mutex::new((0, Vec::new())));
    let work = || -> Result<(), LabError> {
        while let Some(&(noise, episode, recorded)) = episodes.get(next.fetch_add(1, Ordering::Relaxed)) {
            let Some(what) = play(recorded, source, traces.header.start_seed, episode, stop)? else { break };
            let mut found = found.lock().expect("no worker panics with the lock held");
            found.0 += recorded.actions.len() as u64;
            found.1.extend(what.map(|what| Mismatch { noise: noise.to_owned(), episode, what }));
            progress(found.0);
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.max(1)).map(|_| scope.spawn(|| single_threaded(work))).collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("a worker does not panic"))
    })?;
    if stop.load(Ordering::Relaxed) {
        return Ok(None);
    }
    let mut mismatches = found.into_inner().expect("no worker panics with the lock held").1;
    mismatches.sort_by(|a: &Mismatch, b| (&a.noise, a.episode).cmp(&(&b.noise, b.episode)));
    Ok(Some(mismatches))
}

/// Plays one episode; what is different, if anything, or `None` if stopped.
fn play(
    recorded: &TracedEpisode,
    source: &WorldSource,
    start_seed: u64,
    number: u64,
    stop: &AtomicBool,
) -> Result<Option<Option<String>>, LabError> {
    let (mut rollout, _) = start_evaluation_episode(source, start_seed, number)?;
    let (count, length) = (rollout.spec().actions.len(), recorded.actions.len());
    let (mut return_raw, mut ended) = (0.0, false);
    for (position, &action) in recorded.actions.iter().enumerate() {
        if stop.load(Ordering::Relaxed) {
            return Ok(None);
        }
        if ended {
            let what = format!("it ends after {position} interactions, {length} actions are recorded");
            return Ok(Some(Some(what)));
        }
        if count <= usize::from(action) {
            return Ok(Some(Some(format!("action {action} is recorded where the world has {count} actions"))));
        }
        let step = rollout.step(Action(action), None, &mut ())?;
        return_raw += f64::from(step.reward.raw());
        ended = step.ending.ends_episode();
    }
    if !ended && !recorded.cut {
        return Ok(Some(Some(format!("it does not end after its {length} recorded actions"))));
    }
    let differs = return_raw != recorded.return_raw;
    Ok(Some(differs.then(|| format!("{} is recorded, {return_raw} comes out", recorded.return_raw))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluate::{Evaluation, NoiseMode, evaluate_with_actions};
    use crate::preset::Preset;
    use crate::trained::TrainedAgent;
    use sane_env::AgentSteps;

    fn recorded(world: &str) -> (ActionTraces, WorldSource) {
        let config = Preset::default_for(world).unwrap().config(world, "noisynet").unwrap();
        let source = WorldSource::open(&config.world, None, &mut |_| ()).unwrap();
        let trained = TrainedAgent::untrained(&config, &source).unwrap();
        let evaluations = [NoiseMode::Off, NoiseMode::On].map(|noise| {
            let evaluation = Evaluation { noise, interactions: AgentSteps(300), start_seed: 5, threads: 1 };
            evaluate_with_actions(&trained, &source, &evaluation, |_| (), &AtomicBool::new(false)).unwrap().unwrap().1
        });
        let header = crate::evaluate::traces_header(&trained, &source, 5);
        (ActionTraces { header, evaluations: evaluations.into() }, source)
    }

    fn mismatches(traces: &ActionTraces, source: &WorldSource) -> Vec<Mismatch> {
        verify(traces, source, 2, |_| (), &AtomicBool::new(false)).unwrap().unwrap()
    }

    #[test]
    fn the_scores_of_every_built_in_world_come_out_of_its_actions() {
        for world in sane_minigames::known_worlds().map(|world| world.name) {
            let (traces, source) = recorded(world);
            assert_eq!(mismatches(&traces, &source), [], "{world}");
            let made = WorldSource::open(&world_of(&traces.header).unwrap(), None, &mut |_| ()).unwrap();
            assert_eq!(mismatches(&traces, &made), [], "{world}");
        }
    }

    #[test]
    fn a_score_a_length_an_action_or_a_start_that_was_changed_is_found() {
        let (traces, source) = recorded("risky-road");
        let check = |change: &dyn Fn(&mut ActionTraces), said: &str| {
            let mut changed = traces.clone();
            change(&mut changed);
            let found = mismatches(&changed, &source);
            assert!(found.iter().any(|mismatch| mismatch.what.contains(said)), "{said}: {found:?}");
        };
        let first = |traces: &mut ActionTraces| traces.evaluations[0].episodes.remove(0);
        check(&|traces| traces.evaluations[1].episodes[0].return_raw += 1.0, "is recorded");
        check(&|traces| traces.evaluations[0].episodes[0].actions.push(0), "actions are recorded");
        check(&|traces| traces.evaluations[0].episodes[0].actions.truncate(1), "does not end after its 1 ");
        check(&|traces| traces.evaluations[0].episodes[0].actions[0] = 99, "action 99 is recorded where");
        check(&|traces| traces.header.start_seed = 6, "");
        check(&|traces| drop(first(traces)), "");
    }

    #[test]
    fn actions_of_another_world_and_of_python_are_refused() {
        let (traces, _) = recorded("risky-road");
        let other = crate::world::tests::source("minatar/breakout").unwrap();
        let refused = verify(&traces, &other, 1, |_| (), &AtomicBool::new(false)).unwrap_err().to_string();
        assert!(refused.contains("3 actions") && refused.contains("6"), "{refused}");
        let header = TracesHeader { world: "gym:CartPole-v1".into(), ..traces.header };
        assert!(world_of(&header).unwrap_err().to_string().contains("gym:CartPole-v1 cannot be verified"));
    }
}
