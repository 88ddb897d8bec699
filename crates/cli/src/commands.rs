//! One file per command: its arguments, its help, its deed.

mod agents;
mod bench;
mod minatar;

use crate::output::{Outcome, Output};
use clap::Subcommand;

/// Everything `sane` can do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List the agents, what they are and how many parameters they learn
    Agents(agents::Args),
    /// Measure how fast the parts are on this machine
    Bench(bench::Args),
    /// Compare the MinAtar games with recorded runs of the Python package
    Minatar(minatar::Args),
}

/// Does it.
pub fn run(command: Command, output: &Output) -> Outcome {
    match command {
        Command::Agents(args) => agents::run(args, output),
        Command::Bench(args) => bench::run(args, output),
        Command::Minatar(args) => minatar::run(args, output),
    }
}
