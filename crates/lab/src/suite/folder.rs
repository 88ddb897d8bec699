//! A suite on disk: its folder, who works in it, what it says about itself.
//!
//! ```text
//! suite.toml    the suite, as it was given           status.json   how each run stands
//! lock          held while somebody runs it          results.csv   one line per run and noise mode
//! stop          there when it was asked to stop      runs/         a folder per run
//! slurm.json    what was submitted to Slurm          slurm/, ray/  logs of the jobs
//! ```

use super::document::Document;
use super::expand::{Suite, SuiteRun};
use super::slurm::Submitted;
use super::slurm_commands::queue;
use super::standing::Standing;
use super::{SuiteError, results};
use crate::config::differences;
use crate::journal::unix_seconds;
use crate::lock::{RunLock, this_process};
use crate::machine::host;
use sane_record::{RunState, RunStatus, SuiteStatus};
use serde::de::DeserializeOwned;
use std::fs;
use std::path::{Path, PathBuf};

/// Keys of a run that may differ when a suite is run again: a longer budget goes on where the shorter ended.
const FREE_KEYS: [&str; 2] = ["training.total_interactions", "record.checkpoint_interval"];

/// A job writes how it stands every few seconds; after so long a silence, something is wrong with it.
const SILENCE_SECONDS: u64 = 30;

/// The folder of a suite.
#[derive(Debug, Clone)]
pub struct SuiteFolder {
    /// Where it is.
    pub path: PathBuf,
}

/// The folder a suite lives in unless another is asked for.
pub fn default_suite_folder(suite: &Suite) -> PathBuf {
    Path::new("runs").join("suites").join(&suite.name)
}

