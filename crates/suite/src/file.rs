//! The format of a suite file: plain structs, one per table (`docs/suites.md` explains each key), and the file's text
//! with the line of each value, which errors point at.

use crate::SuiteError;
use crate::cluster::{ClusterFile, RayFile, SlurmFile};
use crate::search::Search;
use crate::seeds::Seeds;
use sane_lab::parse_count;
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use toml::Table;
use toml::de::{DeTable, DeValue};

/// A suite file. Every key that a variant has too is the default of all variants.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SuiteFile {
    /// Names the suite and its default folder.
    pub name: String,
    /// What question it answers, in a sentence.
    #[serde(default)]
    pub about: String,
    /// Starting point of the settings; what suits each world if left out.
    pub preset: Option<String>,
    /// Length of each run in interactions; the preset's if left out.
    #[serde(default, deserialize_with = "count")]
    pub budget: Option<u64>,
    #[serde(default)]
    pub games: Vec<String>,
    #[serde(default)]
    pub agents: Vec<String>,
    #[serde(default)]
    pub seeds: Seeds,
    /// Settings of all runs.
    #[serde(default)]
    pub set: Table,
    /// How finished runs are evaluated.
    #[serde(default)]
    pub evaluation: EvaluationFile,
    /// Threads and memory of a run.
    #[serde(default)]
    pub resources: Resources,
    /// Program and environment of a job, on any cluster.
    #[serde(default)]
    pub cluster: ClusterFile,
    #[serde(default)]
    pub slurm: SlurmFile,
    #[serde(default)]
    pub ray: RayFile,
    /// Named settings; each is run with all games, agents and seeds, or its own ones.
    #[serde(default, rename = "variant")]
    pub variants: Vec<Variant>,
    /// Settings that are tried out; the points of a search are variants.
    #[serde(default, rename = "search")]
    pub searches: Vec<Search>,
}

/// Named settings; what a variant does not say is as in the suite.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Variant {
    /// Names the folder its runs are in.
    pub name: String,
    pub preset: Option<String>,
    #[serde(default, deserialize_with = "count")]
    pub budget: Option<u64>,
    pub games: Option<Vec<String>>,
    pub agents: Option<Vec<String>>,
    pub seeds: Option<Vec<u64>>,
    /// Merged over the suite's `set`.
    #[serde(default)]
    pub set: Table,
}

/// How finished runs are evaluated.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct EvaluationFile {
    /// Interactions in each noise mode.
    pub interactions: u64,
    pub noise: EvaluationNoise,
    /// Seed of the episode starts.
    pub start_seed: u64,
}

/// The noise modes finished runs are evaluated in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum EvaluationNoise {
    /// No evaluation.
    None,
    Off,
    On,
    /// Without noise, then with noise.
    Both,
}

/// Threads and memory of a run.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Resources {
    /// Worker threads of a run; 1 if left out.
    pub threads: Option<u16>,
    /// Memory of a run; measured if left out.
    pub memory_gb: Option<f64>,
}

impl Default for EvaluationFile {
    fn default() -> Self {
        Self { interactions: 500_000, noise: EvaluationNoise::Both, start_seed: 0 }
    }
}

impl EvaluationNoise {
    /// As `sane eval --noise` takes it; nothing if there is no evaluation.
    pub fn argument(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Off => Some("off"),
            Self::On => Some("on"),
            Self::Both => Some("both"),
        }
    }
}

impl SuiteFile {
    /// Parses and validates the text of a suite file.
    pub fn parse(document: &Document) -> Result<Self, SuiteError> {
        let file: Self = toml::from_str(&document.text).map_err(|error| SuiteError::Format {
            location: document.location_at(error.span().map_or(0, |span| span.start)),
            reason: error.message().replace('\n', " "),
        })?;
        let is_plain = |name: &str| {
            let allowed = |c: char| c.is_ascii_alphanumeric() || "-_.=".contains(c);
            !name.is_empty() && name.chars().all(allowed) && !name.starts_with('.')
        };
        let names = std::iter::once((vec!["name".into()], &file.name)).chain(
            file.variants
                .iter()
                .enumerate()
                .map(|(i, variant)| (vec!["variant".into(), i.into(), "name".into()], &variant.name))
                .chain(
                    file.searches
                        .iter()
                        .enumerate()
                        .map(|(i, search)| (vec!["search".into(), i.into(), "name".into()], &search.name)),
                ),
        );
        for (key_path, name) in names {
            if !is_plain(name) {
                let reason = format!("the name {name:?} becomes a folder: letters, digits and - _ . = only");
                return Err(SuiteError::Format { location: document.location(&key_path), reason });
            }
        }
        if file.evaluation.interactions == 0 {
            let location = document.location(&["evaluation".into(), "interactions".into()]);
            let reason = "0 interactions measure nothing; to leave the evaluation out, say noise = \"none\"".into();
            return Err(SuiteError::Format { location, reason });
        }
        if let Seeds::Sequential(rule) = &file.seeds {
            rule.check(document)?;
        }
        file.resources.check(document)?;
        file.slurm.check(document)?;
        Ok(file)
    }
}

