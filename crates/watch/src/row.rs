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
    /// The agent, with what distinguishes it from other variants in its world.
    pub label: String,
    /// All settings that distinguish it, where the label leaves some out.
    pub note: Option<String>,
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
    /// Interactions before the first learning step.
    pub learning_starts: u64,
    /// Seconds that it still needs at the speed it has had since it learns; none before that is known.
    pub seconds_left: Option<f64>,
    pub state: RunState,
    /// Time of the last write, in Unix seconds.
    pub updated_unix: u64,
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
        let setting = |key: &str| config.settings.get(key).and_then(|text| text.parse::<u64>().ok());
        let learning_starts = setting("training.learning_starts").unwrap_or(0);
        Self {
            id: id(folder),
            name: name.to_owned(),
            world: config.world.clone(),
            agent: config.agent.clone(),
            label: agent.map_or_else(|| config.agent.clone(), |agent| agent.label.clone()),
            note: agent.and_then(Agent::note),
            colour: look.map_or(UNKNOWN_COLOUR, |look| look.colour),
            pattern: look.map_or(0, |look| look.pattern),
            group: group(config),
            seed: config.seed,
            budget: config.budget_interactions,
            reached: sample.reached,
            episodes: sample.episodes,
            return_mean: sample.return_mean.map(short),
            speed: sample.speed.map(short),
            learning_starts,
            seconds_left: sample
                .learning_speed(learning_starts)
                .map(|speed| short(config.budget_interactions.saturating_sub(sample.reached) as f64 / speed)),
            state: RunState::Stopped,
            updated_unix: 0,
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

/// Hash of all settings but those that do not change what is learnt: runs with the same hash may be averaged.
fn group(config: &RecordedRun) -> String {
    let is_free = |key: &str| key == "seed" || key.starts_with("record.") || key.starts_with("training.evaluat");
    let mut hasher = blake3::Hasher::new();
    for (key, value) in config.settings.iter().filter(|(key, _)| !is_free(key)) {
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
    fn the_time_left_follows_from_the_speed_since_learning_began() {
        let settings = [("training.learning_starts".to_owned(), "1000".to_owned())].into();
        let config = RecordedRun { budget_interactions: 11_000, settings, ..RecordedRun::default() };
        let left = |reached: u64, laps: &[(u64, u64, f64)]| {
            let sample = RunSample { reached, laps: laps.to_vec(), ..RunSample::default() };
            Row::new(Path::new("a"), "a", &config, &[], &sample).seconds_left
        };
        assert_eq!(left(500, &[(0, 500, 9_000.0)]), None);
        assert_eq!(left(1_500, &[(0, 500, 9_000.0), (500, 1_500, 4_000.0)]), None);
        let laps = [(0, 1_000, 9_000.0), (1_000, 2_000, 100.0), (2_000, 5_000, 50.0)];
        // 4,000 interactions of learning took 70 s.
        assert_eq!(left(5_000, &laps), Some(105.0));
        assert_eq!(left(12_000, &laps), Some(0.0));
    }

    #[test]
    fn seeds_of_one_configuration_are_a_group_and_other_settings_are_not() {
        assert_eq!(row(1, "0.1").group, row(2, "0.1").group);
        assert_ne!(row(1, "0.1").group, row(1, "0.2").group);
        assert_ne!(row(1, "0.1").id, row(2, "0.1").id);
        assert_eq!((row(1, "0.1").colour, row(1, "0.1").label.as_str()), (1, "sane"));
    }
}
