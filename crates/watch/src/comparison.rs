//! Several runs in one chart: each on its own, or the mean over seeds with its range.

use crate::buckets::short;
use crate::history::{Histories, Quantity};
use crate::index::Index;
use crate::row::Row;
use sane_report::mean_of_seeds;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Curves in one chart; more cannot be distinguished.
pub const MOST: usize = 8;

/// What one curve shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// A run.
    Run,
    /// The mean of all runs that differ only in their seed.
    Seeds,
}

/// A curve of the chart.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Curve {
    id: String,
    world: String,
    label: String,
    colour: usize,
    pattern: usize,
    seeds: Vec<u64>,
    x: Vec<f64>,
    mean: Vec<f64>,
    /// Lowest seed; equal to the mean for a single run.
    low: Vec<f64>,
    high: Vec<f64>,
    /// Interactions up to which all seeds are in the mean.
    complete_to: f64,
}

/// The curves of the runs with these ids; unknown ids are left out.
pub fn compare(index: &Index, histories: &Histories, ids: &[&str], quantity: Quantity, by: By) -> Vec<Curve> {
    let rows: Vec<Row> = ids.iter().take(MOST).filter_map(|id| index.row(id)).collect();
    let points = |row: &Row| -> Vec<(f64, f64)> {
        histories.with(index.guard(), &row.id, &row.folder, |history| history.series.of(quantity).means().collect())
    };
    match by {
        By::Run => rows.iter().map(|row| single(row, &points(row))).collect(),
        By::Seeds => {
            let all = index.all();
            let mut seen = BTreeSet::new();
            rows.iter()
                .filter(|row| seen.insert(row.group.clone()))
                .map(|row| {
                    let group: Vec<&Row> = all.iter().filter(|other| other.group == row.group).collect();
                    mean_of_group(row, &group, &group.iter().map(|row| points(row)).collect::<Vec<_>>())
                })
                .collect()
        }
    }
}

fn single(row: &Row, points: &[(f64, f64)]) -> Curve {
    let (x, mean): (Vec<f64>, Vec<f64>) = points.iter().map(|&(x, y)| (x, short(y))).unzip();
    Curve {
        complete_to: x.last().copied().unwrap_or(0.0),
        x,
        low: mean.clone(),
        high: mean.clone(),
        mean,
        ..empty(row)
    }
}

fn mean_of_group(row: &Row, group: &[&Row], points: &[Vec<(f64, f64)>]) -> Curve {
    let known: Vec<Vec<(f64, f64)>> = points.iter().filter(|points| !points.is_empty()).cloned().collect();
    let end = known.iter().filter_map(|points| points.last()).map(|point| point.0).fold(0.0, f64::max);
    let mut curve = Curve { seeds: group.iter().map(|row| row.seed).collect(), ..empty(row) };
    curve.seeds.sort_unstable();
    for point in mean_of_seeds(&known, group.len(), end) {
        let (low, high) = point.band.unwrap_or((point.y, point.y));
        curve.x.push(point.x.round());
        curve.mean.push(short(point.y));
        curve.low.push(short(low));
        curve.high.push(short(high));
        if point.complete {
            curve.complete_to = point.x;
        }
    }
    curve
}

fn empty(row: &Row) -> Curve {
    Curve {
        id: row.id.clone(),
        world: row.world.clone(),
        label: row.label.clone(),
        colour: row.colour,
        pattern: row.pattern,
        seeds: vec![row.seed],
        x: Vec::new(),
        mean: Vec::new(),
        low: Vec::new(),
        high: Vec::new(),
        complete_to: 0.0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::index::Updater;
    use crate::path_guard::PathGuard;
    use std::fs;
    use std::path::Path;

    fn write(root: &Path, seed: u64, values: &[(u64, f64)]) {
        let folder = root.join(format!("seed-{seed}"));
        fs::create_dir_all(&folder).unwrap();
        let config =
            format!("agent = 'sane'\nseed = {seed}\n[world]\nname = 'boxing'\n[training]\ntotal_interactions = 9\n");
        fs::write(folder.join("config.toml"), config).unwrap();
        let lines: String = values
            .iter()
            .map(|(x, y)| {
                format!(
                    "{{\"event\":\"episode_finished\",\"interactions\":{x},\"return_raw\":{y},\
                     \"return_mean_last_100\":{y}}}\n"
                )
            })
            .collect();
        fs::write(folder.join("events.jsonl"), lines).unwrap();
    }

    #[test]
    fn the_mean_over_seeds_has_the_lowest_and_the_highest_seed_around_it() {
        let root = tempfile::tempdir().unwrap();
        write(root.path(), 1, &[(0, 0.0), (200, 20.0)]);
        write(root.path(), 2, &[(0, 10.0), (100, 10.0)]);
        let index = Index::new(PathGuard::new(&[root.path().into()]).unwrap());
        Updater::default().pass(&index);
        let ids: Vec<String> = index.all().into_iter().map(|row| row.id).collect();
        let ids: Vec<&str> = ids.iter().map(String::as_str).chain(["unknown"]).collect();
        let histories = Histories::default();
        let curves = compare(&index, &histories, &ids, Quantity::Curve, By::Seeds);
        assert_eq!(curves.len(), 1);
        let curve = &curves[0];
        let at = curve.x.iter().position(|x| *x == 50.0).unwrap();
        assert_eq!((curve.mean[at], curve.low[at], curve.high[at]), (7.5, 5.0, 10.0));
        assert_eq!((curve.complete_to, curve.seeds.as_slice()), (100.0, &[1, 2][..]));
        let alone = compare(&index, &histories, &ids, Quantity::Curve, By::Run);
        assert_eq!((alone.len(), alone[0].x.len() + alone[1].x.len()), (2, 4));
    }
}
