//! The paper's own figures, as data: its two tables, the human and random scores, the means it prints.

use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Whether the evaluated policy had its noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Noise {
    /// No noise, no exploration.
    Off,
    /// Noise injected.
    On,
}

impl Noise {
    /// As records spell it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::On => "on",
        }
    }
}

/// A score as the paper prints it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PaperScore {
    /// Mean over 3 seeds.
    pub mean: f64,
    /// Standard deviation over 3 seeds.
    pub std: f64,
}

/// What people and random play score in a game.
#[derive(Debug, Clone, PartialEq)]
pub struct Baseline {
    /// The game.
    pub game: &'static str,
    /// A human tester.
    pub human: f64,
    /// Uniformly random actions.
    pub random: f64,
    /// Whether the game is in the paper's suite of 8.
    pub in_8_game_suite: bool,
}

impl Baseline {
    /// The scores of a game, where the paper prints them.
    pub fn of(game: &str) -> Option<&'static Self> {
        PAPER_GAMES.iter().find(|baseline| baseline.game == game)
    }

    /// How far a score lies between random play (0) and a human (1).
    ///
    /// ```text
    /// (agent − random) / (human − random)                                      [SANE:human-normalised-score]
    /// ```
    pub fn human_normalised(&self, score: f64) -> f64 {
        (score - self.random) / (self.human - self.random)
    }
}

/// The paper's eleven games in the order of its tables: its suite of 8, then the other three.
pub static PAPER_GAMES: LazyLock<Vec<Baseline>> = LazyLock::new(|| {
    let baselines: BTreeMap<&str, Baseline> = rows(include_str!("../data/baseline_scores.csv"))
        .map(|row| {
            let [human, random] = [1, 2].map(|i| number(row[i]));
            (row[0], Baseline { game: row[0], human, random, in_8_game_suite: row[3] == "1" })
        })
        .collect();
    let mut order: Vec<&str> = rows(include_str!("../data/paper_tables.csv")).map(|row| row[0]).collect();
    order.dedup();
    order[..baselines.len()].iter().map(|game| baselines[game].clone()).collect()
});

/// The score the paper prints for our agent of this name.
pub fn paper_score(game: &str, agent: &str, noise: Noise) -> Option<PaperScore> {
    rows(include_str!("../data/paper_tables.csv"))
        .find(|row| row[..3] == [game, paper_name(agent), noise.name()])
        .map(|row| PaperScore { mean: number(row[3]), std: number(row[4]) })
}

/// The human-normalised mean the paper prints over `games` (8 or 11) games.
pub fn printed_mean(agent: &str, noise: Noise, games: usize) -> Option<f64> {
    rows(include_str!("../data/paper_means.csv"))
        .find(|row| row[..3] == [paper_name(agent), noise.name(), games.to_string().as_str()])
        .map(|row| number(row[3]))
}

/// The same mean, computed from the scores the paper prints.
pub fn recomputed_mean(agent: &str, noise: Noise, games: usize) -> Option<f64> {
    let suite: Vec<&Baseline> = suite(games).collect();
    let normalised = suite
        .iter()
        .map(|game| Some(game.human_normalised(paper_score(game.game, agent, noise)?.mean)))
        .collect::<Option<Vec<f64>>>()?;
    Some(normalised.iter().sum::<f64>() / normalised.len() as f64)
}

/// The paper's suite of 8 or all its 11 games.
pub fn suite(games: usize) -> impl Iterator<Item = &'static Baseline> {
    PAPER_GAMES.iter().filter(move |baseline| baseline.in_8_game_suite || games == PAPER_GAMES.len())
}

/// The paper calls `sane` simple-SANE.
fn paper_name(agent: &str) -> &str {
    if agent == "sane" { "simple-sane" } else { agent }
}

fn rows(table: &'static str) -> impl Iterator<Item = Vec<&'static str>> {
    table.lines().filter(|line| !line.starts_with('#')).skip(1).map(|line| line.split(',').collect())
}

fn number(cell: &str) -> f64 {
    cell.parse().expect("the paper's tables hold numbers")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_printed_means_follow_from_the_printed_scores_but_for_one() {
        let mut slips = Vec::new();
        for (agent, noise) in ["q-sane", "sane", "noisynet", "eps-greedy"]
            .into_iter()
            .flat_map(|agent| [Noise::Off, Noise::On].map(|noise| (agent, noise)))
        {
            for games in [8, 11] {
                let (printed, recomputed) = (printed_mean(agent, noise, games), recomputed_mean(agent, noise, games));
                assert_eq!(printed.is_some(), recomputed.is_some(), "{agent} {noise:?} {games}");
                if let (Some(printed), Some(recomputed)) = (printed, recomputed)
                    && 0.01 < (printed - recomputed).abs()
                {
                    slips.push((agent, noise, games, printed, (recomputed * 100.0).round() / 100.0));
                }
            }
        }
        assert_eq!(slips, [("q-sane", Noise::Off, 8, 4.86, 4.47)]);
    }

    #[test]
    fn a_human_scores_one_and_random_play_zero() {
        let boxing = Baseline::of("boxing").unwrap();
        assert_eq!((boxing.human_normalised(12.1), boxing.human_normalised(0.1)), (1.0, 0.0));
        assert_eq!(Baseline::of("minatar/breakout"), None);
    }

    #[test]
    fn the_games_stand_in_the_order_of_the_paper_s_tables() {
        let games: Vec<&str> = PAPER_GAMES.iter().map(|baseline| baseline.game).collect();
        assert_eq!((games.len(), games[0], games[7], games[10]), (11, "asterix", "seaquest", "bowling"));
        assert_eq!(suite(8).count(), 8);
    }
}
