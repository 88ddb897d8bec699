//! Which run folders there are now. Folders come and go while one looks: what cannot be listed is passed over.

use crate::fence::Fence;
use sane_report::is_moved_aside;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Folders nested deeper than this hold no runs; it keeps a walk over a whole disk short.
const DEEPEST: usize = 8;

/// Run folders inside the fence: where they really are → how a person would name them.
pub fn discover(fence: &Fence) -> BTreeMap<PathBuf, String> {
    let mut found = BTreeMap::new();
    for root in fence.roots() {
        walk(fence, &root.real, &root.named, 0, &mut found);
    }
    found
}

fn walk(fence: &Fence, folder: &Path, named: &Path, depth: usize, found: &mut BTreeMap<PathBuf, String>) {
    let Ok(real) = fence.admit(folder) else { return };
    let Ok(entries) = fs::read_dir(&real) else { return };
    let mut inner = Vec::new();
    for entry in entries.flatten() {
        let name = entry.file_name();
        if name == "config.toml" || name == "events.jsonl" {
            found.entry(real).or_insert_with(|| named.display().to_string());
            return;
        }
        let is_hidden = name.to_string_lossy().starts_with('.');
        if !is_hidden && entry.path().is_dir() && !is_moved_aside(&entry.path()) {
            inner.push(name);
        }
    }
    if depth < DEEPEST {
        inner.sort();
        inner.iter().for_each(|name| walk(fence, &real.join(name), &named.join(name), depth + 1, found));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_run_is_found_once_and_none_outside_or_moved_aside() {
        let root = tempfile::tempdir().unwrap();
        let run = |name: &str| {
            let folder = root.path().join(name);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("config.toml"), "").unwrap();
            folder
        };
        run("runs/a/seed-1");
        run("runs/b");
        run("runs/b.old-1");
        let outside = run("elsewhere/c");
        let runs = root.path().join("runs");
        std::os::unix::fs::symlink(outside, runs.join("outside")).unwrap();
        std::os::unix::fs::symlink(runs.join("b"), runs.join("same")).unwrap();
        std::os::unix::fs::symlink(&runs, runs.join("a/round")).unwrap();
        let fence = Fence::around(&[runs.clone(), runs.join("b")]).unwrap();
        let names: Vec<String> = discover(&fence).into_values().collect();
        let short: Vec<&str> = names.iter().map(|name| name.rsplit_once("runs/").unwrap().1).collect();
        assert_eq!(short.len(), 2, "{short:?}");
        assert!(short.iter().any(|name| name.ends_with("seed-1")) && short.iter().any(|name| name.ends_with('b')));
    }
}
