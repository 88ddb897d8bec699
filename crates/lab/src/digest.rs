//! The digest of a run's whole state: what two runs have in common if, and only if, they are in the same state.

use crate::run::Run;
use sane_env::AgentSteps;
use std::fmt;

/// Digests of the parts of a run, and of them all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Digest {
    /// Where the run stands.
    pub interactions: AgentSteps,
    /// Name of the part → its digest, in a fixed order.
    pub parts: Vec<(String, blake3::Hash)>,
    /// Over all parts.
    pub all: blake3::Hash,
}

impl Digest {
    /// Of this run: parameters, optimiser and target network (`learner`), `replay`, random streams, world, frame stack,
    /// clock and running statistics.
    pub fn of(run: &Run) -> Self {
        let mut parts: Vec<(String, blake3::Hash)> =
            run.parts().0.into_iter().map(|(name, bytes)| (name, blake3::hash(&bytes))).collect();
        parts.push(("replay".to_owned(), run.replay.digest()));
        let mut all = blake3::Hasher::new();
        for (name, hash) in &parts {
            all.update(name.as_bytes());
            all.update(hash.as_bytes());
        }
        Self { interactions: run.clock.steps(), parts, all: all.finalize() }
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.all.to_hex())
    }
}
