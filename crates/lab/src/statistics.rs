//! Running statistics of a run, from which the records of episodes and intervals are made. Part of the checkpoint.

use crate::clock::Clock;
use sane_agent::{Decision, LearnStats};
use sane_env::{Ending, EnvFrames, Reward, Step};
use sane_record::{
    BoundRecord, EpisodeEnd, EpisodeFinished, ExplorationByRisk, IntervalFinished, ModuleHealth, RunFinished,
    SigmaRange,
};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, VecDeque};

/// Episodes in the running mean of returns.
const WINDOW: usize = 100;

/// True risk from which a state counts as risky: a random action leads to an avoidable harm more often than not.
const RISKY: f64 = 0.5;

/// What one interaction contributes to the sums.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interaction {
    /// Raw reward.
    pub reward: Reward,
    /// Frames the world ran.
    pub frames: EnvFrames,
    /// σ(s), for agents that have one.
    pub sigma: Option<f32>,
    /// Whether noise changed the action, or chance chose it.
    pub explored: bool,
    /// Whether the action differs from the greedy one without noise.
    pub changed: bool,
    /// Whether it lost a life or the game.
    pub life_lost: bool,
    /// True risk of the state it was chosen in, where the world knows it.
    pub true_risk: Option<f64>,
}

impl Interaction {
    pub fn new(step: &Step, decision: &Decision, true_risk: Option<f64>) -> Self {
        Self {
            reward: step.reward,
            frames: step.frames,
            sigma: decision.sigma,
            explored: decision.noise_changed_action || decision.random,
            changed: decision.noise_changed_action,
            life_lost: step.ending.is_terminal(),
            true_risk,
        }
    }
}

/// Sums between two records.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Statistics {
    last_returns: VecDeque<f64>,
    episode: InteractionSums,
    interval: InteractionSums,
    learning: LearningSums,
    /// A section of the checkpoint of its own, which only agents with a KL term have.
    #[serde(skip)]
    pub bound: BoundSums,
    /// A section of its own: a new series leaves the others as they are.
    #[serde(skip)]
    pub(crate) series: NamedSeries,
}

/// Series of the interval by their names; one that has counted nothing yet is missing.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct NamedSeries(BTreeMap<String, MinMaxMean>);

/// The names in [`NamedSeries`], which checkpoints contain.
mod series {
    /// 1 where the action differs from the greedy one without noise.
    pub const CHANGED: &str = "changed_action";
    /// The same in risky states only.
    pub const CHANGED_RISKY: &str = "changed_action_risky";
    /// The same in the other states only.
    pub const CHANGED_OTHER: &str = "changed_action_other";
    /// 1 where a life or the game was lost.
    pub const LIFE_LOST: &str = "life_lost";
    /// Share of the states of a batch in which the module is off.
    pub const DEAD_STATES: &str = "dead_states";
}

impl NamedSeries {
    fn add(&mut self, name: &str, value: f64) {
        match self.0.get_mut(name) {
            Some(series) => series.add(value),
            None => self.0.entry(name.to_owned()).or_default().add(value),
        }
    }

    fn count(&self, name: &str) -> u64 {
        self.0.get(name).map_or(0, |series| series.count)
    }

    fn sum(&self, name: &str) -> Option<f64> {
        self.0.get(name).map(|series| series.sum)
    }

    fn mean(&self, name: &str) -> Option<f64> {
        self.0.get(name).and_then(MinMaxMean::mean)
    }

    fn by_risk(&self) -> Option<ExplorationByRisk> {
        let (risky, other) = (self.count(series::CHANGED_RISKY), self.count(series::CHANGED_OTHER));
        (0 < risky + other).then(|| ExplorationByRisk {
            risky_states_share: risky as f64 / (risky + other) as f64,
            changed_share_risky: self.mean(series::CHANGED_RISKY),
            changed_share_other: self.mean(series::CHANGED_OTHER),
        })
    }
}

/// Sums over the interactions of an episode or an interval.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
struct InteractionSums {
    return_raw: f64,
    interactions: u64,
    frames: u64,
    explored: u64,
    sigma: MinMaxMean,
}

/// Sums over the train steps of an interval.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
struct LearningSums {
    loss: MinMaxMean,
    q: MinMaxMean,
    target: MinMaxMean,
    gradient_norm: MinMaxMean,
    sigma: MinMaxMean,
    sigma_min: MinMaxMean,
    sigma_max: MinMaxMean,
    sigma_spread: MinMaxMean,
    negative: MinMaxMean,
    live_units: MinMaxMean,
}

