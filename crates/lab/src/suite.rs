//! Many runs: a suite file names games × agents × seeds × settings; each of its runs is a process of `sane train` and one
//! of `sane eval` in a folder of its own.
//!
//! ```text
//! SUITE.toml ──read──▶ Suite (runs, resolved and checked) ──run_suite──▶ processes, side by side
//!                                                          status.json, results.csv after each of them
//!                                                        ──Slurm, Ray──▶ jobs, each of which is run_task for one run
//! ```

mod cluster;
mod cluster_file;
mod document;
mod error;
mod estimate;
mod expand;
mod file;
mod folder;
mod memory;
mod news;
mod part;
mod process;
mod ray;
mod results;
mod room;
mod scheduler;
mod slurm;
mod slurm_commands;
mod standing;
mod task;

pub use cluster::{Engine, cancel_slurm, follow_slurm, plan_ray, plan_slurm, run_on_ray, submit_to_slurm};
pub use cluster_file::{ClusterFile, RayFile, SlurmFile};
pub use error::SuiteError;
pub use estimate::{Estimate, Share};
pub use expand::{Suite, SuiteRun};
pub use file::{EvaluationFile, EvaluationNoise, SuiteFile, Variant};
pub use folder::{SuiteFolder, default_suite_folder};
pub use memory::memory_need;
pub use news::News;
pub use scheduler::{Crew, run_suite};
pub use slurm::{JobNeeds, SlurmJob, Submitted};
pub use standing::Standing;
pub use task::run_task;
