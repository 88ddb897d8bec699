//! Decisions that a suite takes from its own results: which points of a search by halving continue, and whether agents need
//! more seeds to be told apart. They are written to `rounds.json`, so that they can be read, and a suite that is run again
//! takes none twice.

use crate::expand::{Suite, SuiteRun};
use crate::folder::SuiteFolder;
use crate::progress::RunProgress;
use crate::search::Metric;
use crate::seeds::SequentialSeeds;
use sane_record::RunState;
use sane_stats::{iqm_difference, mean};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;

/// All decisions of a suite so far, in the order they were taken.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rounds {
    pub halvings: Vec<HalvingRound>,
    pub seeds: Vec<SeedsRound>,
}

/// A rung of a search by halving that is finished.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HalvingRound {
    pub search: String,
    /// Counted from 1.
    pub rung: u32,
    /// Mean over seeds of the metric; none for a point whose runs were all set aside.
    pub scores: BTreeMap<String, Option<f64>>,
    /// The points that continue, the best first.
    pub kept: Vec<String>,
}

/// A look at the agents of a game.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeedsRound {
    pub game: String,
    /// Seeds that each agent had.
    pub seeds: u64,
    /// Every agent beside the first.
    pub differences: Vec<Difference>,
    /// Whether no more seeds are added.
    pub decided: bool,
}

/// IQM of an agent less that of the reference, with the interval corrected for repeated looks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Difference {
    pub agent: String,
    pub reference: String,
    /// None if too few runs were finished.
    pub point: Option<f64>,
    /// None if the runs do not show their spread, too.
    pub interval: Option<[f64; 2]>,
}

impl Rounds {
    /// How many rungs of its search a point has passed.
    pub fn passed(&self, search: &str, point: &str) -> u32 {
        let passed = |round: &&HalvingRound| round.search == search && round.kept.iter().any(|kept| kept == point);
        self.halvings.iter().filter(passed).count() as u32
    }

    /// How many seeds the agents of a game have.
    pub fn seed_count(&self, game: &str, rule: &SequentialSeeds) -> u64 {
        match self.seeds.iter().rfind(|round| round.game == game) {
            None => rule.at_least,
            Some(round) if round.decided => round.seeds,
            Some(round) => (round.seeds + rule.step).min(rule.at_most),
        }
    }

    /// Takes the decisions that the finished runs of `suite` allow; those that were taken.
    pub(crate) fn decide(&mut self, folder: &SuiteFolder, suite: &Suite) -> Vec<String> {
        let settled =
            |run: &SuiteRun| matches!(folder.run_status(suite, run).state, RunState::Done | RunState::SetAside);
        if suite.searches.iter().all(|search| search.halving().is_none()) && suite.sequential.is_none()
            || !suite.runs.iter().all(settled)
        {
            return Vec::new();
        }
        let mut taken = Vec::new();
        for search in &suite.searches {
            let Some(halving) = search.halving() else { continue };
            let done = self.halvings.iter().filter(|round| round.search == search.name).count() as u32;
            if halving.rungs <= done + 1 {
                continue;
            }
            let alive = |run: &&SuiteRun| {
                run.search.as_deref() == Some(search.name.as_str())
                    && run.variant.as_ref().is_some_and(|point| self.passed(&search.name, point) == done)
            };
            let mut values: BTreeMap<String, Vec<f64>> = BTreeMap::new();
            for run in suite.runs.iter().filter(alive) {
                let entry = values.entry(run.variant.clone().unwrap_or_default()).or_default();
                entry.extend(score(folder, suite, run, halving.metric));
            }
            let scores: BTreeMap<String, Option<f64>> = values
                .into_iter()
                .map(|(point, values)| (point, (!values.is_empty()).then(|| mean(&values))))
                .collect();
            let kept = best(&scores, scores.len().div_ceil(halving.keep as usize));
            let round = HalvingRound { search: search.name.clone(), rung: done + 1, scores, kept };
            taken.push(round.to_string());
            self.halvings.push(round);
        }
        if let Some(rule) = &suite.sequential {
            for game in suite.sequential_games() {
                if self.seeds.iter().any(|round| round.game == game && round.decided) {
                    continue;
                }
                let round = look(folder, suite, rule, &game, self.seed_count(&game, rule));
                taken.push(round.to_string());
                self.seeds.push(round);
            }
        }
        taken
    }

