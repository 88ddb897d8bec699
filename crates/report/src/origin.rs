//! Where a run comes from, as `origin.toml` in its folder says: the preset, the settings that were chosen against it, the
//! command, the program's commit. Runs from before there was this file have none.

use crate::ReportError;
use sane_record::read_plain_text;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::Path;

/// A larger file is no origin.
const LARGEST_BYTES: u64 = 1 << 20;

/// Where a run comes from.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub struct Origin {
    /// The preset that the settings started from.
    pub preset: String,
    /// The settings whose values are not the preset's, by dotted key, and what set them.
    pub chosen: BTreeMap<String, String>,
    /// The command line of the process that began the run.
    pub command: Vec<String>,
    /// Commit that the program was built from.
    pub git_commit: Option<String>,
    /// Whether the program's sources differed from that commit.
    pub git_dirty: Option<bool>,
}

/// The origin of the run in `folder`, where it is recorded.
pub fn read_origin(folder: &Path) -> Result<Option<Origin>, ReportError> {
    let path = folder.join("origin.toml");
    let text = match read_plain_text(&path, LARGEST_BYTES) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(ReportError::io("read", &path)(error)),
    };
    let origin = toml::from_str(&text);
    origin.map(Some).map_err(|error| ReportError::Config { path, reason: error.message().replace('\n', " ") })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    fn an_origin_says_what_was_chosen_and_a_damaged_one_is_named() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(read_origin(folder.path()).unwrap(), None);
        let path = folder.path().join("origin.toml");
        fs::write(&path, "preset = 'quick'\nlater = 1\n[chosen]\n'learner.gamma' = '--set'\n").unwrap();
        let origin = read_origin(folder.path()).unwrap().unwrap();
        assert_eq!((origin.preset.as_str(), origin.chosen["learner.gamma"].as_str()), ("quick", "--set"));
        fs::write(&path, "preset = ").unwrap();
        assert!(read_origin(folder.path()).unwrap_err().to_string().contains("origin.toml"));
    }
}
