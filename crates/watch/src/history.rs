//! A run's whole history in buckets, read once and then followed line by line.

use crate::buckets::Buckets;
use crate::fence::Fence;
use crate::tail::{News, Tail};
use sane_record::{Event, IntervalFinished, RunStarted, Shares, StopReason, Timing, event_kind};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// What is drawn over interactions.
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
    /// Loss.
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
pub struct Process {
    started_unix: u64,
    from_interactions: u64,
    threads: u64,
    version: String,
    machine: Option<String>,
    stopped_unix: Option<u64>,
    reason: Option<StopReason>,
}

/// What the records of a run say.
#[derive(Debug, Clone, Default, Serialize)]
pub struct History {
    /// Its curves.
    pub series: Series,
    started: Option<RunStarted>,
    last_interval: Option<IntervalFinished>,
    processes: Vec<Process>,
    shares: Option<Shares>,
    resident_bytes: Option<u64>,
    /// Lines that are no records.
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
    /// One of them.
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
    /// Reads what is new in the run's folder.
    pub fn follow(&mut self, fence: &Fence, folder: &Path) {
        let mut tail = std::mem::take(&mut self.events);
        tail.follow(fence, &folder.join("events.jsonl"), |news| self.take_event(news));
        self.events = tail;
        let mut tail = std::mem::take(&mut self.timings);
        tail.follow(fence, &folder.join("timings.jsonl"), |news| self.take_timing(news));
        self.timings = tail;
    }

    fn take_event(&mut self, news: News<'_>) {
        let line = match news {
            News::Line(line) => line,
            News::Anew => {
                let speed = std::mem::take(&mut self.series.speed);
                self.series = Series { speed, ..Series::default() };
                (self.started, self.last_interval) = (None, None);
                return;
            }
        };
        // Most lines are episodes; the rest of one is left unread.
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

    fn take_timing(&mut self, news: News<'_>) {
        let line = match news {
            News::Line(line) => line,
            News::Anew => {
                self.series.speed = Buckets::default();
                self.processes.clear();
                (self.shares, self.resident_bytes) = (None, None);
                return;
            }
        };
        match serde_json::from_slice(line) {
            Ok(Timing::ProcessStarted { unix_seconds, from_interactions, threads, version }) => {
                let process =
                    Process { started_unix: unix_seconds, from_interactions, threads, version, ..Process::default() };
                self.processes.push(process);
            }
            Ok(Timing::Machine { processor, logical_cores, .. }) => {
                if let Some(process) = self.processes.last_mut() {
                    process.machine = Some(format!("{processor}, {logical_cores} logical cores"));
                }
            }
            Ok(Timing::Speed { interactions, interactions_per_second, resident_bytes, share }) => {
                // A resumed run goes back a little; its new speeds count on from there.
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
    fn a_resumed_run_is_read_anew_where_it_was_cut_back() {
        let folder = tempfile::tempdir().unwrap();
        let fence = Fence::around(&[folder.path().into()]).unwrap();
        let mut history = History::default();
        let mut after = |text: &str| {
            fs::write(folder.path().join("events.jsonl"), text).unwrap();
            history.follow(&fence, folder.path());
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
        history.follow(&Fence::around(&[folder.path().into()]).unwrap(), folder.path());
        let returns = serde_json::to_value(&history.series).unwrap()["return"].clone();
        let count = returns["x"].as_array().unwrap().len();
        assert!((200..=480).contains(&count), "{count}");
        assert_eq!(returns["x"][count - 1], 370_000);
    }
}
