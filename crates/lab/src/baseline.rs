//! Human and random scores, and the human-normalised score that follows from them.

/// What people and random play score in a game.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Baseline {
    /// A human tester.
    pub human: f64,
    /// Uniformly random actions.
    pub random: f64,
    /// Whether the game is in the paper's suite of 8.
    pub in_8_game_suite: bool,
}

impl Baseline {
    /// The scores of a game, where the paper prints them.
    pub fn of(game: &str) -> Option<Self> {
        let row = include_str!("../data/baseline_scores.csv")
            .lines()
            .find_map(|line| line.strip_prefix(&format!("{game},")))?;
        let mut cells = row.split(',');
        let mut next = || cells.next().expect("the table has three numbers per game");
        let number = |cell: &str| cell.parse().expect("the table holds numbers");
        Some(Self { human: number(next()), random: number(next()), in_8_game_suite: next() == "1" })
    }

    /// ```text
    /// (agent − random) / (human − random)
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
    }

    #[test]
    fn the_table_has_the_eleven_games_of_the_paper_eight_of_them_in_the_suite() {
        let games = include_str!("../data/baseline_scores.csv").lines().filter(|line| !line.starts_with(['#', 'g']));
        let rows: Vec<Baseline> = games.map(|line| Baseline::of(line.split(',').next().unwrap()).unwrap()).collect();
        assert_eq!((rows.len(), rows.iter().filter(|row| row.in_8_game_suite).count()), (11, 8));
        assert_eq!(Baseline::of("pong"), None);
    }
}
