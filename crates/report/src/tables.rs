//! The tables of a report: scores beside the paper's, aggregates and probabilities of improvement, the list of runs, the
//! settings in which agents differ.

use crate::agent::Agent;
use crate::comparison::Comparison;
use crate::paper::{Noise, paper_score, printed_mean, recomputed_mean, suite};
use crate::recorded_run::{RecordedEvaluation, RecordedRun};
use crate::section::{Measure, Section};
use crate::settings::{Settings, differing_keys, is_result_key, readable};
use crate::table::{MISSING, Table};
use sane_record::{Baseline, PAPER_GAMES};
use sane_stats::number_format::{
    counted, duration, grouped, hundredths, percent, plus_minus, range, scientific, score,
};
use sane_stats::{Aggregate, Estimate, mean, sample_std};
use std::collections::BTreeSet;

/// Beyond, only the table of settings says what variants are.
const MOST_NOTES: usize = 8;

/// Letters of the digest that are shown.
const DIGEST_SHOWN: usize = 12;

/// Score ± deviation per world and agent. If the section is the paper's suite, or the paper's tables were asked for, all its
/// games are rows, and the paper's own scores stand beside: its Table 1 (without noise) and Table 2 (with noise).
pub fn score_table(section: &Section, measure: Measure) -> Table {
    let has_run =
        |agent: usize| section.all_runs().any(|(of, run)| of == agent && section.score(run, measure).is_some());
    let applies = |agent: &usize| section.applies(*agent, measure) && (section.beside_paper || has_run(*agent));
    let agents: Vec<usize> = (0..section.agents.len()).filter(applies).collect();
    let noise = match measure {
        Measure::Evaluation(noise) if section.beside_paper => Some(noise),
        _ => None,
    };
    // The paper's scores are shown beside the first variant of an agent.
    let paper_beside = |agent: usize| {
        noise.filter(|noise| {
            let name = &section.agents[agent].name;
            let first = section.agents.iter().position(|other| other.name == *name) == Some(agent);
            first && printed_mean(name, *noise, 8).is_some()
        })
    };
    let mut table =
        Table { caption: score_caption(section, measure), columns: vec!["world".into()], ..Table::default() };
    for &agent in &agents {
        table.columns.push(section.agents[agent].label.clone());
        if paper_beside(agent).is_some() {
            table.columns.push(format!("{}, paper", section.agents[agent].name));
        }
    }
    for world in score_worlds(section, measure) {
        let mut cells = vec![world.to_owned()];
        for &agent in &agents {
            cells.push(score_cell(section, world, agent, measure));
            if let Some(noise) = paper_beside(agent) {
                let printed = paper_score(world, &section.agents[agent].name, noise);
                cells.push(printed.map_or("–".into(), |score| plus_minus(score.mean, Some(score.std))));
            }
        }
        table.push(cells);
    }
    if section.beside_paper {
        for games in [8, 11] {
            let mut cells = vec![format!("human-normalised mean, {games} games")];
            for &agent in &agents {
                cells.push(normalised_mean(section, agent, measure, games));
                if let Some(noise) = paper_beside(agent) {
                    cells.push(paper_mean(&section.agents[agent].name, noise, games));
                }
            }
            table.push_summary(cells);
        }
    }
    table.notes = score_notes(section, measure, noise);
    let across = table.columns.len();
    let mut table = table.narrow();
    if table.columns.len() != across {
        table.columns[0] = "agent".into();
    }
    table
}

fn score_caption(section: &Section, measure: Measure) -> String {
    let seeds = counted(section.seeds(), "seed");
    let number = match measure {
        Measure::Evaluation(Noise::Off) if section.beside_paper => "Table 1. ",
        Measure::Evaluation(Noise::On) if section.beside_paper => "Table 2. ",
        _ => "",
    };
    format!("{number}Scores by {}: mean ± standard deviation over up to {seeds}", measure.name())
}

