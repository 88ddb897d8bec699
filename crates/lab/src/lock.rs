//! One process per run folder. On one machine the lock is the operating system's: it ends with its process, however that
//! ends, so there is no stale one to clear away by hand. Between machines it is a lease, which runs out.

use crate::lease::{Lease, holder_elsewhere};
use crate::machine::host;
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read, Seek, Write};
use std::path::{Path, PathBuf};

/// Held while a process writes a run; dropping it lets the next one in.
#[derive(Debug)]
pub struct RunLock {
    // Given back before the lock is: who gets the lock finds no lease of ours.
    lease: Lease,
    _file: File,
}

/// Why a run folder could not be locked.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another process is at work there.
    #[error(
        "{} is in use by {holder}; wait for it, stop it, or choose another folder with --out",
        folder.display()
    )]
    InUse {
        /// The run folder.
        folder: PathBuf,
        /// Who holds it, as they wrote themselves: process and host.
        holder: String,
    },
    /// Another machine has taken over.
    #[error(
        "{} now belongs to {holder}: this process could not renew its lease in time and writes nothing more; the \
         run goes on from its last checkpoint",
        folder.display()
    )]
    Lost {
        /// The run folder.
        folder: PathBuf,
        /// Who has it now.
        holder: String,
    },
    /// The lock file cannot be made or locked.
    #[error("cannot lock the run folder by {}: {source}; it must be writable", path.display())]
    Io {
        /// The lock file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

impl RunLock {
    /// Takes the lock of this folder, which must exist, or says who has it.
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

    /// Whether this process may still write here; a machine that was cut off for a while may have lost the folder.
    pub fn check(&self) -> Result<(), LockError> {
        self.lease.check()
    }

    /// Who holds the lock of this folder, if anybody does.
    pub fn holder(folder: &Path) -> Option<String> {
        let mut file = File::open(folder.join("lock")).ok()?;
        // A shared lock, so that two who ask at once do not take each other for the holder.
        match file.try_lock_shared() {
            Err(TryLockError::WouldBlock) => Some(written_holder(&mut file)),
            _ => holder_elsewhere(folder),
        }
    }
}

/// As it writes itself into locks.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_second_holder_is_refused_and_told_who_the_first_is() {
        let folder = tempfile::tempdir().expect("a folder");
        let first = RunLock::acquire(folder.path()).expect("nobody holds it");
        let refused = RunLock::acquire(folder.path()).expect_err("the first holds it");
        assert!(refused.to_string().contains(&format!("process {}", std::process::id())), "{refused}");
        assert!(RunLock::holder(folder.path()).is_some_and(|holder| holder == this_process()));
        drop(first);
        assert_eq!(RunLock::holder(folder.path()), None);
        RunLock::acquire(folder.path()).expect("the first let go");
    }

    #[test]
    fn a_folder_that_is_not_there_is_an_error_naming_the_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let error = RunLock::acquire(&folder.path().join("nowhere")).expect_err("there is no folder");
        assert!(error.to_string().contains("nowhere/lock"), "{error}");
    }
}