/// A count as a number, or as people write it: `budget = "200k"`, `1e6`.
pub(crate) fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let text = match toml::Value::deserialize(deserializer)? {
        toml::Value::String(text) => text,
        toml::Value::Float(number) if number.fract() == 0.0 => format!("{number:.0}"),
        other => other.to_string(),
    };
    parse_count(&text).map(Some).map_err(serde::de::Error::custom)
}

impl Resources {
    fn check(&self, document: &Document) -> Result<(), SuiteError> {
        let refuse = |key: &str, reason: &str| {
            let location = document.location(&["resources".into(), key.into()]);
            Err(SuiteError::Format { location, reason: reason.into() })
        };
        if self.threads.is_some_and(|threads| !(1..=1024).contains(&threads)) {
            return refuse("threads", "a run has from 1 to 1024 threads");
        }
        if self.memory_gb.is_some_and(|memory| !(0.0 < memory && memory.is_finite())) {
            return refuse("memory_gb", "the memory of a run is a number of gigabytes above 0");
        }
        Ok(())
    }
}

/// A suite file as written.
#[derive(Debug, Clone)]
pub struct Document {
    pub path: PathBuf,
    pub text: String,
}

/// A line of a suite file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    pub path: PathBuf,
    /// Counted from 1.
    pub line: usize,
}

/// One step of a key path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyStep {
    /// A key of a table.
    Key(String),
    /// An element of an array.
    Index(usize),
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.path.display(), self.line)
    }
}

impl From<&str> for KeyStep {
    fn from(key: &str) -> Self {
        Self::Key(key.into())
    }
}

impl From<usize> for KeyStep {
    fn from(index: usize) -> Self {
        Self::Index(index)
    }
}

impl Document {
    pub fn read(path: &Path) -> Result<Self, SuiteError> {
        let text = fs::read_to_string(path).map_err(SuiteError::io("read", path))?;
        Ok(Self { path: path.into(), text })
    }

    /// The line of the value at `key_path`, or of the innermost table on that path that exists.
    pub fn location(&self, key_path: &[KeyStep]) -> Location {
        let offset = DeTable::parse(&self.text).map_or(0, |table| offset_of(table.get_ref(), key_path));
        self.location_at(offset)
    }

    /// The line that holds the byte at `offset`.
    pub fn location_at(&self, offset: usize) -> Location {
        let before = &self.text.as_bytes()[..offset.min(self.text.len())];
        Location { path: self.path.clone(), line: 1 + before.iter().filter(|&&byte| byte == b'\n').count() }
    }
}

fn offset_of(table: &DeTable<'_>, key_path: &[KeyStep]) -> usize {
    let Some((KeyStep::Key(key), rest)) = key_path.split_first() else { return 0 };
    let Some((name, value)) = table.iter().find(|(name, _)| name.get_ref() == key) else { return 0 };
    offset_within(value.get_ref(), rest).unwrap_or(name.span().start)
}

fn offset_within(value: &DeValue<'_>, key_path: &[KeyStep]) -> Option<usize> {
    match (value, key_path) {
        (DeValue::Array(items), [KeyStep::Index(index), rest @ ..]) => {
            let item = items.get(*index)?;
            Some(offset_within(item.get_ref(), rest).unwrap_or(item.span().start))
        }
        (DeValue::Table(table), [KeyStep::Key(_), ..]) => Some(offset_of(table, key_path)).filter(|&offset| 0 < offset),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_found_on_its_line_in_lists_tables_and_dotted_keys() {
        let text = "games = [\n  'a',\n  'b',\n]\n[[variant]]\nname = 'x'\n[[variant]]\nname = 'y'\n\
                    set.learner.gamma = 1\nset.learner.double_q = true\n";
        let document = Document { path: "s.toml".into(), text: text.into() };
        let line = |key_path: &[KeyStep]| document.location(key_path).line;
        assert_eq!(line(&["games".into(), 1.into()]), 3);
        assert_eq!(line(&["variant".into(), 1.into(), "name".into()]), 8);
        assert_eq!(line(&["variant".into(), 1.into(), "set".into(), "learner".into(), "double_q".into()]), 10);
        assert_eq!(document.location(&["games".into()]).to_string(), "s.toml:1");
    }
}
