//! Training speed with a full replay, and the share of each phase.

use crate::LabError;
use crate::clock::Clock;
use crate::config::RunConfig;
use crate::folder::{OpenRun, Start, open_run};
use crate::observer::Observer;
use crate::preset::Preset;
use crate::run::Run;
use crate::timer::Lap;
use crate::train::train;
use crate::world::WorldSource;
use sane_agent::Learner;
use sane_env::{Action, AgentSteps, Stream, WorldFault};
use sane_record::Shares;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// Interactions on the clock when timing begins: after all schedules of the paper, ε is at its last value.
const LATE: AgentSteps = AgentSteps(2_000_000);

/// Training speed of one agent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TrainingSpeed {
    /// Interactions per second, checkpoints at their default interval included.
    pub interactions_per_second: f64,
    pub share: Shares,
    pub replay_bytes: u64,
}

/// A run with a replay filled by random play, to be timed with one agent after the other.
pub struct TrainingBench {
    open: OpenRun,
    checkpoint_seconds: f64,
}

impl TrainingBench {
    /// Fills the replay of a run with preset `paper`; `filled` is called after each transition. `folder` holds its checkpoints.
    pub fn new(folder: &Path, source: &WorldSource, fill: u64, filled: &mut dyn FnMut()) -> Result<Self, LabError> {
        let mut config = Preset::Paper.config(&source.config().name, "eps-greedy")?;
        // A film takes at most 0.4 % of the time, but at once: a short measurement would overestimate it.
        config.record.film_interval = 0;
        let mut open = open_run(folder, &config, source, Start::Fresh)?;
        open.run.clock = Clock::at(LATE);
        // The first checkpoint writes the whole replay, later ones the new part: one of those is timed.
        let interval = config.record.checkpoint_interval.0.min(fill / 2);
        let mut actions = Stream::named(config.seed, "bench");
        play_randomly(&mut open.run, fill - interval, &mut actions, filled)?;
        open.files.checkpoint(&open.run)?;
        play_randomly(&mut open.run, interval, &mut actions, filled)?;
        open.run.clock = Clock::at(AgentSteps(2 * LATE.0));
        let start = Instant::now();
        open.files.checkpoint(&open.run)?;
        Ok(Self { open, checkpoint_seconds: start.elapsed().as_secs_f64() })
    }

    /// Trains 2 × `interactions` with this agent in the loop of `sane train`; the speed is that of the second half.
    pub fn measure(&mut self, agent: &str, interactions: u64) -> Result<TrainingSpeed, LabError> {
        let OpenRun { run, files, .. } = &mut self.open;
        let paper = Preset::Paper.config(&run.config.world.name, agent)?;
        let checkpoint_interval = paper.record.checkpoint_interval;
        // A multiple of `interactions`, so that the two halves are intervals.
        let start = interactions * (2 * LATE.0 + run.clock.steps().0).div_ceil(interactions);
        run.clock = Clock::at(AgentSteps(start));
        run.learner = Learner::new(&paper.learner, run.rollout.spec(), &mut run.rng.init)?;
        run.config = RunConfig { agent: agent.into(), learner: paper.learner, ..run.config.clone() };
        run.config.training.total_interactions = AgentSteps(start + 2 * interactions);
        // Learning starts at once, with a replay of any size.
        run.config.training.learning_starts = AgentSteps(1);
        run.config.record.interval = AgentSteps(interactions);
        run.config.training.evaluate_every = AgentSteps(0);
        run.config.record.checkpoint_interval = AgentSteps(u64::MAX);
        let mut laps = Laps::default();
        train(run, files, &mut laps, &AtomicBool::new(false))?;
        let lap = laps.0.expect("an interval ended");
        Ok(with_checkpoints(&lap, interactions, self.checkpoint_seconds, checkpoint_interval, run))
    }
}

/// Keeps the last lap of the timer.
#[derive(Default)]
struct Laps(Option<Lap>);

impl Observer for Laps {
    fn lap(&mut self, lap: &Lap) {
        self.0 = Some(*lap);
    }
}

/// Random play: `count` interactions, stored in the replay.
pub(crate) fn play_randomly(
    run: &mut Run,
    count: u64,
    actions: &mut Stream,
    played: &mut dyn FnMut(),
) -> Result<(), WorldFault> {
    let width = run.spec().actions.len() as u64;
    for _ in 0..count {
        run.step_unrecorded(Action(actions.below(width) as u16))?;
        played();
    }
    Ok(())
}

/// Adds the cost of checkpoints at their default interval to a lap without checkpoints.
fn with_checkpoints(lap: &Lap, interactions: u64, seconds: f64, interval: AgentSteps, run: &Run) -> TrainingSpeed {
    let checkpoint = seconds / interval.0 as f64;
    let loop_only = lap.seconds / interactions as f64;
    let scale = loop_only / (loop_only + checkpoint);
    let share = Shares {
        train_step: scale * lap.share.train_step,
        act: scale * lap.share.act,
        emulator: scale * lap.share.emulator,
        replay: scale * lap.share.replay,
        checkpoint: 1.0 - scale,
        evaluation: 0.0,
        rest: scale * lap.share.rest,
    };
    let replay_bytes = run.replay.memory_bytes() as u64;
    TrainingSpeed { interactions_per_second: 1.0 / (loop_only + checkpoint), share, replay_bytes }
}