/// Sums over the train steps of an interval, for agents with a KL term.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct BoundSums {
    td_loss: MinMaxMean,
    kl_sigma: MinMaxMean,
    kl_means: MinMaxMean,
    kl_weight: MinMaxMean,
    q_noise: MinMaxMean,
    gap: MinMaxMean,
}

impl Statistics {
    /// Whether these can be the sums of a run at this time.
    pub fn is_consistent(&self, clock: &Clock) -> bool {
        let LearningSums { loss, q, target, gradient_norm, sigma, sigma_min, sigma_max, .. } = &self.learning;
        let LearningSums { sigma_spread, negative, live_units, .. } = &self.learning;
        let learning =
            [loss, q, target, gradient_norm, sigma, sigma_min, sigma_max, sigma_spread, negative, live_units];
        self.last_returns.len() <= WINDOW
            && self.last_returns.iter().all(|value| value.is_finite())
            && [&self.episode, &self.interval].into_iter().all(|sums| sums.is_consistent(clock))
            && learning.into_iter().all(|sums| sums.is_consistent(clock.steps().0))
            && self.bound.is_consistent(clock)
            && self.series.0.values().all(|series| series.is_consistent(clock.steps().0))
    }

    /// Adds an interaction.
    pub fn acted(&mut self, interaction: Interaction) {
        self.episode.add(interaction);
        self.interval.add(interaction);
        let changed = f64::from(u8::from(interaction.changed));
        self.series.add(series::CHANGED, changed);
        self.series.add(series::LIFE_LOST, f64::from(u8::from(interaction.life_lost)));
        if let Some(risk) = interaction.true_risk {
            let name = if RISKY <= risk { series::CHANGED_RISKY } else { series::CHANGED_OTHER };
            self.series.add(name, changed);
        }
    }

    /// Drops the sums of an episode that will not be finished.
    pub fn abandon_episode(&mut self) {
        self.episode = InteractionSums::default();
    }

    /// Adds a train step.
    pub fn learned(&mut self, stats: &LearnStats) {
        self.learning.add(stats);
        self.bound.add(stats);
        if let Some(sigma) = &stats.sigma {
            self.series.add(series::DEAD_STATES, f64::from(sigma.dead_states_share));
        }
    }

    /// Mean of the last 100 returns, after the first episode.
    pub fn mean_return(&self) -> Option<f64> {
        let count = self.last_returns.len();
        (0 < count).then(|| self.last_returns.iter().sum::<f64>() / count as f64)
    }

    /// Interactions of the episode so far.
    pub fn episode_interactions(&self) -> u64 {
        self.episode.interactions
    }

    /// Sum of the episode's raw rewards so far.
    pub fn episode_return(&self) -> f64 {
        self.episode.return_raw
    }

    /// Share of the interval's interactions in which exploration changed the action.
    pub fn explored_share(&self) -> Option<f64> {
        self.interval.explored_share()
    }

    /// Mean |σ| of the interval.
    pub fn mean_sigma(&self) -> Option<f64> {
        self.interval.sigma.mean()
    }

    /// Mean loss of the interval.
    pub fn mean_loss(&self) -> Option<f64> {
        self.learning.loss.mean()
    }

    /// Finishes the episode, which `clock` has already counted.
    pub fn finish_episode(
        &mut self,
        clock: &Clock,
        ending: Ending,
        bad: Option<bool>,
        epsilon: Option<f32>,
    ) -> EpisodeFinished {
        let episode = std::mem::take(&mut self.episode);
        if self.last_returns.len() == WINDOW {
            self.last_returns.pop_front();
        }
        self.last_returns.push_back(episode.return_raw);
        EpisodeFinished {
            interactions: clock.steps().0,
            episode: clock.episodes,
            return_raw: episode.return_raw,
            length_interactions: episode.interactions,
            length_frames: episode.frames,
            ending: if ending == Ending::Truncated { EpisodeEnd::TimeLimit } else { EpisodeEnd::GameOver },
            bad,
            return_mean_last_100: self.mean_return().expect("a return was just pushed"),
            epsilon: epsilon.map(f64::from),
            sigma: episode.sigma.range(),
            effective_exploration_share: episode.explored_share(),
        }
    }

