//! The arrows between the crates, read off the manifests.

use std::collections::{BTreeMap, BTreeSet};

/// Who may know whom. `cli` and `python` may know all.
const ARROWS: [(&str, &[&str]); 16] = [
    ("env", &[]),
    ("vcs", &["env"]),
    ("arcade", &["env", "vcs"]),
    ("minigames", &["env"]),
    ("gym", &["arcade", "env"]),
    ("nn", &[]),
    ("replay", &["env"]),
    ("agent", &["env", "nn", "replay"]),
    ("record", &[]),
    ("stats", &[]),
    ("lab", &["agent", "arcade", "env", "gym", "minigames", "nn", "record", "replay", "stats", "vcs"]),
    ("suite", &["env", "lab", "record", "stats"]),
    ("report", &["record", "stats"]),
    ("watch", &["record", "report", "stats"]),
    ("fuzzing", &["agent", "arcade", "env", "gym", "lab", "minigames", "record", "report", "suite", "vcs"]),
    ("tidy", &[]),
];

fn manifests() -> BTreeMap<String, toml::Table> {
    sane_tidy::texts("crates", &["Cargo.toml"])
        .into_iter()
        .map(|text| {
            let name = text.path.split('/').nth(1).expect("crates/<name>/Cargo.toml").to_owned();
            (name, text.content.parse().unwrap_or_else(|error| panic!("{}: {error}", text.path)))
        })
        .collect()
}

fn dependencies(manifest: &toml::Table, tables: &[&str]) -> BTreeSet<String> {
    tables.iter().filter_map(|table| manifest.get(*table)?.as_table()).flat_map(|table| table.keys().cloned()).collect()
}

#[test]
fn every_crate_knows_only_those_it_may_know() {
    let allowed: BTreeMap<_, _> = ARROWS.into_iter().collect();
    for (name, manifest) in manifests() {
        if ["cli", "python"].contains(&name.as_str()) {
            continue;
        }
        let may_know = allowed.get(name.as_str()).unwrap_or_else(|| panic!("crates/{name} has no row in ARROWS"));
        for dependency in dependencies(&manifest, &["dependencies", "dev-dependencies", "build-dependencies"]) {
            if let Some(other) = dependency.strip_prefix("sane-") {
                assert!(may_know.contains(&other), "{name} must not know {other}");
            }
        }
    }
}

#[test]
fn every_declared_dependency_is_used() {
    let mut unused = Vec::new();
    for (name, manifest) in manifests() {
        let sources: String =
            sane_tidy::texts(&format!("crates/{name}"), &[".rs"]).into_iter().map(|text| text.content).collect();
        for dependency in dependencies(&manifest, &["dependencies", "dev-dependencies"]) {
            // The library name of md-5 is md5; all others follow the rule.
            let library = if dependency == "md-5" { "md5".to_owned() } else { dependency.replace('-', "_") };
            if !sources.contains(&library) {
                unused.push(format!("crates/{name}: {dependency}"));
            }
        }
    }
    assert!(unused.is_empty(), "declared and not used: {unused:?}");
}

#[test]
fn every_crate_takes_version_lints_and_dependencies_from_the_workspace() {
    for (name, manifest) in manifests() {
        let inherits = |table: &toml::Value| table.get("workspace").and_then(toml::Value::as_bool) == Some(true);
        assert!(inherits(&manifest["lints"]), "crates/{name} has lints of its own");
        assert!(inherits(&manifest["package"]["version"]), "crates/{name} has a version of its own");
        for table in ["dependencies", "dev-dependencies"] {
            for (dependency, value) in manifest.get(table).and_then(toml::Value::as_table).into_iter().flatten() {
                assert!(inherits(value), "crates/{name}: {dependency} is not taken from the workspace");
            }
        }
    }
}

#[test]
fn every_crate_has_its_must_not_know_sentence() {
    let architecture = sane_tidy::text("docs/ARCHITECTURE.md");
    for name in manifests().keys() {
        let row = architecture
            .lines()
            .find(|line| line.starts_with(&format!("| `{name}` |")))
            .unwrap_or_else(|| panic!("docs/ARCHITECTURE.md has no row for `{name}`"));
        assert!(3 < row.matches('|').count(), "docs/ARCHITECTURE.md: the row of `{name}` lacks its sentence");
    }
}