/// All games of the paper beside it; otherwise the worlds that have the score.
fn score_worlds(section: &Section, measure: Measure) -> Vec<&str> {
    let worlds = section.worlds.iter().map(String::as_str);
    if !section.beside_paper {
        let has =
            |world: &&str| (0..section.agents.len()).any(|agent| !section.scores(world, agent, measure).is_empty());
        return worlds.filter(has).collect();
    }
    let others = worlds.filter(|world| Baseline::of(world).is_none());
    PAPER_GAMES.iter().map(|game| game.game).chain(others).collect()
}

/// Mean ± deviation, with the number of seeds if it is smaller than elsewhere in the section, and for evaluations the number
/// of episodes behind each seed.
fn score_cell(section: &Section, world: &str, agent: usize, measure: Measure) -> String {
    let scores = section.scores(world, agent, measure);
    if scores.is_empty() {
        return if section.runs(world, agent).is_empty() { "not run".into() } else { MISSING.into() };
    }
    let text = plus_minus(mean(&scores), sample_std(&scores));
    let mut added = Vec::new();
    if scores.len() < section.seeds() {
        added.push(format!("{} of {} seeds", scores.len(), section.seeds()));
    }
    if let Measure::Evaluation(noise) = measure {
        let runs = section.runs(world, agent).iter();
        added.push(episodes(&runs.filter_map(|run| section.evaluation(run, noise)).collect::<Vec<_>>()));
    }
    if added.is_empty() { text } else { format!("{text} ({})", added.join(", ")) }
}

/// How many episodes these evaluations have, and how many of them were stopped early.
fn episodes(evaluations: &[&RecordedEvaluation]) -> String {
    let counts = || evaluations.iter().map(|evaluation| evaluation.result.episodes);
    let text = match (counts().min().unwrap_or(0), counts().max().unwrap_or(0)) {
        (fewest, most) if fewest == most => counted(most as usize, "episode"),
        (fewest, most) => format!("{}–{} episodes", grouped(fewest), grouped(most)),
    };
    let each = if 1 < evaluations.len() { " each" } else { "" };
    let partial = match evaluations.iter().filter(|evaluation| evaluation.partial).count() {
        0 => String::new(),
        1 if evaluations.len() == 1 => ", partial".into(),
        some => format!(", {some} partial"),
    };
    format!("{text}{each}{partial}")
}

/// A mean over fewer games than it names would flatter or slander: it is missing, and says how many games are there.
fn normalised_mean(section: &Section, agent: usize, measure: Measure, games: usize) -> String {
    let known: Vec<f64> = suite(games)
        .filter_map(|game| {
            let scores = section.scores(game.game, agent, measure);
            (!scores.is_empty()).then(|| game.human_normalised(mean(&scores)))
        })
        .collect();
    if known.len() == games { hundredths(mean(&known)) } else { format!("{MISSING} ({} of {games})", known.len()) }
}

fn paper_mean(agent: &str, noise: Noise, games: usize) -> String {
    let (Some(printed), Some(recomputed)) = (printed_mean(agent, noise, games), recomputed_mean(agent, noise, games))
    else {
        return "–".into();
    };
    if is_slip(printed, recomputed) {
        format!("{} (recomputed: {})", hundredths(printed), hundredths(recomputed))
    } else {
        hundredths(printed)
    }
}

/// The paper rounds to two decimals.
fn is_slip(printed: f64, recomputed: f64) -> bool {
    0.01 < (printed - recomputed).abs()
}