    /// Finishes the interval.
    pub fn finish_interval(
        &mut self,
        clock: &Clock,
        replay_transitions: u64,
        epsilon: Option<f32>,
    ) -> IntervalFinished {
        let interval = std::mem::take(&mut self.interval);
        let learning = std::mem::take(&mut self.learning);
        let series = std::mem::take(&mut self.series);
        IntervalFinished {
            interactions: clock.steps().0,
            frames: clock.frames().0,
            episodes: clock.episodes,
            train_steps: clock.train_steps,
            replay_transitions,
            return_mean_last_100: self.mean_return(),
            epsilon: epsilon.map(f64::from),
            sigma: interval.sigma.range(),
            effective_exploration_share: interval.explored_share(),
            changed_action_share: series.mean(series::CHANGED),
            by_risk: series.by_risk(),
            lives_lost: series.sum(series::LIFE_LOST).map(|lost| lost as u64),
            loss_mean: learning.loss.mean(),
            q_mean: learning.q.mean(),
            target_mean: learning.target.mean(),
            gradient_norm_mean: learning.gradient_norm.mean(),
            module: learning.health(series.mean(series::DEAD_STATES)),
            bound: std::mem::take(&mut self.bound).record(),
        }
    }

    /// The last event of the run, with the digest of its state.
    pub fn finish_run(&self, clock: &Clock, digest: String) -> RunFinished {
        RunFinished {
            interactions: clock.steps().0,
            frames: clock.frames().0,
            episodes: clock.episodes,
            train_steps: clock.train_steps,
            return_mean_last_100: self.mean_return(),
            digest: Some(digest),
        }
    }
}

impl InteractionSums {
    fn is_consistent(&self, clock: &Clock) -> bool {
        self.return_raw.is_finite()
            && self.interactions <= clock.steps().0
            && self.frames <= clock.frames().0
            && self.explored <= self.interactions
            && self.sigma.is_consistent(clock.steps().0)
    }

    fn add(&mut self, interaction: Interaction) {
        self.return_raw += f64::from(interaction.reward.raw());
        self.interactions += 1;
        self.frames += interaction.frames.0;
        self.explored += u64::from(interaction.explored);
        if let Some(sigma) = interaction.sigma {
            self.sigma.add(f64::from(sigma.abs()));
        }
    }

    fn explored_share(&self) -> Option<f64> {
        (0 < self.interactions).then(|| self.explored as f64 / self.interactions as f64)
    }
}

impl LearningSums {
    fn add(&mut self, stats: &LearnStats) {
        self.loss.add(f64::from(stats.loss));
        self.q.add(f64::from(stats.mean_q));
        self.target.add(f64::from(stats.mean_target));
        if let Some(norm) = stats.gradient_norm {
            self.gradient_norm.add(f64::from(norm));
        }
        if let Some(sigma) = &stats.sigma {
            self.sigma.add(f64::from(sigma.mean_abs));
            self.sigma_min.add(f64::from(sigma.min_abs));
            self.sigma_max.add(f64::from(sigma.max_abs));
            self.sigma_spread.add(f64::from(sigma.spread_abs));
            self.negative.add(f64::from(sigma.negative_share));
            self.live_units.add(f64::from(sigma.live_units_share));
        }
    }

    fn health(&self, dead_states_share: Option<f64>) -> Option<ModuleHealth> {
        Some(ModuleHealth {
            sigma_mean_abs: self.sigma.mean()?,
            sigma_min_abs: self.sigma_min.range()?.min_abs,
            sigma_max_abs: self.sigma_max.range()?.max_abs,
            sigma_spread_abs: self.sigma_spread.mean()?,
            sigma_negative_share: self.negative.mean()?,
            live_units_share: self.live_units.mean()?,
            dead_states_share,
        })
    }
}

impl BoundSums {
    fn is_consistent(&self, clock: &Clock) -> bool {
        let Self { td_loss, kl_sigma, kl_means, kl_weight, q_noise, gap } = self;
        let sums = [td_loss, kl_sigma, kl_means, kl_weight, q_noise, gap];
        sums.into_iter().all(|sums| sums.is_consistent(clock.steps().0))
    }

    fn add(&mut self, stats: &LearnStats) {
        if let (Some(kl), Some(bound)) = (stats.kl, stats.bound) {
            self.td_loss.add(f64::from(stats.td_loss));
            self.kl_sigma.add(f64::from(kl.sigma));
            self.kl_means.add(f64::from(kl.means));
            self.kl_weight.add(f64::from(bound.kl_weight));
            self.q_noise.add(f64::from(bound.q_noise));
            self.gap.add(f64::from(bound.gap));
        }
    }

