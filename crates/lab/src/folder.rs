//! A run on disk: its folder, how it is started, resumed, recorded, checkpointed and read.
//!
//! ```text
//! config.toml   the resolved configuration          events.jsonl       what happened, repeats bit for bit
//! lock, lease   held while a process trains it       timings.jsonl      what depends on clock and machine
//! checkpoints/  the last two, and the best          evaluations.jsonl  results of `sane eval`
//! film.bin      the newest recorded episode         tensorboard/       the same numbers for TensorBoard
//! origin.toml   preset, chosen settings, command    evaluations_in_training.jsonl
//! ```
//!
//! A new run begins with a checkpoint, before its first record: records without a checkpoint are those of a run that lost it,
//! and are never written over.

use crate::LabError;
use crate::checkpoint::{CheckpointStore, Entry, Keep, Loaded};
use crate::config::{RunConfig, differences, flat, from_toml, to_toml};
use crate::evaluate::Summary;
use crate::film::FilmRecorder;
use crate::identity::{FREE_KEYS, RunIdentity};
use crate::in_training::Evaluator;
use crate::lock::FolderLock;
use crate::machine::{machine, resident_bytes, unix_seconds};
use crate::observer::Observer;
use crate::run::{Digest, Run, Sections, encode, not_bit_exact};
use crate::set_aside::{MARKER, move_aside};
use crate::timer::Lap;
use crate::world::WorldSource;
use sane_agent::{Decision, LearnError};
use sane_env::{AgentSteps, WorldFault};
use sane_record::{
    Disk, EVALUATIONS_IN_TRAINING, EvaluatedWhileTraining, EvaluationFinished, Event, Histogram, HyperParameter,
    IntervalFinished, JsonlFile, ORIGIN_FILE, RealDisk, RecordError, RunOrigin, StopReason, TensorBoard, Timing,
    append_jsonl, digest_of_file, read_evaluations_in_training, read_plain_text, replace_file,
};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// The record that checkpoints cover.
const EVENTS: &str = "events.jsonl";

/// A larger file is no configuration.
const LARGEST_CONFIG_BYTES: u64 = 1 << 20;

/// What to do with a run that the folder already holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// Resume it.
    Resume,
    /// Move it aside and begin a new one.
    Fresh,
}

/// A run that was opened for training.
pub struct OpenRun {
    /// The run, at its beginning or where it stopped.
    pub run: Run,
    /// Its files.
    pub files: RunFiles,
    /// Messages for the user: where the old run was moved, what may differ after a resume.
    pub notes: Vec<String>,
    /// Damage that was found: checkpoints that cannot be used.
    pub warnings: Vec<String>,
}

/// The open files of a run.
pub struct RunFiles {
    checkpoints: CheckpointStore,
    journal: Journal,
    films: FilmRecorder,
    evaluator: Evaluator,
    saved_at: Option<AgentSteps>,
    lock: FolderLock,
}

/// The folder of a run unless `--out` names another: `runs/WORLD/AGENT/seed-SEED`.
pub fn default_folder(config: &RunConfig) -> PathBuf {
    Path::new("runs").join(&config.world.name).join(&config.agent).join(format!("seed-{}", config.seed))
}

/// Opens `folder` for training: a new run, or the existing one if its configuration is the same.
pub fn open_run(folder: &Path, config: &RunConfig, source: &WorldSource, start: Start) -> Result<OpenRun, LabError> {
    open_run_on(RealDisk::shared(), folder, config, source, start, None)
}

/// As [`open_run`]; a run that begins records where it comes from.
pub fn open_run_from(
    origin: &RunOrigin,
    folder: &Path,
    config: &RunConfig,
    source: &WorldSource,
    start: Start,
) -> Result<OpenRun, LabError> {
    open_run_on(RealDisk::shared(), folder, config, source, start, Some(origin))
}