fn score_notes(section: &Section, measure: Measure, paper: Option<Noise>) -> Vec<String> {
    let mut notes = Vec::new();
    if let Some(noise) = paper {
        notes.push(
            "Paper: figures printed in State-Aware Variational Thompson Sampling for Deep Q-Networks (AAMAS 2021), \
             mean ± standard deviation over 3 seeds after 25,000,000 interactions; its simple-SANE is the agent sane."
                .into(),
        );
        let shown_slip = section.agents.iter().any(|agent| {
            [8, 11].into_iter().any(|games| {
                matches!(
                    (printed_mean(&agent.name, noise, games), recomputed_mean(&agent.name, noise, games)),
                    (Some(printed), Some(recomputed)) if is_slip(printed, recomputed)
                )
            })
        });
        if shown_slip {
            notes.push(
                "A slip in the paper: it prints 4.86 as the human-normalised mean of Q-SANE over 8 games; the scores \
                 in the same table give 4.47."
                    .into(),
            );
        }
    }
    if section.agents.len() <= MOST_NOTES {
        let noted = section.agents.iter().filter_map(|agent| Some(format!("{}: {}.", agent.label, agent.note()?)));
        notes.extend(noted);
    }
    if measure == Measure::Training {
        notes.push(
            "Returns of training, exploration included: not an evaluation, and not comparable between agents that \
             explore differently."
                .into(),
        );
    }
    notes
}

/// Aggregates of the human-normalised scores with intervals, one row per agent; none if no game with a human score is shared by all agents.
pub fn aggregate_table(section: &Section, comparison: &Comparison) -> Option<Table> {
    if comparison.aggregates.is_empty() || comparison.normalised.worlds.len() < 2 {
        return None;
    }
    let games = comparison.normalised.worlds.len();
    let mut table = Table {
        caption: format!(
            "Human-normalised scores over {games} games by {}: estimate and 95 % interval (stratified bootstrap over \
             seeds)",
            comparison.measure.name()
        ),
        columns: vec!["agent".into(), "seeds per game".into()],
        notes: vec![format!("Games: {}.", comparison.normalised.worlds.join(", "))],
        ..Table::default()
    };
    table.columns.extend(Aggregate::ALL.map(|aggregate| aggregate.name().to_owned()));
    for (agent, estimates) in &comparison.aggregates {
        let scores = &comparison.normalised.scores.iter().find(|(other, _)| other == agent).expect("same agents").1;
        let mut cells = vec![section.agents[*agent].label.clone(), seeds(scores.fewest_seeds(), scores.most_seeds())];
        cells.extend(estimates.iter().map(with_interval));
        table.push(cells);
    }
    Some(table)
}

/// Probabilities of improvement, one row per pair of agents; none if there is no pair.
pub fn improvement_table(section: &Section, comparison: &Comparison) -> Option<Table> {
    if comparison.pairs.is_empty() {
        return None;
    }
    let mut table = Table {
        caption: format!("Probability of improvement by {}", comparison.measure.name()),
        columns: ["agent", "beats", "probability", "95 % interval"].map(str::to_owned).to_vec(),
        notes: vec![format!(
            "Over {} worlds ({}); scores are compared within a world, so none needs a human score. The intervals are \
             not corrected for the number of pairs.",
            comparison.raw.worlds.len(),
            comparison.raw.worlds.join(", ")
        )],
        ..Table::default()
    };
    for (first, second, estimate) in &comparison.pairs {
        let interval = estimate
            .interval
            .map_or("one seed: none".into(), |[low, high]| format!("{} to {}", percent(low), percent(high)));
        let names = [first, second].map(|&agent| section.agents[agent].label.clone());
        let [first, second] = names;
        table.push(vec![first, second, percent(estimate.point), interval]);
    }
    Some(table)
}

fn with_interval(estimate: &Estimate) -> String {
    let interval = estimate.interval.map_or("no interval: one seed".into(), range);
    format!("{} ({interval})", hundredths(estimate.point))
}

fn seeds(fewest: usize, most: usize) -> String {
    if fewest == most { fewest.to_string() } else { format!("{fewest}–{most}") }
}

