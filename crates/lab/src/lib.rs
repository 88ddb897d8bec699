//! All effects live here: files, time, threads. Everything a run is, from its configuration to its last record.
//!
//! Read [`train`] first: the whole data path is on that screen. A run starts or continues with [`open_run`], is measured
//! by [`evaluate`] and read back by [`read_run`]; what it is set to, [`RunConfig`] says.
#![forbid(unsafe_code)]

mod baseline;
mod clock;
mod config;
mod error;
mod preset;
mod rng;
mod stopwatch;
mod world;

pub use baseline::Baseline;
pub use clock::Clock;
pub use config::{
    ConfigError, Differences, KEYS, Key, Layers, RecordConfig, ReplayConfig, RewardForm, RunConfig, TrainingConfig,
    WorldConfig, differences, to_toml,
};
pub use error::LabError;
pub use preset::Preset;
pub use rng::RngStreams;
pub use stopwatch::{Lap, Phase, Stopwatch};
pub use world::{WorldKind, WorldSource};
