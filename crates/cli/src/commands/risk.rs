//! `sane risk`: what σ singles out, in pictures and films, and whether that is where the risk is.

mod audit;
mod film;
mod gallery;
mod looking;

use crate::output::{Outcome, Output};
use clap::Subcommand;

/// Arguments of `sane risk`.
#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true, subcommand_required = true)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Measure whether low σ means high risk
    Audit(audit::Args),
    /// Film an episode with its σ below
    Film(film::Args),
    /// Show the states with the smallest and largest |σ| of an evaluation
    Gallery(gallery::Args),
}

/// Does it.
pub fn run(args: Args, output: &Output) -> Outcome {
    match args.command {
        Command::Audit(args) => audit::run(args, output),
        Command::Film(args) => film::run(args, output),
        Command::Gallery(args) => gallery::run(args, output),
    }
}