/// As [`open_run`], writing to this disk.
pub(crate) fn open_run_on(
    disk: Arc<dyn Disk>,
    folder: &Path,
    config: &RunConfig,
    source: &WorldSource,
    start: Start,
    origin: Option<&RunOrigin>,
) -> Result<OpenRun, LabError> {
    config.check()?;
    let mut notes = Vec::new();
    disk.create_folder(folder).map_err(LabError::io("create", folder))?;
    let mut lock = FolderLock::acquire(folder)?;
    if start == Start::Fresh && holds_run(folder) {
        // The lock moves with the folder; a new one is taken in the new folder.
        drop(lock);
        let aside = move_aside(&*disk, folder)?;
        notes.push(format!("the old run is now in {}", aside.display()));
        disk.create_folder(folder).map_err(LabError::io("create", folder))?;
        lock = FolderLock::acquire(folder)?;
    }
    if folder.join("config.toml").exists() {
        let mut differences = differences(&read_config(folder)?, config);
        differences.retain(|key, _| !FREE_KEYS.contains(&key.as_str()));
        if !differences.is_empty() {
            return Err(LabError::OtherRun { path: folder.into(), differences });
        }
    }
    let world = source.make(config.seed)?;
    let not_bit_exact = not_bit_exact(&config.world, &*world);
    let identity = RunIdentity::of(config);
    let mut checkpoints = CheckpointStore::open(&folder.join("checkpoints"), identity, Arc::clone(&disk))?;
    let loaded = checkpoints.load_latest(config.replay.capacity, world.spec())?;
    let warnings = checkpoints.warnings();
    if loaded.is_none() {
        refuse_records_without_checkpoint(folder)?;
    }
    let records = loaded.as_ref().map(|loaded| loaded.records.clone()).unwrap_or_default();
    let (run, positions, saved_at) = match loaded {
        Some(Loaded { interactions, .. }) if config.training.total_interactions < interactions => {
            let (done, asked) = (interactions.0, config.training.total_interactions.0);
            return Err(LabError::AlreadyLonger { path: folder.into(), done, asked });
        }
        Some(Loaded { interactions, sections, replay, .. }) => {
            let sections = Sections(sections);
            let restored = sections
                .get("journal")
                .and_then(|positions: Positions| Ok((Run::restore(config, source, &sections, replay)?, positions)));
            let (mut run, positions) = restored.map_err(LabError::in_checkpoint(folder, interactions))?;
            run.resume()?;
            notes.extend(not_bit_exact.map(|why| format!("not bit-exact: {why}")));
            (run, positions, Some(interactions))
        }
        None => (Run::new(config, source)?, Positions::default(), None),
    };
    // The first change to the folder of a run that exists: until here it may be refused.
    let evaluates = 0 < config.training.evaluate_every.0;
    let mut journal = Journal::resume(&disk, folder, positions, &records, evaluates)?;
    let evaluator = Evaluator::new(source, config, &read_evaluations_in_training(folder)?.records);
    write_config(&*disk, folder, config, not_bit_exact)?;
    if positions == Positions::default() {
        journal.hyperparameters(config)?;
    }
    let films = FilmRecorder::new(folder, config.record.film_interval);
    let mut files = RunFiles { checkpoints, journal, films, evaluator, saved_at, lock };
    // The folder is that of a current run, whatever it was before.
    let _ = disk.remove(&folder.join(MARKER));
    files.journal.process_started(run.clock.steps().0)?;
    if saved_at.is_none() {
        // Before the first checkpoint: whatever can be resumed has its origin.
        if let Some(origin) = origin {
            let (path, text) = (folder.join(ORIGIN_FILE), origin.to_toml());
            replace_file(&*disk, &path.with_added_extension("new"), &path, &[text.as_bytes()])
                .map_err(LabError::io("write", &path))?;
        }
        files.checkpoint(&run)?;
    }
    Ok(OpenRun { run, files, notes, warnings })
}

/// Whether there is anything of a run in the folder that a new run would write over.
fn holds_run(folder: &Path) -> bool {
    ["config.toml", EVENTS, "checkpoints"].iter().any(|name| fs::symlink_metadata(folder.join(name)).is_ok())
}

fn refuse_records_without_checkpoint(folder: &Path) -> Result<(), LabError> {
    match fs::metadata(folder.join(EVENTS)).map_or(0, |found| found.len()) {
        0 => Ok(()),
        bytes => Err(LabError::RecordsWithoutCheckpoint { path: folder.into(), bytes }),
    }
}

/// The configuration of the run in `folder`.
pub fn read_config(folder: &Path) -> Result<RunConfig, LabError> {
    let path = folder.join("config.toml");
    match read_plain_text(&path, LARGEST_CONFIG_BYTES) {
        Ok(text) => Ok(from_toml(&text, &path)?),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Err(LabError::NotARun { path: folder.into() })
        }
        Err(source) => Err(LabError::Io { operation: "read", path, source }),
    }
}

