//! The manifest: which files make up a checkpoint, and the digest of each. TOML, and its own digest as the last line.

use super::CheckpointError;
use sane_env::AgentSteps;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Version of everything in the folder. Raised whenever an old program could misread a new checkpoint.
pub(crate) const FORMAT: u32 = 3;

const DIGEST_LINE: &str = "# blake3 ";

/// A checkpoint's table of contents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    pub format: u32,
    pub interactions: AgentSteps,
    /// Digest of the settings of its run, see [`RunIdentity`](crate::identity::RunIdentity).
    pub identity: String,
    /// The file all sections are in.
    pub body: String,
    /// The sections, in the order of the body.
    #[serde(rename = "parts")]
    pub sections: Vec<Entry>,
    /// The full segments of the replay, oldest first: one file each.
    pub segments: Vec<Entry>,
    /// The record files of the run: their length at this checkpoint, and the digest of that much of them.
    #[serde(default)]
    pub records: Vec<Entry>,
}

/// Some bytes: a file, the beginning of one, or a range of the body.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    pub name: String,
    pub bytes: u64,
    pub blake3: String,
}

impl Entry {
    pub fn of(name: impl Into<String>, bytes: &[u8]) -> Self {
        Self { name: name.into(), bytes: bytes.len() as u64, blake3: blake3::hash(bytes).to_hex().to_string() }
    }

    /// Whether these are the bytes it was made of; `path` is where they were read.
    pub fn check(&self, path: &Path, bytes: &[u8]) -> Result<(), CheckpointError> {
        let found = Self::of(self.name.clone(), bytes);
        let what = if found.bytes != self.bytes {
            format!("{} has {} bytes where {} were written", self.name, found.bytes, self.bytes)
        } else if found.blake3 != self.blake3 {
            format!("{} has digest {} where {} was written", self.name, found.blake3, self.blake3)
        } else {
            return Ok(());
        };
        Err(CheckpointError::Damaged { path: path.into(), what })
    }
}

impl Manifest {
    /// The name of a manifest's file, which sorts by interactions.
    pub fn file_name(interactions: AgentSteps) -> String {
        format!("checkpoint-{:012}.toml", interactions.0)
    }

    /// The name of a best policy's manifest.
    pub fn best_file_name(interactions: AgentSteps) -> String {
        format!("best-{:012}.toml", interactions.0)
    }

    /// The manifest of the same checkpoint as a best policy: without its replay.
    pub fn as_best(&self) -> Self {
        Self { segments: Vec::new(), ..self.clone() }
    }

    /// The files of a best policy, this manifest's own included.
    pub fn best_file_names(&self) -> [String; 2] {
        [Self::best_file_name(self.interactions), self.body.clone()]
    }

    /// The files of this checkpoint, its own included.
    pub fn file_names(&self) -> impl Iterator<Item = String> {
        let segments = self.segments.iter().map(|segment| segment.name.clone());
        [Self::file_name(self.interactions), self.body.clone()].into_iter().chain(segments)
    }

    pub fn to_text(&self) -> String {
        let text = toml::to_string(self).expect("a manifest is plain data");
        let digest = blake3::hash(text.as_bytes()).to_hex();
        format!("{text}{DIGEST_LINE}{digest}\n")
    }

    pub fn from_text(path: &Path, text: &str) -> Result<Self, CheckpointError> {
        let damaged = |what: String| CheckpointError::Damaged { path: path.into(), what };
        let (content, digest) = text
            .rfind(DIGEST_LINE)
            .map(|at| (&text[..at], text[at + DIGEST_LINE.len()..].trim_end()))
            .ok_or_else(|| damaged("its last line, the digest, is missing".into()))?;
        if blake3::hash(content.as_bytes()).to_hex().as_str() != digest {
            return Err(damaged("its digest is not that of its content".into()));
        }
        // The version alone first: another version may have other fields.
        let table: toml::Table = content.parse().map_err(|error| damaged(format!("{error}")))?;
        let found = table.get("format").and_then(toml::Value::as_integer).and_then(|format| u32::try_from(format).ok());
        match found {
            Some(FORMAT) => table.try_into().map_err(|error| damaged(format!("{error}"))),
            Some(found) => Err(CheckpointError::WrongVersion { path: path.into(), found, supported: FORMAT }),
            None => Err(damaged("it names no format version".into())),
        }
    }
}
