//! Measuring a policy: whole episodes from named starts, raw rewards, with and without noise.
//!
//! Episode i is a unit of its own: a fresh world, a start and a noise that follow from the start seed and i alone. So the
//! result does not depend on the number of threads, and noise on and off meet the same starts.

mod episode;
mod summary;

pub use episode::{Episode, View, play_episode};
pub use summary::Summary;

use crate::LabError;
use crate::config::WorldConfig;
use crate::statistics::Spread;
use crate::trained::Trained;
use crate::world::WorldSource;
use sane_agent::ActMode;
use sane_env::AgentSteps;
use sane_record::{Baseline, EvaluationFinished};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// Whether the policy is measured with its noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoiseMode {
    /// No noise, no exploration.
    Off,
    /// Noise injected.
    On,
}

impl NoiseMode {
    /// `off` or `on`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::On => "on",
        }
    }

    pub(crate) fn act_mode(self) -> ActMode {
        match self {
            Self::Off => ActMode::Greedy,
            Self::On => ActMode::Noisy,
        }
    }
}

/// What is to be measured, and how.
#[derive(Debug, Clone, PartialEq)]
pub struct Evaluation {
    /// With or without noise.
    pub noise: NoiseMode,
    /// Episodes are played until they hold this many interactions together; the last one is played to its end, unless it
    /// alone is as long as that.
    pub interactions: AgentSteps,
    /// What the starts follow from.
    pub start_seed: u64,
    /// Episodes played at the same time.
    pub threads: usize,
}

/// Measures a policy in the worlds of `source`. `progress` hears how many interactions have been played; a set
/// `stop` ends the evaluation without a result.
pub fn evaluate(
    trained: &Trained,
    source: &WorldSource,
    evaluation: &Evaluation,
    progress: impl Fn(u64) + Sync,
    stop: &AtomicBool,
) -> Result<Option<EvaluationFinished>, LabError> {
    let board = Mutex::new(Board::default());
    let policy = trained.learner.policy();
    // The lock must be free again while the episode is played, so taking a number is a function of its own.
    let next = || board.lock().expect("no worker panics with the lock held").next(evaluation);
    let work = || -> Result<(), LabError> {
        while let Some(number) = next() {
            let mode = evaluation.noise.act_mode();
            // A copy each time: an agent that counts visits must not carry them from one episode into another.
            let mut policy = policy.clone();
            // A greedy policy can go round in circles where a world has no time limit: an episode as long as the whole
            // evaluation is cut there.
            let mut left = evaluation.interactions.0;
            let episode = play_episode(&mut policy, source, evaluation.start_seed, number, mode, &mut |_, _| {
                let goes_on = 0 < left && !stop.load(Ordering::Relaxed);
                left = left.saturating_sub(1);
                goes_on
            })?;
            let mut board = board.lock().expect("no worker panics with the lock held");
            board.finished.insert(number, episode);
            progress(board.played(evaluation));
            if stop.load(Ordering::Relaxed) {
                break;
            }
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..evaluation.threads.max(1)).map(|_| scope.spawn(|| alone(work))).collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("a worker does not panic"))
    })?;
    if stop.load(Ordering::Relaxed) {
        return Ok(None);
    }
    let episodes = board.into_inner().expect("no worker panics with the lock held").into_counted(evaluation);
    Ok(Some(summarise(trained, source.config(), evaluation, &episodes)))
}

/// How much the second result is above the first, over the starts that both have met, and how many those are.
pub fn paired_difference(first: &EvaluationFinished, second: &EvaluationFinished) -> (usize, Summary) {
    let differences: Vec<f64> =
        first.returns.iter().zip(&second.returns).map(|(before, after)| after - before).collect();
    (differences.len(), Summary::of(&differences))
}

/// Runs `work` in a pool of one thread: episodes run side by side, the network inside an episode does not.
pub(crate) fn alone<T: Send>(work: impl FnOnce() -> Result<T, LabError> + Send) -> Result<T, LabError> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .build()
        .map_err(|error| LabError::Threads { threads: 1, reason: error.to_string() })?;
    pool.install(work)
}

/// Which episodes were given out and which came back.
#[derive(Default)]
struct Board {
    given_out: u64,
    finished: BTreeMap<u64, Episode>,
}

impl Board {
    /// The next episode to play, unless the unbroken row of finished ones already holds enough interactions.
    fn next(&mut self, evaluation: &Evaluation) -> Option<u64> {
        if evaluation.interactions.0 <= self.played(evaluation) {
            return None;
        }
        self.given_out += 1;
        Some(self.given_out - 1)
    }

    /// Interactions in the episodes that count: the first ones without a gap, up to the one that reaches the budget.
    fn played(&self, evaluation: &Evaluation) -> u64 {
        self.counted(evaluation).map(|episode| episode.interactions).sum()
    }

    fn counted(&self, evaluation: &Evaluation) -> impl Iterator<Item = &Episode> {
        let mut played = 0;
        let budget = evaluation.interactions.0;
        self.finished
            .iter()
            .zip(0..)
            .take_while(|((number, _), place)| **number == *place)
            .take_while(move |((_, episode), _)| {
                let counts = played < budget;
                played += episode.interactions;
                counts
            })
            .map(|((_, episode), _)| episode)
    }

