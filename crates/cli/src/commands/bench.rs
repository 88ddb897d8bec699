//! `sane bench`: how fast the parts are on this machine. One file per part under `bench/`.

use crate::output::{Outcome, Output};
use clap::Subcommand;

/// Which part to measure.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The part
    #[command(subcommand)]
    part: Part,
}

#[derive(Debug, Subcommand)]
enum Part {}

/// Measures the part and prints its rates.
pub fn run(args: Args, _output: &Output) -> Outcome {
    match args.part {}
}
