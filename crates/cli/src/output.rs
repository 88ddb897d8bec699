//! The writer of standard output and standard error: results to the one; notes, warnings, progress bars and errors to the
//! other. Nothing here panics: a standard error that cannot be written loses its lines, and the exit code remains.

use crate::failure::Failure;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::fmt::Display;
use std::io::{self, ErrorKind, Write};
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

    /// A line of the result, to standard output. If its reader has closed it (`| head`), the program exits with 0; if it
    /// cannot be written for another reason, with 1. Not for commands that have work to save: see
    /// [`try_result`](Self::try_result).
    pub fn result(self, line: impl Display) {
        match self.try_result(line) {
            Ok(()) => {}
            Err(error) if error.kind() == ErrorKind::BrokenPipe => std::process::exit(0),
            Err(error) => {
                to_stderr(format_args!("error: cannot write to standard output: {error}"));
                std::process::exit(1);
            }
        }
    }

    /// A line of the result, to standard output; the command decides what to do if it cannot be written.
    pub fn try_result(self, line: impl Display) -> io::Result<()> {
        writeln!(io::stdout().lock(), "{line}")
    }

    /// A line about the command's progress, to standard error.
    pub fn note(self, line: impl Display) {
        if !self.quiet {
            to_stderr(line);
        }
    }

    /// Damage, or something else that must not be overlooked, to standard error: with `--quiet`, too.
    pub fn warn(self, line: impl Display) {
        to_stderr(format_args!("warning: {line}"));
    }

    /// The failure that ends the program, to standard error; its exit code.
    pub fn report(self, failure: &Failure) -> u8 {
        to_stderr(format_args!("error: {failure}"));
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

/// The help that was asked for, or what is wrong with the command line; its exit code.
pub fn print_parsed(help_or_error: &clap::Error) -> u8 {
    match help_or_error.print() {
        // A closed reader (`| head`) is not an error, a full disk is.
        Err(error) if error.kind() != ErrorKind::BrokenPipe && !help_or_error.use_stderr() => {
            to_stderr(format_args!("error: cannot write to standard output: {error}"));
            1
        }
        _ => help_or_error.exit_code() as u8,
    }
}

/// A line to standard error; lost if it cannot be written, since there is nowhere else to say so.
fn to_stderr(line: impl Display) {
    let _ = writeln!(io::stderr().lock(), "{line}");
}
