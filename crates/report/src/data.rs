//! The numbers behind tables and figures, unrounded: rows for CSV files and for `--json`.

use crate::comparison::Comparison;
use crate::curve::{Quantity, mean_curve};
use crate::paper::{Noise, paper_score};
use crate::section::{Measure, Section};
use sane_stats::{Aggregate, mean, sample_std};
use serde_json::{Map, Value, json};

/// A list of rows with named columns.
#[derive(Debug, Clone, PartialEq)]
pub struct Data {
    /// Of its file, without ending.
    pub name: &'static str,
    pub columns: Vec<&'static str>,
    /// `null` is an empty cell.
    pub rows: Vec<Vec<Value>>,
}

impl Data {
    /// Comma-separated; the first line holds the names.
    pub fn csv(&self) -> String {
        let mut text = self.columns.join(",") + "\n";
        for row in &self.rows {
            text += &(row.iter().map(cell).collect::<Vec<_>>().join(",") + "\n");
        }
        text
    }

    /// A list of objects.
    pub fn json(&self) -> Value {
        let object = |row: &Vec<Value>| -> Map<String, Value> {
            self.columns.iter().map(|name| (*name).to_owned()).zip(row.iter().cloned()).collect()
        };
        Value::Array(self.rows.iter().map(|row| Value::Object(object(row))).collect())
    }

    pub(crate) fn new(name: &'static str, columns: &[&'static str]) -> Self {
        Self { name, columns: columns.to_vec(), rows: Vec::new() }
    }
}

/// Mean and deviation per world, agent and score, beside the paper's.
pub fn scores(sections: &[Section]) -> Data {
    let columns = [
        "section",
        "measure",
        "world",
        "agent",
        "seeds",
        "mean",
        "std",
        "paper_mean",
        "paper_std",
        "episodes",
        "partial_evaluations",
    ];
    let mut data = Data::new("scores", &columns);
    for (i, section) in sections.iter().enumerate() {
        for measure in Measure::ALL {
            for (world, agent) in cells(section) {
                let scores = section.scores(world, agent, measure);
                if !section.applies(agent, measure) || section.runs(world, agent).is_empty() {
                    continue;
                }
                let paper = match measure {
                    Measure::Evaluation(noise) => paper_score(world, &section.agents[agent].name, noise),
                    Measure::Training => None,
                };
                let evaluations: Option<Vec<_>> = match measure {
                    Measure::Evaluation(noise) => {
                        let runs = section.runs(world, agent).iter();
                        Some(runs.filter_map(|run| section.evaluation(run, noise)).collect())
                    }
                    Measure::Training => None,
                };
                data.rows.push(vec![
                    json!(i + 1),
                    json!(measure.slug()),
                    json!(world),
                    json!(section.agents[agent].label),
                    json!(scores.len()),
                    json!((!scores.is_empty()).then(|| mean(&scores))),
                    json!(sample_std(&scores)),
                    json!(paper.map(|score| score.mean)),
                    json!(paper.map(|score| score.std)),
                    json!(evaluations.as_ref().map(|all| all.iter().map(|one| one.result.episodes).sum::<u64>())),
                    json!(evaluations.as_ref().map(|all| all.iter().filter(|one| one.partial).count())),
                ]);
            }
        }
    }
    data
}

/// Aggregates of the human-normalised scores.
pub fn aggregates(compared: &[(usize, &Section, &Comparison)]) -> Data {
    let columns = ["section", "measure", "agent", "games", "aggregate", "estimate", "low_95", "high_95"];
    let mut data = Data::new("aggregates", &columns);
    for (i, section, comparison) in compared {
        for (agent, estimates) in &comparison.aggregates {
            for (aggregate, estimate) in Aggregate::ALL.into_iter().zip(estimates) {
                data.rows.push(vec![
                    json!(i + 1),
                    json!(comparison.measure.slug()),
                    json!(section.agents[*agent].label),
                    json!(comparison.normalised.worlds.len()),
                    json!(aggregate.name()),
                    json!(estimate.point),
                    json!(estimate.interval.map(|ends| ends[0])),
                    json!(estimate.interval.map(|ends| ends[1])),
                ]);
            }
        }
    }
    data
}