    fn record(&self) -> Option<BoundRecord> {
        Some(BoundRecord {
            td_loss_mean: self.td_loss.mean()?,
            kl_sigma_mean: self.kl_sigma.mean()?,
            kl_means_mean: self.kl_means.mean()?,
            kl_weight_mean: self.kl_weight.mean()?,
            q_noise_mean: self.q_noise.mean()?,
            gap_mean: self.gap.mean()?,
        })
    }
}

/// Count, sum, minimum and maximum of a series.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct MinMaxMean {
    count: u64,
    sum: f64,
    min: f64,
    max: f64,
}

impl Default for MinMaxMean {
    fn default() -> Self {
        Self { count: 0, sum: 0.0, min: f64::INFINITY, max: f64::NEG_INFINITY }
    }
}

impl MinMaxMean {
    /// Whether these can be the sums of at most so many values.
    fn is_consistent(&self, most: u64) -> bool {
        let bounds = if self.count == 0 { self.min > self.max } else { self.min <= self.max };
        self.count <= most && self.sum.is_finite() && bounds
    }

    pub fn add(&mut self, value: f64) {
        self.count += 1;
        self.sum += value;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// Adds the numbers of another series.
    pub fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Mean of a non-empty series.
    pub fn mean(&self) -> Option<f64> {
        (0 < self.count).then(|| self.sum / self.count as f64)
    }

    /// Mean, minimum and maximum of a non-empty series of |σ|.
    pub fn range(&self) -> Option<SigmaRange> {
        Some(SigmaRange { mean_abs: self.mean()?, min_abs: self.min, max_abs: self.max })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn play(statistics: &mut Statistics, clock: &mut Clock, reward: f32) -> EpisodeFinished {
        statistics.acted(Interaction {
            reward: Reward(reward),
            frames: EnvFrames(4),
            sigma: Some(-0.5),
            explored: reward < 1.0,
            changed: reward < 1.0,
            life_lost: true,
            true_risk: Some(if reward < 1.0 { 0.2 } else { 0.6 }),
        });
        clock.tick(EnvFrames(4));
        clock.episodes += 1;
        statistics.finish_episode(clock, Ending::GameOver, None, None)
    }

    #[test]
    fn the_running_mean_is_over_the_last_hundred_episodes() {
        let (mut statistics, mut clock) = (Statistics::default(), Clock::default());
        for episode in 0..150 {
            let finished = play(&mut statistics, &mut clock, episode as f32);
            assert_eq!(finished.return_raw, f64::from(episode));
        }
        assert_eq!(statistics.mean_return(), Some(99.5));
    }

    #[test]
    fn sums_that_no_run_of_this_length_can_have_are_inconsistent() {
        let (mut statistics, mut clock) = (Statistics::default(), Clock::default());
        play(&mut statistics, &mut clock, 1.0);
        assert!(statistics.is_consistent(&clock));
        let damaged = |damage: fn(&mut Statistics)| {
            let mut damaged = statistics.clone();
            damage(&mut damaged);
            !damaged.is_consistent(&clock)
        };
        assert!(damaged(|statistics| statistics.series.add(series::CHANGED, 1.0)), "more values than interactions");
        assert!(damaged(|statistics| statistics.series.add(series::DEAD_STATES, f64::NAN)));
        assert!(damaged(|statistics| statistics.bound.td_loss.add(f64::INFINITY)));
        assert!(damaged(|statistics| statistics.learning.loss.add(f64::NAN)));
        assert!(damaged(|statistics| statistics.episode.return_raw = f64::INFINITY));
    }

    #[test]
    fn an_interval_spans_episodes_and_starts_anew_after_its_record() {
        let (mut statistics, mut clock) = (Statistics::default(), Clock::default());
        for reward in [0.0, 2.0, 3.0, 4.0] {
            play(&mut statistics, &mut clock, reward);
        }
        let interval = statistics.finish_interval(&clock, 4, None);
        assert_eq!(interval.effective_exploration_share, Some(0.25));
        assert_eq!(interval.sigma.unwrap().mean_abs, 0.5);
        assert_eq!((interval.changed_action_share, interval.lives_lost), (Some(0.25), Some(4)));
        let by_risk = interval.by_risk.unwrap();
        assert_eq!((by_risk.risky_states_share, by_risk.changed_share_risky), (0.75, Some(0.0)));
        assert_eq!(by_risk.changed_share_other, Some(1.0));
        let empty = statistics.finish_interval(&clock, 4, None);
        assert_eq!((empty.sigma, empty.effective_exploration_share, empty.by_risk), (None, None, None));
    }
}
