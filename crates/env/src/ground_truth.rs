//! What only a constructed world can tell: the true risk of its states and whether an episode went wrong. Measurements
//! compare an agent with it; an agent never sees it.

/// Knowledge of a world about itself, handed out by [`Environment::ground_truth`](crate::Environment::ground_truth).
pub trait GroundTruth {
    /// The probability that a uniformly random action in the current state leads to a harm that the best play would
    /// have avoided.
    fn true_risk(&self) -> Option<f64> {
        None
    }

    /// Whether the episode so far is a bad one by the world's own criterion (deep sea: the treasure can no longer be
    /// reached; risky road: a crash). Final after the last step of the episode.
    fn bad_episode(&self) -> Option<bool> {
        None
    }
}