/// The state, scores, speed, machine and digest of each run; a single run as a list.
pub fn run_table(section: &Section) -> Table {
    let columns = [
        "run",
        "state",
        "interactions",
        "episodes",
        "score, noise off",
        "score, noise on",
        "last 100 returns",
        "best while training",
        "mean |σ|",
        "live units",
        "dead states",
        "parameters",
        "interactions/s",
        "time",
        "threads",
        "version",
        "machine",
        "actions kept in",
        "digest",
        "folder",
    ];
    let mut table = Table {
        caption: "Every run".into(),
        columns: columns.map(str::to_owned).to_vec(),
        notes: vec![
            "Digest: the first letters of what `sane runs hash` prints for the end of a finished run, its whole state; \
             two runs with the same digest are the same, bit for bit. Interactions/s: over all recorded stretches. Live units: share of the \
             perturbation module's hidden units that some state of a batch activates, in the last interval. Dead states: \
             share of the states in which none is active, so that σ is one constant there."
                .into(),
        ],
        ..Table::default()
    };
    for (agent, run) in section.all_runs() {
        table.push(run_cells(section, agent, run));
        if let Some(why) = &run.not_bit_exact {
            let note = format!("Not bit-exact where it was stopped and resumed: {why}.");
            if !table.notes.contains(&note) {
                table.notes.push(note);
            }
        }
    }
    if section.all_runs().any(|(_, run)| !traces(section, run).is_empty()) {
        table.notes.push(
            "Actions kept: `sane verify FILE` plays the actions of an evaluation again, without the policy, and says \
             whether its scores are reproduced."
                .into(),
        );
    }
    let table = table.without_empty_columns();
    if let [_] = table.rows[..] { Table { caption: "The run".into(), ..table.transposed() } } else { table }
}

/// The files with the actions of the evaluations that are shown.
fn traces(section: &Section, run: &RecordedRun) -> Vec<String> {
    let shown = [Noise::Off, Noise::On].into_iter().filter_map(|noise| section.evaluation(run, noise));
    let mut files: Vec<String> = shown
        .filter_map(|evaluation| evaluation.result.traces.as_ref())
        .map(|file| run.folder.join(file).display().to_string())
        .collect();
    files.dedup();
    files
}

fn run_cells(section: &Section, agent: usize, run: &RecordedRun) -> Vec<String> {
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "–".into());
    let evaluated = |noise| {
        let text = |evaluation: &RecordedEvaluation| {
            let [low, high] = evaluation.result.return_mean_interval_95.map(score);
            let of = episodes(&[evaluation]);
            format!("{} (95 % interval {low} to {high}, {of})", score(evaluation.result.return_mean))
        };
        or_dash(section.evaluation(run, noise).map(text))
    };
    let best = run.in_training.iter().filter(|made| made.mean.is_finite()).max_by(|a, b| a.mean.total_cmp(&b.mean));
    let best = best.map(|best| {
        let (at, of) = (grouped(best.interactions), counted(best.episodes as usize, "episode"));
        format!("{} (at {at}, {of})", score(best.mean))
    });
    let last = run.points.last();
    let returns = run.final_return.or_else(|| last?.return_mean);
    let listed = |list: &[String]| or_dash((!list.is_empty()).then(|| list.join("; ")));
    let digest = run.digest.as_ref().and_then(|digest| digest.get(..DIGEST_SHOWN)).map(str::to_owned);
    vec![
        format!("{} · {} · seed {}", run.world, section.agents[agent].label, run.seed),
        run_state(run),
        grouped(run.reached_interactions),
        grouped(run.episodes),
        evaluated(Noise::Off),
        evaluated(Noise::On),
        or_dash(returns.map(score)),
        or_dash(best),
        or_dash(last.and_then(|point| point.sigma).map(|sigma| scientific(sigma.mean_abs))),
        or_dash(run.module.map(|module| percent(module.live_units_share))),
        or_dash(run.module.and_then(|module| module.dead_states_share).map(percent)),
        or_dash((0 < run.parameters).then(|| grouped(run.parameters))),
        or_dash(run.process.interactions_per_second.map(score)),
        or_dash((0.0 < run.process.seconds).then(|| duration(run.process.seconds))),
        or_dash(run.process.threads.map(grouped)),
        listed(&run.process.versions),
        listed(&run.process.machines),
        listed(&traces(section, run)),
        or_dash(digest),
        run.folder.display().to_string(),
    ]
}

