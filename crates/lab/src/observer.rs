//! Observers of a run: a terminal, a script, a test. They cannot change it.

use crate::run::Run;
use crate::timer::Lap;
use sane_record::{EvaluatedWhileTraining, Event};
use std::time::Duration;

/// Callbacks of the training loop.
pub trait Observer: Send {
    /// An event was recorded.
    fn event(&mut self, _event: &Event) {}

    /// An interval ended; its length and the share of each phase.
    fn lap(&mut self, _lap: &Lap) {}

    /// The policy was evaluated while it is trained, which took this long.
    fn evaluated(&mut self, _evaluation: &EvaluatedWhileTraining, _spent: Duration) {}

    /// An interaction ended. `progress` is a function, since computing it is cheap but not free.
    fn tick(&mut self, _progress: &mut dyn FnMut() -> Progress) {}
}

/// Observes nothing.
impl Observer for () {}

/// Progress of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    pub interactions: u64,
    pub total_interactions: u64,
    /// Finished episodes.
    pub episodes: u64,
    /// Mean of the last 100 returns.
    pub mean_return: Option<f64>,
    /// ε, for agents that have one.
    pub epsilon: Option<f32>,
    /// Mean |σ| of this interval, for agents that have one.
    pub sigma: Option<f64>,
    /// Share of this interval's interactions in which exploration changed the action.
    pub explored_share: Option<f64>,
    /// Mean loss of this interval.
    pub loss: Option<f64>,
}

impl Progress {
    pub fn of(run: &Run) -> Self {
        Self {
            interactions: run.clock.steps().0,
            total_interactions: run.config.training.total_interactions.0,
            episodes: run.clock.episodes,
            mean_return: run.statistics.mean_return(),
            epsilon: run.epsilon(),
            sigma: run.statistics.mean_sigma(),
            explored_share: run.statistics.explored_share(),
            loss: run.statistics.mean_loss(),
        }
    }
}
