//! Runs for other programs: tables as CSV and Parquet, and the offline formats of MLflow and Weights & Biases. Reads run
//! folders alone and writes nothing into them.
//!
//! A record is flattened as it stands in the file: every number, text and truth value becomes a cell under its dotted name, so
//! that a new field or a new kind of event is exported without a line here.
//!
//! ```text
//! episode_finished    → table episodes       metrics episode/…
//! interval_finished   → table intervals      metrics interval/…
//! evaluation_finished → table evaluations    metrics evaluation-noise-off/…, evaluation-noise-on/…
//! config.toml, origin.toml, run_finished → table runs, and the parameters of a run
//! ```

mod csv;
mod mlflow;
mod parquet;
mod tables;
mod wandb;

pub use mlflow::export_mlflow;
pub use tables::{TableFormat, export_tables};
pub use wandb::export_wandb;

use crate::jsonl::scan_jsonl;
use crate::origin::RunOrigin;
use crate::timing::Timing;
use crate::{RecordError, read_plain_text};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A larger file is no configuration.
const LARGEST_CONFIG_BYTES: u64 = 1 << 20;

/// A run to be exported: everything but its events, which are read one by one.
#[derive(Debug, Clone)]
pub struct ExportRun {
    pub folder: PathBuf,
    /// Dotted key → value, as in `config.toml`.
    pub settings: BTreeMap<String, Cell>,
    pub origin: Option<RunOrigin>,
    /// Whether it reached its end.
    pub finished: bool,
    /// What its last event of a finished run says: interactions, episodes, digest.
    pub end: BTreeMap<String, Cell>,
    clock: RunClock,
}

/// A value of a record.
#[derive(Debug, Clone, PartialEq)]
pub enum Cell {
    Integer(i64),
    Number(f64),
    Text(String),
    Truth(bool),
}

/// One record of a run: an episode, an interval, an evaluation.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Kind of the event, as in the file.
    pub kind: String,
    /// Interactions of the run.
    pub step: u64,
    pub cells: BTreeMap<String, Cell>,
}

impl ExportRun {
    /// Reads what is read once. A damaged file is an error that names it.
    pub fn read(folder: &Path) -> Result<Self, RecordError> {
        let path = folder.join("config.toml");
        let text = read_plain_text(&path, LARGEST_CONFIG_BYTES).map_err(RecordError::io("read", &path))?;
        let table: toml::Table = text.parse().map_err(|error: toml::de::Error| RecordError::Settings {
            path: path.clone(),
            reason: error.message().replace('\n', " "),
        })?;
        let settings = flatten(&serde_json::to_value(table).expect("TOML has no value that JSON lacks"));
        let mut run = Self {
            folder: folder.into(),
            settings,
            origin: RunOrigin::read(folder)?,
            finished: false,
            end: BTreeMap::new(),
            clock: RunClock::read(&folder.join("timings.jsonl"))?,
        };
        // Events are read whole once here, so that a damaged file is found before anything is written.
        let mut end = None;
        run.rows(|row| {
            if row.kind == "run_finished" {
                end = Some(row.cells);
            }
            Ok(())
        })?;
        run.finished = end.is_some();
        run.end = end.unwrap_or_default();
        Ok(run)
    }

    /// Its events in order, then its evaluations.
    pub fn rows(&self, mut each: impl FnMut(Row) -> Result<(), RecordError>) -> Result<(), RecordError> {
        for name in ["events.jsonl", "evaluations.jsonl"] {
            let path = self.folder.join(name);
            if !path.exists() {
                continue;
            }
            let mut refused = None;
            scan_jsonl(&path, |line| {
                let row = Row::of(&serde_json::from_slice(line)?);
                if refused.is_none() {
                    refused = each(row).err();
                }
                Ok(())
            })?;
            if let Some(error) = refused {
                return Err(error);
            }
        }
        Ok(())
    }

    /// World, agent and seed.
    pub fn name(&self) -> String {
        format!("{} {} seed {}", self.setting("world.name"), self.setting("agent"), self.setting("seed"))
    }

    /// A setting as text; empty if the run has no such setting.
    pub fn setting(&self, key: &str) -> String {
        self.settings.get(key).map(Cell::text).unwrap_or_default()
    }

    /// A name for the run that is always the same, for programs that know runs by such names: hexadecimal, 32 digits.
    fn id(&self) -> String {
        let place = std::fs::canonicalize(&self.folder).unwrap_or_else(|_| self.folder.clone());
        let mut hash = blake3::Hasher::new();
        hash.update(place.as_os_str().as_encoded_bytes());
        hash.finalize().to_hex()[..32].to_owned()
    }
}

impl Row {
    /// The row of a record, whose kind and step are fields of it.
    fn of(record: &Value) -> Self {
        let mut cells = flatten(record);
        let kind = match cells.remove("event") {
            Some(Cell::Text(kind)) => kind,
            _ => "record".into(),
        };
        let step = ["trained_interactions", "interactions"].into_iter().find_map(|key| match cells.get(key) {
            Some(Cell::Integer(step)) => u64::try_from(*step).ok(),
            _ => None,
        });
        Self { kind, step: step.unwrap_or(0), cells }
    }

