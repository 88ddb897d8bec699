//! A suite on disk: its folder, which process runs it, and the status of its runs.
//!
//! ```text
//! suite.toml    the suite file                       status.json   state of each run
//! lock          held while the suite is run          results.csv   one line per finished run and noise mode
//! stop          exists after a stop was requested    runs/         a folder per run
//! slurm.json    job arrays submitted to Slurm        slurm/, ray/  logs of the jobs
//! ```

use crate::SuiteError;
use crate::expand::{Suite, SuiteRun};
use crate::file::Document;
use crate::progress::RunProgress;
use crate::rounds::Rounds;
use crate::slurm::{SubmittedArray, queue};
use sane_lab::{FolderLock, differences, host, this_process, unix_seconds};
use sane_record::{RealDisk, RunState, RunStatus, SuiteStatus, read_plain, replace_file};
use serde::de::DeserializeOwned;
use std::fs;
use std::path::{Path, PathBuf};

/// Configuration keys that may change when a suite is run again: a longer budget resumes where the shorter ended.
const FREE_KEYS: [&str; 2] = ["training.total_interactions", "record.checkpoint_interval"];

/// A job writes its status every few seconds; an older one is reported as stale.
const STALE_SECONDS: u64 = 30;

/// A larger file is no status.
const LARGEST_STATUS_BYTES: u64 = 256 << 20;

/// The folder of a suite.
#[derive(Debug, Clone)]
pub struct SuiteFolder {
    pub path: PathBuf,
}

/// The folder of a suite unless `--out` names another: `runs/suites/NAME`.
pub fn default_suite_folder(suite: &Suite) -> PathBuf {
    Path::new("runs").join("suites").join(&suite.name)
}

