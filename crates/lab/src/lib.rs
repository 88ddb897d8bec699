//! A run and everything around it: configuration, the training loop, evaluation, checkpoints, records. All effects of the
//! workspace (files, time, threads) are in this crate and in `sane-suite`; it knows no equation and no terminal.
//!
//! Reading order: [`train()`], the whole data path on one screen; [`Rollout`], one interaction with a world; [`Run`], the
//! state that a checkpoint holds; [`open_run`] and [`RunFiles`], the run on disk; [`RunConfig`] and [`Preset`];
//! [`evaluate()`]; [`risk`], evaluations state by state. [`WorldSource`] makes worlds, built-in ones and
//! [others](WorldSource::custom).
//!
//! ```
//! use sane_env::AgentSteps;
//! use sane_lab::{OpenRun, Preset, Start, StopReason, WorldSource, open_run, train};
//! use std::sync::atomic::AtomicBool;
//!
//! let mut config = Preset::RiskyRoad.config("risky-road", "sane")?;
//! config.training.total_interactions = AgentSteps(600);
//! config.training.learning_starts = AgentSteps(400);
//! let source = WorldSource::open(&config.world, None, &mut |message| eprintln!("{message}"))?;
//!
//! let folder = tempfile::tempdir()?;
//! let OpenRun { mut run, mut files, .. } = open_run(folder.path(), &config, &source, Start::Resume)?;
//! files.begin(&run, &mut ())?;
//! let reason = train(&mut run, &mut files, &mut (), &AtomicBool::new(false))?;
//! assert_eq!((reason, run.clock.steps()), (StopReason::Finished, AgentSteps(600)));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]

mod bench;
mod checkpoint;
mod clock;
mod config;
mod episode_film;
mod error;
mod evaluate;
mod export;
pub mod ffmpeg;
mod film;
mod folder;
pub mod hub;
mod identity;
mod in_training;
mod interaction;
mod journal;
mod lock;
mod machine;
mod observer;
mod plan;
#[cfg(test)]
mod power_loss;
mod preset;
pub mod risk;
mod rng;
mod run;
mod run_check;
mod runs;
mod set_aside;
mod statistics;
mod threads;
mod timer;
mod train;
mod trained;
mod verify;
mod world;

pub use bench::{TrainingBench, TrainingSpeed};
pub use checkpoint::CheckpointError;
pub use clock::Clock;
pub use config::{
    ConfigError, Differences, Key, Layers, RecordConfig, ReplayConfig, RewardForm, RunConfig, SettingOrigin,
    TrainingConfig, WorldConfig, differences, flatten_table, keys, merge_tables, set_value, table_of_one, to_toml,
    value_at,
};
pub use episode_film::{EpisodeFilm, FilmFrame, FilmRange, film_episode, open_to_film};
pub use error::LabError;
pub use evaluate::{
    Evaluation, NoiseMode, Summary, evaluate, evaluate_with_actions, paired_difference, start_evaluation_episode,
    suitable_length, traces_header,
};
pub use export::{ExportedPolicy, canonical_safetensors, dump_states, export_policy, read_policy};
pub use folder::{
    OpenRun, RunFiles, Start, default_folder, inspect_run, open_run, open_run_from, read_config, read_run,
    record_evaluation,
};
pub use interaction::{Rollout, Store};
pub use lock::{EvaluationLock, FolderLock, LockError, this_process};
pub use machine::{free_memory, host, resident_bytes, resident_bytes_of, unix_seconds};
pub use observer::{Observer, Progress};
pub use plan::{Plan, memory_need};
pub use preset::{Preset, Resolved, resolve};
pub use rng::RngStreams;
pub use run::{Digest, Run};
pub use run_check::{RunCheck, check_run};
pub use runs::{FoundFolders, RunSummary, find_runs};
pub use sane_record::{EvaluatedWhileTraining, EvaluationFinished, Event, StopReason};
pub use sane_stats::number_format::parse_count;
pub use set_aside::{OldRun, find_old_runs};
pub use statistics::{Interaction, Statistics};
pub use threads::{available, pool, stop_on_signals};
pub use timer::{Lap, Phase, PhaseTimer, Timer};
pub use train::train;
pub use trained::{CheckpointChoice, TrainedAgent, read_trained};
pub use verify::{Mismatch, verify, world_of};
pub use world::{WorldKind, WorldSource, name_patterns};
