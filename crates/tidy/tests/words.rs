//! Words: a reader who knows reinforcement learning and Rust never has to translate. These were used once and have a standard word.

/// What to write instead. Whole words; those in lower case are found in any case.
const RETIRED: [(&str, &str); 24] = [
    ("way forth", "forward pass"),
    ("way back", "backward pass"),
    ("open door", "extension point"),
    ("goes on", "continues, resumes"),
    ("go_on", "resume"),
    ("wish to stop", "stop signal"),
    ("without a goodbye", "exited without a stop record"),
    ("did not suffice", "not run (compute budget)"),
    ("by turns", "interleaved, alternately"),
    ("in vain", "no gain"),
    ("for nothing", "no gain"),
    ("to the letter", "identical"),
    ("it is not there", "missing"),
    ("whoever", "the thing itself"),
    ("nobody", "the passive, or the thing itself"),
    ("somebody", "the thing itself"),
    ("glance", "sample"),
    ("Deed", "Subcommand"),
    ("Crew", "SchedulerOptions"),
    ("Picturing", "Resize"),
    ("NoRoom", "OverBudget"),
    ("News", "Event, Update"),
    ("Stopwatch", "Timer"),
    ("Does it.", "one true sentence, or no comment"),
];

/// Everything a reader reads, but for this crate, which lists the words.
fn texts() -> Vec<sane_tidy::Text> {
    let mut texts = sane_tidy::texts("crates", &[".rs", ".md", ".py", ".js", ".html"]);
    texts.extend(sane_tidy::texts("python", &[".py", ".pyi"]));
    texts.extend(sane_tidy::texts("docs", &[".md"]));
    texts.extend(sane_tidy::texts("suites", &[".toml"]));
    texts.extend(sane_tidy::texts("tools", &[".py", ".sh"]));
    let in_root = ["README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md"];
    texts.extend(in_root.map(|path| sane_tidy::Text { path: path.into(), content: sane_tidy::text(path) }));
    texts.retain(|text| !text.path.starts_with("crates/tidy/"));
    texts
}

/// Whether `line` has `word` with no letter, digit or `_` beside it.
fn has_word(line: &str, word: &str) -> bool {
    let is_part = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    line.match_indices(word).any(|(start, _)| {
        !is_part(line[..start].chars().next_back()) && !is_part(line[start + word.len()..].chars().next())
    })
}

#[test]
fn no_text_uses_a_retired_word() {
    let mut found = Vec::new();
    for text in texts() {
        for (i, line) in text.content.lines().enumerate() {
            let lower = line.to_lowercase();
            for (word, instead) in RETIRED {
                let line = if word.chars().any(char::is_uppercase) { line } else { &lower };
                if has_word(line, word) {
                    found.push(format!("{}:{}: `{word}`; write: {instead}", text.path, i + 1));
                }
            }
        }
    }
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

#[test]
fn words_are_found_whole() {
    assert!(has_word("the way back.", "way back") && has_word("enum Deed {", "Deed"));
    assert!(
        !has_word("indeed", "Deed") && !has_word("a_life_go_on_b", "go_on") && !has_word("by turnstile", "by turns")
    );
}
