//! Runs that a fresh start set aside: how they are marked, and which of them may be deleted.
//!
//! A folder is a run of ours that was set aside if it says so itself: it holds the marker that `sane train --fresh` wrote,
//! which names the folder it was and the identity of its configuration. A name that ends in `.old-N` is not enough.

use crate::LabError;
use crate::folder::read_config;
use crate::identity::RunIdentity;
use crate::lock::FolderLock;
use crate::machine::unix_seconds;
use crate::runs::disk_bytes;
use sane_record::{Disk, RunSearch, is_moved_aside, read_plain_text, replace_file};
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::{Path, PathBuf};

/// File that marks a run that was set aside.
pub(crate) const MARKER: &str = "set-aside.toml";

/// A larger file is no marker.
const LARGEST_MARKER_BYTES: u64 = 4096;

/// Files and folders that a run and the commands that read it write into its folder.
const OWN_NAMES: [&str; 23] = [
    "checkpoints",
    "config.toml",
    "config.toml.new",
    "evaluating",
    "evaluations.jsonl",
    "evaluations_in_training.jsonl",
    "events.jsonl",
    "film.bin",
    "film.gif",
    "film.gif.new",
    "film.mp4",
    "film.new",
    "job.json",
    "lease",
    "lock",
    "log.txt",
    "origin.toml",
    "origin.toml.new",
    "risk",
    MARKER,
    "tensorboard",
    "timings.jsonl",
    "traces",
];

/// Beginnings of temporary files.
const OWN_BEGINNINGS: [&str; 4] = ["lease.", "lock.no-file-", "job.json.new-", "set-aside.toml.new"];

/// Beginnings of the files in `checkpoints` and `tensorboard`.
const OWN_INSIDE: [&str; 6] = ["checkpoint-", "best-", "body-", "replay-", "new-", "events.out.tfevents"];

/// The content of [`MARKER`].
#[derive(Debug, Serialize, Deserialize)]
struct Marker {
    /// Name that the folder had.
    name: String,
    /// Digest of its settings; none if its configuration could not be read.
    identity: Option<String>,
    unix_seconds: u64,
}

/// A folder that looks like a run that was set aside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OldRun {
    pub folder: PathBuf,
    /// Bytes of all its files.
    pub bytes: u64,
    /// Why it may not be deleted; none if it may.
    pub kept_because: Option<String>,
}

/// The folders below `root` whose name is that of a run set aside by a fresh start. Symbolic links below `root` are not
/// followed.
pub fn find_old_runs(root: &Path) -> Result<Vec<OldRun>, LabError> {
    let search = RunSearch { moved_aside: true, follow_links: false, ..RunSearch::default() };
    let found = search.find(&[root.into()])?.folders.into_values();
    let old = found.filter(|folder| is_moved_aside(folder));
    Ok(old.map(|folder| OldRun { bytes: disk_bytes(&folder), kept_because: reason_to_keep(&folder), folder }).collect())
}

/// Marks the run in `folder` as set aside and renames it, so that its name is free for a new one.
pub(crate) fn move_aside(disk: &dyn Disk, folder: &Path) -> Result<PathBuf, LabError> {
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let aside = (1..)
        .map(|number| folder.with_file_name(format!("{name}.old-{number}")))
        .find(|aside| fs::symlink_metadata(aside).is_err())
        .expect("numbers do not run out");
    let identity = read_config(folder).ok().map(|config| RunIdentity::of(&config).digest);
    let marker = Marker { name, identity, unix_seconds: unix_seconds() };
    let text = toml::to_string(&marker).expect("a marker is plain data");
    let path = folder.join(MARKER);
    replace_file(disk, &path.with_added_extension("new"), &path, &[text.as_bytes()])
        .map_err(LabError::io("write", &path))?;
    disk.rename(folder, &aside).map_err(LabError::io("move aside", folder))?;
    let parent = aside.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
    disk.sync_names(parent).map_err(LabError::io("sync", parent))?;
    Ok(aside)
}

fn reason_to_keep(folder: &Path) -> Option<String> {
    let Ok(marker) = read_marker(folder) else {
        return Some(format!("it has no {MARKER}, so `sane train --fresh` did not set it aside"));
    };
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    if name.rsplit_once(".old-").map(|(before, _)| before) != Some(&marker.name) {
        return Some(format!("it was renamed: {} was set aside", marker.name));
    }
    let identity = read_config(folder).ok().map(|config| RunIdentity::of(&config).digest);
    if identity != marker.identity {
        return Some("its config.toml is not that of the run that was set aside".into());
    }
    if let Some(holder) = FolderLock::holder(folder) {
        return Some(format!("it is in use by {holder}"));
    }
    foreign_entry(folder).map(|name| format!("it holds {name}, which no run writes"))
}

