//! Evaluations made while a run trains: one line of `evaluations_in_training.jsonl` each.
//!
//! They are kept apart from the events: whether a run evaluates itself changes nothing that it learns, and so no byte of
//! `events.jsonl`. A run that never did has no such file.

use crate::RecordError;
use crate::jsonl::{Records, read_jsonl};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// Name of the file in the run folder.
pub const EVALUATIONS_IN_TRAINING: &str = "evaluations_in_training.jsonl";

/// An evaluation without noise of the policy as it was after some interactions of training.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EvaluatedWhileTraining {
    /// Interactions of training behind the policy.
    pub interactions: u64,
    /// Whole episodes played.
    pub episodes: u64,
    /// Mean of the raw returns.
    pub mean: f64,
    /// Return of each episode, in the order of their starts.
    pub returns: Vec<f64>,
    /// Whether its mean is higher than that of every earlier evaluation of the run.
    #[serde(default)]
    pub best: bool,
}

/// The evaluations that the run in `folder` made while it trained, in order of interactions; none if it has no such file.
/// Of lines with the same number of interactions the last counts; a torn last line is left out and reported.
pub fn read_evaluations_in_training(folder: &Path) -> Result<Records<EvaluatedWhileTraining>, RecordError> {
    let path = folder.join(EVALUATIONS_IN_TRAINING);
    if !path.exists() {
        return Ok(Records { records: Vec::new(), torn: false });
    }
    let mut read = read_jsonl::<EvaluatedWhileTraining>(&path)?;
    read.records.reverse();
    read.records.sort_by_key(|evaluation| evaluation.interactions);
    read.records.dedup_by_key(|evaluation| evaluation.interactions);
    Ok(read)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn read(text: &str) -> Result<Records<EvaluatedWhileTraining>, RecordError> {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(EVALUATIONS_IN_TRAINING), text).unwrap();
        read_evaluations_in_training(folder.path())
    }

    fn line(interactions: u64, mean: f64) -> String {
        let returns = vec![mean - 1.0, mean + 1.0];
        let record = EvaluatedWhileTraining { interactions, episodes: 2, mean, returns, best: false };
        serde_json::to_string(&record).unwrap() + "\n"
    }

    #[test]
    fn evaluations_come_in_order_of_interactions_and_the_last_of_repeated_lines_counts() {
        let read = read(&[line(2_000, 5.0), line(1_000, 1.0), line(2_000, 7.0)].concat()).unwrap();
        let means: Vec<(u64, f64)> = read.records.iter().map(|record| (record.interactions, record.mean)).collect();
        assert_eq!((means, read.torn), (vec![(1_000, 1.0), (2_000, 7.0)], false));
    }

    #[test]
    fn a_torn_last_line_is_left_out_and_a_bad_line_before_it_is_named() {
        let torn = read(&(line(1_000, 1.0) + "{\"interactions\":2000,\"ep")).unwrap();
        assert_eq!((torn.records.len(), torn.torn), (1, true));
        let error = read(&("x\n".to_owned() + &line(1_000, 1.0))).unwrap_err().to_string();
        assert!(error.contains("evaluations_in_training.jsonl, line 1"), "{error}");
    }

    #[test]
    fn a_run_that_never_evaluated_itself_has_no_evaluations() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(read_evaluations_in_training(folder.path()).unwrap().records, []);
    }
}
