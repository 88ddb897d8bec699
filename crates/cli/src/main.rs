//! `sane`: parses the command line, runs one command, and reports the outcome by the exit code.
#![forbid(unsafe_code)]

mod args;
mod commands;
mod failure;
mod output;

use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let cli = args::Cli::parse();
    let output = output::Output::new(cli.quiet);
    match commands::run(cli.command, &output) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => output.report(&failure),
    }
}
