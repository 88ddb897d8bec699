//! Where words go: results to standard output, everything else to standard error, and the exit code at the end.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "the one file through which the program speaks")]

use std::fmt::{self, Display};
use std::process::ExitCode;

/// Why a command did not do what was asked.
#[derive(Debug)]
pub enum Failure {
    /// The command line asks for something that cannot be: exit code 2.
    Usage(String),
    /// It was understood, but it did not succeed: exit code 1.
    Failed(anyhow::Error),
}

impl<E: Into<anyhow::Error>> From<E> for Failure {
    fn from(error: E) -> Self {
        Self::Failed(error.into())
    }
}

impl Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(text) => write!(f, "{text}"),
            Self::Failed(error) => {
                let mut said = error.to_string();
                // Many errors name their cause themselves; it is not said twice.
                for cause in error.chain().skip(1).map(ToString::to_string) {
                    if !said.contains(&cause) {
                        said = format!("{said}: {cause}");
                    }
                }
                write!(f, "{said}")
            }
        }
    }
}

/// What every command returns.
pub type Outcome = Result<(), Failure>;

/// The program's voice.
#[derive(Debug, Clone, Copy)]
pub struct Output {
    quiet: bool,
}

impl Output {
    /// With `quiet`, only results and errors are written.
    pub fn new(quiet: bool) -> Self {
        Self { quiet }
    }

    /// Whether only results and errors are wanted (progress bars ask this).
    pub fn is_quiet(self) -> bool {
        self.quiet
    }

    /// A line of the result. A reader that went away (`| head`) ends the program quietly.
    pub fn result(self, line: impl Display) {
        use std::io::Write;
        if writeln!(std::io::stdout().lock(), "{line}").is_err() {
            std::process::exit(0);
        }
    }

    /// A line about what is going on.
    pub fn note(self, line: impl Display) {
        if !self.quiet {
            eprintln!("{line}");
        }
    }

    /// The last word on a failure, and its exit code.
    pub fn report(self, failure: &Failure) -> ExitCode {
        eprintln!("error: {failure}");
        match failure {
            Failure::Usage(_) => ExitCode::from(2),
            Failure::Failed(_) => ExitCode::from(1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context;

    #[test]
    fn a_cause_is_said_once_whether_or_not_its_error_names_it() {
        let cause = || std::io::Error::other("no room");
        let unnamed = Failure::from(Err::<(), _>(cause()).context("cannot write x").unwrap_err());
        assert_eq!(unnamed.to_string(), "cannot write x: no room");
        let named = Failure::from(Err::<(), _>(cause()).context("cannot write x: no room; try y").unwrap_err());
        assert_eq!(named.to_string(), "cannot write x: no room; try y");
    }
}
