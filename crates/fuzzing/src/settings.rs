//! Files that people write: configurations and suites; and the status of a suite, which the program writes for itself.

use crate::scratch;
use sane_agent::{Learner, ParameterCounts};
use sane_lab::{Layers, Preset, RngStreams, RunConfig, WorldKind, WorldSource, find_runs, read_config, to_toml};
use sane_suite::{Suite, SuiteFolder};
use std::fs;
use std::path::Path;

const SUITE: &str = include_str!("settings/suite.toml");
const STATUS: &str = include_str!("settings/status.json");

pub fn config_seeds() -> Vec<Vec<u8>> {
    let config = |preset: Preset, world: &str, agent: &str| {
        to_toml(&preset.config(world, agent).expect("a world and an agent that exist")).into_bytes()
    };
    let set = b"[training]\nbatch_size = 16\n[learner.optimiser]\nlearning_rate = 0.001\n".to_vec();
    vec![
        config(Preset::RiskyRoad, "risky-road", "sane"),
        config(Preset::Minatar, "minatar/breakout", "noisynet"),
        config(Preset::Paper, "boxing", "ez-greedy"),
        config(Preset::DeepSea, "deep-sea/10", "eps-greedy"),
        set,
    ]
}

/// As the `config.toml` of a run, and as a file of settings that replaces settings of a preset.
pub fn config_body(input: &[u8]) -> bool {
    let folder = scratch::folder();
    let path = folder.path().join("config.toml");
    fs::write(&path, input).expect("space for a small file");
    let config = read_config(folder.path()).ok().filter(|config| config.check().is_ok());
    if let Some(config) = &config {
        make_learner(config);
    }
    let _ = find_runs(folder.path());
    let base = Preset::RiskyRoad.config("risky-road", "sane").expect("they exist");
    let mut layers = Layers::default();
    if layers.file(&path).is_ok() {
        let _ = layers.apply(&base);
    }
    config.is_some()
}

/// Makes the agent of a configuration, if it is small and its world is built in.
fn make_learner(config: &RunConfig) {
    let Ok(WorldKind::BuiltIn(_)) = WorldKind::of(&config.world.name) else { return };
    let Ok(source) = WorldSource::open(&config.world, None, &mut |_| ()) else { return };
    let Ok(world) = source.make(config.seed) else { return };
    let Ok(counts) = ParameterCounts::of(&config.learner, world.spec()) else { return };
    if counts.main + counts.exploration < 1_000_000 {
        let _ = Learner::new(&config.learner, world.spec(), &mut RngStreams::from_seed(config.seed).init);
    }
}

pub fn suite_seeds() -> Vec<Vec<u8>> {
    vec![SUITE.as_bytes().to_vec()]
}

pub fn suite_body(input: &[u8]) -> bool {
    let folder = scratch::folder();
    let path = folder.path().join("suite.toml");
    fs::write(&path, input).expect("space for a small file");
    let Ok(suite) = Suite::read(&path) else { return false };
    suite.runs.iter().for_each(|run| drop(run.train_arguments()));
    true
}

pub fn status_seeds() -> Vec<Vec<u8>> {
    vec![STATUS.as_bytes().to_vec()]
}

pub fn status_body(input: &[u8]) -> bool {
    let folder = scratch::folder();
    let write = |path: &Path, bytes: &[u8]| fs::write(path, bytes).expect("space for a small file");
    write(&folder.path().join("suite.toml"), SUITE.as_bytes());
    write(&folder.path().join("status.json"), input);
    SuiteFolder::existing(folder.path()).and_then(|suite| suite.status()).is_ok()
}