/// The run in `folder` at its newest checkpoint, or at that of `interactions`; writes nothing.
pub fn read_run(folder: &Path, source: &WorldSource, interactions: Option<AgentSteps>) -> Result<Run, LabError> {
    Ok(inspect_run(folder, source, interactions)?.0)
}

/// As [`read_run`], and the damage that was found: checkpoints that were skipped, records that were altered; one sentence each.
pub fn inspect_run(
    folder: &Path,
    source: &WorldSource,
    interactions: Option<AgentSteps>,
) -> Result<(Run, Vec<String>), LabError> {
    let config = read_config(folder)?;
    let world = source.make(config.seed)?;
    let mut checkpoints = CheckpointStore::open_read_only(&folder.join("checkpoints"), RunIdentity::of(&config))?;
    let capacity = config.replay.capacity;
    let loaded = match interactions {
        Some(wanted) => Some(checkpoints.load(wanted, capacity, world.spec())?),
        None => checkpoints.load_latest(capacity, world.spec())?,
    };
    let loaded = loaded.ok_or_else(|| LabError::NoCheckpoint { path: folder.into() })?;
    let mut warnings = checkpoints.warnings();
    warnings.extend(altered_records(folder, &loaded.records));
    let restored = Run::restore(&config, source, &Sections(loaded.sections), loaded.replay);
    Ok((restored.map_err(LabError::in_checkpoint(folder, loaded.interactions))?, warnings))
}

/// Appends the result of an evaluation to `evaluations.jsonl`; several processes may do so at once.
pub fn record_evaluation(folder: &Path, result: &EvaluationFinished) -> Result<(), LabError> {
    Ok(append_jsonl(&folder.join("evaluations.jsonl"), &Event::EvaluationFinished(result.clone()))?)
}

/// What is wrong with the records that a checkpoint covers, if anything: one sentence.
pub(crate) fn altered_records(folder: &Path, records: &[Entry]) -> Option<String> {
    records.iter().find_map(|record| {
        let path = folder.join(&record.name);
        match digest_of_file(&path, record.bytes) {
            Ok(digest) if digest == record.blake3 => None,
            Ok(_) => Some(RecordError::Altered { path, bytes: record.bytes }.to_string()),
            Err(error) => Some(error.to_string()),
        }
    })
}

impl RunFiles {
    /// Records an event and passes it to the observer.
    pub fn emit(&mut self, event: Event, observer: &mut dyn Observer) -> Result<(), LabError> {
        self.lock.check()?;
        self.journal.event(&event)?;
        observer.event(&event);
        Ok(())
    }

    /// Films the current state of the world and the decision made in it.
    pub fn film(&mut self, run: &Run, decision: &Decision) {
        self.films.record(run, decision);
    }

    /// Records the speed of an interval.
    pub fn speed(&mut self, now: AgentSteps, per_second: f64, lap: &Lap) -> Result<(), LabError> {
        self.journal.speed(now.0, per_second, lap)
    }

    /// Evaluates the policy as it is and records the result. The policy of a best result is kept: as a checkpoint of this
    /// interaction, after all its records. A set `stop` leaves the evaluation to the process that resumes the run.
    pub fn evaluate(&mut self, run: &Run, observer: &mut dyn Observer, stop: &AtomicBool) -> Result<(), LabError> {
        let start = Instant::now();
        let evaluation = match self.evaluator.evaluate(run, stop) {
            Ok(Some(evaluation)) => evaluation,
            Ok(None) => return Ok(()),
            Err(LabError::Fault(fault)) => return Err(self.interrupt(run, fault)),
            Err(error) => return Err(error),
        };
        self.lock.check()?;
        self.journal.evaluation(&evaluation)?;
        observer.evaluated(&evaluation, start.elapsed());
        if evaluation.best { self.save(run, Keep::AsBest) } else { Ok(()) }
    }

    /// Makes the evaluation of this interaction if it is due and missing: a stop interrupted it.
    pub fn make_up_evaluation(
        &mut self,
        run: &Run,
        observer: &mut dyn Observer,
        stop: &AtomicBool,
    ) -> Result<(), LabError> {
        if self.evaluator.is_missing(run) { self.evaluate(run, observer, stop) } else { Ok(()) }
    }

    /// Records histograms of the parameters.
    pub fn histograms(&mut self, run: &Run) -> Result<(), LabError> {
        run.learner
            .export()
            .iter()
            .try_for_each(|tensor| self.journal.histogram(run.clock.steps().0, &tensor.name, &tensor.values))
    }