    fn into_counted(self, evaluation: &Evaluation) -> Vec<Episode> {
        self.counted(evaluation).cloned().collect()
    }
}

fn summarise(
    trained: &Trained,
    world: &WorldConfig,
    evaluation: &Evaluation,
    episodes: &[Episode],
) -> EvaluationFinished {
    let returns: Vec<f64> = episodes.iter().map(|episode| episode.return_raw).collect();
    let interactions: u64 = episodes.iter().map(|episode| episode.interactions).sum();
    let explored: u64 = episodes.iter().map(|episode| episode.explored).sum();
    let merged = |pick: fn(&Episode) -> &Spread| {
        episodes.iter().fold(Spread::default(), |mut sum, episode| {
            sum.merge(pick(episode));
            sum
        })
    };
    let summary = Summary::of(&returns);
    EvaluationFinished {
        world: world.name.clone(),
        profile: world.profile.name().to_owned(),
        agent: trained.config.agent.clone(),
        seed: trained.config.seed,
        trained_interactions: trained.interactions.0,
        noise: evaluation.noise.name().to_owned(),
        start_seed: evaluation.start_seed,
        interactions,
        episodes: episodes.len() as u64,
        return_mean: summary.mean,
        return_std: summary.std,
        return_median: summary.median,
        return_mean_interval_95: summary.interval_95,
        human_normalised: Baseline::of(&world.name).map(|baseline| baseline.human_normalised(summary.mean)),
        effective_exploration_share: (evaluation.noise == NoiseMode::On).then(|| explored as f64 / interactions as f64),
        sigma: merged(|episode| &episode.sigma).range(),
        true_risk_mean: merged(|episode| &episode.true_risk).mean(),
        bad_episodes: count_known(episodes.iter().map(|episode| episode.bad)),
        cut_episodes: episodes.iter().filter(|episode| episode.cut).count() as u64,
        returns,
        lengths_interactions: episodes.iter().map(|episode| episode.interactions).collect(),
    }
}

/// How many are true; none if nothing is known of any.
fn count_known(marks: impl Iterator<Item = Option<bool>>) -> Option<u64> {
    marks.flatten().fold(None, |count, mark| Some(count.unwrap_or(0) + u64::from(mark)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn evaluation(interactions: u64) -> Evaluation {
        Evaluation { noise: NoiseMode::Off, interactions: AgentSteps(interactions), start_seed: 1, threads: 1 }
    }

    fn board(lengths: &[(u64, u64)]) -> Board {
        let episode = |interactions| Episode { interactions, ..Episode::default() };
        let finished = lengths.iter().map(|&(number, length)| (number, episode(length))).collect();
        Board { given_out: 9, finished }
    }

    #[test]
    fn the_episode_that_reaches_the_budget_counts_and_none_after_it() {
        let counted = board(&[(0, 10), (1, 10), (2, 10)]).into_counted(&evaluation(15));
        assert_eq!(counted.iter().map(|episode| episode.interactions).collect::<Vec<_>>(), [10, 10]);
    }

    #[test]
    fn an_episode_behind_a_gap_does_not_count_until_the_gap_is_filled() {
        let mut board = board(&[(0, 10), (2, 10)]);
        assert_eq!(board.played(&evaluation(15)), 10);
        assert_eq!(board.next(&evaluation(15)), Some(9));
        board.finished.insert(1, Episode { interactions: 4, ..Episode::default() });
        assert_eq!(board.next(&evaluation(15)), None);
        assert_eq!(board.into_counted(&evaluation(15)).len(), 3);
    }

    #[test]
    fn an_episode_as_long_as_the_whole_evaluation_is_cut_there_and_a_crash_is_counted() {
        let preset = crate::Preset::RiskyRoad;
        let config = preset.config("risky-road", "eps-greedy").unwrap();
        let source = WorldSource::open(&config.world, None, &mut |_| ()).unwrap();
        let trained = Trained::untrained(&config, &source).unwrap();
        let measure = |interactions| {
            let evaluation = evaluation(interactions);
            evaluate(&trained, &source, &evaluation, |_| (), &AtomicBool::new(false)).unwrap().unwrap()
        };
        let (short, long) = (measure(1), measure(2_000));
        assert_eq!((short.episodes, short.interactions, short.cut_episodes, short.bad_episodes), (1, 1, 1, None));
        let crashes = long.lengths_interactions.iter().filter(|length| **length < 500).count() as u64;
        assert_eq!((long.cut_episodes, long.bad_episodes), (0, Some(crashes)));
        assert!(0 < crashes, "a policy that has learned nothing crashes");
    }

    #[test]
    fn marks_are_counted_only_where_some_are_known() {
        assert_eq!(count_known([None, None].into_iter()), None);
        assert_eq!(count_known([Some(true), None, Some(false), Some(true)].into_iter()), Some(2));
    }
}