impl SuiteFolder {
    /// Locks the folder for running `suite`; fails if another process holds it or it holds another suite. The suite that is
    /// returned follows the decisions taken so far.
    pub(crate) fn take(path: &Path, suite: &Suite) -> Result<(Self, FolderLock, Suite), SuiteError> {
        fs::create_dir_all(path).map_err(SuiteError::io("create", path))?;
        let lock = FolderLock::acquire(path)?;
        let folder = Self { path: path.into() };
        let document = Document { path: folder.copy(), text: suite.text.clone() };
        let suite = Suite::after(&document, &folder.rounds()?)?;
        if folder.copy().exists() {
            let existing = folder.suite()?;
            if let Some(reason) = folder.conflict(&existing, &suite)? {
                return Err(SuiteError::OtherSuite { folder: path.into(), reason });
            }
        }
        replace(&folder.copy(), &suite.text)?;
        match fs::remove_file(folder.stop_file()) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                Err(SuiteError::io("remove", folder.stop_file())(error))
            }
            _ => {
                let (_, suite) = folder.decide(suite)?;
                Ok((folder, lock, suite))
            }
        }
    }

    /// Why the existing suite of this folder is not an earlier state of the new one, which may have more and longer runs. Runs
    /// that have not begun may change and go, unless Slurm was given jobs, which name them.
    fn conflict(&self, existing: &Suite, new: &Suite) -> Result<Option<String>, SuiteError> {
        if existing.name != new.name {
            return Ok(Some(format!("its name is {}, not {}", existing.name, new.name)));
        }
        let has_jobs = !self.submitted()?.is_empty();
        let mut begun = existing.runs.iter().filter(|old| has_jobs || self.run(old).exists());
        Ok(begun.find_map(|old| {
            let Some(new) = new.runs.iter().find(|new| new.id == old.id) else {
                return Some(format!("it has the run {}, which the suite file lacks", old.id));
            };
            let mut keys = differences(&old.config, &new.config);
            keys.retain(|key, _| !FREE_KEYS.contains(&key.as_str()));
            let (key, (before, now)) = keys.into_iter().next()?;
            Some(format!("{key} of {} is {before} there and {now} in the suite file", old.id))
        }))
    }

    /// Takes the decisions that the finished runs allow; what was decided, and the suite that follows.
    pub(crate) fn decide(&self, suite: Suite) -> Result<(Vec<String>, Suite), SuiteError> {
        let mut rounds = self.rounds()?;
        let taken = rounds.decide(self, &suite);
        if taken.is_empty() {
            return Ok((taken, suite));
        }
        replace(&self.rounds_file(), &serde_json::to_string_pretty(&rounds).expect("plain data"))?;
        Ok((taken, self.suite()?))
    }

    /// The decisions taken so far.
    pub fn rounds(&self) -> Result<Rounds, SuiteError> {
        Ok(read_json(&self.rounds_file())?.unwrap_or_default())
    }

    fn rounds_file(&self) -> PathBuf {
        self.path.join("rounds.json")
    }

    /// Opens a folder that holds a suite.
    pub fn existing(path: &Path) -> Result<Self, SuiteError> {
        let folder = Self { path: path.into() };
        if folder.copy().is_file() { Ok(folder) } else { Err(SuiteError::NoSuite { folder: path.into() }) }
    }

    /// Reads the suite in it.
    pub fn suite(&self) -> Result<Suite, SuiteError> {
        Suite::after(&Document::read(&self.copy())?, &self.rounds()?)
    }

    /// Folder of a run.
    pub fn run(&self, run: &SuiteRun) -> PathBuf {
        self.path.join("runs").join(&run.id)
    }

    /// The process that runs the suite, if any.
    pub fn runner(&self) -> Option<String> {
        FolderLock::holder(&self.path)
    }

    /// Requests a stop from the process that runs the suite; all its runs save a checkpoint.
    pub fn request_stop(&self) -> Result<(), SuiteError> {
        if self.runner().is_none() {
            return Err(SuiteError::NotRunning { folder: self.path.clone() });
        }
        fs::write(self.stop_file(), this_process()).map_err(SuiteError::io("write", self.stop_file()))
    }

    pub(crate) fn stop_requested(&self) -> bool {
        self.stop_file().exists()
    }

    /// Status of the runs: from the process that runs the suite if there is one, else from the files of runs and jobs.
    pub fn status(&self) -> Result<SuiteStatus, SuiteError> {
        let suite = self.suite()?;
        // One that cannot be read is written anew by the next process that runs the suite.
        let known = read_json::<SuiteStatus>(&self.status_file()).unwrap_or_default();
        let (runner, when) =
            known.as_ref().map_or_else(Default::default, |known| (known.runner.clone(), known.unix_seconds));
        let mut status = self.cluster_status(&suite, &runner)?;
        status.unix_seconds = when;
        let running = self.runner().is_some();
        for run in &mut status.runs {
            let before = known.as_ref().and_then(|known| known.runs.iter().find(|before| before.run == run.run));
            run.attempts = run.attempts.max(before.map_or(0, |before| before.attempts));
            if let Some(before) = before.filter(|_| run.state != RunState::Done) {
                let stays_aside = before.state == RunState::SetAside && !run.state.is_running();
                if running || stays_aside {
                    (run.state, run.reason) = (before.state, before.reason.clone());
                }
            }
        }
        Ok(status)
    }

    /// Status of the runs from their files, the status files of their jobs, and Slurm's queue.
    pub(crate) fn cluster_status(&self, suite: &Suite, runner: &str) -> Result<SuiteStatus, SuiteError> {
        let submitted = self.submitted()?;
        // Where Slurm cannot be queried, the files alone count.
        let queue = if submitted.is_empty() { Default::default() } else { queue(&submitted).unwrap_or_default() };
        let mut runs = Vec::new();
        for run in &suite.runs {
            let mut now = self.run_status(suite, run);
            if now.state != RunState::Done {
                self.add_job_status(run, &mut now);
                if let Some((state, why)) = queue.get(&run.id).filter(|_| !now.state.is_running()) {
                    now.state = RunState::Waiting;
                    now.reason = Some(format!("Slurm: {} ({why})", state.to_lowercase()));
                }
            }
            runs.push(now);
        }
        Ok(SuiteStatus { suite: suite.name.clone(), runner: runner.into(), unix_seconds: unix_seconds(), runs })
    }

    /// Adds the status its job last wrote, unless that is stale.
    fn add_job_status(&self, run: &SuiteRun, now: &mut RunStatus) {
        let job = match read_json::<SuiteStatus>(&self.job_status_file(run)) {
            Ok(Some(job)) => job,
            Ok(None) => return,
            Err(error) => {
                now.reason.get_or_insert(error.to_string());
                return;
            }
        };
        let Some(before) = job.runs.first() else { return };
        now.attempts = before.attempts;
        let silence = unix_seconds().saturating_sub(job.unix_seconds);
        match before.state {
            RunState::Training | RunState::Evaluating | RunState::Waiting if STALE_SECONDS < silence => {
                now.reason = Some(format!("{} last reported {silence} s ago", job.runner));
            }
            RunState::Done | RunState::Stopped => {}
            state => (now.state, now.reason) = (state, before.reason.clone()),
        }
    }

    /// Status of a run from its own files. One that diverged, or whose results are damaged, is set aside: to start it again
    /// would end in the same way.
    pub(crate) fn run_status(&self, suite: &Suite, run: &SuiteRun) -> RunStatus {
        let folder = self.run(run);
        let progress = RunProgress::read(&folder, &run.config);
        let evaluated = match progress.trained {
            true => RunProgress::evaluations(&folder, &run.config, &suite.evaluation).map(|(_, complete)| complete),
            false => Ok(false),
        };
        let (state, reason) = match (evaluated, progress.diverged_at, progress.interactions) {
            (Err(error), ..) => (RunState::SetAside, Some(error.to_string())),
            (Ok(true), ..) => (RunState::Done, None),
            (_, Some(at), _) => (RunState::SetAside, Some(diverged(at, &folder))),
            (_, None, 0) => (RunState::Waiting, None),
            _ => (RunState::Stopped, None),
        };
        RunStatus {
            run: run.id.clone(),
            state,
            attempts: 0,
            reason,
            interactions: progress.interactions,
            total_interactions: run.config.training.total_interactions.0,
            interactions_per_second: progress.interactions_per_second,
            return_mean_last_100: progress.mean_return,
        }
    }

    /// Job arrays submitted to Slurm, in order.
    pub(crate) fn submitted(&self) -> Result<Vec<SubmittedArray>, SuiteError> {
        Ok(read_json(&self.path.join("slurm.json"))?.unwrap_or_default())
    }

    pub(crate) fn write_submitted(&self, all: &[SubmittedArray]) -> Result<(), SuiteError> {
        replace(&self.path.join("slurm.json"), &serde_json::to_string_pretty(all).expect("plain data"))
    }

    pub(crate) fn status_file(&self) -> PathBuf {
        self.path.join("status.json")
    }

    /// Status file of the cluster job of a run.
    pub(crate) fn job_status_file(&self, run: &SuiteRun) -> PathBuf {
        self.run(run).join("job.json")
    }

    /// Writes `results.csv`: the runs that are done.
    pub(crate) fn write_results(&self, suite: &Suite) -> Result<(), SuiteError> {
        replace(&self.path.join("results.csv"), &results_csv(self, suite))
    }

    fn copy(&self) -> PathBuf {
        self.path.join("suite.toml")
    }

    fn stop_file(&self) -> PathBuf {
        self.path.join("stop")
    }
}

