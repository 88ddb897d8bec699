//! The folder of checkpoints: saving, finding the newest good one, removing what is no longer needed.

use super::CheckpointError;
use super::disk::{Disk, RealDisk};
use super::load::{Loaded, LoadedSections, REPLAY_TAIL, load, load_sections, manifest_paths, read_manifest};
use super::manifest::{Entry, FORMAT, Manifest};
use sane_env::{AgentSteps, EnvSpec};
use sane_replay::Replay;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

/// How many checkpoints are kept: if the newest turns out damaged, the one before stands in.
const KEPT: usize = 2;

/// A file being written has this before its name.
const TEMPORARY: &str = "new-";

/// Beginnings of the names of files that are the store's to remove.
const OWN: [&str; 4] = ["checkpoint-", "body-", "replay-", TEMPORARY];

/// A checkpoint with its manifest, if there is any.
type Newest<T> = Result<Option<(Manifest, T)>, CheckpointError>;

/// The checkpoints of one run. Who saves holds the run's lock; reading needs none.
pub struct CheckpointStore {
    folder: PathBuf,
    disk: Box<dyn Disk>,
    /// The good checkpoints, oldest first.
    kept: Vec<Manifest>,
    /// Segments of the run's replay that are on the disk already, by number.
    segments: BTreeMap<u64, Entry>,
    warnings: Vec<String>,
}

impl CheckpointStore {
    /// The store in this folder, for a run that will save; the folder is made if it is not there.
    pub fn open(folder: &Path) -> Result<Self, CheckpointError> {
        fs::create_dir_all(folder).map_err(|source| CheckpointError::write(folder, 0, source))?;
        Self::open_on(folder, Box::new(RealDisk))
    }

    /// The store in this folder, for reading.
    pub fn open_read_only(folder: &Path) -> Result<Self, CheckpointError> {
        Self::open_on(folder, Box::new(RealDisk))
    }

    pub(crate) fn open_on(folder: &Path, disk: Box<dyn Disk>) -> Result<Self, CheckpointError> {
        let (kept, segments, warnings) = Default::default();
        let mut store = Self { folder: folder.into(), disk, kept, segments, warnings };
        store.kept = manifest_paths(folder)?.iter().rev().filter_map(|path| read_manifest(path).ok()).collect();
        Ok(store)
    }

    /// The newest checkpoint that is whole, if there is any checkpoint. Damaged ones are passed over and
    /// [said](Self::warnings); the next [`save`](Self::save) removes them.
    pub fn load_latest(&mut self, capacity: usize, spec: &EnvSpec) -> Result<Option<Loaded>, CheckpointError> {
        let found = self.newest(|folder, manifest| load(folder, manifest, capacity, spec))?;
        let Some((manifest, loaded)) = found else { return Ok(None) };
        let numbers = loaded.replay.sealed_segments().map(|segment| segment.number());
        self.segments = numbers.zip(manifest.segments.iter().cloned()).collect();
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
        load(&self.folder, &self.manifest_at(wanted)?, capacity, spec)
    }

    /// The checkpoint at this interaction without its replay.
    pub fn load_sections(&mut self, wanted: AgentSteps) -> Result<LoadedSections, CheckpointError> {
        load_sections(&self.folder, &self.manifest_at(wanted)?)
    }

    fn manifest_at(&self, wanted: AgentSteps) -> Result<Manifest, CheckpointError> {
        let path = self.folder.join(Manifest::file_name(wanted));
        match read_manifest(&path) {
            Err(CheckpointError::Missing { .. }) => {
                let there = self.kept.iter().map(|manifest| manifest.interactions).collect();
                Err(CheckpointError::NotThere { folder: self.folder.clone(), wanted: wanted.0, there })
            }
            other => other,
        }
    }

