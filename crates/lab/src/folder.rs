//! A run on disk: which folder it lives in, how it is started, continued, checkpointed and read.
//!
//! ```text
//! config.toml   the resolved configuration          events.jsonl       what happened, repeats bit for bit
//! lock, lease   held while a process works here     timings.jsonl      what depends on clock and machine
//! checkpoints/  the whole state, the last two       evaluations.jsonl  results of `sane eval`
//! film.bin      the newest episode, for the eye     tensorboard/       the numbers once more
//! ```

use crate::LabError;
use crate::checkpoint::{CheckpointStore, Loaded};
use crate::config::{RunConfig, differences, from_toml, to_toml};
use crate::digest::Digest;
use crate::film::Camera;
use crate::journal::{Journal, Positions};
use crate::lock::FolderLock;
use crate::observer::Observer;
use crate::run::{Run, Sections, encode, not_bit_exact};
use crate::timer::Lap;
use crate::world::WorldSource;
use sane_agent::Decision;
use sane_env::{AgentSteps, WorldFault};
use sane_record::{EvaluationFinished, Event, JsonlFile, StopReason};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Keys that may differ from those of an earlier start: they say how long and how often to save, not what is computed.
const FREE_KEYS: [&str; 5] = [
    "training.total_interactions",
    "record.checkpoint_interval",
    "record.film_interval",
    "world.python",
    "world.timeout_seconds",
];

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
    /// What there is to tell: where the old run went, which checkpoint was damaged.
    pub notes: Vec<String>,
}

/// The open files of a run.
pub struct RunFiles {
    checkpoints: CheckpointStore,
    journal: Journal,
    camera: Camera,
    saved_at: Option<AgentSteps>,
    lock: FolderLock,
}

/// The folder a run lives in unless another is asked for.
pub fn default_folder(config: &RunConfig) -> PathBuf {
    Path::new("runs").join(&config.world.name).join(&config.agent).join(format!("seed-{}", config.seed))
}

/// Opens `folder` for training: a new run, or the one that is there if its configuration is the same.
pub fn open_run(folder: &Path, config: &RunConfig, source: &WorldSource, start: Start) -> Result<OpenRun, LabError> {
    config.check()?;
    let mut notes = Vec::new();
    fs::create_dir_all(folder).map_err(LabError::io("create", folder))?;
    let mut lock = FolderLock::acquire(folder)?;
    if start == Start::Fresh && folder.join("config.toml").exists() {
        // The lock moves with the folder; a new one is taken in the new folder.
        drop(lock);
        let aside = move_aside(folder)?;
        notes.push(format!("the old run is now in {}", aside.display()));
        fs::create_dir_all(folder).map_err(LabError::io("create", folder))?;
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
    write_config(folder, config, not_bit_exact)?;
    let mut checkpoints = CheckpointStore::open(&folder.join("checkpoints"))?;
    let loaded = checkpoints.load_latest(config.replay.capacity, world.spec())?;
    notes.extend(checkpoints.warnings());
    let (run, positions, saved_at) = match loaded {
        Some(Loaded { interactions, sections, replay }) => {
            let sections = Sections(sections);
            let positions: Positions = sections.get("journal")?;
            let mut run = Run::restore(config, source, &sections, replay)?;
            run.resume()?;
            notes.extend(not_bit_exact.map(|why| format!("not bit-exact: {why}")));
            (run, positions, Some(interactions))
        }
        None => (Run::new(config, source)?, Positions::default(), None),
    };
    let journal = Journal::resume(folder, positions)?;
    let camera = Camera::new(folder, config.record.film_interval);
    let mut files = RunFiles { checkpoints, journal, camera, saved_at, lock };
    files.journal.process_started(run.clock.steps().0)?;
    Ok(OpenRun { run, files, notes })
}

/// The configuration of the run in `folder`.
pub fn read_config(folder: &Path) -> Result<RunConfig, LabError> {
    let path = folder.join("config.toml");
    match fs::read_to_string(&path) {
        Ok(text) => Ok(from_toml(&text, &path)?),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Err(LabError::NotARun { path: folder.into() })
        }
        Err(source) => Err(LabError::Io { doing: "read", path, source }),
    }
}

