//! Real processes, really killed: this test program starts itself as a child that checkpoints without pause.

use super::CheckpointStore;
use super::tests::{CAPACITY, INTERVAL, ToyRun, check_loaded};
use sane_env::Stream;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

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
        run.go_on(INTERVAL);
        run.save(&mut store).expect("there is room");
        writeln!(std::io::stdout(), "saved {}", run.replay.pushed().0).expect("the parent listens");
    }
}

/// Kills the child some time after it announced so many checkpoints. The last one it announced, if it came to one.
fn run_child_and_kill_it(folder: &Path, announcements: u64, more: Duration) -> Option<u64> {
    let mut child = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "checkpoint::kill_tests::child_that_checkpoints_until_it_is_killed", "--nocapture"])
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
