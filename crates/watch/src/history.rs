//! A run's whole history in buckets: read once, then followed line by line.

use crate::buckets::Buckets;
use crate::path_guard::PathGuard;
use crate::tail::{Tail, Update};
use sane_record::{Event, IntervalFinished, RunStarted, Shares, StopReason, Timing, event_kind};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Histories kept; the least recently requested one is dropped first.
const MOST_HISTORIES: usize = 96;

/// Processes of a run that are shown; a run that was interrupted more often shows the last ones.
const MOST_PROCESSES: usize = 200;

/// A quantity drawn over interactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// Mean of the last 100 returns.
    Curve,
    /// Return of each episode.
    Return,
    /// |σ| of the states acted in.
    Sigma,
    /// Share of interactions in which exploration changed the action.
    Exploration,
    Loss,
    /// Q of the actions taken.
    Q,
    /// Interactions per second.
    Speed,
}

/// Every quantity of a run, in buckets.
#[derive(Debug, Clone, Default, Serialize)]
pub struct Series {
    curve: Buckets,
    #[serde(rename = "return")]
    returns: Buckets,
    sigma: Buckets,
    exploration: Buckets,
    loss: Buckets,
    q: Buckets,
    speed: Buckets,
}

/// One process that worked on the run.
#[derive(Debug, Clone, Default, Serialize)]
pub struct ProcessRecord {
    started_unix: u64,
    from_interactions: u64,
    threads: u64,
    version: String,
    machine: Option<String>,
    stopped_unix: Option<u64>,
    reason: Option<StopReason>,
}

/// Everything the page shows of the records of a run.
#[derive(Debug, Clone, Default, Serialize)]
pub struct History {
    pub series: Series,
    started: Option<RunStarted>,
    last_interval: Option<IntervalFinished>,
    processes: Vec<ProcessRecord>,
    shares: Option<Shares>,
    resident_bytes: Option<u64>,
    /// Lines that could not be parsed.
    bad_lines: u64,
    #[serde(skip)]
    events: Tail,
    #[serde(skip)]
    timings: Tail,
}

/// The part of an episode that is drawn.
#[derive(Deserialize)]
struct EpisodeLine {
    interactions: u64,
    return_raw: f64,
    return_mean_last_100: f64,
}

impl Series {
    pub fn of(&self, quantity: Quantity) -> &Buckets {
        match quantity {
            Quantity::Curve => &self.curve,
            Quantity::Return => &self.returns,
            Quantity::Sigma => &self.sigma,
            Quantity::Exploration => &self.exploration,
            Quantity::Loss => &self.loss,
            Quantity::Q => &self.q,
            Quantity::Speed => &self.speed,
        }
    }
}

impl History {
    /// Reads what was appended to the run's files since the last call.
    pub fn follow(&mut self, guard: &PathGuard, folder: &Path) {
        let mut tail = std::mem::take(&mut self.events);
        tail.follow(guard, &folder.join("events.jsonl"), |update| self.take_event(update));
        self.events = tail;
        let mut tail = std::mem::take(&mut self.timings);
        tail.follow(guard, &folder.join("timings.jsonl"), |update| self.take_timing(update));
        self.timings = tail;
    }

    fn take_event(&mut self, update: Update<'_>) {
        let line = match update {
            Update::Line(line) => line,
            Update::Restarted => {
                let speed = std::mem::take(&mut self.series.speed);
                self.series = Series { speed, ..Series::default() };
                (self.started, self.last_interval) = (None, None);
                return;
            }
        };
        // Most lines are episodes; only the fields of `EpisodeLine` are parsed.
        if event_kind(line) == Some("episode_finished") {
            match serde_json::from_slice::<EpisodeLine>(line) {
                Ok(episode) => {
                    self.series.returns.add(episode.interactions, episode.return_raw);
                    self.series.curve.add(episode.interactions, episode.return_mean_last_100);
                }
                Err(_) => self.bad_lines += 1,
            }
            return;
        }
        match serde_json::from_slice(line) {
            Ok(Event::RunStarted(started)) => self.started = Some(started),
            Ok(Event::IntervalFinished(interval)) => self.take_interval(interval),
            Ok(_) => {}
            Err(_) => self.bad_lines += 1,
        }
    }

    fn take_interval(&mut self, interval: IntervalFinished) {
        let (x, series) = (interval.interactions, &mut self.series);
        if let Some(sigma) = interval.sigma {
            series.sigma.add_range(x, sigma.mean_abs, sigma.min_abs, sigma.max_abs);
        }
        let known = [
            (&mut series.curve, interval.return_mean_last_100),
            (&mut series.exploration, interval.effective_exploration_share),
            (&mut series.loss, interval.loss_mean),
            (&mut series.q, interval.q_mean),
        ];
        for (buckets, value) in known {
            if let Some(value) = value {
                buckets.add(x, value);
            }
        }
        self.last_interval = Some(interval);
    }

