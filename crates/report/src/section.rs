//! Runs grouped into sections: within a world, only runs of one budget and one set of shared settings are in one table.

use crate::agent::Agent;
use crate::paper::{Noise, suite};
use crate::recorded_run::{RecordedEvaluation, RecordedRun};
use crate::set_aside::{SetAside, without_repeats};
use crate::settings::{Settings, is_section_key, swept_keys};
use crate::variant::told_apart;
use sane_record::PAPER_GAMES;
use sane_stats::Scores;
use std::collections::{BTreeMap, BTreeSet};

/// A score of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Measure {
    /// Mean return of its evaluation.
    Evaluation(Noise),
    /// Mean return of its last 100 training episodes, exploration included.
    Training,
}

impl Measure {
    /// The paper's first.
    pub const ALL: [Self; 3] = [Self::Evaluation(Noise::Off), Self::Evaluation(Noise::On), Self::Training];

    /// As headings print it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Evaluation(Noise::Off) => "evaluation without noise",
            Self::Evaluation(Noise::On) => "evaluation with noise",
            Self::Training => "training, last 100 episodes",
        }
    }

    /// As file names contain it.
    pub fn slug(self) -> &'static str {
        match self {
            Self::Evaluation(Noise::Off) => "noise-off",
            Self::Evaluation(Noise::On) => "noise-on",
            Self::Training => "training",
        }
    }
}

/// Runs that may be in one table.
#[derive(Debug, Clone)]
pub struct Section {
    /// Settings that tell it from the other sections; empty if it is the only one, or the presets' own.
    pub distinction: Settings,
    /// In the order of tables and figures; other parts refer to them by index.
    pub agents: Vec<Agent>,
    /// Those of the paper first and in the paper's order.
    pub worlds: Vec<String>,
    /// Interactions of training of the policies whose evaluations are in the tables; none for the runs' whole budget.
    pub evaluated_at: Option<u64>,
    /// Whether the paper's tables are shown in full: its suite of 8 games was run, or they were asked for.
    pub beside_paper: bool,
    cells: BTreeMap<(String, usize), Vec<RecordedRun>>,
}

impl Section {
    /// The runs of an agent in a world, by seed.
    pub fn runs(&self, world: &str, agent: usize) -> &[RecordedRun] {
        self.cells.get(&(world.to_owned(), agent)).map_or(&[], Vec::as_slice)
    }

    /// All runs, with the index of their agent.
    pub fn all_runs(&self) -> impl Iterator<Item = (usize, &RecordedRun)> {
        self.cells.iter().flat_map(|((_, agent), runs)| runs.iter().map(move |run| (*agent, run)))
    }

    /// Whether it is about one agent in one world: its curve comes first, and there is nothing to compare.
    pub fn is_single(&self) -> bool {
        self.agents.len() == 1 && self.worlds.len() == 1
    }

    /// Interactions configured in a world: the same for all runs of the section there.
    pub fn budget(&self, world: &str) -> u64 {
        let runs = self.all_runs().map(|(_, run)| run).filter(|run| run.world == world);
        runs.map(|run| run.budget_interactions).max().unwrap_or(0)
    }

    /// Fewest and most interactions configured in any world.
    pub fn budgets(&self) -> (u64, u64) {
        let budgets = || self.all_runs().map(|(_, run)| run.budget_interactions);
        (budgets().min().unwrap_or(0), budgets().max().unwrap_or(0))
    }

    /// The scores of an agent in a world, one per seed that has one.
    pub fn scores(&self, world: &str, agent: usize, measure: Measure) -> Vec<f64> {
        self.runs(world, agent).iter().filter_map(|run| self.score(run, measure)).collect()
    }

    /// The score of a run; an unfinished run has none, since its policy had less training than the others.
    pub fn score(&self, run: &RecordedRun, measure: Measure) -> Option<f64> {
        match measure {
            Measure::Evaluation(noise) => self.evaluation(run, noise).map(|evaluation| evaluation.result.return_mean),
            Measure::Training => run.final_return,
        }
    }

