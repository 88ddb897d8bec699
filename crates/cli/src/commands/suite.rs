//! `sane suite`: many runs from one file, side by side, resumable.

mod cluster;
mod live;
mod plan;
mod status;

use crate::failure::{Failure, Outcome};
use crate::output::Output;
use clap::{Subcommand, ValueEnum};
use cluster::Wish;
use live::Live;
use sane_lab::{available, stop_on_signals};
use sane_record::{RunState, SuiteStatus};
use sane_suite::{Engine, SchedulerOptions, Suite, SuiteError, SuiteFolder, default_suite_folder, run_suite};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Runs many runs from one file: games × agents × seeds × settings
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    sane suite plan suites/paper.toml                       # what it will take: hours, memory, disk\n  \
    sane suite run suites/quick.toml                        # minutes; Ctrl-C stops it, the same command goes on\n  \
    sane suite run suites/minatar.toml --jobs 8 --out runs/minatar-suite\n  \
    sane suite status suites/quick.toml                     # how each run stands (or the suite's folder)\n  \
    sane suite stop runs/suites/quick                       # from another terminal: every run saves a checkpoint\n  \
    sane suite run suites/paper.toml --on slurm --dry-run   # what a cluster would get\n  \
    sane report runs/suites/quick                           # tables and figures\n\n\
    The format of a suite file: docs/suites.md.")]
pub struct Args {
    #[command(subcommand)]
    deed: Deed,
}

