//! A configuration in layers: preset, then a file, then single assignments. Keys are dotted names; what no layer mentions
//! stays as the preset has it.

use super::{ConfigError, RunConfig, keys};
use sane_agent::catalogue;
use sane_env::closest_name;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use toml::{Table, Value};

/// Assignments on top of a preset, later ones win.
#[derive(Debug, Clone, Default)]
pub struct Layers {
    layers: Vec<(String, Table)>,
}

/// Keys whose values differ: key → (in the first, in the second), `-` where one has no such key.
pub type Differences = BTreeMap<String, (String, String)>;

impl Layers {
    /// Adds a TOML file.
    pub fn file(&mut self, path: &Path) -> Result<(), ConfigError> {
        let text = fs::read_to_string(path).map_err(|source| ConfigError::Read { path: path.into(), source })?;
        self.text(path.display().to_string(), &text)
    }

    /// Adds one `key=value`; a value that is no TOML is taken as a string.
    pub fn assignment(&mut self, text: &str) -> Result<(), ConfigError> {
        let (key, value) = text.split_once('=').ok_or_else(|| ConfigError::NotAnAssignment { text: text.into() })?;
        let (key, value) = (key.trim(), value.trim());
        let as_is = format!("{key} = {value}");
        let quoted = format!("{key} = {}", Value::from(value));
        let readable = if as_is.parse::<Table>().is_ok() { as_is } else { quoted };
        self.text("--set".into(), &readable)
    }

    /// The value some layer gives this key, as a string.
    pub fn get(&self, key: &str) -> Option<String> {
        let found = |table: &Table| {
            let mut parts = key.split('.');
            let mut value = table.get(parts.next()?)?;
            for part in parts {
                value = value.get(part)?;
            }
            value.as_str().map(str::to_owned)
        };
        self.layers.iter().rev().find_map(|(_, table)| found(table))
    }

    /// The configuration that results on top of `base`, checked.
    pub fn apply(&self, base: &RunConfig) -> Result<RunConfig, ConfigError> {
        let mut table = to_table(base);
        let mut config = base.clone();
        for (place, layer) in &self.layers {
            merge_tables(&mut table, layer);
            config = table.clone().try_into().map_err(|error| unreadable(place, &error))?;
        }
        config.check()?;
        Ok(config)
    }

    fn text(&mut self, place: String, text: &str) -> Result<(), ConfigError> {
        let table: Table = text.parse().map_err(|error| unreadable(&place, &error))?;
        self.table(place, table)
    }

    /// Adds the assignments of a table; `place` names its origin in errors.
    pub fn table(&mut self, place: String, table: Table) -> Result<(), ConfigError> {
        for key in flatten_table(&table).into_keys() {
            let is_known = keys().iter().any(|known| known.name == key) || key.starts_with("world.kwargs.");
            if !is_known {
                let last = key.rsplit('.').next().unwrap_or_default();
                let names = || keys().iter().map(|known| known.name);
                // `--set gamma=…` means learner.gamma: a last part that fits exactly wins over a similar whole.
                let suggestion =
                    names().find(|name| name.rsplit('.').next() == Some(last)).or_else(|| closest_name(&key, names()));
                return Err(ConfigError::UnknownKey { key, place, suggestion });
            }
        }
        self.layers.push((place, table));
        Ok(())
    }
}

/// The configuration as a TOML document.
pub fn to_toml(config: &RunConfig) -> String {
    toml::to_string(&to_table(config)).expect("a configuration is plain data")
}

/// A configuration from a TOML document written by [`to_toml`].
pub fn from_toml(text: &str, place: &Path) -> Result<RunConfig, ConfigError> {
    let config: RunConfig = toml::from_str(text).map_err(|error| unreadable(&place.display().to_string(), &error))?;
    config.check()?;
    Ok(config)
}

/// Dotted key → value, for every key the configuration has.
pub fn flat(config: &RunConfig) -> BTreeMap<String, String> {
    flatten_table(&to_table(config))
}

/// The keys in which two configurations differ.
pub fn differences(first: &RunConfig, second: &RunConfig) -> Differences {
    differing(&flat(first), &flat(second))
}

/// The keys in which two sets of settings differ.
pub fn differing(first: &BTreeMap<String, String>, second: &BTreeMap<String, String>) -> Differences {
    let missing = "-".to_owned();
    first
        .keys()
        .chain(second.keys())
        .filter(|key| first.get(*key) != second.get(*key))
        .map(|key| {
            let value = |side: &BTreeMap<String, String>| side.get(key).unwrap_or(&missing).clone();
            (key.clone(), (value(first), value(second)))
        })
        .collect()
}

