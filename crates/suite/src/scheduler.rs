//! Runs the runs of a suite in parallel processes on this machine: a fixed number at once, each with its share of threads
//! and only if its memory fits. A run that fails is restarted from its checkpoint, then set aside; the others continue.
//! The job of a cluster is the same for one run ([`run_task`]).

use crate::SuiteError;
use crate::expand::{Suite, SuiteRun};
use crate::folder::{SuiteFolder, write_status};
use crate::memory::MemoryBudget;
use crate::process::{Exit, RunProcess, Stage};
use crate::progress::RunProgress;
use sane_lab::{EvaluationLock, FolderLock, this_process};
use sane_record::{RunState, RunStatus, SuiteStatus};
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Intervals at which processes are polled, the files of their runs are read, and the status is written.
const POLL: Duration = Duration::from_millis(100);
const REFRESH: Duration = Duration::from_secs(1);
const WRITE: Duration = Duration::from_secs(5);

/// Delay before a run that failed, or is in use by another process, is tried again.
const RETRY_DELAY: Duration = Duration::from_secs(3);

/// How the runs of a suite are executed.
#[derive(Debug, Clone)]
pub struct SchedulerOptions {
    /// Path of the program `sane`.
    pub program: PathBuf,
    /// Runs in parallel.
    pub jobs: usize,
    /// Worker threads of each run.
    pub threads: usize,
    /// Restarts of a failed run before it is set aside.
    pub retries: u32,
    /// Folder with Atari ROMs, searched before all others.
    pub roms: Option<PathBuf>,
}

