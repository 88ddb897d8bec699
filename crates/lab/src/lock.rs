//! One writer per folder, on one machine and across machines.
//!
//! On one machine the lock is the operating system's: it ends with its process, so there is no stale lock to remove by hand.
//! A file system that several machines share need not carry such locks from one machine to another, and a machine that
//! is lost cannot release anything. There the lock is a lease: the owner rewrites its name into the folder at an
//! interval; a lease that was not renewed in time has expired, and its owner, if it still runs, notices that by its own
//! clock before any other machine may take the folder.
//!
//! ```text
//! renewed every 10 s     owner stops after 30 s without renewal     others may take it after 45 s without renewal
//! ```
//!
//! The age of a lease is measured by one clock, that of the file system, against a file written at the moment of the check.

use crate::machine::host;
use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

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
        let open = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&path);
        let mut file = open.map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(LockError::InUse { folder: folder.into(), holder: written_holder(&mut file) });
            }
            Err(TryLockError::Error(source)) => return Err(failed(source)),
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
        let mut file = File::open(folder.join("lock")).ok()?;
        // A shared lock, so that two queries at once do not take each other for the holder.
        match file.try_lock_shared() {
            Err(TryLockError::WouldBlock) => Some(written_holder(&mut file)),
            _ => holder_elsewhere(folder),
        }
    }
}

/// Process id and host, as written into locks.
pub fn this_process() -> String {
    format!("process {} on {}", std::process::id(), host())
}

fn written_holder(file: &mut File) -> String {
    let mut text = String::new();
    match file.read_to_string(&mut text) {
        Ok(_) if !text.trim().is_empty() => text.trim().into(),
        _ => "another process".into(),
    }
}

/// Intervals of a lease; all machines must agree on them.
#[derive(Debug, Clone, Copy)]
struct LeaseTerms {
    renewed_every: Duration,
    owner_stops_after: Duration,
    others_take_after: Duration,
}

const TERMS: LeaseTerms = LeaseTerms {
    renewed_every: Duration::from_secs(10),
    owner_stops_after: Duration::from_secs(30),
    others_take_after: Duration::from_secs(45),
};

/// The right to write a folder across machines, renewed by a thread; dropping it removes it.
#[derive(Debug)]
struct Lease {
    file: Arc<LeaseFile>,
    quit: Option<mpsc::Sender<()>>,
    renewer: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct LeaseFile {
    folder: PathBuf,
    owner: String,
    terms: LeaseTerms,
    renewed: Mutex<Instant>,
    lost: AtomicBool,
}

impl Lease {
    /// Takes the lease of this folder; the caller holds the folder's lock on this machine.
    fn take(folder: &Path, owner: &str) -> Result<Self, LockError> {
        Self::take_on(folder, owner, TERMS)
    }

    fn take_on(folder: &Path, owner: &str, terms: LeaseTerms) -> Result<Self, LockError> {
        if let Some(holder) = foreign_holder(folder, terms)? {
            return Err(LockError::InUse { folder: folder.into(), holder });
        }
        let (renewed, lost) = (Mutex::new(Instant::now()), AtomicBool::new(false));
        let file = Arc::new(LeaseFile { folder: folder.into(), owner: lease_text(owner), terms, renewed, lost });
        file.write()?;
        let (quit, quitting) = mpsc::channel();
        let renewing = Arc::clone(&file);
        let renewer = thread::spawn(move || {
            while quitting.recv_timeout(terms.renewed_every) == Err(RecvTimeoutError::Timeout) {
                renewing.renew();
            }
        });
        Ok(Self { file, quit: Some(quit), renewer: Some(renewer) })
    }

    /// Whether this process may still write. No file access as long as the lease was renewed in time.
    fn check(&self) -> Result<(), LockError> {
        self.file.check()
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        drop(self.quit.take());
        if let Some(renewer) = self.renewer.take() {
            // A renewer that panicked no longer renews.
            let _ = renewer.join();
        }
        if self.file.is_ours() {
            // A lease that cannot be removed expires.
            let _ = fs::remove_file(self.file.path());
        }
    }
}

/// The process on another machine that holds an unexpired lease of this folder.
fn holder_elsewhere(folder: &Path) -> Option<String> {
    foreign_holder(folder, TERMS).ok().flatten()
}

fn foreign_holder(folder: &Path, terms: LeaseTerms) -> Result<Option<String>, LockError> {
    let path = folder.join("lease");
    let failed = |source| LockError::Io { path: path.clone(), source };
    let text = match fs::read_to_string(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other.map_err(failed)?,
    };
    // On this machine the lock suffices: it ends with its process.
    if text.lines().nth(1) == Some(machine().as_str()) {
        return Ok(None);
    }
    let age = age(folder, &path).map_err(failed)?;
    let holder = text.lines().next().unwrap_or("another machine").to_owned();
    Ok((age < terms.others_take_after).then(|| format!("{holder} (seen {:.0} s ago)", age.as_secs_f64())))
}

impl LeaseFile {
    fn path(&self) -> PathBuf {
        self.folder.join("lease")
    }

    /// Writes a temporary file and renames it, so that no reader sees a partial file.
    fn write(&self) -> Result<(), LockError> {
        let begun = Instant::now();
        let temporary = self.folder.join(format!("lease.new-{}", std::process::id()));
        let written = File::create(&temporary)
            .and_then(|mut file| file.write_all(self.owner.as_bytes()).and_then(|()| file.sync_all()))
            .and_then(|()| fs::rename(&temporary, self.path()));
        written.map_err(|source| LockError::Io { path: self.path(), source })?;
        // Counted from before the write, since the file's time stamp may be from any moment of it.
        *self.renewed.lock().expect("no holder of this mutex panics") = begun;
        Ok(())
    }

