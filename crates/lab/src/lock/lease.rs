//! A lease: the right to write a folder across machines.
//!
//! A machine that is lost cannot release anything. So the owner rewrites its name into the folder at an interval; a lease
//! that was not renewed in time has expired, and its owner, if it still runs, notices that by its own clock before any
//! other machine may take the folder.
//!
//! ```text
//! renewed every 10 s     owner stops after 30 s without renewal     others may take it after 45 s without renewal
//! ```
//!
//! The age of a lease is measured by one clock, that of the file system, against a file written at the moment of the check. A
//! lease from the future, as after a clock that was set back, is stamped with the present, so that it expires like any other.
//! The owner counts by two clocks, one that does not jump and one that does not stand still while a machine is suspended.
//! A process that takes over an expired lease, or wakes up with one, looks again after a moment: of two that wrote, one stays.

use super::{LARGEST_BYTES, LockError, move_odd_things_aside};
use crate::machine::host;
use sane_record::{RealDisk, open_plain, read_plain_text, replace_file};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant, SystemTime};

/// Intervals of a lease; all machines must agree on them.
#[derive(Debug, Clone, Copy)]
struct LeaseTerms {
    renewed_every: Duration,
    owner_stops_after: Duration,
    others_take_after: Duration,
    /// After taking an expired lease: until another that did the same must have written.
    settles_after: Duration,
}

const TERMS: LeaseTerms = LeaseTerms {
    renewed_every: Duration::from_secs(10),
    owner_stops_after: Duration::from_secs(30),
    others_take_after: Duration::from_secs(45),
    settles_after: Duration::from_secs(1),
};

/// The right to write a folder across machines, renewed by a thread; dropping it removes it.
#[derive(Debug)]
pub(super) struct Lease {
    file: Arc<LeaseFile>,
    quit: Option<mpsc::Sender<()>>,
    renewer: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct LeaseFile {
    folder: PathBuf,
    owner: String,
    terms: LeaseTerms,
    renewed: Mutex<Moment>,
    lost: AtomicBool,
}

/// A point in time by two clocks: one that never jumps, and one that runs on while the machine is suspended.
#[derive(Debug, Clone, Copy)]
struct Moment {
    steady: Instant,
    wall: SystemTime,
}

impl Moment {
    fn now() -> Self {
        Self { steady: Instant::now(), wall: SystemTime::now() }
    }

    /// Whether less time than `limit` has passed since, by both clocks. A wall clock that was set back counts as much time:
    /// then the lease is looked at, which costs nothing.
    fn is_within(&self, limit: Duration) -> bool {
        self.steady.elapsed() < limit && self.wall.elapsed().is_ok_and(|passed| passed < limit)
    }
}

impl Lease {
    /// Takes the lease of this folder; the caller holds the folder's lock on this machine.
    pub(super) fn take(folder: &Path, owner: &str) -> Result<Self, LockError> {
        Self::take_on(folder, owner, TERMS)
    }

    fn take_on(folder: &Path, owner: &str, terms: LeaseTerms) -> Result<Self, LockError> {
        let was_taken = match found_lease(folder, terms)? {
            Found::Foreign { holder } => return Err(LockError::InUse { folder: folder.into(), holder }),
            Found::Expired => true,
            Found::None => false,
        };
        let (renewed, lost) = (Mutex::new(Moment::now()), AtomicBool::new(false));
        let file = Arc::new(LeaseFile { folder: folder.into(), owner: lease_text(owner), terms, renewed, lost });
        move_odd_things_aside(&file.path()).map_err(|source| LockError::Io { path: file.path(), source })?;
        file.write()?;
        if was_taken && !file.is_ours_after_a_moment() {
            return Err(LockError::InUse { folder: folder.into(), holder: file.written_owner() });
        }
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
    pub(super) fn check(&self) -> Result<(), LockError> {
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
pub(super) fn holder_elsewhere(folder: &Path) -> Option<String> {
    match found_lease(folder, TERMS) {
        Ok(Found::Foreign { holder }) => Some(holder),
        _ => None,
    }
}

/// The lease that is in a folder.
enum Found {
    /// None, or one of this machine: there the lock suffices, it ends with its process.
    None,
    /// One that another machine may still hold.
    Foreign { holder: String },
    /// One that no machine has renewed in time.
    Expired,
}

fn found_lease(folder: &Path, terms: LeaseTerms) -> Result<Found, LockError> {
    let path = folder.join("lease");
    let failed = |source| LockError::Io { path: path.clone(), source };
    let text = match read_plain_text(&path, LARGEST_BYTES) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Found::None),
        // What cannot be read expires like a lease of an unknown machine.
        other => other.unwrap_or_default(),
    };
    if text.lines().nth(1) == Some(machine().as_str()) {
        return Ok(Found::None);
    }
    let holder = text.lines().next().unwrap_or("another machine").to_owned();
    let (now, written) = times(folder, &path).map_err(failed)?;
    match now.duration_since(written) {
        Ok(age) if terms.others_take_after <= age => Ok(Found::Expired),
        Err(ahead) if Duration::from_secs(1) < ahead.duration() => {
            // From the future: stamped with the present, it expires unless its owner renews it. What cannot be stamped is
            // no file, so no owner renews it.
            if open_plain(&path).and_then(|file| file.set_modified(now)).is_err() {
                return Ok(Found::Expired);
            }
            let free = terms.others_take_after.as_secs();
            let reason = format!("its time stamp is in the future; free in {free} s if it is not renewed");
            Ok(Found::Foreign { holder: format!("{holder} ({reason})") })
        }
        age => {
            let seconds = age.unwrap_or_default().as_secs_f64();
            Ok(Found::Foreign { holder: format!("{holder} (seen {seconds:.0} s ago)") })
        }
    }
}

impl LeaseFile {
    fn path(&self) -> PathBuf {
        self.folder.join("lease")
    }

