//! Runs the runs of a suite side by side on this machine: so many at once, each with its share of threads and only if its
//! memory fits; those that fail are tried again from their checkpoint, then set aside, and the others go on.

use super::SuiteError;
use super::expand::Suite;
use super::folder::{SuiteFolder, write_status};
use super::news::News;
use super::process::{Ended, RunProcess, Stage};
use super::room::Room;
use super::standing::Standing;
use crate::lock::{RunLock, this_process};
use sane_record::{RunState, SuiteStatus};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How often processes are looked at, how often the files of their runs, and how often the status is written at least.
const LOOK: Duration = Duration::from_millis(100);
const REFRESH: Duration = Duration::from_secs(1);
const WRITE: Duration = Duration::from_secs(5);

/// A run that failed, or is in use by another process, waits so long before it is tried again.
const PAUSE: Duration = Duration::from_secs(3);

/// Who does the work.
#[derive(Debug, Clone)]
pub struct Crew {
    /// The program `sane`.
    pub program: PathBuf,
    /// Runs side by side.
    pub jobs: usize,
    /// Worker threads of each.
    pub threads: usize,
    /// How often a failed run is tried again.
    pub retries: u32,
    /// Folder with Atari ROMs, looked at before all others.
    pub roms: Option<PathBuf>,
}

/// Runs what is left to do of `suite` in `folder` until all is done or set aside, or `stop` is set, or somebody asks the
/// folder to stop. `watch` hears how things stand, several times a second, and what happened.
pub fn run_suite(
    folder: &Path,
    suite: &Suite,
    crew: &Crew,
    stop: &AtomicBool,
    watch: &mut dyn FnMut(&SuiteStatus, Option<&News>),
) -> Result<SuiteStatus, SuiteError> {
    let (folder, _lock) = SuiteFolder::take(folder, suite)?;
    let place = folder.status_file();
    work_off(folder, suite, suite, crew, &place, stop, watch)
}

/// Works off the runs of `suite`, which may be a part of the `whole` one, and keeps their status in `place`.
pub(super) fn work_off(
    folder: SuiteFolder,
    suite: &Suite,
    whole: &Suite,
    crew: &Crew,
    place: &Path,
    stop: &AtomicBool,
    watch: &mut dyn FnMut(&SuiteStatus, Option<&News>),
) -> Result<SuiteStatus, SuiteError> {
    let runs = suite.runs.iter().map(|run| folder.standing(suite, run)).collect::<Result<Vec<_>, _>>()?;
    let mut status = SuiteStatus { suite: suite.name.clone(), runner: this_process(), unix_seconds: 0, runs };
    let mut queue = Vec::new();
    for (index, run) in status.runs.iter_mut().enumerate() {
        if run.state != RunState::Done {
            run.state = RunState::Waiting;
            queue.push((index, Instant::now()));
        }
    }
    let room = Room::new(suite, crew);
    let (refreshed, written) = (Instant::now(), Instant::now());
    let active = Vec::new();
    let mut work = Work { folder, suite, whole, crew, place, status, queue, active, room, refreshed, written, watch };
    work.folder.write_results(whole)?;
    work.write_status()?;
    work.go(stop)?;
    work.write_status()?;
    Ok(work.status)
}

struct Work<'a> {
    folder: SuiteFolder,
    suite: &'a Suite,
    /// What the suite is a part of.
    whole: &'a Suite,
    /// The file that says how the runs stand.
    place: &'a Path,
    crew: &'a Crew,
    status: SuiteStatus,
    /// Runs to be started, and not before when.
    queue: Vec<(usize, Instant)>,
    active: Vec<(usize, RunProcess)>,
    room: Room<'a>,
    refreshed: Instant,
    written: Instant,
    watch: &'a mut dyn FnMut(&SuiteStatus, Option<&News>),
}

