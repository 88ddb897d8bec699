//! `sane bench`: how fast the parts are on this machine. One file per part under `bench/`.

mod minatar;

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
enum Part {
    /// Steps per second of the five MinAtar games, beside the Python package
    Minatar(minatar::Args),
}

/// Measures the part and prints its rates.
pub fn run(args: Args, output: &Output) -> Outcome {
    match args.part {
        Part::Minatar(args) => minatar::run(args, output),
    }
}
