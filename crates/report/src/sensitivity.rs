//! How a score depends on each setting of a sweep: runs of one agent in one world that differ in numbers. One panel per
//! setting, and the best configurations with their spread over seeds.

use crate::agent::Look;
use crate::figures::{Figure, file_part};
use crate::plot::{Axis, Panel, Scene, Series, SeriesPoint, Shape, TickStyle};
use crate::recorded_run::RecordedRun;
use crate::section::{Measure, Section};
use crate::settings::{SWEEP, Settings, differing_keys, readable, short_key};
use crate::table::Table;
use sane_stats::number_format::{counted, plus_minus, score};
use sane_stats::{mean, sample_std};
use std::collections::{BTreeMap, BTreeSet};

/// Configurations in the table of the best.
const MOST_LISTED: usize = 10;

/// Up to this many values, the line goes through the mean of each; beyond, through the means of neighbours.
const MOST_VALUES: usize = 8;

/// Values that are so many times apart are shown on a logarithmic axis.
const DECADE: f64 = 10.0;

const PANEL: (f32, f32) = (300.0, 230.0);
const COLUMNS: usize = 3;

/// Radius of the dot of a run.
const RUN_RADIUS: f32 = 2.2;

/// A sweep of one agent in one world.
#[derive(Debug, Clone)]
pub struct Sensitivity {
    pub agent: String,
    pub world: String,
    pub measure: Measure,
    /// One panel per setting.
    pub figure: Figure,
    /// The best configurations.
    pub best: Table,
}

/// A run of a sweep and its score.
struct Scored<'a> {
    run: &'a RecordedRun,
    score: f64,
}

/// The sweeps of a section: each agent in each world whose runs have at least three values of some number.
pub fn sweeps(section: &Section, prefix: &str) -> Vec<Sensitivity> {
    let names: BTreeSet<&str> = section.agents.iter().map(|agent| agent.name.as_str()).collect();
    let pairs = section.worlds.iter().flat_map(|world| names.iter().map(move |name| (world, *name)));
    pairs.filter_map(|(world, name)| sweep(section, world, name, prefix)).collect()
}

fn sweep(section: &Section, world: &str, name: &str, prefix: &str) -> Option<Sensitivity> {
    let of_agent = |run: &&RecordedRun| run.world == world && run.agent == name;
    let runs: Vec<&RecordedRun> = section.all_runs().map(|(_, run)| run).filter(of_agent).collect();
    let (measure, scored) = scored(section, &runs)?;
    let settings: Vec<&Settings> =
        section.agents.iter().filter(|agent| agent.name == name).filter_map(|agent| agent.settings_in(world)).collect();
    let differing = differing_keys(settings);
    let swept: Vec<&String> = differing.iter().filter(|key| SWEEP <= values(&scored, key).len()).collect();
    if swept.is_empty() {
        return None;
    }
    let look = section.agents.iter().find(|agent| agent.name == name)?.look;
    let figure = figure(&scored, &swept, look, (world, name), measure, prefix);
    let best = best(&scored, &differing, (world, name), measure);
    Some(Sensitivity { agent: name.into(), world: world.into(), measure, figure, best })
}

/// The first score that most runs have, and those runs.
fn scored<'a>(section: &Section, runs: &[&'a RecordedRun]) -> Option<(Measure, Vec<Scored<'a>>)> {
    let of = |measure: Measure| -> Vec<Scored<'a>> {
        let score = |run: &&'a RecordedRun| Some(Scored { run, score: section.score(run, measure)? });
        runs.iter().filter_map(score).filter(|scored| scored.score.is_finite()).collect()
    };
    let all = Measure::ALL.into_iter().map(|measure| (measure, of(measure)));
    // The paper's score comes first; a later one is taken only if more runs have it.
    all.rev().max_by_key(|(_, scored)| scored.len()).filter(|(_, scored)| !scored.is_empty())
}

/// The numbers that the setting has, in order; none if one of its values is no number.
fn values(scored: &[Scored], key: &str) -> Vec<f64> {
    let all: Option<Vec<f64>> = scored.iter().map(|scored| value(scored.run, key)).collect();
    let mut all = all.unwrap_or_default();
    all.sort_by(f64::total_cmp);
    all.dedup();
    all
}

