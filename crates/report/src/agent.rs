//! Agents as a report shows them: a short name, the settings that distinguish variants, and the colour and line of its
//! curves.
//!
//! An agent is the same agent in every world, whatever the worlds' presets give it; its variants are told apart within a
//! world ([`crate::variant`]). Any name gets a look by one rule, so that a new agent needs no entry here.

use crate::plot::{COLOURS, PATTERNS, Paint, Pattern};
use crate::recorded_run::RecordedRun;
use crate::settings::{Settings, is_result_key, is_variant_key, part, readable, short_key};
use crate::variant::{Variant, told_apart};
use std::collections::{BTreeMap, BTreeSet};

/// A label names up to this many settings; beyond, variants are numbered.
const MOST_SHOWN: usize = 3;

/// One agent, or one variant of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Agent {
    /// Name as in the run's configuration.
    pub name: String,
    /// Short name: with the setting that distinguishes it from the other variants of the same agent, if there are any.
    pub label: String,
    /// How it is drawn.
    pub look: Look,
    variant: Variant,
    told_apart_by: Keys,
}

/// Which settings tell variants apart.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Keys {
    /// All that can change a result.
    Any,
    /// Those that sections do not tell apart already.
    OfTheAgent { swept: BTreeSet<String> },
}

impl Keys {
    fn count(&self, key: &str) -> bool {
        match self {
            Self::Any => is_result_key(key),
            Self::OfTheAgent { swept } => is_variant_key(key) || swept.contains(key),
        }
    }
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

    /// The first choice of `name`, or the next look whose colour none of `taken` has, or, where all colours are taken, the
    /// next look that none of them has and that is not one of the paper's. The paper's agents keep their colours.
    pub(crate) fn of(name: &str, taken: &[Look]) -> Self {
        let first = Self::first_choice(name);
        let choices = || (first..Self::COUNT).chain(PAPER_AGENTS.len()..first).map(Self::nth);
        let has_own_colour = |look: &Look| taken.iter().all(|other| other.colour != look.colour);
        let in_own_colour = choices().find(has_own_colour).filter(|_| paper_position(name).is_none());
        let is_free = |look: &Look| !taken.contains(look);
        in_own_colour.or_else(|| choices().find(is_free)).unwrap_or(Self::nth(first))
    }

    /// Another line of the same colour, for a variant of the same agent; of another colour if there is none left.
    fn variant(self, taken: &[Look]) -> Self {
        let lines = (1..PATTERNS.len()).map(|i| Self { pattern: (self.pattern + i) % PATTERNS.len(), ..self });
        let choices = lines.chain((PAPER_AGENTS.len()..Self::COUNT).map(Self::nth));
        choices.into_iter().find(|look| !taken.contains(look)).unwrap_or(self)
    }
}

impl Agent {
    /// The agents of these runs: the paper's first and in the paper's order, then by name; variants of an agent by their
    /// settings, its preset's own first. Every setting that can change a result tells runs apart, also `training.*`.
    /// If two agents would get the same colour, the later one takes the next free one.
    pub fn all_of(runs: &[RecordedRun]) -> Vec<Self> {
        Self::told_apart_by(&Keys::Any, runs)
    }

    /// As [`all_of`](Self::all_of), of runs of one section, which share their budget, replay and network.
    /// Of the shared ones only `swept` tell variants apart.
    pub(crate) fn all_of_section(runs: &[RecordedRun], swept: &BTreeSet<String>) -> Vec<Self> {
        Self::told_apart_by(&Keys::OfTheAgent { swept: swept.clone() }, runs)
    }

    fn told_apart_by(keys: &Keys, runs: &[RecordedRun]) -> Vec<Self> {
        let mut names: BTreeMap<(usize, &str), Vec<&RecordedRun>> = BTreeMap::new();
        for run in runs {
            let position = paper_position(&run.agent).unwrap_or(PAPER_AGENTS.len());
            names.entry((position, &run.agent)).or_default().push(run);
        }
        let (mut agents, mut taken) = (Vec::new(), Vec::new());
        for ((_, name), runs) in names {
            let mut look = Look::of(name, &taken);
            for (i, variant) in told_apart(&runs, &|key| keys.count(key)).0.into_iter().enumerate() {
                if 0 < i {
                    look = look.variant(&taken);
                }
                taken.push(look);
                let label = label(name, &variant.shown, i);
                agents.push(Self { name: name.into(), label, look, variant, told_apart_by: keys.clone() });
            }
        }
        agents
    }

    /// Whether the run is one of this agent's.
    pub fn is_of(&self, run: &RecordedRun) -> bool {
        self.name == run.agent
            && self
                .variant
                .configurations
                .contains(&(run.world.clone(), part(&run.settings, |key| self.told_apart_by.count(key))))
    }

    /// The settings, by their whole keys, that tell it from the other variants of the same agent: more than its label says.
    /// Empty for an agent without variants and for the preset's own.
    pub fn differences(&self) -> &Settings {
        &self.variant.differences
    }

    /// The differences as one line, for tooltips and footnotes; none if the label says it all.
    pub fn note(&self) -> Option<String> {
        let is_said = self.variant.shown.len() <= MOST_SHOWN && self.variant.shown == self.variant.differences;
        (!is_said).then(|| listed(&self.variant.differences, |key| key))
    }

