//! The folder of checkpoints: saving, loading the newest intact one (every byte is checked against its digest), removing
//! files that are no longer needed.

use super::CheckpointError;
use super::manifest::{Entry, FORMAT, Manifest};
use crate::identity::RunIdentity;
use sane_env::{AgentSteps, EnvSpec};
use sane_record::{Disk, RealDisk, open_plain, read_plain, read_plain_text};
use sane_replay::Replay;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::{fs, io};

/// Number of checkpoints kept: if the newest is damaged, the one before is used.
const KEPT: usize = 2;

/// Prefix of a file that is being written.
const TEMPORARY: &str = "new-";

/// Prefixes of the files that the store may remove.
const OWN: [&str; 5] = ["checkpoint-", "best-", "body-", "replay-", TEMPORARY];

/// Beginnings of the names of manifests: of checkpoints, and of best policies.
const NEWEST: &str = "checkpoint-";
const BEST: &str = "best-";

/// Name of the section that holds the replay's counters and its open segment.
const REPLAY_TAIL: &str = "replay-tail";

/// Name of the section that holds the configuration of the run.
const CONFIG: &str = "config";

/// A larger file is no manifest: a replay of 2³² transitions has half a million segments.
const LARGEST_MANIFEST_BYTES: u64 = 256 << 20;

/// A checkpoint with its manifest, if there is any.
type Newest<T> = Result<Option<(Manifest, T)>, CheckpointError>;

/// A checkpoint in memory.
#[derive(Debug)]
pub struct Loaded {
    pub interactions: AgentSteps,
    /// The named sections, in the order they were saved in.
    pub sections: Vec<(String, Vec<u8>)>,
    pub replay: Replay,
    /// The record files at this checkpoint.
    pub records: Vec<Entry>,
}

/// A checkpoint in memory without its replay.
#[derive(Debug)]
pub struct LoadedSections {
    pub interactions: AgentSteps,
    pub sections: Vec<(String, Vec<u8>)>,
    /// The record files at this checkpoint.
    pub records: Vec<Entry>,
}

/// How long a checkpoint is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// While it is one of the newest.
    WhileNewest,
    /// So, and its policy until that of a better one.
    AsBest,
}

/// The checkpoints of one run. Saving needs the run's lock, reading does not.
pub struct CheckpointStore {
    folder: PathBuf,
    disk: Arc<dyn Disk>,
    /// Of the run these checkpoints belong to.
    identity: RunIdentity,
    /// Manifests of the intact checkpoints, oldest first.
    kept: Vec<Manifest>,
    /// Manifest of the best policy.
    best: Option<Manifest>,
    /// Segments of the run's replay that are on the disk already, by number.
    segments: BTreeMap<u64, Entry>,
    warnings: Vec<String>,
}

impl CheckpointStore {
    /// Opens the store of a run for saving; creates the folder.
    pub fn open(folder: &Path, identity: RunIdentity, disk: Arc<dyn Disk>) -> Result<Self, CheckpointError> {
        disk.create_folder(folder).map_err(|source| CheckpointError::write(folder, 0, source))?;
        Self::open_on(folder, identity, disk)
    }

    /// Opens the store of a run for reading.
    pub fn open_read_only(folder: &Path, identity: RunIdentity) -> Result<Self, CheckpointError> {
        Self::open_on(folder, identity, RealDisk::shared())
    }

    fn open_on(folder: &Path, identity: RunIdentity, disk: Arc<dyn Disk>) -> Result<Self, CheckpointError> {
        let (kept, best, segments, warnings) = Default::default();
        let mut store = Self { folder: folder.into(), disk, identity, kept, best, segments, warnings };
        store.kept = manifest_paths(folder, NEWEST)?.iter().rev().filter_map(|path| read_manifest(path).ok()).collect();
        store.best = manifest_paths(folder, BEST)?.iter().find_map(|path| read_manifest(path).ok());
        Ok(store)
    }

