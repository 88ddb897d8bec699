//! A run's resolved configuration as dotted keys, and which of them may differ between runs that are averaged.

use crate::ReportError;
use std::collections::BTreeMap;
use std::path::Path;
use toml::Value;

/// Dotted key → value, as in the run's `config.toml`.
pub type Settings = BTreeMap<String, String>;

/// Runs that differ in one of these are shown in separate sections.
const SECTION_KEYS: [&str; 4] = ["training.", "replay.", "world.profile", "learner.network."];

/// Keys that may differ within one agent of a section: tables are over seeds and worlds, and records never change a result.
const FREE_KEYS: [&str; 4] = ["agent", "seed", "world.name", "record."];

/// The configuration in `text`, which was read from `path`.
pub fn parse(text: &str, path: &Path) -> Result<Settings, ReportError> {
    let table: toml::Table = text.parse().map_err(|error: toml::de::Error| ReportError::Config {
        path: path.into(),
        reason: error.message().replace('\n', " "),
    })?;
    let mut settings = Settings::new();
    flatten("", &table, &mut settings);
    Ok(settings)
}

/// The part of the settings that decides a run's section.
pub fn section_part(settings: &Settings) -> Settings {
    part(settings, is_section_key)
}

/// The part of the settings that distinguishes variants of one agent.
pub fn variant_part(settings: &Settings) -> Settings {
    part(settings, |key| !is_section_key(key) && !matches(key, &FREE_KEYS))
}

/// The keys whose values are not the same in all of these settings.
pub fn differing_keys<'a>(all: impl IntoIterator<Item = &'a Settings> + Clone) -> Vec<String> {
    let mut keys: Vec<&String> = all.clone().into_iter().flat_map(|settings| settings.keys()).collect();
    keys.sort();
    keys.dedup();
    let agree = |key: &String| {
        let mut values = all.clone().into_iter().map(|settings| settings.get(key));
        let first = values.next().flatten();
        values.all(|value| value == first)
    };
    keys.into_iter().filter(|key| !agree(key)).cloned().collect()
}

fn is_section_key(key: &str) -> bool {
    matches(key, &SECTION_KEYS)
}

/// A pattern that ends in a dot matches all keys below it.
fn matches(key: &str, patterns: &[&str]) -> bool {
    patterns.iter().any(|pattern| if pattern.ends_with('.') { key.starts_with(pattern) } else { key == *pattern })
}

fn part(settings: &Settings, wanted: impl Fn(&str) -> bool) -> Settings {
    settings.iter().filter(|(key, _)| wanted(key)).map(|(key, value)| (key.clone(), value.clone())).collect()
}

fn flatten(prefix: &str, table: &toml::Table, settings: &mut Settings) {
    for (key, value) in table {
        let key = format!("{prefix}{key}");
        match value {
            Value::Table(inner) => flatten(&format!("{key}."), inner, settings),
            Value::String(text) => drop(settings.insert(key, text.clone())),
            other => drop(settings.insert(key, other.to_string())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(text: &str) -> Settings {
        parse(text, Path::new("config.toml")).unwrap()
    }

    #[test]
    fn a_different_budget_is_another_section_and_a_different_learning_rate_another_variant() {
        let base =
            "seed = 1\nagent = 'sane'\n[training]\ntotal_interactions = 5\n[learner.optimiser]\nlearning_rate = 0.1\n";
        let (first, seed) = (settings(base), settings(&base.replace("seed = 1", "seed = 2")));
        assert_eq!((section_part(&first), variant_part(&first)), (section_part(&seed), variant_part(&seed)));
        let budget = settings(&base.replace("= 5", "= 6"));
        assert_ne!(section_part(&first), section_part(&budget));
        assert_eq!(variant_part(&first), variant_part(&budget));
        let rate = settings(&base.replace("0.1", "0.2"));
        assert_eq!(section_part(&first), section_part(&rate));
        assert_eq!(differing_keys([&first, &rate]), ["learner.optimiser.learning_rate"]);
    }

    #[test]
    fn a_key_that_only_one_side_has_differs() {
        assert_eq!(differing_keys([&settings("a = 1"), &settings("a = 1\nb = 2")]), ["b"]);
    }

    #[test]
    fn a_file_that_is_no_toml_is_named() {
        let error = parse("seed = ", Path::new("runs/x/config.toml")).unwrap_err().to_string();
        assert!(error.starts_with("runs/x/config.toml: "), "{error}");
    }
}
