//! The records of many runs as tables, one per kind: columns are the union of what the runs have, and begin with the run's
//! folder, world, agent and seed.

use super::csv::CsvTable;
use super::parquet::ParquetTable;
use super::{Cell, ExportRun, Row, create_folder};
use crate::RecordError;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// How tables are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableFormat {
    Csv,
    Parquet,
}

/// What a column holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ColumnType {
    Integer,
    Number,
    Text,
    Truth,
}

/// Name and type of a column.
pub(super) type Column = (String, ColumnType);

/// Columns that say which run a row is of; they come first.
const RUN_COLUMNS: [&str; 4] = ["run", "world", "agent", "seed"];

/// Writes the tables of these runs into `folder`; the files written.
pub fn export_tables(runs: &[ExportRun], format: TableFormat, folder: &Path) -> Result<Vec<PathBuf>, RecordError> {
    create_folder(folder)?;
    let mut columns: BTreeMap<String, BTreeMap<String, ColumnType>> = BTreeMap::new();
    for_each_row(
        runs,
        |table, cells| {
            let known = columns.entry(table.to_owned()).or_default();
            for (name, cell) in cells {
                let found = type_of(cell);
                known.entry(name.clone()).and_modify(|known| *known = wider(*known, found)).or_insert(found);
            }
            Ok(())
        },
        |_| Ok(()),
    )?;
    let mut tables = BTreeMap::new();
    for (table, types) in columns {
        let first = RUN_COLUMNS.iter().filter_map(|name| Some(((*name).to_owned(), *types.get(*name)?)));
        let rest = types.iter().filter(|(name, _)| !RUN_COLUMNS.contains(&name.as_str()));
        let columns: Vec<Column> = first.chain(rest.map(|(name, kind)| (name.clone(), *kind))).collect();
        let writer = match format {
            TableFormat::Csv => Table::Csv(CsvTable::create(&folder.join(format!("{table}.csv")), &columns)?),
            TableFormat::Parquet => {
                Table::Parquet(ParquetTable::create(&folder.join(format!("{table}.parquet")), &columns)?)
            }
        };
        tables.insert(table, writer);
    }
    let tables = std::cell::RefCell::new(tables);
    for_each_row(
        runs,
        |table, cells| match tables.borrow_mut().get_mut(table).expect("every table was seen") {
            Table::Csv(table) => table.row(cells),
            Table::Parquet(table) => table.row(cells),
        },
        // A row group per run bounds the memory by that of the largest run.
        |()| {
            tables.borrow_mut().values_mut().try_for_each(|table| match table {
                Table::Csv(_) => Ok(()),
                Table::Parquet(table) => table.end_row_group(),
            })
        },
    )?;
    tables
        .into_inner()
        .into_values()
        .map(|table| match table {
            Table::Csv(table) => table.finish(),
            Table::Parquet(table) => table.finish(),
        })
        .collect()
}

enum Table {
    Csv(CsvTable),
    Parquet(ParquetTable),
}

/// Every row of every run with its table, and the end of each run.
fn for_each_row(
    runs: &[ExportRun],
    mut each: impl FnMut(&str, &BTreeMap<String, Cell>) -> Result<(), RecordError>,
    mut run_ended: impl FnMut(()) -> Result<(), RecordError>,
) -> Result<(), RecordError> {
    for run in runs {
        let mut named = BTreeMap::from([("run".to_owned(), Cell::Text(run.folder.display().to_string()))]);
        for (column, key) in [("world", "world.name"), ("agent", "agent"), ("seed", "seed")] {
            named.extend(run.settings.get(key).map(|cell| (column.to_owned(), cell.clone())));
        }
        each("runs", &run_row(run, &named))?;
        run.rows(|Row { kind, mut cells, .. }| {
            let table = match kind.as_str() {
                "run_started" | "run_finished" => return Ok(()),
                "episode_finished" => "episodes",
                "interval_finished" => "intervals",
                "evaluation_finished" => "evaluations",
                other => other,
            };
            cells.extend(named.clone());
            each(table, &cells)
        })?;
        run_ended(())?;
    }
    Ok(())
}

/// The row of a run: its settings, where it comes from, how it ended.
fn run_row(run: &ExportRun, named: &BTreeMap<String, Cell>) -> BTreeMap<String, Cell> {
    let mut cells = run.settings.clone();
    cells.extend(named.clone());
    cells.insert("finished".into(), Cell::Truth(run.finished));
    cells.extend(run.end.iter().map(|(key, cell)| (format!("end.{key}"), cell.clone())));
    if let Some(origin) = &run.origin {
        cells.insert("origin.preset".into(), Cell::Text(origin.preset.clone()));
        cells.insert("origin.command".into(), Cell::Text(origin.command.join(" ")));
        cells.insert("origin.chosen".into(), Cell::Text(origin.chosen.keys().cloned().collect::<Vec<_>>().join(" ")));
        cells.extend(origin.git_commit.clone().map(|commit| ("origin.git_commit".to_owned(), Cell::Text(commit))));
        cells.extend(origin.git_dirty.map(|dirty| ("origin.git_dirty".to_owned(), Cell::Truth(dirty))));
    }
    cells
}

fn type_of(cell: &Cell) -> ColumnType {
    match cell {
        Cell::Integer(_) => ColumnType::Integer,
        Cell::Number(_) => ColumnType::Number,
        Cell::Text(_) => ColumnType::Text,
        Cell::Truth(_) => ColumnType::Truth,
    }
}

/// The type that holds the values of both.
fn wider(one: ColumnType, other: ColumnType) -> ColumnType {
    use ColumnType::{Integer, Number, Text};
    match (one, other) {
        (one, other) if one == other => one,
        (Integer | Number, Integer | Number) => Number,
        _ => Text,
    }
}
