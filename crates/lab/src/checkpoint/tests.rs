//! Guarantees of a store without crashes, and its errors for files that were altered.

use super::manifest::{Entry, Manifest};
use super::{CheckpointError, CheckpointStore, Keep, Loaded};
use crate::config::RunConfig;
use crate::identity::RunIdentity;
use crate::preset::Preset;
use sane_env::{Action, AgentSteps, Ending, EnvSpec, FrameSkip, FrameSpace, Stream};
use sane_record::RealDisk;
use sane_replay::Replay;
use std::fs;
use std::path::{Path, PathBuf};
use tempfile::TempDir;

pub(super) const CAPACITY: usize = 300;
/// Transitions between two checkpoints: a segment of the toy's replay is shorter, so each checkpoint has new ones.
pub(super) const INTERVAL: u64 = 100;

/// A made-up run whose state at each interaction is a function of the interaction alone.
pub(super) struct ToyRun {
    pub replay: Replay,
    frames: Stream,
}

impl ToyRun {
    pub fn spec() -> EnvSpec {
        let frame = FrameSpace::gray(6, 5);
        EnvSpec { name: "toy".into(), frame, history: 4, actions: vec!["only".into()], frame_skip: FrameSkip(1) }
    }

    pub fn at(interactions: u64) -> Self {
        let mut run = Self { replay: Replay::new(CAPACITY, &Self::spec()), frames: Stream::named(1, "frames") };
        run.replay.begin_episode(&[0; 30]);
        run.advance(interactions);
        run
    }

    pub fn advance(&mut self, interactions: u64) {
        for _ in 0..interactions {
            let mut frame = [0; 30];
            frame[self.frames.below(30) as usize] = self.frames.below(256) as u8;
            let ending = if self.frames.below(20) == 0 { Ending::GameOver } else { Ending::Continues };
            self.replay.push(Action(0), 0.5, ending, &frame);
            if ending.ends_episode() {
                self.replay.begin_episode(&frame);
            }
        }
    }

    pub fn sections(&self) -> Vec<(&'static str, Vec<u8>)> {
        let now = self.replay.pushed().0;
        let mut noise = Stream::named(now, "learner");
        vec![("clock", now.to_le_bytes().to_vec()), ("learner", (0..5000).map(|_| noise.next_u64() as u8).collect())]
    }

    pub fn save(&self, store: &mut CheckpointStore) -> Result<(), CheckpointError> {
        self.save_and(store, Keep::WhileNewest)
    }

    pub fn save_and(&self, store: &mut CheckpointStore, keep: Keep) -> Result<(), CheckpointError> {
        let records = vec![Entry::of("events.jsonl", b"1\n")];
        store.save(self.replay.pushed(), &self.sections(), &self.replay, records, keep)
    }
}

pub(super) fn config() -> RunConfig {
    Preset::Minatar.config("minatar/breakout", "sane").expect("a preset")
}

pub(super) fn identity() -> RunIdentity {
    RunIdentity::of(&config())
}

fn open(folder: &Path) -> CheckpointStore {
    CheckpointStore::open(folder, identity(), RealDisk::shared()).expect("the folder is writable")
}

fn open_read_only(folder: &Path) -> CheckpointStore {
    CheckpointStore::open_read_only(folder, identity()).expect("the folder is readable")
}

/// The loaded state is that of a run which was never saved.
pub(super) fn check_loaded(loaded: &Loaded) {
    let expected = ToyRun::at(loaded.interactions.0);
    let sections = expected.sections().into_iter().map(|(name, bytes)| (name.to_string(), bytes));
    assert!(loaded.sections.iter().cloned().eq(sections), "the sections at {:?}", loaded.interactions);
    assert_eq!(loaded.replay.digest(), expected.replay.digest(), "the replay at {:?}", loaded.interactions);
}

fn load_latest(folder: &Path) -> (Result<Option<Loaded>, CheckpointError>, Vec<String>) {
    let mut store = open_read_only(folder);
    let loaded = store.load_latest(CAPACITY, &ToyRun::spec());
    (loaded, store.warnings())
}

