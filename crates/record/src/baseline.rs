//! Human and random scores of the paper's games, and the human-normalised score that follows from them.

use std::sync::LazyLock;

/// What a human tester and uniformly random actions score in a game.
#[derive(Debug, Clone, PartialEq)]
pub struct Baseline {
    pub game: &'static str,
    pub human: f64,
    pub random: f64,
    /// Whether the game is in the paper's suite of 8.
    pub in_8_game_suite: bool,
}

/// The paper's eleven games in the order of its tables: its suite of 8, then the other three.
pub static PAPER_GAMES: LazyLock<Vec<Baseline>> = LazyLock::new(|| {
    let rows = include_str!("../data/baseline_scores.csv").lines().filter(|line| !line.starts_with('#')).skip(1);
    rows.map(|row| {
        let cells: Vec<&str> = row.split(',').collect();
        let number = |i: usize| cells[i].parse().expect("the table holds numbers");
        Baseline { game: cells[0], human: number(1), random: number(2), in_8_game_suite: cells[3] == "1" }
    })
    .collect()
});

impl Baseline {
    /// The scores of a game, where the paper prints them.
    pub fn of(game: &str) -> Option<&'static Self> {
        PAPER_GAMES.iter().find(|baseline| baseline.game == game)
    }

    /// Position of a score between random play (0) and a human (1).
    ///
    /// ```text
    /// (agent − random) / (human − random)                                      [SANE:human-normalised-score]
    /// ```
    pub fn human_normalised(&self, score: f64) -> f64 {
        (score - self.random) / (self.human - self.random)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_human_scores_one_and_random_play_zero() {
        let boxing = Baseline::of("boxing").unwrap();
        assert_eq!((boxing.human_normalised(12.1), boxing.human_normalised(0.1)), (1.0, 0.0));
        assert_eq!((Baseline::of("pong"), Baseline::of("minatar/breakout")), (None, None));
    }

    #[test]
    fn the_games_stand_in_the_order_of_the_paper_s_tables_the_suite_of_eight_first() {
        let games: Vec<&str> = PAPER_GAMES.iter().map(|baseline| baseline.game).collect();
        assert_eq!((games.len(), games[0], games[7], games[10]), (11, "asterix", "seaquest", "bowling"));
        assert!(PAPER_GAMES.iter().enumerate().all(|(i, baseline)| baseline.in_8_game_suite == (i < 8)));
    }
}
