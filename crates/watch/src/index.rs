//! The index of all runs: a thread checks their files once a second and publishes the rows that changed.

use crate::path_guard::PathGuard;
use crate::row::Row;
use crate::run_state::{Evidence, Locks, RunState};
use crate::sample::{Depth, RunSample, sample};
use sane_record::{EVALUATIONS_IN_TRAINING, RunSearch};
use sane_report::{Agent, RecordedRun, read_run_config};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};
use tokio::sync::watch;

/// Limits the cost of a search that is repeated every few seconds and may be pointed at a whole disk.
const MAX_DEPTH: usize = 8;

/// Time between two searches for new runs; known runs are checked in every pass.
const SEARCH_PERIOD: Duration = Duration::from_secs(4);

/// Reading many runs for the first time waits for the disk more than for the processor.
const READING_THREADS: usize = 4;

/// A configuration has a few thousand.
const MOST_CONFIG_BYTES: u64 = 1 << 20;

/// The files whose change makes a run read again.
const READ_FILES: [&str; 4] = ["config.toml", "events.jsonl", "timings.jsonl", EVALUATIONS_IN_TRAINING];

/// The current rows of all runs, with versions, so that clients receive only what changed.
#[derive(Debug)]
pub struct Index {
    guard: PathGuard,
    rows: Mutex<Rows>,
    latest: watch::Sender<u64>,
}

/// Rows with the version in which each of them changed last.
#[derive(Debug, Default)]
struct Rows {
    version: u64,
    by_id: BTreeMap<String, (u64, Row)>,
    removed: Vec<(u64, String)>,
}

/// What changed since a version.
#[derive(Debug, Clone, PartialEq)]
pub struct Changes {
    /// The current version.
    pub version: u64,
    /// New and changed runs.
    pub rows: Vec<Row>,
    /// Runs that no longer exist.
    pub removed: Vec<String>,
}

/// What is kept of a run between two passes.
struct KnownRun {
    name: String,
    /// Of the files when the run was last read in full; none for a new run.
    stamp: Option<Stamp>,
    config: Result<RecordedRun, String>,
    /// Whether it was read since the agents were found.
    config_changed: bool,
    sample: RunSample,
}

impl KnownRun {
    fn refresh(&mut self, guard: &PathGuard, folder: &Path, depth: Depth) {
        let stamp = stamp(folder);
        if self.stamp == Some(stamp) {
            return;
        }
        if self.stamp.is_none_or(|known| known[0] != stamp[0]) {
            self.config = read_config(guard, folder);
            self.config_changed = true;
        }
        self.sample = sample(guard, folder, depth);
        if depth == Depth::Trend {
            self.stamp = Some(stamp);
        }
    }
}

/// (length, time of last change) of [`READ_FILES`].
type Stamp = [Option<(u64, SystemTime)>; READ_FILES.len()];

impl Index {
    /// Of the runs inside the given folders; empty until the first [`Updater::pass`].
    pub fn new(guard: PathGuard) -> Self {
        Self { guard, rows: Mutex::default(), latest: watch::Sender::new(0) }
    }

    pub fn guard(&self) -> &PathGuard {
        &self.guard
    }

    /// The row of the run with this id.
    pub fn row(&self, id: &str) -> Option<Row> {
        self.rows().by_id.get(id).map(|(_, row)| row.clone())
    }

    #[cfg(test)]
    pub fn all(&self) -> Vec<Row> {
        self.rows().by_id.values().map(|(_, row)| row.clone()).collect()
    }

    /// What changed after `version`; after version 0, everything.
    pub fn since(&self, version: u64) -> Changes {
        let rows = self.rows();
        Changes {
            version: rows.version,
            rows: rows.by_id.values().filter(|(when, _)| version < *when).map(|(_, row)| row.clone()).collect(),
            removed: rows
                .removed
                .iter()
                .filter(|(when, id)| version < *when && !rows.by_id.contains_key(id))
                .map(|(_, id)| id.clone())
                .collect(),
        }
    }

