//! Disks that die at every possible moment and disks that fill up: a loadable checkpoint is always left.
//!
//! The dying disk is harsher than `kill -9`: it also forgets, as a loss of power may, whatever was not put on the disk.
//! Bytes that were not synced are cut short; names that were not settled are forgotten in any combination.

use super::disk::Disk;
use super::tests::{CAPACITY, INTERVAL, ToyRun, check_loaded};
use super::{CheckpointError, CheckpointStore};
use sane_env::Stream;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

/// A change of names that is not on the disk yet.
enum Unsettled {
    Renamed { from: PathBuf, to: PathBuf, replaced: Option<Vec<u8>> },
    Removed { path: PathBuf, bytes: Vec<u8> },
}

/// Works until `deeds_left` reaches zero, then refuses everything.
struct DyingDisk {
    deeds_left: usize,
    unsettled: Vec<Unsettled>,
}

impl DyingDisk {
    fn with(deeds_left: usize) -> Arc<Mutex<Self>> {
        Arc::new(Mutex::new(Self { deeds_left, unsettled: Vec::new() }))
    }

    fn live(&mut self) -> io::Result<()> {
        match self.deeds_left.checked_sub(1) {
            Some(left) => {
                self.deeds_left = left;
                Ok(())
            }
            None => Err(io::Error::other("the machine is off")),
        }
    }

    /// What a loss of power does to names: each unsettled change is forgotten or not, as the coin falls.
    fn lose_power(&mut self, coin: &mut Stream) {
        for change in std::mem::take(&mut self.unsettled).into_iter().rev() {
            if coin.below(2) == 0 {
                continue;
            }
            match change {
                Unsettled::Renamed { from, to, replaced } => {
                    fs::rename(&to, from).expect("the file is where it was put");
                    if let Some(bytes) = replaced {
                        fs::write(to, bytes).expect("written");
                    }
                }
                Unsettled::Removed { path, bytes } => fs::write(path, bytes).expect("written"),
            }
        }
    }
}

impl Disk for Arc<Mutex<DyingDisk>> {
    fn write_durably(&mut self, path: &Path, pieces: &[&[u8]]) -> io::Result<()> {
        let mut disk = self.lock().expect("one thread");
        disk.live()?;
        let bytes = pieces.concat();
        fs::write(path, &bytes[..bytes.len() / 2])?;
        disk.live()?;
        fs::write(path, &bytes)
    }

    fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        let mut disk = self.lock().expect("one thread");
        disk.live()?;
        let replaced = fs::read(to).ok();
        disk.unsettled.push(Unsettled::Renamed { from: from.into(), to: to.into(), replaced });
        fs::rename(from, to)
    }

    fn settle_names(&mut self, _folder: &Path) -> io::Result<()> {
        let mut disk = self.lock().expect("one thread");
        disk.live()?;
        disk.unsettled.clear();
        Ok(())
    }

    fn remove(&mut self, path: &Path) -> io::Result<()> {
        let mut disk = self.lock().expect("one thread");
        disk.live()?;
        disk.unsettled.push(Unsettled::Removed { path: path.into(), bytes: fs::read(path)? });
        fs::remove_file(path)
    }
}

/// Saves up to four checkpoints on a disk that dies after `deeds`, then loads what is left. Whether it got to the end.
fn check_death_after(deeds: usize, coin: &mut Stream) -> bool {
    let folder = tempfile::tempdir().expect("a folder");
    let disk = DyingDisk::with(deeds);
    let mut store = CheckpointStore::open_on(folder.path(), Box::new(Arc::clone(&disk))).expect("readable");
    let mut run = ToyRun::at(0);
    let mut safe = 0;
    while safe < 4 * INTERVAL {
        run.go_on(INTERVAL);
        if run.save(&mut store).is_err() {
            break;
        }
        safe += INTERVAL;
    }
    disk.lock().expect("one thread").lose_power(coin);
    let mut store = CheckpointStore::open_on(folder.path(), Box::new(DyingDisk::with(usize::MAX))).expect("readable");
    let loaded = store.load_latest(CAPACITY, &ToyRun::spec()).expect("a checkpoint is usable");
    let found = loaded.as_ref().map_or(0, |loaded| loaded.interactions.0);
    assert!(safe <= found, "after {deeds} deeds: {safe} was safe, {found} is left");
    assert_eq!(store.warnings(), [""; 0], "after {deeds} deeds");
    if let Some(loaded) = &loaded {
        check_loaded(loaded);
    }
    // Life goes on: the next checkpoint is made and nothing of the broken one remains.
    let mut run = ToyRun::at(found + INTERVAL);
    run.save(&mut store).expect("there is room");
    run.go_on(INTERVAL);
    run.save(&mut store).expect("there is room");
    let bodies = fs::read_dir(folder.path()).expect("the folder").filter(|entry| {
        let name = entry.as_ref().expect("an entry").file_name().into_string().expect("a plain name");
        name.starts_with("body-") || name.starts_with("new-")
    });
    assert_eq!(bodies.count(), 2, "after {deeds} deeds");
    safe == 4 * INTERVAL
}

#[test]
fn power_lost_at_any_moment_leaves_the_last_finished_checkpoint() {
    let mut coin = Stream::named(1, "power");
    let mut deeds = 0;
    loop {
        let finished = (0..6).filter(|_| check_death_after(deeds, &mut coin)).count() == 6;
        deeds += 1;
        if finished {
            break;
        }
    }
    assert!(40 < deeds, "four checkpoints took only {deeds} deeds");
}

/// Has room for so many bytes at once.
struct FullDisk {
    room: usize,
}

impl Disk for FullDisk {
    fn write_durably(&mut self, path: &Path, pieces: &[&[u8]]) -> io::Result<()> {
        let bytes = pieces.concat();
        let fits = bytes.len().min(self.room);
        self.room -= fits;
        fs::write(path, &bytes[..fits])?;
        if fits == bytes.len() { Ok(()) } else { Err(io::ErrorKind::StorageFull.into()) }
    }

    fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn settle_names(&mut self, _folder: &Path) -> io::Result<()> {
        Ok(())
    }

    fn remove(&mut self, path: &Path) -> io::Result<()> {
        self.room += fs::metadata(path)?.len() as usize;
        fs::remove_file(path)
    }
}

#[test]
fn a_full_disk_is_named_and_the_last_checkpoint_is_intact() {
    for room in (11_000..24_000).step_by(501) {
        let folder = tempfile::tempdir().expect("a folder");
        let mut store = CheckpointStore::open_on(folder.path(), Box::new(FullDisk { room })).expect("readable");
        let mut run = ToyRun::at(0);
        let error = loop {
            run.go_on(INTERVAL);
            if let Err(error) = run.save(&mut store) {
                break error;
            }
            assert!(run.replay.pushed().0 < 3000, "with room for {room} bytes the disk never filled up");
        };
        assert!(matches!(&error, CheckpointError::DiskFull { bytes, .. } if 0 < *bytes), "{error}");
        let mut store = CheckpointStore::open(folder.path()).expect("readable");
        let loaded = store.load_latest(CAPACITY, &ToyRun::spec()).expect("usable").expect("there is one");
        assert_eq!(loaded.interactions.0 + INTERVAL, run.replay.pushed().0);
        check_loaded(&loaded);
    }
}
