//! The dependencies: licences that may be passed on with this project, one registry, no version twice without a reason.
//! Read off `cargo metadata --locked`, which fetches only what this machine lacks. `deny.toml` says the same to cargo-deny.

use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

/// Licences whose terms are met by keeping their text. MPL-2.0 (`option-ext`, behind `dirs`) asks for changes to its own files alone.
const LICENCES: [&str; 8] =
    ["Apache-2.0", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "MIT", "MPL-2.0", "Unicode-3.0", "Zlib"];

/// Crates of which two versions are linked, and who asks for the older one. Each is small, and none can be chosen here.
const TWICE: [(&str, &str); 4] = [
    ("embedded-io", "postcard lists both for optional features; neither is linked"),
    ("hashbrown", "safetensors has not moved to the version of indexmap (behind zip) yet"),
    ("miniz_oxide", "png, behind tiny-skia, has not moved to the version of flate2 yet"),
    ("signal-hook", "crossterm has not moved to 0.4 yet"),
];

/// Crates whose maintainers have given them up (RUSTSEC, "unmaintained"), or that were absorbed by the standard library.
const UNMAINTAINED: [&str; 22] = [
    "ansi_term",
    "atomic-polyfill",
    "atty",
    "backoff",
    "bincode",
    "derivative",
    "dirs-sys-next",
    "failure",
    "fxhash",
    "instant",
    "json",
    "mach",
    "net2",
    "number_prefix",
    "paste",
    "proc-macro-error",
    "ring-compat",
    "rustc-serialize",
    "serde_cbor",
    "serde_yaml",
    "stdweb",
    "yaml-rust",
];

/// Every package that is built on this platform, for any of the crates.
fn packages() -> Vec<Value> {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".into());
    let run = |arguments: &[&str]| {
        let output = Command::new(&cargo).args(arguments).current_dir(sane_tidy::root()).output().expect("cargo runs");
        assert!(output.status.success(), "cargo {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("cargo prints UTF-8")
    };
    let version = run(&["--version", "--verbose"]);
    let host = version.lines().find_map(|line| line.strip_prefix("host: ")).expect("cargo names its host").to_owned();
    let metadata = run(&["metadata", "--format-version", "1", "--locked", "--filter-platform", &host]);
    let metadata: Value = serde_json::from_str(&metadata).expect("metadata is JSON");
    metadata["packages"].as_array().expect("packages are a list").clone()
}

fn text<'a>(package: &'a Value, key: &str) -> &'a str {
    package[key].as_str().unwrap_or_default()
}

/// Whether an SPDX expression can be met with the allowed licences. `/` is an older way to write `OR`.
fn is_allowed(expression: &str) -> bool {
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = words.as_slice();
    let allowed = any_of(&mut rest);
    allowed && rest.is_empty()
}

fn any_of(words: &mut &[&str]) -> bool {
    let mut allowed = all_of(words);
    while words.first() == Some(&"OR") {
        *words = &words[1..];
        allowed |= all_of(words);
    }
    allowed
}

fn all_of(words: &mut &[&str]) -> bool {
    let mut allowed = one(words);
    while words.first() == Some(&"AND") {
        *words = &words[1..];
        allowed &= one(words);
    }
    allowed
}

fn one(words: &mut &[&str]) -> bool {
    let Some((&first, after)) = words.split_first() else { return false };
    *words = after;
    if first == "(" {
        let allowed = any_of(words);
        *words = words.get(1..).unwrap_or_default(); // the closing bracket
        return allowed;
    }
    if words.first() == Some(&"WITH") {
        // An exception grants more than the licence alone.
        *words = words.get(2..).unwrap_or_default();
    }
    LICENCES.contains(&first)
}

#[test]
fn licence_expressions_are_read_as_spdx_means_them() {
    for allowed in [
        "MIT",
        "GPL-3.0 OR MIT",
        "MIT/Apache-2.0",
        "(MIT OR GPL-3.0) AND Unicode-3.0",
        "Apache-2.0 WITH LLVM-exception",
    ] {
        assert!(is_allowed(allowed), "{allowed}");
    }
    for refused in ["", "GPL-3.0", "MIT AND GPL-3.0", "(MIT OR Apache-2.0) AND GPL-3.0"] {
        assert!(!is_allowed(refused), "{refused}");
    }
}

#[test]
fn every_dependency_has_a_permissive_licence_and_comes_from_the_registry() {
    for package in packages() {
        let name = format!("{} {}", text(&package, "name"), text(&package, "version"));
        assert!(is_allowed(text(&package, "license")), "{name}: licence {}", package["license"]);
        let source = &package["source"];
        let is_from_a_registry = source.as_str().is_some_and(|source| source.starts_with("registry+"));
        assert!(source.is_null() || is_from_a_registry, "{name} comes from {source}");
    }
}

#[test]
fn no_crate_is_linked_in_two_versions_but_the_listed_ones() {
    let mut versions: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for package in packages() {
        versions.entry(text(&package, "name").into()).or_default().insert(text(&package, "version").into());
    }
    for (name, versions) in versions.iter().filter(|(_, versions)| 1 < versions.len()) {
        assert!(TWICE.iter().any(|(known, _)| known == name), "{name} is linked as {versions:?}");
    }
}

#[test]
fn every_exception_is_still_needed() {
    let packages = packages();
    for (name, _) in TWICE {
        let versions: BTreeSet<&str> = packages
            .iter()
            .filter(|package| text(package, "name") == name)
            .map(|package| text(package, "version"))
            .collect();
        assert!(1 < versions.len(), "{name} is linked as {versions:?}: it needs no exception");
    }
}

#[test]
fn no_unmaintained_crate_is_in_the_lock_file() {
    for lock in ["Cargo.lock", "fuzz/Cargo.lock"] {
        let lock: toml::Table = sane_tidy::text(lock).parse().expect("a lock file is TOML");
        for package in lock["package"].as_array().expect("packages are a list") {
            let name = package["name"].as_str().expect("a name");
            assert!(!UNMAINTAINED.contains(&name), "{name} is unmaintained");
        }
    }
}
