//! Evaluation of a policy: whole episodes from seeded starts, raw rewards, with and without noise.
//!
//! Episode i is independent of all others: a new world, a start and noise that follow from the start seed and i alone. So
//! the result does not depend on the number of threads, and noise on and off have the same starts.

use crate::LabError;
use crate::config::{RunConfig, WorldConfig};
use crate::interaction::Rollout;
use crate::statistics::MinMaxMean;
use crate::trained::TrainedAgent;
use crate::world::WorldSource;
use sane_agent::{ActMode, Decision, Policy};
use sane_env::{AgentSteps, Environment, Stream};
use sane_record::{Baseline, EvaluationFinished, TracedEpisode, TracedEvaluation, TracesHeader};
use sane_stats::{mean, median, percentile_interval, resampled_means, sample_std};
use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// Resamplings behind the interval; enough for a stable second digit of its ends.
const RESAMPLINGS: usize = 2_000;

/// The shares at which the ends of the interval lie. Written out: (1 − 0.95) / 2 is a different double and would change
/// the bits of recorded evaluations.
const TAILS: [f64; 2] = [0.025, 0.975];

/// Whether the policy is evaluated with its noise.
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

/// Settings of an evaluation.
#[derive(Debug, Clone, PartialEq)]
pub struct Evaluation {
    pub noise: NoiseMode,
    /// Episodes are played until their lengths add up to this; the last one is played to its end, unless it alone is as
    /// long as that.
    pub interactions: AgentSteps,
    /// Seed of the episode starts.
    pub start_seed: u64,
    /// Episodes played at the same time.
    pub threads: usize,
}

/// The length of an evaluation that suits a run: a fifth of its budget, between 2,000 interactions and the paper's 500,000.
/// So the evaluation of a run of minutes takes seconds, and that of the paper's runs is the paper's.
pub fn suitable_length(config: &RunConfig) -> AgentSteps {
    AgentSteps((config.training.total_interactions.0 / 5).clamp(2_000, 500_000))
}

/// Evaluates a policy in the worlds of `source`. `progress` gets the number of interactions played; a set `stop` ends the
/// evaluation with the episodes that are whole by then, marked partial, or without a result if there are none.
pub fn evaluate(
    trained: &TrainedAgent,
    source: &WorldSource,
    evaluation: &Evaluation,
    progress: impl Fn(u64) + Sync,
    stop: &AtomicBool,
) -> Result<Option<EvaluationFinished>, LabError> {
    Ok(evaluate_with_actions(trained, source, evaluation, progress, stop)?.map(|(result, _)| result))
}

/// As [`evaluate`], and the actions that were taken.
pub fn evaluate_with_actions(
    trained: &TrainedAgent,
    source: &WorldSource,
    evaluation: &Evaluation,
    progress: impl Fn(u64) + Sync,
    stop: &AtomicBool,
) -> Result<Option<(EvaluationFinished, TracedEvaluation)>, LabError> {
    trained.learner.require_finite()?;
    let board = Mutex::new(Board::default());
    let policy = trained.learner.policy();
    // A closure, so that the lock is released before the episode is played.
    let next = || board.lock().expect("no worker panics with the lock held").next(evaluation);
    let work = || -> Result<(), LabError> {
        while let Some(number) = next() {
            let mode = evaluation.noise.act_mode();
            // A copy each time: what an agent is told of a state, or which σ of another state it uses, must not depend on the
            // episodes that the same thread has played before.
            let mut policy = policy.clone();
            // A greedy policy can loop forever where a world has no time limit: an episode as long as the whole
            // evaluation is cut there.
            let (mut left, mut stopped) = (evaluation.interactions.0, false);
            let episode = play_episode(&mut policy, source, evaluation.start_seed, number, mode, &mut |_, _| {
                stopped = stop.load(Ordering::Relaxed);
                let continues = 0 < left && !stopped;
                left = left.saturating_sub(1);
                continues
            })?;
            if stopped {
                break;
            }
            let mut board = board.lock().expect("no worker panics with the lock held");
            board.finished.insert(number, episode);
            progress(board.played(evaluation));
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..evaluation.threads.max(1)).map(|_| scope.spawn(|| single_threaded(work))).collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("a worker does not panic"))
    })?;
    let episodes = board.into_inner().expect("no worker panics with the lock held").into_counted(evaluation);
    if episodes.is_empty() {
        return Ok(None);
    }
    let result = summarise(trained, source.config(), evaluation, &episodes);
    let traced = |Episode { return_raw, cut, actions, .. }| TracedEpisode { return_raw, cut, actions };
    let noise = evaluation.noise.name().to_owned();
    Ok(Some((result, TracedEvaluation { noise, episodes: episodes.into_iter().map(traced).collect() })))
}

