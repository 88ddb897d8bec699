//! `sane`: parses the command line, runs one command, and reports the outcome by the exit code.
#![forbid(unsafe_code)]

mod args;
mod commands;
mod curve;
mod failure;
mod output;
pub mod version;

use clap::Parser;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::OnceLock;

/// What another `sane` is started with, if not with this process's executable.
static PROGRAM: OnceLock<PathBuf> = OnceLock::new();

/// Runs one command line, whose first word is the program's name; returns the exit code.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> u8 {
    let cli = match args::Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(help_or_error) => return output::print_parsed(&help_or_error),
    };
    let output = output::Output::new(cli.quiet);
    match commands::run(cli.command, &output) {
        Ok(()) => 0,
        Err(failure) => output.report(&failure),
    }
}

/// Names the program that a suite starts its runs with. A process whose executable is not `sane`, such as a Python
/// interpreter, says so once, before [`run`].
pub fn set_program(program: PathBuf) {
    PROGRAM.get_or_init(|| program);
}

/// The program that starts another `sane`.
fn program() -> std::io::Result<PathBuf> {
    PROGRAM.get().map_or_else(std::env::current_exe, |program| Ok(program.clone()))
}
