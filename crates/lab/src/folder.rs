//! A run on disk: its folder, how it is started, resumed, recorded, checkpointed and read.
//!
//! ```text
//! config.toml   the resolved configuration          events.jsonl       what happened, repeats bit for bit
//! lock, lease   held while a process trains it       timings.jsonl      what depends on clock and machine
//! checkpoints/  the whole state, the last two       evaluations.jsonl  results of `sane eval`
//! film.bin      the newest recorded episode         tensorboard/       the same numbers for TensorBoard
//! ```

use crate::LabError;
use crate::checkpoint::{CheckpointStore, Loaded};
use crate::config::{RunConfig, differences, from_toml, to_toml};
use crate::film::FilmRecorder;
use crate::lock::FolderLock;
use crate::machine::{machine, resident_bytes, unix_seconds};
use crate::observer::Observer;
use crate::run::{Digest, Run, Sections, encode, not_bit_exact};
use crate::timer::Lap;
use crate::world::WorldSource;
use sane_agent::Decision;
use sane_env::{AgentSteps, WorldFault};
use sane_record::{EvaluationFinished, Event, Histogram, IntervalFinished, JsonlFile, StopReason, TensorBoard, Timing};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// Keys that may change when a run is resumed: they set its length and what is saved, not what is computed.
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
    /// Messages for the user: where the old run was moved, which checkpoint was damaged.
    pub notes: Vec<String>,
}

/// The open files of a run.
pub struct RunFiles {
    checkpoints: CheckpointStore,
    journal: Journal,
    films: FilmRecorder,
    saved_at: Option<AgentSteps>,
    lock: FolderLock,
}

/// The folder of a run unless `--out` names another: `runs/WORLD/AGENT/seed-SEED`.
pub fn default_folder(config: &RunConfig) -> PathBuf {
    Path::new("runs").join(&config.world.name).join(&config.agent).join(format!("seed-{}", config.seed))
}

/// Opens `folder` for training: a new run, or the existing one if its configuration is the same.
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
    let films = FilmRecorder::new(folder, config.record.film_interval);
    let mut files = RunFiles { checkpoints, journal, films, saved_at, lock };
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
        Err(source) => Err(LabError::Io { operation: "read", path, source }),
    }
}

/// The run in `folder` at its newest checkpoint, or at that of `interactions`; writes nothing.
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

/// Appends the result of an evaluation to `evaluations.jsonl`.
pub fn record_evaluation(folder: &Path, result: &EvaluationFinished) -> Result<(), LabError> {
    let mut file = JsonlFile::append(folder.join("evaluations.jsonl"))?;
    file.write(&Event::EvaluationFinished(result.clone()))?;
    Ok(file.sync()?)
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
        let now = run.clock.steps();
        if self.saved_at == Some(now) {
            return Ok(());
        }
        self.lock.check()?;
        // Records first: a checkpoint must never name a position behind the end of a file.
        let positions = self.journal.sync()?;
        let mut sections = run.sections();
        sections.0.push(("journal".to_owned(), encode(&positions)));
        self.checkpoints.save(now, &sections.0, &run.replay)?;
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

    /// Records that this process stops training the run.
    pub fn close(&mut self, run: &Run, reason: StopReason) -> Result<StopReason, LabError> {
        self.journal.process_stopped(run.clock.steps().0, reason)?;
        Ok(reason)
    }
}

/// Buckets of a parameter histogram.
const BUCKETS: usize = 64;

/// The open records of a run: events, timings, TensorBoard.
#[derive(Debug)]
struct Journal {
    events: JsonlFile,
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
    /// Opens the records in `folder` and truncates them to `positions`.
    fn resume(folder: &Path, positions: Positions) -> Result<Self, LabError> {
        Ok(Self {
            events: JsonlFile::resume(folder.join("events.jsonl"), positions.events)?,
            timings: JsonlFile::append(folder.join("timings.jsonl"))?,
            board: TensorBoard::resume(&folder.join("tensorboard"), positions.board)?,
        })
    }

    fn is_empty(&self) -> bool {
        self.events.position() == 0
    }

    /// Syncs the files and returns their lengths, for a checkpoint.
    fn sync(&mut self) -> Result<Positions, LabError> {
        self.events.sync()?;
        self.board.sync()?;
        Ok(Positions { events: self.events.position(), board: self.board.position() })
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
            Event::RunStarted(_) | Event::RunFinished(_) | Event::EvaluationFinished(_) => self.flush()?,
        }
        Ok(())
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

fn interval_points(interval: &IntervalFinished) -> Vec<(&'static str, f64)> {
    let module = interval.module;
    let known = [
        ("learning/loss", interval.loss_mean),
        ("learning/q", interval.q_mean),
        ("learning/target", interval.target_mean),
        ("learning/gradient_norm", interval.gradient_norm_mean),
        ("exploration/epsilon", interval.epsilon),
        ("exploration/effective", interval.effective_exploration_share),
        ("exploration/sigma_mean", interval.sigma.map(|sigma| sigma.mean_abs)),
        ("exploration/sigma_min", interval.sigma.map(|sigma| sigma.min_abs)),
        ("exploration/sigma_max", interval.sigma.map(|sigma| sigma.max_abs)),
        ("module/live_units", module.map(|module| module.live_units_share)),
        ("module/sigma_spread", module.map(|module| module.sigma_spread_abs)),
        ("module/sigma_negative", module.map(|module| module.sigma_negative_share)),
        ("progress/return_mean_last_100", interval.return_mean_last_100),
        ("progress/episodes", Some(interval.episodes as f64)),
    ];
    known.into_iter().filter_map(|(tag, value)| Some((tag, value?))).collect()
}

/// Writes a temporary file and renames it: a reader sees the old text or the new one.
fn write_config(folder: &Path, config: &RunConfig, not_bit_exact: Option<&str>) -> Result<(), LabError> {
    let mark = not_bit_exact.map(|why| format!("# not bit-exact: {why}\n")).unwrap_or_default();
    let (path, text) = (folder.join("config.toml"), mark + &to_toml(config));
    if fs::read_to_string(&path).is_ok_and(|existing| existing == text) {
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