    /// What its metrics are grouped under: `episode`, `interval`, `evaluation-noise-on`.
    fn group(&self) -> String {
        let kind = self.kind.strip_suffix("_finished").unwrap_or(&self.kind);
        match self.cells.get("noise") {
            Some(noise) => format!("{kind}-noise-{}", noise.text()),
            None => kind.to_owned(),
        }
    }

    /// Its numbers as metrics, by full name.
    fn metrics(&self) -> impl Iterator<Item = (String, f64)> {
        let group = self.group();
        self.cells.iter().filter(|(key, _)| *key != "seed" && *key != "schema_version").filter_map(
            move |(key, cell)| {
                let value = match cell {
                    Cell::Integer(value) => *value as f64,
                    Cell::Number(value) => *value,
                    Cell::Truth(truth) => f64::from(u8::from(*truth)),
                    Cell::Text(_) => return None,
                };
                Some((format!("{group}/{key}"), value))
            },
        )
    }
}

impl Cell {
    /// As text, without quotes.
    pub fn text(&self) -> String {
        match self {
            Self::Integer(value) => value.to_string(),
            // The form of JSON, which every reader of numbers takes and which loses no digit.
            Self::Number(value) => serde_json::to_string(value).expect("a number is plain data"),
            Self::Text(text) => text.clone(),
            Self::Truth(truth) => truth.to_string(),
        }
    }
}

/// Dotted name → value. Lists are text, but for the two ends of an interval.
fn flatten(value: &Value) -> BTreeMap<String, Cell> {
    let mut cells = BTreeMap::new();
    flatten_into("", value, &mut cells);
    cells
}

fn flatten_into(name: &str, value: &Value, cells: &mut BTreeMap<String, Cell>) {
    let cell = match value {
        Value::Null => return,
        Value::Bool(truth) => Cell::Truth(*truth),
        Value::String(text) => Cell::Text(text.clone()),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(integer), _) => Cell::Integer(integer),
            (None, Some(number)) => Cell::Number(number),
            (None, None) => return,
        },
        Value::Array(ends) if ends.len() == 2 && name.ends_with("interval_95") => {
            for (end, value) in ["low", "high"].iter().zip(ends) {
                flatten_into(&format!("{name}.{end}"), value, cells);
            }
            return;
        }
        Value::Array(_) => Cell::Text(value.to_string()),
        Value::Object(fields) => {
            for (key, value) in fields {
                let below = if name.is_empty() { key.clone() } else { format!("{name}.{key}") };
                flatten_into(&below, value, cells);
            }
            return;
        }
    };
    cells.insert(name.to_owned(), cell);
}

/// When a run was at which interaction, from its timings: straight lines between the moments that were recorded.
#[derive(Debug, Clone, Default)]
struct RunClock {
    /// Interactions and seconds since 1970, both ascending.
    moments: Vec<(u64, f64)>,
}

impl RunClock {
    fn read(path: &Path) -> Result<Self, RecordError> {
        let mut clock = Self::default();
        if path.exists() {
            scan_jsonl(path, |line| {
                clock.take(&serde_json::from_slice(line)?);
                Ok(())
            })?;
        }
        Ok(clock)
    }

    fn take(&mut self, timing: &Timing) {
        let last = self.moments.last().copied();
        let moment = match *timing {
            Timing::ProcessStarted { unix_seconds, from_interactions, .. } => {
                // What came after the checkpoint was done again.
                self.moments.retain(|(interactions, _)| *interactions < from_interactions);
                (from_interactions, unix_seconds as f64)
            }
            Timing::Speed { interactions, interactions_per_second, .. } => {
                let Some((before, seconds)) = last else { return };
                let passed = interactions.saturating_sub(before) as f64 / interactions_per_second.max(1e-9);
                (interactions, seconds + passed)
            }
            Timing::ProcessStopped { unix_seconds, interactions, .. } => (interactions, unix_seconds as f64),
            Timing::Machine { .. } => return,
        };
        if self.moments.last().is_none_or(|(interactions, _)| *interactions <= moment.0) {
            let not_before = self.moments.last().map_or(0.0, |(_, seconds)| *seconds);
            self.moments.push((moment.0, moment.1.max(not_before)));
        }
    }

    /// Seconds since 1970 at this interaction; 0 for a run without timings.
    fn seconds_at(&self, interactions: u64) -> f64 {
        let after = self.moments.partition_point(|(at, _)| *at < interactions);
        match (after.checked_sub(1).map(|before| self.moments[before]), self.moments.get(after)) {
            (Some((from, start)), Some(&(to, end))) => {
                start + (end - start) * (interactions - from) as f64 / (to - from).max(1) as f64
            }
            (Some((_, end)), None) => end,
            (None, Some(&(_, start))) => start,
            (None, None) => 0.0,
        }
    }