    /// One sentence per decision.
    pub fn sentences(&self) -> Vec<String> {
        let halvings = self.halvings.iter().map(HalvingRound::to_string);
        halvings.chain(self.seeds.iter().map(SeedsRound::to_string)).collect()
    }
}

/// The points with the largest scores; of equal ones the first.
fn best(scores: &BTreeMap<String, Option<f64>>, count: usize) -> Vec<String> {
    let mut ranked: Vec<(&String, f64)> =
        scores.iter().filter_map(|(point, score)| score.map(|score| (point, score))).collect();
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(b.0)));
    ranked.into_iter().take(count).map(|(point, _)| point.clone()).collect()
}

fn look(folder: &SuiteFolder, suite: &Suite, rule: &SequentialSeeds, game: &str, seeds: u64) -> SeedsRound {
    let mut agents: Vec<(String, Vec<f64>)> = Vec::new();
    for run in suite.runs.iter().filter(|run| run.search.is_none() && run.config.world.name == game) {
        let name = run.contender();
        let position = agents.iter().position(|(other, _)| *other == name).unwrap_or_else(|| {
            agents.push((name, Vec::new()));
            agents.len() - 1
        });
        agents[position].1.extend(score(folder, suite, run, rule.metric));
    }
    let differences = rule.differences(&agents);
    let is_clear = |difference: &Difference| difference.interval.is_some_and(|[low, high]| 0.0 < low || high < 0.0);
    let decided = differences.iter().all(is_clear) || rule.at_most <= seeds;
    SeedsRound { game: game.into(), seeds, differences, decided }
}

impl SequentialSeeds {
    /// Every agent beside the first, with intervals that all hold at once, at every look, with the rule's confidence.
    fn differences(&self, agents: &[(String, Vec<f64>)]) -> Vec<Difference> {
        let Some(((reference, base), others)) = agents.split_first() else { return Vec::new() };
        let level = self.level(others.len());
        let difference = |(agent, values): &(String, Vec<f64>)| {
            let found = iqm_difference(values, base, level);
            Difference {
                agent: agent.clone(),
                reference: reference.clone(),
                point: found.map(|found| found.point),
                interval: found.and_then(|found| found.interval),
            }
        };
        others.iter().map(difference).collect()
    }
}

/// The metric of a run that is done; none for one that was set aside.
fn score(folder: &SuiteFolder, suite: &Suite, run: &SuiteRun, metric: Metric) -> Option<f64> {
    let path = folder.run(run);
    let progress = RunProgress::read(&path, &run.config);
    let wanted = match metric {
        Metric::Training => return progress.mean_return.filter(|_| progress.trained),
        Metric::Evaluation => "off",
        Metric::EvaluationWithNoise => "on",
    };
    let (evaluations, _) = RunProgress::evaluations(&path, &run.config, &suite.evaluation).ok()?;
    // An agent without noise is evaluated once, without.
    let found = evaluations.iter().find(|evaluation| evaluation.noise == wanted).or(evaluations.first());
    found.map(|evaluation| evaluation.return_mean)
}

impl fmt::Display for HalvingRound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let best = self.kept.first().and_then(|point| self.scores.get(point).copied().flatten());
        write!(f, "{}: rung {} kept {} of {} points", self.search, self.rung, self.kept.len(), self.scores.len())?;
        match (self.kept.first(), best) {
            (Some(point), Some(score)) => write!(f, "; best so far {point} with {score:.2}"),
            _ => write!(f, "; no point has a finished run"),
        }
    }
}

