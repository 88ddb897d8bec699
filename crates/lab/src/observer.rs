//! Who watches a run: a terminal, a script, a test. Watching changes nothing.

use crate::run::Run;
use crate::timer::Lap;
use sane_record::Event;

/// Somebody who is told what happens.
pub trait Observer: Send {
    /// An event was recorded.
    fn event(&mut self, _event: &Event) {}

    /// An interval is over; so long it took.
    fn lap(&mut self, _lap: &Lap) {}

    /// An interaction is over. `progress` says how things stand; it costs little, but is not free, so it is a function.
    fn tick(&mut self, _progress: &mut dyn FnMut() -> Progress) {}
}

/// Nobody watches.
impl Observer for () {}

/// How a run stands.
#[derive(Debug, Clone, PartialEq)]
pub struct Progress {
    /// Interactions so far.
    pub interactions: u64,
    /// Interactions in all.
    pub total_interactions: u64,
    /// Whole episodes.
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
    /// Of this run.
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