/// Stamps the status with the current time and writes it.
pub(crate) fn write_status(path: &Path, status: &mut SuiteStatus) -> Result<(), SuiteError> {
    status.unix_seconds = unix_seconds();
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).map_err(SuiteError::io("create", folder))?;
    replace(path, &serde_json::to_string_pretty(status).expect("a status is plain data"))
}

fn read_json<T: DeserializeOwned>(path: &Path) -> Result<Option<T>, SuiteError> {
    match read_plain(path, LARGEST_STATUS_BYTES) {
        Ok(bytes) => serde_json::from_slice(&bytes)
            .map(Some)
            .map_err(|error| SuiteError::Status { path: path.into(), reason: error.to_string() }),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(source) => Err(SuiteError::io("read", path)(source)),
    }
}

/// Writes to a temporary file unique to this process and renames it: a reader sees the old text or the new one.
fn replace(path: &Path, text: &str) -> Result<(), SuiteError> {
    let temporary = path.with_added_extension(format!("new-{}-{}", host(), std::process::id()));
    replace_file(&RealDisk, &temporary, path, &[text.as_bytes()]).map_err(SuiteError::io("write", path))
}

/// Why a run that diverged is not started again.
fn diverged(interactions: u64, folder: &Path) -> String {
    format!(
        "it diverged at interaction {interactions}, and would again, bit for bit; give it other settings in another suite, \
         or remove {} to train it anew",
        folder.display()
    )
}

/// Header of `results.csv`.
const RESULTS_HEADER: &str = "variant,game,agent,seed,trained_interactions,training_return_last_100,noise,return_mean,return_std,\
    return_median,interval_95_low,interval_95_high,human_normalised,episodes,interactions,run";

