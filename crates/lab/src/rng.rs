//! The named random streams of a run; all of them are in the checkpoint.

use sane_env::Stream;
use serde::{Deserialize, Serialize};

/// Every random number of a training run comes from one of these.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RngStreams {
    /// Episode starts.
    pub env: Stream,
    /// Initial weights.
    pub init: Stream,
    /// Noise of the weights, and random actions.
    pub noise: Stream,
    /// Sampling of batches.
    pub replay: Stream,
}

impl RngStreams {
    /// The streams of the run with this seed.
    pub fn from_seed(seed: u64) -> Self {
        let named = |name| Stream::named(seed, name);
        Self { env: named("env"), init: named("init"), noise: named("noise"), replay: named("replay") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seeds_give_different_weights_and_the_same_seed_the_same() {
        let first = |seed| RngStreams::from_seed(seed).init.next_u64();
        assert_ne!(first(1), first(2));
        assert_eq!(first(1), first(1));
    }

    #[test]
    fn no_two_streams_of_a_seed_are_the_same() {
        let mut rng = RngStreams::from_seed(7);
        let mut draws = [rng.env.next_u64(), rng.init.next_u64(), rng.noise.next_u64(), rng.replay.next_u64()];
        draws.sort_unstable();
        assert!(draws.windows(2).all(|pair| pair[0] < pair[1]));
    }
}
