//! The questions that conferences ask about experiments, answered from the run folders: runs and seeds, how settings were
//! chosen, compute, machines, code, commands, worlds, error bars, evaluation. What the records do not hold says so.

use crate::plot::escape;
use crate::recorded_run::RecordedRun;
use crate::section::Section;
use crate::set_aside::SetAside;
use crate::settings::{is_result_key, readable};
use sane_stats::number_format::{counted, duration, grouped, score};
use std::collections::{BTreeMap, BTreeSet};

/// Longer lists are cut, and say how much is left out.
const MOST_LISTED: usize = 20;

const NOT_RECORDED: &str = "not recorded";

/// A question and its answer.
#[derive(Debug, Clone, PartialEq)]
pub struct ChecklistItem {
    pub question: &'static str,
    /// Sentences, or lines of a list; empty if nothing about it is recorded.
    pub answer: Vec<String>,
    /// Lines that are to be typed or compared letter by letter.
    pub verbatim: Vec<String>,
    /// What of it is missing from the records of some runs.
    pub gap: Option<String>,
}

/// The checklist of these sections.
pub fn checklist(sections: &[Section], set_aside: &[SetAside]) -> Vec<ChecklistItem> {
    let runs: Vec<&RecordedRun> = sections.iter().flat_map(|section| section.all_runs().map(|(_, run)| run)).collect();
    vec![
        item("Number of runs and seeds", runs_and_seeds(sections)),
        chosen_settings(&runs),
        item("Settings searched over", searched(sections)),
        compute(&runs),
        machines(&runs),
        code(&runs),
        commands(&runs),
        item("Worlds and data", worlds(sections)),
        item("Error bars", vec![ERROR_BARS.into()]),
        evaluation(sections, &runs),
        repeatability(&runs),
        item("Runs left out", left_out(set_aside, &runs)),
    ]
}

const ERROR_BARS: &str = "± is the standard deviation over seeds (n − 1). Intervals are 95 % percentile intervals of 10,000 \
    stratified bootstrap resamplings over seeds within each world (2,000 for performance profiles). Bands around curves reach \
    from the lowest to the highest seed; around evaluations of a single seed they are the 95 % bootstrap interval of the mean \
    over episodes.";

/// The checklist as Markdown: a ticked box where the records answer in full.
pub fn markdown(items: &[ChecklistItem]) -> String {
    let mut text =
        "# Reproducibility checklist\n\nFilled from the run folders by `sane report`; an open box marks what they \
                    do not hold, or not for all runs.\n\n"
            .to_owned();
    for item in items {
        let tick = if item.is_answered() { 'x' } else { ' ' };
        text += &format!("- [{tick}] **{}.** {}\n", item.question, item.sentences().join(" "));
        text.extend(item.verbatim.iter().map(|line| format!("    - `{}`\n", line.replace('`', "'"))));
    }
    text
}

/// The checklist as a part of the page.
pub fn html(items: &[ChecklistItem]) -> String {
    let part = |item: &ChecklistItem| {
        let tick = if item.is_answered() { "✓" } else { "–" };
        let lines: String =
            item.verbatim.iter().map(|line| format!("<li><code>{}</code></li>\n", escape(line))).collect();
        let lines = if lines.is_empty() { lines } else { format!("<ul>\n{lines}</ul>\n") };
        let text = with_code(&item.sentences().join(" "));
        format!("<dt>{tick} {}</dt>\n<dd>{text}\n{lines}</dd>\n", escape(item.question))
    };
    let items: String = items.iter().map(part).collect();
    format!(
        "<section id=\"checklist\">\n<h2>Reproducibility checklist</h2>\n<p>Filled from the run folders; a dash marks what \
         they do not hold, or not for all runs. The same as text: <code>checklist.md</code>.</p>\n<dl \
         class=\"checklist\">\n{items}</dl>\n</section>\n"
    )
}

/// Text between backticks is code.
fn with_code(text: &str) -> String {
    let part =
        |(i, part): (usize, &str)| if i % 2 == 1 { format!("<code>{}</code>", escape(part)) } else { escape(part) };
    text.split('`').enumerate().map(part).collect()
}

impl ChecklistItem {
    /// Whether the records of all runs answer it.
    pub fn is_answered(&self) -> bool {
        self.gap.is_none() && !(self.answer.is_empty() && self.verbatim.is_empty())
    }

    fn sentences(&self) -> Vec<String> {
        let nothing = self.answer.is_empty() && self.verbatim.is_empty() && self.gap.is_none();
        let gap = self.gap.clone().or_else(|| nothing.then(|| format!("{NOT_RECORDED}.")));
        self.answer.iter().cloned().chain(gap).collect()
    }
}

