//! Which run folders there are now. Folders appear and vanish during the search: one that cannot be listed is left out.

use crate::fence::Fence;
use sane_record::RunSearch;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// Limits the cost of a search that is repeated every few seconds and may be pointed at a whole disk.
const MAX_DEPTH: usize = 8;

/// Run folders inside the fence: canonical path → the path as a person would name it.
pub fn discover(fence: &Fence) -> BTreeMap<PathBuf, String> {
    let search = RunSearch { max_depth: MAX_DEPTH, skip_unreadable: true, ..RunSearch::default() };
    let roots: Vec<PathBuf> = fence.roots().iter().map(|root| root.named.clone()).collect();
    let found = search.find_where(&roots, |folder| fence.admit(folder).is_ok()).unwrap_or_default();
    found.into_iter().map(|(real, named)| (real, named.display().to_string())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

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