    /// Records the first event of a new run.
    pub fn begin(&mut self, run: &Run, observer: &mut dyn Observer) -> Result<(), LabError> {
        if self.journal.is_empty() {
            self.emit(Event::RunStarted(run.started()), observer)?;
        }
        Ok(())
    }

    /// Saves the whole state, unless the newest checkpoint is of this interaction.
    pub fn checkpoint(&mut self, run: &Run) -> Result<(), LabError> {
        if self.saved_at == Some(run.clock.steps()) { Ok(()) } else { self.save(run, Keep::WhileNewest) }
    }

    fn save(&mut self, run: &Run, keep: Keep) -> Result<(), LabError> {
        let now = run.clock.steps();
        if let Err(error) = run.learner.require_finite() {
            return Err(self.diverge(run, error));
        }
        self.lock.check()?;
        // Records first: a checkpoint must never name a position behind the end of a file.
        let (positions, records) = self.journal.sync()?;
        let mut sections = run.sections();
        sections.0.push(("journal".to_owned(), encode(&positions)));
        self.checkpoints.save(now, &sections.0, &run.replay, records, keep)?;
        self.saved_at = Some(now);
        Ok(())
    }

    /// The run is complete: last checkpoint, last event. The event comes after the checkpoint, so that a run with a longer
    /// budget later drops it and resumes as if it had not ended.
    pub fn finish(&mut self, run: &Run, observer: &mut dyn Observer) -> Result<StopReason, LabError> {
        self.checkpoint(run)?;
        let digest = Digest::of(run).to_string();
        self.emit(Event::RunFinished(run.statistics.finish_run(&run.clock, digest)), observer)?;
        self.close(run, StopReason::Finished)
    }

    /// Saves a checkpoint after a fault of the world, so that the run can be resumed; returns the error to end with.
    pub fn interrupt(&mut self, run: &Run, fault: WorldFault) -> LabError {
        let saved = self.checkpoint(run).and_then(|()| self.close(run, StopReason::Fault));
        match saved {
            Ok(_) => LabError::Interrupted { fault, interactions: run.clock.steps().0 },
            Err(error) => error,
        }
    }

    /// Records that learning diverged: nothing of it is saved, the last checkpoint stays. Returns the error to end with.
    pub fn diverge(&mut self, run: &Run, error: LearnError) -> LabError {
        let (interactions, saved) = (run.clock.steps().0, self.saved_at.map_or(0, |saved| saved.0));
        match self.close(run, StopReason::Diverged) {
            Ok(_) => LabError::Diverged { error, interactions, saved },
            Err(unrecorded) => unrecorded,
        }
    }

    /// Records that this process stops training the run.
    pub fn close(&mut self, run: &Run, reason: StopReason) -> Result<StopReason, LabError> {
        self.journal.process_stopped(run.clock.steps().0, reason)?;
        Ok(reason)
    }
}

/// Buckets of a parameter histogram.
const BUCKETS: usize = 64;

/// The open records of a run: events, evaluations while training, timings, TensorBoard.
#[derive(Debug)]
struct Journal {
    events: JsonlFile,
    /// Of a run that has never made any: none.
    evaluations: Option<JsonlFile>,
    timings: JsonlFile,
    board: TensorBoard,
}

/// Lengths of the files that a resumed run continues at an exact byte; part of the checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
struct Positions {
    events: u64,
    board: u64,
}

impl Journal {
    /// Opens the records in `folder` and truncates them to what the checkpoint covers, its `positions` and `records`;
    /// bytes that are not those of the checkpoint are an error.
    fn resume(
        disk: &Arc<dyn Disk>,
        folder: &Path,
        positions: Positions,
        records: &[Entry],
        evaluates: bool,
    ) -> Result<Self, LabError> {
        let disk = || Arc::clone(disk);
        let covered = |name: &str| records.iter().find(|record| record.name == name);
        let digest = |entry: Option<&Entry>| entry.map(|entry| entry.blake3.clone());
        let evaluations = folder.join(EVALUATIONS_IN_TRAINING);
        let evaluated = covered(EVALUATIONS_IN_TRAINING);
        let evaluations = (evaluates || evaluated.is_some() || evaluations.exists()).then(|| {
            let position = evaluated.map_or(0, |entry| entry.bytes);
            JsonlFile::resume_on(disk(), evaluations, position, digest(evaluated).as_deref())
        });
        Ok(Self {
            events: JsonlFile::resume_on(
                disk(),
                folder.join(EVENTS),
                positions.events,
                digest(covered(EVENTS)).as_deref(),
            )?,
            evaluations: evaluations.transpose()?,
            timings: JsonlFile::append_on(disk(), folder.join("timings.jsonl"))?,
            board: TensorBoard::resume_on(disk(), &folder.join("tensorboard"), positions.board)?,
        })
    }