/// Whose actions they are and where they were taken: the header of a file of them.
pub fn traces_header(trained: &TrainedAgent, source: &WorldSource, start_seed: u64) -> TracesHeader {
    let world = source.config();
    TracesHeader {
        program: env!("CARGO_PKG_VERSION").into(),
        world: world.name.clone(),
        profile: world.profile.name().to_owned(),
        actions: trained.spec().actions.clone(),
        agent: trained.config.agent.clone(),
        seed: trained.config.seed,
        trained_interactions: trained.interactions.0,
        start_seed,
    }
}

/// Difference of the second result to the first over the episode starts that both have, and their number.
pub fn paired_difference(first: &EvaluationFinished, second: &EvaluationFinished) -> (usize, Summary) {
    let differences: Vec<f64> =
        first.returns.iter().zip(&second.returns).map(|(before, after)| after - before).collect();
    (differences.len(), Summary::of(&differences))
}

/// Runs `work` in a pool of one thread: episodes run in parallel, the network within an episode does not.
pub(crate) fn single_threaded<T: Send>(work: impl FnOnce() -> Result<T, LabError> + Send) -> Result<T, LabError> {
    let pool = rayon::ThreadPoolBuilder::new()
        .num_threads(1)
        .build()
        .map_err(|error| LabError::Threads { threads: 1, reason: error.to_string() })?;
    pool.install(work)
}

/// The episodes that were assigned to workers, and the finished ones.
#[derive(Default)]
struct Board {
    assigned: u64,
    finished: BTreeMap<u64, Episode>,
}

impl Board {
    /// The next episode to play, unless the finished ones without a gap already hold enough interactions.
    fn next(&mut self, evaluation: &Evaluation) -> Option<u64> {
        if evaluation.interactions.0 <= self.played(evaluation) {
            return None;
        }
        self.assigned += 1;
        Some(self.assigned - 1)
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
            .take_while(|((number, _), index)| **number == *index)
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
    trained: &TrainedAgent,
    world: &WorldConfig,
    evaluation: &Evaluation,
    episodes: &[Episode],
) -> EvaluationFinished {
    let returns: Vec<f64> = episodes.iter().map(|episode| episode.return_raw).collect();
    let interactions: u64 = episodes.iter().map(|episode| episode.interactions).sum();
    let explored: u64 = episodes.iter().map(|episode| episode.explored).sum();
    let merged = |pick: fn(&Episode) -> &MinMaxMean| {
        episodes.iter().fold(MinMaxMean::default(), |mut sum, episode| {
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
        partial: interactions < evaluation.interactions.0,
        traces: None,
        returns,
        lengths_interactions: episodes.iter().map(|episode| episode.interactions).collect(),
    }
}

/// Number of true marks; `None` if no mark is known.
fn count_known(marks: impl Iterator<Item = Option<bool>>) -> Option<u64> {
    marks.flatten().fold(None, |count, mark| Some(count.unwrap_or(0) + u64::from(mark)))
}

/// Sums over an episode.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Episode {
    /// Sum of the raw rewards.
    pub return_raw: f64,
    pub interactions: u64,
    /// Interactions in which the noise changed the action.
    pub explored: u64,
    /// |σ| of its states.
    pub sigma: MinMaxMean,
    /// True risk of its states, in worlds that know it.
    pub true_risk: MinMaxMean,
    /// Whether it was a bad one by the world's own criterion, in worlds that have one.
    pub bad: Option<bool>,
    /// Whether it was left before its end.
    pub cut: bool,
    /// The actions carried out.
    pub actions: Vec<u16>,
}

/// An interaction before it is carried out.
pub struct View<'a> {
    pub state: &'a [u8],
    /// The world, in that state.
    pub world: &'a dyn Environment,
    /// The policy, with the activations of its last decision.
    pub policy: &'a Policy,
    /// The episode so far.
    pub episode: &'a Episode,
}

/// Plays episode `number` to its end, or until `observe` returns false. `observe` sees each decision before it is
/// carried out.
pub fn play_episode(
    policy: &mut Policy,
    source: &WorldSource,
    start_seed: u64,
    number: u64,
    mode: ActMode,
    observe: &mut dyn FnMut(&View<'_>, &Decision) -> bool,
) -> Result<Episode, LabError> {
    let (mut rollout, mut noise) = start_evaluation_episode(source, start_seed, number)?;
    let mut episode = Episode::default();
    policy.begin_episode();
    loop {
        if let Some(risk) = rollout.true_risk() {
            episode.true_risk.add(risk);
            policy.inform(rollout.state(), risk);
        }
        let decision = policy.act(rollout.state(), mode, &mut noise);
        let view = View { state: rollout.state(), world: &*rollout.world, policy, episode: &episode };
        if !observe(&view, &decision) {
            episode.cut = true;
            return Ok(episode);
        }
        let step = rollout.step(decision.action, None, &mut ())?;
        episode.return_raw += f64::from(step.reward.raw());
        episode.interactions += 1;
        episode.actions.push(decision.action.0);
        episode.explored += u64::from(decision.noise_changed_action);
        if let Some(sigma) = decision.sigma {
            episode.sigma.add(f64::from(sigma.abs()));
        }
        if step.ending.ends_episode() {
            episode.bad = rollout.world.ground_truth().and_then(|truth| truth.bad_episode());
            return Ok(episode);
        }
    }
}

/// The start of evaluation episode `number`: the world after its reset, and the random stream of the policy's noise.
pub fn start_evaluation_episode(
    source: &WorldSource,
    start_seed: u64,
    number: u64,
) -> Result<(Rollout, Stream), LabError> {
    let stream = |name: &str| Stream::named(start_seed, &format!("evaluation/{name}/{number}"));
    let mut world = source.make(stream("world").next_u64())?;
    world.settle();
    let mut rollout = Rollout::new(world);
    rollout.begin_episode(&mut stream("start"), None)?;
    Ok((rollout, stream("noise")))
}

/// The summary of some returns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Summary {
    pub mean: f64,
    /// Standard deviation (n − 1); 0 for a single value.
    pub std: f64,
    pub median: f64,
    /// 95 % interval of the mean, by bootstrap: no assumption on the distribution of the returns.
    pub interval_95: [f64; 2],
}

impl Summary {
    /// Of at least one value.
    pub fn of(values: &[f64]) -> Self {
        // One fixed stream: the same returns give the same interval.
        let mut stream = Stream::named(0, "bootstrap");
        let means = resampled_means(values, RESAMPLINGS, |count| stream.below(count as u64) as usize);
        Self {
            mean: mean(values),
            std: sample_std(values).unwrap_or(0.0),
            median: median(values),
            interval_95: percentile_interval(means, TAILS),
        }
    }
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
        Board { assigned: 9, finished }
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
        let trained = TrainedAgent::untrained(&config, &source).unwrap();
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
    fn a_stopped_evaluation_keeps_the_whole_episodes_and_says_that_it_is_partial() {
        let config = crate::Preset::RiskyRoad.config("risky-road", "eps-greedy").unwrap();
        let source = WorldSource::open(&config.world, None, &mut |_| ()).unwrap();
        let trained = TrainedAgent::untrained(&config, &source).unwrap();
        let measure = |interactions, stop_after: u64| {
            let stop = AtomicBool::new(stop_after == 0);
            let evaluation = evaluation(interactions);
            let progress = |played| stop.store(stop_after <= played, Ordering::Relaxed);
            evaluate(&trained, &source, &evaluation, progress, &stop).unwrap()
        };
        let (whole, part) = (measure(2_000, u64::MAX).unwrap(), measure(2_000, 400).unwrap());
        assert!(part.partial && !whole.partial && part.interactions < 2_000);
        assert_eq!((part.cut_episodes, &part.returns[..]), (0, &whole.returns[..part.returns.len()]));
        assert_eq!(measure(2_000, 0), None);
    }

