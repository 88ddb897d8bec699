//! Statistics of small samples, and how numbers are printed.
//!
//! Knows numbers, not where they come from: no run, no agent, no file. Everything is deterministic; the same numbers give
//! the same bits.
//!
//! - [`mean`], [`sample_std`], [`median`], [`quantile`], [`percentile_interval`]: one list of numbers
//! - [`Scores`], [`Aggregate`], [`bootstrap()`], [`profile()`], [`improvement()`]: scores of seeds on games, after Agarwal et al.
//!   2021, "Deep Reinforcement Learning at the Edge of the Statistical Precipice"; tested against the authors' package
//!   `rliable`
//! - [`iqm_difference()`]: two agents after few seeds, for decisions that are taken more than once
//! - [`ranks`], [`spearman`], [`auc`], [`clustered_bootstrap`], [`shuffled`]: whether two lists rise together, with
//!   intervals for samples that are correlated in time
//! - [`linear_fit`], [`explained`]: a line through points, and how much it or a prediction explains
//! - [`normal_cdf`]: the normal distribution
//! - [`number_format`]: numbers as tables and axes show them
//!
//! ```
//! use sane_stats::{Aggregate, Scores, bootstrap, number_format};
//!
//! // Two games with three seeds each.
//! let scores = Scores(vec![vec![0.2, 0.4, 0.3], vec![1.1, 1.6, 1.2]]);
//! let estimate = bootstrap(&[&scores], |drawn| Aggregate::Mean.of(&drawn[0]));
//! assert_eq!(number_format::hundredths(estimate.point), "0.80");
//! let [low, high] = estimate.interval.unwrap();
//! assert!(low < estimate.point && estimate.point < high);
//! assert_eq!(number_format::grouped(1_687_206), "1,687,206");
//! ```
#![forbid(unsafe_code)]

mod aggregate;
mod bootstrap;
mod fit;
mod improvement;
mod iqm_difference;
mod normal;
pub mod number_format;
mod profile;
mod rank;
mod summary;

pub use aggregate::{Aggregate, Scores, interquartile_mean};
pub use bootstrap::{
    Estimate, LEVEL, Null, RESAMPLINGS, bootstrap, clustered_bootstrap, resampled, resampled_means, shuffled,
};
pub use fit::{LinearFit, explained, linear_fit};
pub use improvement::{improvement, least_p_value, probability_of_improvement};
pub use iqm_difference::{IqmDifference, iqm_difference};
pub use normal::normal_cdf;
pub use profile::{Profile, profile};
pub use rank::{auc, ranks, spearman};
pub use summary::{mean, median, percentile_interval, quantile, sample_std};
