//! One number for an agent's normalised scores on many games.

use crate::{mean, median};

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

/// A statistic of all scores of an agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Aggregate {
    /// Mean of the middle half of all scores.
    InterquartileMean,
    /// Median over games of the games' means.
    Median,
    /// Mean over games of the games' means: the paper's figure.
    Mean,
    /// How far the scores stay below 1 on average, those above 1 counting as 1.
    OptimalityGap,
}

impl Aggregate {
    /// All of them, the most robust first.
    pub const ALL: [Self; 4] = [Self::InterquartileMean, Self::Median, Self::Mean, Self::OptimalityGap];

    /// As tables and axes print it.
    pub fn name(self) -> &'static str {
        match self {
            Self::InterquartileMean => "interquartile mean",
            Self::Median => "median",
            Self::Mean => "mean",
            Self::OptimalityGap => "optimality gap",
        }
    }

    /// The statistic of `scores`, which must not be empty.
    ///
    /// ```text
    /// iqm = mean of all scores without the ⌊n/4⌋ lowest and the ⌊n/4⌋ highest
    /// median = median_g mean_s x[g,s]      mean = mean_g mean_s x[g,s]      gap = 1 − mean min(x[g,s], 1)
    /// ```
    pub fn of(self, scores: &Scores) -> f64 {
        assert!(!scores.is_empty(), "of: {} of no scores", self.name());
        let game_means = || scores.0.iter().map(|seeds| mean(seeds)).collect::<Vec<f64>>();
        match self {
            Self::InterquartileMean => interquartile_mean(&scores.0.concat()),
            Self::Median => median(&game_means()),
            Self::Mean => mean(&game_means()),
            Self::OptimalityGap => {
                1.0 - mean(&scores.0.iter().flatten().map(|score| score.min(1.0)).collect::<Vec<f64>>())
            }
        }
    }
}

/// Mean of the values without the ⌊n/4⌋ lowest and highest.
pub fn interquartile_mean(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let cut = sorted.len() / 4;
    mean(&sorted[cut..sorted.len() - cut])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(scores: &[&[f64]], expected: [f64; 4]) {
        let scores = Scores(scores.iter().map(|seeds| seeds.to_vec()).collect());
        for (aggregate, expected) in Aggregate::ALL.into_iter().zip(expected) {
            let found = aggregate.of(&scores);
            assert!((found - expected).abs() < 1e-12, "{aggregate:?}: {found}, not {expected}");
        }
    }

    #[test]
    fn two_games_with_four_seeds_by_hand() {
        // Sorted 0 0.1 0.2 0.3 | 0.5 1 2 9: without two at each end 0.2 0.3 0.5 1. Game means 0.15 and 3.125.
        check(&[&[0.0, 0.1, 0.2, 0.3], &[0.5, 1.0, 2.0, 9.0]], [0.5, 1.6375, 1.6375, 1.0 - 4.1 / 8.0]);
    }

    #[test]
    fn three_games_with_one_seed_by_hand() {
        // Fewer than four scores: nothing is cut away.
        check(&[&[3.0], &[0.0], &[0.6]], [1.2, 0.6, 1.2, 1.0 - 1.6 / 3.0]);
    }

    #[test]
    fn one_outlier_game_moves_the_mean_and_not_the_interquartile_mean() {
        let scores =
            |outlier: f64| Scores(vec![vec![0.2, 0.3], vec![0.4, 0.5], vec![0.6, 0.7], vec![outlier, outlier]]);
        let moved = |aggregate: Aggregate| aggregate.of(&scores(100.0)) - aggregate.of(&scores(1.0));
        assert_eq!((moved(Aggregate::InterquartileMean), moved(Aggregate::Mean)), (0.0, 99.0 / 4.0));
    }
}
