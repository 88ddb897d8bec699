//! How the runs of a suite stand: `status.json` in a suite's folder, written anew whenever something changes.

use serde::{Deserialize, Serialize};

/// A suite and its runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SuiteStatus {
    /// Name of the suite.
    pub suite: String,
    /// Who runs it, as they wrote themselves.
    pub runner: String,
    /// Seconds since 1970 by the machine's clock, when this was written.
    pub unix_seconds: u64,
    /// The runs, in the order of the suite.
    pub runs: Vec<RunStatus>,
}

/// How a run of a suite stands.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunStatus {
    /// Its name, and its folder below the suite's.
    pub run: String,
    /// What it does.
    pub state: RunState,
    /// How often it was started by this runner.
    pub attempts: u32,
    /// Why it is not running, or what it waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Interactions of its last record.
    pub interactions: u64,
    /// Interactions it is to have.
    pub total_interactions: u64,
    /// Interactions per second of its last stretch.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interactions_per_second: Option<f64>,
    /// Mean of its last 100 returns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub return_mean_last_100: Option<f64>,
}

/// What a run of a suite does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    /// It is being trained.
    Training,
    /// It is trained and being measured.
    Evaluating,
    /// Its turn has not come.
    Waiting,
    /// It was stopped; the same suite again goes on with it.
    Stopped,
    /// It failed and is left alone; the same suite again tries once more.
    SetAside,
    /// Trained and measured.
    Done,
}

impl RunState {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Training, Self::Evaluating, Self::Waiting, Self::Stopped, Self::SetAside, Self::Done];

    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Self::Training => "training",
            Self::Evaluating => "evaluating",
            Self::Waiting => "waiting",
            Self::Stopped => "stopped",
            Self::SetAside => "set aside",
            Self::Done => "done",
        }
    }

    /// Whether a process works on it.
    pub fn is_running(self) -> bool {
        matches!(self, Self::Training | Self::Evaluating)
    }
}

impl SuiteStatus {
    /// How many runs are in this state.
    pub fn count(&self, state: RunState) -> usize {
        self.runs.iter().filter(|run| run.state == state).count()
    }

    /// Seconds until all is trained, if the runs go on as fast as they do; nothing while that is unknown. Runs that have
    /// not begun are taken to be as fast as the mean of those that have.
    pub fn seconds_left(&self) -> Option<f64> {
        let speeds: Vec<f64> = self.runs.iter().filter_map(|run| run.interactions_per_second).collect();
        let running: Vec<&RunStatus> = self.runs.iter().filter(|run| run.state.is_running()).collect();
        if speeds.is_empty() || running.is_empty() {
            return None;
        }
        let mean = speeds.iter().sum::<f64>() / speeds.len() as f64;
        let left = |run: &RunStatus| {
            let interactions = run.total_interactions.saturating_sub(run.interactions) as f64;
            interactions / run.interactions_per_second.unwrap_or(mean).max(1e-9)
        };
        let to_do = |run: &&RunStatus| run.state.is_running() || run.state == RunState::Waiting;
        let longest = running.iter().map(|run| left(run)).fold(0.0, f64::max);
        let all: f64 = self.runs.iter().filter(to_do).map(left).sum();
        Some((all / running.len() as f64).max(longest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(state: RunState, interactions: u64, speed: Option<f64>) -> RunStatus {
        RunStatus {
            run: "a".into(),
            state,
            attempts: 0,
            reason: None,
            interactions,
            total_interactions: 100,
            interactions_per_second: speed,
            return_mean_last_100: None,
        }
    }

    #[test]
    fn what_is_left_is_shared_by_the_runs_side_by_side() {
        let runs = vec![
            run(RunState::Done, 100, Some(2.0)),
            run(RunState::Training, 50, Some(2.0)),
            run(RunState::Training, 0, Some(2.0)),
            run(RunState::Waiting, 0, None),
        ];
        let mut status = SuiteStatus { suite: "s".into(), runner: String::new(), unix_seconds: 0, runs };
        assert_eq!(status.seconds_left(), Some((25.0 + 50.0 + 50.0) / 2.0));
        status.runs.truncate(1);
        assert_eq!(status.seconds_left(), None);
    }
}
