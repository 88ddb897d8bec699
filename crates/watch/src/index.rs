//! All runs as they are now: looked at once a second by a thread of its own, told on to whoever listens.

use crate::discover::discover;
use crate::fence::Fence;
use crate::glance::{Depth, Glance, glance};
use crate::lock_holder::Locks;
use crate::row::Row;
use crate::run_state::{Evidence, RunState};
use sane_report::{Agent, Run, read_head};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime};
use tokio::sync::watch;

/// How often folders are searched for new runs; known ones are looked at in every pass.
const SEARCH: Duration = Duration::from_secs(4);

/// A first look at many runs waits for the disk more than for the processor.
const LOOKING_THREADS: usize = 4;

/// The files whose change makes another look worthwhile.
const LOOKED_AT: [&str; 3] = ["config.toml", "events.jsonl", "timings.jsonl"];

/// The runs.
#[derive(Debug)]
pub struct Index {
    fence: Fence,
    rows: Mutex<Rows>,
    news: watch::Sender<u64>,
}

/// Rows and when each of them changed last, in versions of the whole.
#[derive(Debug, Default)]
struct Rows {
    version: u64,
    by_id: BTreeMap<String, (u64, Row)>,
    gone: Vec<(u64, String)>,
}

/// What changed since a version.
#[derive(Debug, Clone, PartialEq)]
pub struct Changes {
    /// The version that results.
    pub version: u64,
    /// New and changed runs.
    pub rows: Vec<Row>,
    /// Runs that are no longer there.
    pub gone: Vec<String>,
}

/// What the looking thread remembers of a run between two passes.
struct Known {
    name: String,
    /// Of the files when the run was last looked at in full; none of a run that is new.
    stamp: Option<Stamp>,
    head: Result<Run, String>,
    glance: Glance,
}

impl Known {
    fn look(&mut self, fence: &Fence, folder: &Path, depth: Depth) {
        let stamp = stamp(folder);
        if self.stamp == Some(stamp) {
            return;
        }
        if self.stamp.is_none_or(|known| known[0] != stamp[0]) {
            self.head = head(fence, folder);
        }
        self.glance = glance(fence, folder, depth);
        if depth == Depth::Trend {
            self.stamp = Some(stamp);
        }
    }
}

/// (length, time of last change) of the files looked at.
type Stamp = [Option<(u64, SystemTime)>; 3];

impl Index {
    /// Of the runs inside the fence; empty until the first [`Looker::pass`].
    pub fn new(fence: Fence) -> Self {
        Self { fence, rows: Mutex::default(), news: watch::Sender::new(0) }
    }

    /// What may be seen.
    pub fn fence(&self) -> &Fence {
        &self.fence
    }

    /// The run of this name.
    pub fn row(&self, id: &str) -> Option<Row> {
        self.rows().by_id.get(id).map(|(_, row)| row.clone())
    }

    /// All runs.
    pub fn all(&self) -> Vec<Row> {
        self.rows().by_id.values().map(|(_, row)| row.clone()).collect()
    }

    /// What changed after `version`; everything there is, after version 0.
    pub fn since(&self, version: u64) -> Changes {
        let rows = self.rows();
        Changes {
            version: rows.version,
            rows: rows.by_id.values().filter(|(when, _)| version < *when).map(|(_, row)| row.clone()).collect(),
            gone: rows
                .gone
                .iter()
                .filter(|(when, id)| version < *when && !rows.by_id.contains_key(id))
                .map(|(_, id)| id.clone())
                .collect(),
        }
    }

    /// Says when something changed.
    pub fn listen(&self) -> watch::Receiver<u64> {
        self.news.subscribe()
    }

    fn rows(&self) -> MutexGuard<'_, Rows> {
        self.rows.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn publish(&self, new: Vec<Row>) {
        let mut rows = self.rows();
        let version = rows.version + 1;
        let mut before = std::mem::take(&mut rows.by_id);
        let mut is_news = rows.version == 0;
        for row in new {
            let unchanged = before.remove(&row.id).filter(|(_, old)| *old == row);
            is_news |= unchanged.is_none();
            rows.by_id.insert(row.id.clone(), unchanged.unwrap_or((version, row)));
        }
        is_news |= !before.is_empty();
        rows.gone.extend(before.into_keys().map(|id| (version, id)));
        if is_news {
            rows.version = version;
            self.news.send_replace(version);
        }
    }
}

/// Looks at the runs, pass by pass.
#[derive(Default)]
pub struct Looker {
    known: BTreeMap<PathBuf, Known>,
    searched: Option<Instant>,
}

impl Looker {
    /// Looks at every run that changed and publishes what there is to tell.
    pub fn pass(&mut self, index: &Index) {
        let fence = index.fence();
        if self.searched.is_none_or(|when| SEARCH <= when.elapsed()) {
            self.search(fence);
        }
        // Where they stand is told before it is known how they came there.
        if self.known.values().any(|known| known.stamp.is_none()) {
            self.look(fence, Depth::End);
            self.tell(index);
        }
        self.look(fence, Depth::Trend);
        self.tell(index);
    }

