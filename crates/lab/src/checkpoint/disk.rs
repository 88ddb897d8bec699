//! The four deeds a checkpoint asks of the disk. A trait, so that tests can have a disk that fills up, fails and dies.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

/// What a store does to its folder.
pub(crate) trait Disk: Send {
    /// Writes a new file and returns when its bytes are on the disk.
    fn write_durably(&mut self, path: &Path, pieces: &[&[u8]]) -> io::Result<()>;
    /// Gives a file its name, replacing what had it.
    fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()>;
    /// Returns when all names given and taken away in the folder are on the disk.
    fn settle_names(&mut self, folder: &Path) -> io::Result<()>;
    /// Removes a file.
    fn remove(&mut self, path: &Path) -> io::Result<()>;
}

/// The disk of this machine.
pub(crate) struct RealDisk;

impl Disk for RealDisk {
    fn write_durably(&mut self, path: &Path, pieces: &[&[u8]]) -> io::Result<()> {
        let mut file = File::create(path)?;
        pieces.iter().try_for_each(|piece| file.write_all(piece))?;
        file.sync_all()
    }

    fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn settle_names(&mut self, folder: &Path) -> io::Result<()> {
        File::open(folder)?.sync_all()
    }

    fn remove(&mut self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }
}