    #[test]
    fn an_evaluation_is_as_long_as_suits_its_run() {
        let length = |preset: crate::Preset, world| suitable_length(&preset.config(world, "sane").unwrap()).0;
        assert_eq!(length(crate::Preset::Paper, "boxing"), 500_000);
        assert_eq!(length(crate::Preset::Quick, "boxing"), 20_000);
        assert_eq!(length(crate::Preset::RiskyRoad, "risky-road"), 60_000);
    }

    #[test]
    fn marks_are_counted_only_where_some_are_known() {
        assert_eq!(count_known([None, None].into_iter()), None);
        assert_eq!(count_known([Some(true), None, Some(false), Some(true)].into_iter()), Some(2));
    }

    #[test]
    fn mean_deviation_and_median_of_small_lists() {
        let summary = Summary::of(&[1.0, 2.0, 6.0, 7.0]);
        assert_eq!((summary.mean, summary.median), (4.0, 4.0));
        assert!((summary.std - (26.0_f64 / 3.0).sqrt()).abs() < 1e-12);
        let single = Summary::of(&[5.0]);
        assert_eq!((single.mean, single.std, single.median, single.interval_95), (5.0, 0.0, 5.0, [5.0, 5.0]));
    }

    #[test]
    fn the_interval_of_a_normal_sample_is_about_two_standard_errors_each_way() {
        let mut stream = Stream::named(1, "test");
        let values: Vec<f64> = (0..400).map(|_| 10.0 + 2.0 * stream.normal()).collect();
        let Summary { mean, std, interval_95: [low, high], .. } = Summary::of(&values);
        let expected = 1.96 * std / 20.0;
        assert!((mean - low - expected).abs() < 0.15 * expected && (high - mean - expected).abs() < 0.15 * expected);
    }
}
