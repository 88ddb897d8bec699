//! Whether a process works on a run, without touching its lock: even a shared lock, taken for a moment, could make a
//! `sane train` that starts in that moment believe the folder is in use.

use crate::address::host_name;
use crate::fence::Fence;
use std::fs;
use std::path::Path;

/// Who holds the lock of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Holder {
    /// A process of this machine.
    Here,
    /// Nobody: the process that wrote its name is gone.
    Nobody,
    /// It was locked from another machine, or this system does not say.
    Unknown,
}

/// The locks of this machine at one moment.
#[derive(Debug, Clone, Default)]
pub struct Locks {
    host: Option<String>,
    /// (process, inode) of each lock; none where the system keeps no such list.
    held: Option<Vec<(u64, u64)>>,
}

impl Locks {
    /// As they are now.
    pub fn now() -> Self {
        let held = fs::read_to_string("/proc/locks").ok().map(|text| text.lines().filter_map(parse).collect());
        Self { host: host_name(), held }
    }

    /// Who holds the lock of the run in `folder`.
    pub fn holder(&self, fence: &Fence, folder: &Path) -> Holder {
        let path = folder.join("lock");
        let Some((process, host)) = written(fence, &path) else { return Holder::Unknown };
        if self.host.as_deref() != Some(host.as_str()) {
            return Holder::Unknown;
        }
        let (Some(held), Some(inode)) = (&self.held, inode(&path)) else { return Holder::Unknown };
        // Behind a container's wall the same process has another number, so its file alone must do, too.
        if held.contains(&(process, inode)) || held.iter().any(|lock| lock.1 == inode) {
            Holder::Here
        } else {
            Holder::Nobody
        }
    }
}

/// `process 17 on host`, as the trainer wrote itself into its lock.
fn written(fence: &Fence, path: &Path) -> Option<(u64, String)> {
    let text = String::from_utf8(fence.read(path, 4096).ok()?).ok()?;
    let (process, host) = text.lines().next()?.strip_prefix("process ")?.split_once(" on ")?;
    Some((process.parse().ok()?, host.trim().to_owned()))
}

/// `3: FLOCK  ADVISORY  WRITE 16819 fe:00:10772576 0 EOF`
fn parse(line: &str) -> Option<(u64, u64)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let start = words.iter().position(|word| *word == "FLOCK")?;
    let process = words.get(start + 3)?.parse().ok()?;
    Some((process, words.get(start + 4)?.rsplit(':').next()?.parse().ok()?))
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

    fn check(said: &str, locked: bool, expected: Holder) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        fs::write(&path, said).unwrap();
        let file = File::open(&path).unwrap();
        if locked {
            file.lock().unwrap();
        }
        let fence = Fence::around(&[folder.path().into()]).unwrap();
        assert_eq!(Locks::now().holder(&fence, folder.path()), expected, "{said}");
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_lock_of_this_machine_is_seen_without_being_touched() {
        let here = host_name().unwrap();
        let said = format!("process {} on {here}\n", std::process::id());
        check(&said, true, Holder::Here);
        check(&said, false, Holder::Nobody);
        check("process 1 on another-machine\n", false, Holder::Unknown);
        check("", true, Holder::Unknown);
    }
}
