//! From files back to a run's state: every byte is checked against its digest before it is used.

use super::CheckpointError;
use super::manifest::{Entry, Manifest};
use sane_env::{AgentSteps, EnvSpec};
use sane_replay::Replay;
use std::fs;
use std::path::{Path, PathBuf};

/// Name of the section that holds the replay's counters and its open segment.
pub(crate) const REPLAY_TAIL: &str = "replay-tail";

/// A checkpoint in memory.
#[derive(Debug)]
pub struct Loaded {
    /// Where the run stood.
    pub interactions: AgentSteps,
    /// The named sections, in the order they were saved in.
    pub sections: Vec<(String, Vec<u8>)>,
    /// The replay, as it was.
    pub replay: Replay,
}

/// Where the run stood, and the named sections.
pub type LoadedSections = (AgentSteps, Vec<(String, Vec<u8>)>);

/// The manifests in a folder, newest first. A folder that is not there has none.
pub(crate) fn manifest_paths(folder: &Path) -> Result<Vec<PathBuf>, CheckpointError> {
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
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

pub(crate) fn read_manifest(path: &Path) -> Result<Manifest, CheckpointError> {
    let bytes = fs::read(path).map_err(|source| CheckpointError::read(path, source))?;
    let text = String::from_utf8(bytes)
        .map_err(|_| CheckpointError::Damaged { path: path.into(), what: "it is not text".into() })?;
    Manifest::from_text(path, &text)
}

/// Reads all that a manifest names.
pub(crate) fn load(
    folder: &Path,
    manifest: &Manifest,
    capacity: usize,
    spec: &EnvSpec,
) -> Result<Loaded, CheckpointError> {
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
    // A segment that could not be read is why the replay found one missing.
    if let Some(error) = unread {
        return Err(error);
    }
    let replay = replay.map_err(|source| CheckpointError::Replay { path, source })?;
    Ok(Loaded { interactions: manifest.interactions, sections, replay })
}

/// Reads the named sections of a manifest and nothing of its replay.
pub(crate) fn load_sections(folder: &Path, manifest: &Manifest) -> Result<LoadedSections, CheckpointError> {
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
