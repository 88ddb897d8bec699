//! Progress of the runs of a suite: `status.json` in the suite's folder, rewritten at every change.

use serde::{Deserialize, Serialize};

/// A suite and its runs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SuiteStatus {
    pub suite: String,
    /// Process and host that run it.
    pub runner: String,
    /// When this was written, in Unix time.
    pub unix_seconds: u64,
    /// The runs, in the order of the suite.
    pub runs: Vec<RunStatus>,
}

/// Progress of one run.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunStatus {
    /// Its name, which is also its folder below the suite's.
    pub run: String,
    pub state: RunState,
    /// Times this runner started it.
    pub attempts: u32,
    /// Why it is not running, or what it waits for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Interactions of its last record.
    pub interactions: u64,
    /// Interactions configured.
    pub total_interactions: u64,
    /// Of its last record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interactions_per_second: Option<f64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub return_mean_last_100: Option<f64>,
}

/// State of a run of a suite.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunState {
    Training,
    /// Trained, and being evaluated.
    Evaluating,
    /// Queued.
    Waiting,
    /// Stopped by a signal; starting the suite again resumes it.
    Stopped,
    /// Failed and not retried; starting the suite again retries it.
    SetAside,
    /// Trained and evaluated.
    Done,
}

impl RunState {
    pub const ALL: [Self; 6] =
        [Self::Training, Self::Evaluating, Self::Waiting, Self::Stopped, Self::SetAside, Self::Done];

    /// As tables and messages print it.
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

    /// Whether a process is working on it.
    pub fn is_running(self) -> bool {
        matches!(self, Self::Training | Self::Evaluating)
    }
}

impl SuiteStatus {
    /// Count of runs in this state.
    pub fn count(&self, state: RunState) -> usize {
        self.runs.iter().filter(|run| run.state == state).count()
    }

    /// Estimated seconds until all runs are trained, at the current speeds; none while no speed is known. Runs without a
    /// speed count with the mean of the others.
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
    fn the_remaining_work_is_shared_by_the_parallel_runs() {
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
