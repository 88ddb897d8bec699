//! The writer of standard output and standard error: results to the one; notes, progress bars and errors to the other.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "the one file that prints")]

use crate::failure::Failure;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::fmt::Display;
use std::process::ExitCode;
use std::time::Duration;

#[derive(Debug, Clone, Copy)]
pub struct Output {
    quiet: bool,
}

impl Output {
    /// With `quiet`, only results and errors are written.
    pub fn new(quiet: bool) -> Self {
        Self { quiet }
    }

    pub fn is_quiet(self) -> bool {
        self.quiet
    }

    /// A line of the result, to standard output. If its reader has closed it (`| head`), the program exits with 0.
    pub fn result(self, line: impl Display) {
        use std::io::Write;
        if writeln!(std::io::stdout().lock(), "{line}").is_err() {
            std::process::exit(0);
        }
    }

    /// A line about the command's progress, to standard error.
    pub fn note(self, line: impl Display) {
        if !self.quiet {
            eprintln!("{line}");
        }
    }

    /// The failure that ends the program, to standard error; its exit code.
    pub fn report(self, failure: &Failure) -> ExitCode {
        eprintln!("error: {failure}");
        failure.exit_code()
    }

    /// A progress bar on standard error. Hidden with `--quiet`, and where standard error is not a terminal.
    pub fn progress_bar(self, length: u64, message: &'static str) -> ProgressBar {
        let style = ProgressStyle::with_template("{msg} {bar:30} {pos}/{len} ETA {eta}");
        ProgressBar::with_draw_target(Some(length), self.draw_target())
            .with_style(style.expect("the template is valid"))
            .with_message(message)
    }

    /// As [`progress_bar`](Self::progress_bar), for work of unknown length.
    pub fn spinner(self, message: &'static str) -> ProgressBar {
        let spinner = ProgressBar::with_draw_target(None, self.draw_target()).with_message(message);
        spinner.enable_steady_tick(Duration::from_millis(120));
        spinner
    }

    fn draw_target(self) -> ProgressDrawTarget {
        if self.quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() }
    }
}