    fn is_ours(&self) -> bool {
        fs::read_to_string(self.path()).is_ok_and(|text| text == self.owner)
    }

    fn renew(&self) {
        match fs::read_to_string(self.path()) {
            Ok(text) if text == self.owner => {
                // A failed write may succeed at the next renewal; the owner's clock decides when to stop.
                let _ = self.write();
            }
            Ok(_) => self.lost.store(true, Ordering::Relaxed),
            Err(_) => {}
        }
    }

    fn check(&self) -> Result<(), LockError> {
        let is_fresh =
            || self.renewed.lock().expect("no holder of this mutex panics").elapsed() < self.terms.owner_stops_after;
        if !is_fresh() {
            // A process that was suspended keeps its lease if no other machine has taken it.
            self.renew();
        }
        if is_fresh() && !self.lost.load(Ordering::Relaxed) {
            return Ok(());
        }
        let holder = fs::read_to_string(self.path()).ok().and_then(|text| text.lines().next().map(str::to_owned));
        Err(LockError::Lost {
            folder: self.folder.clone(),
            holder: holder.unwrap_or_else(|| "no other process yet".into()),
        })
    }
}

/// Content of a lease file: owner, machine with boot id, and a line unique to this process.
fn lease_text(owner: &str) -> String {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    format!("{owner}\n{}\n{}-{now}\n", machine(), std::process::id())
}

fn machine() -> String {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    format!("{} {}", host(), boot.trim())
}

/// Age of a file by the clock of its file system.
fn age(folder: &Path, path: &Path) -> io::Result<Duration> {
    let probe = folder.join(format!("lease.now-{}", std::process::id()));
    File::create(&probe)?.write_all(b"now")?;
    let now = fs::metadata(&probe)?.modified()?;
    fs::remove_file(&probe)?;
    Ok(now.duration_since(fs::metadata(path)?.modified()?).unwrap_or(Duration::ZERO))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Renewed often, with the usual time to expire, so that slow disks do not fail the test.
    const BRISK: LeaseTerms = LeaseTerms { renewed_every: Duration::from_millis(20), ..TERMS };

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
    fn a_missing_folder_is_an_error_naming_the_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let error = FolderLock::acquire(&folder.path().join("nowhere")).expect_err("there is no folder");
        assert!(error.to_string().contains("nowhere/lock"), "{error}");
    }

    fn write_foreign(folder: &Path) {
        fs::write(folder.join("lease"), "process 1 on elsewhere\nelsewhere 1234\n1-1\n").unwrap();
    }

    fn wait_for(what: &str, happened: impl Fn() -> bool) {
        let start = Instant::now();
        while !happened() {
            assert!(start.elapsed() < Duration::from_secs(60), "did not happen within a minute: {what}");
            thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn a_lease_of_another_machine_is_respected_until_it_expires() {
        let folder = tempfile::tempdir().unwrap();
        write_foreign(folder.path());
        let refused = Lease::take(folder.path(), "me").unwrap_err().to_string();
        assert!(refused.contains("in use by process 1 on elsewhere"), "{refused}");
        assert!(holder_elsewhere(folder.path()).is_some());
        let long_ago = SystemTime::now() - 2 * TERMS.others_take_after;
        File::options().write(true).open(folder.path().join("lease")).unwrap().set_modified(long_ago).unwrap();
        let lease = Lease::take(folder.path(), "me").unwrap();
        lease.check().unwrap();
        drop(lease);
        assert!(!folder.path().join("lease").exists(), "a lease is removed when dropped");
    }

    #[test]
    fn a_lease_is_renewed_as_long_as_it_is_held() {
        let folder = tempfile::tempdir().unwrap();
        let lease = Lease::take_on(folder.path(), "me", BRISK).unwrap();
        for _ in 0..3 {
            let (seen, before) = (Instant::now(), fs::metadata(lease.file.path()).unwrap().modified().unwrap());
            wait_for("a newer lease file", || {
                fs::metadata(lease.file.path()).is_ok_and(|file| before < file.modified().unwrap())
            });
            wait_for("the owner's clock", || seen < *lease.file.renewed.lock().unwrap());
            lease.check().unwrap();
        }
    }

    #[test]
    fn an_owner_whose_lease_was_taken_stops_and_leaves_the_new_lease_alone() {
        let folder = tempfile::tempdir().unwrap();
        let lease = Lease::take_on(folder.path(), "me", BRISK).unwrap();
        // A renewal in progress may overwrite the first one.
        wait_for("the loss to be seen", || {
            write_foreign(folder.path());
            lease.check().is_err()
        });
        let lost = lease.check().unwrap_err().to_string();
        assert!(lost.contains("process 1 on elsewhere"), "{lost}");
        drop(lease);
        assert!(fs::read_to_string(folder.path().join("lease")).unwrap().starts_with("process 1 on elsewhere"));
    }

    #[test]
    fn an_owner_that_cannot_renew_stops_before_others_may_begin() {
        let folder = tempfile::tempdir().unwrap();
        let never = LeaseTerms { renewed_every: Duration::from_secs(3600), owner_stops_after: Duration::ZERO, ..TERMS };
        let lease = Lease::take_on(folder.path(), "me", never).unwrap();
        fs::remove_file(folder.path().join("lease")).unwrap();
        fs::create_dir(folder.path().join("lease")).unwrap();
        assert!(matches!(lease.check(), Err(LockError::Lost { .. })));
        assert!(TERMS.owner_stops_after < TERMS.others_take_after);
    }

    #[test]
    fn what_a_dead_process_of_this_machine_left_is_taken_at_once() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("lease"), lease_text("process 1 here")).unwrap();
        Lease::take(folder.path(), "me").unwrap().check().unwrap();
    }
}
