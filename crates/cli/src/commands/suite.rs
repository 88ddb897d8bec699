//! `sane suite`: many runs from one file, in parallel, resumable.

mod cluster;
mod plan;
mod status;

use crate::args::RomsOption;
use crate::failure::{Failure, Outcome, classify};
use crate::output::Output;
use clap::{Subcommand, ValueEnum};
use cluster::Submission;
use sane_lab::{available, stop_on_signals};
use sane_record::{RunState, SuiteStatus};
use sane_stats::number_format::counted;
use sane_suite::{Engine, SchedulerOptions, Suite, SuiteFolder, default_suite_folder, run_suite};
use status::ProgressTable;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Run many runs from one file: games × agents × seeds × settings
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    sane suite plan suites/paper.toml                       # estimated hours, memory, disk\n  \
    sane suite run suites/quick.toml                        # minutes; the same command resumes it\n  \
    sane suite run suites/minatar.toml --jobs 8 --out runs/minatar-suite\n  \
    sane suite status suites/quick.toml                     # the state of each run\n  \
    sane suite stop runs/suites/quick                       # from another terminal\n  \
    sane suite run suites/paper.toml --on slurm --dry-run   # print what would be submitted\n  \
    sane report runs/suites/quick                           # tables and figures\n\n\
    Ctrl-C or `sane suite stop` ends a suite; every run saves a checkpoint first. The format of a suite file: \
    docs/suites.md.")]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Run a suite, or the rest of it
    Run {
        /// The suite file
        suite: PathBuf,
        #[command(flatten)]
        resources: ResourceOptions,
        /// Folder of the suite [default: runs/suites/NAME]
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
        /// How often a failed run is restarted from its checkpoint before it is set aside
        #[arg(long, value_name = "N", default_value_t = 2)]
        retries: u32,
        /// Run on a cluster instead of this machine
        #[arg(long, value_enum, value_name = "ENGINE")]
        on: Option<Cluster>,
        /// Print what would be submitted (without a cluster: the plan), and stop
        #[arg(long)]
        dry_run: bool,
        /// Slurm: wait until the runs have ended (with Ray, the command always does)
        #[arg(long, requires = "on")]
        wait: bool,
    },
    /// Work on one run of a suite, as a job of a cluster
    #[command(hide = true)]
    Task {
        /// The suite's folder
        suite: PathBuf,
        /// The run
        run: String,
        #[command(flatten)]
        resources: ResourceOptions,
        /// How often a failed run is restarted
        #[arg(long, value_name = "N", default_value_t = 2)]
        retries: u32,
    },
    /// Estimate what a suite takes on this machine: runs, interactions, hours, memory, disk
    Plan {
        /// The suite file
        suite: PathBuf,
        #[command(flatten)]
        resources: ResourceOptions,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Print the state of each run of a suite
    Status {
        /// The suite's folder, or its file
        suite: PathBuf,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Stop a running suite; every run saves a checkpoint
    Stop {
        /// The suite's folder, or its file
        suite: PathBuf,
    },
}

/// The kind of cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Cluster {
    /// Slurm, with sbatch
    Slurm,
    /// Ray, with its Python package
    Ray,
}

/// Cores, threads and ROMs of the runs.
#[derive(Debug, Clone, clap::Args)]
struct ResourceOptions {
    /// Runs in parallel [default: cores divided by threads]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
    /// Worker threads of each run; results do not depend on them [default: the suite file's, else 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    #[command(flatten)]
    roms: RomsOption,
}

impl ResourceOptions {
    fn scheduler_options(&self, suite: &Suite, retries: u32) -> Result<SchedulerOptions, Failure> {
        let threads = usize::from(self.threads.or(suite.resources.threads).unwrap_or(1));
        let fit = (available() / threads).max(1).min(suite.runs.len());
        let jobs = self.jobs.map_or(fit, usize::from);
        let roms = self.roms.folder().map(Path::to_owned);
        Ok(SchedulerOptions { program: crate::program()?, jobs, threads, retries, roms })
    }
}

