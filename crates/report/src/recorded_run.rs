//! A run as read from its folder: what it was, how far it came, its curve, its evaluations, its machine.
//!
//! Events are not kept. Lines of episodes are skipped unparsed, since interval records carry the same curve; a gigabyte of
//! events is read in about a second.

use crate::ReportError;
use crate::set_aside::SetAside;
use crate::settings::{self, Settings};
use sane_record::{
    EvaluatedWhileTraining, EvaluationFinished, Event, IntervalFinished, ModuleHealth, RecordError, RunFinished,
    RunOrigin, RunSearch, RunStarted, SCHEMA_VERSION, SigmaRange, Timing, event_kind, read_evaluations_in_training,
    read_plain_text, scan_jsonl,
};
use serde::Deserialize;
use std::fs;
use std::path::{Path, PathBuf};

/// A larger file is neither a configuration nor a manifest.
const LARGEST_TEXT_BYTES: u64 = 64 << 20;

/// A run read from its folder.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RecordedRun {
    /// As found.
    pub folder: PathBuf,
    pub world: String,
    pub agent: String,
    pub seed: u64,
    /// Interactions configured.
    pub budget_interactions: u64,
    /// Interactions of its last record.
    pub reached_interactions: u64,
    /// Of its last record.
    pub episodes: u64,
    /// Whether it reached its budget.
    pub finished: bool,
    /// Whether the last line of its events was torn.
    pub torn: bool,
    /// Its resolved configuration.
    pub settings: Settings,
    /// Where its settings and its program come from; none for older runs.
    pub origin: Option<RunOrigin>,
    /// Why a run that was stopped and resumed may differ from one never interrupted; none where it never does.
    pub not_bit_exact: Option<String>,
    /// Trainable parameters of its network; 0 before its first record.
    pub parameters: u64,
    /// Whether its records show random actions (ε) and no σ: its policy has no noise that could be switched on.
    pub explores_by_chance: bool,
    /// One point per interval record.
    pub points: Vec<Point>,
    /// Mean return of the last 100 episodes at the end of a finished run.
    pub final_return: Option<f64>,
    /// The perturbation module in its last interval.
    pub module: Option<ModuleHealth>,
    /// In the order they were made.
    pub evaluations: Vec<RecordedEvaluation>,
    /// Made while it trained, in order of interactions.
    pub in_training: Vec<EvaluatedWhileTraining>,
    pub process: ProcessSummary,
    /// Digest of the complete state at the end of a finished run, as `sane runs hash` prints it.
    pub digest: Option<String>,
    /// BLAKE3 of `events.jsonl`, in hexadecimal; empty before its first record.
    pub events_digest: String,
}

/// An evaluation of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedEvaluation {
    pub result: EvaluationFinished,
    /// Whether it was stopped before it had played as many interactions as it was asked for.
    pub partial: bool,
}

/// The part of an interval record that curves need.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Point {
    pub interactions: u64,
    /// Mean return of the last 100 episodes.
    pub return_mean: Option<f64>,
    /// |σ| of the states acted in.
    pub sigma: Option<SigmaRange>,
    /// Share of interactions in which exploration changed the action.
    pub exploration: Option<f64>,
}

/// The processes that worked on a run: versions, machines, speed.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ProcessSummary {
    /// Of the program, in order of appearance.
    pub versions: Vec<String>,
    /// Processors, in order of appearance.
    pub machines: Vec<String>,
    /// Worker threads of the last process.
    pub threads: Option<u64>,
    /// Mean over all recorded intervals.
    pub interactions_per_second: Option<f64>,
    /// Sum over all recorded intervals.
    pub seconds: f64,
    /// Number of processes.
    pub starts: usize,
}

impl RecordedRun {
    /// World, agent and seed, as sentences name the run.
    pub fn name(&self) -> String {
        format!("{} {} seed {}", self.world, self.agent, self.seed)
    }

    /// Whether its perturbation module gave every state the same σ in the last interval: it is no longer state-aware.
    pub fn has_dead_module(&self) -> bool {
        // The spread of equal numbers is not 0 but a rounding error.
        let rounding = 1e-6;
        // Agents with one σ for all states have no module that could die.
        let has_module = self.settings.keys().any(|key| key.starts_with("learner.exploration.module."));
        has_module
            && self.module.is_some_and(|module| {
                module.live_units_share <= 0.0 || module.sigma_spread_abs <= rounding * module.sigma_mean_abs
            })
    }

    /// The share of states in which its module was off in the last interval, if that is most of them.
    pub fn mostly_constant_sigma(&self) -> Option<f64> {
        let share = self.module?.dead_states_share?;
        (0.5 < share && !self.has_dead_module()).then_some(share)
    }
}

/// Every run folder at or below `folders`, each once, in order of path; runs moved aside are left out unless named.
pub fn find_runs(folders: &[PathBuf]) -> Result<Vec<PathBuf>, ReportError> {
    Ok(search_runs(folders)?.0)
}

/// As [`find_runs`], and the folders that could not be searched.
pub fn search_runs(folders: &[PathBuf]) -> Result<(Vec<PathBuf>, Vec<SetAside>), ReportError> {
    let found = RunSearch::default().find(folders)?;
    if found.folders.is_empty() {
        return Err(ReportError::NoRuns { folders: folders.to_vec() });
    }
    let unreadable = found.unreadable.iter().map(|error| {
        let folder = match error {
            RecordError::Io { path, .. } => path.display().to_string(),
            _ => String::new(),
        };
        SetAside { folder, reason: error.to_string() }
    });
    Ok((found.folders.into_values().collect(), unreadable.collect()))
}

