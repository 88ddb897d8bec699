//! Findings in sentences: what the runs support, what they do not support, and what limits both.

use crate::comparison::{Comparison, MOST_COMPARED};
use crate::paper::Noise;
use crate::recorded_run::RecordedRun;
use crate::section::{Measure, Section};
use crate::settings::{BUDGET, is_result_key, readable};
use sane_record::Baseline;
use sane_stats::least_p_value;
use sane_stats::number_format::{counted, grouped, hundredths, percent};
use std::collections::{BTreeMap, BTreeSet};

/// The usual significance level; rank tests that cannot reach it with so few seeds are reported as such.
const SIGNIFICANT: f64 = 0.05;

/// Interactions of training behind the paper's tables.
const PAPER_BUDGET: u64 = 25_000_000;

/// Up to this many pairs each get a sentence; beyond, only those that differ.
const MOST_PAIRS: usize = 10;

/// Findings about the runs themselves: how many, how complete, how comparable.
pub fn about_runs(section: &Section) -> Vec<String> {
    let runs: Vec<_> = section.all_runs().map(|(_, run)| run).collect();
    let mut findings = if runs.len() == 1 { Vec::new() } else { vec![seeds(section)] };
    let unfinished = runs.iter().filter(|run| !run.finished).count();
    if 0 < unfinished {
        findings.push(format!(
            "{unfinished} of {} {} not reached {} interactions yet; {} no score until then.",
            counted(runs.len(), "run"),
            if unfinished == 1 { "has" } else { "have" },
            interactions(section.budgets()),
            if unfinished == 1 { "it has" } else { "they have" },
        ));
    }
    let torn = runs.iter().filter(|run| run.torn).count();
    if 0 < torn {
        findings.push(format!(
            "The last line of {} is torn (a crash, or still being written) and was left out.",
            counted(torn, "event file")
        ));
    }
    let versions: BTreeSet<&String> = runs.iter().flat_map(|run| &run.process.versions).collect();
    if 1 < versions.len() {
        let versions: Vec<&str> = versions.into_iter().map(String::as_str).collect();
        findings.push(format!(
            "The runs come from different versions of the program ({}); the list of runs says which is from which.",
            versions.join(", ")
        ));
    }
    findings.extend(uneven_choices(section));
    findings.extend(dead_modules(section));
    findings.extend(constant_modules(section));
    findings.extend(evaluations(section));
    findings
}

/// Findings of the comparison by one score.
pub fn about_comparison(section: &Section, comparison: &Comparison) -> Vec<String> {
    let mut findings = Vec::new();
    let left_out: Vec<&str> =
        section.worlds.iter().filter(|world| !comparison.raw.worlds.contains(world)).map(String::as_str).collect();
    if !left_out.is_empty() {
        findings
            .push(format!("Not every agent has this score in {}: left out of the comparison.", left_out.join(", ")));
    }
    let unscaled: Vec<&str> =
        comparison.raw.worlds.iter().filter(|world| Baseline::of(world).is_none()).map(String::as_str).collect();
    if !unscaled.is_empty() && !comparison.aggregates.is_empty() {
        findings.push(format!(
            "No human score is known for {}: in the probability of improvement, in none of the normalised figures.",
            unscaled.join(", ")
        ));
    }
    findings.extend(few_seeds(comparison.seeds()));
    if MOST_COMPARED < comparison.raw.scores.len() {
        let count = comparison.raw.scores.len();
        findings.push(format!(
            "{count} agents and variants: too many for statements about pairs. By chance alone some of them would seem to \
             beat others."
        ));
    }
    findings.extend(pairs(section, comparison));
    findings
}

fn seeds(section: &Section) -> String {
    let mut counts = BTreeSet::new();
    for world in &section.worlds {
        counts.extend((0..section.agents.len()).map(|agent| section.runs(world, agent).len()));
    }
    let (worlds, agents) = (section.worlds.len(), section.agents.len());
    let (fewest, most) = (counts.first().copied().unwrap_or(0), counts.last().copied().unwrap_or(0));
    let seeds = if fewest == most { format!("{most}") } else { format!("{fewest} to {most}") };
    let missing = if fewest == 0 { " (0: that agent was not run in that world)" } else { "" };
    let budgets = match section.budgets() {
        (fewest, most) if fewest == most => String::new(),
        _ => {
            let of = |world: &String| format!("{world} {}", grouped(section.budget(world)));
            format!(" Interactions: {}.", section.worlds.iter().map(of).collect::<Vec<_>>().join(", "))
        }
    };
    let names: BTreeSet<&str> = section.agents.iter().map(|agent| agent.name.as_str()).collect();
    let variants = if names.len() < agents { format!(" in {agents} variants") } else { String::new() };
    let (worlds, agents) = (counted(worlds, "world"), counted(names.len(), "agent") + &variants);
    format!("{worlds}, {agents}; seeds per world and agent: {seeds}{missing}.{budgets}")
}