fn item(question: &'static str, answer: Vec<String>) -> ChecklistItem {
    ChecklistItem { question, answer, verbatim: Vec::new(), gap: None }
}

/// A sentence if `missing` of the runs lack something.
fn gap(missing: usize, runs: usize) -> Option<String> {
    match missing {
        0 => None,
        all if all == runs => Some(format!("{NOT_RECORDED}.")),
        some => Some(format!("For {some} of {}: {NOT_RECORDED}.", counted(runs, "run"))),
    }
}

fn runs_and_seeds(sections: &[Section]) -> Vec<String> {
    let of_section = |section: &Section| {
        let runs = section.all_runs().count();
        let seeds: BTreeSet<u64> = section.all_runs().map(|(_, run)| run.seed).collect();
        let seeds: Vec<String> = seeds.iter().map(u64::to_string).collect();
        let (fewest, most) = section.budgets();
        let budget = if fewest == most { grouped(most) } else { format!("{} to {}", grouped(fewest), grouped(most)) };
        format!(
            "{}: {} in {}, seeds {}, {budget} interactions each.",
            counted(runs, "run"),
            counted(section.agents.len(), "agent"),
            counted(section.worlds.len(), "world"),
            cut(&seeds).join(", ")
        )
    };
    sections.iter().map(of_section).collect()
}

fn chosen_settings(runs: &[&RecordedRun]) -> ChecklistItem {
    let known: Vec<_> = runs.iter().filter_map(|run| Some((*run, run.origin.as_ref()?))).collect();
    let mut presets: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    let mut chosen: BTreeMap<(&str, String, &str), BTreeSet<&str>> = BTreeMap::new();
    for (run, origin) in &known {
        presets.entry(&origin.preset).or_default().insert(&run.world);
        for (key, by) in origin.chosen.iter().filter(|(key, _)| is_result_key(key)) {
            let value = run.settings.get(key).map_or_else(|| "not set".into(), |value| readable(value));
            chosen.entry((key, value, by)).or_default().insert(&run.agent);
        }
    }
    let named = |set: &BTreeSet<&str>| {
        let all: Vec<String> = set.iter().map(|text| (*text).to_owned()).collect();
        cut(&all).join(", ")
    };
    let mut answer: Vec<String> =
        presets.iter().map(|(preset, worlds)| format!("Preset `{preset}` in {}.", named(worlds))).collect();
    let all_chosen: Vec<String> =
        chosen.iter().map(|((key, value, by), agents)| format!("{key} = {value} ({by}; {})", named(agents))).collect();
    if !known.is_empty() {
        answer.push(if all_chosen.is_empty() {
            "Nothing was chosen against the presets.".into()
        } else {
            "Chosen against the presets:".into()
        });
    }
    answer.push("All settings of a run are in its folder, in `config.toml`.".into());
    let gap = (known.len() < runs.len()).then(|| {
        let missing = runs.len() - known.len();
        format!(
            "Which were chosen and which the preset's is {NOT_RECORDED} for {missing} of {}.",
            counted(runs.len(), "run")
        )
    });
    ChecklistItem { question: "How settings were chosen", answer, verbatim: cut(&all_chosen), gap }
}

fn searched(sections: &[Section]) -> Vec<String> {
    let mut variants: BTreeMap<&str, usize> = BTreeMap::new();
    for section in sections {
        section.agents.iter().for_each(|agent| *variants.entry(&agent.name).or_default() += 1);
    }
    let several: Vec<String> = variants
        .iter()
        .filter(|(_, count)| 1 < **count)
        .map(|(name, count)| format!("{count} configurations of {name} are in this report."))
        .collect();
    if several.is_empty() {
        vec!["One configuration of each agent is in this report; runs made elsewhere are not known to it.".into()]
    } else {
        several
    }
}

fn compute(runs: &[&RecordedRun]) -> ChecklistItem {
    let seconds: Vec<f64> = runs.iter().map(|run| run.process.seconds).filter(|seconds| 0.0 < *seconds).collect();
    let extent = |values: &[f64], text: fn(f64) -> String| {
        let low = text(values.iter().copied().fold(f64::INFINITY, f64::min));
        let high = text(values.iter().copied().fold(f64::NEG_INFINITY, f64::max));
        if low == high { low } else { format!("{low} to {high}") }
    };
    let speeds: Vec<f64> = runs.iter().filter_map(|run| run.process.interactions_per_second).collect();
    let threads: BTreeSet<u64> = runs.iter().filter_map(|run| run.process.threads).collect();
    let mut answer = Vec::new();
    if !seconds.is_empty() {
        answer.push(format!(
            "{} per run, {} in all, at {} interactions/s.",
            extent(&seconds, duration),
            duration(seconds.iter().sum()),
            extent(&speeds, score)
        ));
    }
    if !threads.is_empty() {
        let threads: Vec<String> = threads.iter().map(u64::to_string).collect();
        answer.push(format!("Threads: {}.", threads.join(", ")));
    }
    let gap = gap(runs.len() - seconds.len(), runs.len());
    ChecklistItem { question: "Compute and time", answer, verbatim: Vec::new(), gap }
}

