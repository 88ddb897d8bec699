//! Run folders below given folders: the one definition of what a run folder is and which folders are searched.

use crate::RecordError;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// How to search for run folders. The default finds the current runs at any depth and fails if a root cannot be listed.
///
/// A run folder holds `config.toml` or `events.jsonl`; nothing below it is searched. Folders whose names begin with a
/// dot are left out, and a folder that several paths lead to is visited once. A folder below a root that cannot be listed
/// is passed over and named in the result.
#[derive(Debug, Clone, Copy)]
pub struct RunSearch {
    /// Whether folders that `sane train --fresh` moved aside are searched, too.
    pub moved_aside: bool,
    /// Levels below a root that are searched.
    pub max_depth: usize,
    /// Whether symbolic links below a root are followed.
    pub follow_links: bool,
    /// Whether roots that cannot be listed are left out, too.
    pub skip_unreadable: bool,
}

/// What a search found.
#[derive(Debug, Default)]
pub struct FoundRuns {
    /// Run folders, sorted by their canonical path; the value is the path through its root.
    pub folders: BTreeMap<PathBuf, PathBuf>,
    /// Folders below the roots that could not be listed.
    pub unreadable: Vec<RecordError>,
}

impl Default for RunSearch {
    fn default() -> Self {
        Self { moved_aside: false, max_depth: usize::MAX, follow_links: true, skip_unreadable: false }
    }
}

impl RunSearch {
    /// Run folders at or below `roots`.
    pub fn find(&self, roots: &[PathBuf]) -> Result<FoundRuns, RecordError> {
        self.find_where(roots, |_| true)
    }

    /// As [`find`](Self::find), entering only folders whose canonical path `admits`.
    pub fn find_where(&self, roots: &[PathBuf], admits: impl Fn(&Path) -> bool) -> Result<FoundRuns, RecordError> {
        let mut walk = Walk { search: self, admits, visited: BTreeSet::new(), found: FoundRuns::default() };
        roots.iter().try_for_each(|root| walk.visit(root, 0))?;
        Ok(walk.found)
    }
}

/// Whether the folder's name is one that `sane train --fresh` gives to a run it moves aside, as `seed-1.old-2`.
pub fn is_moved_aside(folder: &Path) -> bool {
    let name = folder.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    name.rsplit_once(".old-").is_some_and(|(_, number)| number.parse::<u32>().is_ok())
}

struct Walk<'a, F> {
    search: &'a RunSearch,
    admits: F,
    visited: BTreeSet<PathBuf>,
    found: FoundRuns,
}

