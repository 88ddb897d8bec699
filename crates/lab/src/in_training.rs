//! Evaluation while training: the policy as it is plays a few episodes without noise.
//!
//! The starts of these episodes come from a stream of their own and are the same each time, so that one evaluation can be
//! compared with the next. Nothing of the run is written to: what it learns, and every byte of its events, are the same with
//! and without.

use crate::LabError;
use crate::config::RunConfig;
use crate::evaluate::{NoiseMode, play_episode};
use crate::run::Run;
use crate::world::WorldSource;
use sane_env::Stream;
use sane_record::EvaluatedWhileTraining;
use sane_stats::mean;
use std::sync::atomic::{AtomicBool, Ordering};

/// Episodes of an evaluation at most.
const EPISODES: u64 = 10;

/// No episode begins once an evaluation has played this part of the interactions between two of them; one that alone is as
/// long is cut there. So an evaluation never plays more than two fifths of what is trained in between, and acting is the
/// smaller part of training.
const PART_PLAYED: u64 = 5;

/// Evaluates a run while it trains.
pub(crate) struct Evaluator {
    source: WorldSource,
    start_seed: u64,
    /// Highest mean so far.
    best: Option<f64>,
    /// Interactions of the last evaluation.
    last: Option<u64>,
}

impl Evaluator {
    /// For a run that has made these evaluations `before`.
    pub fn new(source: &WorldSource, config: &RunConfig, before: &[EvaluatedWhileTraining]) -> Self {
        let start_seed = Stream::named(config.seed, "evaluation in training").next_u64();
        let best = before.iter().map(|evaluation| evaluation.mean).reduce(f64::max);
        Self { source: source.clone(), start_seed, best, last: before.last().map(|last| last.interactions) }
    }

    /// Whether an evaluation is due and was not made: the run was stopped within it.
    pub fn is_missing(&self, run: &Run) -> bool {
        let now = run.clock.steps();
        0 < now.0 && run.clock.is_due(run.config.training.evaluate_every) && self.last != Some(now.0)
    }

