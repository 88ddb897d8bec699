//! Several runs beside each other: each on its own, or the mean over the seeds of an agent with its range.

use crate::buckets::{Drawn, places, short};
use crate::clock::Axis;
use crate::history::{Histories, Quantity};
use crate::index::Index;
use crate::row::Row;
use sane_report::mean_of_seeds;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::thread;

/// Runs in one request: several times the paper's suite.
pub const MOST: usize = 512;

/// Reading many runs for the first time waits for the disk as much as for the processor.
const READING_THREADS: usize = 4;

/// What one curve shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// A run.
    Run,
    /// The mean of those of the runs that differ only in their seed.
    #[serde(alias = "seeds")]
    Agent,
}

/// What is compared, and over what it is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drawing {
    pub quantity: Quantity,
    pub by: By,
    pub axis: Axis,
}

/// A curve of a panel.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Curve {
    /// Of its runs, in order of their seeds.
    ids: Vec<String>,
    world: String,
    label: String,
    note: Option<String>,
    colour: usize,
    pattern: usize,
    /// Of its runs.
    seeds: Vec<u64>,
    #[serde(serialize_with = "places")]
    x: Vec<f64>,
    mean: Vec<f64>,
    /// Lowest seed; for an evaluation of a single run, the end of its interval; else equal to the mean.
    low: Vec<f64>,
    high: Vec<f64>,
    /// Where the mean stops to have all seeds in it.
    complete_to: f64,
}

/// The curves of the runs with these ids; unknown ids are left out.
pub fn compare(index: &Index, histories: &Histories, ids: &[&str], drawing: Drawing) -> Vec<Curve> {
    let rows: Vec<Row> = ids.iter().take(MOST).filter_map(|id| index.row(id)).collect();
    let drawn = read(index, histories, &rows, drawing);
    match drawing.by {
        By::Run => rows.iter().zip(drawn).map(|(row, drawn)| single(row, drawn, drawing.quantity)).collect(),
        By::Agent => {
            let mut groups: BTreeMap<&str, Vec<(&Row, &Drawn)>> = BTreeMap::new();
            for (row, drawn) in rows.iter().zip(&drawn) {
                groups.entry(&row.group).or_default().push((row, drawn));
            }
            rows.iter().filter_map(|row| mean_of_group(groups.remove(row.group.as_str())?)).collect()
        }
    }
}

/// The curve of each of the rows.
fn read(index: &Index, histories: &Histories, rows: &[Row], Drawing { quantity, axis, .. }: Drawing) -> Vec<Drawn> {
    let one =
        |row: &Row| histories.with(index.guard(), &row.id, &row.folder, |history| history.drawn_one(quantity, axis));
    let share = rows.len().div_ceil(READING_THREADS).max(1);
    thread::scope(|scope| {
        let some = |rows: &[Row]| rows.iter().map(one).collect::<Vec<_>>();
        let reading: Vec<_> = rows.chunks(share).map(|rows| scope.spawn(move || some(rows))).collect();
        reading.into_iter().flat_map(|some| some.join().unwrap_or_default()).collect()
    })
}

fn single(row: &Row, drawn: Drawn, quantity: Quantity) -> Curve {
    let has_interval = quantity == Quantity::Evaluation;
    Curve {
        complete_to: drawn.x.last().copied().unwrap_or(0.0),
        low: if has_interval { drawn.low } else { drawn.mean.clone() },
        high: if has_interval { drawn.high } else { drawn.mean.clone() },
        x: drawn.x,
        mean: drawn.mean,
        ..empty(row)
    }
}

fn mean_of_group(mut group: Vec<(&Row, &Drawn)>) -> Option<Curve> {
    group.sort_by_key(|(row, _)| row.seed);
    let points = |drawn: &Drawn| drawn.x.iter().copied().zip(drawn.mean.iter().copied()).collect::<Vec<_>>();
    let known: Vec<Vec<(f64, f64)>> =
        group.iter().map(|(_, drawn)| points(drawn)).filter(|points| !points.is_empty()).collect();
    let end = known.iter().filter_map(|points| points.last()).map(|point| point.0).fold(0.0, f64::max);
    let mut curve = Curve {
        ids: group.iter().map(|(row, _)| row.id.clone()).collect(),
        seeds: group.iter().map(|(row, _)| row.seed).collect(),
        ..empty(group.first()?.0)
    };
    for point in mean_of_seeds(&known, group.len(), end) {
        let (low, high) = point.band.unwrap_or((point.y, point.y));
        curve.x.push(short(point.x));
        curve.mean.push(short(point.y));
        curve.low.push(short(low));
        curve.high.push(short(high));
        if point.complete {
            curve.complete_to = point.x;
        }
    }
    Some(curve)
}

fn empty(row: &Row) -> Curve {
    Curve {
        ids: vec![row.id.clone()],
        world: row.world.clone(),
        label: row.label.clone(),
        note: row.note.clone(),
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
        let drawing = Drawing { quantity: Quantity::Curve, by: By::Agent, axis: Axis::Interactions };
        let curves = compare(&index, &histories, &ids, drawing);
        assert_eq!(curves.len(), 1);
        let curve = &curves[0];
        let at = curve.x.iter().position(|x| *x == 50.0).unwrap();
        assert_eq!((curve.mean[at], curve.low[at], curve.high[at]), (7.5, 5.0, 10.0));
        assert_eq!((curve.complete_to, curve.seeds.as_slice()), (100.0, &[1, 2][..]));
        let alone = compare(&index, &histories, &ids, Drawing { by: By::Run, ..drawing });
        assert_eq!((alone.len(), alone[0].x.len() + alone[1].x.len()), (2, 4));
        let one = compare(&index, &histories, &ids[..1], drawing);
        assert_eq!((one.len(), one[0].seeds.len()), (1, 1), "runs that were not asked for are not in the mean");
    }
}
