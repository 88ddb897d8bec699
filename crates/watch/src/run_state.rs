//! The state of a run, derived from its records and its lock.

use crate::path_guard::PathGuard;
use crate::server::host_name;
use serde::Serialize;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// The state of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// A process is working on it and writes records.
    Running,
    /// It reached its number of interactions.
    Finished,
    /// It was stopped by a signal, or never started; the same command resumes it.
    Stopped,
    /// Its process exited without a stop record, or with a fault.
    Failed,
    /// No record for a long time and no sign of an exit: a hanging process, or one on another machine.
    Stale,
}

/// The status of the last process that worked on a run, by its timing records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ProcessStatus {
    #[default]
    NeverStarted,
    Running,
    /// It wrote a stop record.
    Stopped,
    /// Its stop record names a fault.
    Faulted,
}

/// What the state is derived from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Evidence {
    /// Whether its last event says that it reached its number of interactions.
    pub finished: bool,
    pub process: ProcessStatus,
    pub holder: LockHolder,
    /// Time since the last write.
    pub silence: Duration,
    /// Expected time from one record to the next, if known.
    pub period: Option<Duration>,
}

/// Records are irregular: a run is silent after this many periods without one.
const PERIODS: u32 = 6;

/// A checkpoint of a large replay can take this long.
const SHORTEST_SILENCE: Duration = Duration::from_secs(120);

impl Evidence {
    pub fn state(&self) -> RunState {
        let limit = self.period.map_or(SHORTEST_SILENCE, |period| SHORTEST_SILENCE.max(period.saturating_mul(PERIODS)));
        let is_silent = limit < self.silence;
        match self.holder {
            _ if self.finished => RunState::Finished,
            LockHolder::Here if is_silent => RunState::Stale,
            LockHolder::Here => RunState::Running,
            _ if matches!(self.process, ProcessStatus::NeverStarted | ProcessStatus::Stopped) => RunState::Stopped,
            _ if self.process == ProcessStatus::Faulted => RunState::Failed,
            LockHolder::None => RunState::Failed,
            LockHolder::Unknown if is_silent => RunState::Stale,
            LockHolder::Unknown => RunState::Running,
        }
    }
}

/// Who holds the lock of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LockHolder {
    /// A process of this machine.
    Here,
    /// The process that wrote the lock file has exited.
    None,
    /// It was locked from another machine, or this system does not list locks.
    Unknown,
}

/// The locks held on this machine at one moment, without touching any of them: even a shared lock, taken for a moment,
/// could make a `sane train` that starts then believe the folder is in use.
#[derive(Debug, Clone, Default)]
pub struct Locks {
    host: Option<String>,
    /// (process, inode) of each lock; none if the system has no such list.
    held: Option<Vec<(u64, u64)>>,
}

impl Locks {
    pub fn now() -> Self {
        let held = fs::read_to_string("/proc/locks").ok().map(|text| text.lines().filter_map(parse).collect());
        Self { host: host_name(), held }
    }

    pub fn holder(&self, guard: &PathGuard, folder: &Path) -> LockHolder {
        let path = folder.join("lock");
        let Some((process, host)) = written(guard, &path) else { return LockHolder::Unknown };
        if self.host.as_deref() != Some(host.as_str()) {
            return LockHolder::Unknown;
        }
        let (Some(held), Some(inode)) = (&self.held, inode(&path)) else { return LockHolder::Unknown };
        // In a container the same process has another id, so a lock on the file alone is enough.
        if held.contains(&(process, inode)) || held.iter().any(|lock| lock.1 == inode) {
            LockHolder::Here
        } else {
            LockHolder::None
        }
    }
}

/// `process 17 on host`, as the trainer writes it into the lock file.
fn written(guard: &PathGuard, path: &Path) -> Option<(u64, String)> {
    let text = String::from_utf8(guard.read(path, 4096).ok()?).ok()?;
    let (process, host) = text.lines().next()?.strip_prefix("process ")?.split_once(" on ")?;
    Some((process.parse().ok()?, host.trim().to_owned()))
}

/// `3: FLOCK  ADVISORY  WRITE 16819 fe:00:10772576 0 EOF`
fn parse(line: &str) -> Option<(u64, u64)> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let start = fields.iter().position(|field| *field == "FLOCK")?;
    let process = fields.get(start + 3)?.parse().ok()?;
    Some((process, fields.get(start + 4)?.rsplit(':').next()?.parse().ok()?))
}

#[cfg(unix)]
fn inode(path: &Path) -> Option<u64> {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(path).ok().map(|metadata| metadata.ino())
}

#[cfg(not(unix))]
fn inode(_path: &Path) -> Option<u64> {
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    const WORKING: Evidence = Evidence {
        finished: false,
        process: ProcessStatus::Running,
        holder: LockHolder::Here,
        silence: Duration::from_secs(5),
        period: Some(Duration::from_secs(10)),
    };

    #[test]
    fn the_state_follows_from_the_lock_and_the_last_records() {
        let long = Duration::from_secs(1_000);
        let cases = [
            (WORKING, RunState::Running),
            (Evidence { silence: long, ..WORKING }, RunState::Stale),
            (Evidence { silence: long, period: Some(Duration::from_secs(300)), ..WORKING }, RunState::Running),
            (Evidence { holder: LockHolder::None, ..WORKING }, RunState::Failed),
            (Evidence { holder: LockHolder::None, process: ProcessStatus::Stopped, ..WORKING }, RunState::Stopped),
            (Evidence { holder: LockHolder::None, process: ProcessStatus::NeverStarted, ..WORKING }, RunState::Stopped),
            (Evidence { holder: LockHolder::Unknown, ..WORKING }, RunState::Running),
            (Evidence { holder: LockHolder::Unknown, process: ProcessStatus::Faulted, ..WORKING }, RunState::Failed),
            (Evidence { holder: LockHolder::Unknown, silence: long, ..WORKING }, RunState::Stale),
            (
                Evidence { holder: LockHolder::None, finished: true, process: ProcessStatus::Stopped, ..WORKING },
                RunState::Finished,
            ),
            // It was resumed after a stop: the stop record is an old one, the lock is held.
            (Evidence { process: ProcessStatus::Stopped, ..WORKING }, RunState::Running),
        ];
        for (evidence, expected) in cases {
            assert_eq!(evidence.state(), expected, "{evidence:?}");
        }
    }

    fn check(content: &str, locked: bool, expected: LockHolder) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        fs::write(&path, content).unwrap();
        let file = File::open(&path).unwrap();
        if locked {
            file.lock().unwrap();
        }
        let guard = PathGuard::new(&[folder.path().into()]).unwrap();
        assert_eq!(Locks::now().holder(&guard, folder.path()), expected, "{content}");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_lock_of_this_machine_is_seen_without_taking_it() {
        let here = host_name().unwrap();
        let content = format!("process {} on {here}\n", std::process::id());
        check(&content, true, LockHolder::Here);
        check(&content, false, LockHolder::None);
        check("process 1 on another-machine\n", false, LockHolder::Unknown);
        check("", true, LockHolder::Unknown);
    }
}