/// A folder with checkpoints at 100, 200, …, `count`·100.
fn saved(count: u64) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("checkpoints");
    let mut store = open(&path);
    let mut run = ToyRun::at(0);
    for _ in 0..count {
        run.advance(INTERVAL);
        run.save(&mut store).expect("the disk has space");
    }
    (folder, path)
}

fn files(folder: &Path, beginning: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the folder").map(|entry| entry.expect("an entry").path());
    let mut files: Vec<PathBuf> =
        entries.filter(|path| path.file_name().expect("a name").to_string_lossy().starts_with(beginning)).collect();
    files.sort();
    files
}

/// Saves five checkpoints, harms the newest by `harm`, and expects the one before, with a warning that contains `said`.
fn check_falls_back(harm: impl Fn(&Path), said: &str) {
    let (_guard, folder) = saved(5);
    harm(&folder);
    let (loaded, warnings) = load_latest(&folder);
    let loaded = loaded.expect("the older one is whole").expect("there is one");
    assert_eq!(loaded.interactions, AgentSteps(400));
    check_loaded(&loaded);
    assert!(warnings.len() == 1 && warnings[0].contains(said), "{warnings:?}");
}

fn flip_a_byte(path: &Path) {
    let mut bytes = fs::read(path).expect("the file");
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    fs::write(path, bytes).expect("written");
}

fn cut_in_half(path: &Path) {
    let bytes = fs::read(path).expect("the file");
    fs::write(path, &bytes[..bytes.len() / 2]).expect("written");
}

#[test]
fn what_was_saved_comes_back() {
    let (_guard, folder) = saved(5);
    let (loaded, warnings) = load_latest(&folder);
    let loaded = loaded.expect("it is whole").expect("there is one");
    assert_eq!((loaded.interactions, warnings.len()), (AgentSteps(500), 0));
    assert_eq!(loaded.records, [Entry::of("events.jsonl", b"1\n")]);
    check_loaded(&loaded);
}

#[test]
fn a_folder_without_checkpoints_has_none() {
    let folder = tempfile::tempdir().expect("a folder");
    assert!(load_latest(folder.path()).0.expect("readable").is_none());
    assert!(load_latest(&folder.path().join("nowhere")).0.expect("readable").is_none());
}

#[test]
fn the_last_two_are_kept_with_their_files_and_nothing_else() {
    let (_guard, folder) = saved(7);
    fs::write(folder.join("notes.txt"), "mine").expect("written");
    let mut store = open(&folder);
    let loaded = store.load_latest(CAPACITY, &ToyRun::spec()).expect("whole").expect("there is one");
    check_loaded(&loaded);
    ToyRun::at(800).save(&mut store).expect("the disk has space");
    assert_eq!((files(&folder, "checkpoint-").len(), files(&folder, "body-").len()), (2, 2));
    // 300 transitions reach back over six segments of 64, and the older checkpoint needs at most two more.
    assert!(files(&folder, "replay-").len() <= 8 && files(&folder, "new-").is_empty());
    assert!(folder.join("notes.txt").exists());
    let mut store = open_read_only(&folder);
    check_loaded(&store.load(AgentSteps(700), CAPACITY, &ToyRun::spec()).expect("it is kept"));
    check_loaded(&store.load(AgentSteps(800), CAPACITY, &ToyRun::spec()).expect("it is kept"));
    let error = store.load(AgentSteps(600), CAPACITY, &ToyRun::spec()).expect_err("it was removed");
    assert!(error.to_string().contains("no checkpoint at interaction 600, only at 700 and 800"), "{error}");
}

#[test]
fn a_segment_is_written_once_even_across_a_resume() {
    let (_guard, folder) = saved(4);
    let times = |folder: &Path| -> Vec<_> {
        files(folder, "replay-")
            .into_iter()
            .map(|path| (fs::metadata(&path).and_then(|m| m.modified()).ok(), path))
            .collect()
    };
    let before = times(&folder);
    let mut store = open(&folder);
    store.load_latest(CAPACITY, &ToyRun::spec()).expect("whole");
    ToyRun::at(500).save(&mut store).expect("the disk has space");
    let after = times(&folder);
    let shared = before.iter().filter(|file| after.contains(file)).count();
    assert!(4 <= shared && shared < after.len(), "{before:?} {after:?}");
}