fn run_state(run: &RecordedRun) -> String {
    let share = run.reached_interactions as f64 / run.budget_interactions.max(1) as f64;
    let state = match run.reached_interactions {
        _ if run.finished => "finished".to_owned(),
        0 => "nothing recorded yet".to_owned(),
        _ => format!("unfinished, {}", percent(share)),
    };
    let state = if run.not_bit_exact.is_some() { format!("{state}; not bit-exact") } else { state };
    if run.torn { format!("{state}; last line torn") } else { state }
}

/// One row per key in which the agents differ in some world; none if they agree in all.
pub fn settings_table(section: &Section) -> Option<Table> {
    let in_world = |world: &String| -> Vec<String> {
        let all: Vec<&Settings> = section.agents.iter().filter_map(|agent| agent.settings_in(world)).collect();
        differing_keys(all)
    };
    let differing: BTreeSet<String> = section.worlds.iter().flat_map(in_world).collect();
    if differing.is_empty() {
        return None;
    }
    let mut table = Table {
        caption: "Settings in which the agents differ".into(),
        columns: std::iter::once("key".to_owned())
            .chain(section.agents.iter().map(|agent| agent.label.clone()))
            .collect(),
        ..Table::default()
    };
    for key in differing {
        let value = |agent: &Agent| {
            let in_worlds = section.worlds.iter().filter_map(|world| agent.settings_in(world));
            let values: BTreeSet<&str> =
                in_worlds.map(|settings| settings.get(&key).map_or("–", String::as_str)).collect();
            values.into_iter().map(readable).collect::<Vec<_>>().join(" / ")
        };
        let values: Vec<String> = section.agents.iter().map(value).collect();
        table.push(std::iter::once(key.clone()).chain(values).collect());
    }
    if 1 < section.worlds.len() {
        table.notes.push("Values with a stroke between them: given by the presets of different worlds.".into());
    }
    Some(table.narrow())
}

/// One row per key whose value is the same for all agents of a world and differs between worlds, as their presets give it;
/// none if there is no such key.
pub fn world_settings_table(section: &Section) -> Option<Table> {
    let of_world = |world: &String| -> Settings {
        let runs: Vec<&Settings> =
            section.all_runs().filter(|(_, run)| run.world == *world).map(|(_, run)| &run.settings).collect();
        let differing = differing_keys(runs.clone());
        let first = runs.first().map(|settings| (*settings).clone()).unwrap_or_default();
        first.into_iter().filter(|(key, _)| is_result_key(key) && !differing.contains(key)).collect()
    };
    let worlds: Vec<Settings> = section.worlds.iter().map(of_world).collect();
    let differing: Vec<String> = differing_keys(worlds.iter().collect::<Vec<_>>());
    let in_all = |key: &String| worlds.iter().all(|settings| settings.contains_key(key));
    let keys: Vec<String> = differing.into_iter().filter(in_all).collect();
    if keys.is_empty() {
        return None;
    }
    let mut table = Table {
        caption: "Settings in which the worlds differ".into(),
        columns: std::iter::once("key".to_owned()).chain(section.worlds.iter().cloned()).collect(),
        notes: vec!["The same for all agents of a world; given by its preset unless the user chose them.".into()],
        ..Table::default()
    };
    for key in keys {
        let values = worlds.iter().map(|settings| readable(&settings[&key]));
        table.push(std::iter::once(key.clone()).chain(values).collect());
    }
    Some(table)
}

/// Keys and values that all runs of the section share.
pub fn common_settings(section: &Section) -> Settings {
    let runs: Vec<&Settings> = section.all_runs().map(|(_, run)| &run.settings).collect();
    let differing = differing_keys(runs.clone());
    let first = runs.first().map(|settings| (*settings).clone()).unwrap_or_default();
    first.into_iter().filter(|(key, _)| !differing.contains(key)).collect()
}
