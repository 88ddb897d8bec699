//! The suites of this repository: each can be read, and the documentation has each with its number of runs.

use sane_suite::Suite;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Path in the repository → number of runs.
fn shipped() -> BTreeMap<String, usize> {
    let entries = fs::read_dir(repository().join("suites")).expect("the folder of suites");
    let paths = entries.map(|entry| entry.expect("a file").path()).filter(|path| path.extension().is_some());
    let read = |path: PathBuf| {
        let suite = Suite::read(&path).unwrap_or_else(|error| panic!("{error}"));
        (format!("suites/{}", path.file_name().unwrap().to_string_lossy()), suite.runs.len())
    };
    paths.map(read).collect()
}

/// The table of `docs/suites.md`: names in the first column, numbers of runs in the last, in the same order.
fn documented() -> BTreeMap<String, usize> {
    let page = fs::read_to_string(repository().join("docs/suites.md")).expect("the page");
    let mut found = BTreeMap::new();
    for row in page.lines().filter(|line| line.starts_with("| `suites/")) {
        let cells: Vec<&str> = row.trim_matches('|').split(" | ").collect();
        let names = cells[0].split('`').filter(|part| part.starts_with("suites/"));
        let counts = cells[cells.len() - 1].split(',').map(|count| {
            let digits = count.trim().split(' ').next().unwrap_or_default();
            digits.parse::<usize>().unwrap_or_else(|_| panic!("no number of runs: {row}"))
        });
        let (names, counts): (Vec<&str>, Vec<usize>) = (names.collect(), counts.collect());
        assert_eq!(names.len(), counts.len(), "a number of runs for each suite: {row}");
        found.extend(names.into_iter().map(str::to_owned).zip(counts));
    }
    found
}

#[test]
fn every_shipped_suite_can_be_read_and_is_documented_with_its_number_of_runs() {
    assert_eq!(documented(), shipped());
}
