//! One file per command: its arguments, its help, its deed.

use crate::output::{Outcome, Output};
use clap::Subcommand;

/// Everything `sane` can do.
#[derive(Debug, Subcommand)]
pub enum Command {}

/// Does it.
pub fn run(command: Command, _output: &Output) -> Outcome {
    match command {}
}
