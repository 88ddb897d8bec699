//! The folder of checkpoints: saving, loading the newest intact one (every byte is checked against its digest), removing
//! files that are no longer needed.

use super::CheckpointError;
use super::manifest::{Entry, FORMAT, Manifest};
use sane_env::{AgentSteps, EnvSpec};
use sane_replay::Replay;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Number of checkpoints kept: if the newest is damaged, the one before is used.
const KEPT: usize = 2;

/// Prefix of a file that is being written.
const TEMPORARY: &str = "new-";

/// Prefixes of the files that the store may remove.
const OWN: [&str; 4] = ["checkpoint-", "body-", "replay-", TEMPORARY];

/// Name of the section that holds the replay's counters and its open segment.
const REPLAY_TAIL: &str = "replay-tail";

/// A checkpoint with its manifest, if there is any.
type Newest<T> = Result<Option<(Manifest, T)>, CheckpointError>;

/// A checkpoint in memory.
#[derive(Debug)]
pub struct Loaded {
    pub interactions: AgentSteps,
    /// The named sections, in the order they were saved in.
    pub sections: Vec<(String, Vec<u8>)>,
    pub replay: Replay,
}

/// The interaction of a checkpoint, and its named sections.
pub type LoadedSections = (AgentSteps, Vec<(String, Vec<u8>)>);

/// The checkpoints of one run. Saving needs the run's lock, reading does not.
pub struct CheckpointStore {
    folder: PathBuf,
    disk: Box<dyn Disk>,
    /// Manifests of the intact checkpoints, oldest first.
    kept: Vec<Manifest>,
    /// Segments of the run's replay that are on the disk already, by number.
    segments: BTreeMap<u64, Entry>,
    warnings: Vec<String>,
}

impl CheckpointStore {
    /// Opens the store for saving; creates the folder.
    pub fn open(folder: &Path) -> Result<Self, CheckpointError> {
        fs::create_dir_all(folder).map_err(|source| CheckpointError::write(folder, 0, source))?;
        Self::open_on(folder, Box::new(RealDisk))
    }

    /// Opens the store for reading.
    pub fn open_read_only(folder: &Path) -> Result<Self, CheckpointError> {
        Self::open_on(folder, Box::new(RealDisk))
    }

    pub(crate) fn open_on(folder: &Path, disk: Box<dyn Disk>) -> Result<Self, CheckpointError> {
        let (kept, segments, warnings) = Default::default();
        let mut store = Self { folder: folder.into(), disk, kept, segments, warnings };
        store.kept = manifest_paths(folder)?.iter().rev().filter_map(|path| read_manifest(path).ok()).collect();
        Ok(store)
    }

    /// The newest intact checkpoint, if there is any checkpoint. Damaged ones are skipped and reported by
    /// [`warnings`](Self::warnings); the next [`save`](Self::save) removes them.
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
                let available = self.kept.iter().map(|manifest| manifest.interactions).collect();
                Err(CheckpointError::NoSuch { folder: self.folder.clone(), wanted: wanted.0, available })
            }
            other => other,
        }
    }

    /// The damaged checkpoints that the last load skipped: one sentence each.
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
        self.sync_names()?;
        self.kept.retain(|kept| kept.interactions != now);
        self.kept.push(manifest);
        self.kept.drain(..self.kept.len().saturating_sub(KEPT));
        self.remove_unneeded();
        Ok(())
    }

    /// The newest checkpoint that `read` finds intact, and its manifest.
    fn newest<T>(&mut self, read: impl Fn(&Path, &Manifest) -> Result<T, CheckpointError>) -> Newest<T> {
        loop {
            let paths = manifest_paths(&self.folder)?;
            match self.newest_of(&paths, &read) {
                // A run that saves meanwhile removes old files; then there is a newer checkpoint to try.
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
        self.sync_names()?;
        self.segments = segments;
        let segments = self.segments.values().cloned().collect();
        Ok(Manifest { format: FORMAT, interactions: now, body, sections: entries, segments })
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
        let needed: BTreeSet<String> = self.kept.iter().flat_map(Manifest::file_names).collect();
        self.segments.retain(|_, segment| needed.contains(&segment.name));
        let Ok(entries) = fs::read_dir(&self.folder) else { return };
        let unneeded = entries
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .filter(|name| OWN.iter().any(|own| name.starts_with(own)) && !needed.contains(name));
        let (manifests, others): (Vec<String>, Vec<String>) =
            unneeded.partition(|name| name.starts_with("checkpoint-"));
        let removed = manifests.iter().all(|name| self.disk.remove(&self.folder.join(name)).is_ok());
        if removed && (manifests.is_empty() || self.sync_names().is_ok()) {
            for name in others {
                // A file left behind only takes disk space.
                let _ = self.disk.remove(&self.folder.join(name));
            }
        }
    }
}

/// The manifests in a folder, newest first; none if the folder is missing.
fn manifest_paths(folder: &Path) -> Result<Vec<PathBuf>, CheckpointError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(source) => return Err(CheckpointError::read(folder, source)),
    };
    let mut paths = Vec::new();
    for entry in entries {
        let path = entry.map_err(|source| CheckpointError::read(folder, source))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with("checkpoint-") && name.ends_with(".toml") {
            paths.push(path);
        }
    }
    paths.sort_unstable_by(|a, b| b.cmp(a));
    Ok(paths)
}

