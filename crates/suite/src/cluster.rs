//! A suite on a cluster: the tables of a suite file that are for clusters, the resources of a job, which runs are left to
//! submit, and following them until they end.

use crate::SuiteError;
use crate::expand::{Suite, SuiteRun};
use crate::file::Document;
use crate::folder::{SuiteFolder, write_status};
use crate::memory::MemoryBudget;
use crate::ray::{LauncherMessage, RayLauncher, ray_jobs};
use crate::scheduler::{SchedulerOptions, Update};
use crate::slurm::{SlurmArray, SubmittedArray, cancel, check_nodes, queue, slurm_arrays, submit};
use sane_lab::this_process;
use sane_record::{RunState, SuiteStatus};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Interval between two queries of a cluster, long enough for a shared one.
const POLL: Duration = Duration::from_secs(3);

/// Time that cancelled jobs get to save their checkpoints.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(600);

/// A cluster scheduler that suites can run on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// Through `sbatch`.
    Slurm,
    /// Through its Python package.
    Ray,
}

/// The job arrays that would be submitted to Slurm now.
pub fn plan_slurm(path: &Path, suite: &Suite, needs: &JobNeeds) -> Result<Vec<SlurmArray>, SuiteError> {
    needs.check(path)?;
    let folder = SuiteFolder { path: path.into() };
    Ok(slurm_arrays(path, suite, &unfinished(&folder, suite), needs))
}

/// The jobs that Ray would get now.
pub fn plan_ray(path: &Path, suite: &Suite, needs: &JobNeeds) -> Result<serde_json::Value, SuiteError> {
    needs.check(path)?;
    let folder = SuiteFolder { path: path.into() };
    Ok(ray_jobs(path, suite, &unfinished(&folder, suite), needs))
}

/// Submits to Slurm the runs that are neither done nor in its queue.
pub fn submit_to_slurm(path: &Path, suite: &Suite, needs: &JobNeeds) -> Result<Vec<SubmittedArray>, SuiteError> {
    needs.check(path)?;
    check_nodes(suite.slurm.partition.as_deref(), needs)?;
    let (folder, _lock, suite) = SuiteFolder::take(path, suite)?;
    let suite = &suite;
    let queued = queue(&folder.submitted()?)?;
    let mut runs = unfinished(&folder, suite);
    runs.retain(|run| !queued.contains_key(run));
    slurm_arrays(path, suite, &runs, needs).iter().map(|array| submit(&folder, array)).collect()
}

/// Reports to `observer` until Slurm has no job of the suite any more, or `stop` is set; the jobs run on without it.
pub fn follow_slurm(
    path: &Path,
    suite: &Suite,
    stop: &AtomicBool,
    observer: &mut dyn FnMut(&SuiteStatus, Option<&Update>),
) -> Result<SuiteStatus, SuiteError> {
    let folder = SuiteFolder::existing(path)?;
    let mut polled = None::<Instant>;
    let mut status = folder.status()?;
    loop {
        if polled.is_none_or(|polled| POLL <= polled.elapsed()) {
            polled = Some(Instant::now());
            status = folder.status()?;
            if queue(&folder.submitted()?)?.is_empty() {
                break;
            }
        }
        observer(&status, None);
        if stop.load(Ordering::Relaxed) {
            return Ok(status);
        }
        thread::sleep(Duration::from_millis(100));
    }
    folder.write_results(suite)?;
    folder.status()
}

/// Cancels all jobs of the suite and waits until their runs have saved a checkpoint. False if Slurm had none.
pub fn cancel_slurm(folder: &SuiteFolder) -> Result<bool, SuiteError> {
    let submitted = folder.submitted()?;
    if submitted.is_empty() || queue(&submitted)?.is_empty() {
        return Ok(false);
    }
    cancel(&submitted)?;
    let start = Instant::now();
    while !queue(&submitted)?.is_empty() {
        if CANCEL_TIMEOUT < start.elapsed() {
            let reason = "it still has jobs of the suite after ten minutes; `squeue --me` shows them".into();
            return Err(SuiteError::Cluster { engine: "Slurm", reason });
        }
        thread::sleep(Duration::from_millis(500));
    }
    Ok(true)
}