impl<F: Fn(&Path) -> bool> Walk<'_, F> {
    fn visit(&mut self, folder: &Path, depth: usize) -> Result<(), RecordError> {
        let listed = fs::canonicalize(folder).and_then(|real| {
            if !(self.admits)(&real) || !self.visited.insert(real.clone()) {
                return Ok(None);
            }
            fs::read_dir(&real).map(|entries| Some((real, entries)))
        });
        let (real, entries) = match listed {
            Ok(Some(listed)) => listed,
            Ok(None) => return Ok(()),
            Err(source) => {
                let error = RecordError::Io { doing: "list", path: folder.into(), source };
                if depth == 0 && !self.search.skip_unreadable {
                    return Err(error);
                }
                self.found.unreadable.push(error);
                return Ok(());
            }
        };
        let mut inner = Vec::new();
        for entry in entries.flatten() {
            let name = entry.file_name();
            if name == "config.toml" || name == "events.jsonl" {
                self.found.folders.insert(real, folder.into());
                return Ok(());
            }
            let path = entry.path();
            let is_folder = match self.search.follow_links {
                true => path.is_dir(),
                false => entry.file_type().is_ok_and(|kind| kind.is_dir()),
            };
            let is_hidden = name.to_string_lossy().starts_with('.');
            if !is_hidden && is_folder && (self.search.moved_aside || !is_moved_aside(&path)) {
                inner.push(name);
            }
        }
        if depth < self.search.max_depth {
            inner.sort();
            inner.iter().try_for_each(|name| self.visit(&folder.join(name), depth + 1))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(runs: &[&str]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for run in runs {
            let folder = root.path().join(run);
            fs::create_dir_all(&folder).unwrap();
            fs::write(folder.join("config.toml"), "").unwrap();
        }
        root
    }

    fn check_found(search: RunSearch, root: &Path, expected: &[&str]) {
        let found = search.find(&[root.into()]).unwrap().folders;
        let relative: Vec<&str> =
            found.values().map(|path| path.strip_prefix(root).unwrap().to_str().unwrap()).collect();
        assert_eq!(relative, expected);
    }

    #[test]
    fn runs_are_found_at_any_depth_and_in_order() {
        let root = tree(&["b/seed-1", "a/x/seed-2", "a/x/seed-1", ".hidden/seed-1"]);
        fs::create_dir_all(root.path().join("c/seed-1")).unwrap();
        fs::write(root.path().join("c/seed-1/events.jsonl"), "").unwrap();
        check_found(RunSearch::default(), root.path(), &["a/x/seed-1", "a/x/seed-2", "b/seed-1", "c/seed-1"]);
        check_found(RunSearch { max_depth: 2, ..RunSearch::default() }, root.path(), &["b/seed-1", "c/seed-1"]);
    }

    #[test]
    fn runs_that_were_moved_aside_are_found_on_request_or_when_named() {
        let root = tree(&["seed-1", "seed-1.old-1"]);
        check_found(RunSearch::default(), root.path(), &["seed-1"]);
        check_found(RunSearch { moved_aside: true, ..RunSearch::default() }, root.path(), &["seed-1", "seed-1.old-1"]);
        assert_eq!(RunSearch::default().find(&[root.path().join("seed-1.old-1")]).unwrap().folders.len(), 1);
        assert!(!is_moved_aside(Path::new("seed-1.old-")) && !is_moved_aside(Path::new("seed-1.older-1")));
    }

    #[test]
    fn a_missing_folder_is_an_error_unless_unreadable_ones_are_skipped() {
        let root = tree(&["a"]);
        let roots = [root.path().into(), root.path().join("missing")];
        let error = RunSearch::default().find(&roots).unwrap_err();
        assert!(error.to_string().starts_with("cannot list ") && error.to_string().contains("missing"), "{error}");
        let search = RunSearch { skip_unreadable: true, ..RunSearch::default() };
        let found = search.find(&roots).unwrap();
        assert_eq!((found.folders.len(), found.unreadable.len()), (1, 1));
    }

    #[cfg(unix)]
    #[test]
    fn a_run_that_several_paths_lead_to_is_found_once_and_a_loop_of_links_ends() {
        let root = tree(&["runs/a/seed-1", "runs/b", "elsewhere/c"]);
        let runs = root.path().join("runs");
        std::os::unix::fs::symlink(runs.join("b"), runs.join("same")).unwrap();
        std::os::unix::fs::symlink(&runs, runs.join("a/round")).unwrap();
        std::os::unix::fs::symlink(root.path().join("elsewhere"), runs.join("outside")).unwrap();
        let roots = [runs.clone(), runs.join("b")];
        assert_eq!(RunSearch::default().find(&roots).unwrap().folders.len(), 3);
        let unlinked =
            RunSearch { follow_links: false, ..RunSearch::default() }.find(std::slice::from_ref(&runs)).unwrap();
        assert_eq!(unlinked.folders.into_values().collect::<Vec<_>>(), [runs.join("a/seed-1"), runs.join("b")]);
        let real = fs::canonicalize(&runs).unwrap();
        let inside = RunSearch::default().find_where(&roots, |folder| folder.starts_with(&real)).unwrap();
        assert_eq!(inside.folders.into_values().collect::<Vec<_>>(), [runs.join("a/seed-1"), runs.join("b")]);
    }
}
