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
use crate::config::{ConfigError, RunConfig, differences, from_toml, to_toml};
use crate::film::FilmRecorder;
use crate::identity::{FREE_KEYS, RunIdentity};
use crate::in_training::Evaluator;
use crate::journal::{EVENTS, Journal, Positions};
use crate::lock::FolderLock;
use crate::observer::Observer;
use crate::run::{Digest, Run, Sections, check_episodes, encode, not_bit_exact, note_on_episodes};
use crate::set_aside::{MARKER, move_aside};
use crate::timer::Lap;
use crate::world::WorldSource;
use sane_agent::{Decision, LearnError};
use sane_env::{AgentSteps, WorldFault};
use sane_record::{
    Disk, EvaluationFinished, Event, ORIGIN_FILE, RealDisk, RecordError, RunOrigin, StopReason, append_jsonl,
    digest_of_file, read_evaluations_in_training, read_plain_text, replace_file,
};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

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
    /// Messages for the user: where the old run was moved, what may differ after a resume, noise that may be held for ever.
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
    // What depends on the world, too, is refused before anything is written.
    let world = source.make(config.seed)?;
    config.learner.check_for(world.spec().actions.len()).map_err(ConfigError::from)?;
    check_episodes(config, &*world)?;
    let mut notes: Vec<String> = note_on_episodes(config, &*world).into_iter().collect();
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
        let (interactions, saved) = (run.clock.steps().0, self.saved_at.map(|saved| saved.0));
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