impl fmt::Display for SeedsRound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} seeds", self.game, self.seeds)?;
        for Difference { agent, reference, point, interval } in &self.differences {
            match (point, interval) {
                (Some(point), Some([low, high])) => {
                    write!(f, "; {agent} − {reference}: {point:.2} [{low:.2}, {high:.2}]")?;
                }
                (Some(point), None) => {
                    write!(f, "; {agent} − {reference}: {point:.2}, without an interval: too many equal scores")?;
                }
                (None, _) => write!(f, "; {agent} − {reference}: too few finished runs")?,
            }
        }
        write!(f, "; {}", if self.decided { "no more seeds" } else { "more seeds" })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sane_env::Stream;

    #[test]
    fn the_best_points_are_kept_and_those_without_a_score_never() {
        let scores = [("a", Some(1.0)), ("b", None), ("c", Some(3.0)), ("d", Some(3.0))];
        let scores = scores.map(|(point, score)| (point.to_owned(), score)).into();
        assert_eq!(best(&scores, 2), ["c", "d"]);
        assert_eq!(best(&scores, 4), ["c", "d", "a"]);
    }

    #[test]
    fn a_point_has_passed_the_rungs_that_kept_it() {
        let round = |rung, kept: &[&str]| HalvingRound {
            search: "x".into(),
            rung,
            scores: BTreeMap::new(),
            kept: kept.iter().map(|&point| point.to_owned()).collect(),
        };
        let rounds = Rounds { halvings: vec![round(1, &["x-1", "x-2"]), round(2, &["x-2"])], seeds: Vec::new() };
        assert_eq!(["x-1", "x-2", "x-3"].map(|point| rounds.passed("x", point)), [1, 2, 0]);
    }

    /// Looks at seeds as a suite does, until decided; whether the interval came to exclude 0. `score` draws one of the agent
    /// with this index.
    fn finds_a_difference(
        rule: &SequentialSeeds,
        stream: &mut Stream,
        score: &dyn Fn(usize, &mut Stream) -> f64,
    ) -> bool {
        let mut agents = vec![("a".to_owned(), Vec::new()), ("b".to_owned(), Vec::new())];
        let mut seeds = rule.at_least;
        loop {
            for (i, (_, values)) in agents.iter_mut().enumerate() {
                values.resize_with(seeds as usize, || score(i, stream));
            }
            let clear =
                rule.differences(&agents).iter().all(|d| d.interval.is_some_and(|[low, high]| 0.0 < low || high < 0.0));
            if clear || rule.at_most <= seeds {
                return clear;
            }
            seeds = (seeds + rule.step).min(rule.at_most);
        }
    }

    #[test]
    fn agents_that_do_not_differ_are_called_different_in_at_most_five_of_a_hundred_suites() {
        let rule = SequentialSeeds { at_least: 5, at_most: 20, step: 5, ..SequentialSeeds::default() };
        let equal = |_: usize, stream: &mut Stream| stream.normal();
        let false_alarms = differences_found(&rule, &equal);
        assert!(false_alarms <= 100, "{false_alarms} of 2,000");
        let found = differences_found(&rule, &|i, stream| stream.normal() + 2.0 * i as f64);
        assert!(1_900 < found, "a difference of two deviations is found in {found} of 2,000");
        // The same looks without the correction raise the alarm too often: this is what it is for.
        let uncorrected = SequentialSeeds { confidence: 1.0 - 0.05 * rule.looks() as f64, ..rule };
        let too_many = differences_found(&uncorrected, &equal);
        assert!(100 < too_many, "{too_many} of 2,000");
    }

    #[test]
    fn agents_that_solve_a_world_or_do_not_are_not_told_apart_by_equal_scores_and_two_groups_take_ten_seeds() {
        let from_five = SequentialSeeds { at_least: 5, at_most: 20, step: 5, ..SequentialSeeds::default() };
        let from_ten = SequentialSeeds { at_least: 10, ..from_five };
        let solved = |_: usize, stream: &mut Stream| f64::from(u8::from(stream.uniform() < 0.5));
        let alarms = differences_found(&from_five, &solved);
        assert!(alarms <= 100, "{alarms} of 2,000");
        let two_groups = |agent: usize, stream: &mut Stream| solved(agent, stream) + 0.1 * stream.normal();
        let (five, ten) = (differences_found(&from_five, &two_groups), differences_found(&from_ten, &two_groups));
        assert!(150 < five && ten <= 120, "{five} and {ten} of 2,000");
    }

    /// In how many of 2,000 suites a difference is found.
    fn differences_found(rule: &SequentialSeeds, score: &dyn Fn(usize, &mut Stream) -> f64) -> usize {
        let mut stream = Stream::named(1, "sequential");
        (0..2_000).filter(|_| finds_a_difference(rule, &mut stream, score)).count()
    }
}