impl Work<'_> {
    fn go(&mut self, stop: &AtomicBool) -> Result<(), SuiteError> {
        let mut stopping = false;
        while !self.active.is_empty() || (!self.queue.is_empty() && !stopping) {
            if !stopping && (stop.load(Ordering::Relaxed) || self.folder.is_asked_to_stop()) {
                stopping = true;
                self.tell(News::Stopping)?;
                self.active.iter_mut().for_each(|(_, process)| process.ask_to_stop());
            }
            let ended: Vec<(usize, Stage, Ended)> = self.take_ended();
            for (index, stage, how) in ended {
                if stopping { self.stopped(index)? } else { self.conclude(index, stage, how)? }
            }
            if !stopping {
                self.start_what_fits()?;
            }
            self.refresh()?;
            (self.watch)(&self.status, None);
            thread::sleep(LOOK);
        }
        for (index, _) in std::mem::take(&mut self.queue) {
            self.stopped(index)?;
        }
        Ok(())
    }

    fn take_ended(&mut self) -> Vec<(usize, Stage, Ended)> {
        let mut ended = Vec::new();
        self.active.retain_mut(|(index, process)| match process.poll() {
            Some(how) => {
                ended.push((*index, process.stage, how));
                false
            }
            None => true,
        });
        ended
    }

    /// Starts runs in their order while there are places for them. One that does not fit into memory lets smaller ones pass.
    fn start_what_fits(&mut self) -> Result<(), SuiteError> {
        let mut place = 0;
        while place < self.queue.len() && self.active.len() < self.crew.jobs {
            let (index, not_before) = self.queue[place];
            if Instant::now() < not_before {
                place += 1;
                continue;
            }
            let run = &self.suite.runs[index];
            if let Some(holder) = RunLock::holder(&self.folder.run(run)) {
                self.wait(place, format!("in use by {holder}"))?;
                place += 1;
                continue;
            }
            let mut said = Vec::new();
            let working: Vec<(usize, u32)> = self.active.iter().map(|(i, process)| (*i, process.id())).collect();
            let fits = self.room.fits(index, &working, &mut |text| said.push(text));
            for text in said {
                self.tell(News::Said(text))?;
            }
            match fits {
                Ok(()) => {
                    self.queue.remove(place);
                    self.status.runs[index].attempts += 1;
                    let trained = Standing::read(&self.folder.run(run), &run.config).trained;
                    self.start(index, if trained { Stage::Evaluate } else { Stage::Train })?;
                }
                Err(reason) if reason.is_final || self.active.is_empty() => {
                    self.queue.remove(place);
                    self.set_aside(index, reason.text)?;
                }
                Err(reason) => {
                    self.wait(place, reason.text)?;
                    place += 1;
                }
            }
        }
        Ok(())
    }

    fn start(&mut self, index: usize, stage: Stage) -> Result<(), SuiteError> {
        let run = &self.suite.runs[index];
        let process = RunProcess::start(stage, run, &self.folder.run(run), self.suite, self.crew)?;
        self.active.push((index, process));
        let status = &mut self.status.runs[index];
        status.state = if stage == Stage::Train { RunState::Training } else { RunState::Evaluating };
        status.reason = None;
        let news = News::Started { run: run.id.clone(), stage: status.state.name(), attempt: status.attempts };
        self.tell(news)
    }

    fn conclude(&mut self, index: usize, stage: Stage, how: Ended) -> Result<(), SuiteError> {
        let run = &self.suite.runs[index];
        let folder = self.folder.run(run);
        self.look_at(index);
        let reason = match how {
            Ended::Refused(reason) => return self.set_aside(index, reason),
            Ended::Failed(reason) => reason,
            Ended::Well => {
                let (evaluations, measured) = Standing::evaluations(&folder, &run.config, &self.suite.evaluation)?;
                let trained = Standing::read(&folder, &run.config).trained;
                match (trained, measured, stage) {
                    (true, true, _) => {
                        self.status.runs[index].state = RunState::Done;
                        self.folder.write_results(self.whole)?;
                        let returns = evaluations.into_iter().map(|result| (result.noise, result.return_mean));
                        return self.tell(News::Done { run: run.id.clone(), returns: returns.collect() });
                    }
                    (true, false, Stage::Train) => return self.start(index, Stage::Evaluate),
                    (true, false, Stage::Evaluate) => "the evaluation ended without a result".into(),
                    (false, ..) => "its process was stopped by somebody else".into(),
                }
            }
        };
        if self.status.runs[index].attempts <= self.crew.retries {
            let status = &mut self.status.runs[index];
            (status.state, status.reason) = (RunState::Waiting, Some(reason.clone()));
            self.queue.push((index, Instant::now() + PAUSE));
            return self.tell(News::Failed { run: run.id.clone(), reason });
        }
        self.set_aside(index, reason)
    }

    fn set_aside(&mut self, index: usize, reason: String) -> Result<(), SuiteError> {
        let status = &mut self.status.runs[index];
        (status.state, status.reason) = (RunState::SetAside, Some(reason.clone()));
        self.tell(News::SetAside { run: self.suite.runs[index].id.clone(), reason })
    }

    fn wait(&mut self, place: usize, reason: String) -> Result<(), SuiteError> {
        let index = self.queue[place].0;
        self.queue[place].1 = Instant::now() + PAUSE;
        let status = &mut self.status.runs[index];
        if status.reason.as_ref() == Some(&reason) {
            return Ok(());
        }
        status.reason = Some(reason.clone());
        self.tell(News::Waits { run: self.suite.runs[index].id.clone(), reason })
    }

    /// Its process has ended because all were asked to.
    fn stopped(&mut self, index: usize) -> Result<(), SuiteError> {
        let attempts = self.status.runs[index].attempts;
        let mut status = self.folder.standing(self.suite, &self.suite.runs[index])?;
        status.attempts = attempts;
        if status.state == RunState::Done {
            self.folder.write_results(self.whole)?;
        }
        self.status.runs[index] = status;
        Ok(())
    }

    fn look_at(&mut self, index: usize) {
        let run = &self.suite.runs[index];
        let standing = Standing::read(&self.folder.run(run), &run.config);
        let status = &mut self.status.runs[index];
        status.interactions = standing.interactions;
        status.interactions_per_second = standing.interactions_per_second;
        status.return_mean_last_100 = standing.mean_return;
    }

    fn refresh(&mut self) -> Result<(), SuiteError> {
        if REFRESH <= self.refreshed.elapsed() {
            self.refreshed = Instant::now();
            let active: Vec<usize> = self.active.iter().map(|(index, _)| *index).collect();
            active.into_iter().for_each(|index| self.look_at(index));
        }
        if WRITE <= self.written.elapsed() {
            self.written = Instant::now();
            self.write_status()?;
        }
        Ok(())
    }

    fn write_status(&mut self) -> Result<(), SuiteError> {
        write_status(self.place, &mut self.status)
    }

    fn tell(&mut self, news: News) -> Result<(), SuiteError> {
        self.write_status()?;
        (self.watch)(&self.status, Some(&news));
        Ok(())
    }
}