fn read_marker(folder: &Path) -> Result<Marker, ()> {
    let text = read_plain_text(&folder.join(MARKER), LARGEST_MARKER_BYTES).map_err(drop)?;
    toml::from_str(&text).map_err(drop)
}

/// The first entry that is not of a run: another name, or a link out of it.
fn foreign_entry(folder: &Path) -> Option<String> {
    let is_own = |name: &str| OWN_NAMES.contains(&name) || OWN_BEGINNINGS.iter().any(|own| name.starts_with(own));
    entries(folder).find_map(|(name, kind)| {
        let inside = folder.join(&name);
        if !is_own(&name) || kind.is_symlink() {
            return Some(name);
        }
        if !kind.is_dir() {
            return None;
        }
        let foreign = entries(&inside).find(|(file, kind)| match &name[..] {
            "checkpoints" | "tensorboard" => !kind.is_file() || !OWN_INSIDE.iter().any(|own| file.starts_with(own)),
            // Galleries, films, audits and traces, under names of the user's choice.
            "risk" | "traces" => kind.is_symlink(),
            _ => true,
        });
        foreign.map(|(file, _)| format!("{name}/{file}"))
    })
}

fn entries(folder: &Path) -> impl Iterator<Item = (String, fs::FileType)> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| Some((entry.file_name().to_string_lossy().into_owned(), entry.file_type().ok()?)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preset::Preset;
    use sane_record::RealDisk;

    /// A run folder of files that need not be valid but for its configuration.
    fn run(root: &Path, name: &str) -> PathBuf {
        let folder = root.join(name);
        fs::create_dir_all(folder.join("checkpoints")).unwrap();
        let config = Preset::DeepSea.config("deep-sea/10", "sane").unwrap();
        fs::write(folder.join("config.toml"), crate::to_toml(&config)).unwrap();
        fs::write(folder.join("checkpoints/checkpoint-000000000000.toml"), "").unwrap();
        folder
    }

    fn reason(root: &Path) -> Option<String> {
        let old = find_old_runs(root).unwrap();
        assert_eq!(old.len(), 1, "{old:?}");
        old[0].kept_because.clone()
    }

    fn check_kept(harm: impl Fn(&Path), said: &str) {
        let root = tempfile::tempdir().unwrap();
        let aside = move_aside(&RealDisk, &run(root.path(), "seed-1")).unwrap();
        assert_eq!(reason(root.path()), None);
        harm(&aside);
        let reason = reason(root.path()).expect("it is kept");
        assert!(reason.contains(said), "{reason}");
    }

    #[test]
    fn only_a_run_that_says_it_was_set_aside_may_be_deleted() {
        check_kept(|aside| fs::remove_file(aside.join(MARKER)).unwrap(), "did not set it aside");
        check_kept(|aside| fs::write(aside.join("notes.txt"), "mine").unwrap(), "it holds notes.txt");
        check_kept(|aside| fs::write(aside.join("checkpoints/thesis.tex"), "").unwrap(), "checkpoints/thesis.tex");
        check_kept(|aside| fs::write(aside.join("config.toml"), "a = 1").unwrap(), "not that of the run");
        check_kept(|aside| fs::create_dir(aside.join("seed-2")).unwrap(), "it holds seed-2");
        check_kept(|aside| std::os::unix::fs::symlink("/", aside.join("risk")).unwrap(), "it holds risk");
        check_kept(|aside| fs::write(aside.join(MARKER), "name = 'other'\nunix_seconds = 1\n").unwrap(), "renamed");
    }

    #[test]
    fn a_link_to_a_run_elsewhere_is_not_followed() {
        let (root, elsewhere) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        let aside = move_aside(&RealDisk, &run(elsewhere.path(), "seed-1")).unwrap();
        std::os::unix::fs::symlink(&aside, root.path().join("seed-1.old-1")).unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), root.path().join("outside")).unwrap();
        assert!(find_old_runs(root.path()).unwrap().is_empty());
    }

    #[test]
    fn each_fresh_start_finds_a_free_name() {
        let root = tempfile::tempdir().unwrap();
        let names: Vec<PathBuf> = (0..2).map(|_| move_aside(&RealDisk, &run(root.path(), "seed-1")).unwrap()).collect();
        assert_eq!(names, [root.path().join("seed-1.old-1"), root.path().join("seed-1.old-2")]);
        assert!(find_old_runs(root.path()).unwrap().iter().all(|old| old.kept_because.is_none() && 0 < old.bytes));
    }
}