    /// The newest intact checkpoint, if there is any checkpoint. Damaged ones are skipped and reported by
    /// [`warnings`](Self::warnings); the next [`save`](Self::save) removes them.
    pub fn load_latest(&mut self, capacity: usize, spec: &EnvSpec) -> Result<Option<Loaded>, CheckpointError> {
        let found = self.newest(|folder, manifest, identity| load(folder, manifest, identity, capacity, spec))?;
        let Some((manifest, loaded)) = found else { return Ok(None) };
        let numbers = loaded.replay.sealed_segments().map(|segment| segment.number());
        self.segments = numbers.zip(manifest.segments.iter().cloned()).collect();
        // A crash while a best one was saved may have left one of later on beside the one before it.
        let is_reached = |best: &Manifest| best.interactions <= manifest.interactions;
        if !self.best.as_ref().is_some_and(is_reached) {
            let paths = manifest_paths(&self.folder, BEST)?;
            let reached = paths.iter().filter_map(|path| read_manifest(path).ok()).find(is_reached);
            self.best = reached.or(self.best.take());
        }
        self.kept.retain(|kept| kept.interactions < manifest.interactions);
        self.kept.push(manifest);
        Ok(Some(loaded))
    }

    /// Like [`load_latest`](Self::load_latest), for readers that do not need the replay: its files are not opened.
    pub fn load_latest_sections(&mut self) -> Result<Option<LoadedSections>, CheckpointError> {
        Ok(self.newest(load_sections)?.map(|(_, loaded)| loaded))
    }

    /// The checkpoint at this interaction.
    pub fn load(&mut self, wanted: AgentSteps, capacity: usize, spec: &EnvSpec) -> Result<Loaded, CheckpointError> {
        load(&self.folder, &self.manifest_at(wanted)?, &self.identity, capacity, spec)
    }

    /// The checkpoint at this interaction without its replay.
    pub fn load_sections(&mut self, wanted: AgentSteps) -> Result<LoadedSections, CheckpointError> {
        load_sections(&self.folder, &self.manifest_at(wanted)?, &self.identity)
    }

    /// The best policy, without its replay.
    pub fn load_best_sections(&mut self) -> Result<LoadedSections, CheckpointError> {
        loop {
            let paths = manifest_paths(&self.folder, BEST)?;
            let Some(path) = paths.first() else {
                return Err(CheckpointError::NoBest { folder: self.folder.clone() });
            };
            let best = read_manifest(path).and_then(|best| load_sections(&self.folder, &best, &self.identity));
            // A run that saves a better one meanwhile removes this one.
            if best.is_ok() || manifest_paths(&self.folder, BEST)? == paths {
                return best;
            }
        }
    }

    fn manifest_at(&self, wanted: AgentSteps) -> Result<Manifest, CheckpointError> {
        let path = self.folder.join(Manifest::file_name(wanted));
        match read_manifest(&path) {
            Err(CheckpointError::Missing { .. }) => {
                let available = self.kept.iter().map(|manifest| manifest.interactions).collect();
                Err(CheckpointError::NoSuch { folder: self.folder.clone(), wanted: wanted.0, available })
            }
            other => other,
        }
    }

    /// Loads every checkpoint, newest first, and calls `visit` with its manifest's path and what was read or is wrong.
    pub fn visit_all(
        &self,
        capacity: usize,
        spec: &EnvSpec,
        mut visit: impl FnMut(&Path, Result<Loaded, CheckpointError>),
    ) -> Result<(), CheckpointError> {
        for path in manifest_paths(&self.folder, NEWEST)? {
            let loaded =
                read_manifest(&path).and_then(|manifest| load(&self.folder, &manifest, &self.identity, capacity, spec));
            visit(&path, loaded);
        }
        Ok(())
    }

    /// The same for best policies, of which a crash may leave two.
    pub fn visit_best(
        &self,
        mut visit: impl FnMut(&Path, Result<LoadedSections, CheckpointError>),
    ) -> Result<(), CheckpointError> {
        for path in manifest_paths(&self.folder, BEST)? {
            visit(&path, read_manifest(&path).and_then(|best| load_sections(&self.folder, &best, &self.identity)));
        }
        Ok(())
    }