    fn is_empty(&self) -> bool {
        self.events.position() == 0
    }

    /// Writes the settings of a run that begins, for TensorBoard's page HPARAMS. Runs that differ in their seed are one group.
    fn hyperparameters(&mut self, config: &RunConfig) -> Result<(), LabError> {
        let mut settings = flat(config);
        let seed = settings.remove("seed").unwrap_or_default();
        let group = settings.iter().fold(blake3::Hasher::new(), |mut group, (key, value)| {
            group.update(format!("{key}={value}\n").as_bytes());
            group
        });
        settings.insert("seed".into(), seed);
        let parameters: Vec<(&str, HyperParameter<'_>)> =
            settings.iter().map(|(key, value)| (key.as_str(), hyperparameter(value))).collect();
        Ok(self.board.hyperparameters(&group.finalize().to_hex()[..16], parameters)?)
    }

    /// Syncs the files and returns their lengths and the digests of those that repeat bit for bit, for a checkpoint.
    fn sync(&mut self) -> Result<(Positions, Vec<Entry>), LabError> {
        self.events.sync()?;
        if let Some(evaluations) = &mut self.evaluations {
            evaluations.sync()?;
        }
        self.timings.sync()?;
        self.board.sync()?;
        let files = [(EVENTS, Some(&self.events)), (EVALUATIONS_IN_TRAINING, self.evaluations.as_ref())];
        let entry = |(name, file): (&str, Option<&JsonlFile>)| {
            file.map(|file| Entry { name: name.into(), bytes: file.position(), blake3: file.digest() })
        };
        let records = files.into_iter().filter_map(entry).collect();
        Ok((Positions { events: self.events.position(), board: self.board.position() }, records))
    }

    /// Writes an event, and its numbers for TensorBoard.
    fn event(&mut self, event: &Event) -> Result<(), LabError> {
        self.events.write(event)?;
        match event {
            Event::EpisodeFinished(episode) => {
                let mut points = vec![
                    ("episode/return", episode.return_raw),
                    ("episode/length", episode.length_interactions as f64),
                ];
                points.push(("episode/return_mean_last_100", episode.return_mean_last_100));
                if let Some(sigma) = episode.sigma {
                    points.push(("episode/sigma_mean", sigma.mean_abs));
                    points.push(("episode/sigma_min", sigma.min_abs));
                    points.push(("episode/sigma_max", sigma.max_abs));
                }
                self.board.scalars(episode.interactions, &points)?;
            }
            Event::IntervalFinished(interval) => {
                self.board.scalars(interval.interactions, &interval_points(interval))?;
                self.flush()?;
            }
            Event::RunFinished(_) => {
                self.board.hyperparameters_end()?;
                self.flush()?;
            }
            Event::RunStarted(_) | Event::EvaluationFinished(_) => self.flush()?,
        }
        Ok(())
    }

    /// Writes an evaluation made while training, and its numbers for TensorBoard.
    fn evaluation(&mut self, evaluation: &EvaluatedWhileTraining) -> Result<(), LabError> {
        if let Some(file) = &mut self.evaluations {
            file.write(evaluation)?;
            file.flush()?;
        }
        let Summary { mean, interval_95: [low, high], .. } = Summary::of(&evaluation.returns);
        let points = [
            ("evaluation/return_mean", mean),
            ("evaluation/return_mean_low", low),
            ("evaluation/return_mean_high", high),
            ("evaluation/episodes", evaluation.episodes as f64),
        ];
        Ok(self.board.scalars(evaluation.interactions, &points)?)
    }

    /// Writes the histogram of a tensor.
    fn histogram(&mut self, interactions: u64, name: &str, values: &[f32]) -> Result<(), LabError> {
        let tag = format!("parameters/{name}");
        Ok(self.board.histogram(interactions, &tag, &Histogram::of(values, BUCKETS))?)
    }

    /// Writes the speed of an interval.
    fn speed(&mut self, interactions: u64, per_second: f64, lap: &Lap) -> Result<(), LabError> {
        self.board.scalars(interactions, &[("speed/interactions_per_second", per_second)])?;
        self.timing(&Timing::Speed {
            interactions,
            interactions_per_second: per_second,
            resident_bytes: resident_bytes().unwrap_or(0),
            share: lap.share,
        })
    }

    fn process_started(&mut self, from_interactions: u64) -> Result<(), LabError> {
        self.timing(&Timing::ProcessStarted {
            unix_seconds: unix_seconds(),
            from_interactions,
            threads: rayon::current_num_threads() as u64,
            version: env!("CARGO_PKG_VERSION").into(),
            kernel: sane_nn::Kernel::detect().name().into(),
        })?;
        self.timing(&machine())
    }

    fn process_stopped(&mut self, interactions: u64, reason: StopReason) -> Result<(), LabError> {
        self.flush()?;
        self.timing(&Timing::ProcessStopped { unix_seconds: unix_seconds(), interactions, reason })
    }

    fn timing(&mut self, timing: &Timing) -> Result<(), LabError> {
        self.timings.write(timing)?;
        Ok(self.timings.flush()?)
    }

    fn flush(&mut self) -> Result<(), LabError> {
        self.events.flush()?;
        Ok(self.board.flush()?)
    }
}

/// A setting as TOML prints it.
fn hyperparameter(value: &str) -> HyperParameter<'_> {
    match (value.parse::<f64>(), value.parse::<bool>()) {
        (Ok(number), _) => HyperParameter::Number(number),
        (_, Ok(truth)) => HyperParameter::Truth(truth),
        _ => HyperParameter::Text(value.trim_matches('"')),
    }
}

