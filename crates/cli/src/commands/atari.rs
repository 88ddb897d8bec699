//! `sane atari`: shows that the games are those of the Arcade Learning Environment, frame by frame.

mod python_random;
mod replay;
mod trace;

use crate::output::{Outcome, Output};
use clap::Subcommand;

/// Compare the Atari games with recorded runs of the Arcade Learning Environment.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What to do
    #[command(subcommand)]
    deed: Deed,
}

#[derive(Debug, Subcommand)]
enum Deed {
    /// Replay recorded runs and compare RAM, screen, reward, lives and end after every frame
    Replay(replay::Args),
    /// Run a game and print one JSON line per frame, for comparison with ale-py by `diff`
    Trace(trace::Args),
}

/// Replays or traces.
pub fn run(args: Args, output: &Output) -> Outcome {
    match args.deed {
        Deed::Replay(args) => replay::run(args, output),
        Deed::Trace(args) => trace::run(args, output),
    }
}