fn value(run: &RecordedRun, key: &str) -> Option<f64> {
    run.settings.get(key)?.parse().ok().filter(|value: &f64| value.is_finite())
}

fn figure(
    scored: &[Scored],
    swept: &[&String],
    look: Look,
    (world, name): (&str, &str),
    measure: Measure,
    prefix: &str,
) -> Figure {
    let columns = swept.len().min(COLUMNS);
    let rows = swept.len().div_ceil(columns);
    let size = (columns as f32 * PANEL.0 + 16.0, rows as f32 * PANEL.1 + 8.0);
    let mut scene = Scene::new(size.0, size.1, format!("Sensitivity of {name} in {world} to its settings"));
    for (i, key) in swept.iter().enumerate() {
        let corner = (8.0 + (i % columns) as f32 * PANEL.0, 4.0 + (i / columns) as f32 * PANEL.1);
        let values = values(scored, key);
        let scores = scored.iter().map(|scored| scored.score);
        let panel = Panel {
            title: short_key(key).into(),
            x: value_axis(&values),
            y: Axis::linear("score", scores, 4, TickStyle::Short),
            corner,
            size: (PANEL.0 - 10.0, PANEL.1 - 8.0),
        };
        panel.draw(&mut scene, &[]);
        let points: Vec<(f64, f64)> =
            scored.iter().filter_map(|scored| Some((value(scored.run, key)?, scored.score))).collect();
        points.iter().for_each(|&point| draw_run(&mut scene, &panel, point, look));
        panel.draw_series(&mut scene, &Series { look: Look { pattern: 0, ..look }, points: line(&points) });
    }
    let caption = format!(
        "{name} in {world}: score by {} over each setting that has three values or more. Dot: a run; line: mean of the runs \
         with that value, or of neighbouring fifths where there are more than {MOST_VALUES} values. Other settings may \
         differ along the line.",
        measure.name()
    );
    Figure { name: format!("{prefix}sensitivity-{}-{}", file_part(world), file_part(name)), caption, scene }
}

/// Logarithmic over a decade or more.
fn value_axis(values: &[f64]) -> Axis {
    let (low, high) = (values[0], values[values.len() - 1]);
    if 0.0 < low && DECADE * low <= high * (1.0 + 1e-9) {
        return Axis::logarithmic("value (logarithmic)", values.iter().copied(), 4);
    }
    Axis::linear("value", values.iter().copied(), 4, TickStyle::Short)
}

fn draw_run(scene: &mut Scene, panel: &Panel, (x, y): (f64, f64), look: Look) {
    let (x, y) = panel.at(x, y);
    let corner = |i: u16| {
        let angle = std::f32::consts::TAU * f32::from(i) / 10.0;
        (x + RUN_RADIUS * angle.cos(), y + RUN_RADIUS * angle.sin())
    };
    scene.shapes.push(Shape::Area { points: (0..10).map(corner).collect(), paint: look.paint(), opacity: 0.5 });
}

/// The mean at each value; of five groups of neighbours if there are many.
fn line(points: &[(f64, f64)]) -> Vec<SeriesPoint> {
    let mut sorted = points.to_vec();
    sorted.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let by_value: Vec<&[(f64, f64)]> = sorted.chunk_by(|a, b| a.0 == b.0).collect();
    let groups =
        if by_value.len() <= MOST_VALUES { by_value } else { sorted.chunks(sorted.len().div_ceil(5)).collect() };
    let of = |group: &[(f64, f64)]| {
        let mean_of = |pick: fn(&(f64, f64)) -> f64| mean(&group.iter().map(pick).collect::<Vec<_>>());
        SeriesPoint { x: mean_of(|point| point.0), y: mean_of(|point| point.1), band: None, complete: true }
    };
    groups.into_iter().map(of).collect()
}

