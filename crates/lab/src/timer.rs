//! Time spent in each phase of the loop. Its numbers enter the timings, never the events.

use sane_record::Shares;
use std::time::{Duration, Instant};

/// The parts of the loop that are timed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Forward, backward, optimiser.
    TrainStep,
    /// Choosing an action.
    Act,
    /// Steps and resets of the world.
    Emulator,
    /// Storing transitions and drawing batches.
    Replay,
    /// Writing a checkpoint.
    Checkpoint,
    /// Evaluating the policy while it is trained.
    Evaluation,
}

/// Number of phases.
const PHASES: usize = 6;

/// Times phases; `()` does the work without timing it.
pub trait PhaseTimer {
    /// Does `work` and adds its time to `phase`.
    fn time<T>(&mut self, phase: Phase, work: impl FnOnce() -> T) -> T;
}

/// Sums of the time of each phase since the last lap.
#[derive(Debug, Clone)]
pub struct Timer {
    since: Instant,
    spent: [Duration; PHASES],
}

/// One lap: its length, and the share of each phase.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Lap {
    pub seconds: f64,
    pub share: Shares,
}

impl Timer {
    pub fn start() -> Self {
        Self { since: Instant::now(), spent: [Duration::ZERO; PHASES] }
    }

    /// Ends the lap and begins the next.
    pub fn lap(&mut self) -> Lap {
        let lap = Lap::of(self.since.elapsed(), self.spent);
        *self = Self::start();
        lap
    }
}

impl PhaseTimer for Timer {
    fn time<T>(&mut self, phase: Phase, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = work();
        self.spent[phase as usize] += start.elapsed();
        result
    }
}

impl PhaseTimer for () {
    fn time<T>(&mut self, _phase: Phase, work: impl FnOnce() -> T) -> T {
        work()
    }
}

impl Lap {
    /// Its length without evaluations, in seconds: what training took.
    pub fn training_seconds(&self) -> f64 {
        self.seconds * (1.0 - self.share.evaluation)
    }

    fn of(length: Duration, spent: [Duration; PHASES]) -> Self {
        let seconds = length.as_secs_f64();
        let [train_step, act, emulator, replay, checkpoint, evaluation] =
            spent.map(|spent| if 0.0 < seconds { spent.as_secs_f64() / seconds } else { 0.0 });
        let rest = (1.0 - (train_step + act + emulator + replay + checkpoint + evaluation)).max(0.0);
        Self { seconds, share: Shares { train_step, act, emulator, replay, checkpoint, evaluation, rest } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_shares_of_a_lap_add_up_to_one() {
        let lap = Lap::of(Duration::from_secs(8), [2, 1, 1, 0, 0, 2].map(Duration::from_secs));
        let share = lap.share;
        assert_eq!([share.train_step, share.act, share.emulator, share.rest], [0.25, 0.125, 0.125, 0.25]);
        assert_eq!([share.replay, share.checkpoint, share.evaluation], [0.0, 0.0, 0.25]);
        assert_eq!(lap.training_seconds(), 6.0);
    }

    #[test]
    fn a_lap_has_the_time_of_its_own_work_and_the_next_begins_at_zero() {
        let (mut timer, work) = (Timer::start(), Duration::from_millis(2));
        for phase in [Phase::Act, Phase::TrainStep, Phase::Act] {
            timer.time(phase, || std::thread::sleep(work));
        }
        let (lap, next) = (timer.lap(), timer.lap());
        // A busy machine may lengthen each sleep, but never shortens one.
        assert!(2.0 * work.as_secs_f64() <= lap.share.act * lap.seconds, "{lap:?}");
        assert!(work.as_secs_f64() <= lap.share.train_step * lap.seconds, "{lap:?}");
        assert_eq!((next.share.act, next.share.train_step), (0.0, 0.0));
    }
}
