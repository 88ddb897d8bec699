//! The learner of a checkpoint without the rest of the run. Evaluating, showing and exporting a policy need no more, so
//! the replay, by far the largest part of a checkpoint, is not read.

use crate::LabError;
use crate::checkpoint::CheckpointStore;
use crate::config::RunConfig;
use crate::folder::{altered_records, read_config};
use crate::identity::RunIdentity;
use crate::rng::RngStreams;
use crate::run::Sections;
use crate::world::WorldSource;
use sane_agent::Learner;
use sane_env::{AgentSteps, EnvSpec};
use std::path::Path;

/// Which checkpoint of a run is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum CheckpointChoice {
    #[default]
    Newest,
    /// That at this interaction.
    At(AgentSteps),
    /// That of the highest mean among the evaluations made while training; it has the policy, not the replay.
    Best,
}

/// The newest one unless an interaction is named.
impl From<Option<AgentSteps>> for CheckpointChoice {
    fn from(interactions: Option<AgentSteps>) -> Self {
        interactions.map_or(Self::Newest, Self::At)
    }
}

/// The learner of a run at one of its checkpoints.
pub struct TrainedAgent {
    pub config: RunConfig,
    pub interactions: AgentSteps,
    pub learner: Learner,
    /// Damage that was found: checkpoints that were skipped, records that were altered; one sentence each.
    pub warnings: Vec<String>,
    spec: EnvSpec,
}

impl TrainedAgent {
    /// The learner of a run that has not begun.
    pub fn untrained(config: &RunConfig, source: &WorldSource) -> Result<Self, LabError> {
        config.check()?;
        let spec = source.make(config.seed)?.spec().clone();
        let learner = Learner::new(&config.learner, &spec, &mut RngStreams::from_seed(config.seed).init)?;
        Ok(Self { config: config.clone(), interactions: AgentSteps(0), learner, warnings: Vec::new(), spec })
    }

    /// Specification of the world it was trained in.
    pub fn spec(&self) -> &EnvSpec {
        &self.spec
    }
}