    /// Its settings in a world; none if it was not run there.
    pub fn settings_in(&self, world: &str) -> Option<&Settings> {
        self.variant.configurations.iter().find(|(of, _)| of == world).map(|(_, settings)| settings)
    }
}

/// A name for each run that no other of the same world has: its agent's label and its seed, and where that is not enough the
/// part of its folder's path that differs.
pub fn run_names(runs: &[RecordedRun], agents: &[Agent]) -> Vec<String> {
    let label = |run: &RecordedRun| {
        let agent = agents.iter().find(|agent| agent.is_of(run));
        format!("{}, seed {}", agent.map_or(&run.agent, |agent| &agent.label), run.seed)
    };
    let names: Vec<String> = runs.iter().map(label).collect();
    let mut alike: BTreeMap<(&str, &str), Vec<usize>> = BTreeMap::new();
    for (i, (run, name)) in runs.iter().zip(&names).enumerate() {
        alike.entry((&run.world, name)).or_default().push(i);
    }
    let mut told = names.clone();
    for some in alike.values().filter(|some| 1 < some.len()) {
        let folders: Vec<Vec<_>> = some.iter().map(|&i| runs[i].folder.components().collect()).collect();
        let shared = (0..).take_while(|&at| {
            folders.iter().all(|parts| parts.get(at).is_some_and(|part| folders[0].get(at) == Some(part)))
        });
        let shared = shared.count();
        for (&i, parts) in some.iter().zip(&folders) {
            let rest: std::path::PathBuf = parts[shared.min(parts.len())..].iter().collect();
            told[i] += &format!(", in {}", rest.display());
        }
    }
    told
}

pub(crate) fn paper_position(name: &str) -> Option<usize> {
    PAPER_AGENTS.iter().position(|known| *known == name)
}

/// FNV-1a: short, and the same on every machine and in every version.
fn hash(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// The name of a variant by the settings that tell it apart, or by its number where they are many.
pub(crate) fn label(name: &str, shown: &Settings, index: usize) -> String {
    match shown.len() {
        0 => name.into(),
        few if few <= MOST_SHOWN => format!("{name} ({})", listed(shown, short_key)),
        _ => format!("{name} #{}", index + 1),
    }
}

fn listed(settings: &Settings, name: impl Fn(&str) -> &str) -> String {
    let parts = settings.iter().map(|(key, value)| format!("{} = {}", name(key), readable(value)));
    parts.collect::<Vec<_>>().join(", ")
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

    #[test]
    fn a_budget_tells_runs_apart_and_what_differs_in_nothing_is_told_by_its_folder() {
        let run = |folder: &str, budget: &str| RecordedRun {
            folder: folder.into(),
            agent: "sane".into(),
            world: "boxing".into(),
            seed: 1,
            settings: [("training.total_interactions".to_owned(), budget.to_owned())].into(),
            ..RecordedRun::default()
        };
        let runs = [run("runs/a/seed-1", "3000"), run("runs/b/seed-1", "100000"), run("runs/c/seed-1", "100000")];
        let agents = Agent::all_of(&runs);
        assert_eq!(agents[0].label, "sane (total_interactions = 3,000)");
        let long = "sane (total_interactions = 100,000), seed 1, in ";
        let expected =
            ["sane (total_interactions = 3,000), seed 1", &format!("{long}b/seed-1"), &format!("{long}c/seed-1")];
        assert_eq!(run_names(&runs, &agents), expected);
    }

    #[test]
    fn a_note_lists_what_the_label_leaves_out() {
        let run = |rate: &str, gamma: &str| {
            let settings = [("learner.optimiser.learning_rate", rate), ("learner.gamma", gamma)];
            let settings = settings.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
            RecordedRun { agent: "sane".into(), settings, ..RecordedRun::default() }
        };
        let agents = Agent::all_of(&[run("0.1", "0.9"), run("0.2", "0.95")]);
        assert_eq!(agents[0].label, "sane (gamma = 0.9)");
        assert_eq!(agents[0].note().unwrap(), "learner.gamma = 0.9, learner.optimiser.learning_rate = 0.1");
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
    fn agents_of_one_figure_share_no_colour_as_long_as_there_are_colours() {
        let names = ["q-sane", "sane", "noisynet", "eps-greedy", "sane-elbo", "sane-constant-elbo", "sane-counts"];
        assert_eq!(names.len(), Look::AGENT_COLOURS);
        let colours: BTreeSet<usize> = looks(&names).into_iter().map(|(_, look)| look.colour).collect();
        assert_eq!(colours.len(), names.len());
    }

    #[test]
    fn an_agent_looks_the_same_alone_and_beside_agents_of_other_colours() {
        // Part of the rule: a changed hash would change the colours of figures that people compare.
        assert_eq!(looks(&["sane-constant"])[0].1, Look { colour: 1, pattern: 5 });
        assert_eq!(looks(&["sane-constant", "noisynet", "sane-layerwise"])[1].1, Look { colour: 1, pattern: 5 });
        assert_ne!(looks(&["sane-constant", "sane"])[1].1.colour, 1);
        // Both names lead to one look; the later name takes the next.
        let pair = ["sane-visits", "q-sane-noisy-features"];
        assert_eq!(pair.map(Look::first_choice), [4; 2]);
        let found: Vec<Look> = looks(&pair).into_iter().map(|(_, look)| look).collect();
        assert_eq!(found, [Look { colour: 4, pattern: 0 }, Look { colour: 5, pattern: 0 }]);
    }
}
