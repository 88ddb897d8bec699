//! A configuration in layers: preset, then a file, then single assignments. Keys are dotted names; what no layer mentions
//! stays as the preset has it. Each value knows the layer it came from.

use super::dotted::{flatten_table, merge_tables, table_of_one, value_at};
use super::{ConfigError, RunConfig, keys};
use sane_env::closest_name;
use sane_stats::number_format::parse_count;
use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use toml::de::{DeTable, DeValue};
use toml::{Table, Value};

/// Assignments on top of a preset, later ones win.
#[derive(Debug, Clone, Default)]
pub struct Layers {
    layers: Vec<Layer>,
}

/// What gave a setting its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SettingOrigin {
    /// The preset, for this world and agent.
    Preset,
    /// The world: its name, or what suits its frames.
    World,
    /// A file given as `--config`.
    File,
    /// `--set`.
    Set,
    /// Another flag, such as `--steps`.
    Flag(&'static str),
    /// A suite file.
    Suite,
}

impl SettingOrigin {
    /// As `origin.toml` and `sane config show` name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Preset => "preset",
            Self::World => "world",
            Self::File => "file",
            Self::Set => "--set",
            Self::Flag(name) => name,
            Self::Suite => "suite",
        }
    }
}

impl fmt::Display for SettingOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Assignments of one origin.
#[derive(Debug, Clone)]
struct Layer {
    origin: SettingOrigin,
    /// Where they are written, for errors: the path of a file, `--set KEY=VALUE`.
    place: String,
    /// The text of a file, in which errors name the line.
    text: Option<String>,
    table: Table,
}

/// Keys whose values differ: key → (in the first, in the second), `-` where one has no such key.
pub type Differences = BTreeMap<String, (String, String)>;

impl Layers {
    /// Adds a TOML file.
    pub fn file(&mut self, path: &Path) -> Result<(), ConfigError> {
        let read = |source| ConfigError::Read { path: PathBuf::from(path), source };
        let text = fs::read_to_string(path).map_err(read)?;
        let place = path.display().to_string();
        let table: Table = text.parse().map_err(|error: toml::de::Error| {
            let line = error.span().map_or(1, |span| line_at(&text, span.start));
            unreadable(&format!("{place}:{line}"), &error, None)
        })?;
        self.add(Layer { origin: SettingOrigin::File, place, text: Some(text), table })
    }

    /// Adds one `key=value` given with `--set`; a value that is no TOML is taken as a string.
    pub fn assignment(&mut self, text: &str) -> Result<(), ConfigError> {
        self.assignment_from(SettingOrigin::Set, text)
    }

    /// Adds one `key=value` of this origin.
    pub fn assignment_from(&mut self, origin: SettingOrigin, text: &str) -> Result<(), ConfigError> {
        let (key, value) = text.split_once('=').ok_or_else(|| ConfigError::NotAnAssignment { text: text.into() })?;
        let (key, value) = (key.trim(), value.trim());
        let place = format!("--set {key}={value}");
        let as_is = format!("{key} = {value}").parse::<Table>();
        let table = match as_is {
            Ok(table) => table,
            Err(_) => {
                let quoted = format!("{key} = {}", Value::from(value));
                quoted.parse().map_err(|error| unreadable(&place, &error, None))?
            }
        };
        self.add(Layer { origin, place, text: None, table })
    }

    /// Adds the assignments of a table of a suite; `place` names where it was written, for errors.
    pub fn table(&mut self, place: String, table: Table) -> Result<(), ConfigError> {
        self.add(Layer { origin: SettingOrigin::Suite, place, text: None, table })
    }

    /// The value some layer gives this key, as a string.
    pub fn get(&self, key: &str) -> Option<String> {
        let found = |layer: &Layer| value_at(&layer.table, key)?.as_str().map(str::to_owned);
        self.layers.iter().rev().find_map(found)
    }

    /// The configuration that results on top of `base`, checked.
    pub fn apply(&self, base: &RunConfig) -> Result<RunConfig, ConfigError> {
        let mut table = to_table(base);
        let mut config = base.clone();
        for layer in &self.layers {
            let before = table.clone();
            merge_tables(&mut table, &with_counts(&layer.table, &before));
            config = table.clone().try_into().map_err(|error| layer.refused(&before, &error))?;
        }
        config.check().map_err(|error| self.at_its_place(error))?;
        Ok(config)
    }