/// One line per finished run and noise mode.
fn results_csv(folder: &SuiteFolder, suite: &Suite) -> String {
    let mut text = format!("{RESULTS_HEADER}\n");
    for run in &suite.runs {
        let (path, config) = (folder.run(run), &run.config);
        let progress = RunProgress::read(&path, config);
        if !progress.trained {
            continue;
        }
        // The status of a run says whether its evaluations are damaged.
        let Ok((evaluations, true)) = RunProgress::evaluations(&path, config, &suite.evaluation) else { continue };
        let number = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
        let start = [
            run.variant.clone().unwrap_or_default(),
            config.world.name.clone(),
            config.agent.clone(),
            config.seed.to_string(),
            config.training.total_interactions.0.to_string(),
            number(progress.mean_return),
        ]
        .map(|cell| csv_quoted(&cell))
        .join(",");
        let end = csv_quoted(&run.id);
        if evaluations.is_empty() {
            text += &format!("{start},,,,,,,,,,{end}\n");
        }
        for evaluation in evaluations {
            let [low, high] = evaluation.return_mean_interval_95;
            text += &format!(
                "{start},{},{},{},{},{low},{high},{},{},{},{end}\n",
                evaluation.noise,
                evaluation.return_mean,
                evaluation.return_std,
                evaluation.return_median,
                number(evaluation.human_normalised),
                evaluation.episodes,
                evaluation.interactions,
            );
        }
    }
    text
}

fn csv_quoted(cell: &str) -> String {
    if cell.contains([',', '"', '\n']) { format!("\"{}\"", cell.replace('"', "\"\"")) } else { cell.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expand::tests::suite;

    const SMALL: &str =
        "name = 'small'\nbudget = 500\ngames = ['risky-road']\nagents = ['sane', 'q-sane']\nseeds = [1]\n";

    #[test]
    fn a_folder_is_locked_by_one_process_and_holds_one_suite() {
        let root = tempfile::tempdir().unwrap();
        let small = suite(SMALL).unwrap();
        let (folder, lock, _) = SuiteFolder::take(root.path(), &small).unwrap();
        assert!(matches!(SuiteFolder::take(root.path(), &small), Err(SuiteError::Lock(_))));
        assert!(folder.runner().is_some());
        drop(lock);
        assert!(matches!(folder.request_stop(), Err(SuiteError::NotRunning { .. })));
        let again = |text: &str| SuiteFolder::take(root.path(), &suite(text).unwrap()).map(drop);
        again(&SMALL.replace("[1]", "[1, 2]").replace("500", "600")).unwrap();
        for run in folder.suite().unwrap().runs {
            fs::create_dir_all(folder.run(&run)).unwrap();
        }
        for (from, to, said) in [
            ("'small'", "'other'", "its name is small, not other"),
            ("seeds = [1]", "seeds = [1, 2]\nset.learner.gamma = 0.5", "learner.gamma of risky-road/sane/seed-1"),
            ("'sane', ", "", "it has the run risky-road/sane/seed-1"),
        ] {
            let error = again(&SMALL.replace(from, to)).unwrap_err().to_string();
            assert!(error.contains(said), "{error}");
        }
    }

    #[test]
    fn runs_that_have_not_begun_may_change_and_go_unless_slurm_has_jobs_for_them() {
        let root = tempfile::tempdir().unwrap();
        let again = |text: &str| SuiteFolder::take(root.path(), &suite(text).unwrap()).map(|(folder, ..)| folder);
        let folder = again(SMALL).unwrap();
        fs::create_dir_all(folder.path.join("runs/risky-road/q-sane/seed-1")).unwrap();
        let without = SMALL.replace("'sane', ", "");
        again(&without).unwrap();
        again(&SMALL.replace("'sane'", "'sane', 'noisynet'")).unwrap();
        let said = again(&SMALL.replace(", 'q-sane'", "")).unwrap_err().to_string();
        assert!(said.contains("it has the run risky-road/q-sane/seed-1"), "{said}");
        folder.write_submitted(&[SubmittedArray { job: "7".into(), runs: Vec::new() }]).unwrap();
        let said = again(&without).unwrap_err().to_string();
        assert!(said.contains("it has the run risky-road/sane/seed-1"), "{said}");
    }

    #[test]
    fn a_folder_without_a_suite_says_so() {
        let root = tempfile::tempdir().unwrap();
        assert!(matches!(SuiteFolder::existing(root.path()), Err(SuiteError::NoSuite { .. })));
    }

    #[test]
    fn runs_that_have_not_begun_are_waiting() {
        let root = tempfile::tempdir().unwrap();
        let (folder, _lock, _) = SuiteFolder::take(root.path(), &suite(SMALL).unwrap()).unwrap();
        let status = folder.status().unwrap();
        assert_eq!((status.runs.len(), status.count(RunState::Waiting)), (2, 2));
    }
}
