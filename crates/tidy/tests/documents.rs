//! The documents: every link leads somewhere, and every page is part of the book.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

/// The targets of all Markdown links and images of a text, outside code blocks and code spans.
fn links(content: &str) -> Vec<String> {
    let mut in_block = false;
    let mut found = Vec::new();
    for line in content.lines() {
        if line.trim_start().starts_with("```") {
            in_block = !in_block;
        }
        if in_block {
            continue;
        }
        // Every second piece between backticks is code.
        let prose: String = line
            .split('`')
            .enumerate()
            .map(|(i, piece)| if i % 2 == 0 { piece.to_owned() } else { "x".repeat(piece.len()) })
            .collect();
        for rest in prose.split("](").skip(1) {
            found.push(rest.split(')').next().expect("split gives at least one part").to_owned());
        }
    }
    found
}

fn is_relative(target: &str) -> bool {
    !target.is_empty() && !target.contains("://") && !target.starts_with("mailto:")
}

/// `a/b/../c` as `a/c`.
fn normalised(path: &Path) -> PathBuf {
    let mut parts = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                parts.pop();
            }
            Component::CurDir => {}
            part => parts.push(part),
        }
    }
    parts
}

/// The anchors of a page: its headings in lower case, without punctuation, with hyphens for spaces.
fn anchors(content: &str) -> BTreeSet<String> {
    let mut in_block = false;
    let mut found = BTreeSet::new();
    for line in content.lines() {
        if line.starts_with("```") {
            in_block = !in_block;
        }
        if !in_block && line.starts_with('#') {
            let heading = line.trim_start_matches('#').trim().to_lowercase();
            let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
            found.insert(kept.map(|c| if c == ' ' { '-' } else { c }).collect());
        }
    }
    found
}

#[test]
fn each_relative_link_leads_to_a_file_and_a_heading_that_exist() {
    for text in sane_tidy::texts("", &[".md"]) {
        let folder = Path::new(&text.path).parent().expect("a file has a folder");
        for target in links(&text.content).into_iter().filter(|target| is_relative(target)) {
            let (file, anchor) = target.split_once('#').unwrap_or((&target, ""));
            let path = if file.is_empty() { PathBuf::from(&text.path) } else { normalised(&folder.join(file)) };
            let place = sane_tidy::root().join(&path);
            assert!(place.exists(), "{}: the link to {target} leads nowhere", text.path);
            if !anchor.is_empty() && path.extension().is_some_and(|extension| extension == "md") {
                let known = anchors(&sane_tidy::text(&path.to_string_lossy()));
                assert!(known.contains(anchor), "{}: {} has no heading #{anchor}", text.path, path.display());
            }
        }
    }
}

/// Paths to files and folders of the project in code spans: `crates/lab/src/train.rs`, or `lab/src/train.rs` for short.
fn code_paths(content: &str) -> Vec<&str> {
    let spans = content.lines().flat_map(|line| line.split('`').skip(1).step_by(2));
    let is_path = |span: &&str| {
        let plain = span.chars().all(|c| c.is_ascii_alphanumeric() || "/_.-".contains(c));
        plain
            && (span.starts_with("crates/")
                || span.starts_with("tools/")
                || (span.ends_with(".rs") && span.contains('/')))
    };
    spans.filter(is_path).collect()
}

/// The dated notes speak of the files of their day.
#[test]
fn each_path_of_the_project_that_a_document_names_exists() {
    for text in sane_tidy::texts("", &[".md"]).iter().filter(|text| !text.path.starts_with("docs/notes/")) {
        for path in code_paths(&text.content) {
            let exists = ["", "crates/"].iter().any(|start| sane_tidy::root().join(format!("{start}{path}")).exists());
            assert!(exists, "{} names {path}, which does not exist", text.path);
        }
    }
}

#[test]
fn each_page_is_in_the_table_of_contents_once() {
    let listed: Vec<String> =
        links(&sane_tidy::text("docs/SUMMARY.md")).into_iter().filter(|l| !l.is_empty()).collect();
    let once: BTreeSet<&String> = listed.iter().collect();
    assert_eq!(once.len(), listed.len(), "docs/SUMMARY.md lists a page twice");
    for text in sane_tidy::texts("docs", &[".md"]) {
        let page = text.path.strip_prefix("docs/").expect("below docs/").to_owned();
        assert!(page == "SUMMARY.md" || once.contains(&page), "docs/SUMMARY.md does not list {page}");
    }
}