    /// The origin of every key of the configuration that these layers made of `base`, by dotted key.
    pub fn origins(&self, base: &RunConfig, config: &RunConfig) -> BTreeMap<String, SettingOrigin> {
        let assigned: Vec<(SettingOrigin, BTreeMap<String, String>)> =
            self.layers.iter().map(|layer| (layer.origin, flatten_table(&layer.table))).collect();
        let before = flat(base);
        let origin = |key: &String| {
            // A choice that became another one brings keys that no layer mentions.
            let choice = key.rsplit_once('.').map(|(parent, _)| format!("{parent}.kind"));
            let choice = choice.filter(|_| !before.contains_key(key));
            let sets = |keys: &BTreeMap<String, String>| {
                keys.contains_key(key) || choice.as_ref().is_some_and(|choice| keys.contains_key(choice))
            };
            assigned.iter().rev().find(|(_, keys)| sets(keys)).map_or(SettingOrigin::Preset, |(origin, _)| *origin)
        };
        flat(config).into_keys().map(|key| (key.clone(), origin(&key))).collect()
    }

    /// Adds a layer whose keys all exist.
    fn add(&mut self, layer: Layer) -> Result<(), ConfigError> {
        for key in flatten_table(&layer.table).into_keys() {
            let is_known = keys().iter().any(|known| known.name == key) || key.starts_with("world.kwargs.");
            if !is_known {
                let last = key.rsplit('.').next().unwrap_or_default();
                let names = || keys().iter().map(|known| known.name);
                // `--set gamma=…` means learner.gamma: a last part that fits exactly wins over a similar whole.
                let suggestion =
                    names().find(|name| name.rsplit('.').next() == Some(last)).or_else(|| closest_name(&key, names()));
                return Err(ConfigError::UnknownKey { place: layer.place_of(&key), key, suggestion });
            }
        }
        self.layers.push(layer);
        Ok(())
    }

    /// A value out of range, with the line of the file that gives it, if a file does.
    fn at_its_place(&self, error: ConfigError) -> ConfigError {
        let Some(key) = error.key() else { return error };
        let owner = self.layers.iter().rev().find(|layer| value_at(&layer.table, &key).is_some());
        match owner.filter(|layer| layer.text.is_some()) {
            Some(layer) => ConfigError::At { place: layer.place_of(&key), source: Box::new(error) },
            None => error,
        }
    }
}

impl Layer {
    /// Where this key is written.
    fn place_of(&self, key: &str) -> String {
        match &self.text {
            Some(text) => format!("{}:{}", self.place, line_of(text, key)),
            None => self.place.clone(),
        }
    }

    /// The error of a value of this layer that cannot be read on top of `before`: names the key and what is expected of it.
    fn refused(&self, before: &Table, error: &toml::de::Error) -> ConfigError {
        let alone = |key: &String| {
            let one = table_of_one(key, value_at(&self.table, key)?.clone());
            let mut table = before.clone();
            merge_tables(&mut table, &with_counts(&one, before));
            table.try_into::<RunConfig>().err()
        };
        let keys: Vec<String> = flatten_table(&self.table).into_keys().collect();
        match keys.iter().find_map(|key| Some((key, alone(key)?))) {
            Some((key, error)) => unreadable(&self.place_of(key), &error, Some(key)),
            None => unreadable(&self.place, error, keys.first().filter(|_| keys.len() == 1).map(String::as_str)),
        }
    }
}

/// The layer with its counts as numbers: where `base` has a whole number, `200k`, `1e6` and `1_000` are one, too.
fn with_counts(layer: &Table, base: &Table) -> Table {
    let count = |value: &Value| {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Float(number) if number.fract() == 0.0 => format!("{number:.0}"),
            _ => return None,
        };
        parse_count(&text).ok().and_then(|count| i64::try_from(count).ok())
    };
    let convert = |(key, value): (&String, &Value)| {
        let value = match (base.get(key), value) {
            (Some(Value::Table(below)), Value::Table(inner)) => Value::Table(with_counts(inner, below)),
            (Some(Value::Integer(_)), other) => count(other).map_or_else(|| other.clone(), Value::Integer),
            _ => value.clone(),
        };
        (key.clone(), value)
    };
    layer.iter().map(convert).collect()
}

/// The line, from 1, of a dotted key in a file, or of the innermost table on its path that the file has.
fn line_of(text: &str, key: &str) -> usize {
    let Ok(document) = DeTable::parse(text) else { return 1 };
    let mut table = document.get_ref();
    let mut offset = 0;
    for part in key.split('.') {
        let Some((name, value)) = table.iter().find(|(name, _)| name.get_ref() == part) else { break };
        offset = name.span().start;
        match value.get_ref() {
            DeValue::Table(inner) => table = inner,
            _ => break,
        }
    }
    line_at(text, offset)
}

