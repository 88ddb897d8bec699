//! When a run counts as solved, by bsuite's criterion: marks of episodes in, the episode at which it was solved out.

/// A run is solved at the first logged episode at which the share of bad episodes so far is small enough. Which episodes
/// are bad, the world says ([`GroundTruth::bad_episode`](sane_env::GroundTruth::bad_episode)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SolvedRule {
    /// Earlier episodes do not count as solved.
    pub first_episode: u64,
    /// The share of bad episodes must be below this many tenths. Whole numbers, so that the comparison is exact.
    pub bad_tenths: u64,
}

impl SolvedRule {
    /// The number of the episode at which the run was solved; `bad` holds the mark of every episode in order.
    pub fn solved_at(self, bad: impl IntoIterator<Item = bool>) -> Option<u64> {
        let (mut episode, mut bad_episodes) = (0, 0);
        bad.into_iter().find_map(|is_bad| {
            episode += 1;
            bad_episodes += u64::from(is_bad);
            let is_solved = self.first_episode <= episode && 10 * bad_episodes < self.bad_tenths * episode;
            (is_solved && is_logged(episode)).then_some(episode)
        })
    }
}

/// Whether bsuite logs this episode: 1, 1.2, 1.4, 1.7, 2, 2.5, 3, 4, … 10 times a power of ten.
fn is_logged(episode: u64) -> bool {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::deep_sea::{DETERMINISTIC, STOCHASTIC};

    fn check_solved_at(rule: Option<SolvedRule>, bad_first: u64, episodes: u64, expected: Option<u64>) {
        assert_eq!(rule.unwrap().solved_at((0..episodes).map(|i| i < bad_first)), expected);
    }

    #[test]
    fn logged_episodes_are_those_of_bsuite() {
        let logged: Vec<u64> = (1..=100).filter(|&episode| is_logged(episode)).collect();
        let expected = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 17, 20, 25, 30, 40, 50, 60, 70, 80, 90, 100];
        assert_eq!(logged, expected);
        assert!(is_logged(1700) && is_logged(10_000) && !is_logged(1300) && !is_logged(110));
    }

    #[test]
    fn solved_is_the_first_logged_episode_with_few_enough_bad_ones() {
        // 1000 bad ones are 90 % of 1111 episodes; 1200 is the first logged episode after that.
        check_solved_at(DETERMINISTIC.solved, 1000, 2000, Some(1200));
        // Exactly 90 % is not enough: 9 of 10.
        check_solved_at(DETERMINISTIC.solved, 9, 100, Some(12));
        check_solved_at(DETERMINISTIC.solved, 2000, 2000, None);
    }

    #[test]
    fn the_stochastic_sea_is_judged_from_episode_100_on_and_by_a_smaller_share() {
        check_solved_at(STOCHASTIC.solved, 0, 99, None);
        check_solved_at(STOCHASTIC.solved, 0, 100, Some(100));
        // 1000 bad ones are 80 % of 1250 episodes; 1400 is the next logged episode.
        check_solved_at(STOCHASTIC.solved, 1000, 3000, Some(1400));
    }
}