    /// The damaged checkpoints that the last load skipped: one sentence each.
    pub fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }

    /// Makes a checkpoint of named sections and the replay. When it returns, the checkpoint survives a loss of power; when
    /// it fails, the one before does. Of the replay only what is new since the last save or load is written. The `records` are
    /// on the disk already. A best one replaces the best before when it exists itself, and not sooner.
    pub fn save(
        &mut self,
        now: AgentSteps,
        sections: &[(impl AsRef<str>, Vec<u8>)],
        replay: &Replay,
        records: Vec<Entry>,
        keep: Keep,
    ) -> Result<(), CheckpointError> {
        let mut manifest = self.write_contents(now, sections, replay).inspect_err(|_| self.remove_unneeded())?;
        manifest.records = records;
        if keep == Keep::AsBest {
            // Durable before the checkpoint whose records call it the best.
            let text = manifest.as_best().to_text();
            let written = self.write_file(&Manifest::best_file_name(now), &[text.as_bytes()]);
            written.and_then(|()| self.sync_names()).inspect_err(|_| self.remove_unneeded())?;
        }
        let written = self.write_file(&Manifest::file_name(now), &[manifest.to_text().as_bytes()]);
        written.inspect_err(|_| self.remove_unneeded())?;
        self.sync_names()?;
        if keep == Keep::AsBest {
            self.best = Some(manifest.as_best());
        }
        self.kept.retain(|kept| kept.interactions != now);
        self.kept.push(manifest);
        self.kept.drain(..self.kept.len().saturating_sub(KEPT));
        self.remove_unneeded();
        Ok(())
    }

    /// The newest checkpoint that `read` finds intact, and its manifest.
    fn newest<T>(&mut self, read: impl Fn(&Path, &Manifest, &RunIdentity) -> Result<T, CheckpointError>) -> Newest<T> {
        loop {
            let paths = manifest_paths(&self.folder, NEWEST)?;
            match self.newest_of(&paths, &read) {
                // A run that saves meanwhile removes old files; then there is a newer checkpoint to try.
                Err(CheckpointError::NoneUsable { .. }) if manifest_paths(&self.folder, NEWEST)? != paths => {}
                result => return result,
            }
        }
    }

    fn newest_of<T>(
        &mut self,
        paths: &[PathBuf],
        read: impl Fn(&Path, &Manifest, &RunIdentity) -> Result<T, CheckpointError>,
    ) -> Newest<T> {
        self.warnings.clear();
        for path in paths {
            let manifest = match read_manifest(path) {
                Err(error) if error.is_damage() => Err(error),
                other => Ok(other?),
            };
            // That of the beginning is for a run that has no other: to fall back to it would be to begin again.
            if manifest.as_ref().is_ok_and(|manifest| manifest.interactions.0 == 0) && !self.warnings.is_empty() {
                break;
            }
            let loaded = manifest.and_then(|manifest| {
                let loaded = read(&self.folder, &manifest, &self.identity)?;
                Ok((manifest, loaded))
            });
            match loaded {
                Ok(found) => return Ok(Some(found)),
                Err(error) if error.is_damage() => {
                    self.warnings.push(format!("{} cannot be used: {error}", path.display()));
                }
                Err(error) => return Err(error),
            }
        }
        match paths {
            [] => Ok(None),
            _ => Err(CheckpointError::NoneUsable { folder: self.folder.clone(), reasons: self.warnings.clone() }),
        }
    }

    /// Writes everything but the manifest; durable when it returns.
    fn write_contents(
        &mut self,
        now: AgentSteps,
        sections: &[(impl AsRef<str>, Vec<u8>)],
        replay: &Replay,
    ) -> Result<Manifest, CheckpointError> {
        let mut segments = BTreeMap::new();
        for segment in replay.sealed_segments() {
            let number = segment.number();
            let entry = match self.segments.get(&number) {
                Some(written) => written.clone(),
                None => {
                    let bytes = segment.to_bytes();
                    let mut entry = Entry::of("", &bytes);
                    entry.name = format!("replay-{number:012}-{}.bin", &entry.blake3[..16]);
                    self.write_file(&entry.name, &[&bytes])?;
                    entry
                }
            };
            segments.insert(number, entry);
        }
        let (tail, config) = (replay.tail_bytes(), self.identity.text.clone());
        let sections: Vec<(&str, &[u8])> = sections
            .iter()
            .map(|(name, bytes)| (name.as_ref(), &bytes[..]))
            .chain([(CONFIG, config.as_bytes()), (REPLAY_TAIL, &tail[..])])
            .collect();
        let entries: Vec<Entry> = sections.iter().map(|(name, bytes)| Entry::of(*name, bytes)).collect();
        let digests: String = entries.iter().map(|entry| &entry.blake3[..]).collect();
        let body = format!("body-{:012}-{}.bin", now.0, &blake3::hash(digests.as_bytes()).to_hex()[..16]);
        self.write_file(&body, &sections.iter().map(|(_, bytes)| *bytes).collect::<Vec<_>>())?;
        self.sync_names()?;
        self.segments = segments;
        let segments = self.segments.values().cloned().collect();
        let (identity, records) = (self.identity.digest.clone(), Vec::new());
        Ok(Manifest { format: FORMAT, interactions: now, identity, body, sections: entries, segments, records })
    }

    /// Writes a temporary file and renames it: under its own name a file is always complete.
    fn write_file(&mut self, name: &str, pieces: &[&[u8]]) -> Result<(), CheckpointError> {
        let (temporary, path) = (self.folder.join(format!("{TEMPORARY}{name}")), self.folder.join(name));
        let bytes = pieces.iter().map(|piece| piece.len() as u64).sum();
        self.disk
            .write_durably(&temporary, pieces)
            .and_then(|()| self.disk.rename(&temporary, &path))
            .map_err(|source| CheckpointError::write(&path, bytes, source))
    }

    fn sync_names(&mut self) -> Result<(), CheckpointError> {
        self.disk.sync_names(&self.folder).map_err(|source| CheckpointError::write(&self.folder, 0, source))
    }

    /// Removes files that no kept manifest names. Manifests are removed durably before the files they name: no crash may
    /// leave one that names missing files. What cannot be removed now is tried again after the next save.
    fn remove_unneeded(&mut self) {
        let best = self.best.iter().flat_map(Manifest::best_file_names);
        let needed: BTreeSet<String> = self.kept.iter().flat_map(Manifest::file_names).chain(best).collect();
        self.segments.retain(|_, segment| needed.contains(&segment.name));
        let Ok(entries) = fs::read_dir(&self.folder) else { return };
        let unneeded = entries
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .filter(|name| OWN.iter().any(|own| name.starts_with(own)) && !needed.contains(name));
        let (manifests, others): (Vec<String>, Vec<String>) =
            unneeded.partition(|name| [NEWEST, BEST].iter().any(|manifest| name.starts_with(manifest)));
        let removed = manifests.iter().all(|name| self.disk.remove(&self.folder.join(name)).is_ok());
        if removed && (manifests.is_empty() || self.sync_names().is_ok()) {
            for name in others {
                // A file left behind only takes disk space.
                let _ = self.disk.remove(&self.folder.join(name));
            }
        }
    }
}