/// Reads the run in `folder`, which need not have written any record yet.
pub fn read_run(folder: &Path) -> Result<RecordedRun, ReportError> {
    let mut run = read_run_config(folder)?;
    let [events, evaluations, timings] =
        ["events.jsonl", "evaluations.jsonl", "timings.jsonl"].map(|name| folder.join(name));
    if events.exists() {
        read_events(&events, &mut run)?;
    }
    if evaluations.exists() {
        scan_jsonl(&evaluations, |line| {
            if let Event::EvaluationFinished(result) = serde_json::from_slice(line)? {
                let Mark { partial } = serde_json::from_slice(line)?;
                run.evaluations.push(RecordedEvaluation { result, partial: partial == Some(true) });
            }
            Ok(())
        })?;
    }
    run.in_training = read_evaluations_in_training(folder)?.records;
    if timings.exists() {
        run.process = read_timings(&timings)?;
    }
    Ok(run)
}

/// The mark of an evaluation that was stopped early.
#[derive(Deserialize)]
struct Mark {
    #[serde(default)]
    partial: Option<bool>,
}

/// Reads the configuration of the run in `folder` and none of its records.
pub fn read_run_config(folder: &Path) -> Result<RecordedRun, ReportError> {
    let config = folder.join("config.toml");
    let text = read_plain_text(&config, LARGEST_TEXT_BYTES).map_err(ReportError::io("read", &config))?;
    let mut run = of_settings(folder, settings::parse(&text, &config)?)?;
    run.origin = RunOrigin::read(folder)?;
    Ok(run)
}

fn of_settings(folder: &Path, settings: Settings) -> Result<RecordedRun, ReportError> {
    let missing = |key: &str| ReportError::Config { path: folder.join("config.toml"), reason: format!("no key {key}") };
    let text = |key: &str| settings.get(key).cloned().ok_or_else(|| missing(key));
    let number = |key: &str| text(key)?.parse::<u64>().map_err(|_| missing(key));
    Ok(RecordedRun {
        folder: folder.into(),
        world: text("world.name")?,
        agent: text("agent")?,
        seed: number("seed")?,
        budget_interactions: number("training.total_interactions")?,
        settings,
        ..RecordedRun::default()
    })
}

fn read_events(path: &Path, run: &mut RecordedRun) -> Result<(), ReportError> {
    let mut started: Option<RunStarted> = None;
    let mut digest = blake3::Hasher::new();
    let sealed = sealed_events(&run.folder);
    let mut unaltered = sealed.as_ref().is_none_or(|sealed| sealed.bytes == 0);
    let scan = scan_jsonl(path, |line| {
        digest.update(line);
        if let Some(sealed) = sealed.as_ref().filter(|sealed| sealed.bytes == digest.count()) {
            unaltered = digest.finalize().to_hex().as_str() == sealed.blake3;
        }
        match event_kind(line) {
            Some("episode_finished") if line.ends_with(b"}\n") => {}
            Some("interval_finished") => take_interval(run, &serde_json::from_slice(line)?),
            _ => match serde_json::from_slice(line)? {
                Event::RunStarted(event) => started = Some(event),
                Event::IntervalFinished(event) => take_interval(run, &event),
                Event::RunFinished(event) => take_finished(run, &event),
                // Their own file is read.
                Event::EvaluationFinished(_) | Event::EpisodeFinished(_) => {}
            },
        }
        Ok(())
    })?;
    if let Some(sealed) = sealed.filter(|_| !unaltered) {
        return Err(RecordError::Altered { path: path.into(), bytes: sealed.bytes }.into());
    }
    run.torn = scan.torn;
    if 0 < scan.lines {
        run.events_digest = digest.finalize().to_hex().to_string();
    }
    match started {
        Some(started) => check_started(path, run, &started),
        None => Ok(()),
    }
}

/// What the newest checkpoint says about `events.jsonl`.
#[derive(Debug, Deserialize)]
struct SealedRecord {
    name: String,
    bytes: u64,
    blake3: String,
}

/// The length and digest of the events at the run's newest checkpoint; none if there is none, or it cannot be read.
fn sealed_events(folder: &Path) -> Option<SealedRecord> {
    #[derive(Deserialize)]
    struct Manifest {
        records: Vec<SealedRecord>,
    }
    let is_manifest = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("checkpoint-") && name.ends_with(".toml")
    };
    let entries = fs::read_dir(folder.join("checkpoints")).ok()?.flatten().map(|entry| entry.path());
    let text = read_plain_text(&entries.filter(is_manifest).max()?, LARGEST_TEXT_BYTES).ok()?;
    let manifest: Manifest = toml::from_str(&text).ok()?;
    manifest.records.into_iter().find(|record| record.name == "events.jsonl")
}

fn check_started(path: &Path, run: &mut RecordedRun, started: &RunStarted) -> Result<(), ReportError> {
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

fn take_interval(run: &mut RecordedRun, interval: &IntervalFinished) {
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

fn take_finished(run: &mut RecordedRun, finished: &RunFinished) {
    run.reached_interactions = finished.interactions;
    run.episodes = finished.episodes;
    // A finished run may be resumed with a larger budget; it is finished again once it has reached that.
    run.finished = run.budget_interactions <= finished.interactions;
    run.final_return = finished.return_mean_last_100.filter(|_| run.finished);
    run.digest = finished.digest.clone().filter(|_| run.finished);
}

fn read_timings(path: &Path) -> Result<ProcessSummary, ReportError> {
    let mut process = ProcessSummary::default();
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
