//! The project read as text: what the tests in `tests/` ask of the sources, the manifests and the documents.
#![forbid(unsafe_code)]

use std::fs;
use std::path::{Path, PathBuf};

/// A text file of the project.
pub struct Text {
    /// Path relative to the project's root, with `/`.
    pub path: String,
    /// Its content.
    pub content: String,
}

/// The project's root folder.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the root of the project exists")
}

/// Every file below `folder` (relative to the root) whose name ends with one of `endings`, in order of path.
pub fn texts(folder: &str, endings: &[&str]) -> Vec<Text> {
    let root = root();
    let mut found = Vec::new();
    collect(&root.join(folder), endings, &mut found);
    found.sort();
    found
        .into_iter()
        .map(|path| {
            let content = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            let path = path.strip_prefix(&root).expect("below the root").to_string_lossy().replace('\\', "/");
            Text { path, content }
        })
        .collect()
}

/// The sources of all crates but this one, whose texts speak about the rules themselves.
pub fn sources() -> Vec<Text> {
    texts("crates", &[".rs"]).into_iter().filter(|text| !text.path.starts_with("crates/tidy/")).collect()
}

/// One file of the project.
pub fn text(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn collect(folder: &Path, endings: &[&str], found: &mut Vec<PathBuf>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if path.is_dir() {
            if name != "target" && !name.starts_with('.') {
                collect(&path, endings, found);
            }
        } else if endings.iter().any(|ending| name.ends_with(ending)) {
            found.push(path);
        }
    }
}