    fn take_timing(&mut self, update: Update<'_>) {
        let line = match update {
            Update::Line(line) => line,
            Update::Restarted => {
                self.series.speed = Buckets::default();
                self.processes.clear();
                (self.shares, self.resident_bytes) = (None, None);
                return;
            }
        };
        match serde_json::from_slice(line) {
            Ok(Timing::ProcessStarted { unix_seconds, from_interactions, threads, version, .. }) => {
                if self.processes.len() == MOST_PROCESSES {
                    self.processes.remove(0);
                }
                self.processes.push(ProcessRecord {
                    started_unix: unix_seconds,
                    from_interactions,
                    threads,
                    version,
                    ..ProcessRecord::default()
                });
            }
            Ok(Timing::Machine { processor, logical_cores, .. }) => {
                if let Some(process) = self.processes.last_mut() {
                    process.machine = Some(format!("{processor}, {logical_cores} logical cores"));
                }
            }
            Ok(Timing::Speed { interactions, interactions_per_second, resident_bytes, share }) => {
                // A resumed run repeats some interactions; its new speeds are added to those buckets.
                self.series.speed.add(interactions, interactions_per_second);
                (self.shares, self.resident_bytes) = (Some(share), Some(resident_bytes));
            }
            Ok(Timing::ProcessStopped { unix_seconds, reason, .. }) => {
                if let Some(process) = self.processes.last_mut() {
                    (process.stopped_unix, process.reason) = (Some(unix_seconds), Some(reason));
                }
            }
            Err(_) => self.bad_lines += 1,
        }
    }
}

/// The histories of the runs requested lately. Reading one whole takes a moment, following it almost none.
#[derive(Debug, Default)]
pub struct Histories {
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    by_run: HashMap<String, (u64, Arc<Mutex<History>>)>,
    requests: u64,
}

impl Histories {
    /// Brings the history of this run up to date and passes it to `read`. Runs do not block each other.
    pub fn with<T>(&self, guard: &PathGuard, id: &str, folder: &Path, read: impl FnOnce(&History) -> T) -> T {
        let history = self.entry(id);
        let mut history = history.lock().unwrap_or_else(PoisonError::into_inner);
        history.follow(guard, folder);
        read(&history)
    }

    fn entry(&self, id: &str) -> Arc<Mutex<History>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        kept.requests += 1;
        let request = kept.requests;
        if !kept.by_run.contains_key(id) && MOST_HISTORIES <= kept.by_run.len() {
            let oldest = kept.by_run.iter().min_by_key(|(_, (when, _))| *when).map(|(id, _)| id.clone());
            oldest.map(|id| kept.by_run.remove(&id));
        }
        let entry = kept.by_run.entry(id.to_owned()).or_default();
        entry.0 = request;
        entry.1.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn line(interactions: u64, value: f64) -> String {
        format!(
            "{{\"event\":\"episode_finished\",\"interactions\":{interactions},\"return_raw\":{value},\
             \"return_mean_last_100\":{value}}}\n"
        )
    }

    #[test]
    fn a_run_that_was_cut_back_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let guard = PathGuard::new(&[folder.path().into()]).unwrap();
        let mut history = History::default();
        let mut after = |text: &str| {
            fs::write(folder.path().join("events.jsonl"), text).unwrap();
            history.follow(&guard, folder.path());
            let means: Vec<(f64, f64)> = history.series.of(Quantity::Return).means().collect();
            (means, history.bad_lines)
        };
        assert_eq!(after(&(line(1, 1.0) + "{\"event\":\"epi")), (vec![(1.0, 1.0)], 0));
        assert_eq!(after(&(line(1, 1.0) + &line(2, 5.0))), (vec![(1.0, 1.0), (2.0, 5.0)], 0));
        assert_eq!(after(&line(1, 1.0)), (vec![(1.0, 1.0)], 0));
        assert_eq!(after(&(line(1, 1.0) + "not a record\n" + &line(3, 2.0))), (vec![(1.0, 1.0), (3.0, 2.0)], 1));
    }

    #[test]
    fn ten_thousand_episodes_stay_a_few_hundred_points() {
        let folder = tempfile::tempdir().unwrap();
        let text: String = (1..=10_000).map(|i| line(i * 37, (i % 100) as f64)).collect();
        fs::write(folder.path().join("events.jsonl"), text).unwrap();
        let mut history = History::default();
        history.follow(&PathGuard::new(&[folder.path().into()]).unwrap(), folder.path());
        let returns = serde_json::to_value(&history.series).unwrap()["return"].clone();
        let count = returns["x"].as_array().unwrap().len();
        assert!((200..=480).contains(&count), "{count}");
        assert_eq!(returns["x"][count - 1], 370_000);
    }

    #[test]
    fn the_least_recently_requested_run_is_dropped_first() {
        let folder = tempfile::tempdir().unwrap();
        let guard = PathGuard::new(&[folder.path().into()]).unwrap();
        let histories = Histories::default();
        for i in 0..MOST_HISTORIES {
            histories.with(&guard, &i.to_string(), folder.path(), |_| ());
        }
        histories.with(&guard, "0", folder.path(), |_| ());
        histories.with(&guard, "new", folder.path(), |_| ());
        let kept = &histories.kept.lock().unwrap().by_run;
        assert!(
            kept.len() == MOST_HISTORIES
                && kept.contains_key("0")
                && kept.contains_key("new")
                && !kept.contains_key("1")
        );
    }
}