fn machines(runs: &[&RecordedRun]) -> ChecklistItem {
    let machines: BTreeSet<&String> = runs.iter().flat_map(|run| &run.process.machines).collect();
    let missing = runs.iter().filter(|run| run.process.machines.is_empty()).count();
    let answer = cut(&machines.into_iter().map(|machine| format!("{machine}.")).collect::<Vec<_>>());
    ChecklistItem { question: "Machines", answer, verbatim: Vec::new(), gap: gap(missing, runs.len()) }
}

fn code(runs: &[&RecordedRun]) -> ChecklistItem {
    let versions: BTreeSet<&str> = runs.iter().flat_map(|run| &run.process.versions).map(String::as_str).collect();
    let commit = |run: &&RecordedRun| {
        let origin = run.origin.as_ref()?;
        let commit = origin.git_commit.as_ref()?;
        let state = match origin.git_dirty {
            Some(true) => "with changes that are not in it",
            Some(false) => "without changes",
            None => "whether with changes is not recorded",
        };
        Some(format!("Commit {commit}, {state}."))
    };
    let commits: BTreeSet<String> = runs.iter().filter_map(commit).collect();
    let missing = runs.iter().filter(|run| commit(run).is_none()).count();
    let mut answer = Vec::new();
    if !versions.is_empty() {
        answer.push(format!("sane {}.", versions.into_iter().collect::<Vec<_>>().join(", ")));
    }
    answer.extend(cut(&commits.into_iter().collect::<Vec<_>>()));
    let gap = gap(missing, runs.len()).map(|gap| format!("Commit: {gap}"));
    ChecklistItem { question: "Code", answer, verbatim: Vec::new(), gap }
}

fn commands(runs: &[&RecordedRun]) -> ChecklistItem {
    let command = |run: &&RecordedRun| {
        let words = &run.origin.as_ref()?.command;
        (!words.is_empty()).then(|| words.iter().map(|word| quoted(word)).collect::<Vec<_>>().join(" "))
    };
    let commands: BTreeSet<String> = runs.iter().filter_map(command).collect();
    let missing = runs.iter().filter(|run| command(run).is_none()).count();
    let verbatim = cut(&commands.into_iter().collect::<Vec<_>>());
    ChecklistItem { question: "Commands", answer: Vec::new(), verbatim, gap: gap(missing, runs.len()) }
}

/// A word as a shell reads it back.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@%".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.into();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

fn worlds(sections: &[Section]) -> Vec<String> {
    let names: BTreeSet<&String> = sections.iter().flat_map(|section| &section.worlds).collect();
    let profile = |run: &RecordedRun| run.settings.get("world.profile").cloned();
    let profiles: BTreeSet<String> =
        sections.iter().flat_map(Section::all_runs).filter_map(|(_, run)| profile(run)).collect();
    let names: Vec<String> = names.into_iter().cloned().collect();
    let mut answer = vec![format!("{}. No dataset: the agents make their own data.", cut(&names).join(", "))];
    if !profiles.is_empty() {
        answer.push(format!("Profile of the world: {}.", profiles.into_iter().collect::<Vec<_>>().join(", ")));
    }
    answer
}

fn evaluation(sections: &[Section], runs: &[&RecordedRun]) -> ChecklistItem {
    let made: Vec<_> = runs.iter().flat_map(|run| &run.evaluations).collect();
    let mut answer = Vec::new();
    if !made.is_empty() {
        let extent = |of: fn(&sane_record::EvaluationFinished) -> u64| {
            let values: BTreeSet<u64> = made.iter().map(|evaluation| of(&evaluation.result)).collect();
            match (values.first(), values.last()) {
                (Some(first), Some(last)) if first != last => format!("{} to {}", grouped(*first), grouped(*last)),
                (first, _) => grouped(first.copied().unwrap_or(0)),
            }
        };
        let noise: BTreeSet<&str> = made.iter().map(|evaluation| evaluation.result.noise.as_str()).collect();
        let noise: Vec<&str> = noise.into_iter().collect();
        let at = sections.iter().find_map(|section| section.evaluated_at);
        let at = at.map_or("the whole budget".into(), |at| format!("{} interactions", grouped(at)));
        answer.push(format!(
            "Score of a run: mean raw return of whole episodes, noise {}, after {at}; {} interactions and {} episodes per \
             evaluation, start seeds {}.",
            noise.join(" and "),
            extent(|evaluation| evaluation.interactions),
            extent(|evaluation| evaluation.episodes),
            extent(|evaluation| evaluation.start_seed),
        ));
        let partial = made.iter().filter(|evaluation| evaluation.partial).count();
        if 0 < partial {
            answer.push(format!("{} stopped early.", counted(partial, "evaluation")));
        }
    }
    let while_training = runs.iter().filter(|run| !run.in_training.is_empty()).count();
    if 0 < while_training {
        answer.push(format!(
            "{} evaluated while training, on seeds of their own; no score in the tables is chosen by that.",
            if while_training == 1 { "One run was".to_owned() } else { format!("{while_training} runs were") }
        ));
    }
    let missing = runs.iter().filter(|run| run.evaluations.is_empty()).count();
    let gap = (0 < missing).then(|| format!("{missing} of {} not evaluated.", counted(runs.len(), "run")));
    ChecklistItem { question: "Evaluation", answer, verbatim: Vec::new(), gap }
}