    /// Evaluates the policy as it is now; `None` if stopped.
    pub fn evaluate(&mut self, run: &Run, stop: &AtomicBool) -> Result<Option<EvaluatedWhileTraining>, LabError> {
        let most = (run.config.training.evaluate_every.0 / PART_PLAYED).max(1);
        // Without noise an episode leaves nothing in a policy that another one acts on.
        let mut policy = run.learner.policy();
        let (mut returns, mut played) = (Vec::new(), 0);
        for number in 0..EPISODES {
            if most <= played {
                break;
            }
            let mut left = most;
            let mode = NoiseMode::Off.act_mode();
            let episode = play_episode(&mut policy, &self.source, self.start_seed, number, mode, &mut |_, _| {
                let continues = 0 < left && !stop.load(Ordering::Relaxed);
                left = left.saturating_sub(1);
                continues
            })?;
            if stop.load(Ordering::Relaxed) {
                return Ok(None);
            }
            returns.push(episode.return_raw);
            played += episode.interactions;
        }
        let (interactions, mean) = (run.clock.steps().0, mean(&returns));
        let best = self.best.is_none_or(|best| best < mean);
        if best {
            self.best = Some(mean);
        }
        self.last = Some(interactions);
        Ok(Some(EvaluatedWhileTraining { interactions, episodes: returns.len() as u64, mean, returns, best }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::{OpenRun, Start, open_run};
    use crate::preset::Preset;
    use crate::run::Digest;
    use crate::trained::{CheckpointChoice, read_trained};
    use crate::{check_run, train};
    use sane_env::AgentSteps;
    use sane_record::{EVALUATIONS_IN_TRAINING, read_evaluations_in_training};
    use std::fs;
    use std::path::Path;

    fn config(total: u64, evaluate_every: u64) -> RunConfig {
        let mut config = Preset::RiskyRoad.config("risky-road", "sane").unwrap();
        config.training.total_interactions = AgentSteps(total);
        config.training.learning_starts = AgentSteps(100);
        config.training.evaluate_every = AgentSteps(evaluate_every);
        config.record.interval = AgentSteps(150);
        config.record.film_interval = 0;
        config.replay.capacity = 1_000;
        config
    }

    fn trained(folder: &Path, config: &RunConfig, threads: usize) -> Digest {
        let source = WorldSource::open(&config.world, None, &mut |_| ()).unwrap();
        let pool = crate::pool(Some(threads)).unwrap();
        pool.install(|| {
            let OpenRun { mut run, mut files, .. } = open_run(folder, config, &source, Start::Resume).unwrap();
            files.begin(&run, &mut ()).unwrap();
            train(&mut run, &mut files, &mut (), &AtomicBool::new(false)).unwrap();
            Digest::of(&run)
        })
    }

    fn bytes(folder: &Path, name: &str) -> Vec<u8> {
        fs::read(folder.join(name)).unwrap()
    }

    #[test]
    fn evaluating_changes_neither_the_events_nor_the_state_at_any_number_of_threads() {
        let folder = tempfile::tempdir().unwrap();
        let [without, one, two] = ["without", "one", "two"].map(|name| folder.path().join(name));
        let digest = trained(&without, &config(900, 0), 1);
        assert_eq!(digest, trained(&one, &config(900, 200), 1));
        assert_eq!(digest, trained(&two, &config(900, 200), 2));
        assert!(bytes(&without, "events.jsonl") == bytes(&one, "events.jsonl"));
        assert!(bytes(&without, "events.jsonl") == bytes(&two, "events.jsonl"));
        assert!(bytes(&one, EVALUATIONS_IN_TRAINING) == bytes(&two, EVALUATIONS_IN_TRAINING));
        assert!(!without.join(EVALUATIONS_IN_TRAINING).exists());
        let evaluations = read_evaluations_in_training(&one).unwrap().records;
        assert_eq!(evaluations.iter().map(|one| one.interactions).collect::<Vec<_>>(), [200, 400, 600, 800]);
        assert!(evaluations[0].best && evaluations.iter().all(|one| one.episodes == one.returns.len() as u64));
    }

    #[test]
    fn a_run_begun_without_evaluations_makes_them_from_where_it_is_resumed_and_can_leave_them_again() {
        let folder = tempfile::tempdir().unwrap();
        let (run, straight) = (folder.path().join("run"), folder.path().join("straight"));
        trained(&run, &config(300, 0), 1);
        assert!(!fs::read_to_string(run.join("config.toml")).unwrap().contains("evaluate_every"));
        trained(&run, &config(600, 200), 1);
        let digest = trained(&run, &config(900, 0), 1);
        assert_eq!(digest, trained(&straight, &config(900, 200), 1));
        let evaluations = read_evaluations_in_training(&run).unwrap().records;
        assert_eq!(evaluations.iter().map(|one| one.interactions).collect::<Vec<_>>(), [400, 600]);
        assert!(bytes(&run, "events.jsonl") == bytes(&straight, "events.jsonl"));
    }

    #[test]
    fn an_evaluation_that_a_stop_interrupted_is_made_up_for() {
        let folder = tempfile::tempdir().unwrap();
        let (run, straight) = (folder.path().join("run"), folder.path().join("straight"));
        // Without the setting, the run ends where an evaluation would be due.
        trained(&run, &config(400, 0), 1);
        trained(&run, &config(700, 400), 1);
        trained(&straight, &config(700, 400), 1);
        assert!(bytes(&run, EVALUATIONS_IN_TRAINING) == bytes(&straight, EVALUATIONS_IN_TRAINING));
    }

    #[test]
    fn the_best_checkpoint_is_kept_read_and_checked_until_a_better_one() {
        let folder = tempfile::tempdir().unwrap();
        let config = config(1_200, 100);
        let source = WorldSource::open(&config.world, None, &mut |_| ()).unwrap();
        trained(folder.path(), &config, 1);
        let evaluations = read_evaluations_in_training(folder.path()).unwrap().records;
        let best = evaluations.iter().rev().find(|evaluation| evaluation.best).unwrap();
        assert!(best.interactions < 1_200, "the test needs a best policy that is not the last: {evaluations:?}");
        let read = read_trained(folder.path(), &source, CheckpointChoice::Best).unwrap();
        assert_eq!(read.interactions.0, best.interactions);
        let check = check_run(folder.path(), &source).unwrap();
        assert!(check.problems.is_empty(), "{check:?}");
        assert!(check.sound.iter().any(|line| line.starts_with("best-")), "{check:?}");
        let body = fs::read_dir(folder.path().join("checkpoints")).unwrap().map(|entry| entry.unwrap().path());
        let name = format!("body-{:012}", best.interactions);
        let body = body.into_iter().find(|path| path.to_string_lossy().contains(&name)).unwrap();
        fs::write(body, "altered").unwrap();
        let check = check_run(folder.path(), &source).unwrap();
        assert!(check.problems.iter().any(|line| line.starts_with("best-")), "{check:?}");
        assert!(read_trained(folder.path(), &source, CheckpointChoice::Best).is_err());
    }

    #[test]
    fn a_run_without_evaluations_has_no_best_checkpoint() {
        let folder = tempfile::tempdir().unwrap();
        let config = config(200, 0);
        let source = WorldSource::open(&config.world, None, &mut |_| ()).unwrap();
        trained(folder.path(), &config, 1);
        let error = read_trained(folder.path(), &source, CheckpointChoice::Best).map(|_| ()).unwrap_err().to_string();
        assert!(error.contains("has no best checkpoint") && error.contains("training.evaluate_every"), "{error}");
    }
}