impl SuiteFolder {
    /// Takes this folder for running `suite`: nobody else is at work there, and what is there belongs to it.
    pub(super) fn take(path: &Path, suite: &Suite) -> Result<(Self, RunLock), SuiteError> {
        fs::create_dir_all(path).map_err(SuiteError::io("create", path))?;
        let lock = RunLock::acquire(path)?;
        let folder = Self { path: path.into() };
        if folder.copy().exists() {
            let there = folder.suite()?;
            if let Some(reason) = what_differs(&there, suite) {
                return Err(SuiteError::OtherSuite { folder: path.into(), reason });
            }
        }
        replace(&folder.copy(), &suite.text)?;
        match fs::remove_file(folder.stop()) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(SuiteError::io("remove", folder.stop())(error))
            }
            _ => Ok((folder, lock)),
        }
    }

    /// A folder that holds a suite.
    pub fn existing(path: &Path) -> Result<Self, SuiteError> {
        let folder = Self { path: path.into() };
        if folder.copy().is_file() { Ok(folder) } else { Err(SuiteError::NoSuite { folder: path.into() }) }
    }

    /// The suite in it.
    pub fn suite(&self) -> Result<Suite, SuiteError> {
        Suite::of(&Document::read(&self.copy())?)
    }

    /// Where a run of the suite lives.
    pub fn run(&self, run: &SuiteRun) -> PathBuf {
        self.path.join("runs").join(&run.id)
    }

    /// Who runs the suite, if anybody does.
    pub fn runner(&self) -> Option<String> {
        RunLock::holder(&self.path)
    }

    /// Asks whoever runs the suite to stop; all its runs save a checkpoint.
    pub fn ask_to_stop(&self) -> Result<(), SuiteError> {
        if self.runner().is_none() {
            return Err(SuiteError::NotRunning { folder: self.path.clone() });
        }
        fs::write(self.stop(), this_process()).map_err(SuiteError::io("write", self.stop()))
    }

    /// Whether somebody asked the suite to stop.
    pub(super) fn is_asked_to_stop(&self) -> bool {
        self.stop().exists()
    }

    /// How its runs stand: as its runner says if it has one, else what the files of the runs and their jobs say.
    pub fn status(&self) -> Result<SuiteStatus, SuiteError> {
        let suite = self.suite()?;
        let known = read_status(&self.status_file())?;
        let (runner, when) =
            known.as_ref().map_or_else(Default::default, |known| (known.runner.clone(), known.unix_seconds));
        let mut status = self.cluster_status(&suite, &runner)?;
        status.unix_seconds = when;
        let running = self.runner().is_some();
        for standing in &mut status.runs {
            let before = known.as_ref().and_then(|known| known.runs.iter().find(|before| before.run == standing.run));
            standing.attempts = standing.attempts.max(before.map_or(0, |before| before.attempts));
            if let Some(before) = before.filter(|_| standing.state != RunState::Done) {
                let is_left_alone = before.state == RunState::SetAside && !standing.state.is_running();
                if running || is_left_alone {
                    (standing.state, standing.reason) = (before.state, before.reason.clone());
                }
            }
        }
        Ok(status)
    }

    /// How the runs stand by their files, by what their jobs last wrote, and by the queue they may be in.
    pub(super) fn cluster_status(&self, suite: &Suite, runner: &str) -> Result<SuiteStatus, SuiteError> {
        let submitted = self.submitted()?;
        // A queue that cannot be asked from here says nothing; the files do.
        let queue = if submitted.is_empty() { Default::default() } else { queue(&submitted).unwrap_or_default() };
        let mut runs = Vec::new();
        for run in &suite.runs {
            let mut now = self.standing(suite, run)?;
            if now.state != RunState::Done {
                self.add_job(run, &mut now)?;
                if let Some((state, why)) = queue.get(&run.id).filter(|_| !now.state.is_running()) {
                    now.state = RunState::Waiting;
                    now.reason = Some(format!("Slurm: {} ({why})", state.to_lowercase()));
                }
            }
            runs.push(now);
        }
        Ok(SuiteStatus { suite: suite.name.clone(), runner: runner.into(), unix_seconds: unix_seconds(), runs })
    }

    /// What the job of a run last wrote, if it was lately or was its last word.
    fn add_job(&self, run: &SuiteRun, now: &mut RunStatus) -> Result<(), SuiteError> {
        let Some(job) = read_status(&self.task(run))? else { return Ok(()) };
        let Some(before) = job.runs.first() else { return Ok(()) };
        now.attempts = before.attempts;
        let silence = unix_seconds().saturating_sub(job.unix_seconds);
        match before.state {
            RunState::Training | RunState::Evaluating | RunState::Waiting if SILENCE_SECONDS < silence => {
                now.reason = Some(format!("{} was last heard of {silence} s ago", job.runner));
            }
            RunState::Done | RunState::Stopped => {}
            state => (now.state, now.reason) = (state, before.reason.clone()),
        }
        Ok(())
    }

    /// How a run stands by its files alone.
    pub(super) fn standing(&self, suite: &Suite, run: &SuiteRun) -> Result<RunStatus, SuiteError> {
        let folder = self.run(run);
        let standing = Standing::read(&folder, &run.config);
        let measured = standing.trained && Standing::evaluations(&folder, &run.config, &suite.evaluation)?.1;
        Ok(RunStatus {
            run: run.id.clone(),
            state: match standing.interactions {
                _ if measured => RunState::Done,
                0 => RunState::Waiting,
                _ => RunState::Stopped,
            },
            attempts: 0,
            reason: None,
            interactions: standing.interactions,
            total_interactions: run.config.training.total_interactions.0,
            interactions_per_second: standing.interactions_per_second,
            return_mean_last_100: standing.mean_return,
        })
    }

    /// What was submitted to Slurm, in order.
    pub(super) fn submitted(&self) -> Result<Vec<Submitted>, SuiteError> {
        Ok(read_json(&self.path.join("slurm.json"))?.unwrap_or_default())
    }

    /// Remembers what was submitted to Slurm.
    pub(super) fn write_submitted(&self, all: &[Submitted]) -> Result<(), SuiteError> {
        replace(&self.path.join("slurm.json"), &serde_json::to_string_pretty(all).expect("plain data"))
    }

    /// The file that says how the runs stand.
    pub(super) fn status_file(&self) -> PathBuf {
        self.path.join("status.json")
    }

    /// The file in which the job of a run says how it stands.
    pub(super) fn task(&self, run: &SuiteRun) -> PathBuf {
        self.run(run).join("job.json")
    }

    /// Writes the results of the runs that are done.
    pub(super) fn write_results(&self, suite: &Suite) -> Result<(), SuiteError> {
        replace(&self.path.join("results.csv"), &results::csv(self, suite)?)
    }

    fn copy(&self) -> PathBuf {
        self.path.join("suite.toml")
    }

    fn stop(&self) -> PathBuf {
        self.path.join("stop")
    }
}

