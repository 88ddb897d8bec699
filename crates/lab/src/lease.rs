//! Who may write a folder, over the borders of machines. A file system that many machines share need not carry the locks
//! of an operating system from one to the other, and a machine that is lost cannot let go of anything. So the owner
//! keeps writing its name into the folder; a name that was not renewed for a while has lost its right, and its owner,
//! if it still lives, knows that by its own clock earlier than anybody else.
//!
//! ```text
//! renewed every 10 s     owner stops by itself after 30 s without     others may take it after 45 s without
//! ```
//!
//! The age of a lease is told by one clock, that of the file system: as the difference to a file written just now.

use crate::lock::LockError;
use crate::machine::host;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

/// How the times of a lease relate; all machines must agree on them.
#[derive(Debug, Clone, Copy)]
pub struct Terms {
    renewed_every: Duration,
    owner_stops_after: Duration,
    others_take_after: Duration,
}

/// The terms of every lease of the program.
pub const TERMS: Terms = Terms {
    renewed_every: Duration::from_secs(10),
    owner_stops_after: Duration::from_secs(30),
    others_take_after: Duration::from_secs(45),
};

/// The right to write a folder, renewed in the background; dropping it gives it back.
#[derive(Debug)]
pub struct Lease {
    file: Arc<LeaseFile>,
    quit: Option<mpsc::Sender<()>>,
    renewer: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct LeaseFile {
    folder: PathBuf,
    owner: String,
    terms: Terms,
    renewed: Mutex<Instant>,
    lost: AtomicBool,
}

impl Lease {
    /// Takes the lease of this folder; the caller holds the folder's lock on this machine.
    pub fn take(folder: &Path, owner: &str) -> Result<Self, LockError> {
        Self::take_on(folder, owner, TERMS)
    }

    fn take_on(folder: &Path, owner: &str, terms: Terms) -> Result<Self, LockError> {
        if let Some(holder) = foreign_holder(folder, terms)? {
            return Err(LockError::InUse { folder: folder.into(), holder });
        }
        let (renewed, lost) = (Mutex::new(Instant::now()), AtomicBool::new(false));
        let file = Arc::new(LeaseFile { folder: folder.into(), owner: named(owner), terms, renewed, lost });
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

    /// Whether this process may still write. Cheap as long as the lease was renewed in time.
    pub fn check(&self) -> Result<(), LockError> {
        self.file.check()
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        drop(self.quit.take());
        if let Some(renewer) = self.renewer.take() {
            // A renewer that panicked has nothing left to renew.
            let _ = renewer.join();
        }
        if self.file.is_ours() {
            // A lease that cannot be given back runs out by itself.
            let _ = fs::remove_file(self.file.path());
        }
    }
}

/// Whoever on another machine holds the lease of this folder, if it has not run out.
pub fn holder_elsewhere(folder: &Path) -> Option<String> {
    foreign_holder(folder, TERMS).ok().flatten()
}

fn foreign_holder(folder: &Path, terms: Terms) -> Result<Option<String>, LockError> {
    let path = folder.join("lease");
    let failed = |source| LockError::Io { path: path.clone(), source };
    let text = match fs::read_to_string(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other.map_err(failed)?,
    };
    // On this machine the lock is proof enough: it ends with its process.
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

    /// Written beside its place and renamed: nobody sees half a name.
    fn write(&self) -> Result<(), LockError> {
        let begun = Instant::now();
        let temporary = self.folder.join(format!("lease.new-{}", std::process::id()));
        let written = File::create(&temporary)
            .and_then(|mut file| file.write_all(self.owner.as_bytes()).and_then(|()| file.sync_all()))
            .and_then(|()| fs::rename(&temporary, self.path()));
        written.map_err(|source| LockError::Io { path: self.path(), source })?;
        // Counted from before the write: the file system's clock may have stopped at any moment of it.
        *self.renewed.lock().expect("nobody panics with it") = begun;
        Ok(())
    }

    fn is_ours(&self) -> bool {
        fs::read_to_string(self.path()).is_ok_and(|text| text == self.owner)
    }

    fn renew(&self) {
        match fs::read_to_string(self.path()) {
            Ok(text) if text == self.owner => {
                // A file system that does not answer may answer next time; the owner's clock runs meanwhile.
                let _ = self.write();
            }
            Ok(_) => self.lost.store(true, Ordering::Relaxed),
            Err(_) => {}
        }
    }

    fn check(&self) -> Result<(), LockError> {
        let is_fresh = || self.renewed.lock().expect("nobody panics with it").elapsed() < self.terms.owner_stops_after;
        if !is_fresh() {
            // A process that was halted for a while may find that nobody has taken its place.
            self.renew();
        }
        if is_fresh() && !self.lost.load(Ordering::Relaxed) {
            return Ok(());
        }
        let holder = fs::read_to_string(self.path()).ok().and_then(|text| text.lines().next().map(str::to_owned));
        Err(LockError::Lost { folder: self.folder.clone(), holder: holder.unwrap_or_else(|| "nobody yet".into()) })
    }
}

/// Two lines: who, and on which machine since when it runs; then something that no other process has.
fn named(owner: &str) -> String {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_nanos());
    format!("{owner}\n{}\n{}-{now}\n", machine(), std::process::id())
}

fn machine() -> String {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    format!("{} {}", host(), boot.trim())
}

/// How long ago a file was written, by the clock of its file system.
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

    /// Renewed often, and with time enough for the slowest disk.
    const BRISK: Terms = Terms { renewed_every: Duration::from_millis(20), ..TERMS };

    fn write_foreign(folder: &Path) {
        fs::write(folder.join("lease"), "process 1 on elsewhere\nelsewhere 1234\n1-1\n").unwrap();
    }

    fn wait_for(what: &str, happened: impl Fn() -> bool) {
        let start = Instant::now();
        while !happened() {
            assert!(start.elapsed() < Duration::from_secs(60), "waited in vain: {what}");
            thread::sleep(Duration::from_millis(5));
        }
    }

    #[test]
    fn a_lease_of_another_machine_is_respected_until_it_runs_out() {
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
        assert!(!folder.path().join("lease").exists(), "a lease is given back");
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
    fn an_owner_whose_place_was_taken_stops_and_leaves_the_new_lease_alone() {
        let folder = tempfile::tempdir().unwrap();
        let lease = Lease::take_on(folder.path(), "me", BRISK).unwrap();
        // A renewal may be on its way and put itself over the first one.
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
        let never = Terms { renewed_every: Duration::from_secs(3600), owner_stops_after: Duration::ZERO, ..TERMS };
        let lease = Lease::take_on(folder.path(), "me", never).unwrap();
        fs::remove_file(folder.path().join("lease")).unwrap();
        fs::create_dir(folder.path().join("lease")).unwrap();
        assert!(matches!(lease.check(), Err(LockError::Lost { .. })));
        assert!(TERMS.owner_stops_after < TERMS.others_take_after);
    }

    #[test]
    fn what_a_dead_process_of_this_machine_left_is_taken_at_once() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("lease"), named("process 1 here")).unwrap();
        Lease::take(folder.path(), "me").unwrap().check().unwrap();
    }
}