    /// Writes a temporary file and renames it, so that no reader sees a partial file.
    fn write(&self) -> Result<(), LockError> {
        let begun = Moment::now();
        let temporary = self.folder.join(format!("lease.new-{}", std::process::id()));
        replace_file(&RealDisk, &temporary, &self.path(), &[self.owner.as_bytes()])
            .map_err(|source| LockError::Io { path: self.path(), source })?;
        // Counted from before the write, since the file's time stamp may be from any moment of it.
        *self.renewed.lock().expect("no holder of this mutex panics") = begun;
        Ok(())
    }

    fn text(&self) -> io::Result<String> {
        read_plain_text(&self.path(), LARGEST_BYTES)
    }

    fn is_ours(&self) -> bool {
        self.text().is_ok_and(|text| text == self.owner)
    }

    /// Whether it still is when another that wrote at the same time has done so.
    fn is_ours_after_a_moment(&self) -> bool {
        let start = Instant::now();
        while self.is_ours() {
            if self.terms.settles_after <= start.elapsed() {
                return true;
            }
            thread::sleep(Duration::from_millis(20).min(self.terms.settles_after));
        }
        false
    }

    /// The owner as the file names it.
    fn written_owner(&self) -> String {
        let holder = self.text().ok().and_then(|text| text.lines().next().map(str::to_owned));
        holder.unwrap_or_else(|| "no other process yet".into())
    }

    fn renew(&self) {
        match self.text() {
            Ok(text) if text == self.owner => {
                let in_time = self.is_fresh();
                // A failed write may succeed at the next renewal; the owner's clock decides when to stop.
                let written = self.write();
                if !in_time && written.is_ok() && !self.is_ours_after_a_moment() {
                    self.lost.store(true, Ordering::Relaxed);
                }
            }
            Ok(_) => self.lost.store(true, Ordering::Relaxed),
            Err(_) => {}
        }
    }

    fn is_fresh(&self) -> bool {
        self.renewed.lock().expect("no holder of this mutex panics").is_within(self.terms.owner_stops_after)
    }

