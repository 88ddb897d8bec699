//! Crashes: disks that lose power at every possible moment, disks that fill up, processes that are killed (this test
//! program starts itself as a child that checkpoints without pause). A loadable checkpoint is always left.
//!
//! The dying disk is harsher than `kill -9`: it also forgets, as a loss of power may, whatever was not put on the disk.

use super::tests::{CAPACITY, INTERVAL, ToyRun, check_loaded, identity};
use super::{CheckpointError, CheckpointStore, Keep};
use crate::power_loss::PowerLossDisk;
use sane_env::Stream;
use sane_record::{Disk, RealDisk};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

fn open_on(folder: &Path, disk: Arc<dyn Disk>) -> CheckpointStore {
    CheckpointStore::open(folder, identity(), disk).expect("readable")
}

/// Saves up to four checkpoints on a disk that fails after this many operations, then loads what is left. Returns whether all were saved.
fn check_power_loss_after(operations: usize, coin: &mut Stream) -> bool {
    let folder = tempfile::tempdir().expect("a folder");
    // Opening the store takes the first two.
    let disk = PowerLossDisk::with(2 + operations);
    let mut store = open_on(folder.path(), Arc::<PowerLossDisk>::clone(&disk));
    let mut run = ToyRun::at(0);
    let (mut safe, mut best) = (0, 0);
    while safe < 4 * INTERVAL {
        run.advance(INTERVAL);
        // The first and the third are best ones.
        let keep = if safe % (2 * INTERVAL) == 0 { Keep::AsBest } else { Keep::WhileNewest };
        if run.save_and(&mut store, keep).is_err() {
            break;
        }
        safe += INTERVAL;
        if keep == Keep::AsBest {
            best = safe;
        }
    }
    disk.lose_power(coin);
    let mut store = open_on(folder.path(), PowerLossDisk::with(usize::MAX));
    let loaded = store.load_latest(CAPACITY, &ToyRun::spec()).expect("a checkpoint is usable");
    let found = loaded.as_ref().map_or(0, |loaded| loaded.interactions.0);
    assert!(safe <= found, "after {operations} operations: {safe} was safe, {found} is left");
    assert_eq!(store.warnings(), [""; 0], "after {operations} operations");
    if let Some(loaded) = &loaded {
        check_loaded(loaded);
    }
    let best_now = |store: &mut CheckpointStore| match store.load_best_sections() {
        Ok(best) => best.interactions.0,
        Err(CheckpointError::NoBest { .. }) => 0,
        Err(error) => panic!("after {operations} operations: {error}"),
    };
    let best_left = best_now(&mut store);
    assert!(best <= best_left, "after {operations} operations: {best} was the best, {best_left} is left");
    // The next checkpoint can be made, and no file of the broken one remains.
    let mut run = ToyRun::at(found + INTERVAL);
    run.save(&mut store).expect("the disk has space");
    run.advance(INTERVAL);
    run.save(&mut store).expect("the disk has space");
    let bodies = fs::read_dir(folder.path()).expect("the folder").filter(|entry| {
        let name = entry.as_ref().expect("an entry").file_name().into_string().expect("a plain name");
        name.starts_with("body-") || name.starts_with("new-")
    });
    let kept = BTreeSet::from([found + INTERVAL, found + 2 * INTERVAL, best_now(&mut store)]);
    let kept = kept.iter().filter(|interactions| 0 < **interactions).count();
    assert_eq!(bodies.count(), kept, "after {operations} operations");
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
#[derive(Debug)]
struct FullDisk {
    free_bytes: AtomicUsize,
}

impl Disk for FullDisk {
    fn create_folder(&self, folder: &Path) -> io::Result<()> {
        fs::create_dir_all(folder)
    }

    fn open(&self, path: &Path) -> io::Result<File> {
        RealDisk.open(path)
    }

    fn sync(&self, _path: &Path, _file: &File) -> io::Result<()> {
        Ok(())
    }

    fn write_durably(&self, path: &Path, pieces: &[&[u8]]) -> io::Result<()> {
        let bytes = pieces.concat();
        let fits = bytes.len().min(self.free_bytes.load(Ordering::Relaxed));
        self.free_bytes.fetch_sub(fits, Ordering::Relaxed);
        fs::write(path, &bytes[..fits])?;
        if fits == bytes.len() { Ok(()) } else { Err(io::ErrorKind::StorageFull.into()) }
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        fs::rename(from, to)
    }

    fn sync_names(&self, _folder: &Path) -> io::Result<()> {
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        self.free_bytes.fetch_add(fs::metadata(path)?.len() as usize, Ordering::Relaxed);
        fs::remove_file(path)
    }
}

#[test]
fn a_full_disk_is_named_and_the_last_checkpoint_is_intact() {
    for free_bytes in (11_000..24_000).step_by(501) {
        let folder = tempfile::tempdir().expect("a folder");
        let mut store = open_on(folder.path(), Arc::new(FullDisk { free_bytes: free_bytes.into() }));
        let mut run = ToyRun::at(0);
        let error = loop {
            run.advance(INTERVAL);
            if let Err(error) = run.save(&mut store) {
                break error;
            }
            assert!(run.replay.pushed().0 < 3000, "with {free_bytes} free bytes the disk never filled up");
        };
        assert!(matches!(&error, CheckpointError::DiskFull { bytes, .. } if 0 < *bytes), "{error}");
        let mut store = open_on(folder.path(), RealDisk::shared());
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
        let mut store = open_on(folder.path(), RealDisk::shared());
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
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let mut store = open_on(Path::new(&folder), RealDisk::shared());
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