    /// At the new runs, or at all that changed.
    fn look(&mut self, fence: &Fence, depth: Depth) {
        let is_wanted = |known: &Known| depth == Depth::Trend || known.stamp.is_none();
        let mut wanted: Vec<(&PathBuf, &mut Known)> =
            self.known.iter_mut().filter(|(_, known)| is_wanted(known)).collect();
        let share = wanted.len().div_ceil(LOOKING_THREADS).max(1);
        thread::scope(|scope| {
            for some in wanted.chunks_mut(share) {
                scope.spawn(move || some.iter_mut().for_each(|(folder, known)| known.look(fence, folder, depth)));
            }
        });
    }

    fn tell(&self, index: &Index) {
        let heads: Vec<Run> = self.known.values().filter_map(|known| known.head.as_ref().ok()).cloned().collect();
        let (agents, locks) = (Agent::all_of(&heads), Locks::now());
        let row = |(folder, known): (&PathBuf, &Known)| row(index.fence(), folder, known, &agents, &locks);
        index.publish(self.known.iter().map(row).collect());
    }

    fn search(&mut self, fence: &Fence) {
        let found = discover(fence);
        self.known.retain(|folder, _| found.contains_key(folder));
        for (folder, name) in found {
            self.known.entry(folder).or_insert_with(|| Known {
                name,
                stamp: None,
                head: Err("it has no configuration yet".into()),
                glance: Glance::default(),
            });
        }
        self.searched = Some(Instant::now());
    }
}

fn row(fence: &Fence, folder: &Path, known: &Known, agents: &[Agent], locks: &Locks) -> Row {
    let unknown = Run::default();
    let head = known.head.as_ref().unwrap_or(&unknown);
    let mut row = Row::new(folder, &known.name, head, agents, &known.glance);
    let news = known.stamp.unwrap_or_else(|| stamp(folder)).iter().flatten().map(|(_, when)| *when).max();
    let speed = known.glance.speed.filter(|speed| 0.0 < *speed);
    let interval = head.settings.get("record.interval").and_then(|text| text.parse::<f64>().ok());
    let period = interval.zip(speed).and_then(|(interval, speed)| Duration::try_from_secs_f64(interval / speed).ok());
    let evidence = Evidence {
        finished: known.glance.ended_at.is_some_and(|end| head.budget_interactions <= end),
        last_word: known.glance.last_word,
        holder: locks.holder(fence, folder),
        silence: news.and_then(|when| when.elapsed().ok()).unwrap_or_default(),
        period,
    };
    row.state = if known.head.is_ok() { evidence.state() } else { RunState::Failed };
    row.problem = known.head.as_ref().err().cloned();
    row.news_unix = news.map_or(0, |when| unix(when).as_secs());
    row.film = changed(&folder.join("film.bin"));
    row.gallery = changed(&folder.join("risk/gallery/gallery.json"));
    row
}

fn head(fence: &Fence, folder: &Path) -> Result<Run, String> {
    fence.admit(&folder.join("config.toml")).map_err(|error| format!("its config.toml cannot be read: {error}"))?;
    read_head(folder).map_err(|error| error.to_string())
}

fn stamp(folder: &Path) -> Stamp {
    LOOKED_AT.map(|name| {
        let metadata = fs::metadata(folder.join(name)).ok()?;
        Some((metadata.len(), metadata.modified().ok()?))
    })
}

fn changed(path: &Path) -> Option<u64> {
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

    fn pass(index: &Index, looker: &mut Looker) -> Changes {
        let before = index.rows().version;
        looker.searched = None;
        looker.pass(index);
        index.since(before)
    }

    #[test]
    fn only_what_changed_is_told_and_a_deleted_run_is_gone() {
        let root = tempfile::tempdir().unwrap();
        let (first, second) = (root.path().join("a"), root.path().join("b"));
        write(&first, "");
        write(&second, "");
        let index = Index::new(Fence::around(&[root.path().into()]).unwrap());
        let mut looker = Looker::default();
        assert_eq!(pass(&index, &mut looker).rows.len(), 2);
        assert_eq!(pass(&index, &mut looker).rows, []);
        write(&second, "{\"event\":\"run_finished\",\"interactions\":300,\"episodes\":3}\n");
        let changes = pass(&index, &mut looker);
        assert_eq!((changes.rows.len(), changes.rows[0].reached), (1, 300));
        assert_eq!(changes.rows[0].state, RunState::Finished);
        fs::remove_dir_all(&first).unwrap();
        let changes = pass(&index, &mut looker);
        assert_eq!((changes.rows.len(), changes.gone.len(), index.all().len()), (0, 1, 1));
        fs::remove_dir_all(root.path()).unwrap();
        assert_eq!(pass(&index, &mut looker).gone.len(), 1);
    }

    #[test]
    fn a_run_whose_configuration_cannot_be_read_is_shown_with_its_reason() {
        let root = tempfile::tempdir().unwrap();
        write(&root.path().join("a"), "");
        fs::write(root.path().join("a/config.toml"), "agent = ").unwrap();
        let index = Index::new(Fence::around(&[root.path().into()]).unwrap());
        let rows = pass(&index, &mut Looker::default()).rows;
        assert_eq!(rows[0].state, RunState::Failed);
        assert!(rows[0].problem.as_ref().unwrap().contains("config.toml"), "{:?}", rows[0].problem);
    }
}