/// A change in the state of a suite, as its observer gets it.
#[derive(Debug, Clone, PartialEq)]
pub enum Update {
    /// A process of a run was started; `stage` is `training` or `evaluating`, `attempt` counts from 1.
    Started { run: String, stage: &'static str, attempt: u32 },
    /// A run is trained and evaluated; mean return of each evaluation, by noise mode.
    Done { run: String, returns: Vec<(String, f64)> },
    /// A run failed and will be restarted.
    Failed { run: String, reason: String },
    /// A run failed for the last time, or cannot be started.
    SetAside { run: String, reason: String },
    /// A run cannot be started yet.
    Waits { run: String, reason: String },
    /// The stop signal was sent to all runs.
    Stopping,
    /// A message of a world that was opened.
    Message(String),
}

/// Runs the unfinished runs of `suite` in `folder` until all are done or set aside, `stop` is set, or a stop is requested
/// through the folder. `observer` gets the status ten times a second, and each update.
pub fn run_suite(
    folder: &Path,
    suite: &Suite,
    options: &SchedulerOptions,
    stop: &AtomicBool,
    observer: &mut dyn FnMut(&SuiteStatus, Option<&Update>),
) -> Result<SuiteStatus, SuiteError> {
    let (folder, _lock, mut suite) = SuiteFolder::take(folder, suite)?;
    let status_file = folder.status_file();
    loop {
        let status = run_all(folder.clone(), &suite, &suite, options, &status_file, stop, observer)?;
        let (taken, next) = folder.decide(suite)?;
        if taken.is_empty() {
            return Ok(status);
        }
        taken.into_iter().for_each(|sentence| observer(&status, Some(&Update::Message(sentence))));
        suite = next;
    }
}

/// Runs one run of the suite in this folder, as a job of a cluster, until it is done or set aside, `stop` is set, or a stop
/// is requested. Waits for a run that another machine holds. The job does not lock the suite's folder; its status goes to
/// the run's own folder.
pub fn run_task(
    folder: &Path,
    run: &str,
    options: &SchedulerOptions,
    stop: &AtomicBool,
    observer: &mut dyn FnMut(&SuiteStatus, Option<&Update>),
) -> Result<RunStatus, SuiteError> {
    let folder = SuiteFolder::existing(folder)?;
    let suite = folder.suite()?;
    let only = only(&suite, run).ok_or_else(|| SuiteError::NoRun { folder: folder.path.clone(), run: run.into() })?;
    let status_file = folder.job_status_file(&only.runs[0]);
    let mut status = run_all(folder, &only, &suite, options, &status_file, stop, observer)?;
    Ok(status.runs.remove(0))
}

/// The suite reduced to this run.
fn only(suite: &Suite, run: &str) -> Option<Suite> {
    let runs: Vec<SuiteRun> = suite.runs.iter().filter(|other| other.id == run).cloned().collect();
    (!runs.is_empty()).then(|| Suite { runs, ..suite.clone() })
}

/// Runs the runs of `suite`, which may be a part of the `whole` one, and keeps their status in `status_file`.
fn run_all(
    folder: SuiteFolder,
    suite: &Suite,
    whole: &Suite,
    options: &SchedulerOptions,
    status_file: &Path,
    stop: &AtomicBool,
    observer: &mut dyn FnMut(&SuiteStatus, Option<&Update>),
) -> Result<SuiteStatus, SuiteError> {
    let runs = suite.runs.iter().map(|run| folder.run_status(suite, run)).collect();
    let mut status = SuiteStatus { suite: suite.name.clone(), runner: this_process(), unix_seconds: 0, runs };
    let mut queue = Vec::new();
    for (index, run) in status.runs.iter_mut().enumerate() {
        if !matches!(run.state, RunState::Done | RunState::SetAside) {
            run.state = RunState::Waiting;
            queue.push((index, Instant::now()));
        }
    }
    let budget = MemoryBudget::new(suite, options);
    let (refreshed, written) = (Instant::now(), Instant::now());
    let active = Vec::new();
    let mut scheduler = Scheduler {
        folder,
        suite,
        whole,
        status_file,
        options,
        status,
        queue,
        active,
        budget,
        refreshed,
        written,
        observer,
    };
    scheduler.folder.write_results(whole)?;
    scheduler.write_status()?;
    scheduler.run(stop)?;
    scheduler.write_status()?;
    Ok(scheduler.status)
}

/// The process that trains or evaluates the run in this folder, as a reason to wait: one of another machine, or one that
/// outlived the process which started it.
fn worked_on_elsewhere(folder: &Path) -> Option<String> {
    let trained = FolderLock::holder(folder).map(|holder| format!("in use by {holder}"));
    trained.or_else(|| EvaluationLock::holder(folder).map(|holder| format!("being evaluated by {holder}")))
}

struct Scheduler<'a> {
    folder: SuiteFolder,
    suite: &'a Suite,
    /// The suite that `suite` is a part of.
    whole: &'a Suite,
    status_file: &'a Path,
    options: &'a SchedulerOptions,
    status: SuiteStatus,
    /// Indices of runs to be started, and the earliest time of each.
    queue: Vec<(usize, Instant)>,
    active: Vec<(usize, RunProcess)>,
    budget: MemoryBudget<'a>,
    refreshed: Instant,
    written: Instant,
    observer: &'a mut dyn FnMut(&SuiteStatus, Option<&Update>),
}

