//! What happens while a suite runs, in words.

use std::fmt;

/// Something happened.
#[derive(Debug, Clone, PartialEq)]
pub enum News {
    /// A run's process was started.
    Started {
        /// Which run.
        run: String,
        /// `training` or `evaluating`.
        stage: &'static str,
        /// Which attempt, from 1.
        attempt: u32,
    },
    /// A run is trained and measured.
    Done {
        /// Which run.
        run: String,
        /// Mean return of each evaluation, by noise mode.
        returns: Vec<(String, f64)>,
    },
    /// A run failed and will be tried again.
    Failed {
        /// Which run.
        run: String,
        /// Why.
        reason: String,
    },
    /// A run is left alone.
    SetAside {
        /// Which run.
        run: String,
        /// Why.
        reason: String,
    },
    /// A run has to wait.
    Waits {
        /// Which run.
        run: String,
        /// For what.
        reason: String,
    },
    /// All runs were asked to stop.
    Stopping,
    /// Something a world had to say when it was opened.
    Said(String),
}

impl fmt::Display for News {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Started { run, stage, attempt: 1 } => write!(f, "{run}: {stage}"),
            Self::Started { run, stage, attempt } => write!(f, "{run}: {stage}, attempt {attempt}"),
            Self::Done { run, returns } => {
                write!(f, "{run}: done")?;
                returns.iter().try_for_each(|(noise, mean)| write!(f, ", noise {noise} {mean:.2}"))
            }
            Self::Failed { run, reason } => write!(f, "{run}: failed and will be tried again: {reason}"),
            Self::SetAside { run, reason } => write!(f, "{run}: set aside: {reason}"),
            Self::Waits { run, reason } => write!(f, "{run}: waits: {reason}"),
            Self::Stopping => write!(f, "stopping: every run saves a checkpoint"),
            Self::Said(text) => write!(f, "{text}"),
        }
    }
}