    /// What the last load had to pass over, and why: one sentence each.
    pub fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }

    /// Makes a checkpoint of named sections and the replay. When it returns, the checkpoint survives a loss of power; when
    /// it fails, the one before does. Of the replay only what is new since the last save or load is written.
    pub fn save(
        &mut self,
        now: AgentSteps,
        sections: &[(impl AsRef<str>, Vec<u8>)],
        replay: &Replay,
    ) -> Result<(), CheckpointError> {
        let manifest = self.write_contents(now, sections, replay).inspect_err(|_| self.remove_unneeded())?;
        let written = self.write_file(&Manifest::file_name(now), &[manifest.to_text().as_bytes()]);
        written.inspect_err(|_| self.remove_unneeded())?;
        self.settle()?;
        self.kept.retain(|kept| kept.interactions != now);
        self.kept.push(manifest);
        self.kept.drain(..self.kept.len().saturating_sub(KEPT));
        self.remove_unneeded();
        Ok(())
    }

    /// What `read` makes of the newest checkpoint that it finds whole, and its manifest.
    fn newest<T>(&mut self, read: impl Fn(&Path, &Manifest) -> Result<T, CheckpointError>) -> Newest<T> {
        loop {
            let paths = manifest_paths(&self.folder)?;
            match self.newest_of(&paths, &read) {
                // A run that is saving while we read removes old files: then there is a newer checkpoint to try.
                Err(CheckpointError::NoneUsable { .. }) if manifest_paths(&self.folder)? != paths => {}
                result => return result,
            }
        }
    }

    fn newest_of<T>(
        &mut self,
        paths: &[PathBuf],
        read: impl Fn(&Path, &Manifest) -> Result<T, CheckpointError>,
    ) -> Newest<T> {
        self.warnings.clear();
        for path in paths {
            let manifest = match read_manifest(path) {
                Err(error) if error.is_damage() => Err(error),
                other => Ok(other?),
            };
            let loaded = manifest.and_then(|manifest| {
                let loaded = read(&self.folder, &manifest)?;
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

    /// Everything but the manifest, durable when it returns.
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
        let tail = replay.tail_bytes();
        let sections: Vec<(&str, &[u8])> = sections
            .iter()
            .map(|(name, bytes)| (name.as_ref(), &bytes[..]))
            .chain([(REPLAY_TAIL, &tail[..])])
            .collect();
        let entries: Vec<Entry> = sections.iter().map(|(name, bytes)| Entry::of(*name, bytes)).collect();
        let digests: String = entries.iter().map(|entry| &entry.blake3[..]).collect();
        let body = format!("body-{:012}-{}.bin", now.0, &blake3::hash(digests.as_bytes()).to_hex()[..16]);
        self.write_file(&body, &sections.iter().map(|(_, bytes)| *bytes).collect::<Vec<_>>())?;
        self.settle()?;
        self.segments = segments;
        let segments = self.segments.values().cloned().collect();
        Ok(Manifest { format: FORMAT, interactions: now, body, sections: entries, segments })
    }

    /// Written beside its place and renamed: under its own name a file is always whole.
    fn write_file(&mut self, name: &str, pieces: &[&[u8]]) -> Result<(), CheckpointError> {
        let (temporary, path) = (self.folder.join(format!("{TEMPORARY}{name}")), self.folder.join(name));
        let bytes = pieces.iter().map(|piece| piece.len() as u64).sum();
        self.disk
            .write_durably(&temporary, pieces)
            .and_then(|()| self.disk.rename(&temporary, &path))
            .map_err(|source| CheckpointError::write(&path, bytes, source))
    }

    fn settle(&mut self) -> Result<(), CheckpointError> {
        self.disk.settle_names(&self.folder).map_err(|source| CheckpointError::write(&self.folder, 0, source))
    }

    /// Removes what no kept checkpoint names. Manifests go first, and for good, before any file they name: no crash may
    /// leave one that points to nothing. What cannot be removed now is tried again after the next save.
    fn remove_unneeded(&mut self) {
        let needed: BTreeSet<String> = self.kept.iter().flat_map(Manifest::file_names).collect();
        self.segments.retain(|_, segment| needed.contains(&segment.name));
        let Ok(entries) = fs::read_dir(&self.folder) else { return };
        let unneeded = entries
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .filter(|name| OWN.iter().any(|own| name.starts_with(own)) && !needed.contains(name));
        let (manifests, others): (Vec<String>, Vec<String>) =
            unneeded.partition(|name| name.starts_with("checkpoint-"));
        let gone = manifests.iter().all(|name| self.disk.remove(&self.folder.join(name)).is_ok());
        if gone && (manifests.is_empty() || self.settle().is_ok()) {
            for name in others {
                // Left behind, it costs room and nothing else.
                let _ = self.disk.remove(&self.folder.join(name));
            }
        }
    }
}
