//! One writer per folder, on one machine and across machines.
//!
//! On one machine the lock is the operating system's: it ends with its process, so there is no stale lock to remove by hand.
//! A file system that several machines share need not carry such locks from one machine to another; there a [`lease`]
//! guards the folder besides.

mod lease;

use crate::machine::host;
use lease::{Lease, holder_elsewhere};
use sane_record::{Disk, RealDisk, open_plain};
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::thread;
use std::time::Duration;

/// The right to write a folder, of a run or a suite; dropping it releases the folder.
#[derive(Debug)]
pub struct FolderLock {
    // Dropped before the lock: the next holder of the lock finds no lease of this process.
    lease: Lease,
    _file: File,
}

/// A folder that cannot be locked, or was taken over.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another process holds the folder.
    #[error(
        "{} is in use by {holder}; wait for it, stop it, or choose another folder with --out",
        folder.display()
    )]
    InUse {
        folder: PathBuf,
        /// Process id and host, as the holder wrote them.
        holder: String,
    },
    /// Another machine has taken over.
    #[error(
        "{} now belongs to {holder}: this process could not renew its lease in time and writes nothing more; the \
         run resumes from its last checkpoint",
        folder.display()
    )]
    Lost {
        folder: PathBuf,
        /// Process id and host of the new holder.
        holder: String,
    },
    /// The lock file cannot be made or locked.
    #[error("cannot lock the run folder by {}: {source}; it must be writable", path.display())]
    Io { path: PathBuf, source: io::Error },
}

impl FolderLock {
    /// Locks this folder, which must exist; the error names the holder.
    pub fn acquire(folder: &Path) -> Result<Self, LockError> {
        let path = folder.join("lock");
        let failed = |source| LockError::Io { path: path.clone(), source };
        move_odd_things_aside(&path).map_err(failed)?;
        let open = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
        let mut file = open.map_err(failed)?;
        if !try_lock_beside_queries(&file).map_err(failed)? {
            return Err(LockError::InUse { folder: folder.into(), holder: written_holder(&mut file) });
        }
        file.set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| writeln!(file, "{}", this_process()))
            .map_err(failed)?;
        let lease = Lease::take(folder, &this_process())?;
        Ok(Self { lease, _file: file })
    }

    /// Whether this process may still write here; a machine that was suspended or disconnected may have lost the lease.
    pub fn check(&self) -> Result<(), LockError> {
        self.lease.check()
    }

    /// The process that holds this folder, if any.
    pub fn holder(folder: &Path) -> Option<String> {
        let mut file = open_plain(&folder.join("lock")).ok()?;
        // A shared lock, so that two queries at once do not take each other for the holder.
        match file.try_lock_shared() {
            Err(TryLockError::WouldBlock) => Some(written_holder(&mut file)),
            _ => holder_elsewhere(folder),
        }
    }
}

/// Says that a process evaluates the run in a folder; several may at once. It ends with its process.
///
/// The process that starts an evaluation hands its own lock down as the standard input of the new one ([`Stdio`]): the
/// evaluation is announced from the moment it exists, also if the process that started it is killed at once.
#[derive(Debug)]
pub struct EvaluationLock {
    file: File,
}

impl EvaluationLock {
    /// Announces an evaluation; `None` where the folder cannot be written, as in an archive.
    pub fn announce(folder: &Path) -> Option<Self> {
        let mut file = RealDisk.open(&folder.join("evaluating")).ok()?;
        file.lock_shared().ok()?;
        // Shown to people only.
        let _ = file.set_len(0).and_then(|()| writeln!(file, "{}", this_process()));
        Some(Self { file })
    }

    /// A process that evaluates the run in this folder, if any does.
    pub fn holder(folder: &Path) -> Option<String> {
        let mut file = open_plain(&folder.join("evaluating")).ok()?;
        // Another query holds it for a moment; to take one for an evaluation would cost no more than a wait.
        for _ in 0..10 {
            match file.try_lock() {
                Err(TryLockError::WouldBlock) => thread::sleep(QUERY_PAUSE),
                _ => return None,
            }
        }
        Some(written_holder(&mut file))
    }
}

impl From<EvaluationLock> for Stdio {
    fn from(lock: EvaluationLock) -> Self {
        lock.file.into()
    }
}

/// How often, and after which pause, a lock is tried again that a query holds for a moment.
const QUERY_RETRIES: u32 = 1_000;
const QUERY_PAUSE: Duration = Duration::from_millis(2);

