//! Rules that a machine can see: where `unsafe` may stand, how long a file may be, what no file may say.

/// The files of `nn` that may use `unsafe`.
const KERNELS: &str = "crates/nn/src/kernels";

/// A file is one idea, as long as the idea is. A file beyond this length almost certainly holds two.
const MOST_LINES: usize = 1000;

fn code_lines(content: &str) -> impl Iterator<Item = &str> {
    content.lines().filter(|line| !line.trim_start().starts_with("//"))
}

fn says_unsafe(line: &str) -> bool {
    line.split(|c: char| !(c.is_alphanumeric() || c == '_')).any(|word| word == "unsafe")
}

#[test]
fn unsafe_stands_in_the_kernels_alone() {
    for text in sane_tidy::sources() {
        if !text.path.starts_with(KERNELS) {
            assert!(!code_lines(&text.content).any(says_unsafe), "{} uses unsafe", text.path);
        }
    }
}

#[test]
fn every_unsafe_block_states_its_argument() {
    for text in sane_tidy::sources().iter().filter(|text| text.path.starts_with(KERNELS)) {
        let lines: Vec<&str> = text.content.lines().collect();
        for (i, line) in lines.iter().enumerate() {
            if line.trim_start().starts_with("//") || !line.contains("unsafe {") {
                continue;
            }
            let argued = lines[i.saturating_sub(6)..=i].iter().any(|near| near.contains("SAFETY:"));
            let argued = argued || argued_for_the_whole_impl(&lines[..i]);
            assert!(argued, "{}:{}: an unsafe block without its SAFETY argument", text.path, i + 1);
        }
    }
}

/// One argument may serve all methods of an `impl` if it stands right before it and says so.
fn argued_for_the_whole_impl(before: &[&str]) -> bool {
    let start = before.iter().rposition(|line| line.trim_start().starts_with("impl "));
    start.is_some_and(|start| {
        before[start.saturating_sub(3)..start].iter().any(|near| near.contains("SAFETY of every block below"))
    })
}

#[test]
fn every_crate_but_nn_forbids_unsafe() {
    for text in sane_tidy::texts("crates", &["src/lib.rs", "src/main.rs", "lib.rs", "main.rs"]) {
        let is_root = text.path.ends_with("/src/lib.rs") || text.path.ends_with("/src/main.rs");
        if is_root && !text.path.starts_with("crates/nn/") {
            assert!(text.content.contains("#![forbid(unsafe_code)]"), "{} does not forbid unsafe code", text.path);
        }
    }
}

/// Crates whose numbers reach a run's bytes.
const COMPUTING: [&str; 8] = ["agent", "arcade", "env", "lab", "minigames", "nn", "replay", "vcs"];

/// Methods of `std` whose last bit the standard library leaves to the platform.
const PLATFORM_DEPENDENT: [&str; 21] = [
    "exp", "exp2", "exp_m1", "ln", "ln_1p", "log", "log2", "log10", "powf", "powi", "cbrt", "hypot", "sin", "cos",
    "tan", "asin", "acos", "atan", "atan2", "sinh", "tanh",
];

#[test]
fn no_run_depends_on_the_mathematical_library_of_the_platform() {
    for text in COMPUTING.iter().flat_map(|name| sane_tidy::texts(&format!("crates/{name}/src"), &[".rs"])) {
        let without_tests = text.content.split("#[cfg(test)]").next().unwrap_or_default();
        if text.path.ends_with("tests.rs") {
            continue;
        }
        for line in code_lines(without_tests) {
            for method in PLATFORM_DEPENDENT {
                assert!(
                    !line.contains(&format!(".{method}(")),
                    "{}: use libm instead of .{method}(): {line}",
                    text.path
                );
            }
        }
    }
}

#[test]
fn no_source_file_holds_a_second_idea() {
    for text in sane_tidy::sources() {
        let lines = text.content.lines().count();
        assert!(lines <= MOST_LINES, "{} has {lines} lines", text.path);
    }
}

#[test]
fn every_source_file_says_at_its_top_what_it_is() {
    for text in sane_tidy::sources() {
        assert!(text.content.starts_with("//!"), "{} does not begin with //!", text.path);
    }
}

#[test]
fn nothing_is_left_unfinished_or_skipped() {
    for text in sane_tidy::sources() {
        for word in ["todo!(", "unimplemented!(", "#[ignore", "FIXME", "XXX", "for now", "simplified"] {
            assert!(!text.content.contains(word), "{} says {word}", text.path);
        }
    }
}