#[test]
fn a_damaged_checkpoint_is_named_and_the_one_before_used() {
    let newest = |folder: &Path, beginning: &str| files(folder, beginning).pop().expect("a file");
    check_falls_back(|folder| flip_a_byte(&newest(folder, "body-")), "has digest");
    check_falls_back(|folder| cut_in_half(&newest(folder, "body-")), "bytes where");
    check_falls_back(|folder| flip_a_byte(&newest(folder, "replay-")), "has digest");
    check_falls_back(|folder| cut_in_half(&newest(folder, "replay-")), "bytes where");
    check_falls_back(|folder| flip_a_byte(&newest(folder, "checkpoint-")), "its digest is not that of its content");
    check_falls_back(|folder| cut_in_half(&newest(folder, "checkpoint-")), "the digest, is missing");
    check_falls_back(|folder| fs::remove_file(newest(folder, "body-")).expect("removed"), "is missing");
    check_falls_back(|folder| fs::remove_file(newest(folder, "replay-")).expect("removed"), "is missing");
}

#[test]
fn a_run_that_fell_back_goes_on_and_replaces_what_was_damaged() {
    let (_guard, folder) = saved(5);
    flip_a_byte(&files(&folder, "body-")[1]);
    let mut store = open(&folder);
    let loaded = store.load_latest(CAPACITY, &ToyRun::spec()).expect("whole").expect("there is one");
    let mut run = ToyRun::at(loaded.interactions.0);
    run.advance(INTERVAL);
    run.save(&mut store).expect("the disk has space");
    let (again, warnings) = load_latest(&folder);
    let again = again.expect("whole").expect("there is one");
    check_loaded(&again);
    assert_eq!((again.interactions, warnings.len(), files(&folder, "body-").len()), (AgentSteps(500), 0, 2));
}

#[test]
fn when_all_are_damaged_the_error_names_each() {
    let (_guard, folder) = saved(3);
    files(&folder, "body-").iter().for_each(|path| flip_a_byte(path));
    let error = load_latest(&folder).0.expect_err("both are damaged").to_string();
    assert!(error.contains("body-000000000200") && error.contains("body-000000000300"), "{error}");
}

#[test]
fn the_checkpoint_of_the_beginning_is_not_fallen_back_to() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut store = open(folder.path());
    let mut run = ToyRun::at(0);
    run.save(&mut store).expect("the disk has space");
    let loaded = load_latest(folder.path()).0.expect("it is whole").expect("there is one");
    assert_eq!(loaded.interactions, AgentSteps(0));
    run.advance(INTERVAL);
    run.save(&mut store).expect("the disk has space");
    flip_a_byte(&files(folder.path(), "body-")[1]);
    let error = load_latest(folder.path()).0.expect_err("the newer one is damaged").to_string();
    assert!(error.contains("no checkpoint") && error.contains("body-000000000100"), "{error}");
}

#[test]
fn another_format_version_is_refused_by_name_and_not_skipped() {
    let (_guard, folder) = saved(3);
    let path = files(&folder, "checkpoint-").pop().expect("a manifest");
    let text = fs::read_to_string(&path).expect("the manifest");
    let newer = text.split("# blake3").next().expect("content").replace("format = 3", "format = 7\nunheard_of = true");
    fs::write(&path, format!("{newer}# blake3 {}\n", blake3::hash(newer.as_bytes()).to_hex())).expect("written");
    let error = load_latest(&folder).0.expect_err("it is newer");
    assert!(matches!(error, CheckpointError::WrongVersion { found: 7, supported: 3, .. }), "{error}");
}

#[test]
fn the_format_before_this_one_is_refused_by_name() {
    let (_guard, folder) = saved(3);
    let path = files(&folder, "checkpoint-").pop().expect("a manifest");
    let text = fs::read_to_string(&path).expect("the manifest");
    let content: String = text
        .lines()
        .filter(|line| !line.starts_with(['#']) && !line.starts_with("identity"))
        .map(|line| format!("{line}\n"))
        .collect();
    let older = content.replace("format = 3", "format = 2");
    fs::write(&path, format!("{older}# blake3 {}\n", blake3::hash(older.as_bytes()).to_hex())).expect("written");
    let error = load_latest(&folder).0.expect_err("it is older").to_string();
    assert!(error.contains("format version 2, this program reads version 3") && error.contains("--fresh"), "{error}");
}

