//! A run's whole history in buckets: read once, then followed line by line.

use crate::buckets::{Buckets, Drawn};
use crate::clock::{Axis, Clock};
use crate::path_guard::PathGuard;
use crate::tail::{Tail, Update};
use sane_record::{
    EVALUATIONS_IN_TRAINING, EvaluatedWhileTraining, Event, IntervalFinished, RunStarted, Shares, StopReason, Timing,
    event_kind,
};
use sane_stats::{percentile_interval, resampled_means};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Histories kept, each of about a hundred kilobytes; the least recently requested one is dropped first. More than the
/// paper's suite has runs, so that a comparison of all of them is read once.
const MOST_HISTORIES: usize = 256;

/// Processes of a run that are shown; a run that was interrupted more often shows the last ones.
const MOST_PROCESSES: usize = 200;

/// Resamplings behind the interval of an evaluation, and the shares at which its ends lie.
const RESAMPLINGS: usize = 1_000;
const TAILS: [f64; 2] = [0.025, 0.975];

/// An evaluation while training plays a few episodes; of one with more than this, the mean alone is drawn.
const MOST_RETURNS: usize = 1_000;

/// More than a chart resolves.
const MOST_EVALUATIONS: usize = 2_000;

/// A quantity drawn over interactions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
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
    /// Mean return of the evaluations made while training.
    Evaluation,
}

const QUANTITIES: [(&str, Quantity); 8] = [
    ("curve", Quantity::Curve),
    ("return", Quantity::Return),
    ("sigma", Quantity::Sigma),
    ("exploration", Quantity::Exploration),
    ("loss", Quantity::Loss),
    ("q", Quantity::Q),
    ("speed", Quantity::Speed),
    ("evaluation", Quantity::Evaluation),
];

/// Every quantity of a run, in buckets.
#[derive(Debug, Clone, Default)]
struct Series {
    curve: Buckets,
    returns: Buckets,
    sigma: Buckets,
    exploration: Buckets,
    loss: Buckets,
    q: Buckets,
    speed: Buckets,
    /// The range of a point is its 95 % interval.
    evaluation: Buckets,
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
    #[serde(skip)]
    series: Series,
    started: Option<RunStarted>,
    last_interval: Option<IntervalFinished>,
    processes: Vec<ProcessRecord>,
    shares: Option<Shares>,
    resident_bytes: Option<u64>,
    /// The evaluation while training that no other one exceeds.
    best_evaluation: Option<BestEvaluation>,
    /// Lines that could not be parsed.
    bad_lines: u64,
    /// By interactions: a resumed run repeats some of them.
    #[serde(skip)]
    evaluated: BTreeMap<u64, EvaluatedWhileTraining>,
    #[serde(skip)]
    evaluations_changed: bool,
    #[serde(skip)]
    clocks: Clocks,
    #[serde(skip)]
    events: Tail,
    #[serde(skip)]
    timings: Tail,
    #[serde(skip)]
    evaluations: Tail,
}

/// The evaluation whose checkpoint is kept as the best.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
struct BestEvaluation {
    interactions: u64,
    mean: f64,
    episodes: u64,
}

/// What the interactions of a run are in other units.
#[derive(Debug, Clone, Default)]
struct Clocks {
    frames: Clock,
    episodes: Clock,
    seconds: Clock,
    /// Interactions up to which the seconds are known.
    timed_to: u64,
}

/// The part of an episode that is drawn.
#[derive(Deserialize)]
struct EpisodeLine {
    interactions: u64,
    #[serde(default)]
    episode: u64,
    return_raw: f64,
    return_mean_last_100: f64,
}