/// Probabilities of improvement.
pub fn improvement(compared: &[(usize, &Section, &Comparison)]) -> Data {
    let columns = ["section", "measure", "agent", "beats", "worlds", "probability", "low_95", "high_95"];
    let mut data = Data::new("improvement", &columns);
    for (i, section, comparison) in compared {
        for (first, second, estimate) in &comparison.pairs {
            data.rows.push(vec![
                json!(i + 1),
                json!(comparison.measure.slug()),
                json!(section.agents[*first].label),
                json!(section.agents[*second].label),
                json!(comparison.raw.worlds.len()),
                json!(estimate.point),
                json!(estimate.interval.map(|ends| ends[0])),
                json!(estimate.interval.map(|ends| ends[1])),
            ]);
        }
    }
    data
}

/// The points of the curves.
pub fn curves(sections: &[Section]) -> Data {
    let columns =
        ["section", "quantity", "world", "agent", "interactions", "mean", "lowest_seed", "highest_seed", "all_seeds"];
    let mut data = Data::new("curves", &columns);
    for (i, section) in sections.iter().enumerate() {
        let end = section.all_runs().map(|(_, run)| run.reached_interactions).max().unwrap_or(0).max(1);
        for (world, agent) in cells(section) {
            for (quantity, name) in Quantity::ALL.into_iter().zip([
                "return_mean_last_100",
                "evaluated_while_training",
                "sigma_mean_abs",
                "exploration",
            ]) {
                let runs = section.runs(world, agent);
                for point in mean_curve(runs, quantity, end) {
                    // The band of a single seed is not one over seeds.
                    let (low, high) = point.band.filter(|_| 1 < runs.len()).unwrap_or((point.y, point.y));
                    data.rows.push(vec![
                        json!(i + 1),
                        json!(name),
                        json!(world),
                        json!(section.agents[agent].label),
                        json!(point.x.round() as u64),
                        json!(point.y),
                        json!(low),
                        json!(high),
                        json!(point.complete),
                    ]);
                }
            }
        }
    }
    data
}

/// One row per run.
pub fn runs(sections: &[Section]) -> Data {
    let columns = [
        "section",
        "world",
        "agent",
        "seed",
        "finished",
        "interactions",
        "episodes",
        "noise_off",
        "noise_on",
        "noise_off_episodes",
        "noise_on_episodes",
        "final_return",
        "parameters",
        "interactions_per_second",
        "seconds",
        "threads",
        "versions",
        "machines",
        "digest",
        "events_digest",
        "folder",
    ];
    let mut data = Data::new("runs", &columns);
    for (i, section) in sections.iter().enumerate() {
        for (agent, run) in section.all_runs() {
            data.rows.push(vec![
                json!(i + 1),
                json!(run.world),
                json!(section.agents[agent].label),
                json!(run.seed),
                json!(run.finished),
                json!(run.reached_interactions),
                json!(run.episodes),
                json!(section.score(run, Measure::Evaluation(Noise::Off))),
                json!(section.score(run, Measure::Evaluation(Noise::On))),
                json!(section.evaluation(run, Noise::Off).map(|evaluation| evaluation.result.episodes)),
                json!(section.evaluation(run, Noise::On).map(|evaluation| evaluation.result.episodes)),
                json!(run.final_return),
                json!(run.parameters),
                json!(run.process.interactions_per_second),
                json!(run.process.seconds),
                json!(run.process.threads),
                json!(run.process.versions.join("; ")),
                json!(run.process.machines.join("; ")),
                json!(run.digest),
                json!(run.events_digest),
                json!(run.folder.display().to_string()),
            ]);
        }
    }
    data
}

fn cells(section: &Section) -> impl Iterator<Item = (&str, usize)> {
    section.worlds.iter().flat_map(|world| (0..section.agents.len()).map(move |agent| (world.as_str(), agent)))
}

/// Texts with commas, quotes or line breaks are quoted.
fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) if text.contains([',', '"', '\n']) => format!("\"{}\"", text.replace('"', "\"\"")),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comma_in_a_text_does_not_split_its_cell() {
        let mut data = Data::new("x", &["a", "b"]);
        data.rows.push(vec![json!("one, \"two\""), json!(null)]);
        data.rows.push(vec![json!(1.5), json!(true)]);
        assert_eq!(data.csv(), "a,b\n\"one, \"\"two\"\"\",\n1.5,true\n");
        assert_eq!(data.json()[1]["a"], 1.5);
    }
}
