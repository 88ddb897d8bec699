//! Today's standard of evidence in two tables: aggregates with intervals, and who beats whom.

use crate::comparison::Comparison;
use crate::section::Section;
use crate::table::Table;
use sane_stats::number_format::{hundredths, percent, range};
use sane_stats::{Aggregate, Estimate};

/// One row per agent; none if no game with a human score is shared by all agents.
pub fn aggregate_table(section: &Section, comparison: &Comparison) -> Option<Table> {
    if comparison.aggregates.is_empty() {
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

/// One row per pair of agents; none if there is no pair.
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
