//! The paper's own results, as data: its two tables of scores and the means it prints.

use sane_record::{Baseline, PAPER_GAMES};

/// Whether a policy was evaluated with its noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Noise {
    /// Without noise or exploratory actions.
    Off,
    /// With noise.
    On,
}

impl Noise {
    /// As in records.
    pub fn name(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::On => "on",
        }
    }
}

/// Mean and standard deviation over 3 seeds, as the paper prints them.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PaperScore {
    pub mean: f64,
    pub std: f64,
}

/// The score that the paper prints for the agent of this name.
pub fn paper_score(game: &str, agent: &str, noise: Noise) -> Option<PaperScore> {
    rows(include_str!("../data/paper_tables.csv"))
        .find(|row| row[..3] == [game, paper_name(agent), noise.name()])
        .map(|row| PaperScore { mean: number(row[3]), std: number(row[4]) })
}

/// The human-normalised mean that the paper prints over `games` (8 or 11) games.
pub fn printed_mean(agent: &str, noise: Noise, games: usize) -> Option<f64> {
    rows(include_str!("../data/paper_means.csv"))
        .find(|row| row[..3] == [paper_name(agent), noise.name(), games.to_string().as_str()])
        .map(|row| number(row[3]))
}

/// The same mean, computed from the scores that the paper prints.
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
    fn the_suites_have_eight_and_eleven_games_in_the_order_of_the_printed_tables() {
        let mut printed: Vec<&str> = rows(include_str!("../data/paper_tables.csv")).map(|row| row[0]).collect();
        printed.dedup();
        assert_eq!(suite(11).map(|baseline| baseline.game).collect::<Vec<_>>(), printed[..11]);
        assert_eq!(suite(8).map(|baseline| baseline.game).collect::<Vec<_>>(), printed[..8]);
    }
}