fn line_at(text: &str, offset: usize) -> usize {
    1 + text.as_bytes()[..offset.min(text.len())].iter().filter(|&&byte| byte == b'\n').count()
}

/// The configuration as a TOML document.
pub fn to_toml(config: &RunConfig) -> String {
    toml::to_string(&to_table(config)).expect("a configuration is plain data")
}

/// A configuration from a TOML document written by [`to_toml`].
pub fn from_toml(text: &str, place: &Path) -> Result<RunConfig, ConfigError> {
    let config: RunConfig = toml::from_str(text).map_err(|error| {
        let line = error.span().map_or(1, |span| line_at(text, span.start));
        unreadable(&format!("{}:{line}", place.display()), &error, None)
    })?;
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

/// A value of the wrong type, with what is expected of its key.
fn unreadable(place: &str, error: &toml::de::Error, key: Option<&str>) -> ConfigError {
    let mut reason = error.message().replace('\n', " ");
    for (type_name, words) in [
        ("expected f32", "expected a number"),
        ("expected f64", "expected a number"),
        ("expected usize", "expected a whole number"),
        ("expected u64", "expected a whole number"),
        ("expected u32", "expected a whole number"),
        ("unknown variant", "unknown value"),
    ] {
        reason = reason.replace(type_name, words);
    }
    if let Some(known) = key.and_then(|key| keys().iter().find(|known| known.name == key)) {
        reason = format!("{reason}; {} is {}", known.name, known.meaning);
    }
    ConfigError::Unreadable { place: place.into(), reason }
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
    fn whole_numbers_are_read_as_people_write_them_wherever_a_whole_number_is_expected() {
        let texts = ["training.total_interactions=1e6", "replay.capacity=200k", "training.learning_starts=1_000"];
        let config = set("sane", &texts).unwrap();
        let training = &config.training;
        assert_eq!((training.total_interactions.0, config.replay.capacity), (1_000_000, 200_000));
        assert_eq!(training.learning_starts.0, 1_000);
        let said = set("sane", &["replay.capacity=20.5k k"]).unwrap_err().to_string();
        assert!(
            said.starts_with("--set replay.capacity=20.5k k: ") && said.contains("transitions remembered"),
            "{said}"
        );
    }

    #[test]
    fn errors_in_a_file_name_the_line_and_the_key() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("my.toml");
        let said = |text: &str| {
            fs::write(&path, text).unwrap();
            let mut layers = Layers::default();
            layers.file(&path).and_then(|()| layers.apply(&paper("sane"))).unwrap_err().to_string()
        };
        let cases = [
            ("seed = 3\n\n[learner]\ngamma = 'high'\n", "my.toml:4: ", "learner.gamma is discount"),
            ("seed = 3\n[learner]\ngama = 0.5\n", "my.toml:3", "did you mean learner.gamma?"),
            ("seed = 3\nlearner.gamma = 0.5 0.6\n", "my.toml:2: ", "expected"),
            ("# length\n[training]\ntrain_period = 0\n", "my.toml:3: ", "training.train_period = 0 is not possible"),
            ("[learner.optimiser]\nlearning_rate = -1.0\n", "my.toml:2: ", "optimiser.learning_rate = -1"),
            ("[learner.exploration]\nsigma_0 = 0.5\n", "my.toml:2: ", "sigma_0"),
        ];
        for (text, place, expected) in cases {
            let said = said(text);
            assert!(said.contains(place) && said.contains(expected), "{text}: {said}");
        }
    }

    #[test]
    fn every_value_knows_where_it_comes_from() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("my.toml");
        fs::write(&path, "seed = 3\n[learner]\ngamma = 0.5\n").unwrap();
        let mut layers = Layers::default();
        layers.file(&path).unwrap();
        layers.assignment("learner.objective={kind = 'elbo', kl_weight = 0.1}").unwrap();
        layers.assignment_from(SettingOrigin::Flag("--seed"), "seed=4").unwrap();
        let base = paper("sane");
        let origins = layers.origins(&base, &layers.apply(&base).unwrap());
        let expected = [
            ("seed", "--seed"),
            ("learner.gamma", "file"),
            ("learner.double_q", "preset"),
            ("learner.objective.kind", "--set"),
            ("learner.objective.kl_weight", "--set"),
        ];
        for (key, origin) in expected {
            assert_eq!(origins[key].name(), origin, "{key}");
        }
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
