//! Many runs: a suite file names games × agents × seeds × settings; each of its runs is a process of `sane train` and one
//! of `sane eval` in a folder of its own.
//!
//! ```text
//! SUITE.toml ──read──▶ Suite (runs, resolved and checked) ──run_suite──▶ processes in parallel
//!                                                          status.json, results.csv after each of them
//!                                                        ──Slurm, Ray──▶ jobs, each of which is run_task for one run
//! ```
//!
//! This crate knows runs by their folders and by the entry points of `sane-lab`; no equation, no world, no network.
//! Reading order: `file` with `search` and `seeds` (the format), `expand` (file → runs), `rounds` (results → further runs), `scheduler` (runs → processes), `progress` and `memory`
//! (state of the runs and of the machine), `folder` (files of a suite), `cluster` with `slurm` and `ray`, `estimate`.
//!
//! ```
//! let folder = tempfile::tempdir()?;
//! let path = folder.path().join("small.toml");
//! std::fs::write(
//!     &path,
//!     "name = 'small'\nbudget = 5000\ngames = ['minatar/breakout', 'risky-road']\nagents = ['sane', 'eps-greedy']\nseeds = [1, 2]\n",
//! )?;
//! let suite = sane_suite::Suite::read(&path)?;
//! assert_eq!(suite.runs.len(), 2 * 2 * 2);
//! assert_eq!(suite.runs[0].id, "minatar/breakout/sane/seed-1");
//! assert_eq!(suite.runs[0].train_arguments()[..4], ["train", "minatar/breakout", "--agent", "sane"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod cluster;
mod error;
mod estimate;
mod expand;
mod file;
mod folder;
mod memory;
mod process;
mod progress;
mod ray;
mod rounds;
mod scheduler;
mod search;
mod seeds;
mod slurm;

pub use cluster::{
    ClusterFile, Engine, JobNeeds, RayFile, SlurmFile, cancel_slurm, follow_slurm, plan_ray, plan_slurm, run_on_ray,
    submit_to_slurm,
};
pub use error::SuiteError;
pub use estimate::{Estimate, KindEstimate};
pub use expand::{Suite, SuiteRun};
pub use file::{EvaluationFile, EvaluationNoise, Location, Resources, SuiteFile, Variant};
pub use folder::{SuiteFolder, default_suite_folder};
pub use progress::RunProgress;
pub use rounds::{Difference, HalvingRound, Rounds, SeedsRound};
pub use scheduler::{SchedulerOptions, Update, run_suite, run_task};
pub use search::{Halving, Method, Metric, Search};
pub use seeds::{Seeds, SequentialSeeds, Until};
pub use slurm::{SlurmArray, SubmittedArray};
