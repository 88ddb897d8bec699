//! Runs in the file store of MLflow, which `mlflow ui --backend-store-uri DIR` shows:
//!
//! ```text
//! EXPERIMENT/meta.yaml                 one experiment per world
//! EXPERIMENT/RUN/meta.yaml             a run, its times and whether it finished
//! EXPERIMENT/RUN/params/KEY            a setting
//! EXPERIMENT/RUN/metrics/GROUP/NAME    a line per point: milliseconds since 1970, value, interactions
//! EXPERIMENT/RUN/tags/NAME             name, preset, commit, folder
//! ```

use super::{ExportRun, create_folder, write_file};
use crate::RecordError;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// Longest value of a parameter that MLflow takes.
const LONGEST_PARAMETER: usize = 6_000;

/// Adds the runs to the store in `store`; runs exported before are replaced. The folders of the runs in it.
pub fn export_mlflow(runs: &[ExportRun], store: &Path) -> Result<Vec<PathBuf>, RecordError> {
    create_folder(store)?;
    let root = fs::canonicalize(store).map_err(RecordError::io("open", store))?;
    runs.iter().map(|run| export(run, &root)).collect()
}

fn export(run: &ExportRun, root: &Path) -> Result<PathBuf, RecordError> {
    let world = run.setting("world.name");
    // An experiment is known by a number; this one is always the same for a world, and of the length of MLflow's own.
    let digest = u64::from_le_bytes(blake3::hash(world.as_bytes()).as_bytes()[..8].try_into().expect("eight bytes"));
    let experiment = format!("{:018}", 100_000_000_000_000_000 + digest % 800_000_000_000_000_000);
    let (start, end) = (milliseconds(run.clock.start()), milliseconds(run.clock.end()));
    let folder = root.join(&experiment);
    create_folder(&folder)?;
    let meta = folder.join("meta.yaml");
    if !meta.exists() {
        let fields = [
            ("artifact_location", quoted(&uri(&folder))),
            ("creation_time", start.to_string()),
            ("experiment_id", quoted(&experiment)),
            ("last_update_time", start.to_string()),
            ("lifecycle_stage", "active".into()),
            ("name", quoted(&format!("sane {world}"))),
        ];
        write_file(&meta, yaml(&fields).as_bytes())?;
    }
    let id = run.id();
    let folder = folder.join(&id);
    if folder.exists() {
        fs::remove_dir_all(&folder).map_err(RecordError::io("replace", &folder))?;
    }
    for part in ["artifacts", "metrics", "params", "tags"] {
        create_folder(&folder.join(part))?;
    }
    for (key, cell) in &run.settings {
        let text: String = cell.text().chars().take(LONGEST_PARAMETER).collect();
        put(&folder.join("params"), key, &text)?;
    }
    for (key, text) in tags(run) {
        put(&folder.join("tags"), key, &text)?;
    }
    for (name, lines) in metrics(run)? {
        put(&folder.join("metrics"), &name, &lines)?;
    }
    // Finished is 3, killed 5: a run that may be resumed is neither running nor failed.
    let fields = [
        ("artifact_uri", quoted(&uri(&folder.join("artifacts")))),
        ("end_time", end.to_string()),
        ("entry_point_name", "''".into()),
        ("experiment_id", quoted(&experiment)),
        ("lifecycle_stage", "active".into()),
        ("run_id", quoted(&id)),
        ("run_name", quoted(&run.name())),
        ("run_uuid", quoted(&id)),
        ("source_name", "''".into()),
        ("source_type", "4".into()),
        ("source_version", "''".into()),
        ("start_time", start.to_string()),
        ("status", if run.finished { "3" } else { "5" }.into()),
        ("tags", "[]".into()),
        ("user_id", "''".into()),
    ];
    // Last: a folder without it is no run to MLflow.
    write_file(&folder.join("meta.yaml"), yaml(&fields).as_bytes())?;
    Ok(folder)
}

fn tags(run: &ExportRun) -> Vec<(&'static str, String)> {
    let mut tags = vec![("mlflow.runName", run.name()), ("sane.folder", run.folder.display().to_string())];
    if let Some(origin) = &run.origin {
        tags.push(("sane.preset", origin.preset.clone()));
        tags.push(("sane.command", origin.command.join(" ")));
        tags.extend(origin.git_commit.clone().map(|commit| ("mlflow.source.git.commit", commit)));
    }
    tags
}

/// The lines of each metric.
fn metrics(run: &ExportRun) -> Result<BTreeMap<String, String>, RecordError> {
    let mut metrics: BTreeMap<String, String> = BTreeMap::new();
    run.rows(|row| {
        let time = milliseconds(run.clock.seconds_at(row.step));
        for (name, value) in row.metrics() {
            let lines = metrics.entry(name).or_default();
            writeln!(lines, "{time} {value:?} {}", row.step).expect("a text grows");
        }
        Ok(())
    })?;
    Ok(metrics)
}

/// A file under a name of MLflow's, in which a slash is a folder.
fn put(folder: &Path, name: &str, text: &str) -> Result<(), RecordError> {
    let allowed = |c: char| if c.is_ascii_alphanumeric() || "_-./ ".contains(c) { c } else { '_' };
    let name: String = name.chars().map(allowed).collect();
    // No setting of ours has such a part; a name must not lead out of its folder.
    let path = name
        .split('/')
        .filter(|part| !matches!(*part, "" | "." | ".."))
        .fold(folder.to_owned(), |path, part| path.join(part));
    if let Some(parent) = path.parent() {
        create_folder(parent)?;
    }
    fs::write(&path, text).map_err(RecordError::io("write", &path))
}

fn milliseconds(seconds: f64) -> u64 {
    (1000.0 * seconds) as u64
}

fn uri(path: &Path) -> String {
    let escape = |byte: &u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'_' | b'.' | b'~' => char::from(*byte).to_string(),
        other => format!("%{other:02X}"),
    };
    let text: String = path.as_os_str().as_encoded_bytes().iter().map(escape).collect();
    format!("file://{text}")
}

/// In single quotes, in which YAML takes every character for itself.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''").replace(['\n', '\r'], " "))
}

fn yaml(fields: &[(&str, String)]) -> String {
    fields.iter().map(|(key, value)| format!("{key}: {value}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::export::tests::run_folder;

    #[test]
    fn a_run_exported_twice_is_there_once_with_all_its_points() {
        let (folder, store) = (run_folder(), tempfile::tempdir().unwrap());
        let run = [ExportRun::read(folder.path()).unwrap()];
        let first = export_mlflow(&run, store.path()).unwrap();
        assert_eq!(export_mlflow(&run, store.path()).unwrap(), first);
        let read = |name: &str| fs::read_to_string(first[0].join(name)).unwrap();
        assert_eq!(read("params/learner.gamma"), "0.99");
        assert_eq!(read("metrics/episode/return_raw"), "1005000 1.5 10\n");
        assert_eq!(read("tags/mlflow.source.git.commit"), "abc");
        assert!(read("meta.yaml").contains("status: 3\n"));
        assert_eq!(fs::read_dir(store.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_name_cannot_lead_out_of_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        put(&folder.path().join("params"), "../../a:b", "1").unwrap();
        assert_eq!(fs::read_to_string(folder.path().join("params/a_b")).unwrap(), "1");
    }
}