pub fn run(args: Args, output: &Output) -> Outcome {
    match args.action {
        Action::Run { suite, resources, out, retries, on, dry_run, wait } => {
            let suite = read(&suite)?;
            let options = resources.scheduler_options(&suite, retries)?;
            let folder = out.unwrap_or_else(|| default_suite_folder(&suite));
            let submission = match (dry_run, wait) {
                (true, _) => Submission::DryRun,
                (false, true) => Submission::Wait,
                (false, false) => Submission::Submit,
            };
            match on {
                None if dry_run => plan::show(&suite, &options, false, *output),
                None => run_here(&suite, &folder, &options, *output),
                Some(Cluster::Slurm) => cluster::run(Engine::Slurm, submission, &suite, &folder, &options, *output),
                Some(Cluster::Ray) => cluster::run(Engine::Ray, submission, &suite, &folder, &options, *output),
            }
        }
        Action::Task { suite, run, resources, retries } => {
            let options = resources.scheduler_options(&SuiteFolder::existing(&suite)?.suite()?, retries)?;
            cluster::task(&suite, &run, &options, *output)
        }
        Action::Plan { suite, resources, json } => {
            let suite = read(&suite)?;
            plan::show(&suite, &resources.scheduler_options(&suite, 0)?, json, *output)
        }
        Action::Status { suite, json } => status::show(&folder_of(&suite)?, json, *output),
        Action::Stop { suite } => stop(&folder_of(&suite)?, *output),
    }
}

fn run_here(suite: &Suite, folder: &Path, options: &SchedulerOptions, output: Output) -> Outcome {
    let stop = stop_on_signals()?;
    output.note(format_args!(
        "{}: {}, {} in parallel with {} each, in {}",
        suite.name,
        counted(suite.runs.len(), "run"),
        options.jobs.min(suite.runs.len()),
        counted(options.threads, "thread"),
        folder.display()
    ));
    let mut table = ProgressTable::new(output, suite.runs.len());
    let status =
        run_suite(folder, suite, options, &stop, &mut |status, update| table.show(status, update)).map_err(classify);
    table.clear();
    finish(&status?, folder, output)
}

/// Prints the outcome; an error if a run was set aside.
fn finish(status: &SuiteStatus, folder: &Path, output: Output) -> Outcome {
    let [done, aside, stopped] =
        [RunState::Done, RunState::SetAside, RunState::Stopped].map(|state| status.count(state));
    let not_started = status.count(RunState::Waiting);
    output.result(folder.join("results.csv").display());
    for run in status.runs.iter().filter(|run| run.state == RunState::SetAside) {
        output.warn(format_args!("set aside: {}: {}", run.run, run.reason.as_deref().unwrap_or("no reason given")));
    }
    if 0 < stopped + not_started {
        output.note(format_args!(
            "stopped: {done} done, {stopped} started, {not_started} not started; the same command resumes the suite"
        ));
        return Ok(());
    }
    if 0 < aside {
        let text = format!(
            "{aside} of {} set aside; the same command retries those that did not diverge",
            counted(status.runs.len(), "run")
        );
        return Err(Failure::Failed(anyhow::anyhow!(text)));
    }
    output.note(format_args!("done: {}; next: sane report {}", counted(done, "run"), folder.display()));
    Ok(())
}

fn stop(folder: &SuiteFolder, output: Output) -> Outcome {
    if cluster::cancel(folder, output)? {
        return Ok(());
    }
    let runner = folder.runner();
    folder.request_stop()?;
    output
        .note(format_args!("sent the stop signal to {}; its runs save their checkpoints", runner.unwrap_or_default()));
    let start = Instant::now();
    while folder.runner().is_some() {
        if Duration::from_secs(600) < start.elapsed() {
            let path = folder.path.display();
            return Err(anyhow::anyhow!("the suite in {path} has not stopped after ten minutes").into());
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    output.note("stopped");
    Ok(())
}

fn read(path: &Path) -> Result<Suite, Failure> {
    Suite::read(path).map_err(Failure::usage)
}

/// The folder of a suite that is named by its folder, or by its file if it is in the default folder.
fn folder_of(path: &Path) -> Result<SuiteFolder, Failure> {
    let folder = if path.is_file() { default_suite_folder(&read(path)?) } else { path.into() };
    SuiteFolder::existing(&folder).map_err(classify)
}
