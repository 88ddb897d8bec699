//! Watching a learn step from outside: the learner says which part it has just finished, the watcher may look at a clock.
//! This crate has none.

/// Parts of a learn step, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// Noise, Q(s', ·) of the target network and Q(s, ·) of the online network, which are computed side by side.
    Forward,
    /// Derivatives of the dense layers and the module, down to h(s).
    HeadBackward,
    /// Derivatives of the convolutions and of all weights, the optimiser's step, the statistics.
    Update,
}

impl Phase {
    /// All of them, in order.
    pub const ALL: [Self; 3] = [Self::Forward, Self::HeadBackward, Self::Update];

    /// A name for a table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Forward => "forward",
            Self::HeadBackward => "head-backward",
            Self::Update => "update",
        }
    }
}

/// Somebody who watches.
pub trait Probe {
    /// This part has just ended.
    fn finished(&mut self, phase: Phase);
}

/// Nobody watches: costs nothing.
impl Probe for () {
    #[inline(always)]
    fn finished(&mut self, _phase: Phase) {}
}
