//! A suite on a cluster: what its jobs need, which runs are left to submit, and following them to their end.

use super::SuiteError;
use super::expand::Suite;
use super::folder::{SuiteFolder, write_status};
use super::news::News;
use super::ray::{RayLauncher, Said, ray_jobs};
use super::room::Room;
use super::scheduler::Crew;
use super::slurm::{JobNeeds, SlurmJob, Submitted, slurm_jobs};
use super::slurm_commands::{cancel, check_nodes, queue, submit};
use crate::lock::this_process;
use sane_record::{RunState, SuiteStatus};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// How often a cluster is asked how things stand: seldom enough for a shared one.
const ASK: Duration = Duration::from_secs(3);

/// Runs that end well before they are killed need so long at most.
const PATIENCE: Duration = Duration::from_secs(600);

/// Cluster programs that suites can run on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Engine {
    /// By `sbatch`.
    Slurm,
    /// By the Python package.
    Ray,
}

impl JobNeeds {
    /// What the jobs of a suite need: the suite's word, or the memory of the largest run, measured.
    pub fn of(suite: &Suite, crew: &Crew, news: &mut dyn FnMut(String)) -> Result<Self, SuiteError> {
        let mut room = Room::new(suite, crew);
        let mut memory_bytes = 0;
        for index in 0..suite.runs.len() {
            let need = room
                .need(index, news)
                .map_err(|reason| SuiteError::Run { run: suite.runs[index].id.clone(), reason })?;
            memory_bytes = memory_bytes.max(need);
        }
        let Crew { program, threads, retries, roms, .. } = crew.clone();
        Ok(Self { program, threads, memory_bytes, retries, roms })
    }
}

/// The arrays of jobs that Slurm would get now.
pub fn plan_slurm(path: &Path, suite: &Suite, needs: &JobNeeds) -> Result<Vec<SlurmJob>, SuiteError> {
    let folder = SuiteFolder { path: path.into() };
    Ok(slurm_jobs(path, suite, &left(&folder, suite)?, needs))
}

/// What Ray would be told now.
pub fn plan_ray(path: &Path, suite: &Suite, needs: &JobNeeds) -> Result<serde_json::Value, SuiteError> {
    let folder = SuiteFolder { path: path.into() };
    Ok(ray_jobs(path, suite, &left(&folder, suite)?, needs))
}

/// Submits to Slurm what is neither done nor with it already.
pub fn submit_to_slurm(path: &Path, suite: &Suite, needs: &JobNeeds) -> Result<Vec<Submitted>, SuiteError> {
    check_nodes(suite.slurm.partition.as_deref(), needs)?;
    let (folder, _lock) = SuiteFolder::take(path, suite)?;
    let there = queue(&folder.submitted()?)?;
    let mut runs = left(&folder, suite)?;
    runs.retain(|run| !there.contains_key(run));
    slurm_jobs(path, suite, &runs, needs).iter().map(|job| submit(&folder, job)).collect()
}

/// Watches until Slurm has no job of the suite any more, or `stop` is set; the jobs go on by themselves.
pub fn follow_slurm(
    path: &Path,
    suite: &Suite,
    stop: &AtomicBool,
    watch: &mut dyn FnMut(&SuiteStatus, Option<&News>),
) -> Result<SuiteStatus, SuiteError> {
    let folder = SuiteFolder::existing(path)?;
    let mut asked = None::<Instant>;
    let mut status = folder.status()?;
    loop {
        if asked.is_none_or(|asked| ASK <= asked.elapsed()) {
            asked = Some(Instant::now());
            status = folder.status()?;
            if queue(&folder.submitted()?)?.is_empty() {
                break;
            }
        }
        watch(&status, None);
        if stop.load(Ordering::Relaxed) {
            return Ok(status);
        }
        thread::sleep(Duration::from_millis(100));
    }
    folder.write_results(suite)?;
    folder.status()
}

/// Asks the runs to stop, then takes all jobs of the suite from Slurm. Whether there was one.
pub fn cancel_slurm(folder: &SuiteFolder) -> Result<bool, SuiteError> {
    let submitted = folder.submitted()?;
    if submitted.is_empty() || queue(&submitted)?.is_empty() {
        return Ok(false);
    }
    cancel(&submitted)?;
    let start = Instant::now();
    while !queue(&submitted)?.is_empty() {
        if PATIENCE < start.elapsed() {
            let reason = "it still has jobs of the suite after ten minutes; `squeue --me` shows them".into();
            return Err(SuiteError::Cluster { engine: "Slurm", reason });
        }
        thread::sleep(Duration::from_millis(500));
    }
    Ok(true)
}

/// Runs what is left of the suite on Ray until all is done or set aside, or `stop` is set, or the folder is asked to stop.
pub fn run_on_ray(
    path: &Path,
    suite: &Suite,
    needs: &JobNeeds,
    stop: &AtomicBool,
    watch: &mut dyn FnMut(&SuiteStatus, Option<&News>),
) -> Result<SuiteStatus, SuiteError> {
    let (folder, _lock) = SuiteFolder::take(path, suite)?;
    let runs = left(&folder, suite)?;
    let mut launcher = RayLauncher::start(&folder, suite, &ray_jobs(path, suite, &runs, needs))?;
    let (mut asked, mut stopping) = (Instant::now(), false);
    let mut status = folder.cluster_status(suite, &this_process())?;
    loop {
        let ended = launcher.ended();
        for said in launcher.news() {
            match said {
                Said::Refused { refused } => return Err(SuiteError::Cluster { engine: "Ray", reason: refused }),
                Said::GivenUp { run, error } => watch(&status, Some(&News::Failed { run, reason: error })),
                Said::Ended { run, code } => {
                    status = folder.cluster_status(suite, &this_process())?;
                    folder.write_results(suite)?;
                    watch(&status, Some(&News::Said(format!("{run}: its job ended with exit code {code}"))));
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
        if !stopping && (stop.load(Ordering::Relaxed) || folder.is_asked_to_stop()) {
            stopping = true;
            // The jobs look for this file, wherever they run.
            folder.ask_to_stop()?;
            watch(&status, Some(&News::Stopping));
        }
        if ASK <= asked.elapsed() {
            asked = Instant::now();
            status = folder.cluster_status(suite, &this_process())?;
            write_status(&folder.status_file(), &mut status)?;
        }
        watch(&status, None);
        thread::sleep(Duration::from_millis(100));
    }
    folder.write_results(suite)?;
    status = folder.cluster_status(suite, &this_process())?;
    write_status(&folder.status_file(), &mut status)?;
    Ok(status)
}

/// The runs that are not done.
fn left(folder: &SuiteFolder, suite: &Suite) -> Result<Vec<String>, SuiteError> {
    let mut left = Vec::new();
    for run in &suite.runs {
        if folder.standing(suite, run)?.state != RunState::Done {
            left.push(run.id.clone());
        }
    }
    Ok(left)
}
