//! The digest of a run's whole state: equal for two runs if, and only if, their states are equal.

use crate::run::Run;
use sane_env::AgentSteps;
use std::fmt;

/// Digests of the sections of a run's state, and of all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Digest {
    pub interactions: AgentSteps,
    /// Name of the section and its digest, in a fixed order.
    pub sections: Vec<(String, blake3::Hash)>,
    /// Over all sections.
    pub all: blake3::Hash,
}

impl Digest {
    /// Of this run: parameters, optimiser and target network (`learner`), `replay`, random streams, world, frame stack,
    /// clock and running statistics.
    pub fn of(run: &Run) -> Self {
        let mut sections: Vec<(String, blake3::Hash)> =
            run.sections().0.into_iter().map(|(name, bytes)| (name, blake3::hash(&bytes))).collect();
        sections.push(("replay".to_owned(), run.replay.digest()));
        let mut all = blake3::Hasher::new();
        for (name, hash) in &sections {
            all.update(name.as_bytes());
            all.update(hash.as_bytes());
        }
        Self { interactions: run.clock.steps(), sections, all: all.finalize() }
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.all.to_hex())
    }
}
