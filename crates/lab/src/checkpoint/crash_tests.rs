//! Crashes: disks that lose power at every possible moment, disks that fill up, processes that are killed (this test
//! program starts itself as a child that checkpoints without pause). A loadable checkpoint is always left.
//!
//! The dying disk is harsher than `kill -9`: it also forgets, as a loss of power may, whatever was not put on the disk.
//! Bytes that were not synced are cut short; names that were not settled are forgotten in any combination.

use super::store::Disk;
use super::tests::{CAPACITY, INTERVAL, ToyRun, check_loaded};
use super::{CheckpointError, CheckpointStore};
use sane_env::Stream;
use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A change of names that is not on the disk yet.
enum Unsettled {
    Renamed { from: PathBuf, to: PathBuf, replaced: Option<Vec<u8>> },
    Removed { path: PathBuf, bytes: Vec<u8> },
}

/// Works until `operations_left` reaches zero, then fails every operation.
struct PowerLossDisk {
    operations_left: usize,
    unsettled: Vec<Unsettled>,
}

impl PowerLossDisk {
    fn with(operations_left: usize) -> Arc<Mutex<Self>> {
        Arc::new(Mutex::new(Self { operations_left, unsettled: Vec::new() }))
    }

    fn live(&mut self) -> io::Result<()> {
        match self.operations_left.checked_sub(1) {
            Some(left) => {
                self.operations_left = left;
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

impl Disk for Arc<Mutex<PowerLossDisk>> {
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

    fn sync_names(&mut self, _folder: &Path) -> io::Result<()> {
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

/// Saves up to four checkpoints on a disk that fails after this many operations, then loads what is left. Returns whether all were saved.
fn check_power_loss_after(operations: usize, coin: &mut Stream) -> bool {
    let folder = tempfile::tempdir().expect("a folder");
    let disk = PowerLossDisk::with(operations);
    let mut store = CheckpointStore::open_on(folder.path(), Box::new(Arc::clone(&disk))).expect("readable");
    let mut run = ToyRun::at(0);
    let mut safe = 0;
    while safe < 4 * INTERVAL {
        run.advance(INTERVAL);
        if run.save(&mut store).is_err() {
            break;
        }
        safe += INTERVAL;
    }
    disk.lock().expect("one thread").lose_power(coin);
    let mut store =
        CheckpointStore::open_on(folder.path(), Box::new(PowerLossDisk::with(usize::MAX))).expect("readable");
    let loaded = store.load_latest(CAPACITY, &ToyRun::spec()).expect("a checkpoint is usable");
    let found = loaded.as_ref().map_or(0, |loaded| loaded.interactions.0);
    assert!(safe <= found, "after {operations} operations: {safe} was safe, {found} is left");
    assert_eq!(store.warnings(), [""; 0], "after {operations} operations");
    if let Some(loaded) = &loaded {
        check_loaded(loaded);
    }
    // The next checkpoint can be made, and no file of the broken one remains.
    let mut run = ToyRun::at(found + INTERVAL);
    run.save(&mut store).expect("the disk has space");
    run.advance(INTERVAL);
    run.save(&mut store).expect("the disk has space");
    let bodies = fs::read_dir(folder.path()).expect("the folder").filter(|entry| {
        let name = entry.as_ref().expect("an entry").file_name().into_string().expect("a plain name");
        name.starts_with("body-") || name.starts_with("new-")
    });
    assert_eq!(bodies.count(), 2, "after {operations} operations");
    safe == 4 * INTERVAL
}

#[test]
fn power_lost_at_any_moment_leaves_the_last_finished_checkpoint() {
    let mut coin = Stream::named(1, "power");
    let mut operations = 0;
    loop {
        let finished = (0..6).filter(|_| check_power_loss_after(operations, &mut coin)).count() == 6;
        operations += 1;
        if finished {
            break;
        }
    }
    assert!(40 < operations, "four checkpoints took only {operations} operations");
}

/// A disk of limited size in bytes.
struct FullDisk {
    free_bytes: usize,
}

impl Disk for FullDisk {
    fn write_durably(&mut self, path: &Path, pieces: &[&[u8]]) -> io::Result<()> {
        let bytes = pieces.concat();
        let fits = bytes.len().min(self.free_bytes);
        self.free_bytes -= fits;
        fs::write(path, &bytes[..fits])?;
        if fits == bytes.len() { Ok(()) } else { Err(io::ErrorKind::StorageFull.into()) }
    }

    fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn sync_names(&mut self, _folder: &Path) -> io::Result<()> {
        Ok(())
    }

    fn remove(&mut self, path: &Path) -> io::Result<()> {
        self.free_bytes += fs::metadata(path)?.len() as usize;
        fs::remove_file(path)
    }
}

#[test]
fn a_full_disk_is_named_and_the_last_checkpoint_is_intact() {
    for free_bytes in (11_000..24_000).step_by(501) {
        let folder = tempfile::tempdir().expect("a folder");
        let mut store = CheckpointStore::open_on(folder.path(), Box::new(FullDisk { free_bytes })).expect("readable");
        let mut run = ToyRun::at(0);
        let error = loop {
            run.advance(INTERVAL);
            if let Err(error) = run.save(&mut store) {
                break error;
            }
            assert!(run.replay.pushed().0 < 3000, "with {free_bytes} free bytes the disk never filled up");
        };
        assert!(matches!(&error, CheckpointError::DiskFull { bytes, .. } if 0 < *bytes), "{error}");
        let mut store = CheckpointStore::open(folder.path()).expect("readable");
        let loaded = store.load_latest(CAPACITY, &ToyRun::spec()).expect("usable").expect("there is one");
        assert_eq!(loaded.interactions.0 + INTERVAL, run.replay.pushed().0);
        check_loaded(&loaded);
    }
}

const KILLS: usize = 25;
const FOLDER: &str = "SANE_TEST_CHECKPOINTS";

#[test]
fn a_process_killed_at_random_moments_always_leaves_its_last_checkpoint() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut moments = Stream::named(7, "kills");
    let mut safe = 0;
    for kill in 0..KILLS {
        let more = Duration::from_micros(moments.below(40_000));
        safe = run_child_and_kill_it(folder.path(), moments.below(3), more).unwrap_or(safe);
        let mut store = CheckpointStore::open(folder.path()).expect("readable");
        let loaded = store.load_latest(CAPACITY, &ToyRun::spec()).expect("a checkpoint is usable");
        assert_eq!(store.warnings(), [""; 0], "after kill {kill}");
        let found = loaded.as_ref().map_or(0, |loaded| loaded.interactions.0);
        assert!(safe <= found, "after kill {kill}: {safe} was announced, {found} is left");
        if let Some(loaded) = &loaded {
            check_loaded(loaded);
        }
    }
    assert!(INTERVAL * KILLS as u64 / 2 <= safe, "the children only came to {safe}");
}

/// Does nothing unless the test above started it.
#[test]
fn child_that_checkpoints_until_it_is_killed() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else { return };
    let mut store = CheckpointStore::open(&folder).expect("writable");
    let loaded = store.load_latest(CAPACITY, &ToyRun::spec()).expect("a checkpoint is usable");
    let mut run = ToyRun::at(loaded.map_or(0, |loaded| loaded.interactions.0));
    loop {
        run.advance(INTERVAL);
        run.save(&mut store).expect("the disk has space");
        writeln!(io::stdout(), "saved {}", run.replay.pushed().0).expect("the parent listens");
    }
}

/// Kills the child some time after it announced so many checkpoints. The last one it announced, if it came to one.
fn run_child_and_kill_it(folder: &Path, announcements: u64, more: Duration) -> Option<u64> {
    let mut child = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "checkpoint::crash_tests::child_that_checkpoints_until_it_is_killed", "--nocapture"])
        .env(FOLDER, folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("a child process");
    let lines = BufReader::new(child.stdout.take().expect("piped")).lines().map_while(Result::ok);
    let mut announced = lines.filter_map(|line| line.rsplit_once("saved ").and_then(|(_, number)| number.parse().ok()));
    let before = announced.by_ref().take(announcements as usize).last();
    std::thread::sleep(more);
    child.kill().expect("it was running");
    child.wait().expect("it ended");
    announced.last().or(before)
}