fn best(scored: &[Scored], differing: &[String], (world, name): (&str, &str), measure: Measure) -> Table {
    let mut groups: BTreeMap<Vec<Option<&String>>, Vec<f64>> = BTreeMap::new();
    for scored in scored {
        let values = differing.iter().map(|key| scored.run.settings.get(key)).collect();
        groups.entry(values).or_default().push(scored.score);
    }
    let count = groups.len();
    let mut ranked: Vec<_> = groups.into_iter().collect();
    ranked.sort_by(|a, b| mean(&b.1).total_cmp(&mean(&a.1)));
    let mut table = Table {
        caption: format!("{name} in {world}: the best of {} by {}", counted(count, "configuration"), measure.name()),
        columns: ["rank", "score", "lowest and highest seed", "seeds"].map(str::to_owned).to_vec(),
        notes: vec![
            "Ranked and reported on the same seeds: the best of many is flattered. Run it again with seeds of its own before \
             it is compared with anything."
                .into(),
        ],
        ..Table::default()
    };
    table.columns.extend(differing.iter().map(|key| short_key(key).to_owned()));
    for (i, (values, scores)) in ranked.into_iter().take(MOST_LISTED).enumerate() {
        let low = scores.iter().copied().fold(f64::INFINITY, f64::min);
        let high = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let spread = if 1 < scores.len() { format!("{} to {}", score(low), score(high)) } else { "one seed".into() };
        let mut cells =
            vec![(i + 1).to_string(), plus_minus(mean(&scores), sample_std(&scores)), spread, scores.len().to_string()];
        cells.extend(values.into_iter().map(|value| value.map_or_else(|| "–".into(), |value| readable(value))));
        table.push(cells);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::section::sections;

    fn run(rate: &str, capacity: &str, seed: u64, score: f64) -> RecordedRun {
        let settings = [("learner.optimiser.learning_rate", rate), ("replay.capacity", capacity)];
        RecordedRun {
            world: "boxing".into(),
            agent: "sane".into(),
            seed,
            finished: true,
            final_return: Some(score),
            settings: settings.map(|(key, value)| (key.to_owned(), value.to_owned())).into(),
            ..RecordedRun::default()
        }
    }

    fn swept(runs: Vec<RecordedRun>) -> Vec<Sensitivity> {
        let (sections, _) = sections(runs, None);
        assert_eq!(sections.len(), 1, "a sweep is one section, whatever it sweeps");
        sweeps(&sections[0], "")
    }

    #[test]
    fn each_number_with_three_values_gets_a_panel_and_the_best_is_named_with_its_spread() {
        let mut runs = Vec::new();
        for (rate, value) in [("0.0001", 1.0), ("0.001", 5.0), ("0.01", 2.0)] {
            for (capacity, more) in [("1000", 0.0), ("2000", 0.5), ("4000", 0.2)] {
                runs.extend([1, 2].map(|seed| run(rate, capacity, seed, value + more + seed as f64 / 10.0)));
            }
        }
        let found = swept(runs);
        assert_eq!(found.len(), 1);
        let titles: Vec<&str> = found[0]
            .figure
            .scene
            .shapes
            .iter()
            .filter_map(|shape| match shape {
                Shape::Text { text, .. } => Some(text.as_str()),
                _ => None,
            })
            .collect();
        assert!(titles.contains(&"learning_rate") && titles.contains(&"capacity"), "{titles:?}");
        assert!(titles.contains(&"value (logarithmic)"), "{titles:?}");
        let best = &found[0].best;
        assert_eq!(best.rows.len(), 9);
        assert_eq!(best.rows[0].cells[1..], ["5.65 ± 0.07", "5.60 to 5.70", "2", "0.001", "2,000"]);
    }

    #[test]
    fn two_values_are_no_sweep() {
        let runs = vec![run("0.1", "1", 1, 1.0), run("0.2", "1", 1, 2.0)];
        assert!(swept(runs).is_empty());
    }

    #[test]
    fn many_values_get_a_line_through_the_means_of_neighbours() {
        let points: Vec<(f64, f64)> = (0..20).map(|i| (f64::from(i), f64::from(2 * i))).collect();
        let line = line(&points);
        assert_eq!(line.len(), 5);
        assert_eq!((line[0].x, line[0].y), (1.5, 3.0));
        assert_eq!(super::line(&points[..3]).len(), 3);
    }
}
