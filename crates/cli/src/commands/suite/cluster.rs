//! `sane suite run --on slurm` and `--on ray`: submitting the runs, waiting for them, and the job itself.

use super::finish;
use super::status::ProgressTable;
use crate::failure::{Failure, Outcome, classify};
use crate::output::Output;
use sane_lab::stop_on_signals;
use sane_record::RunState;
use sane_stats::number_format::counted;
use sane_suite::{
    Engine, JobNeeds, SchedulerOptions, Suite, SuiteFolder, Update, cancel_slurm, follow_slurm, plan_ray, plan_slurm,
    run_on_ray, run_task, submit_to_slurm,
};
use std::path::Path;

/// What to do with the jobs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Submission {
    /// Print them.
    DryRun,
    /// Submit them and return.
    Submit,
    /// Submit them and wait until they have ended.
    Wait,
}

/// Runs the suite on a cluster.
pub fn run(
    engine: Engine,
    submission: Submission,
    suite: &Suite,
    folder: &Path,
    options: &SchedulerOptions,
    output: Output,
) -> Outcome {
    // The nodes have a different working directory.
    let folder = std::path::absolute(folder)?;
    let needs = JobNeeds::of(suite, options, &mut |update| output.note(update)).map_err(classify)?;
    match (engine, submission) {
        (Engine::Slurm, Submission::DryRun) => {
            for job in plan_slurm(&folder, suite, &needs).map_err(classify)? {
                output.result(job.script);
            }
            Ok(())
        }
        (Engine::Ray, Submission::DryRun) => {
            let jobs = plan_ray(&folder, suite, &needs).map_err(classify)?;
            output.result(serde_json::to_string_pretty(&jobs)?);
            Ok(())
        }
        (Engine::Slurm, _) => slurm(submission, suite, &folder, &needs, output),
        (Engine::Ray, _) => {
            let stop = stop_on_signals()?;
            let mut table = ProgressTable::new(output, suite.runs.len());
            let status = run_on_ray(&folder, suite, &needs, &stop, &mut |status, update| table.show(status, update));
            table.clear();
            finish(&status.map_err(classify)?, &folder, output)
        }
    }
}

fn slurm(submission: Submission, suite: &Suite, folder: &Path, needs: &JobNeeds, output: Output) -> Outcome {
    let submitted = submit_to_slurm(folder, suite, needs).map_err(classify)?;
    for array in &submitted {
        output.note(format_args!("submitted {} as job {}", counted(array.runs.len(), "run"), array.job));
    }
    if submitted.is_empty() {
        output.note("nothing to submit: every run is done or already queued");
    }
    if submission == Submission::Submit {
        output.result(folder.display());
        output.note(format_args!(
            "`sane suite status {0}` prints their states, `sane suite stop {0}` cancels them",
            folder.display()
        ));
        return Ok(());
    }
    let stop = stop_on_signals()?;
    let mut table = ProgressTable::new(output, suite.runs.len());
    let status = follow_slurm(folder, suite, &stop, &mut |status, update| table.show(status, update));
    table.clear();
    let status = status.map_err(classify)?;
    if stop.load(std::sync::atomic::Ordering::Relaxed) {
        output.note("no longer waiting; the jobs continue. `sane suite stop` cancels them");
        return Ok(());
    }
    finish(&status, folder, output)
}

/// Cancels the Slurm jobs of a suite; whether there were any.
pub fn cancel(folder: &SuiteFolder, output: Output) -> Result<bool, Failure> {
    let cancelled = cancel_slurm(folder).map_err(classify)?;
    if cancelled {
        output.note("the Slurm jobs of this suite are cancelled; their runs have saved their checkpoints");
    }
    Ok(cancelled)
}

/// Works on one run, as a job of a cluster.
pub fn task(folder: &Path, run: &str, options: &SchedulerOptions, output: Output) -> Outcome {
    let stop = stop_on_signals()?;
    let print = |update: Option<&Update>| update.into_iter().for_each(|update| output.note(update));
    let status = run_task(folder, run, options, &stop, &mut |_, update| print(update)).map_err(classify)?;
    match status.state {
        RunState::SetAside => Err(anyhow::anyhow!("{run} was set aside: {}", status.reason.unwrap_or_default()).into()),
        _ => Ok(()),
    }
}
