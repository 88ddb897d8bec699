//! The identity of a run: the part of its resolved configuration that determines what it computes. Every checkpoint carries
//! that of its run, so that it is never continued, evaluated or exported as another.

use crate::config::{Differences, RunConfig, differing, flat, flatten_table, from_toml, to_toml};
use std::collections::BTreeMap;
use std::path::Path;

/// Keys that may change when a run is resumed: they set its length, what is measured and what is saved, not
/// what is learned.
pub(crate) const FREE_KEYS: [&str; 6] = [
    "training.total_interactions",
    "training.evaluate_every",
    "record.checkpoint_interval",
    "record.film_interval",
    "world.python",
    "world.timeout_seconds",
];

/// The identity of a run.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RunIdentity {
    /// The whole resolved configuration, for people and for comparing key by key.
    pub text: String,
    /// BLAKE3 of all settings but the free ones, in hexadecimal.
    pub digest: String,
    settings: BTreeMap<String, String>,
}

impl RunIdentity {
    pub fn of(config: &RunConfig) -> Self {
        let settings = flat(config);
        Self { text: to_toml(config), digest: digest(&settings), settings }
    }

    /// The digest of the configuration in `text`; none if it is not TOML.
    pub fn digest_of(text: &str) -> Option<String> {
        Some(digest(&flatten_table(&text.parse().ok()?)))
    }

    /// The keys in which the configuration in `text` is that of another run: what it says, and what this run has. Settings
    /// that its program did not know have their default values.
    pub fn differences(&self, text: &str) -> Differences {
        let there = match from_toml(text, Path::new("checkpoint")) {
            Ok(config) => flat(&config),
            // A way of exploring of one's own is known by name only.
            Err(_) => text.parse().map(|table| flatten_table(&table)).unwrap_or_default(),
        };
        let mut differences = differing(&there, &self.settings);
        differences.retain(|key, _| !FREE_KEYS.contains(&key.as_str()));
        differences
    }
}

fn digest(settings: &BTreeMap<String, String>) -> String {
    let mut digest = blake3::Hasher::new();
    for (key, value) in settings.iter().filter(|(key, _)| !FREE_KEYS.contains(&key.as_str())) {
        digest.update(format!("{key} = {value}\n").as_bytes());
    }
    digest.finalize().to_hex().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preset::Preset;
    use sane_env::AgentSteps;

    #[test]
    fn every_setting_but_the_free_ones_is_part_of_the_identity() {
        let config = Preset::Minatar.config("minatar/breakout", "sane").unwrap();
        let own = RunIdentity::of(&config);
        assert_eq!(RunIdentity::digest_of(&own.text).as_ref(), Some(&own.digest));
        let free: [fn(&mut RunConfig); 5] = [
            |config| config.training.evaluate_every = AgentSteps(7),
            |config| config.training.evaluate_every = AgentSteps(0),
            |config| config.training.total_interactions = AgentSteps(7),
            |config| config.record.checkpoint_interval = AgentSteps(7),
            |config| config.record.film_interval = 7,
        ];
        for change in free {
            let mut changed = config.clone();
            change(&mut changed);
            let other = RunIdentity::of(&changed);
            assert!(other.digest == own.digest && own.differences(&other.text).is_empty() && other.text != own.text);
        }
        let bound: [fn(&mut RunConfig); 6] = [
            |config| config.seed = 7,
            |config| config.world.name = "minatar/asterix".into(),
            |config| config.training.train_period = AgentSteps(7),
            |config| config.record.interval = AgentSteps(7),
            |config| config.replay.capacity = 7_777,
            |config| config.learner.gamma = 0.7,
        ];
        for change in bound {
            let mut changed = config.clone();
            change(&mut changed);
            let other = RunIdentity::of(&changed);
            assert!(other.digest != own.digest && own.differences(&other.text).len() == 1, "{}", other.text);
        }
    }

    #[test]
    fn a_setting_that_an_older_program_did_not_know_has_its_default() {
        let config = Preset::Minatar.config("minatar/breakout", "sane").unwrap();
        let own = RunIdentity::of(&config);
        let older: String = own
            .text
            .lines()
            .filter(|line| !line.starts_with("film_interval"))
            .map(|line| format!("{line}\n"))
            .collect();
        assert_ne!(older, own.text);
        assert!(own.differences(&older).is_empty());
    }
}