/// Locks the file unless a process holds it. Queries, which take a shared lock for a moment, are waited for.
fn try_lock_beside_queries(file: &File) -> io::Result<bool> {
    for _ in 0..QUERY_RETRIES {
        match file.try_lock() {
            Ok(()) => return Ok(true),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) => {}
        }
        match file.try_lock_shared() {
            Ok(()) => file.unlock()?,
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) => return Ok(false),
        }
        thread::sleep(QUERY_PAUSE);
    }
    Ok(false)
}

/// Process id and host, as written into locks.
pub fn this_process() -> String {
    format!("process {} on {}", std::process::id(), host())
}

/// A longer lock or lease is none: they hold the names of a process and its machine.
const LARGEST_BYTES: u64 = 4096;

fn written_holder(file: &mut File) -> String {
    let mut text = String::new();
    match file.take(LARGEST_BYTES).read_to_string(&mut text) {
        Ok(_) if !text.trim().is_empty() => text.trim().into(),
        _ => "another process".into(),
    }
}

/// Renames what is in the place of a lock or a lease but is no plain file, and deletes nothing.
fn move_odd_things_aside(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(found) if !found.is_file() => {
            fs::rename(path, path.with_added_extension(format!("no-file-{}", std::process::id())))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};

    #[test]
    fn a_second_holder_is_refused_and_told_who_the_first_is() {
        let folder = tempfile::tempdir().expect("a folder");
        let first = FolderLock::acquire(folder.path()).expect("the folder is free");
        let refused = FolderLock::acquire(folder.path()).expect_err("the first holds it");
        assert!(refused.to_string().contains(&format!("process {}", std::process::id())), "{refused}");
        assert!(FolderLock::holder(folder.path()).is_some_and(|holder| holder == this_process()));
        drop(first);
        assert_eq!(FolderLock::holder(folder.path()), None);
        FolderLock::acquire(folder.path()).expect("the first is dropped");
    }

    #[test]
    fn several_processes_may_evaluate_at_once_and_are_seen_until_the_last_ends() {
        let folder = tempfile::tempdir().expect("a folder");
        assert_eq!(EvaluationLock::holder(folder.path()), None);
        let both = [(); 2].map(|()| EvaluationLock::announce(folder.path()).expect("writable"));
        let [first, second] = both;
        drop(first);
        assert_eq!(EvaluationLock::holder(folder.path()), Some(this_process()));
        drop(second);
        assert_eq!(EvaluationLock::holder(folder.path()), None);
        assert!(EvaluationLock::announce(&folder.path().join("nowhere")).is_none());
    }

    #[test]
    fn a_folder_can_be_locked_while_others_ask_who_holds_it() {
        let folder = tempfile::tempdir().expect("a folder");
        drop(FolderLock::acquire(folder.path()).expect("the folder is free"));
        let (asking, mut refused) = (AtomicBool::new(true), 0);
        thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    while asking.load(Ordering::Relaxed) {
                        FolderLock::holder(folder.path());
                    }
                });
            }
            for _ in 0..200 {
                let file = File::open(folder.path().join("lock")).expect("it was made above");
                let locked = try_lock_beside_queries(&file).expect("no fault of the disk");
                refused += u32::from(!locked);
            }
            asking.store(false, Ordering::Relaxed);
        });
        assert_eq!(refused, 0, "of 200 times");
    }

    #[test]
    fn an_evaluation_is_announced_by_the_lock_that_its_process_was_started_with() {
        let folder = tempfile::tempdir().expect("a folder");
        let announced = EvaluationLock::announce(folder.path()).expect("writable");
        let mut child = std::process::Command::new("sleep").arg("100").stdin(announced).spawn().expect("a process");
        assert!(EvaluationLock::holder(folder.path()).is_some(), "this process holds it no longer, its child does");
        child.kill().and_then(|()| child.wait()).expect("it runs");
        assert_eq!(EvaluationLock::holder(folder.path()), None);
    }

    #[test]
    fn a_missing_folder_is_an_error_naming_the_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let error = FolderLock::acquire(&folder.path().join("nowhere")).expect_err("there is no folder");
        assert!(error.to_string().contains("nowhere/lock"), "{error}");
    }

    #[test]
    fn what_is_no_file_in_place_of_a_lock_is_not_deleted() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("lock/something")).unwrap();
        FolderLock::acquire(folder.path()).unwrap();
        let mut names = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
        assert!(names.any(|path| path.join("something").exists()), "nothing is deleted");
    }
}
