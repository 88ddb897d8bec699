//! One row of the overview: what a run is, how far it is, its state.

use crate::buckets::short;
use crate::run_state::RunState;
use crate::sample::RunSample;
use sane_report::{Agent, RecordedRun};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Colour of runs whose configuration cannot be read.
const UNKNOWN_COLOUR: usize = 7;

/// A run as the overview shows it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// Identifies it in URLs; derived from its folder.
    pub id: String,
    /// Its folder, as the user would name it.
    pub name: String,
    pub world: String,
    pub agent: String,
    /// The agent with the settings that distinguish it from other variants.
    pub label: String,
    /// Index of the agent's colour in the palette.
    pub colour: usize,
    /// Index of the agent's line pattern.
    pub pattern: usize,
    /// Equal for runs that differ only in their seed.
    pub group: String,
    pub seed: u64,
    /// Interactions configured.
    pub budget: u64,
    /// Interactions so far.
    pub reached: u64,
    pub episodes: u64,
    /// Mean of the last 100 returns.
    pub return_mean: Option<f64>,
    /// Interactions per second.
    pub speed: Option<f64>,
    pub state: RunState,
    /// Time of the last write, in Unix seconds.
    pub news_unix: u64,
    /// Its return over time: (interactions, mean of the last 100).
    pub trend: Vec<(u64, f64)>,
    /// Time of its film, in Unix milliseconds.
    pub film: Option<u64>,
    /// Time of its risk gallery, in Unix milliseconds.
    pub gallery: Option<u64>,
    /// Why it cannot be read.
    pub problem: Option<String>,
    /// Canonical path.
    #[serde(skip)]
    pub folder: PathBuf,
}

impl Row {
    pub fn new(folder: &Path, name: &str, config: &RecordedRun, agents: &[Agent], sample: &RunSample) -> Self {
        let agent = agents.iter().find(|agent| agent.is_of(config));
        let look = agent.map(|agent| agent.look);
        Self {
            id: id(folder),
            name: name.to_owned(),
            world: config.world.clone(),
            agent: config.agent.clone(),
            label: agent.map_or_else(|| config.agent.clone(), |agent| agent.label.clone()),
            colour: look.map_or(UNKNOWN_COLOUR, |look| look.colour),
            pattern: look.map_or(0, |look| look.pattern),
            group: group(config),
            seed: config.seed,
            budget: config.budget_interactions,
            reached: sample.reached,
            episodes: sample.episodes,
            return_mean: sample.return_mean.map(short),
            speed: sample.speed.map(short),
            state: RunState::Stopped,
            news_unix: 0,
            trend: sample.trend.iter().map(|&(x, y)| (x, short(y))).collect(),
            film: None,
            gallery: None,
            problem: None,
            folder: folder.into(),
        }
    }
}

/// Short, valid in a URL, and the same each time.
fn id(folder: &Path) -> String {
    blake3::hash(folder.as_os_str().as_encoded_bytes()).to_hex()[..16].to_owned()
}

/// Hash of all settings but the seed and those of the records: runs with the same hash may be averaged.
fn group(config: &RecordedRun) -> String {
    let mut hasher = blake3::Hasher::new();
    for (key, value) in config.settings.iter().filter(|(key, _)| *key != "seed" && !key.starts_with("record.")) {
        hasher.update(format!("{key}={value}\n").as_bytes());
    }
    hasher.finalize().to_hex()[..16].to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(seed: u64, rate: &str) -> Row {
        let settings =
            [("seed", seed.to_string()), ("record.interval", seed.to_string()), ("learner.rate", rate.into())];
        let settings = settings.map(|(key, value)| (key.to_owned(), value)).into();
        let config = RecordedRun { seed, agent: "sane".into(), settings, ..RecordedRun::default() };
        let folder = format!("runs/seed-{seed}-{rate}");
        Row::new(
            Path::new(&folder),
            &folder,
            &config,
            &Agent::all_of(std::slice::from_ref(&config)),
            &RunSample::default(),
        )
    }

    #[test]
    fn seeds_of_one_configuration_are_a_group_and_other_settings_are_not() {
        assert_eq!(row(1, "0.1").group, row(2, "0.1").group);
        assert_ne!(row(1, "0.1").group, row(1, "0.2").group);
        assert_ne!(row(1, "0.1").id, row(2, "0.1").id);
        assert_eq!((row(1, "0.1").colour, row(1, "0.1").label.as_str()), (1, "sane"));
    }
}