/// The run in `folder` as its newest checkpoint has it, or the one at `interactions`; nothing is written.
pub fn read_run(folder: &Path, source: &WorldSource, interactions: Option<AgentSteps>) -> Result<Run, LabError> {
    let config = read_config(folder)?;
    let world = source.make(config.seed)?;
    let mut checkpoints = CheckpointStore::open_read_only(&folder.join("checkpoints"))?;
    let capacity = config.replay.capacity;
    let loaded = match interactions {
        Some(wanted) => Some(checkpoints.load(wanted, capacity, world.spec())?),
        None => checkpoints.load_latest(capacity, world.spec())?,
    };
    let loaded = loaded.ok_or_else(|| LabError::NoCheckpoint { path: folder.into() })?;
    Run::restore(&config, source, &Sections(loaded.sections), loaded.replay)
}

/// Adds the result of an evaluation to the run's records.
pub fn record_evaluation(folder: &Path, result: &EvaluationFinished) -> Result<(), LabError> {
    let mut file = JsonlFile::append(folder.join("evaluations.jsonl"))?;
    file.write(&Event::EvaluationFinished(result.clone()))?;
    Ok(file.sync()?)
}

impl RunFiles {
    /// Records an event and tells the observer.
    pub fn emit(&mut self, event: Event, observer: &mut dyn Observer) -> Result<(), LabError> {
        self.lock.check()?;
        self.journal.event(&event)?;
        observer.event(&event);
        Ok(())
    }

    /// Shows a decision, and the world it was made in, to the camera.
    pub fn film(&mut self, run: &Run, decision: &Decision) {
        self.camera.decided(run, decision);
    }

    /// Records how fast a stretch was.
    pub fn speed(&mut self, now: AgentSteps, per_second: f64, lap: &Lap) -> Result<(), LabError> {
        self.journal.speed(now.0, per_second, lap)
    }

    /// Records how the parameters are spread.
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

    /// Puts the whole state on the disk, unless this very state is there already.
    pub fn checkpoint(&mut self, run: &Run) -> Result<(), LabError> {
        let now = run.clock.steps();
        if self.saved_at == Some(now) {
            return Ok(());
        }
        self.lock.check()?;
        // Records first: a checkpoint must never point behind the end of a file.
        let positions = self.journal.settle()?;
        let mut sections = run.sections();
        sections.0.push(("journal".to_owned(), encode(&positions)));
        self.checkpoints.save(now, &sections.0, &run.replay)?;
        self.saved_at = Some(now);
        Ok(())
    }

    /// The run is complete: last checkpoint, last record. The record stands behind the checkpoint, so that a run made longer
    /// later drops it and goes on as if it had never ended.
    pub fn finish(&mut self, run: &Run, observer: &mut dyn Observer) -> Result<StopReason, LabError> {
        self.checkpoint(run)?;
        let digest = Digest::of(run).to_string();
        self.emit(Event::RunFinished(run.statistics.finish_run(&run.clock, digest)), observer)?;
        self.close(run, StopReason::Finished)
    }

    /// The world stopped working: what was reached is saved, so that the run can go on. Gives the error to end with.
    pub fn interrupt(&mut self, run: &Run, fault: WorldFault) -> LabError {
        let saved = self.checkpoint(run).and_then(|()| self.close(run, StopReason::Fault));
        match saved {
            Ok(_) => LabError::Interrupted { fault, interactions: run.clock.steps().0 },
            Err(error) => error,
        }
    }

    /// This process ends its work on the run.
    pub fn close(&mut self, run: &Run, reason: StopReason) -> Result<StopReason, LabError> {
        self.journal.process_stopped(run.clock.steps().0, reason)?;
        Ok(reason)
    }
}

/// Written beside its place and renamed: a reader sees the old one or the new one, never a half.
fn write_config(folder: &Path, config: &RunConfig, not_bit_exact: Option<&str>) -> Result<(), LabError> {
    let mark = not_bit_exact.map(|why| format!("# not bit-exact: {why}\n")).unwrap_or_default();
    let (path, text) = (folder.join("config.toml"), mark + &to_toml(config));
    if fs::read_to_string(&path).is_ok_and(|there| there == text) {
        return Ok(());
    }
    let temporary = folder.join("config.toml.new");
    fs::write(&temporary, text).map_err(LabError::io("write", &temporary))?;
    fs::rename(&temporary, &path).map_err(LabError::io("rename", &temporary))
}

fn move_aside(folder: &Path) -> Result<PathBuf, LabError> {
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let aside = (1..)
        .map(|number| folder.with_file_name(format!("{name}.old-{number}")))
        .find(|aside| !aside.exists())
        .expect("numbers do not run out");
    fs::rename(folder, &aside).map_err(LabError::io("move aside", folder))?;
    Ok(aside)
}
