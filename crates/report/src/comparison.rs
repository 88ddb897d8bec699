//! The agents of a section compared by one score: aggregates of the normalised scores, probabilities of improvement.

use crate::section::{Common, Measure, Section};
use rayon::prelude::*;
use sane_record::Baseline;
use sane_stats::{Aggregate, Estimate, bootstrap, improvement};

/// More agents, such as the variants of a sweep, are not compared pair by pair.
pub const MOST_COMPARED: usize = 16;

/// The agents of a section compared by one score.
#[derive(Debug, Clone)]
pub struct Comparison {
    pub measure: Measure,
    /// Human-normalised scores over the games that have a human score and that all agents have.
    pub normalised: Common,
    /// For each agent of `normalised` its aggregates, in the order of [`Aggregate::ALL`]; empty if there is no such
    /// game.
    pub aggregates: Vec<(usize, [Estimate; 4])>,
    /// Raw scores over the worlds that all agents have.
    pub raw: Common,
    /// For each pair of agents the probability that the first beats the second; empty if they share no world, or are too
    /// many.
    pub pairs: Vec<(usize, usize, Estimate)>,
}

impl Comparison {
    pub fn of(section: &Section, measure: Measure) -> Self {
        let normalised =
            section.common_scores(measure, |world, score| Some(Baseline::of(world)?.human_normalised(score)));
        let raw = section.common_scores(measure, |_, score| Some(score));
        let aggregates = normalised
            .scores
            .par_iter()
            .filter(|(_, scores)| !scores.is_empty())
            .map(|(agent, scores)| {
                let estimate = |aggregate: Aggregate| bootstrap(&[scores], |drawn| aggregate.of(&drawn[0]));
                (*agent, Aggregate::ALL.map(estimate))
            })
            .collect();
        let pairs: Vec<(usize, usize)> = if raw.worlds.is_empty() || MOST_COMPARED < raw.scores.len() {
            Vec::new()
        } else {
            (0..raw.scores.len()).flat_map(|i| (i + 1..raw.scores.len()).map(move |j| (i, j))).collect()
        };
        let pairs = pairs
            .into_par_iter()
            .map(|(i, j)| {
                let ((first, x), (second, y)) = (&raw.scores[i], &raw.scores[j]);
                (*first, *second, improvement(x, y))
            })
            .collect();
        Self { measure, normalised, aggregates, raw, pairs }
    }

    /// Fewest and most seeds of any score.
    pub fn seeds(&self) -> (usize, usize) {
        let counts = || self.raw.scores.iter().map(|(_, scores)| scores);
        let fewest = counts().map(|scores| scores.fewest_seeds()).min().unwrap_or(0);
        (fewest, counts().map(|scores| scores.most_seeds()).max().unwrap_or(0))
    }
}