    /// Receives the version after every change.
    pub fn listen(&self) -> watch::Receiver<u64> {
        self.latest.subscribe()
    }

    fn rows(&self) -> MutexGuard<'_, Rows> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn publish(&self, new: Vec<Row>) {
        let mut rows = self.rows();
        let version = rows.version + 1;
        let mut before = std::mem::take(&mut rows.by_id);
        let mut has_changed = rows.version == 0;
        for row in new {
            let unchanged = before.remove(&row.id).filter(|(_, old)| *old == row);
            has_changed |= unchanged.is_none();
            rows.by_id.insert(row.id.clone(), unchanged.unwrap_or((version, row)));
        }
        has_changed |= !before.is_empty();
        rows.removed.extend(before.into_keys().map(|id| (version, id)));
        if has_changed {
            rows.version = version;
            self.latest.send_replace(version);
        }
    }
}

/// Updates the index, pass by pass.
#[derive(Default)]
pub struct Updater {
    known: BTreeMap<PathBuf, KnownRun>,
    searched: Option<Instant>,
    agents: Vec<Agent>,
    /// Whether the agents must be found anew: a run came, went, or has another configuration.
    configs_changed: bool,
}

impl Updater {
    /// Reads every run that changed and publishes the rows.
    pub fn pass(&mut self, index: &Index) {
        let guard = index.guard();
        if self.searched.is_none_or(|when| SEARCH_PERIOD <= when.elapsed()) {
            self.search(guard);
        }
        // The current state of new runs is published before their trend is read, which takes longer.
        if self.known.values().any(|known| known.stamp.is_none()) {
            self.refresh(guard, Depth::End);
            self.publish(index);
        }
        self.refresh(guard, Depth::Trend);
        self.publish(index);
    }

    /// Reads the ends of new runs, or in full all that changed.
    fn refresh(&mut self, guard: &PathGuard, depth: Depth) {
        let is_wanted = |known: &KnownRun| depth == Depth::Trend || known.stamp.is_none();
        let mut wanted: Vec<(&PathBuf, &mut KnownRun)> =
            self.known.iter_mut().filter(|(_, known)| is_wanted(known)).collect();
        let share = wanted.len().div_ceil(READING_THREADS).max(1);
        thread::scope(|scope| {
            for some in wanted.chunks_mut(share) {
                scope.spawn(move || some.iter_mut().for_each(|(folder, known)| known.refresh(guard, folder, depth)));
            }
        });
        let read = self.known.values_mut().map(|known| std::mem::take(&mut known.config_changed));
        self.configs_changed |= read.fold(false, |any, this| any | this);
    }

    fn publish(&mut self, index: &Index) {
        if std::mem::take(&mut self.configs_changed) {
            let known = self.known.values().filter_map(|known| known.config.as_ref().ok());
            self.agents = Agent::all_of(&known.cloned().collect::<Vec<_>>());
        }
        let locks = Locks::now();
        let row = |(folder, known): (&PathBuf, &KnownRun)| row(index.guard(), folder, known, &self.agents, &locks);
        index.publish(self.known.iter().map(row).collect());
    }

    fn search(&mut self, guard: &PathGuard) {
        let found = find_runs(guard);
        self.configs_changed |= !self.known.keys().all(|folder| found.contains_key(folder));
        self.known.retain(|folder, _| found.contains_key(folder));
        for (folder, name) in found {
            self.known.entry(folder).or_insert_with(|| KnownRun {
                name,
                stamp: None,
                config: Err("no configuration yet".into()),
                config_changed: true,
                sample: RunSample::default(),
            });
        }
        self.searched = Some(Instant::now());
    }
}