#[test]
fn a_checkpoint_of_another_run_is_refused_by_the_keys_that_differ_and_not_skipped() {
    let (_guard, folder) = saved(3);
    let refused = |change: fn(&mut RunConfig)| {
        let mut other = config();
        change(&mut other);
        let mut store = CheckpointStore::open_read_only(&folder, RunIdentity::of(&other)).expect("readable");
        let whole = store.load_latest(CAPACITY, &ToyRun::spec()).map(drop);
        let sections = store.load_latest_sections().map(drop);
        let at = store.load_sections(AgentSteps(200)).map(drop);
        [whole, sections, at].map(|loaded| loaded.err().map(|error| error.to_string()))
    };
    for (change, key) in [
        ((|config| config.seed = 9) as fn(&mut RunConfig), "seed is 1 in it, 9 here"),
        (|config| config.learner.gamma = 0.5, "learner.gamma is 0.99 in it, 0.5 here"),
        (|config| config.world.name = "minatar/asterix".into(), "world.name is \"minatar/breakout\" in it"),
    ] {
        for error in refused(change) {
            let error = error.expect("it is another run");
            assert!(error.contains("belongs to another run") && error.contains(key), "{error}");
        }
    }
    assert_eq!(refused(|config| config.training.total_interactions.0 = 5), [const { None }; 3]);
}

#[test]
fn another_replay_capacity_is_an_error_and_not_damage() {
    let (_guard, folder) = saved(3);
    let mut store = open_read_only(&folder);
    let error = store.load_latest(CAPACITY + 1, &ToyRun::spec()).expect_err("it has another capacity");
    assert!(error.to_string().contains("capacity 300, this run has 301"), "{error}");
}

#[test]
fn a_manifest_survives_its_text() {
    let (_guard, folder) = saved(2);
    let path = files(&folder, "checkpoint-").pop().expect("a manifest");
    let text = fs::read_to_string(&path).expect("the manifest");
    let manifest = Manifest::from_text(&path, &text).expect("whole");
    assert_eq!(manifest.to_text(), text);
    assert!(manifest.file_names().all(|name| folder.join(name).exists()));
}

#[test]
fn the_best_policy_is_kept_until_a_better_one_and_its_replay_is_not() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut store = open(folder.path());
    let mut run = ToyRun::at(0);
    let best_at = |store: &mut CheckpointStore| store.load_best_sections().map(|best| best.interactions.0);
    assert!(matches!(best_at(&mut store), Err(CheckpointError::NoBest { .. })));
    for keep in [Keep::WhileNewest, Keep::AsBest, Keep::WhileNewest, Keep::WhileNewest, Keep::WhileNewest] {
        run.advance(INTERVAL);
        run.save_and(&mut store, keep).expect("the disk has space");
    }
    assert_eq!(best_at(&mut store).unwrap(), 200);
    assert_eq!((files(folder.path(), "best-").len(), files(folder.path(), "body-").len()), (1, 3));
    // Reopened, as by another process, it keeps it, too.
    let mut store = open(folder.path());
    let loaded = store.load_latest(CAPACITY, &ToyRun::spec()).unwrap().unwrap();
    assert_eq!((loaded.interactions, best_at(&mut store).unwrap()), (AgentSteps(500), 200));
    run.advance(INTERVAL);
    run.save(&mut store).expect("the disk has space");
    assert_eq!(best_at(&mut store).unwrap(), 200);
    run.advance(INTERVAL);
    run.save_and(&mut store, Keep::AsBest).expect("the disk has space");
    assert_eq!(best_at(&mut store).unwrap(), 700);
    assert_eq!((files(folder.path(), "best-").len(), files(folder.path(), "body-").len()), (1, 2));
    let named: usize =
        [600, 700].map(|at| store.load(AgentSteps(at), CAPACITY, &ToyRun::spec())).iter().flatten().count();
    assert_eq!(named, 2);
}