    /// The evaluation of a run that counts in the tables: its own world and profile, the section's amount of training. Of
    /// several, the one with most episodes that is not partial; the last of equally long ones.
    pub fn evaluation<'a>(&self, run: &'a RecordedRun, noise: Noise) -> Option<&'a RecordedEvaluation> {
        let profile = run.settings.get("world.profile");
        let of_this_policy = run.evaluations.iter().filter(|RecordedEvaluation { result: evaluation, .. }| {
            evaluation.noise == noise.name()
                && evaluation.trained_interactions == self.evaluated_at.unwrap_or(run.budget_interactions)
                && evaluation.world == run.world
                && profile.is_none_or(|profile| *profile == evaluation.profile)
        });
        of_this_policy.max_by_key(|evaluation| (!evaluation.partial, evaluation.result.interactions))
    }

    /// Whether the agent can have this score: one that explores by random actions has no noise to switch on.
    pub fn applies(&self, agent: usize, measure: Measure) -> bool {
        let explores_by_chance = || self.all_runs().any(|(of, run)| of == agent && run.explores_by_chance);
        measure != Measure::Evaluation(Noise::On) || !explores_by_chance()
    }

    /// Whether any run has this score.
    pub fn has(&self, measure: Measure) -> bool {
        self.all_runs().any(|(_, run)| self.score(run, measure).is_some())
    }

    /// Most seeds that any agent has in any world.
    pub fn seeds(&self) -> usize {
        self.cells.values().map(Vec::len).max().unwrap_or(0)
    }

    /// Scores of the agents that have any, over the worlds that all of these have; `of` turns a world's score into what
    /// is compared, or leaves the world out.
    pub fn common_scores(&self, measure: Measure, of: impl Fn(&str, f64) -> Option<f64>) -> Common {
        let scores = |world: &str, agent: usize| -> Vec<f64> {
            self.scores(world, agent, measure).into_iter().filter_map(|score| of(world, score)).collect()
        };
        let agents: Vec<usize> = (0..self.agents.len())
            .filter(|&agent| self.worlds.iter().any(|world| !scores(world, agent).is_empty()))
            .collect();
        let has_all = |world: &&String| agents.iter().all(|&agent| !scores(world, agent).is_empty());
        let worlds: Vec<String> = self.worlds.iter().filter(has_all).cloned().collect();
        let scores = agents
            .iter()
            .map(|&agent| (agent, Scores(worlds.iter().map(|world| scores(world, agent)).collect())))
            .collect();
        Common { worlds, scores }
    }
}

/// Scores over the worlds that all compared agents have.
#[derive(Debug, Clone, PartialEq)]
pub struct Common {
    /// Those worlds.
    pub worlds: Vec<String>,
    /// For each agent its scores, world by world.
    pub scores: Vec<(usize, Scores)>,
}

/// Groups runs into sections. Of runs that repeat world, agent, settings and seed, the one with most interactions is kept.
/// With `evaluated_at`, the tables hold evaluations after that many interactions instead of after the whole budget.
pub fn sections(runs: Vec<RecordedRun>, evaluated_at: Option<u64>) -> (Vec<Section>, Vec<SetAside>) {
    let (runs, set_aside) = without_repeats(runs, |run| run);
    let swept = swept_keys(runs.iter().map(|run| (run.world.as_str(), run.agent.as_str(), &run.settings)));
    let decides = |key: &str| is_section_key(key) && !swept.contains(key);
    let (kinds, of_run) = told_apart(&runs.iter().collect::<Vec<_>>(), &decides);
    let mut groups: Vec<(Settings, Vec<RecordedRun>)> =
        kinds.into_iter().map(|kind| (kind.differences, Vec::new())).collect();
    for (run, kind) in runs.into_iter().zip(of_run) {
        groups[kind].1.push(run);
    }
    // The longest training first.
    let budget = |runs: &[RecordedRun]| runs.iter().map(|run| run.budget_interactions).max();
    groups.sort_by_key(|(_, runs)| std::cmp::Reverse(budget(runs)));
    let sections =
        groups.into_iter().map(|(distinction, runs)| section(distinction, evaluated_at, runs, &swept)).collect();
    (sections, set_aside)
}

fn section(
    distinction: Settings,
    evaluated_at: Option<u64>,
    runs: Vec<RecordedRun>,
    swept: &BTreeSet<String>,
) -> Section {
    let agents = Agent::all_of_section(&runs, swept);
    let mut worlds: Vec<String> = runs.iter().map(|run| run.world.clone()).collect();
    let position = |world: &str| PAPER_GAMES.iter().position(|game| game.game == world).unwrap_or(PAPER_GAMES.len());
    worlds.sort_by(|a, b| (position(a), a).cmp(&(position(b), b)));
    worlds.dedup();
    let mut cells: BTreeMap<(String, usize), Vec<RecordedRun>> = BTreeMap::new();
    for run in runs {
        let agent = agents.iter().position(|agent| agent.is_of(&run)).expect("every run has its agent");
        cells.entry((run.world.clone(), agent)).or_default().push(run);
    }
    cells.values_mut().for_each(|runs| runs.sort_by_key(|run| run.seed));
    let beside_paper = suite(8).all(|game| worlds.iter().any(|world| world == game.game));
    Section { distinction, agents, worlds, evaluated_at, beside_paper, cells }
}