/// Run folders inside the given folders: canonical path → path as the user would name it.
fn find_runs(guard: &PathGuard) -> BTreeMap<PathBuf, String> {
    let search = RunSearch { max_depth: MAX_DEPTH, skip_unreadable: true, ..RunSearch::default() };
    let roots: Vec<PathBuf> = guard.roots().iter().map(|root| root.named.clone()).collect();
    let found = search.find_where(&roots, |folder| guard.resolve(folder).is_ok()).unwrap_or_default();
    found.folders.into_iter().map(|(real, named)| (real, named.display().to_string())).collect()
}

fn row(guard: &PathGuard, folder: &Path, known: &KnownRun, agents: &[Agent], locks: &Locks) -> Row {
    let unknown = RecordedRun::default();
    let config = known.config.as_ref().unwrap_or(&unknown);
    let mut row = Row::new(folder, &known.name, config, agents, &known.sample);
    let last_write = known.stamp.unwrap_or_else(|| stamp(folder)).iter().flatten().map(|(_, when)| *when).max();
    let speed = known.sample.speed.filter(|speed| 0.0 < *speed);
    let interval = config.settings.get("record.interval").and_then(|text| text.parse::<f64>().ok());
    let period = interval.zip(speed).and_then(|(interval, speed)| Duration::try_from_secs_f64(interval / speed).ok());
    let evidence = Evidence {
        finished: known.sample.ended_at.is_some_and(|end| config.budget_interactions <= end),
        process: known.sample.process,
        holder: locks.holder(guard, folder),
        silence: last_write.and_then(|when| when.elapsed().ok()).unwrap_or_default(),
        period,
    };
    row.state = if known.config.is_ok() { evidence.state() } else { RunState::Failed };
    row.problem = known.config.as_ref().err().cloned();
    row.updated_unix = last_write.map_or(0, |when| unix(when).as_secs());
    row.film = modified_millis(&folder.join("film.bin"));
    row.gallery = modified_millis(&folder.join("risk/gallery/gallery.json"));
    row
}

/// Of the run in `folder`, if all files that it is read from are inside the given folders.
pub fn read_config(guard: &PathGuard, folder: &Path) -> Result<RecordedRun, String> {
    for name in ["config.toml", "origin.toml"] {
        let path = folder.join(name);
        if name == "origin.toml" && fs::symlink_metadata(&path).is_err() {
            continue;
        }
        let file = guard.open(&path).and_then(|file| file.metadata());
        let length = file.map_err(|error| format!("{name} cannot be read: {error}"))?.len();
        if MOST_CONFIG_BYTES < length {
            return Err(format!("{name} cannot be read: it has {length} bytes"));
        }
    }
    read_run_config(folder).map_err(|error| error.to_string())
}

fn stamp(folder: &Path) -> Stamp {
    READ_FILES.map(|name| {
        let metadata = fs::metadata(folder.join(name)).ok()?;
        Some((metadata.len(), metadata.modified().ok()?))
    })
}

fn modified_millis(path: &Path) -> Option<u64> {
    let when = fs::metadata(path).ok()?.modified().ok()?;
    Some(unix(when).as_millis() as u64)
}

