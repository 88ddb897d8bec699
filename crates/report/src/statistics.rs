//! What the scores of some seeds on some games say: point estimates, stratified bootstrap intervals, performance
//! profiles, probability of improvement. Definitions after Agarwal et al. 2021, "Deep Reinforcement Learning at the
//! Edge of the Statistical Precipice"; checked against the authors' package `rliable`. Pure: numbers in, numbers out,
//! always the same.

mod aggregate;
mod bootstrap;
mod clustered;
mod improvement;
mod profile;
mod rank;
mod spread;

pub use aggregate::{Aggregate, interquartile_mean};
pub use bootstrap::{Estimate, LEVEL, RESAMPLINGS, bootstrap, resampled};
pub use clustered::{Null, clustered_bootstrap, shuffled};
pub use improvement::{improvement, least_p_value, probability_of_improvement};
pub use profile::{Profile, profile};
pub use rank::{auc, ranks, spearman};
pub use spread::{mean, median, quantile, sample_std};

/// Scores of one agent: for each game, one score per seed. Games may have different numbers of seeds.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Scores(pub Vec<Vec<f64>>);

impl Scores {
    /// Whether there is nothing to compute with: no game, or a game without a seed.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty() || self.0.iter().any(Vec::is_empty)
    }

    /// Seeds of the game that has fewest.
    pub fn fewest_seeds(&self) -> usize {
        self.0.iter().map(Vec::len).min().unwrap_or(0)
    }

    /// Seeds of the game that has most.
    pub fn most_seeds(&self) -> usize {
        self.0.iter().map(Vec::len).max().unwrap_or(0)
    }
}