impl Series {
    fn of(&self, quantity: Quantity) -> &Buckets {
        match quantity {
            Quantity::Curve => &self.curve,
            Quantity::Return => &self.returns,
            Quantity::Sigma => &self.sigma,
            Quantity::Exploration => &self.exploration,
            Quantity::Loss => &self.loss,
            Quantity::Q => &self.q,
            Quantity::Speed => &self.speed,
            Quantity::Evaluation => &self.evaluation,
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
        let mut tail = std::mem::take(&mut self.evaluations);
        tail.follow(guard, &folder.join(EVALUATIONS_IN_TRAINING), |update| self.take_evaluation(update));
        self.evaluations = tail;
        self.draw_evaluations();
    }

    /// Where a point after so many interactions is drawn; none if the other unit is not known there (yet).
    pub fn place(&self, axis: Axis, interactions: u64) -> Option<f64> {
        match axis {
            Axis::Interactions => Some(interactions as f64),
            Axis::Frames => self.clocks.frames.at(interactions),
            Axis::Seconds => self.clocks.seconds.at(interactions),
            Axis::Episodes => self.clocks.episodes.at(interactions),
        }
    }

    /// A quantity over `axis`.
    pub fn drawn_one(&self, quantity: Quantity, axis: Axis) -> Drawn {
        self.series.of(quantity).over(|x| self.place(axis, x))
    }

    /// Every quantity over `axis`, by the name it has in requests.
    pub fn drawn(&self, axis: Axis) -> BTreeMap<&'static str, Drawn> {
        QUANTITIES.map(|(name, quantity)| (name, self.drawn_one(quantity, axis))).into()
    }