    fn check(&self) -> Result<(), LockError> {
        if !self.is_fresh() {
            // A process that was suspended keeps its lease if no other machine has taken it.
            self.renew();
        }
        if self.is_fresh() && !self.lost.load(Ordering::Relaxed) {
            return Ok(());
        }
        Err(LockError::Lost { folder: self.folder.clone(), holder: self.written_owner() })
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

/// The present and the time at which a file was written, both by the clock of its file system.
fn times(folder: &Path, path: &Path) -> io::Result<(SystemTime, SystemTime)> {
    let probe = folder.join(format!("lease.now-{}", std::process::id()));
    File::create(&probe)?.write_all(b"now")?;
    let now = fs::metadata(&probe)?.modified()?;
    fs::remove_file(&probe)?;
    Ok((now, fs::symlink_metadata(path)?.modified()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Renewed often, with the usual time to expire, so that slow disks do not fail the test.
    const BRISK: LeaseTerms =
        LeaseTerms { renewed_every: Duration::from_millis(20), settles_after: Duration::from_millis(20), ..TERMS };

    fn write_foreign(folder: &Path) {
        fs::write(folder.join("lease"), "process 1 on elsewhere\nelsewhere 1234\n1-1\n").unwrap();
    }

    fn set_modified(folder: &Path, when: SystemTime) {
        File::options().write(true).open(folder.join("lease")).unwrap().set_modified(when).unwrap();
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
        set_modified(folder.path(), SystemTime::now() - 2 * TERMS.others_take_after);
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
            wait_for("the owner's clock", || seen < lease.file.renewed.lock().unwrap().steady);
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
    fn a_lease_from_the_future_expires_like_one_of_now() {
        let folder = tempfile::tempdir().unwrap();
        write_foreign(folder.path());
        let hour = Duration::from_secs(3600);
        set_modified(folder.path(), SystemTime::now() + 24 * hour);
        let refused = Lease::take(folder.path(), "me").unwrap_err().to_string();
        assert!(refused.contains("in the future"), "{refused}");
        let stamp = fs::metadata(folder.path().join("lease")).unwrap().modified().unwrap();
        assert!(stamp < SystemTime::now() + hour, "it is stamped with the present");
        set_modified(folder.path(), SystemTime::now() - 2 * TERMS.others_take_after);
        Lease::take_on(folder.path(), "me", BRISK).unwrap().check().unwrap();
    }

    #[test]
    fn what_is_unreadable_in_place_of_a_lease_expires_and_folders_are_not_deleted() {
        let kinds: [fn(&Path); 4] = [
            |path| fs::write(path, [0xff; 100]).unwrap(),
            |path| File::create(path).unwrap().set_len(1 << 40).unwrap(),
            |path| fs::create_dir_all(path.join("something")).unwrap(),
            |path| drop(std::os::unix::net::UnixListener::bind(path).unwrap()),
        ];
        for make in kinds {
            let folder = tempfile::tempdir().unwrap();
            make(&folder.path().join("lease"));
            let is_folder = folder.path().join("lease/something").exists();
            assert!(matches!(Lease::take(folder.path(), "me"), Err(LockError::InUse { .. })), "it is not expired yet");
            let terms = LeaseTerms { others_take_after: Duration::ZERO, ..BRISK };
            Lease::take_on(folder.path(), "me", terms).unwrap().check().unwrap();
            let mut names = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().path());
            assert_eq!(names.any(|path| path.join("something").exists()), is_folder, "a folder is kept");
        }
    }

    #[test]
    fn an_owner_that_slept_through_its_lease_by_the_wall_clock_alone_stops_if_another_took_it() {
        let folder = tempfile::tempdir().unwrap();
        let seldom = LeaseTerms { renewed_every: Duration::from_secs(3600), ..BRISK };
        let lease = Lease::take_on(folder.path(), "me", seldom).unwrap();
        // As after a suspension: the steady clock stood still.
        lease.file.renewed.lock().unwrap().wall -= Duration::from_secs(3600);
        lease.check().expect("no other machine took it, so it is renewed");
        lease.file.renewed.lock().unwrap().wall -= Duration::from_secs(3600);
        write_foreign(folder.path());
        assert!(matches!(lease.check(), Err(LockError::Lost { .. })));
    }

    #[test]
    fn of_two_machines_that_take_an_expired_lease_at_once_one_keeps_it() {
        let folder = tempfile::tempdir().unwrap();
        write_foreign(folder.path());
        set_modified(folder.path(), SystemTime::now() - 2 * TERMS.others_take_after);
        // Longer than the test waits for anything: it ends when the other lease is seen.
        let slow = LeaseTerms { settles_after: Duration::from_secs(120), ..BRISK };
        let other = folder.path().to_owned();
        // The other machine writes its lease while this one waits whether any does.
        let writer = thread::spawn(move || {
            wait_for("the lease of this machine", || {
                fs::read_to_string(other.join("lease")).is_ok_and(|text| text.starts_with("me"))
            });
            write_foreign(&other);
        });
        assert!(matches!(Lease::take_on(folder.path(), "me", slow), Err(LockError::InUse { .. })));
        writer.join().unwrap();
    }

    #[test]
    fn what_a_dead_process_of_this_machine_left_is_taken_at_once() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("lease"), lease_text("process 1 here")).unwrap();
        Lease::take(folder.path(), "me").unwrap().check().unwrap();
    }
}
