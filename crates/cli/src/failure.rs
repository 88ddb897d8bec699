//! How a command fails: a failure while it ran (exit code 1), wrong usage (2), or a run that diverged (3), which a repetition
//! would repeat. Errors of the libraries are sorted by [`classify`].

use sane_gym::GymError;
use sane_lab::{CheckpointError, LabError};
use sane_suite::SuiteError;
use sane_watch::WatchError;
use std::error::Error;
use std::fmt::{self, Display};

/// What every command returns.
pub type Outcome = Result<(), Failure>;

/// Why a command did not do what was asked.
#[derive(Debug)]
pub enum Failure {
    /// Another command line would have avoided it.
    Usage(String),
    /// The command line was valid, the work failed.
    Failed(anyhow::Error),
    /// Training diverged: the same command would end in the same way, bit for bit.
    Diverged(String),
}

impl Failure {
    /// Wrong usage, described by an error or a text.
    pub fn usage(error: impl Display) -> Self {
        Self::Usage(error.to_string())
    }

    /// 2 for wrong usage, as clap exits; 3 for a run that diverged; 1 for everything else.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            Self::Failed(_) => 1,
            Self::Diverged(_) => 3,
        }
    }
}

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(text) | Self::Diverged(text) => write!(f, "{text}"),
            Self::Failed(error) => {
                let mut text = error.to_string();
                // Many errors include their cause in their own text; it is not repeated.
                for cause in error.chain().skip(1).map(ToString::to_string) {
                    if !text.contains(&cause) {
                        text = format!("{text}: {cause}");
                    }
                }
                write!(f, "{text}")
            }
        }
    }
}

/// A library error as the failure of a command.
pub fn classify(error: impl Classify) -> Failure {
    match (error.is_usage(), error.is_divergence()) {
        (true, _) => Failure::usage(error),
        (_, true) => Failure::Diverged(error.to_string()),
        _ => error.into(),
    }
}

/// An error that knows whether it is wrong usage.
pub trait Classify: Error + Send + Sync + 'static {
    fn is_usage(&self) -> bool;

    /// Whether it is that of a run that diverged.
    fn is_divergence(&self) -> bool {
        false
    }
}

impl Classify for LabError {
    fn is_usage(&self) -> bool {
        match self {
            Self::OtherRun { .. } | Self::RecordsWithoutCheckpoint { .. } | Self::Config(_) | Self::World { .. } => {
                true
            }
            Self::Checkpoint(error) => {
                matches!(error, CheckpointError::OtherRun { .. } | CheckpointError::WrongVersion { .. })
            }
            Self::NoSigma { .. }
            | Self::NoNoise { .. }
            | Self::EpisodeTooShort { .. }
            | Self::AlreadyLonger { .. }
            | Self::NotVerifiable { .. } => true,
            Self::Gym(error) => error.is_usage(),
            _ => false,
        }
    }

    fn is_divergence(&self) -> bool {
        matches!(self, Self::Diverged { .. })
    }
}

impl Classify for GymError {
    fn is_usage(&self) -> bool {
        self.is_usage()
    }
}

impl Classify for SuiteError {
    fn is_usage(&self) -> bool {
        matches!(self, Self::OtherSuite { .. } | Self::NoSuite { .. })
    }
}

impl Classify for WatchError {
    fn is_usage(&self) -> bool {
        self.is_usage()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context;

    #[test]
    fn a_cause_is_printed_once_whether_or_not_its_error_includes_it() {
        let cause = || std::io::Error::other("disk full");
        let without = Failure::from(Err::<(), _>(cause()).context("cannot write x").unwrap_err());
        assert_eq!(without.to_string(), "cannot write x: disk full");
        let with = Failure::from(Err::<(), _>(cause()).context("cannot write x: disk full; try y").unwrap_err());
        assert_eq!(with.to_string(), "cannot write x: disk full; try y");
    }
}