fn read_manifest(path: &Path) -> Result<Manifest, CheckpointError> {
    let bytes = fs::read(path).map_err(|source| CheckpointError::read(path, source))?;
    let text = String::from_utf8(bytes)
        .map_err(|_| CheckpointError::Damaged { path: path.into(), what: "it is not text".into() })?;
    Manifest::from_text(path, &text)
}

/// Reads everything a manifest names.
fn load(folder: &Path, manifest: &Manifest, capacity: usize, spec: &EnvSpec) -> Result<Loaded, CheckpointError> {
    let mut sections = read_body(folder, manifest)?;
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
    Ok(Loaded { interactions: manifest.interactions, sections, replay })
}

/// Reads the named sections of a manifest and nothing of its replay.
fn load_sections(folder: &Path, manifest: &Manifest) -> Result<LoadedSections, CheckpointError> {
    let mut sections = read_body(folder, manifest)?;
    sections.retain(|(name, _)| name != REPLAY_TAIL);
    Ok((manifest.interactions, sections))
}

fn read_body(folder: &Path, manifest: &Manifest) -> Result<Vec<(String, Vec<u8>)>, CheckpointError> {
    let path = folder.join(&manifest.body);
    let body = fs::read(&path).map_err(|source| CheckpointError::read(&path, source))?;
    let written: u64 = manifest.sections.iter().map(|entry| entry.bytes).sum();
    if body.len() as u64 != written {
        let what = format!("it has {} bytes where {written} were written", body.len());
        return Err(CheckpointError::Damaged { path, what });
    }
    let mut rest = &body[..];
    let mut sections = Vec::new();
    for entry in &manifest.sections {
        let (bytes, after) = rest.split_at(entry.bytes as usize);
        entry.check(&path, bytes)?;
        sections.push((entry.name.clone(), bytes.to_vec()));
        rest = after;
    }
    Ok(sections)
}

fn read_file(folder: &Path, entry: &Entry) -> Result<Vec<u8>, CheckpointError> {
    let path = folder.join(&entry.name);
    let bytes = fs::read(&path).map_err(|source| CheckpointError::read(&path, source))?;
    entry.check(&path, &bytes)?;
    Ok(bytes)
}

/// The file operations of a store: a trait, so that tests can have a disk that fills up, fails or loses power.
pub(crate) trait Disk: Send {
    /// Writes a new file and returns when its bytes are on the disk.
    fn write_durably(&mut self, path: &Path, pieces: &[&[u8]]) -> io::Result<()>;
    /// Gives a file its name, replacing what had it.
    fn rename(&mut self, from: &Path, to: &Path) -> io::Result<()>;
    /// Returns when all renames and removals in the folder are on the disk.
    fn sync_names(&mut self, folder: &Path) -> io::Result<()>;
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

    fn sync_names(&mut self, folder: &Path) -> io::Result<()> {
        File::open(folder)?.sync_all()
    }

    fn remove(&mut self, path: &Path) -> io::Result<()> {
        fs::remove_file(path)
    }
}
