//! Agents as a report shows them: a name, the settings that distinguish variants, and the colour and line of its curves.
//!
//! Any name gets a look by one rule, so that a new agent needs no entry here.

use crate::plot::{COLOURS, PATTERNS, Paint, Pattern};
use crate::recorded_run::RecordedRun;
use crate::settings::{Settings, differing_keys, variant_part};
use std::collections::BTreeMap;

/// One agent of a section.
#[derive(Debug, Clone, PartialEq)]
pub struct Agent {
    /// Name as in the run's configuration.
    pub name: String,
    /// Name with the settings that distinguish it from other variants of the same agent.
    pub label: String,
    /// How it is drawn.
    pub look: Look,
    settings: Settings,
}

/// Colour and line of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// Index into [`COLOURS`].
    pub colour: usize,
    /// Index into [`PATTERNS`].
    pub pattern: usize,
}

/// The agents of the paper: solid lines in the first four colours, first in every table.
const PAPER_AGENTS: [&str; 4] = ["q-sane", "sane", "noisynet", "eps-greedy"];

impl Look {
    /// The last colour is a grey for runs whose agent is unknown; it is too close to the grey of ε-greedy.
    const AGENT_COLOURS: usize = COLOURS.len() - 1;

    const COUNT: usize = Self::AGENT_COLOURS * PATTERNS.len();

    /// The colour of lines, bands and dots.
    pub fn paint(self) -> Paint {
        Paint::Colour(self.colour)
    }

    /// Dashes and marker.
    pub fn pattern(self) -> Pattern {
        PATTERNS[self.pattern]
    }

    /// All looks in a row, solid lines first.
    fn nth(i: usize) -> Self {
        Self { colour: i % Self::AGENT_COLOURS, pattern: i / Self::AGENT_COLOURS % PATTERNS.len() }
    }

    /// Where the search for the look of an agent begins: the paper's agents have the first looks, any other name one of
    /// the rest by its hash.
    fn first_choice(name: &str) -> usize {
        let others = Self::COUNT - PAPER_AGENTS.len();
        paper_position(name).unwrap_or_else(|| PAPER_AGENTS.len() + (hash(name) >> 32) as usize % others)
    }

    /// The first choice of `name`, or the next look that none of `taken` has and that is not one of the paper's.
    pub(crate) fn of(name: &str, taken: &[Look]) -> Self {
        let first = Self::first_choice(name);
        let choices = (first..Self::COUNT).chain(PAPER_AGENTS.len()..first).map(Self::nth);
        choices.into_iter().find(|look| !taken.contains(look)).unwrap_or(Self::nth(first))
    }

    /// Another line of the same colour, for a variant of the same agent.
    fn variant(self, taken: &[Look]) -> Self {
        let choices = (1..PATTERNS.len()).map(|i| Self { pattern: (self.pattern + i) % PATTERNS.len(), ..self });
        choices.into_iter().find(|look| !taken.contains(look)).unwrap_or(self)
    }
}

impl Agent {
    /// The agents of these runs: the paper's first and in the paper's order, then by name; variants by their settings.
    /// If two agents would get the same look, the later one takes the next free look.
    pub fn all_of(runs: &[RecordedRun]) -> Vec<Self> {
        let mut names: BTreeMap<(usize, &str), Vec<Settings>> = BTreeMap::new();
        for run in runs {
            let position = paper_position(&run.agent).unwrap_or(PAPER_AGENTS.len());
            let variants = names.entry((position, &run.agent)).or_default();
            let settings = variant_part(&run.settings);
            if !variants.contains(&settings) {
                variants.push(settings);
            }
        }
        let (mut agents, mut taken) = (Vec::new(), Vec::new());
        for ((_, name), mut variants) in names {
            variants.sort();
            let differing = differing_keys(&variants);
            let mut look = Look::of(name, &taken);
            for (i, settings) in variants.into_iter().enumerate() {
                if 0 < i {
                    look = look.variant(&taken);
                }
                taken.push(look);
                agents.push(Self { name: name.into(), label: label(name, &differing, &settings), look, settings });
            }
        }
        agents
    }