/// The learner of the run in `folder` at the `wanted` checkpoint; writes nothing. What is read
/// is checked against its digests; the files of the replay are not opened.
pub fn read_trained(folder: &Path, source: &WorldSource, wanted: CheckpointChoice) -> Result<TrainedAgent, LabError> {
    let mut trained = TrainedAgent::untrained(&read_config(folder)?, source)?;
    let identity = RunIdentity::of(&trained.config);
    let mut checkpoints = CheckpointStore::open_read_only(&folder.join("checkpoints"), identity)?;
    let loaded = match wanted {
        CheckpointChoice::At(wanted) => Some(checkpoints.load_sections(wanted)?),
        CheckpointChoice::Best => Some(checkpoints.load_best_sections()?),
        CheckpointChoice::Newest => checkpoints.load_latest_sections()?,
    };
    // The checkpoint of the beginning holds an untrained network.
    let loaded = loaded.filter(|loaded| 0 < loaded.interactions.0 || wanted != CheckpointChoice::Newest);
    let loaded = loaded.ok_or_else(|| LabError::NoCheckpoint { path: folder.into() })?;
    let state = Sections(loaded.sections).get("learner");
    let restored = state.and_then(|state| Ok(trained.learner.load_state(&state)?));
    restored.map_err(LabError::in_checkpoint(folder, loaded.interactions))?;
    trained.learner.require_finite()?;
    trained.interactions = loaded.interactions;
    trained.warnings = checkpoints.warnings();
    trained.warnings.extend(altered_records(folder, &loaded.records));
    Ok(trained)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evaluate::{Evaluation, NoiseMode, evaluate};
    use crate::export::export_policy;
    use crate::folder::{OpenRun, Start, open_run, read_run};
    use crate::preset::Preset;
    use std::fs;
    use std::path::PathBuf;
    use std::sync::atomic::AtomicBool;

    fn finished_run(folder: &Path) -> WorldSource {
        let mut config = Preset::RiskyRoad.config("risky-road", "sane").unwrap();
        config.training.total_interactions = AgentSteps(700);
        config.training.learning_starts = AgentSteps(300);
        // Small, so that segments are short and the replay of a short run has files of its own.
        config.replay.capacity = 1_000;
        config.record.film_interval = 0;
        let source = WorldSource::open(&config.world, None, &mut |_| ()).unwrap();
        let OpenRun { mut run, mut files, .. } = open_run(folder, &config, &source, Start::Resume).unwrap();
        crate::train(&mut run, &mut files, &mut (), &AtomicBool::new(false)).unwrap();
        source
    }

    fn files(folder: &Path, beginning: &str) -> Vec<PathBuf> {
        let entries = fs::read_dir(folder.join("checkpoints")).unwrap().map(|entry| entry.unwrap().path());
        entries.filter(|path| path.file_name().unwrap().to_string_lossy().starts_with(beginning)).collect()
    }

    #[test]
    fn a_policy_is_read_without_the_replay_and_is_that_of_the_run() {
        let folder = tempfile::tempdir().unwrap();
        let source = finished_run(folder.path());
        let whole = read_run(folder.path(), &source, None).unwrap();
        let segments = files(folder.path(), "replay-");
        assert!(!segments.is_empty(), "the replay has files of its own");
        segments.iter().for_each(|path| fs::remove_file(path).unwrap());
        let trained = read_trained(folder.path(), &source, CheckpointChoice::Newest).unwrap();
        assert_eq!((trained.interactions, trained.spec()), (AgentSteps(700), whole.spec()));
        let values = |learner: &Learner| -> Vec<f32> { learner.export().into_iter().flat_map(|t| t.values).collect() };
        assert_eq!(values(&trained.learner), values(&whole.learner));
        assert!(read_run(folder.path(), &source, None).is_err(), "the whole run needs its replay");
    }

    #[test]
    fn numbers_that_are_not_finite_are_neither_saved_evaluated_nor_exported() {
        let folder = tempfile::tempdir().unwrap();
        let source = finished_run(folder.path());
        let mut trained = read_trained(folder.path(), &source, CheckpointChoice::Newest).unwrap();
        let mut state = trained.learner.save_state();
        state.online[3] = f32::NAN;
        trained.learner.load_state(&state).unwrap();
        let evaluation = Evaluation { noise: NoiseMode::Off, interactions: AgentSteps(10), start_seed: 0, threads: 1 };
        let evaluated = evaluate(&trained, &source, &evaluation, |_| (), &AtomicBool::new(false));
        let exported = export_policy(&trained, &folder.path().join("policy"));
        for error in [evaluated.map(drop).unwrap_err(), exported.unwrap_err()] {
            assert!(error.to_string().contains("the online network holds NaN"), "{error}");
        }
        assert!(!folder.path().join("policy").exists());

        // A loss that is finite, and an optimiser that no longer is: noticed when the next checkpoint is made.
        let mut config = read_config(folder.path()).unwrap();
        config.training.total_interactions = AgentSteps(701);
        let OpenRun { mut run, mut files, .. } = open_run(folder.path(), &config, &source, Start::Resume).unwrap();
        let mut state = run.learner.save_state();
        state.second_moment[0] = f32::INFINITY;
        run.learner.load_state(&state).unwrap();
        let error = crate::train(&mut run, &mut files, &mut (), &AtomicBool::new(false)).unwrap_err();
        assert!(matches!(error, LabError::Diverged { interactions: 701, saved: Some(700), .. }), "{error}");
        drop(files);
        assert_eq!(
            read_trained(folder.path(), &source, CheckpointChoice::Newest).unwrap().interactions,
            AgentSteps(700)
        );
    }

    #[test]
    fn a_flipped_bit_in_what_is_read_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let source = finished_run(folder.path());
        for body in files(folder.path(), "body-") {
            let mut bytes = fs::read(&body).unwrap();
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            fs::write(&body, bytes).unwrap();
        }
        let error = read_trained(folder.path(), &source, CheckpointChoice::Newest).err().unwrap().to_string();
        assert!(error.contains("no checkpoint") && error.contains("digest"), "{error}");
    }
}
