//! One line of the overview: what a run is, how far it came, what it is doing.

use crate::buckets::short;
use crate::glance::Glance;
use crate::run_state::RunState;
use sane_report::{Agent, Run};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// A run as the overview shows it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// Names it in addresses; follows from its folder.
    pub id: String,
    /// Its folder, as a person would name it.
    pub name: String,
    /// The world it acts in.
    pub world: String,
    /// The agent.
    pub agent: String,
    /// The agent with the settings that tell it from other variants.
    pub label: String,
    /// Place of the agent's colour in the palette.
    pub colour: usize,
    /// Place of the agent's line in the list of patterns.
    pub pattern: usize,
    /// The same for runs that differ in their seed alone.
    pub group: String,
    /// Its seed.
    pub seed: u64,
    /// Interactions it is to have.
    pub budget: u64,
    /// Interactions it has.
    pub reached: u64,
    /// Whole episodes.
    pub episodes: u64,
    /// Mean of the last 100 returns.
    pub return_mean: Option<f64>,
    /// Interactions per second.
    pub speed: Option<f64>,
    /// What it is doing.
    pub state: RunState,
    /// When anything was last written, in seconds since 1970.
    pub news_unix: u64,
    /// Its return over time: (interactions, mean of the last 100).
    pub trend: Vec<(u64, f64)>,
    /// When its film was made, in milliseconds since 1970.
    pub film: Option<u64>,
    /// When its risk gallery was made, in milliseconds since 1970.
    pub gallery: Option<u64>,
    /// Why it cannot be read.
    pub problem: Option<String>,
    /// Where it really is.
    #[serde(skip)]
    pub folder: PathBuf,
}

impl Row {
    /// A row of a run whose files show `glance`.
    pub fn new(folder: &Path, name: &str, head: &Run, agents: &[Agent], glance: &Glance) -> Self {
        let agent = agents.iter().find(|agent| agent.is_of(head));
        let look = agent.map(|agent| agent.look);
        Self {
            id: id(folder),
            name: name.to_owned(),
            world: head.world.clone(),
            agent: head.agent.clone(),
            label: agent.map_or_else(|| head.agent.clone(), |agent| agent.label.clone()),
            colour: look.map_or(7, |look| look.colour),
            pattern: look.map_or(0, |look| look.pattern),
            group: group(head),
            seed: head.seed,
            budget: head.budget_interactions,
            reached: glance.reached,
            episodes: glance.episodes,
            return_mean: glance.return_mean.map(short),
            speed: glance.speed.map(short),
            state: RunState::Stopped,
            news_unix: 0,
            trend: glance.trend.iter().map(|&(x, y)| (x, short(y))).collect(),
            film: None,
            gallery: None,
            problem: None,
            folder: folder.into(),
        }
    }
}

/// Short, fit for an address, and the same each time.
fn id(folder: &Path) -> String {
    blake3::hash(folder.as_os_str().as_encoded_bytes()).to_hex()[..16].to_owned()
}

/// What may be averaged: everything equal but the seed and what is written down how often.
fn group(head: &Run) -> String {
    let mut hasher = blake3::Hasher::new();
    for (key, value) in head.settings.iter().filter(|(key, _)| *key != "seed" && !key.starts_with("record.")) {
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
        let head = Run { seed, agent: "sane".into(), settings, ..Run::default() };
        let folder = format!("runs/seed-{seed}-{rate}");
        Row::new(Path::new(&folder), &folder, &head, &Agent::all_of(std::slice::from_ref(&head)), &Glance::default())
    }

    #[test]
    fn seeds_of_one_configuration_are_a_group_and_other_settings_are_not() {
        assert_eq!(row(1, "0.1").group, row(2, "0.1").group);
        assert_ne!(row(1, "0.1").group, row(1, "0.2").group);
        assert_ne!(row(1, "0.1").id, row(2, "0.1").id);
        assert_eq!((row(1, "0.1").colour, row(1, "0.1").label.as_str()), (1, "sane"));
    }
}