    fn take_event(&mut self, update: Update<'_>) {
        let line = match update {
            Update::Line(line) => line,
            Update::Restarted => {
                let (speed, evaluation) =
                    (std::mem::take(&mut self.series.speed), std::mem::take(&mut self.series.evaluation));
                self.series = Series { speed, evaluation, ..Series::default() };
                (self.clocks.frames, self.clocks.episodes) = (Clock::default(), Clock::default());
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
                    self.clocks.episodes.add(episode.interactions, episode.episode as f64);
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
        self.clocks.frames.add(x, interval.frames as f64);
        self.clocks.episodes.add(x, interval.episodes as f64);
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
                (self.clocks.seconds, self.clocks.timed_to) = (Clock::default(), 0);
                (self.shares, self.resident_bytes) = (None, None);
                return;
            }
        };
        match serde_json::from_slice(line) {
            Ok(Timing::ProcessStarted { unix_seconds, from_interactions, threads, version, .. }) => {
                self.clocks.seconds.cut(from_interactions);
                self.clocks.timed_to = from_interactions;
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
                self.clocks.time(interactions, interactions_per_second);
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

impl History {
    fn take_evaluation(&mut self, update: Update<'_>) {
        self.evaluations_changed = true;
        let Update::Line(line) = update else {
            self.evaluated.clear();
            return;
        };
        match serde_json::from_slice::<EvaluatedWhileTraining>(line) {
            Ok(mut found) => {
                // Kept are its few returns; of a file made to harm, neither many lines nor long ones.
                found.returns.truncate(MOST_RETURNS + 1);
                found.returns.shrink_to_fit();
                self.evaluated.insert(found.interactions, found);
                if MOST_EVALUATIONS < self.evaluated.len() {
                    self.evaluated.pop_first();
                }
            }
            Err(_) => self.bad_lines += 1,
        }
    }

    fn draw_evaluations(&mut self) {
        if !std::mem::take(&mut self.evaluations_changed) {
            return;
        }
        self.series.evaluation = Buckets::default();
        for found in self.evaluated.values() {
            let [low, high] = interval(&found.returns).unwrap_or([found.mean; 2]);
            self.series.evaluation.add_range(found.interactions, found.mean, low, high);
        }
        self.best_evaluation = self.evaluated.values().rfind(|found| found.best).map(|found| BestEvaluation {
            interactions: found.interactions,
            mean: found.mean,
            episodes: found.episodes,
        });
    }
}

impl Clocks {
    fn time(&mut self, interactions: u64, per_second: f64) {
        if self.timed_to < interactions && 0.0 < per_second {
            let seconds = (interactions - self.timed_to) as f64 / per_second;
            self.seconds.add(interactions, self.seconds.last().1 + seconds);
        }
        self.timed_to = interactions;
    }
}

/// The 95 % interval of the mean, by bootstrap with draws that are the same each time.
fn interval(returns: &[f64]) -> Option<[f64; 2]> {
    if returns.len() < 2 || MOST_RETURNS < returns.len() || !returns.iter().all(|value| value.is_finite()) {
        return None;
    }
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    let below = |count: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 33) as usize % count
    };
    Some(percentile_interval(resampled_means(returns, RESAMPLINGS, below), TAILS))
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
            let drawn = history.drawn_one(Quantity::Return, Axis::Interactions);
            (drawn.x.into_iter().zip(drawn.mean).collect::<Vec<_>>(), history.bad_lines)
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
        let returns = serde_json::to_value(history.drawn(Axis::Interactions)).unwrap()["return"].clone();
        let count = returns["x"].as_array().unwrap().len();
        assert!((200..=480).contains(&count), "{count}");
        assert_eq!(returns["x"][count - 1], 370_000);
    }

    #[test]
    fn evaluations_while_training_have_an_interval_and_the_last_of_repeated_ones_counts() {
        let folder = tempfile::tempdir().unwrap();
        let line = |interactions: u64, returns: &[f64], best: bool| {
            let (mean, episodes) = (returns.iter().sum::<f64>() / returns.len() as f64, returns.len() as u64);
            let record = EvaluatedWhileTraining { interactions, episodes, mean, returns: returns.to_vec(), best };
            serde_json::to_string(&record).unwrap() + "\n"
        };
        let text = [
            line(100, &[1.0, 2.0, 3.0], true),
            line(200, &[9.0, 9.0], true),
            // Stopped without a checkpoint, the run resumed from 100 and evaluates again.
            line(200, &[4.0, 6.0], true),
            line(300, &[2.0], false),
            "{\"interactions\":400,\"mean\":null}\n{\"inter".to_owned(),
        ];
        fs::write(folder.path().join(EVALUATIONS_IN_TRAINING), text.concat()).unwrap();
        let mut history = History::default();
        history.follow(&PathGuard::new(&[folder.path().into()]).unwrap(), folder.path());
        let drawn = &history.drawn(Axis::Interactions)["evaluation"];
        assert_eq!((&drawn.x[..], &drawn.mean[..]), (&[100.0, 200.0, 300.0][..], &[2.0, 5.0, 2.0][..]));
        assert!(1.0 <= drawn.low[0] && drawn.low[0] < 2.0 && 2.0 < drawn.high[0] && drawn.high[0] <= 3.0);
        assert_eq!((drawn.low[2], drawn.high[2], history.bad_lines), (2.0, 2.0, 1));
        assert_eq!(history.best_evaluation, Some(BestEvaluation { interactions: 200, mean: 5.0, episodes: 2 }));
    }

    #[test]
    fn curves_are_drawn_over_frames_episodes_and_seconds_of_training() {
        let folder = tempfile::tempdir().unwrap();
        let interval = |interactions: u64| {
            format!(
                "{{\"event\":\"interval_finished\",\"interactions\":{interactions},\"frames\":{},\"episodes\":{},\
                 \"train_steps\":0,\"replay_transitions\":0,\"loss_mean\":1.0}}\n",
                4 * interactions,
                interactions / 50
            )
        };
        fs::write(folder.path().join("events.jsonl"), [interval(100), interval(200), interval(300)].concat()).unwrap();
        let start = |from: u64| {
            format!(
                "{{\"timing\":\"process_started\",\"unix_seconds\":1,\"from_interactions\":{from},\"threads\":1,\
                 \"version\":\"\"}}\n"
            )
        };
        let speed = |interactions: u64, per_second: f64| {
            let share = serde_json::to_string(&Shares::default()).unwrap();
            format!(
                "{{\"timing\":\"speed\",\"interactions\":{interactions},\"interactions_per_second\":{per_second},\
                 \"resident_bytes\":1,\"share\":{share}}}\n"
            )
        };
        // Killed after 200, resumed from 100: those hundred interactions count once.
        let timings =
            [start(0), speed(100, 100.0), speed(200, 1.0), start(100), speed(200, 50.0), speed(300, 50.0)].concat();
        fs::write(folder.path().join("timings.jsonl"), timings).unwrap();
        let mut history = History::default();
        history.follow(&PathGuard::new(&[folder.path().into()]).unwrap(), folder.path());
        let places = |axis: Axis| history.drawn_one(Quantity::Loss, axis).x;
        assert_eq!(places(Axis::Interactions), [100.0, 200.0, 300.0]);
        assert_eq!(places(Axis::Frames), [400.0, 800.0, 1200.0]);
        assert_eq!(places(Axis::Episodes), [2.0, 4.0, 6.0]);
        assert_eq!(places(Axis::Seconds), [1.0, 3.0, 5.0]);
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
