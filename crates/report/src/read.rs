//! Run folders: finding them, and reading one without keeping its events. Lines of episodes are passed over unread,
//! since interval records carry the same curve; that makes a gigabyte of events a matter of a second.

use crate::ReportError;
use crate::run::{Point, Process, Run};
use crate::settings;
use sane_record::{
    EvaluationFinished, Event, IntervalFinished, RunFinished, RunSearch, RunStarted, SCHEMA_VERSION, Timing,
    event_kind, scan_jsonl,
};
use std::fs;
use std::path::{Path, PathBuf};

/// Every folder at or below `folders` that holds a configuration or events, each once, in order of path.
pub fn find_runs(folders: &[PathBuf]) -> Result<Vec<PathBuf>, ReportError> {
    let found: Vec<PathBuf> = RunSearch::default().find(folders)?.into_values().collect();
    if found.is_empty() {
        return Err(ReportError::NoRuns { folders: folders.to_vec() });
    }
    Ok(found)
}

/// The run in `folder`. One that has not written anything yet is a run, too.
pub fn read_run(folder: &Path) -> Result<Run, ReportError> {
    let mut run = read_head(folder)?;
    let [events, evaluations, timings] =
        ["events.jsonl", "evaluations.jsonl", "timings.jsonl"].map(|name| folder.join(name));
    if events.exists() {
        read_events(&events, &mut run)?;
    }
    if evaluations.exists() {
        scan_jsonl(&evaluations, |line| {
            if let Event::EvaluationFinished(evaluation) = serde_json::from_slice(line)? {
                run.evaluations.push(evaluation);
            }
            Ok(())
        })?;
    }
    if timings.exists() {
        run.process = read_timings(&timings)?;
    }
    Ok(run)
}

/// The run in `folder` as its configuration says it is to be; none of its records is read.
pub fn read_head(folder: &Path) -> Result<Run, ReportError> {
    let config = folder.join("config.toml");
    let text = fs::read_to_string(&config).map_err(ReportError::io("read", &config))?;
    of_settings(folder, settings::parse(&text, &config)?)
}

fn of_settings(folder: &Path, settings: settings::Settings) -> Result<Run, ReportError> {
    let missing = |key: &str| ReportError::Config { path: folder.join("config.toml"), reason: format!("no key {key}") };
    let text = |key: &str| settings.get(key).cloned().ok_or_else(|| missing(key));
    let number = |key: &str| text(key)?.parse::<u64>().map_err(|_| missing(key));
    Ok(Run {
        folder: folder.into(),
        world: text("world.name")?,
        agent: text("agent")?,
        seed: number("seed")?,
        budget_interactions: number("training.total_interactions")?,
        settings,
        ..Run::default()
    })
}

fn read_events(path: &Path, run: &mut Run) -> Result<(), ReportError> {
    let mut started: Option<RunStarted> = None;
    let mut digest = blake3::Hasher::new();
    let scan = scan_jsonl(path, |line| {
        digest.update(line);
        match event_kind(line) {
            Some("episode_finished") if line.ends_with(b"}\n") => {}
            Some("interval_finished") => take_interval(run, &serde_json::from_slice(line)?),
            _ => match serde_json::from_slice(line)? {
                Event::RunStarted(event) => started = Some(event),
                Event::IntervalFinished(event) => take_interval(run, &event),
                Event::RunFinished(event) => take_finished(run, &event),
                Event::EvaluationFinished(event) => run.evaluations.push(event),
                Event::EpisodeFinished(_) => {}
            },
        }
        Ok(())
    })?;
    run.torn = scan.torn;
    if 0 < scan.lines {
        run.events_digest = digest.finalize().to_hex().to_string();
    }
    match started {
        Some(started) => check_started(path, run, &started),
        None => Ok(()),
    }
}

fn check_started(path: &Path, run: &mut Run, started: &RunStarted) -> Result<(), ReportError> {
    if started.schema_version != SCHEMA_VERSION {
        let (found, supported) = (started.schema_version, SCHEMA_VERSION);
        return Err(ReportError::Schema { path: path.into(), found, supported });
    }
    let events = format!("{} {} seed {}", started.world, started.agent, started.seed);
    if events != run.name() {
        return Err(ReportError::Mismatch { path: run.folder.clone(), events, config: run.name() });
    }
    run.parameters = started.parameters;
    run.not_bit_exact.clone_from(&started.not_bit_exact);
    Ok(())
}

fn take_interval(run: &mut Run, interval: &IntervalFinished) {
    run.reached_interactions = interval.interactions;
    run.episodes = interval.episodes;
    run.module = interval.module;
    run.explores_by_chance = interval.epsilon.is_some() && interval.sigma.is_none();
    run.points.push(Point {
        interactions: interval.interactions,
        return_mean: interval.return_mean_last_100,
        sigma: interval.sigma,
        exploration: interval.effective_exploration_share,
    });
}

fn take_finished(run: &mut Run, finished: &RunFinished) {
    run.reached_interactions = finished.interactions;
    run.episodes = finished.episodes;
    // A finished run may be continued with a larger budget; it is finished again when it has reached that.
    run.finished = run.budget_interactions <= finished.interactions;
    run.final_return = finished.return_mean_last_100.filter(|_| run.finished);
    run.digest = finished.digest.clone().filter(|_| run.finished);
}

fn read_timings(path: &Path) -> Result<Process, ReportError> {
    let mut process = Process::default();
    let (mut from, mut timed_interactions) = (0, 0);
    scan_jsonl(path, |line| {
        match serde_json::from_slice(line)? {
            Timing::ProcessStarted { from_interactions, threads, version, .. } => {
                from = from_interactions;
                process.threads = Some(threads);
                process.starts += 1;
                push_new(&mut process.versions, version);
            }
            Timing::Machine { processor, logical_cores, .. } => {
                push_new(&mut process.machines, format!("{processor}, {logical_cores} logical cores"));
            }
            Timing::Speed { interactions, interactions_per_second, .. } => {
                if from < interactions && 0.0 < interactions_per_second {
                    timed_interactions += interactions - from;
                    process.seconds += (interactions - from) as f64 / interactions_per_second;
                }
                from = interactions;
            }
            Timing::ProcessStopped { .. } => {}
        }
        Ok(())
    })?;
    process.interactions_per_second = (0.0 < process.seconds).then(|| timed_interactions as f64 / process.seconds);
    Ok(process)
}

fn push_new(list: &mut Vec<String>, text: String) {
    if !list.contains(&text) {
        list.push(text);
    }
}

/// The last evaluation of each kind stands for the run: same policy, measured again.
pub(crate) fn latest(
    evaluations: &[EvaluationFinished],
    wanted: impl Fn(&EvaluationFinished) -> bool,
) -> Option<&EvaluationFinished> {
    evaluations.iter().rev().find(|evaluation| wanted(evaluation))
}
