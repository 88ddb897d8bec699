//! Power cuts in tests: a disk that dies after a given number of operations and then forgets, as a machine without power may,
//! whatever was not put on the disk: bytes that were not synced are cut off or read as zeros, names that were not settled
//! are forgotten in any combination. And the proof that a whole run survives it.

use crate::LabError;
use crate::config::RunConfig;
use crate::folder::{OpenRun, Start, open_run_on};
use crate::preset::Preset;
use crate::run::Digest;
use crate::train::train;
use crate::world::WorldSource;
use sane_env::{AgentSteps, Stream};
use sane_record::{Disk, ORIGIN_FILE, RunOrigin, StopReason};
use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};

/// Works until its operations are used up, then fails every one.
#[derive(Debug)]
pub(crate) struct PowerLossDisk(Mutex<State>);

#[derive(Debug)]
struct State {
    operations_left: usize,
    unsettled: Vec<Unsettled>,
    /// Opened files: how much of each is on the disk.
    synced: BTreeMap<PathBuf, u64>,
}

/// A change of names that is not on the disk yet.
#[derive(Debug)]
enum Unsettled {
    NewFolder { path: PathBuf },
    NewFile { path: PathBuf },
    Renamed { from: PathBuf, to: PathBuf, replaced: Option<Vec<u8>> },
    Removed { path: PathBuf, bytes: Vec<u8> },
}

impl Unsettled {
    fn folder(&self) -> Option<&Path> {
        match self {
            Self::NewFolder { path } | Self::NewFile { path } | Self::Removed { path, .. } => path.parent(),
            Self::Renamed { to, .. } => to.parent(),
        }
    }

    /// What a loss of power may do to it. What was below a forgotten folder is gone already.
    fn forget(self) {
        let _ = match self {
            Self::NewFolder { path } => fs::remove_dir_all(path),
            Self::NewFile { path } => fs::remove_file(path),
            Self::Renamed { from, to, replaced } => {
                fs::rename(&to, from).and_then(|()| replaced.map_or(Ok(()), |bytes| fs::write(to, bytes)))
            }
            Self::Removed { path, bytes } => fs::write(path, bytes),
        };
    }
}

impl State {
    fn live(&mut self) -> io::Result<()> {
        match self.operations_left.checked_sub(1) {
            Some(left) => {
                self.operations_left = left;
                Ok(())
            }
            None => Err(io::Error::other("the machine is off")),
        }
    }
}

impl PowerLossDisk {
    /// A disk that dies after so many operations.
    pub fn with(operations_left: usize) -> Arc<Self> {
        let (unsettled, synced) = Default::default();
        Arc::new(Self(Mutex::new(State { operations_left, unsettled, synced })))
    }

    /// The power is lost: each change that was not put on the disk is forgotten or not, as the coin falls.
    pub fn lose_power(&self, coin: &mut Stream) {
        let mut state = self.0.lock().expect("one thread");
        for change in std::mem::take(&mut state.unsettled).into_iter().rev() {
            if coin.below(2) == 1 {
                change.forget();
            }
        }
        for (path, synced) in std::mem::take(&mut state.synced) {
            let Ok(mut file) = OpenOptions::new().write(true).open(&path) else { continue };
            let surplus = file.metadata().expect("its length").len().saturating_sub(synced);
            let kept = coin.below(surplus + 1);
            file.set_len(synced + kept).expect("cut");
            if coin.below(2) == 1 {
                file.seek(SeekFrom::Start(synced)).expect("a place in it");
                file.write_all(&vec![0; kept as usize]).expect("zeros");
            }
        }
    }

    fn state(&self) -> std::sync::MutexGuard<'_, State> {
        self.0.lock().expect("one thread")
    }
}

impl Disk for PowerLossDisk {
    fn create_folder(&self, folder: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.live()?;
        let missing: Vec<PathBuf> =
            folder.ancestors().take_while(|above| !above.exists()).map(Path::to_owned).collect();
        fs::create_dir_all(folder)?;
        let settled = state.unsettled.len();
        state.unsettled.extend(missing.into_iter().rev().map(|path| Unsettled::NewFolder { path }));
        state.live()?;
        state.unsettled.truncate(settled);
        Ok(())
    }

    fn open(&self, path: &Path) -> io::Result<File> {
        let mut state = self.state();
        state.live()?;
        let is_new = !path.exists();
        let file = OpenOptions::new().create(true).read(true).write(true).truncate(false).open(path)?;
        if is_new {
            state.unsettled.push(Unsettled::NewFile { path: path.into() });
        }
        let found = file.metadata()?.len();
        state.synced.entry(path.into()).or_insert(found);
        Ok(file)
    }

