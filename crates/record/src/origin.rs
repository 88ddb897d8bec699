//! Where a run comes from: `origin.toml`, written once when a run begins. It holds what the resolved settings cannot say: the
//! preset they started from, which of them were chosen against it, the command line, and the program's commit. It is no
//! part of a run's identity: two runs with equal settings are the same run, wherever they come from.
//!
//! ```text
//! preset = "quick"
//! command = ["sane", "train", "road_runner", "--agent", "q-sane-elbo", "--preset", "quick", "--set", "…"]
//! version = "0.1.0"
//! git_commit = "e300061…"
//! git_dirty = false
//!
//! [chosen]
//! "learner.exploration.q_noise" = "--set"
//! ```

use crate::RecordError;
use crate::disk::read_plain_text;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;

/// Name of the file in the run folder.
pub const ORIGIN_FILE: &str = "origin.toml";

/// A larger file is no origin.
const LARGEST_BYTES: u64 = 1 << 20;

/// Where a run comes from.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RunOrigin {
    /// The preset that the settings started from.
    pub preset: String,
    /// The command line of the process that began the run.
    pub command: Vec<String>,
    /// Version of the program that began it.
    pub version: String,
    /// Commit that the program was built from; absent if it was built without git.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub git_commit: Option<String>,
    /// Whether the program's sources differed from that commit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub git_dirty: Option<bool>,
    /// The settings whose values are not the preset's, by dotted key, and what set them: `file`, `--set`, the name of a flag
    /// such as `--steps`, or `suite`. World, agent and seed are chosen in every run and never listed.
    pub chosen: BTreeMap<String, String>,
}

impl RunOrigin {
    /// The origin of the run in `folder`; none for runs from before there was this file.
    pub fn read(folder: &Path) -> Result<Option<Self>, RecordError> {
        let path = folder.join(ORIGIN_FILE);
        let text = match read_plain_text(&path, LARGEST_BYTES) {
            Ok(text) => text,
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => return Ok(None),
            Err(error) => return Err(RecordError::io("read", path)(error)),
        };
        let origin = toml::from_str(&text)
            .map_err(|error| RecordError::Origin { path, reason: error.message().replace('\n', " ") })?;
        Ok(Some(origin))
    }

    /// The text of the file.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("an origin is plain data")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn an_origin_survives_its_file_and_a_run_without_one_has_none() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(RunOrigin::read(folder.path()).unwrap(), None);
        let chosen = [("learner.exploration.q_noise", "--set"), ("world.kwargs.a b", "file")];
        let origin = RunOrigin {
            preset: "quick".into(),
            command: vec!["sane".into(), "train".into(), "\"odd\" \\ name\n".into()],
            version: "0.1.0".into(),
            git_commit: Some("abc".into()),
            git_dirty: Some(true),
            chosen: chosen.map(|(key, origin)| (key.to_owned(), origin.to_owned())).into(),
        };
        for origin in [origin, RunOrigin::default()] {
            fs::write(folder.path().join(ORIGIN_FILE), origin.to_toml()).unwrap();
            assert_eq!(RunOrigin::read(folder.path()).unwrap(), Some(origin));
        }
    }

    #[test]
    fn a_damaged_origin_is_named_and_keys_of_later_versions_are_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(ORIGIN_FILE);
        fs::write(&path, "preset = 'quick'\nof_a_later_version = 3\n").unwrap();
        assert_eq!(RunOrigin::read(folder.path()).unwrap().unwrap().preset, "quick");
        for text in ["preset = ", "preset = 3", "chosen = 'all'", "\u{0}"] {
            fs::write(&path, text).unwrap();
            let error = RunOrigin::read(folder.path()).unwrap_err().to_string();
            assert!(error.contains("origin.toml"), "{text}: {error}");
        }
    }
}
