//! bsuite's criterion for a solved deep sea: marks of episodes in, the episode at which it was solved out.

use super::DeepSeaVariant;
use serde::{Deserialize, Serialize};

/// bsuite's mark of a finished episode. Bad is one in which the player, still on the diagonal, turned left.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum EpisodeMark {
    /// The treasure was in reach until the end, as far as it was up to the player.
    Good,
    /// It was given away.
    Bad,
}

/// Counts episodes until the sea is solved: at the first logged episode where the share of bad ones so far is small
/// enough. Plain data, so that it can be kept in a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SolvedCriterion {
    variant: DeepSeaVariant,
    episodes: u64,
    bad: u64,
    solved_at: Option<u64>,
}

impl SolvedCriterion {
    /// Nothing seen yet.
    pub fn new(variant: DeepSeaVariant) -> Self {
        Self { variant, episodes: 0, bad: 0, solved_at: None }
    }

    /// Takes the mark of the next finished episode (see `GroundTruth::bad_episode`); the episode at which the sea was
    /// solved, if it is by now.
    pub fn record(&mut self, mark: EpisodeMark) -> Option<u64> {
        self.episodes += 1;
        self.bad += u64::from(mark == EpisodeMark::Bad);
        if self.solved_at.is_none() && is_log_point(self.episodes) && self.holds_now() {
            self.solved_at = Some(self.episodes);
        }
        self.solved_at
    }

    /// The same from an episode's return. Only the deterministic sea can be read off it: every episode but a perfect
    /// one is bad, and only a perfect one earns the treasure.
    pub fn record_return(&mut self, total_reward: f64) -> Option<u64> {
        assert_eq!(self.variant, DeepSeaVariant::Deterministic, "returns of the stochastic sea do not tell");
        self.record(if 0.5 < total_reward { EpisodeMark::Good } else { EpisodeMark::Bad })
    }

    /// The episode at which the sea was solved.
    pub fn solved_at(&self) -> Option<u64> {
        self.solved_at
    }

    /// Episodes recorded.
    pub fn episodes(&self) -> u64 {
        self.episodes
    }

    /// Whether the sea of this size counts in bsuite's [`score`]: it must be solved sooner than a player without memory
    /// would find the treasure.
    pub fn counts(&self, size: usize) -> bool {
        let deadline = 2_f64.powi(size as i32) + 100.0;
        self.solved_at.is_some_and(|episode| (episode as f64) < deadline)
    }

    fn holds_now(&self) -> bool {
        // Shares below 9/10 and 8/10, in whole numbers.
        let (first_episode, bad_tenths) = match self.variant {
            DeepSeaVariant::Deterministic => (1, 9),
            DeepSeaVariant::Stochastic => (100, 8),
        };
        first_episode <= self.episodes && 10 * self.bad < bad_tenths * self.episodes
    }
}

/// Whether bsuite writes a line after this episode: ten to some power times 1, 1.2, 1.4, 1.7, 2, 2.5, 3, 4, … 10.
pub fn is_log_point(episode: u64) -> bool {
    const TENTHS: [u64; 14] = [10, 12, 14, 17, 20, 25, 30, 40, 50, 60, 70, 80, 90, 100];
    let mut power = 1_u64;
    while power <= episode {
        if TENTHS.iter().any(|tenths| 10 * episode == tenths * power) {
            return true;
        }
        power *= 10;
    }
    false
}

/// bsuite's score: the share of sizes solved in time.
pub fn score<'a>(seas: impl IntoIterator<Item = (usize, &'a SolvedCriterion)>) -> f64 {
    let (mut all, mut solved) = (0_u32, 0_u32);
    for (size, criterion) in seas {
        all += 1;
        solved += u32::from(criterion.counts(size));
    }
    f64::from(solved) / f64::from(all.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn solved_after(variant: DeepSeaVariant, bad_first: u64, episodes: u64) -> Option<u64> {
        let mut criterion = SolvedCriterion::new(variant);
        for i in 0..episodes {
            criterion.record(if i < bad_first { EpisodeMark::Bad } else { EpisodeMark::Good });
        }
        criterion.solved_at()
    }

    #[test]
    fn log_points_are_those_of_bsuite() {
        let points: Vec<u64> = (1..=100).filter(|&episode| is_log_point(episode)).collect();
        let expected = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 17, 20, 25, 30, 40, 50, 60, 70, 80, 90, 100];
        assert_eq!(points, expected);
        assert!(is_log_point(1700) && is_log_point(10_000) && !is_log_point(1300) && !is_log_point(110));
    }

    #[test]
    fn solved_is_the_first_logged_episode_with_few_enough_bad_ones() {
        // 1000 bad ones are 90 % of 1111 episodes; 1200 is the first log point after that.
        assert_eq!(solved_after(DeepSeaVariant::Deterministic, 1000, 2000), Some(1200));
        // Exactly 90 % is not enough: 9 of 10.
        assert_eq!(solved_after(DeepSeaVariant::Deterministic, 9, 100), Some(12));
        assert_eq!(solved_after(DeepSeaVariant::Deterministic, 2000, 2000), None);
    }

    #[test]
    fn the_stochastic_sea_is_judged_from_episode_100_on_and_harder() {
        assert_eq!(solved_after(DeepSeaVariant::Stochastic, 0, 99), None);
        assert_eq!(solved_after(DeepSeaVariant::Stochastic, 0, 100), Some(100));
        // 1000 bad ones are 80 % of 1250 episodes; 1400 is the next log point.
        assert_eq!(solved_after(DeepSeaVariant::Stochastic, 1000, 3000), Some(1400));
    }

    #[test]
    fn a_small_sea_solved_late_does_not_count() {
        let mut criterion = SolvedCriterion::new(DeepSeaVariant::Deterministic);
        for i in 0..1200 {
            criterion.record_return(if i < 1000 { 0.0 } else { 0.99 });
        }
        assert_eq!(criterion.solved_at(), Some(1200));
        assert!(criterion.counts(11) && !criterion.counts(10));
        assert_eq!(score([(10, &criterion), (20, &criterion)]), 0.5);
    }
}
