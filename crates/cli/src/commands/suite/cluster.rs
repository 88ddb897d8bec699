//! `sane suite run --on slurm` and `--on ray`: submitting, following, and the job itself.

use super::live::Live;
use super::{finish, plural, sorted};
use crate::failure::{Failure, Outcome};
use crate::output::Output;
use sane_lab::stop_on_signals;
use sane_record::RunState;
use sane_suite::{
    Engine, JobNeeds, SchedulerOptions, Suite, SuiteFolder, Update, cancel_slurm, follow_slurm, plan_ray, plan_slurm,
    run_on_ray, run_task, submit_to_slurm,
};
use std::path::Path;

/// What to do with a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// Print what would be submitted.
    DryRun,
    /// Submit and return.
    Submit,
    /// Submit and follow the runs to their end.
    Follow,
}

/// Gives the suite to a cluster.
pub fn go(
    engine: Engine,
    wish: Wish,
    suite: &Suite,
    folder: &Path,
    options: &SchedulerOptions,
    output: Output,
) -> Outcome {
    // The nodes have another working directory.
    let folder = std::path::absolute(folder)?;
    let needs = JobNeeds::of(suite, options, &mut |update| output.note(update)).map_err(sorted)?;
    match (engine, wish) {
        (Engine::Slurm, Wish::DryRun) => {
            for job in plan_slurm(&folder, suite, &needs).map_err(sorted)? {
                output.result(job.script);
            }
            Ok(())
        }
        (Engine::Ray, Wish::DryRun) => {
            let jobs = plan_ray(&folder, suite, &needs).map_err(sorted)?;
            output.result(serde_json::to_string_pretty(&jobs)?);
            Ok(())
        }
        (Engine::Slurm, _) => slurm(wish, suite, &folder, &needs, output),
        (Engine::Ray, _) => {
            let stop = stop_on_signals()?;
            let mut live = Live::new(output, suite.runs.len());
            let status = run_on_ray(&folder, suite, &needs, &stop, &mut |status, update| live.show(status, update));
            live.clear();
            finish(&status.map_err(sorted)?, &folder, output)
        }
    }
}

fn slurm(wish: Wish, suite: &Suite, folder: &Path, needs: &JobNeeds, output: Output) -> Outcome {
    let submitted = submit_to_slurm(folder, suite, needs).map_err(sorted)?;
    for array in &submitted {
        output.note(format_args!("submitted {} as job {}", plural(array.runs.len(), "run"), array.job));
    }
    if submitted.is_empty() {
        output.note("nothing to submit: every run is done or with Slurm already");
    }
    if wish == Wish::Submit {
        output.result(folder.display());
        output.note(format_args!(
            "sane suite status {0} says how they stand, sane suite stop {0} takes them back",
            folder.display()
        ));
        return Ok(());
    }
    let stop = stop_on_signals()?;
    let mut live = Live::new(output, suite.runs.len());
    let status = follow_slurm(folder, suite, &stop, &mut |status, update| live.show(status, update));
    live.clear();
    let status = status.map_err(sorted)?;
    if stop.load(std::sync::atomic::Ordering::Relaxed) {
        output.note("no longer following; the jobs go on. `sane suite stop` takes them back");
        return Ok(());
    }
    finish(&status, folder, output)
}

/// Takes the jobs of a suite from Slurm, if there are any.
pub fn cancel(folder: &SuiteFolder, output: Output) -> Result<bool, Failure> {
    let cancelled = cancel_slurm(folder).map_err(sorted)?;
    if cancelled {
        output.note("Slurm has no job of this suite any more; their runs have saved their checkpoints");
    }
    Ok(cancelled)
}

/// Works on one run, as a job of a cluster.
pub fn task(folder: &Path, run: &str, options: &SchedulerOptions, output: Output) -> Outcome {
    let stop = stop_on_signals()?;
    let tell = |update: Option<&Update>| update.into_iter().for_each(|update| output.note(update));
    let status = run_task(folder, run, options, &stop, &mut |_, update| tell(update)).map_err(sorted)?;
    match status.state {
        RunState::SetAside => Err(anyhow::anyhow!("{run} was set aside: {}", status.reason.unwrap_or_default()).into()),
        _ => Ok(()),
    }
}