    /// The settings that make it this agent.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Whether the run is one of this agent's.
    pub fn is_of(&self, run: &RecordedRun) -> bool {
        self.name == run.agent && self.settings == variant_part(&run.settings)
    }
}

pub(crate) fn paper_position(name: &str) -> Option<usize> {
    PAPER_AGENTS.iter().position(|known| *known == name)
}

/// FNV-1a: short, and the same on every machine and in every version.
fn hash(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

pub(crate) fn label(name: &str, differing: &[String], settings: &Settings) -> String {
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

    fn run(agent: &str, epsilon: &str) -> RecordedRun {
        let settings = [("learner.exploration.epsilon.last".to_owned(), epsilon.to_owned())].into();
        RecordedRun { agent: agent.into(), settings, ..RecordedRun::default() }
    }

    #[test]
    fn variants_are_told_apart_by_what_differs_and_share_their_colour() {
        let agents = Agent::all_of(&[run("eps-greedy", "0.1"), run("sane", "0.1"), run("eps-greedy", "0.03")]);
        let labels: Vec<&str> = agents.iter().map(|agent| agent.label.as_str()).collect();
        assert_eq!(labels, ["sane", "eps-greedy (epsilon.last = 0.03)", "eps-greedy (epsilon.last = 0.1)"]);
        assert_eq!(agents[1].look.colour, agents[2].look.colour);
        assert_ne!(agents[1].look.pattern, agents[2].look.pattern);
    }

    fn looks(names: &[&str]) -> Vec<(String, Look)> {
        let runs: Vec<RecordedRun> = names.iter().map(|name| run(name, "0.1")).collect();
        Agent::all_of(&runs).into_iter().map(|agent| (agent.name, agent.look)).collect()
    }

    #[test]
    fn the_agents_of_the_paper_have_fixed_solid_looks_whatever_is_beside_them() {
        let names: Vec<String> = (0..60).map(|i| format!("agent-{i}")).collect();
        let mut all: Vec<&str> = names.iter().map(String::as_str).collect();
        all.extend(PAPER_AGENTS);
        for found in [looks(&PAPER_AGENTS), looks(&all)] {
            for (i, name) in PAPER_AGENTS.into_iter().enumerate() {
                assert_eq!(found[i], (name.to_owned(), Look { colour: i, pattern: 0 }));
            }
        }
    }

    #[test]
    fn agents_of_one_figure_look_different_as_long_as_there_are_looks() {
        let names: Vec<String> = (0..Look::COUNT - PAPER_AGENTS.len()).map(|i| format!("agent-{i}")).collect();
        let mut all: Vec<&str> = names.iter().map(String::as_str).collect();
        all.extend(PAPER_AGENTS);
        let found = looks(&all);
        for (i, (name, look)) in found.iter().enumerate() {
            assert!(!found[..i].iter().any(|(_, other)| other == look), "{name}");
        }
    }

    #[test]
    fn an_agent_looks_the_same_alone_and_beside_agents_of_other_looks() {
        // Part of the rule: a changed hash would change the colours of figures that people compare.
        assert_eq!(looks(&["sane-constant"])[0].1, Look { colour: 1, pattern: 5 });
        assert_eq!(looks(&["sane-constant", "sane", "sane-layerwise"])[1].1, Look { colour: 1, pattern: 5 });
        // Both names lead to one look; the later name takes the next.
        let pair = ["sane-visits", "q-sane-noisy-features"];
        assert_eq!(pair.map(Look::first_choice), [4; 2]);
        let found: Vec<Look> = looks(&pair).into_iter().map(|(_, look)| look).collect();
        assert_eq!(found, [Look { colour: 4, pattern: 0 }, Look { colour: 5, pattern: 0 }]);
    }
}