/// Runs the unfinished runs on Ray until all are done or set aside, `stop` is set, or the suite's stop file appears.
pub fn run_on_ray(
    path: &Path,
    suite: &Suite,
    needs: &JobNeeds,
    stop: &AtomicBool,
    observer: &mut dyn FnMut(&SuiteStatus, Option<&Update>),
) -> Result<SuiteStatus, SuiteError> {
    needs.check(path)?;
    let (folder, _lock, suite) = SuiteFolder::take(path, suite)?;
    let suite = &suite;
    let runs = unfinished(&folder, suite);
    let mut launcher = RayLauncher::start(&folder, suite, &ray_jobs(path, suite, &runs, needs))?;
    let (mut polled, mut stopping) = (Instant::now(), false);
    let mut status = folder.cluster_status(suite, &this_process())?;
    loop {
        let ended = launcher.ended();
        for message in launcher.messages() {
            match message {
                LauncherMessage::Refused { refused } => {
                    return Err(SuiteError::Cluster { engine: "Ray", reason: refused });
                }
                LauncherMessage::GivenUp { run, error } => {
                    observer(&status, Some(&Update::Failed { run, reason: error }))
                }
                LauncherMessage::Ended { run, code } => {
                    status = folder.cluster_status(suite, &this_process())?;
                    folder.write_results(suite)?;
                    observer(&status, Some(&Update::Message(format!("{run}: its job ended with exit code {code}"))));
                }
            }
        }
        match ended {
            Some(true) => break,
            Some(false) => {
                let log = folder.path.join("ray").join("log.txt");
                let reason = format!("its launcher failed, see {}", log.display());
                return Err(SuiteError::Cluster { engine: "Ray", reason });
            }
            None => {}
        }
        if !stopping && (stop.load(Ordering::Relaxed) || folder.stop_requested()) {
            stopping = true;
            // The jobs poll for this file on whichever node they run.
            folder.request_stop()?;
            observer(&status, Some(&Update::Stopping));
        }
        if POLL <= polled.elapsed() {
            polled = Instant::now();
            status = folder.cluster_status(suite, &this_process())?;
            write_status(&folder.status_file(), &mut status)?;
        }
        observer(&status, None);
        thread::sleep(Duration::from_millis(100));
    }
    folder.write_results(suite)?;
    status = folder.cluster_status(suite, &this_process())?;
    write_status(&folder.status_file(), &mut status)?;
    Ok(status)
}

/// Resources of a job and how it is started.
#[derive(Debug, Clone)]
pub struct JobNeeds {
    /// Path of `sane` on the nodes, unless the suite file names another.
    pub program: PathBuf,
    /// Worker threads, one core each.
    pub threads: usize,
    /// Memory of the largest run.
    pub memory_bytes: u64,
    /// Restarts of a failed run.
    pub retries: u32,
    /// Folder with Atari ROMs, searched before all others.
    pub roms: Option<PathBuf>,
}

impl JobNeeds {
    /// Needs of the jobs of a suite: memory as the suite file says, or as measured for the largest run.
    pub fn of(suite: &Suite, options: &SchedulerOptions, message: &mut dyn FnMut(String)) -> Result<Self, SuiteError> {
        let mut budget = MemoryBudget::new(suite, options);
        let mut memory_bytes = 0;
        for index in 0..suite.runs.len() {
            let need = budget
                .need(index, message)
                .map_err(|reason| SuiteError::Run { run: suite.runs[index].id.clone(), reason })?;
            memory_bytes = memory_bytes.max(need);
        }
        let SchedulerOptions { program, threads, retries, roms, .. } = options.clone();
        Ok(Self { program, threads, memory_bytes, retries, roms })
    }

    /// The shell lines of a job: the setup, then `sane suite task` for one run. `run` is a word of the shell already: a
    /// quoted name, or a variable.
    pub fn shell(&self, suite: &Suite, folder: &Path, run: &str) -> String {
        let path = |path: &Path| shell_quoted(&path.display().to_string());
        let mut arguments = vec!["suite".to_owned(), "task".to_owned(), path(folder), run.to_owned()];
        arguments.extend(["--threads".to_owned(), self.threads.to_string()]);
        arguments.extend(["--retries".to_owned(), self.retries.to_string()]);
        if let Some(roms) = &self.roms {
            arguments.extend(["--roms".to_owned(), path(roms)]);
        }
        suite.cluster.shell(&self.program.display().to_string(), &arguments)
    }

    /// Refuses paths that are not text: a job script is.
    fn check(&self, folder: &Path) -> Result<(), SuiteError> {
        let paths = [Some(folder), Some(&*self.program), self.roms.as_deref()];
        match paths.into_iter().flatten().find(|path| path.to_str().is_none_or(|text| text.contains('\0'))) {
            Some(path) => {
                let reason = format!("the path {} is not UTF-8, which a job script must be", path.display());
                Err(SuiteError::Cluster { engine: "a cluster", reason })
            }
            None => Ok(()),
        }
    }
}

/// Table `[cluster]`: program and environment of a job, on any cluster.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ClusterFile {
    /// Path of `sane` on the nodes; that of the submitting process if left out.
    pub program: Option<String>,
    /// Container image to run it in, through `apptainer exec`.
    pub image: Option<String>,
    /// Shell lines that set up the environment.
    pub setup: Vec<String>,
}

/// Table `[slurm]`: options of `sbatch`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SlurmFile {
    /// Partition; Slurm's default if left out.
    pub partition: Option<String>,
    pub account: Option<String>,
    /// Time limit of a job as Slurm writes it, `1-12:00:00`; a longer run is resumed by the next job.
    pub time: Option<String>,
    /// Maximum number of jobs of an array that run at the same time.
    pub at_once: Option<u32>,
    /// Further options of `sbatch`, verbatim.
    pub options: Vec<String>,
}

/// Table `[ray]`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct RayFile {
    /// Address of the cluster; that of this machine if left out.
    pub address: Option<String>,
    /// Python interpreter that has the package `ray`; `python3` if left out.
    pub python: Option<String>,
}