/// Why the suite in a folder is not an earlier state of this one. More runs and longer ones are fine.
fn what_differs(there: &Suite, here: &Suite) -> Option<String> {
    if there.name != here.name {
        return Some(format!("it is named {} there, {} here", there.name, here.name));
    }
    there.runs.iter().find_map(|old| {
        let Some(new) = here.runs.iter().find(|new| new.id == old.id) else {
            return Some(format!("the run {} is in it and not in this one", old.id));
        };
        let mut keys = differences(&old.config, &new.config);
        keys.retain(|key, _| !FREE_KEYS.contains(&key.as_str()));
        let (key, (there, here)) = keys.into_iter().next()?;
        Some(format!("{key} of {} is {there} there, {here} here", old.id))
    })
}

/// Writes how runs stand into this file.
pub(super) fn write_status(path: &Path, status: &mut SuiteStatus) -> Result<(), SuiteError> {
    status.unix_seconds = unix_seconds();
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(SuiteError::io("create", folder))?;
    replace(path, &serde_json::to_string_pretty(status).expect("a status is plain data"))
}

fn read_status(path: &Path) -> Result<Option<SuiteStatus>, SuiteError> {
    read_json(path)
}

fn read_json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, SuiteError> {
    match fs::read(path) {
        Ok(bytes) => serde_json::from_slice(&bytes)
            .map(Some)
            .map_err(|error| SuiteError::Status { path: path.into(), reason: error.to_string() }),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(SuiteError::Io { doing: "read", path: path.into(), source }),
    }
}

/// Written beside its place, under a name that nobody else uses, and renamed: a reader sees the old one or the new one.
fn replace(path: &Path, text: &str) -> Result<(), SuiteError> {
    let temporary = path.with_added_extension(format!("new-{}-{}", host(), std::process::id()));
    fs::write(&temporary, text).map_err(SuiteError::io("write", &temporary))?;
    fs::rename(&temporary, path).map_err(SuiteError::io("rename", &temporary))
}

#[cfg(test)]
mod tests {
    use super::super::expand::tests::suite;
    use super::*;

    const SMALL: &str =
        "name = 'small'\nbudget = 500\ngames = ['risky-road']\nagents = ['sane', 'q-sane']\nseeds = [1]\n";

    #[test]
    fn a_folder_is_taken_by_one_at_a_time_and_by_one_suite() {
        let root = tempfile::tempdir().unwrap();
        let small = suite(SMALL).unwrap();
        let (folder, lock) = SuiteFolder::take(root.path(), &small).unwrap();
        assert!(matches!(SuiteFolder::take(root.path(), &small), Err(SuiteError::Lock(_))));
        assert!(folder.runner().is_some());
        drop(lock);
        assert!(matches!(folder.ask_to_stop(), Err(SuiteError::NotRunning { .. })));
        let again = |text: &str| SuiteFolder::take(root.path(), &suite(text).unwrap()).map(drop);
        again(&SMALL.replace("[1]", "[1, 2]").replace("500", "600")).unwrap();
        for (from, to, said) in [
            ("'small'", "'other'", "named small there, other here"),
            ("seeds = [1]", "seeds = [1, 2]\nset.learner.gamma = 0.5", "learner.gamma of risky-road/sane/seed-1"),
            ("'sane', ", "", "the run risky-road/sane/seed-1 is in it"),
        ] {
            let error = again(&SMALL.replace(from, to)).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }

    #[test]
    fn a_folder_without_a_suite_says_so() {
        let root = tempfile::tempdir().unwrap();
        assert!(matches!(SuiteFolder::existing(root.path()), Err(SuiteError::NoSuite { .. })));
    }

    #[test]
    fn runs_that_have_not_begun_are_waiting() {
        let root = tempfile::tempdir().unwrap();
        let (folder, _lock) = SuiteFolder::take(root.path(), &suite(SMALL).unwrap()).unwrap();
        let status = folder.status().unwrap();
        assert_eq!((status.runs.len(), status.count(RunState::Waiting)), (2, 2));
    }
}