    fn start(&self) -> f64 {
        self.moments.first().map_or(0.0, |(_, seconds)| *seconds)
    }

    fn end(&self) -> f64 {
        self.moments.last().map_or(0.0, |(_, seconds)| *seconds)
    }
}

/// Writes a whole file; a reader never sees half of it.
fn write_file(path: &Path, bytes: &[u8]) -> Result<(), RecordError> {
    let temporary = crate::temporary_beside(path);
    std::fs::write(&temporary, bytes)
        .and_then(|()| std::fs::rename(&temporary, path))
        .map_err(RecordError::io("write", path))
}

fn create_folder(folder: &Path) -> Result<(), RecordError> {
    std::fs::create_dir_all(folder).map_err(RecordError::io("create", folder))
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::fs;

    /// A small finished run with an episode, two intervals and an evaluation.
    pub fn run_folder() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        write("config.toml", "agent = 'sane'\nseed = 3\n[world]\nname = 'risky-road'\n[learner]\ngamma = 0.99\n");
        write("origin.toml", "preset = 'quick'\ngit_commit = 'abc'\n[chosen]\n'learner.gamma' = '--set'\n");
        write(
            "events.jsonl",
            "{\"event\":\"run_started\",\"schema_version\":1,\"seed\":3,\"actions\":[\"a\",\"b\"]}\n\
             {\"event\":\"episode_finished\",\"interactions\":10,\"episode\":1,\"return_raw\":1.5,\"bad\":true}\n\
             {\"event\":\"interval_finished\",\"interactions\":20,\"loss_mean\":null,\"sigma\":{\"mean_abs\":0.25}}\n\
             {\"event\":\"interval_finished\",\"interactions\":40,\"loss_mean\":1e-7}\n\
             {\"event\":\"run_finished\",\"interactions\":40,\"digest\":\"d1\"}\n",
        );
        write(
            "evaluations.jsonl",
            "{\"event\":\"evaluation_finished\",\"trained_interactions\":40,\"interactions\":7,\"noise\":\"on\",\
             \"return_mean_interval_95\":[1.0,2.0],\"returns\":[1.0,2.0]}\n",
        );
        write(
            "timings.jsonl",
            "{\"timing\":\"process_started\",\"unix_seconds\":1000,\"from_interactions\":0,\"threads\":1,\"version\":\"1\"}\n\
             {\"timing\":\"process_stopped\",\"unix_seconds\":1020,\"interactions\":40,\"reason\":\"finished\"}\n",
        );
        folder
    }

    #[test]
    fn a_record_becomes_cells_under_dotted_names() {
        let folder = run_folder();
        let run = ExportRun::read(folder.path()).unwrap();
        assert_eq!((run.name(), run.finished), ("risky-road sane seed 3".to_owned(), true));
        assert_eq!(run.setting("learner.gamma"), "0.99");
        let mut rows = Vec::new();
        run.rows(|row| {
            rows.push(row);
            Ok(())
        })
        .unwrap();
        assert_eq!(rows.iter().map(|row| row.step).collect::<Vec<_>>(), [0, 10, 20, 40, 40, 40]);
        assert_eq!(rows[2].cells["sigma.mean_abs"], Cell::Number(0.25));
        let evaluation: Vec<(String, f64)> = rows[5].metrics().collect();
        assert!(
            evaluation.contains(&("evaluation-noise-on/return_mean_interval_95.high".into(), 2.0)),
            "{evaluation:?}"
        );
        assert!(rows[1].metrics().any(|metric| metric == ("episode/bad".into(), 1.0)));
    }

    #[test]
    fn the_clock_of_a_run_that_was_killed_counts_what_was_done_again_once() {
        let started = |unix_seconds, from_interactions| Timing::ProcessStarted {
            unix_seconds,
            from_interactions,
            threads: 1,
            version: String::new(),
            kernel: String::new(),
        };
        let speed = |interactions| Timing::Speed {
            interactions,
            interactions_per_second: 10.0,
            resident_bytes: 0,
            share: Default::default(),
        };
        let mut clock = RunClock::default();
        for timing in [started(1000, 0), speed(100), speed(200), started(2000, 100), speed(200)] {
            clock.take(&timing);
        }
        assert_eq!(
            [0, 50, 100, 150, 200, 999].map(|at| clock.seconds_at(at)),
            [1000.0, 1500.0, 2000.0, 2005.0, 2010.0, 2010.0]
        );
    }

    #[test]
    fn a_damaged_record_is_found_before_anything_is_written() {
        let folder = run_folder();
        let path = folder.path().join("events.jsonl");
        let text = fs::read_to_string(&path).unwrap().replacen("{\"event\":\"episode", "\"event\":\"episode", 1);
        fs::write(&path, text).unwrap();
        let error = ExportRun::read(folder.path()).unwrap_err().to_string();
        assert!(error.contains("events.jsonl, line 2"), "{error}");
    }
}
