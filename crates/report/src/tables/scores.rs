//! Score ± deviation per game and agent, beside the paper's own: Table 1 (without noise) and Table 2 (with noise).

use crate::paper::{Noise, paper_score, printed_mean, recomputed_mean, suite};
use crate::section::{Measure, Section};
use crate::table::{MISSING, Table};
use sane_record::{Baseline, PAPER_GAMES};
use sane_stats::number_format::{counted, hundredths, plus_minus};
use sane_stats::{mean, sample_std};

/// The table of one score. Games of the paper that no run plays are rows, too, once any of them is played.
pub fn score_table(section: &Section, measure: Measure) -> Table {
    let agents: Vec<usize> = (0..section.agents.len()).filter(|&agent| section.applies(agent, measure)).collect();
    let on_paper = section.worlds.iter().any(|world| Baseline::of(world).is_some());
    let noise = match measure {
        Measure::Evaluation(noise) if on_paper => Some(noise),
        _ => None,
    };
    // The paper's figures stand beside the first variant of an agent it has.
    let paper_beside = |agent: usize| {
        noise.filter(|noise| {
            let name = &section.agents[agent].name;
            let first = section.agents.iter().position(|other| other.name == *name) == Some(agent);
            first && printed_mean(name, *noise, 8).is_some()
        })
    };
    let mut table = Table { caption: caption(section, measure), columns: vec!["game".into()], ..Table::default() };
    for &agent in &agents {
        table.columns.push(section.agents[agent].label.clone());
        if paper_beside(agent).is_some() {
            table.columns.push(format!("{}, paper", section.agents[agent].name));
        }
    }
    for world in worlds(section, on_paper) {
        let mut cells = vec![world.to_owned()];
        for &agent in &agents {
            cells.push(cell(section, world, agent, measure));
            if let Some(noise) = paper_beside(agent) {
                let printed = paper_score(world, &section.agents[agent].name, noise);
                cells.push(printed.map_or("–".into(), |score| plus_minus(score.mean, Some(score.std))));
            }
        }
        table.push(cells);
    }
    if on_paper {
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
    table.notes = notes(section, measure, noise);
    table
}

fn caption(section: &Section, measure: Measure) -> String {
    let seeds = counted(section.seeds(), "seed");
    let number = match measure {
        Measure::Evaluation(Noise::Off) => "Table 1. ",
        Measure::Evaluation(Noise::On) => "Table 2. ",
        Measure::Training => "",
    };
    format!("{number}Scores by {}: mean ± standard deviation over up to {seeds}", measure.name())
}

fn worlds(section: &Section, on_paper: bool) -> Vec<&str> {
    let others = section.worlds.iter().map(String::as_str).filter(|world| Baseline::of(world).is_none());
    let paper = PAPER_GAMES.iter().map(|game| game.game).filter(|_| on_paper);
    paper.chain(others).collect()
}

/// Fewer seeds than the section has elsewhere are said in the cell.
fn cell(section: &Section, world: &str, agent: usize, measure: Measure) -> String {
    let scores = section.scores(world, agent, measure);
    if scores.is_empty() {
        return MISSING.into();
    }
    let text = plus_minus(mean(&scores), sample_std(&scores));
    if scores.len() < section.seeds() {
        format!("{text} ({} of {} seeds)", scores.len(), section.seeds())
    } else {
        text
    }
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

fn notes(section: &Section, measure: Measure, paper: Option<Noise>) -> Vec<String> {
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
    if measure == Measure::Training {
        notes.push(
            "Returns of training, exploration included: not an evaluation, and not comparable between agents that \
             explore differently."
                .into(),
        );
    }
    notes
}