/// The error for an unknown agent.
pub(crate) fn unknown_agent(name: &str) -> ConfigError {
    let suggestion = closest_name(name, catalogue().iter().map(|entry| entry.name)).map(str::to_owned);
    ConfigError::UnknownName { kind: "agent", name: name.into(), suggestion }
}

fn unreadable(place: &str, error: &toml::de::Error) -> ConfigError {
    ConfigError::Unreadable { place: place.into(), reason: error.message().replace('\n', " ") }
}

fn to_table(config: &RunConfig) -> Table {
    let mut value = Value::try_from(config).expect("a configuration is plain data");
    shorten(&mut value);
    match value {
        Value::Table(table) => table,
        _ => unreachable!("a struct becomes a table"),
    }
}

/// An `f32` widened to 64 bits would print as 0.9900000095367432, so its own short form is parsed back.
fn shorten(value: &mut Value) {
    match value {
        Value::Float(number) if f64::from(*number as f32) == *number => {
            *number = (*number as f32).to_string().parse().expect("a printed number parses");
        }
        Value::Table(table) => table.iter_mut().for_each(|(_, inner)| shorten(inner)),
        Value::Array(items) => items.iter_mut().for_each(shorten),
        _ => {}
    }
}

/// Tables are merged key by key, everything else is replaced; so is a choice whose `kind` changes, with all its data.
pub fn merge_tables(base: &mut Table, layer: &Table) {
    for (key, value) in layer {
        match (base.get_mut(key), value) {
            (Some(Value::Table(inner)), Value::Table(overlay)) => {
                let is_another = |kind| overlay.get("kind").is_some_and(|other| other != kind);
                if inner.get("kind").is_some_and(is_another) {
                    inner.clear();
                }
                merge_tables(inner, overlay);
            }
            _ => {
                base.insert(key.clone(), value.clone());
            }
        }
    }
}

/// Dotted key → value, for every value of a table.
pub fn flatten_table(table: &Table) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for (key, value) in table {
        match value {
            Value::Table(inner) => {
                found.extend(flatten_table(inner).into_iter().map(|(rest, value)| (format!("{key}.{rest}"), value)));
            }
            other => {
                found.insert(key.clone(), other.to_string());
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preset::Preset;
    use proptest::prelude::*;

    fn paper(agent: &str) -> RunConfig {
        Preset::Paper.config("boxing", agent).unwrap()
    }

    fn set(agent: &str, assignments: &[&str]) -> Result<RunConfig, ConfigError> {
        let mut layers = Layers::default();
        for text in assignments {
            layers.assignment(text)?;
        }
        layers.apply(&paper(agent))
    }

    #[test]
    fn an_assignment_changes_its_key_and_nothing_else() {
        let config = set("eps-greedy", &["learner.gamma=0.5", "learner.exploration.epsilon.last = 0.01"]).unwrap();
        let changed = differences(&paper("eps-greedy"), &config);
        let expected = ["learner.exploration.epsilon.last", "learner.gamma"];
        assert_eq!(changed.keys().map(String::as_str).collect::<Vec<_>>(), expected);
        assert_eq!(changed["learner.gamma"], ("0.99".to_owned(), "0.5".to_owned()));
    }

    #[test]
    fn words_need_no_quotes() {
        let config = set("sane", &["world.profile=machado", "learner.exploration.module.sigma=softplus"]).unwrap();
        assert_eq!(flat(&config)["world.profile"], "\"machado\"");
    }

    #[test]
    fn an_unknown_key_gets_a_suggestion() {
        let cases = [("gamma=0.5", "learner.gamma"), ("training.train_perod=2", "training.train_period")];
        for (text, meant) in cases {
            let error = set("sane", &[text]).unwrap_err().to_string();
            assert!(error.contains(&format!("did you mean {meant}?")), "{error}");
        }
    }

    #[test]
    fn a_key_of_another_agent_and_a_wrong_type_are_refused() {
        for text in ["learner.exploration.epsilon.last=0.1", "learner.gamma=high", "seed=-1"] {
            assert!(matches!(set("sane", &[text]), Err(ConfigError::Unreadable { .. })), "{text}");
        }
        assert!(matches!(set("sane", &["gamma"]), Err(ConfigError::NotAnAssignment { .. })));
    }

    proptest! {
        #[test]
        fn a_resolved_configuration_survives_its_file(rate in 1e-9_f64..1e3, gamma in 0.0_f32..1.0, seed in 0..i64::MAX as u64) {
            let mut config = paper("q-sane");
            config.learner.optimiser.learning_rate = rate;
            config.learner.gamma = gamma;
            config.seed = seed;
            prop_assert_eq!(from_toml(&to_toml(&config), Path::new("config.toml")).unwrap(), config);
        }
    }
}
