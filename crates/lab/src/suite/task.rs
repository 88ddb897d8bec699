//! One run of a suite as a job of a cluster: trained, measured, tried again, by a process that the cluster starts. Nobody
//! holds the suite's folder for it; how the run stands is written into the run's own folder.

use super::SuiteError;
use super::expand::{Suite, SuiteRun};
use super::folder::SuiteFolder;
use super::news::News;
use super::scheduler::{Crew, work_off};
use sane_record::{RunStatus, SuiteStatus};
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// Works on one run of the suite in this folder until it is done or set aside, or `stop` is set, or the suite is asked to
/// stop. A run that another machine holds is waited for.
pub fn run_task(
    folder: &Path,
    run: &str,
    crew: &Crew,
    stop: &AtomicBool,
    watch: &mut dyn FnMut(&SuiteStatus, Option<&News>),
) -> Result<RunStatus, SuiteError> {
    let folder = SuiteFolder::existing(folder)?;
    let suite = folder.suite()?;
    let only = only(&suite, run).ok_or_else(|| SuiteError::NoRun { folder: folder.path.clone(), run: run.into() })?;
    let place = folder.task(&only.runs[0]);
    let mut status = work_off(folder, &only, &suite, crew, &place, stop, watch)?;
    Ok(status.runs.remove(0))
}

/// The suite with this run alone.
fn only(suite: &Suite, run: &str) -> Option<Suite> {
    let runs: Vec<SuiteRun> = suite.runs.iter().filter(|other| other.id == run).cloned().collect();
    (!runs.is_empty()).then(|| Suite { runs, ..suite.clone() })
}