/// The manifests in a folder whose names begin so, newest first; none if the folder is missing.
fn manifest_paths(folder: &Path, beginning: &str) -> Result<Vec<PathBuf>, CheckpointError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(CheckpointError::read(folder, source)),
    };
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.map_err(|source| CheckpointError::read(folder, source))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with(beginning) && name.ends_with(".toml") {
            paths.push(path);
        }
    }
    paths.sort_unstable_by(|a, b| b.cmp(a));
    Ok(paths)
}

fn read_manifest(path: &Path) -> Result<Manifest, CheckpointError> {
    match read_plain_text(path, LARGEST_MANIFEST_BYTES) {
        Ok(text) => Manifest::from_text(path, &text),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => {
            Err(CheckpointError::Damaged { path: path.into(), what: error.to_string() })
        }
        Err(source) => Err(CheckpointError::read(path, source)),
    }
}

/// Reads everything a manifest names.
fn load(
    folder: &Path,
    manifest: &Manifest,
    identity: &RunIdentity,
    capacity: usize,
    spec: &EnvSpec,
) -> Result<Loaded, CheckpointError> {
    let mut sections = read_body(folder, manifest, identity)?;
    let path = folder.join(Manifest::file_name(manifest.interactions));
    let Some((_, tail)) = sections.pop_if(|(name, _)| name == REPLAY_TAIL) else {
        return Err(CheckpointError::Damaged { path, what: format!("it names no section {REPLAY_TAIL}") });
    };
    let mut unread = None;
    let segments = manifest.segments.iter().map_while(|entry| match read_file(folder, entry) {
        Ok(bytes) => Some(bytes),
        Err(error) => {
            unread = Some(error);
            None
        }
    });
    let replay = Replay::restore(capacity, spec, &tail, segments);
    // An unreadable segment is the cause of an error of the replay.
    if let Some(error) = unread {
        return Err(error);
    }
    let replay = replay.map_err(|source| CheckpointError::Replay { path, source })?;
    Ok(Loaded { interactions: manifest.interactions, sections, replay, records: manifest.records.clone() })
}

