//! THE loop: the whole data path on one screen.

use crate::LabError;
use crate::folder::RunFiles;
use crate::observer::{Observer, Progress};
use crate::run::Run;
use crate::statistics::Interaction;
use crate::threads::KeepWorkersHot;
use crate::timer::{Lap, Phase, PhaseTimer, Timer};
use sane_env::AgentSteps;
use sane_record::{Event, StopReason};
use std::sync::atomic::{AtomicBool, Ordering};

/// Trains until the run is complete or `stop` is set. Algorithm 1 of the paper:
///
/// ```text
/// repeat: act greedily on a fresh draw, observe r and s'                              [SANE:alg-loop]
/// store (s, a, r, s', done) in the replay                                             [SANE:alg-store]
/// every 4 interactions: sample a batch, one step down the loss
/// every 10,000 interactions: θ̂ ← θ, Θ̂ ← Θ                                             [SANE:alg-sync-schedule]
/// ```
pub fn train(
    run: &mut Run,
    files: &mut RunFiles,
    observer: &mut dyn Observer,
    stop: &AtomicBool,
) -> Result<StopReason, LabError> {
    let config = run.config.clone();
    let training = &config.training;
    let _workers = KeepWorkersHot::start();
    files.make_up_evaluation(run, observer, stop)?;
    let mut timer = Timer::start();
    let mut interval_start = run.clock.steps();
    while run.clock.steps() < training.total_interactions {
        let decision = timer.time(Phase::Act, || run.act());
        files.film(run, &decision);
        let true_risk = run.true_risk();
        // The world answers, the transition goes into the replay, the frame onto the stack.
        let step = match run.step(decision.action, &mut timer) {
            Ok(step) => step,
            Err(fault) => return Err(files.interrupt(run, fault)),
        };
        run.clock.tick(step.frames);
        run.statistics.acted(Interaction::new(&step, &decision, true_risk));
        if step.ending.ends_episode() {
            run.clock.episodes += 1;
            let (bad, epsilon) =
                (run.rollout.world.ground_truth().and_then(|truth| truth.bad_episode()), run.epsilon());
            let episode = run.statistics.finish_episode(&run.clock, step.ending, bad, epsilon);
            files.emit(Event::EpisodeFinished(episode), observer)?;
            if let Err(fault) = timer.time(Phase::Emulator, || run.begin_episode()) {
                return Err(files.interrupt(run, fault));
            }
        }
        if let Some(mut warm) = run.replay.warmed_up(training.learning_starts) {
            if run.clock.is_due(training.train_period) {
                timer.time(Phase::Replay, || warm.sample(&mut run.rng.replay, &mut run.batch));
                match timer.time(Phase::TrainStep, || run.learner.learn(&run.batch, &mut run.rng.noise)) {
                    Ok(stats) => run.statistics.learned(&stats),
                    Err(error) => return Err(files.diverge(run, error)),
                }
                run.clock.train_steps += 1;
            }
            if run.clock.is_due(training.target_period) {
                let learn_steps = training.target_period.0 / training.train_period.0;
                run.learner.refit(&mut warm, &mut run.batch, &mut run.rng.replay, learn_steps);
                run.learner.sync_target();
            }
        }
        if run.clock.is_due(config.record.histogram_interval) {
            files.histograms(run)?;
        }
        if run.clock.is_due(config.record.interval) {
            finish_interval(run, files, observer, timer.lap(), &mut interval_start)?;
        }
        if run.clock.is_due(training.evaluate_every) {
            timer.time(Phase::Evaluation, || files.evaluate(run, observer, stop))?;
        }
        let stopped = stop.load(Ordering::Relaxed);
        if stopped || run.clock.is_due(config.record.checkpoint_interval) {
            timer.time(Phase::Checkpoint, || files.checkpoint(run))?;
        }
        if stopped {
            return files.close(run, StopReason::Asked);
        }
        observer.tick(&mut || Progress::of(run));
    }
    files.finish(run, observer)
}

/// Means of the interval to the events, its speed to the timings.
fn finish_interval(
    run: &mut Run,
    files: &mut RunFiles,
    observer: &mut dyn Observer,
    lap: Lap,
    start: &mut AgentSteps,
) -> Result<(), LabError> {
    let now = run.clock.steps();
    let epsilon = run.epsilon();
    let interval = run.statistics.finish_interval(&run.clock, run.replay.len() as u64, epsilon);
    files.emit(Event::IntervalFinished(interval), observer)?;
    files.speed(now, (now.0 - start.0) as f64 / lap.training_seconds(), &lap)?;
    observer.lap(&lap);
    *start = now;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::{OpenRun, Start, open_run};
    use crate::preset::Preset;
    use crate::world::WorldSource;

    #[test]
    fn every_interaction_is_stored_and_learning_and_the_copy_of_the_target_happen_exactly_when_they_are_due() {
        const STARTS: u64 = 10;
        const TRAIN_PERIOD: u64 = 3;
        const TARGET_PERIOD: u64 = 7;
        let folder = tempfile::tempdir().unwrap();
        let mut config = Preset::RiskyRoad.config("risky-road", "sane").unwrap();
        config.learner.network.hidden = vec![8];
        config.replay.capacity = 100;
        config.training.batch_size = 4;
        config.training.evaluate_every = AgentSteps(0);
        config.training.learning_starts = AgentSteps(STARTS);
        config.training.train_period = AgentSteps(TRAIN_PERIOD);
        config.training.target_period = AgentSteps(TARGET_PERIOD);
        config.training.total_interactions = AgentSteps(50);
        let source = WorldSource::open(&config.world, None, &mut |_| ()).unwrap();
        let OpenRun { mut run, mut files, .. } = open_run(folder.path(), &config, &source, Start::Resume).unwrap();
        files.begin(&run, &mut ()).unwrap();
        // A set stop ends the loop after one interaction.
        let one_interaction = AtomicBool::new(true);
        let mut learn_steps = 0;
        for n in 1..=40 {
            let (online, target) = (run.learner.export(), run.learner.export_target());
            train(&mut run, &mut files, &mut (), &one_interaction).unwrap();
            assert_eq!((run.clock.steps().0, run.replay.pushed().0), (n, n));
            let has_begun = STARTS <= n;
            let learns = has_begun && n % TRAIN_PERIOD == 0;
            learn_steps += u64::from(learns);
            assert_eq!(
                (run.learner.learn_steps(), run.clock.train_steps),
                (learn_steps, learn_steps),
                "interaction {n}"
            );
            assert_eq!(run.learner.export() != online, learns, "interaction {n}");
            if has_begun && n % TARGET_PERIOD == 0 {
                assert!(run.learner.export_target() == run.learner.export(), "interaction {n}");
                assert!(run.learner.export_target() != target, "interaction {n}: something was learned before");
            } else {
                assert!(run.learner.export_target() == target, "interaction {n}");
            }
        }
        assert_eq!(learn_steps, 10);
    }
}
