//! Reads everything a run folder holds and says what is wrong with it: `sane runs check`.

use crate::LabError;
use crate::checkpoint::{CheckpointStore, Loaded, LoadedSections};
use crate::config::RunConfig;
use crate::folder::{altered_records, read_config};
use crate::identity::RunIdentity;
use crate::run::{Digest, Run, Sections};
use crate::trained::TrainedAgent;
use crate::world::WorldSource;
use sane_record::{EVALUATIONS_IN_TRAINING, EvaluatedWhileTraining, Event, Timing, scan_jsonl};
use serde::de::DeserializeOwned;
use std::path::Path;

/// The outcome of a check: one sentence for each thing that was read.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RunCheck {
    pub sound: Vec<String>,
    pub problems: Vec<String>,
}

/// Reads the run in `folder` whole: every checkpoint with its replay (digests, identity, finite numbers), the events that
/// they cover, and each line of the records. Writes nothing.
pub fn check_run(folder: &Path, source: &WorldSource) -> Result<RunCheck, LabError> {
    let config = read_config(folder)?;
    let world = source.make(config.seed)?;
    let mut check = RunCheck::default();
    let checkpoints = CheckpointStore::open_read_only(&folder.join("checkpoints"), RunIdentity::of(&config))?;
    let mut states = Vec::new();
    checkpoints.visit_all(config.replay.capacity, world.spec(), |path, loaded| {
        let read = loaded.map_err(LabError::from).and_then(|loaded| check_checkpoint(folder, &config, source, loaded));
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        match read {
            Ok(digest) => {
                check.sound.push(format!("{name}: whole, of this run, its numbers finite, its events unaltered"));
                states.push(digest);
            }
            Err(error) => check.problems.push(format!("{name}: {error}")),
        }
    })?;
    checkpoints.visit_best(|path, loaded| {
        let read = loaded.map_err(LabError::from).and_then(|loaded| check_best(folder, &config, source, loaded));
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        match read {
            Ok(()) => check.sound.push(format!("{name}: the best policy, whole, of this run, its numbers finite")),
            Err(error) => check.problems.push(format!("{name}: {error}")),
        }
    })?;
    if check.sound.is_empty() && check.problems.is_empty() {
        check.problems.push(LabError::NoCheckpoint { path: folder.into() }.to_string());
    }
    let mut finished = None;
    check.records::<Event>(folder, "events.jsonl", |event| {
        if let Event::RunFinished(run) = event {
            finished = Some(run);
        }
    });
    check.records::<Timing>(folder, "timings.jsonl", |_| ());
    check.records::<Event>(folder, "evaluations.jsonl", |_| ());
    check.records::<EvaluatedWhileTraining>(folder, EVALUATIONS_IN_TRAINING, |_| ());
    let Some(finished) = finished else { return Ok(check) };
    let end = states.iter().find(|state| state.interactions.0 == finished.interactions);
    if let Some((end, recorded)) = end.zip(finished.digest) {
        match end.to_string() == recorded {
            true => check.sound.push("the recorded digest of the end is that of the last checkpoint".into()),
            false => {
                check.problems.push(format!("events.jsonl says the run ended with digest {recorded}, it is {end}"))
            }
        }
    }
    Ok(check)
}

fn check_checkpoint(
    folder: &Path,
    config: &RunConfig,
    source: &WorldSource,
    loaded: Loaded,
) -> Result<Digest, LabError> {
    let restored = Run::restore(config, source, &Sections(loaded.sections), loaded.replay);
    let run = restored.map_err(LabError::in_checkpoint(folder, loaded.interactions))?;
    run.learner.require_finite()?;
    match altered_records(folder, &loaded.records) {
        Some(reason) => Err(LabError::Altered { reason }),
        None => Ok(Digest::of(&run)),
    }
}

fn check_best(folder: &Path, config: &RunConfig, source: &WorldSource, loaded: LoadedSections) -> Result<(), LabError> {
    let mut trained = TrainedAgent::untrained(config, source)?;
    let state = Sections(loaded.sections).get("learner");
    let restored = state.and_then(|state| Ok(trained.learner.load_state(&state)?));
    restored.map_err(LabError::in_checkpoint(folder, loaded.interactions))?;
    Ok(trained.learner.require_finite()?)
}

impl RunCheck {
    /// Reads each line of a file, if there is such a file.
    fn records<T: DeserializeOwned>(&mut self, folder: &Path, name: &str, mut take: impl FnMut(T)) {
        let path = folder.join(name);
        if std::fs::symlink_metadata(&path).is_err() {
            return;
        }
        let scan = scan_jsonl(&path, |line| {
            take(serde_json::from_slice(line)?);
            Ok(())
        });
        match scan {
            Ok(scan) => self.sound.push(format!("{name}: {} records", scan.lines)),
            Err(error) => self.problems.push(error.to_string()),
        }
    }
}
