//! The seeds of a suite: a list, or a rule that adds seeds until agents can be told apart.

use crate::SuiteError;
use crate::file::Document;
use crate::search::Metric;
use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;

/// The seeds of a suite.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Seeds {
    List(Vec<u64>),
    Sequential(SequentialSeeds),
}

/// `seeds = { at_least = 5, at_most = 20, until = "interval of IQM difference excludes 0 or budget" }`: every agent of a game
/// gets seeds 1 to `at_least`, then `step` more at a time, until each can be told from the first one or there are `at_most`.
///
/// Looking more than once makes it more likely to see a difference where there is none. Bonferroni's correction keeps the
/// chance of that, over all looks and all agents beside the first, below 1 − `confidence`, in each game.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SequentialSeeds {
    pub at_least: u64,
    pub at_most: u64,
    #[serde(default = "default_step")]
    pub step: u64,
    pub until: Until,
    #[serde(default = "default_confidence")]
    pub confidence: f64,
    #[serde(default)]
    pub metric: Metric,
}

/// When no more seeds are added; the budget is `at_most`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Until {
    #[default]
    #[serde(
        rename = "interval of IQM difference excludes 0 or budget",
        alias = "interval of IQM difference excludes 0"
    )]
    DifferenceOrBudget,
}

fn default_step() -> u64 {
    5
}

fn default_confidence() -> f64 {
    0.95
}

impl Default for Seeds {
    fn default() -> Self {
        Self::List(Vec::new())
    }
}

impl Default for SequentialSeeds {
    fn default() -> Self {
        Self {
            at_least: 5,
            at_most: 20,
            step: default_step(),
            until: Until::default(),
            confidence: default_confidence(),
            metric: Metric::default(),
        }
    }
}

impl SequentialSeeds {
    /// How often results are looked at, at most.
    pub fn looks(&self) -> u64 {
        1 + (self.at_most - self.at_least).div_ceil(self.step)
    }

    /// Confidence of a single interval where `pairs` of them are looked at.
    pub(crate) fn level(&self, pairs: usize) -> f64 {
        1.0 - (1.0 - self.confidence) / (self.looks() as f64 * pairs.max(1) as f64)
    }

    pub(crate) fn check(&self, document: &Document) -> Result<(), SuiteError> {
        let reason = if self.at_least < 3 {
            "at_least = 3 or more seeds; two say nothing about their spread"
        } else if self.at_most < self.at_least || 10_000 < self.at_most {
            "at_most is from at_least to 10,000"
        } else if self.step == 0 {
            "step = 1 or more seeds at a time"
        } else if !(0.5..1.0).contains(&self.confidence) {
            "confidence is from 0.5 to below 1"
        } else {
            return Ok(());
        };
        Err(SuiteError::Format { location: document.location(&["seeds".into()]), reason: reason.into() })
    }
}

impl<'de> Deserialize<'de> for Seeds {
    /// By hand, so that an error says what is wrong with the list or with the table, not that it is neither.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ListOrRule;
        impl<'de> Visitor<'de> for ListOrRule {
            type Value = Seeds;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "a list of seeds such as [1, 2, 3], or {{ at_least = 5, at_most = 20, until = \"…\" }}")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Seeds, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(list)).map(Seeds::List)
            }

            fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<Seeds, A::Error> {
                SequentialSeeds::deserialize(MapAccessDeserializer::new(table)).map(Seeds::Sequential)
            }
        }
        deserializer.deserialize_any(ListOrRule)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_correction_shares_the_error_among_looks_and_pairs() {
        let rule = SequentialSeeds { at_least: 5, at_most: 20, step: 5, ..SequentialSeeds::default() };
        assert_eq!(rule.looks(), 4);
        assert!((rule.level(1) - (1.0 - 0.05 / 4.0)).abs() < 1e-12);
        assert!((rule.level(3) - (1.0 - 0.05 / 12.0)).abs() < 1e-12);
        assert_eq!(SequentialSeeds { at_most: 21, ..rule }.looks(), 5);
    }
}