/// Settings that were chosen for an agent in some of its worlds and left to the preset in others: it counts as one agent, and
/// the reader should know.
fn uneven_choices(section: &Section) -> Vec<String> {
    let mut uneven: BTreeMap<(String, String), BTreeSet<String>> = BTreeMap::new();
    for (i, agent) in section.agents.iter().enumerate() {
        let runs = || section.all_runs().filter(|(of, _)| *of == i).map(|(_, run)| run);
        let worlds: BTreeSet<&str> = runs().map(|run| run.world.as_str()).collect();
        let mut chosen: BTreeMap<&str, BTreeMap<&str, &str>> = BTreeMap::new();
        for run in runs() {
            let Some(origin) = &run.origin else { continue };
            for key in origin.chosen.keys().filter(|key| is_result_key(key) && *key != BUDGET) {
                let value = run.settings.get(key).map_or("not set", String::as_str);
                chosen.entry(key).or_default().insert(&run.world, value);
            }
        }
        for (key, values) in chosen.iter().filter(|(_, values)| values.len() < worlds.len()) {
            for (world, value) in values {
                let what = format!("{key} = {}", readable(value));
                uneven.entry((what, (*world).to_owned())).or_default().insert(agent.label.clone());
            }
        }
    }
    let sentence = |((what, world), agents): (&(String, String), &BTreeSet<String>)| {
        let agents: Vec<&str> = agents.iter().map(String::as_str).collect();
        format!("{what} was chosen in {world} and not in every other world (for {}).", agents.join(", "))
    };
    uneven.iter().map(sentence).collect()
}

fn dead_modules(section: &Section) -> Option<String> {
    let mut dead: BTreeMap<(&str, &str), Vec<u64>> = BTreeMap::new();
    for (_, run) in section.all_runs().filter(|(_, run)| run.has_dead_module()) {
        dead.entry((&run.world, &run.agent)).or_default().push(run.seed);
    }
    let named = |((world, agent), seeds): (&(&str, &str), &Vec<u64>)| {
        let plural = if seeds.len() == 1 { "" } else { "s" };
        format!("{world} {agent} seed{plural} {}", seeds.iter().map(u64::to_string).collect::<Vec<_>>().join(", "))
    };
    (!dead.is_empty()).then(|| {
        format!(
            "The perturbation module has died in {}: in the last interval σ was the same for every state, so the agent \
             no longer explores by state.",
            dead.iter().map(named).collect::<Vec<_>>().join("; ")
        )
    })
}

fn constant_modules(section: &Section) -> Option<String> {
    let named = |(_, run): (usize, &RecordedRun)| {
        Some(format!("{} ({} of the states)", run.name(), percent(run.mostly_constant_sigma()?)))
    };
    let constant: Vec<String> = section.all_runs().filter_map(named).collect();
    (!constant.is_empty()).then(|| {
        format!(
            "The perturbation module is off in most states in {}: there σ is one and the same number, so the agent \
             explores by state in the few others only.",
            constant.join("; ")
        )
    })
}

fn evaluations(section: &Section) -> Vec<String> {
    let mut findings = Vec::new();
    let chosen: Vec<_> = section
        .all_runs()
        .flat_map(|(_, run)| [Noise::Off, Noise::On].map(|noise| section.evaluation(run, noise)))
        .flatten()
        .collect();
    let trained = section.evaluated_at.map_or_else(|| section.budgets(), |at| (at, at));
    if chosen.is_empty() {
        findings.push(format!(
            "No run was evaluated after {} interactions: `sane eval RUN --noise both` measures a finished run.",
            interactions(trained)
        ));
    }
    let on_paper = chosen.iter().any(|evaluation| Baseline::of(&evaluation.result.world).is_some());
    if on_paper && section.beside_paper && trained != (PAPER_BUDGET, PAPER_BUDGET) {
        findings.push(format!(
            "These policies had {} interactions of training, the paper's had {}: its figures stand beside them for \
             orientation, not as a like-for-like comparison.",
            interactions(trained),
            grouped(PAPER_BUDGET)
        ));
    }
    let lengths = || chosen.iter().map(|evaluation| evaluation.result.interactions);
    if let (Some(shortest), Some(longest)) = (lengths().min(), lengths().max())
        && 2 * shortest < longest
    {
        findings.push(format!(
            "The evaluations differ in length, from {} to {} interactions: the short ones are less sure.",
            grouped(shortest),
            grouped(longest)
        ));
    }
    let kept = chosen.len();
    let all: usize = section.all_runs().map(|(_, run)| run.evaluations.len()).sum();
    if kept < all {
        findings.push(format!(
            "{} of {all} evaluations stand in no table: another of the same policy is longer or later, or they were made \
             after another amount of training, or in another profile.",
            all - kept
        ));
    }
    let partial = chosen.iter().filter(|evaluation| evaluation.partial).count();
    if 0 < partial {
        findings.push(format!(
            "{} stopped before the end and {} marked partial in the tables: no whole evaluation of that policy is there.",
            if partial == 1 { "One evaluation was".to_owned() } else { format!("{partial} evaluations were") },
            if partial == 1 { "is" } else { "are" },
        ));
    }
    findings
}