fn repeatability(runs: &[&RecordedRun]) -> ChecklistItem {
    let inexact = runs.iter().filter(|run| run.not_bit_exact.is_some()).count();
    let mut answer = vec![
        "One seed gives one run, bit for bit, at any number of threads; `sane runs hash` prints the digest that the list of \
         runs shows."
            .to_owned(),
    ];
    if 0 < inexact {
        answer.push(format!("{} not bit-exact where stopped and resumed.", counted(inexact, "run")));
    }
    let missing = runs.iter().filter(|run| run.digest.is_none()).count();
    let gap = (0 < missing).then(|| format!("Digest: {NOT_RECORDED} for {missing} of {}.", counted(runs.len(), "run")));
    ChecklistItem { question: "Repeatability", answer, verbatim: Vec::new(), gap }
}

fn left_out(set_aside: &[SetAside], runs: &[&RecordedRun]) -> Vec<String> {
    let unfinished = runs.iter().filter(|run| !run.finished).count();
    let aside = match set_aside.len() {
        0 => "No run folder was set aside.".to_owned(),
        some => format!("{} set aside, with the reason, at the end of the page.", counted(some, "run folder")),
    };
    let unfinished = match unfinished {
        0 => "All runs reached their budget.".to_owned(),
        some => format!("{some} of {} did not reach the budget and have no score.", counted(runs.len(), "run")),
    };
    vec![aside, unfinished]
}

fn cut(lines: &[String]) -> Vec<String> {
    let mut shown: Vec<String> = lines.iter().take(MOST_LISTED).cloned().collect();
    if MOST_LISTED < lines.len() {
        shown.push(format!("and {} more", lines.len() - MOST_LISTED));
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::section::sections;
    use sane_record::RunOrigin;

    fn run(seed: u64, origin: Option<RunOrigin>) -> RecordedRun {
        let settings = [("learner.gamma".to_owned(), "0.9".to_owned())].into();
        RecordedRun { world: "boxing".into(), agent: "sane".into(), seed, settings, origin, ..RecordedRun::default() }
    }

    fn text(runs: Vec<RecordedRun>) -> String {
        let (sections, set_aside) = sections(runs, None);
        markdown(&checklist(&sections, &set_aside))
    }

    #[test]
    fn what_no_run_holds_is_not_recorded_and_its_box_is_open() {
        let said = text(vec![run(1, None), run(2, None)]);
        for question in ["Compute and time", "Machines", "Commands"] {
            assert!(said.contains(&format!("- [ ] **{question}.** not recorded.\n")), "{said}");
        }
        assert!(said.contains("- [ ] **Code.** Commit: not recorded.\n"), "{said}");
        assert!(said.contains("- [x] **Number of runs and seeds.** 2 runs: 1 agent in 1 world, seeds 1, 2,"), "{said}");
    }

    #[test]
    fn commands_commits_and_choices_are_said_as_recorded() {
        let origin = RunOrigin {
            preset: "quick".into(),
            chosen: [("learner.gamma".to_owned(), "--set".to_owned())].into(),
            command: ["sane", "train", "--set", "note=it's"].map(str::to_owned).to_vec(),
            git_commit: Some("abc".into()),
            git_dirty: Some(true),
            ..RunOrigin::default()
        };
        let said = text(vec![run(1, Some(origin.clone())), run(2, Some(origin))]);
        assert!(said.contains("Preset `quick` in boxing. Chosen against the presets:"), "{said}");
        assert!(said.contains("    - `learner.gamma = 0.9 (--set; sane)`\n"), "{said}");
        assert!(said.contains("- [x] **Code.** Commit abc, with changes that are not in it.\n"), "{said}");
        assert!(said.contains(r"    - `sane train --set 'note=it'\''s'`"), "{said}");
    }
}
