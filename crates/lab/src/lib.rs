//! All effects live here: files, time, threads. Everything a run is, from its configuration to its last record.
//!
//! Read [`train()`] first: the whole data path is on that screen. A run starts or continues with [`open_run`], is measured
//! by [`evaluate()`] after [`read_trained`] and read back whole by [`read_run`]; what it is set to, [`RunConfig`] says.
#![forbid(unsafe_code)]

mod bench;
mod checkpoint;
mod clock;
mod config;
mod digest;
mod error;
mod evaluate;
mod export;
mod film;
mod folder;
mod interaction;
mod journal;
mod lock;
mod machine;
mod observer;
mod plan;
mod preset;
mod resolve;
pub mod risk;
mod rng;
mod run;
mod runs;
mod statistics;
mod threads;
mod timer;
mod train;
mod trained;
mod world;

pub use bench::{TrainingBench, TrainingSpeed};
pub use checkpoint::CheckpointError;
pub use clock::Clock;
pub use config::{
    ConfigError, Differences, Key, Layers, RecordConfig, ReplayConfig, RewardForm, RunConfig, TrainingConfig,
    WorldConfig, differences, flatten_table, keys, merge_tables, to_toml,
};
pub use digest::Digest;
pub use error::LabError;
pub use evaluate::{Evaluation, NoiseMode, Summary, evaluate, paired_difference};
pub use export::{dump_states, export_policy, in_one_order};
pub use folder::{OpenRun, RunFiles, Start, default_folder, open_run, read_config, read_run, record_evaluation};
pub use interaction::{Rollout, Store};
pub use journal::{Journal, resident_bytes, unix_seconds};
pub use lock::{FolderLock, LockError, this_process};
pub use machine::{free_memory, host, resident_bytes_of};
pub use observer::{Observer, Progress};
pub use plan::{Plan, memory_need};
pub use preset::Preset;
pub use resolve::resolve;
pub use rng::RngStreams;
pub use run::Run;
pub use runs::{RunSummary, find_old_runs, find_runs};
pub use sane_record::{EvaluationFinished, Event, StopReason};
pub use statistics::{Interaction, Statistics};
pub use threads::{available, pool, stop_on_signals};
pub use timer::{Lap, Phase, PhaseTimer, Timer};
pub use train::train;
pub use trained::{Trained, read_trained};
pub use world::{WorldKind, WorldSource, name_patterns};
