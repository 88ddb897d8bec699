//! A run's resolved configuration as dotted keys, and which of them may differ between runs that are averaged.

use crate::ReportError;
use sane_stats::number_format::grouped;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use toml::Value;

/// Dotted key → value, as in the run's `config.toml`.
pub type Settings = BTreeMap<String, String>;

/// Runs that differ in one of these are shown in separate sections.
const SECTION_KEYS: [&str; 4] = ["training.", "replay.", "world.profile", "learner.network."];

/// The key of the budget.
pub const BUDGET: &str = "training.total_interactions";

/// As many values of one setting make a sweep.
pub const SWEEP: usize = 3;

/// Keys that tell no runs apart: tables are over seeds and worlds, and neither records nor evaluations change what is learnt.
const FREE_KEYS: [&str; 5] = ["agent", "seed", "world.name", "record.", "training.evaluat"];

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

/// Whether the key can decide a run's section.
pub fn is_section_key(key: &str) -> bool {
    matches(key, &SECTION_KEYS) && !matches(key, &FREE_KEYS)
}

/// Whether the key can distinguish variants of one agent within a section.
pub fn is_variant_key(key: &str) -> bool {
    !matches(key, &SECTION_KEYS) && !matches(key, &FREE_KEYS)
}

/// Keys of a section that runs of one agent in one world were swept over: three numbers or more. They make variants, not
/// sections; a budget never does.
pub fn swept_keys<'a>(runs: impl Iterator<Item = (&'a str, &'a str, &'a Settings)>) -> BTreeSet<String> {
    let mut values: BTreeMap<(&str, &str, &str), BTreeSet<&str>> = BTreeMap::new();
    for (world, agent, settings) in runs {
        for (key, value) in settings.iter().filter(|(key, _)| is_section_key(key) && *key != BUDGET) {
            values.entry((key, world, agent)).or_default().insert(value);
        }
    }
    let is_sweep =
        |values: &BTreeSet<&str>| SWEEP <= values.len() && values.iter().all(|value| value.parse::<f64>().is_ok());
    values.into_iter().filter(|(_, values)| is_sweep(values)).map(|((key, ..), _)| key.to_owned()).collect()
}

/// Whether the key can change what a run learns.
pub fn is_result_key(key: &str) -> bool {
    !matches(key, &FREE_KEYS)
}

/// A value as people read it: whole numbers with their thousands separated.
pub fn readable(value: &str) -> String {
    value.parse().map_or_else(|_| value.to_owned(), grouped)
}

/// A key as labels show it: its last part, or its last two where one says too little.
pub fn short_key(key: &str) -> &str {
    const TOO_SHORT: usize = 6;
    const SAY_LITTLE: [&str; 1] = ["epsilon"];
    let last = key.rfind('.').map_or(0, |dot| dot + 1);
    if TOO_SHORT <= key.len() - last && !SAY_LITTLE.contains(&&key[last..]) {
        return &key[last..];
    }
    let two = key[..last.saturating_sub(1)].rfind('.').map_or(0, |dot| dot + 1);
    let general = ["learner.", "exploration.", "training."].into_iter();
    general.filter_map(|prefix| key[two..].strip_prefix(prefix)).next().unwrap_or(&key[two..])
}

/// The part of the settings that decides a run's section, where `swept` make variants.
pub fn section_part(settings: &Settings, swept: &BTreeSet<String>) -> Settings {
    part(settings, |key| is_section_key(key) && !swept.contains(key))
}

/// The part of the settings that distinguishes variants of one agent within a section, those `swept` among them.
pub fn variant_part(settings: &Settings, swept: &BTreeSet<String>) -> Settings {
    part(settings, |key| is_variant_key(key) || swept.contains(key))
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

/// Whether the key is one of these, or begins with one that has a dot.
fn matches(key: &str, patterns: &[&str]) -> bool {
    patterns.iter().any(|pattern| if pattern.contains('.') { key.starts_with(pattern) } else { key == *pattern })
}

/// The settings whose keys are wanted.
pub fn part(settings: &Settings, wanted: impl Fn(&str) -> bool) -> Settings {
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

    fn section_part(settings: &Settings) -> Settings {
        super::section_part(settings, &BTreeSet::new())
    }

    fn variant_part(settings: &Settings) -> Settings {
        super::variant_part(settings, &BTreeSet::new())
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
    fn a_short_key_says_what_it_is_of() {
        for (key, short) in [
            ("learner.optimiser.learning_rate", "learning_rate"),
            ("learner.optimiser.epsilon", "optimiser.epsilon"),
            ("learner.exploration.epsilon.last", "epsilon.last"),
            ("learner.gamma", "gamma"),
            ("training.total_interactions", "total_interactions"),
            ("preset", "preset"),
        ] {
            assert_eq!(short_key(key), short);
        }
    }

    #[test]
    fn evaluations_while_training_and_records_tell_no_runs_apart() {
        for key in ["seed", "record.interval", "training.evaluate_every", "world.name"] {
            assert!(!is_result_key(key) && !is_section_key(key) && !is_variant_key(key), "{key}");
        }
        assert!(is_section_key("training.batch_size") && is_variant_key("world.sticky") && is_result_key("agents"));
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
