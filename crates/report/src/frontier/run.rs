//! A run's part of the frontier, read from its records: the end of its training.

use crate::ReportError;
use crate::recorded_run::{RecordedRun, read_run_config};
use sane_record::{EpisodeFinished, Event, IntervalFinished, scan_jsonl};
use std::path::Path;

/// What a run did over the last part of its training.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FrontierRun {
    /// What it was: its folder, its settings, how far it came.
    pub recorded: RecordedRun,
    /// Interactions measured.
    pub interactions: u64,
    /// Share of them whose action was exploratory.
    pub changed_share: f64,
    /// The same among risky states, and among the others, in worlds that know their true risk.
    pub changed_risky: Option<f64>,
    pub changed_other: Option<f64>,
    /// Bad episodes, or lost lives where the world has no criterion, per 1,000 interactions.
    pub harms_per_1000: f64,
    /// Mean return of the episodes that ended.
    pub return_mean: Option<f64>,
    /// Of those episodes.
    pub episodes: u64,
}

/// Reads the run in `folder`, over the last part of its budget (`last` of 1 is all of it); refuses one that has not reached
/// its budget, since its last part is not that of the others.
pub fn read_frontier_run(folder: &Path, last: f64) -> Result<FrontierRun, ReportError> {
    let mut recorded = read_run_config(folder)?;
    let budget = recorded.budget_interactions;
    let from = budget - (budget as f64 * last).round() as u64;
    let mut sums = Sums { from, ..Sums::default() };
    let events = folder.join("events.jsonl");
    scan_jsonl(&events, |line| {
        match serde_json::from_slice(line)? {
            Event::RunStarted(started) => sums.actions = started.actions.len(),
            Event::IntervalFinished(interval) => sums.interval(&interval),
            Event::EpisodeFinished(episode) => sums.episode(&episode),
            Event::RunFinished(finished) => sums.reached = finished.interactions,
            Event::EvaluationFinished(_) => {}
        }
        Ok(())
    })?;
    let unusable = |reason: String| ReportError::Unusable { path: folder.into(), reason };
    recorded.reached_interactions = sums.reached;
    if sums.reached < budget {
        let reached = sums.reached;
        return Err(unusable(format!("it has reached {reached} of its {budget} interactions")));
    }
    let Some(changed_share) = ratio(sums.changed, sums.measured) else {
        return Err(unusable(format!(
            "its records hold no share of exploratory actions after interaction {from}; a smaller record.interval keeps some"
        )));
    };
    let interactions = sums.reached - from;
    // Lost lives are known to the end of the last interval, which need not be that of the run.
    let (harms, watched) = match sums.has_criterion {
        true => (sums.bad, interactions),
        false => (sums.lives_lost, sums.recorded.saturating_sub(from)),
    };
    Ok(FrontierRun {
        recorded,
        interactions,
        changed_share,
        changed_risky: ratio(sums.changed_risky, sums.risky),
        changed_other: ratio(sums.changed_other, sums.other),
        harms_per_1000: 1000.0 * harms / watched.max(1) as f64,
        return_mean: ratio(sums.returns, sums.episodes as f64),
        episodes: sums.episodes,
    })
}

/// Sums over the measured part; shares of an interval that begins before it count by their overlap.
#[derive(Debug, Default)]
struct Sums {
    from: u64,
    actions: usize,
    /// How far the run has come.
    reached: u64,
    /// How far its intervals have.
    recorded: u64,
    measured: f64,
    changed: f64,
    risky: f64,
    changed_risky: f64,
    other: f64,
    changed_other: f64,
    lives_lost: f64,
    bad: f64,
    has_criterion: bool,
    returns: f64,
    episodes: u64,
}

impl Sums {
    fn interval(&mut self, interval: &IntervalFinished) {
        let begin = self.recorded.max(self.from);
        let whole = interval.interactions.saturating_sub(self.recorded).max(1) as f64;
        let weight = interval.interactions.saturating_sub(begin) as f64;
        self.recorded = interval.interactions;
        self.reached = self.reached.max(interval.interactions);
        if weight == 0.0 {
            return;
        }
        if let Some(share) = interval.changed_action_share.or_else(|| self.older_share(interval)) {
            self.measured += weight;
            self.changed += share * weight;
        }
        if let Some(by_risk) = interval.by_risk {
            let risky = by_risk.risky_states_share * weight;
            self.risky += risky;
            self.other += weight - risky;
            self.changed_risky += by_risk.changed_share_risky.unwrap_or(0.0) * risky;
            self.changed_other += by_risk.changed_share_other.unwrap_or(0.0) * (weight - risky);
        }
        self.lives_lost += interval.lives_lost.unwrap_or(0) as f64 * weight / whole;
    }

    /// Records from before the share was measured: of uniformly random actions, one of all is the greedy one.
    fn older_share(&self, interval: &IntervalFinished) -> Option<f64> {
        let share = interval.effective_exploration_share?;
        let by_chance = interval.epsilon.is_some() && 0 < self.actions;
        Some(if by_chance { share * (1.0 - 1.0 / self.actions as f64) } else { share })
    }

    fn episode(&mut self, episode: &EpisodeFinished) {
        if episode.interactions <= self.from {
            return;
        }
        self.episodes += 1;
        self.returns += episode.return_raw;
        self.has_criterion |= episode.bad.is_some();
        self.bad += f64::from(u8::from(episode.bad == Some(true)));
    }
}

fn ratio(sum: f64, count: f64) -> Option<f64> {
    (0.0 < count).then(|| sum / count)
}