fn unix(when: SystemTime) -> Duration {
    when.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: &str = "agent = 'sane'\nseed = 1\n[world]\nname = 'boxing'\n[training]\ntotal_interactions = 300\n";

    fn write(folder: &Path, events: &str) {
        fs::create_dir_all(folder).unwrap();
        fs::write(folder.join("config.toml"), CONFIG).unwrap();
        fs::write(folder.join("events.jsonl"), events).unwrap();
    }

    fn pass(index: &Index, updater: &mut Updater) -> Changes {
        let before = index.rows().version;
        updater.searched = None;
        updater.pass(index);
        index.since(before)
    }

    #[test]
    fn only_changed_rows_are_published_and_a_deleted_run_is_removed() {
        let root = tempfile::tempdir().unwrap();
        let (first, second) = (root.path().join("a"), root.path().join("b"));
        write(&first, "");
        write(&second, "");
        let index = Index::new(PathGuard::new(&[root.path().into()]).unwrap());
        let mut updater = Updater::default();
        assert_eq!(pass(&index, &mut updater).rows.len(), 2);
        assert_eq!(pass(&index, &mut updater).rows, []);
        write(&second, "{\"event\":\"run_finished\",\"interactions\":300,\"episodes\":3}\n");
        let changes = pass(&index, &mut updater);
        assert_eq!((changes.rows.len(), changes.rows[0].reached), (1, 300));
        assert_eq!(changes.rows[0].state, RunState::Finished);
        fs::remove_dir_all(&first).unwrap();
        let changes = pass(&index, &mut updater);
        assert_eq!((changes.rows.len(), changes.removed.len(), index.all().len()), (0, 1, 1));
        fs::remove_dir_all(root.path()).unwrap();
        assert_eq!(pass(&index, &mut updater).removed.len(), 1);
    }

    #[test]
    fn a_run_whose_configuration_cannot_be_read_is_shown_with_its_reason() {
        let root = tempfile::tempdir().unwrap();
        write(&root.path().join("a"), "");
        fs::write(root.path().join("a/config.toml"), "agent = ").unwrap();
        let index = Index::new(PathGuard::new(&[root.path().into()]).unwrap());
        let rows = pass(&index, &mut Updater::default()).rows;
        assert_eq!(rows[0].state, RunState::Failed);
        assert!(rows[0].problem.as_ref().unwrap().contains("config.toml"), "{:?}", rows[0].problem);
    }

    #[test]
    fn an_origin_outside_of_the_given_folders_is_not_read() {
        let root = tempfile::tempdir().unwrap();
        let outside = root.path().join("origin.toml");
        fs::write(&outside, "preset = 'secret'\n").unwrap();
        let runs = root.path().join("runs");
        write(&runs.join("a"), "");
        std::os::unix::fs::symlink(&outside, runs.join("a/origin.toml")).unwrap();
        let guard = PathGuard::new(std::slice::from_ref(&runs)).unwrap();
        assert!(read_config(&guard, &runs.join("a")).unwrap_err().contains("origin.toml"));
        fs::remove_file(runs.join("a/origin.toml")).unwrap();
        assert_eq!(read_config(&guard, &runs.join("a")).unwrap().origin, None);
    }

    #[test]
    fn what_the_preset_of_another_world_gives_is_the_same_agent() {
        let root = tempfile::tempdir().unwrap();
        for (name, world, rate) in [("a", "boxing", "0.1"), ("b", "qbert", "0.2"), ("c", "qbert", "0.3")] {
            write(&root.path().join(name), "");
            let config = CONFIG.replace("boxing", world) + &format!("[learner]\nlearning_rate = {rate}\n");
            fs::write(root.path().join(name).join("config.toml"), config).unwrap();
        }
        let index = Index::new(PathGuard::new(&[root.path().into()]).unwrap());
        let mut updater = Updater::default();
        let labels = |rows: Vec<Row>| rows.into_iter().map(|row| (row.world, row.label)).collect::<Vec<_>>();
        let mut found = labels(pass(&index, &mut updater).rows);
        found.sort();
        assert!(found[1].1.contains("0.2") && found[2].1.contains("0.3"), "{found:?}");
        // Alone in its world, each is the agent itself; a deleted run changes the names of the others.
        fs::remove_dir_all(root.path().join("c")).unwrap();
        pass(&index, &mut updater);
        assert!(index.all().iter().all(|row| row.label == "sane"), "{:?}", index.all());
    }

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
        let guard = PathGuard::new(&[runs.clone(), runs.join("b")]).unwrap();
        let names: Vec<String> = find_runs(&guard).into_values().collect();
        let short: Vec<&str> = names.iter().map(|name| name.rsplit_once("runs/").unwrap().1).collect();
        assert_eq!(short.len(), 2, "{short:?}");
        assert!(short.iter().any(|name| name.ends_with("seed-1")) && short.iter().any(|name| name.ends_with('b')));
    }
}