fn interval_points(interval: &IntervalFinished) -> Vec<(&'static str, f64)> {
    let module = interval.module;
    let known = [
        ("learning/loss", interval.loss_mean),
        ("learning/q", interval.q_mean),
        ("learning/target", interval.target_mean),
        ("learning/gradient_norm", interval.gradient_norm_mean),
        ("learning/td_loss", interval.bound.map(|bound| bound.td_loss_mean)),
        ("learning/kl_sigma", interval.bound.map(|bound| bound.kl_sigma_mean)),
        ("learning/kl_means", interval.bound.map(|bound| bound.kl_means_mean)),
        ("exploration/kl_weight", interval.bound.map(|bound| bound.kl_weight_mean)),
        ("exploration/q_noise", interval.bound.map(|bound| bound.q_noise_mean)),
        ("exploration/gap", interval.bound.map(|bound| bound.gap_mean)),
        ("exploration/epsilon", interval.epsilon),
        ("exploration/effective", interval.effective_exploration_share),
        ("exploration/changed_actions", interval.changed_action_share),
        ("exploration/changed_actions_risky", interval.by_risk.and_then(|by_risk| by_risk.changed_share_risky)),
        ("exploration/changed_actions_other", interval.by_risk.and_then(|by_risk| by_risk.changed_share_other)),
        ("exploration/sigma_mean", interval.sigma.map(|sigma| sigma.mean_abs)),
        ("exploration/sigma_min", interval.sigma.map(|sigma| sigma.min_abs)),
        ("exploration/sigma_max", interval.sigma.map(|sigma| sigma.max_abs)),
        ("module/live_units", module.map(|module| module.live_units_share)),
        ("module/dead_states", module.and_then(|module| module.dead_states_share)),
        ("module/sigma_spread", module.map(|module| module.sigma_spread_abs)),
        ("module/sigma_negative", module.map(|module| module.sigma_negative_share)),
        ("progress/return_mean_last_100", interval.return_mean_last_100),
        ("progress/episodes", Some(interval.episodes as f64)),
    ];
    known.into_iter().filter_map(|(tag, value)| Some((tag, value?))).collect()
}

fn write_config(
    disk: &dyn Disk,
    folder: &Path,
    config: &RunConfig,
    not_bit_exact: Option<&str>,
) -> Result<(), LabError> {
    let mark = not_bit_exact.map(|why| format!("# not bit-exact: {why}\n")).unwrap_or_default();
    let (path, text) = (folder.join("config.toml"), mark + &to_toml(config));
    if read_plain_text(&path, LARGEST_CONFIG_BYTES).is_ok_and(|existing| existing == text) {
        return Ok(());
    }
    replace_file(disk, &folder.join("config.toml.new"), &path, &[text.as_bytes()]).map_err(LabError::io("write", &path))
}
