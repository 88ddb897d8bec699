//! Watching a learn step from outside: the learner says which part it has just finished, the watcher may look at a clock.
//! This crate has none.

/// Parts of a learn step, in their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// Random numbers were drawn.
    Noise,
    /// h(s') of the target network (and of the online network, with double-Q).
    TargetTorso,
    /// Q(s', ·) and the targets.
    TargetHead,
    /// h(s) of the online network.
    OnlineTorso,
    /// Q(s, ·) and σ(s).
    OnlineHead,
    /// Derivatives of the dense layers and the module, and their update.
    HeadBackward,
    /// Derivatives of the convolutions.
    TorsoBackward,
    /// What is left of the update, and the statistics.
    Update,
}

impl Phase {
    /// All of them, in order.
    pub const ALL: [Self; 8] = [
        Self::Noise,
        Self::TargetTorso,
        Self::TargetHead,
        Self::OnlineTorso,
        Self::OnlineHead,
        Self::HeadBackward,
        Self::TorsoBackward,
        Self::Update,
    ];

    /// A name for a table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Noise => "noise",
            Self::TargetTorso => "target-torso",
            Self::TargetHead => "target-head",
            Self::OnlineTorso => "online-torso",
            Self::OnlineHead => "online-head",
            Self::HeadBackward => "head-backward",
            Self::TorsoBackward => "torso-backward",
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
