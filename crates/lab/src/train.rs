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
