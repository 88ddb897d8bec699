//! Memory, disk and time of a run before it is run, estimated from a short measurement on this machine.

use crate::LabError;
use crate::bench::play_randomly;
use crate::config::RunConfig;
use crate::run::Run;
use crate::world::WorldSource;
use sane_env::{AgentSteps, Stream};
use sane_replay::Replay;
use sane_stats::number_format::{duration, grouped};
use std::fmt;
use std::time::{Duration, Instant};

/// How long each part is measured.
const MEASURED: Duration = Duration::from_millis(800);

/// Interactions of random play from which the memory of a full replay is estimated.
const PLAYED: u64 = 500;

/// Frames of a trained player compress less than those of a random one; a quarter more covers the games measured.
const RESERVE: f64 = 1.25;

/// Code, thread stacks and file buffers of the program.
const PROGRAM_BYTES: u64 = 64 << 20;

/// Memory, disk and time of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// Length of the run.
    pub total: AgentSteps,
    /// Expected speed.
    pub interactions_per_second: f64,
    /// Speed of acting without learning, as in an evaluation.
    pub acting_per_second: f64,
    /// A full replay, extrapolated from the frames of the measurement.
    pub replay_bytes: u64,
    /// A full replay of incompressible frames.
    pub replay_bytes_at_most: u64,
    /// Parameters, target network, optimiser.
    pub learner_bytes: u64,
    /// Checkpoints and records at the end of the run.
    pub disk_bytes: u64,
    /// Interactions played for the measurement.
    pub measured: AgentSteps,
}

impl Plan {
    /// Acts and learns for about two seconds, in memory only.
    pub fn measure(config: &RunConfig, source: &WorldSource) -> Result<Self, LabError> {
        let mut run = Run::new(config, source)?;
        let (seconds_to_act, measured) = timed(|| act(&mut run))?;
        let (seconds_to_learn, _) = timed(|| learn(&mut run))?;
        let period = config.training.train_period.0 as f64;
        let per_transition = run.replay.memory_bytes() as f64 / run.replay.len() as f64;
        let kept = (config.replay.capacity as u64).min(config.training.total_interactions.0);
        let worst = Replay::max_memory_bytes(kept as usize, run.spec());
        let replay_bytes = ((per_transition * kept as f64) as u64).min(worst);
        let state_bytes: u64 = run.sections().0.iter().map(|(_, bytes)| bytes.len() as u64).sum();
        let records = 500 * config.training.total_interactions.0 / config.record.interval.0;
        Ok(Self {
            total: config.training.total_interactions,
            interactions_per_second: 1.0 / (seconds_to_act + seconds_to_learn / period),
            acting_per_second: 1.0 / seconds_to_act,
            replay_bytes,
            replay_bytes_at_most: worst,
            learner_bytes: state_bytes,
            // Segments once, the rest for each of the two checkpoints that are kept, and for the best one.
            disk_bytes: replay_bytes + (2 + u64::from(0 < config.training.evaluate_every.0)) * state_bytes + records,
            measured: AgentSteps(measured),
        })
    }

    /// Expected length of the run.
    pub fn seconds(&self) -> f64 {
        self.total.0 as f64 / self.interactions_per_second
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let gigabytes = |bytes: u64| bytes as f64 / 1e9;
        writeln!(f, "measured      {} interactions of play, then train steps", self.measured.0)?;
        writeln!(
            f,
            "time          {} for {} interactions at {:.0} per second",
            duration(self.seconds()),
            grouped(self.total.0),
            self.interactions_per_second
        )?;
        writeln!(
            f,
            "memory        {:.2} GB replay (at most {:.2} GB if no frame compressed) + {:.2} GB learner",
            gigabytes(self.replay_bytes),
            gigabytes(self.replay_bytes_at_most),
            gigabytes(self.learner_bytes)
        )?;
        write!(f, "disk          {:.2} GB at the end of the run", gigabytes(self.disk_bytes))
    }
}

/// Resident bytes of a run with this configuration at its end, estimated from a short random play.
pub fn memory_need(config: &RunConfig, source: &WorldSource) -> Result<u64, LabError> {
    let mut run = Run::new(config, source)?;
    play_randomly(&mut run, PLAYED, &mut Stream::named(0, "memory need"), &mut || ())?;
    let kept = (config.replay.capacity as u64).min(config.training.total_interactions.0);
    let most = Replay::max_memory_bytes(kept as usize, run.spec());
    let per_transition = run.replay.memory_bytes() as f64 / run.replay.len() as f64;
    let replay = ((RESERVE * per_transition * kept as f64) as u64).min(most);
    let learner: u64 = run.sections().0.iter().map(|(_, bytes)| bytes.len() as u64).sum();
    // Twice the learner: gradients and buffers of a train step, or a checkpoint being written.
    Ok(replay + 2 * learner + PROGRAM_BYTES)
}

/// Mean seconds of `work` over repeated calls, and their number; the first call does not count.
fn timed(mut work: impl FnMut() -> Result<(), LabError>) -> Result<(f64, u64), LabError> {
    work()?;
    let (start, mut count) = (Instant::now(), 0);
    while count == 0 || start.elapsed() < MEASURED {
        work()?;
        count += 1;
    }
    Ok((start.elapsed().as_secs_f64() / count as f64, count))
}

fn act(run: &mut Run) -> Result<(), LabError> {
    let action = run.act().action;
    Ok(run.step_unrecorded(action)?)
}

fn learn(run: &mut Run) -> Result<(), LabError> {
    if let Some(mut warm) = run.replay.warmed_up(AgentSteps(1)) {
        warm.sample(&mut run.rng.replay, &mut run.batch);
        // An error here would be one of the run itself, and is reported there.
        let _ = run.learner.learn(&run.batch, &mut run.rng.noise);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preset::Preset;

    #[test]
    fn a_plan_names_memory_disk_and_time() {
        let config = Preset::Minatar.config("minatar/breakout", "sane").unwrap();
        let plan = Plan::measure(&config, &crate::world::tests::source("minatar/breakout").unwrap()).unwrap();
        assert!(
            0.0 < plan.seconds()
                && plan.replay_bytes <= plan.replay_bytes_at_most
                && plan.learner_bytes < plan.disk_bytes
        );
        let text = plan.to_string();
        assert!(["time", "memory", "disk"].iter().all(|word| text.contains(word)), "{text}");
    }

    #[test]
    fn a_larger_replay_needs_more_memory_but_not_more_than_the_run_fills() {
        let source = crate::world::tests::source("minatar/breakout").unwrap();
        let need = |capacity: usize, total: u64| {
            let mut config = Preset::Minatar.config("minatar/breakout", "sane").unwrap();
            config.replay.capacity = capacity;
            config.training.total_interactions.0 = total;
            memory_need(&config, &source).unwrap()
        };
        assert!(need(10_000, 1_000_000) < need(100_000, 1_000_000));
        assert_eq!(need(50_000, 20_000), need(100_000, 20_000));
    }
}
