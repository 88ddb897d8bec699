//! Agents as a report shows them: a name, the settings that tell variants apart, and a look that never changes.

use crate::run::Run;
use crate::settings::{Settings, differing_keys, variant_part};
use std::collections::BTreeMap;

/// One agent of a section.
#[derive(Debug, Clone, PartialEq)]
pub struct Agent {
    /// Name in the catalogue of agents.
    pub name: String,
    /// Name with the settings that tell it from other variants of the same agent.
    pub label: String,
    /// How it is drawn.
    pub look: Look,
    settings: Settings,
}

/// Colour and line, the same for an agent in every figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// Place in [`COLOURS`](crate::plot::COLOURS).
    pub colour: usize,
    /// Place in the list of line and marker patterns.
    pub pattern: usize,
}

/// The agents of the catalogue and their colours. The four of the paper differ in colour; their ablations share the
/// colour of their family or take a free one, and differ in pattern.
const LOOKS: [(&str, usize, usize); 16] = [
    ("q-sane", 0, 0),
    ("sane", 1, 0),
    ("noisynet", 2, 0),
    ("eps-greedy", 3, 0),
    ("sane-constant", 4, 0),
    ("sane-layerwise", 5, 0),
    ("sane-weightwise", 6, 0),
    ("noisynet-per-example", 2, 1),
    ("sane-per-batch", 1, 1),
    ("q-sane-noisy-features", 0, 1),
    ("noisynet-independent", 2, 2),
    ("sane-independent", 1, 2),
    ("sane-softplus", 5, 1),
    ("q-sane-softplus", 6, 1),
    ("sane-visits", 4, 1),
    ("q-sane-visits", 4, 2),
];

impl Agent {
    /// The agents of these runs: the paper's first and in the paper's order, variants by their settings.
    pub fn all_of(runs: &[Run]) -> Vec<Self> {
        let mut names: BTreeMap<(usize, &str), Vec<Settings>> = BTreeMap::new();
        for run in runs {
            let variants = names.entry((place(&run.agent), &run.agent)).or_default();
            let settings = variant_part(&run.settings);
            if !variants.contains(&settings) {
                variants.push(settings);
            }
        }
        let mut agents = Vec::new();
        for ((_, name), mut variants) in names {
            variants.sort();
            let differing = differing_keys(&variants);
            for (i, settings) in variants.into_iter().enumerate() {
                let label = label(name, &differing, &settings);
                agents.push(Self { name: name.into(), label, look: look(name, i), settings });
            }
        }
        agents
    }

    /// The settings that make it this agent.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Whether the run is one of this agent's.
    pub fn is_of(&self, run: &Run) -> bool {
        self.name == run.agent && self.settings == variant_part(&run.settings)
    }
}

fn place(name: &str) -> usize {
    LOOKS.iter().position(|(known, ..)| *known == name).unwrap_or(LOOKS.len())
}

/// Variants of one agent keep its colour and differ in pattern; an agent from outside the catalogue is drawn in grey.
fn look(name: &str, variant: usize) -> Look {
    let (colour, pattern) = LOOKS.get(place(name)).map_or((7, 0), |&(_, colour, pattern)| (colour, pattern));
    Look { colour, pattern: pattern + variant }
}

fn label(name: &str, differing: &[String], settings: &Settings) -> String {
    if differing.is_empty() {
        return name.into();
    }
    let short = |key: &str| key.trim_start_matches("learner.").trim_start_matches("exploration.").to_owned();
    let parts: Vec<String> = differing
        .iter()
        .map(|key| format!("{} = {}", short(key), settings.get(key).map_or("not set", String::as_str)))
        .collect();
    format!("{name} ({})", parts.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(agent: &str, epsilon: &str) -> Run {
        let settings = [("learner.exploration.epsilon.last".to_owned(), epsilon.to_owned())].into();
        Run { agent: agent.into(), settings, ..Run::default() }
    }

    #[test]
    fn variants_are_told_apart_by_what_differs_and_share_their_colour() {
        let agents = Agent::all_of(&[run("eps-greedy", "0.1"), run("sane", "0.1"), run("eps-greedy", "0.03")]);
        let labels: Vec<&str> = agents.iter().map(|agent| agent.label.as_str()).collect();
        assert_eq!(labels, ["sane", "eps-greedy (epsilon.last = 0.03)", "eps-greedy (epsilon.last = 0.1)"]);
        assert_eq!(agents[1].look.colour, agents[2].look.colour);
        assert_ne!(agents[1].look.pattern, agents[2].look.pattern);
    }

    #[test]
    fn no_two_agents_of_the_catalogue_look_alike() {
        for (i, (name, colour, pattern)) in LOOKS.iter().enumerate() {
            assert!(!LOOKS[..i].iter().any(|(_, c, p)| (c, p) == (colour, pattern)), "{name}");
        }
    }
}