impl ClusterFile {
    /// The shell lines that run `sane` with these arguments, which are words of the shell already: the setup, then the
    /// program, in its image.
    pub fn shell(&self, program: &str, arguments: &[String]) -> String {
        let mut words: Vec<String> = Vec::new();
        if let Some(image) = &self.image {
            words.extend(["apptainer", "exec", image].map(shell_quoted));
        }
        words.push(shell_quoted(self.program.as_deref().unwrap_or(program)));
        words.extend(arguments.iter().cloned());
        let command = words.join(" ");
        self.setup.iter().cloned().chain([format!("exec {command}")]).collect::<Vec<_>>().join("\n")
    }
}

impl SlurmFile {
    /// Seconds before its time limit at which a job is warned: enough to write a checkpoint of any size, at most a quarter
    /// of the limit, so that short jobs still make progress.
    pub fn warning_seconds(&self) -> u64 {
        self.time.as_deref().and_then(seconds).map_or(120, |limit| (limit / 4).clamp(1, 120))
    }

    /// Rejects values that would change the meaning of the job script.
    pub fn check(&self, document: &Document) -> Result<(), SuiteError> {
        let words = [("partition", &self.partition), ("account", &self.account), ("time", &self.time)];
        for (key, word) in words {
            let is_word = |word: &String| !word.is_empty() && !word.contains(|c: char| c.is_whitespace());
            if word.as_ref().is_some_and(|word| !is_word(word)) {
                let location = document.location(&["slurm".into(), key.into()]);
                return Err(SuiteError::Format { location, reason: format!("{key} is one word without spaces") });
            }
        }
        if self.time.as_deref().is_some_and(|time| seconds(time).is_none_or(|seconds| seconds == 0)) {
            let location = document.location(&["slurm".into(), "time".into()]);
            let reason = "expected a time limit as Slurm writes it: minutes, hours:minutes:seconds, days-hours".into();
            return Err(SuiteError::Format { location, reason });
        }
        if let Some(i) = self.options.iter().position(|option| !option.starts_with('-') || option.contains('\n')) {
            let location = document.location(&["slurm".into(), "options".into(), i.into()]);
            let reason = "an option of sbatch begins with -, as --qos=long".into();
            return Err(SuiteError::Format { location, reason });
        }
        if self.at_once == Some(0) {
            let location = document.location(&["slurm".into(), "at_once".into()]);
            return Err(SuiteError::Format { location, reason: "at least one run at once".into() });
        }
        Ok(())
    }
}

/// The runs that are neither done nor set aside for good.
fn unfinished(folder: &SuiteFolder, suite: &Suite) -> Vec<String> {
    let is_left = |run: &&SuiteRun| !matches!(folder.run_status(suite, run).state, RunState::Done | RunState::SetAside);
    suite.runs.iter().filter(is_left).map(|run| run.id.clone()).collect()
}

/// A time limit of Slurm: `M`, `M:S`, `H:M:S`, `D-H`, `D-H:M`, `D-H:M:S`.
fn seconds(time: &str) -> Option<u64> {
    let (days, rest) = time.split_once('-').map_or((None, time), |(days, rest)| (Some(days), rest));
    let numbers: Vec<u64> = rest.split(':').map(|number| number.parse().ok()).collect::<Option<_>>()?;
    let units: &[u64] = match (days, numbers.len()) {
        (Some(_), 1..=3) | (None, 3) => &[3600, 60, 1],
        (None, 1 | 2) => &[60, 1],
        _ => return None,
    };
    let days = days.map_or(Some(0), |days| days.parse::<u64>().ok())?;
    let parts = numbers.iter().zip(units).map(|(number, unit)| number.saturating_mul(*unit));
    Some(parts.fold(days.saturating_mul(86_400), u64::saturating_add))
}

/// The word, quoted for a POSIX shell where needed.
pub fn shell_quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,@%+".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.into();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_limits_are_read_as_slurm_reads_them() {
        let cases = [("90", 5400), ("1:30", 90), ("2:00:01", 7201), ("1-12", 129_600), ("1-0:30", 88_200)];
        cases.iter().for_each(|(text, expected)| assert_eq!(seconds(text), Some(*expected), "{text}"));
        assert_eq!(["", "1h", "1-", "1:2:3:4"].map(seconds), [None; 4]);
        let warned = |time: &str| SlurmFile { time: Some(time.into()), ..SlurmFile::default() }.warning_seconds();
        assert_eq!((warned("1"), warned("1-0"), SlurmFile::default().warning_seconds()), (15, 120, 120));
    }

    #[test]
    fn the_environment_is_set_up_before_the_program_runs_in_its_image() {
        let cluster = ClusterFile {
            program: None,
            image: Some("images/sane v1.sif".into()),
            setup: vec!["module load gcc".into()],
        };
        let shell = cluster.shell("/opt/sane", &["suite".into(), shell_quoted("it's")]);
        assert_eq!(shell, "module load gcc\nexec apptainer exec 'images/sane v1.sif' /opt/sane suite 'it'\\''s'");
    }
}