impl Scheduler<'_> {
    fn run(&mut self, stop: &AtomicBool) -> Result<(), SuiteError> {
        let mut stopping = false;
        while !self.active.is_empty() || (!self.queue.is_empty() && !stopping) {
            if !stopping && (stop.load(Ordering::Relaxed) || self.folder.stop_requested()) {
                stopping = true;
                self.notify(Update::Stopping)?;
                self.active.iter_mut().for_each(|(_, process)| process.request_stop());
            }
            let exited: Vec<(usize, Stage, Exit)> = self.take_exited();
            for (index, stage, exit) in exited {
                if stopping { self.stopped(index)? } else { self.conclude(index, stage, exit)? }
            }
            if !stopping {
                self.start_what_fits()?;
            }
            self.refresh()?;
            (self.observer)(&self.status, None);
            thread::sleep(POLL);
        }
        for (index, _) in std::mem::take(&mut self.queue) {
            self.stopped(index)?;
        }
        Ok(())
    }

    fn take_exited(&mut self) -> Vec<(usize, Stage, Exit)> {
        let mut exited = Vec::new();
        self.active.retain_mut(|(index, process)| match process.poll() {
            Some(exit) => {
                exited.push((*index, process.stage, exit));
                false
            }
            None => true,
        });
        exited
    }

    /// Starts runs in order while fewer than `jobs` are active. A run that does not fit into memory is skipped.
    fn start_what_fits(&mut self) -> Result<(), SuiteError> {
        let mut position = 0;
        while position < self.queue.len() && self.active.len() < self.options.jobs {
            let (index, not_before) = self.queue[position];
            if Instant::now() < not_before {
                position += 1;
                continue;
            }
            let run = &self.suite.runs[index];
            let folder = self.folder.run(run);
            if let Some(reason) = worked_on_elsewhere(&folder) {
                self.wait(position, reason)?;
                position += 1;
                continue;
            }
            // What another process did in the meantime is not done again.
            let found = self.folder.run_status(self.suite, run);
            if matches!(found.state, RunState::Done | RunState::SetAside) {
                self.queue.remove(position);
                self.settle(index, found)?;
                continue;
            }
            let mut messages = Vec::new();
            let active: Vec<(usize, u32)> = self.active.iter().map(|(i, process)| (*i, process.id())).collect();
            let fits = self.budget.check(index, &active, &mut |text| messages.push(text));
            for text in messages {
                self.notify(Update::Message(text))?;
            }
            match fits {
                Ok(()) => {
                    self.queue.remove(position);
                    self.status.runs[index].attempts += 1;
                    let trained = RunProgress::read(&folder, &run.config).trained;
                    self.start(index, if trained { Stage::Evaluate } else { Stage::Train })?;
                }
                Err(over) if over.is_final || self.active.is_empty() => {
                    self.queue.remove(position);
                    self.set_aside(index, over.reason)?;
                }
                Err(over) => {
                    self.wait(position, over.reason)?;
                    position += 1;
                }
            }
        }
        Ok(())
    }

    fn start(&mut self, index: usize, stage: Stage) -> Result<(), SuiteError> {
        let run = &self.suite.runs[index];
        match RunProcess::start(stage, run, &self.folder.run(run), self.suite, self.options) {
            Ok(process) => self.active.push((index, process)),
            Err(error) => return self.set_aside(index, error.to_string()),
        }
        let status = &mut self.status.runs[index];
        status.state = if stage == Stage::Train { RunState::Training } else { RunState::Evaluating };
        status.reason = None;
        let update = Update::Started { run: run.id.clone(), stage: status.state.name(), attempt: status.attempts };
        self.notify(update)
    }

    fn conclude(&mut self, index: usize, stage: Stage, exit: Exit) -> Result<(), SuiteError> {
        let run = &self.suite.runs[index];
        let folder = self.folder.run(run);
        self.read_progress(index);
        let reason = match exit {
            Exit::Final(reason) => return self.set_aside(index, reason),
            Exit::Failed(reason) => reason,
            Exit::Success => {
                let found = self.folder.run_status(self.suite, run);
                let trained = RunProgress::read(&folder, &run.config).trained;
                match (trained, found.state, stage) {
                    (_, RunState::Done | RunState::SetAside, _) => return self.settle(index, found),
                    (true, _, Stage::Train) => return self.start(index, Stage::Evaluate),
                    (true, _, Stage::Evaluate) => "the evaluation ended without a result".into(),
                    (false, ..) => "its process was stopped from outside the suite".into(),
                }
            }
        };
        // A training that outlived the process which started it, and took its lock later than it was looked for here: this
        // attempt is none.
        if let Some(other) = worked_on_elsewhere(&folder) {
            let status = &mut self.status.runs[index];
            status.attempts = status.attempts.saturating_sub(1);
            (status.state, status.reason) = (RunState::Waiting, Some(other.clone()));
            self.queue.push((index, Instant::now() + RETRY_DELAY));
            return self.notify(Update::Waits { run: run.id.clone(), reason: other });
        }
        if self.status.runs[index].attempts <= self.options.retries {
            let status = &mut self.status.runs[index];
            (status.state, status.reason) = (RunState::Waiting, Some(reason.clone()));
            self.queue.push((index, Instant::now() + RETRY_DELAY));
            return self.notify(Update::Failed { run: run.id.clone(), reason });
        }
        self.set_aside(index, reason)
    }

    /// Takes over the status of a run whose files say that there is nothing left to do.
    fn settle(&mut self, index: usize, found: RunStatus) -> Result<(), SuiteError> {
        let run = &self.suite.runs[index];
        if found.state == RunState::SetAside {
            return self.set_aside(index, found.reason.unwrap_or_default());
        }
        let attempts = self.status.runs[index].attempts;
        self.status.runs[index] = RunStatus { attempts, ..found };
        self.folder.write_results(self.whole)?;
        let (evaluations, _) =
            RunProgress::evaluations(&self.folder.run(run), &run.config, &self.suite.evaluation).unwrap_or_default();
        let returns = evaluations.into_iter().map(|result| (result.noise, result.return_mean));
        self.notify(Update::Done { run: run.id.clone(), returns: returns.collect() })
    }

    fn set_aside(&mut self, index: usize, reason: String) -> Result<(), SuiteError> {
        let status = &mut self.status.runs[index];
        (status.state, status.reason) = (RunState::SetAside, Some(reason.clone()));
        self.notify(Update::SetAside { run: self.suite.runs[index].id.clone(), reason })
    }

    fn wait(&mut self, position: usize, reason: String) -> Result<(), SuiteError> {
        let index = self.queue[position].0;
        self.queue[position].1 = Instant::now() + RETRY_DELAY;
        let status = &mut self.status.runs[index];
        if status.reason.as_ref() == Some(&reason) {
            return Ok(());
        }
        status.reason = Some(reason.clone());
        self.notify(Update::Waits { run: self.suite.runs[index].id.clone(), reason })
    }

    /// Status of a run after the stop signal.
    fn stopped(&mut self, index: usize) -> Result<(), SuiteError> {
        let attempts = self.status.runs[index].attempts;
        let mut status = self.folder.run_status(self.suite, &self.suite.runs[index]);
        status.attempts = attempts;
        if status.state == RunState::Done {
            self.folder.write_results(self.whole)?;
        }
        self.status.runs[index] = status;
        Ok(())
    }

    fn read_progress(&mut self, index: usize) {
        let run = &self.suite.runs[index];
        let progress = RunProgress::read(&self.folder.run(run), &run.config);
        let status = &mut self.status.runs[index];
        status.interactions = progress.interactions;
        status.interactions_per_second = progress.interactions_per_second;
        status.return_mean_last_100 = progress.mean_return;
    }

    fn refresh(&mut self) -> Result<(), SuiteError> {
        if REFRESH <= self.refreshed.elapsed() {
            self.refreshed = Instant::now();
            let active: Vec<usize> = self.active.iter().map(|(index, _)| *index).collect();
            active.into_iter().for_each(|index| self.read_progress(index));
        }
        if WRITE <= self.written.elapsed() {
            self.written = Instant::now();
            self.write_status()?;
        }
        Ok(())
    }

    fn write_status(&mut self) -> Result<(), SuiteError> {
        write_status(self.status_file, &mut self.status)
    }

    fn notify(&mut self, update: Update) -> Result<(), SuiteError> {
        self.write_status()?;
        (self.observer)(&self.status, Some(&update));
        Ok(())
    }
}

impl fmt::Display for Update {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Started { run, stage, attempt: 1 } => write!(f, "{run}: {stage}"),
            Self::Started { run, stage, attempt } => write!(f, "{run}: {stage}, attempt {attempt}"),
            Self::Done { run, returns } => {
                write!(f, "{run}: done")?;
                returns.iter().try_for_each(|(noise, mean)| write!(f, ", noise {noise} {mean:.2}"))
            }
            Self::Failed { run, reason } => write!(f, "{run}: failed and will be tried again: {reason}"),
            Self::SetAside { run, reason } => write!(f, "{run}: set aside: {reason}"),
            Self::Waits { run, reason } => write!(f, "{run}: waits: {reason}"),
            Self::Stopping => write!(f, "stopping: every run saves a checkpoint"),
            Self::Message(text) => write!(f, "{text}"),
        }
    }
}