#[derive(Debug, Subcommand)]
enum Deed {
    /// Run what is left to do of a suite
    Run {
        /// The suite file
        suite: PathBuf,
        #[command(flatten)]
        share: Share,
        /// Folder of the suite [default: runs/suites/NAME]
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
        /// How often a failed run is tried again, from its checkpoint, before it is set aside
        #[arg(long, value_name = "N", default_value_t = 2)]
        retries: u32,
        /// Give the runs to a cluster instead of running them here
        #[arg(long, value_enum, value_name = "ENGINE")]
        on: Option<Cluster>,
        /// Print what would be submitted, or without a cluster what the suite will take, and stop
        #[arg(long)]
        dry_run: bool,
        /// Slurm: follow the runs to their end (with Ray, the command always does)
        #[arg(long, requires = "on")]
        wait: bool,
    },
    /// Work on one run of a suite: what a job of a cluster does
    #[command(hide = true)]
    Task {
        /// The suite's folder
        suite: PathBuf,
        /// The run
        run: String,
        #[command(flatten)]
        share: Share,
        /// How often a failed run is tried again
        #[arg(long, value_name = "N", default_value_t = 2)]
        retries: u32,
    },
    /// Print what a suite will take on this machine: runs, interactions, hours, memory, disk
    Plan {
        /// The suite file
        suite: PathBuf,
        #[command(flatten)]
        share: Share,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Print how each run of a suite stands
    Status {
        /// The suite's folder, or its file
        suite: PathBuf,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Ask a running suite to stop: every run saves a checkpoint
    Stop {
        /// The suite's folder, or its file
        suite: PathBuf,
    },
}

/// Where else a suite can run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Cluster {
    /// Slurm, by sbatch
    Slurm,
    /// Ray, by its Python package
    Ray,
}

/// What the suite may take of this machine.
#[derive(Debug, Clone, clap::Args)]
struct Share {
    /// Runs side by side [default: as many as there are cores for]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    jobs: Option<u16>,
    /// Worker threads of each run; results do not depend on them [default: what the suite says, else 1]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Folder with Atari ROMs, looked at before all others
    #[arg(long, value_name = "DIR")]
    roms: Option<PathBuf>,
}

impl Share {
    fn options(&self, suite: &Suite, retries: u32) -> Result<SchedulerOptions, Failure> {
        let threads = usize::from(self.threads.or(suite.resources.threads).unwrap_or(1));
        let fit = (available() / threads).max(1).min(suite.runs.len());
        let jobs = self.jobs.map_or(fit, usize::from);
        Ok(SchedulerOptions { program: std::env::current_exe()?, jobs, threads, retries, roms: self.roms.clone() })
    }
}

/// Does it.
pub fn run(args: Args, output: &Output) -> Outcome {
    match args.deed {
        Deed::Run { suite, share, out, retries, on, dry_run, wait } => {
            let suite = read(&suite)?;
            let options = share.options(&suite, retries)?;
            let folder = out.unwrap_or_else(|| default_suite_folder(&suite));
            let wish = match (dry_run, wait) {
                (true, _) => Wish::DryRun,
                (false, true) => Wish::Follow,
                (false, false) => Wish::Submit,
            };
            match on {
                None if dry_run => plan::show(&suite, &options, false, *output),
                None => go(&suite, &folder, &options, *output),
                Some(Cluster::Slurm) => cluster::go(Engine::Slurm, wish, &suite, &folder, &options, *output),
                Some(Cluster::Ray) => cluster::go(Engine::Ray, wish, &suite, &folder, &options, *output),
            }
        }
        Deed::Task { suite, run, share, retries } => {
            let options = share.options(&SuiteFolder::existing(&suite)?.suite()?, retries)?;
            cluster::task(&suite, &run, &options, *output)
        }
        Deed::Plan { suite, share, json } => {
            let suite = read(&suite)?;
            plan::show(&suite, &share.options(&suite, 0)?, json, *output)
        }
        Deed::Status { suite, json } => status::show(&folder_of(&suite)?, json, *output),
        Deed::Stop { suite } => stop(&folder_of(&suite)?, *output),
    }
}

fn go(suite: &Suite, folder: &Path, options: &SchedulerOptions, output: Output) -> Outcome {
    let stop = stop_on_signals()?;
    output.note(format_args!(
        "{}: {} runs, {} side by side with {} each, in {}",
        suite.name,
        suite.runs.len(),
        options.jobs.min(suite.runs.len()),
        plural(options.threads, "thread"),
        folder.display()
    ));
    let mut live = Live::new(output, suite.runs.len());
    let status =
        run_suite(folder, suite, options, &stop, &mut |status, update| live.show(status, update)).map_err(sorted);
    live.clear();
    finish(&status?, folder, output)
}

/// What came of it.
fn finish(status: &SuiteStatus, folder: &Path, output: Output) -> Outcome {
    let [done, aside, stopped] =
        [RunState::Done, RunState::SetAside, RunState::Stopped].map(|state| status.count(state));
    let not_begun = status.count(RunState::Waiting);
    output.result(folder.join("results.csv").display());
    for run in status.runs.iter().filter(|run| run.state == RunState::SetAside) {
        output.note(format_args!("set aside: {}: {}", run.run, run.reason.as_deref().unwrap_or("no reason given")));
    }
    if 0 < stopped + not_begun {
        output.note(format_args!(
            "stopped: {done} done, {stopped} begun, {not_begun} not begun; the same command resumes from there"
        ));
        return Ok(());
    }
    if 0 < aside {
        let text = format!("{aside} of {} set aside; the same command tries again", plural(status.runs.len(), "run"));
        return Err(Failure::Failed(anyhow::anyhow!(text)));
    }
    output.note(format_args!("done: {done} runs; next: sane report {}", folder.display()));
    Ok(())
}

fn stop(folder: &SuiteFolder, output: Output) -> Outcome {
    if cluster::cancel(folder, output)? {
        return Ok(());
    }
    let runner = folder.runner();
    folder.request_stop()?;
    output.note(format_args!("asked {} to stop; its runs save their checkpoints", runner.unwrap_or_default()));
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
    Suite::read(path).map_err(|error| Failure::Usage(error.to_string()))
}

/// A suite is named by its folder, or by its file if it lives in the default folder.
fn folder_of(path: &Path) -> Result<SuiteFolder, Failure> {
    let folder = if path.is_file() { default_suite_folder(&read(path)?) } else { path.into() };
    SuiteFolder::existing(&folder).map_err(sorted)
}

/// What the command line could have avoided is a wrong command line; the rest failed.
fn sorted(error: SuiteError) -> Failure {
    match error {
        SuiteError::OtherSuite { .. } | SuiteError::NoSuite { .. } => Failure::Usage(error.to_string()),
        other => other.into(),
    }
}

fn plural(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