/// A number of interactions, or the fewest and the most.
fn interactions((fewest, most): (u64, u64)) -> String {
    if fewest == most { grouped(most) } else { format!("{} to {}", grouped(fewest), grouped(most)) }
}

fn few_seeds((fewest, most): (usize, usize)) -> Vec<String> {
    if fewest < 2 {
        return vec![
            "Some score rests on a single seed: its spread is unknown, no interval is given, and no difference between \
             agents can be claimed."
                .into(),
        ];
    }
    let mut findings = Vec::new();
    let least = least_p_value([(most, most)]);
    if SIGNIFICANT < least {
        findings.push(format!(
            "With at most {most} against {most} seeds, even an agent that wins every pairing in a game does so by \
             chance with p = {}: no difference in a single game can be claimed, only over several games.",
            hundredths(least)
        ));
    }
    if fewest < 5 {
        findings.push(format!(
            "A game with {fewest} seeds allows only {} different resamples: the intervals are rough, and tend to be \
             too narrow.",
            resamples(fewest)
        ));
    }
    if fewest < most {
        findings.push(format!(
            "Seeds per world differ ({fewest} to {most}): worlds with more seeds weigh more in the interquartile mean \
             and in the profiles."
        ));
    }
    findings
}

/// C(2n − 1, n): ways to draw n of n seeds with replacement, regardless of order.
fn resamples(seeds: usize) -> usize {
    (1..=seeds).fold(1, |ways, i| ways * (seeds - 1 + i) / i)
}

fn pairs(section: &Section, comparison: &Comparison) -> Vec<String> {
    let name = |agent: usize| section.agents[agent].label.as_str();
    let mut findings = Vec::new();
    let mut open = 0;
    for (first, second, estimate) in &comparison.pairs {
        let Some([low, high]) = estimate.interval else { continue };
        let interval = |low, high| format!("95 % interval {} to {}", percent(low), percent(high));
        let least = least_p_value(seeds_of_pair(comparison, *first, *second));
        let doubt = if low <= 0.5 && 0.5 <= high {
            format!("{}, which includes 50 %", interval(low, high))
        } else if SIGNIFICANT < least {
            format!("but so few seeds in so few worlds win every pairing by chance with p = {}", hundredths(least))
        } else {
            String::new()
        };
        if !doubt.is_empty() {
            open += 1;
            if comparison.pairs.len() <= MOST_PAIRS {
                let (first, second, share) = (name(*first), name(*second), percent(estimate.point));
                findings
                    .push(format!("{first} against {second}: undecided. The first wins {share} of pairings, {doubt}."));
            }
            continue;
        }
        let (better, worse, share, interval) = if estimate.point < 0.5 {
            (second, first, 1.0 - estimate.point, interval(1.0 - high, 1.0 - low))
        } else {
            (first, second, estimate.point, interval(low, high))
        };
        // If all pairings went one way, they do so in every resample.
        let flat = if low == high { " (without width, since all pairings went the same way)" } else { "" };
        let (better, worse) = (name(*better), name(*worse));
        findings.push(format!("{better} beats {worse} in {} of pairings, {interval}{flat}.", percent(share)));
    }
    if MOST_PAIRS < comparison.pairs.len() && 0 < open {
        findings.push(format!("The other {open} pairs of agents are undecided."));
    }
    findings
}

fn seeds_of_pair(comparison: &Comparison, first: usize, second: usize) -> Vec<(usize, usize)> {
    let counts = |agent: usize| {
        let scores = comparison.raw.scores.iter().find(|(other, _)| *other == agent);
        scores.map(|(_, scores)| scores.0.iter().map(Vec::len).collect::<Vec<_>>()).unwrap_or_default()
    };
    counts(first).into_iter().zip(counts(second)).collect()
}

/// Whether the score gets a section of comparisons: two agents or more in a world that all of them have, or one agent in
/// several games with a human score.
pub fn is_comparable(comparison: &Comparison) -> bool {
    let several = 1 < comparison.raw.scores.len() && !comparison.raw.worlds.is_empty();
    let normalised = !comparison.aggregates.is_empty() && 1 < comparison.normalised.worlds.len();
    several || comparison.measure != Measure::Training && normalised
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_seeds_have_ten_resamples() {
        assert_eq!([2, 3, 4, 5].map(resamples), [3, 10, 35, 126]);
    }

    #[test]
    fn claims_that_too_few_seeds_cannot_support_are_reported() {
        assert!(few_seeds((1, 3))[0].contains("single seed"));
        assert!(few_seeds((3, 3))[0].contains("p = 0.10"));
        assert!(few_seeds((3, 3))[1].contains("only 10 different resamples"));
        assert_eq!(few_seeds((10, 10)), Vec::<String>::new());
        assert!(few_seeds((5, 6))[0].contains("weigh more"));
    }
}