    fn sync(&self, path: &Path, file: &File) -> io::Result<()> {
        let mut state = self.state();
        state.live()?;
        state.synced.insert(path.into(), file.metadata()?.len());
        Ok(())
    }

    fn write_durably(&self, path: &Path, pieces: &[&[u8]]) -> io::Result<()> {
        let mut state = self.state();
        state.live()?;
        let bytes = pieces.concat();
        fs::write(path, &bytes[..bytes.len() / 2])?;
        state.live()?;
        fs::write(path, &bytes)
    }

    fn rename(&self, from: &Path, to: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.live()?;
        let replaced = fs::read(to).ok();
        state.unsettled.push(Unsettled::Renamed { from: from.into(), to: to.into(), replaced });
        fs::rename(from, to)
    }

    fn sync_names(&self, folder: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.live()?;
        state.unsettled.retain(|change| change.folder() != Some(folder));
        Ok(())
    }

    fn remove(&self, path: &Path) -> io::Result<()> {
        let mut state = self.state();
        state.live()?;
        state.unsettled.push(Unsettled::Removed { path: path.into(), bytes: fs::read(path)? });
        fs::remove_file(path)
    }
}

/// A run of four checkpoints that takes milliseconds.
fn tiny() -> RunConfig {
    let mut config = Preset::RiskyRoad.config("risky-road", "eps-greedy").expect("a preset");
    config.training.total_interactions = AgentSteps(190);
    config.training.learning_starts = AgentSteps(40);
    config.training.train_period = AgentSteps(20);
    config.training.batch_size = 8;
    config.replay.capacity = 100;
    config.learner.network.convolutions = Vec::new();
    config.learner.network.hidden = vec![4];
    config.record.interval = AgentSteps(30);
    config.record.checkpoint_interval = AgentSteps(60);
    config.record.film_interval = 0;
    config
}

fn origin() -> RunOrigin {
    RunOrigin { preset: "risky-road".into(), command: vec!["sane".into(), "train".into()], ..RunOrigin::default() }
}

/// Trains the run in `folder` to its end, or until the disk fails.
fn train_on(disk: &Arc<PowerLossDisk>, folder: &Path, source: &WorldSource) -> Result<Digest, LabError> {
    let disk: Arc<dyn Disk> = Arc::<PowerLossDisk>::clone(disk);
    let OpenRun { mut run, mut files, .. } =
        open_run_on(disk, folder, &tiny(), source, Start::Resume, Some(&origin()))?;
    files.begin(&run, &mut ())?;
    let reason = train(&mut run, &mut files, &mut (), &AtomicBool::new(false))?;
    assert_eq!(reason, StopReason::Finished);
    Ok(Digest::of(&run))
}

#[test]
fn a_run_that_loses_power_at_any_operation_resumes_and_ends_as_one_that_never_did() {
    let source = WorldSource::open(&tiny().world, None, &mut |_| ()).expect("a built-in world");
    let root = tempfile::tempdir().expect("a folder");
    let straight = root.path().join("straight");
    let expected = train_on(&PowerLossDisk::with(usize::MAX), &straight, &source).expect("nothing fails");
    let records = |folder: &Path| {
        ["events.jsonl", "config.toml", ORIGIN_FILE].map(|name| fs::read(folder.join(name)).expect(name))
    };
    let mut coin = Stream::named(1, "power");
    let mut cuts = 0;
    for operations in 0.. {
        let above = root.path().join(format!("above-{operations}"));
        let folder = above.join("run");
        let disk = PowerLossDisk::with(operations);
        let finished = train_on(&disk, &folder, &source).is_ok();
        disk.lose_power(&mut coin);
        // A second cut, somewhere on the way of the resumed run.
        let again = PowerLossDisk::with(coin.below(60) as usize);
        let finished_then = train_on(&again, &folder, &source).is_ok();
        again.lose_power(&mut coin);
        cuts += usize::from(!finished) + usize::from(!finished_then);
        let digest = train_on(&PowerLossDisk::with(usize::MAX), &folder, &source);
        let digest = digest.unwrap_or_else(|error| panic!("after a cut at operation {operations}: {error}"));
        assert_eq!(digest, expected, "after a cut at operation {operations}");
        assert_eq!(records(&folder), records(&straight), "after a cut at operation {operations}");
        fs::remove_dir_all(above).expect("removed");
        if finished {
            break;
        }
    }
    assert!(60 < cuts, "only {cuts} cuts");
}
