//! The paper stays visible: tags and deviations say the same in code and in the documents.

use std::collections::{BTreeMap, BTreeSet};

/// Every `[SANE:tag]` in the sources, with the files that hold it.
fn tags_in_code() -> BTreeMap<String, Vec<String>> {
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for text in sane_tidy::sources() {
        for rest in text.content.split("[SANE:").skip(1) {
            let tag = rest.split(']').next().expect("split gives at least one part").to_owned();
            found.entry(tag).or_default().push(text.path.clone());
        }
    }
    found
}

/// The rows of the table in `docs/paper-to-code.md`, as cells.
fn rows() -> Vec<Vec<String>> {
    sane_tidy::text("docs/paper-to-code.md")
        .lines()
        .filter(|line| line.starts_with("| `"))
        .map(|line| line.trim_matches('|').split(" | ").map(|cell| cell.trim().to_owned()).collect())
        .collect()
}

fn in_backticks(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

#[test]
fn each_tag_of_the_page_stands_exactly_once_in_code_and_the_other_way_round() {
    let code = tags_in_code();
    let page: BTreeSet<String> = rows().iter().flat_map(|row| in_backticks(&row[0])).map(str::to_owned).collect();
    assert!(!page.is_empty(), "docs/paper-to-code.md has no rows");
    for (tag, files) in &code {
        assert_eq!(files.len(), 1, "[SANE:{tag}] stands in {files:?}");
        assert!(page.contains(tag), "[SANE:{tag}] of {} has no row in docs/paper-to-code.md", files[0]);
    }
    for tag in &page {
        assert!(code.contains_key(tag), "docs/paper-to-code.md: no code carries [SANE:{tag}]");
    }
}

#[test]
fn each_test_that_the_page_names_exists() {
    let functions: BTreeSet<String> = sane_tidy::sources()
        .iter()
        .flat_map(|text| text.content.split("fn ").skip(1))
        .map(|rest| rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect())
        .collect();
    for row in rows() {
        let proof = row.last().expect("a row has cells");
        assert!(!in_backticks(proof).is_empty(), "docs/paper-to-code.md: {} names no test", row[0]);
        for test in in_backticks(proof) {
            assert!(functions.contains(test), "docs/paper-to-code.md: {} names the test `{test}`", row[0]);
        }
    }
}

#[test]
fn each_deviation_marked_in_code_is_explained() {
    let page = sane_tidy::text("docs/deviations.md").to_lowercase();
    for text in sane_tidy::sources() {
        for rest in text.content.split("DEVIATION(").skip(1) {
            let name = rest.split(')').next().expect("split gives at least one part");
            let section = page.lines().any(|line| line.starts_with('#') && line.trim_start_matches('#').trim() == name);
            assert!(section, "{}: DEVIATION({name}) has no section in docs/deviations.md", text.path);
        }
    }
}