/// Reads the named sections of a manifest and nothing of its replay.
fn load_sections(
    folder: &Path,
    manifest: &Manifest,
    identity: &RunIdentity,
) -> Result<LoadedSections, CheckpointError> {
    let mut sections = read_body(folder, manifest, identity)?;
    sections.retain(|(name, _)| name != REPLAY_TAIL);
    Ok(LoadedSections { interactions: manifest.interactions, sections, records: manifest.records.clone() })
}

/// The sections of a checkpoint, without the configuration: that must be the one of `identity`.
fn read_body(
    folder: &Path,
    manifest: &Manifest,
    identity: &RunIdentity,
) -> Result<Vec<(String, Vec<u8>)>, CheckpointError> {
    let path = folder.join(&manifest.body);
    let written = manifest.sections.iter().fold(0_u64, |sum, entry| sum.saturating_add(entry.bytes));
    let body = read_exactly(&path, written)?;
    let mut rest = &body[..];
    let mut sections = Vec::new();
    for entry in &manifest.sections {
        let (bytes, after) = rest.split_at(entry.bytes as usize);
        entry.check(&path, bytes)?;
        sections.push((entry.name.clone(), bytes.to_vec()));
        rest = after;
    }
    let config = sections.iter().position(|(name, _)| name == CONFIG).map(|at| sections.remove(at).1);
    let config = config.and_then(|bytes| String::from_utf8(bytes).ok());
    check_identity(folder, manifest, config.as_deref(), identity)?;
    Ok(sections)
}

/// Whether a checkpoint, whose body holds this configuration, belongs to the run.
fn check_identity(
    folder: &Path,
    manifest: &Manifest,
    config: Option<&str>,
    identity: &RunIdentity,
) -> Result<(), CheckpointError> {
    let path = folder.join(Manifest::file_name(manifest.interactions));
    let Some(config) = config.filter(|text| RunIdentity::digest_of(text).as_ref() == Some(&manifest.identity)) else {
        let what = format!("its identity is not that of the configuration in {}", manifest.body);
        return Err(CheckpointError::Damaged { path, what });
    };
    if manifest.identity == identity.digest {
        return Ok(());
    }
    let differences = identity.differences(config);
    if differences.is_empty() { Ok(()) } else { Err(CheckpointError::OtherRun { path, differences }) }
}

fn read_file(folder: &Path, entry: &Entry) -> Result<Vec<u8>, CheckpointError> {
    let path = folder.join(&entry.name);
    let bytes = read_exactly(&path, entry.bytes)?;
    entry.check(&path, &bytes)?;
    Ok(bytes)
}

/// The bytes of a file that must have this length; one of another length is not read.
fn read_exactly(path: &Path, expected: u64) -> Result<Vec<u8>, CheckpointError> {
    let unreadable = |source| CheckpointError::read(path, source);
    let found = open_plain(path).and_then(|file| file.metadata()).map_err(unreadable)?.len();
    if found != expected {
        let what = format!("it has {found} bytes where {expected} were written");
        return Err(CheckpointError::Damaged { path: path.into(), what });
    }
    read_plain(path, expected).map_err(unreadable)
}
