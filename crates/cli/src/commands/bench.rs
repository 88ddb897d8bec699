//! `sane bench`: how fast the parts are on this machine. One file per part under `bench/`.

mod atari;
mod engine;
mod gym;
mod minatar;
mod replay;
mod train;

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
    /// Frames per second of the Atari games, in three uses
    Atari(atari::Args),
    /// Train step and act of each agent, against the processor's peak
    Engine(engine::Args),
    /// What a step of a Gymnasium environment costs on top of Python itself
    Gym(gym::Args),
    /// Steps per second of the five MinAtar games, beside the Python package
    Minatar(minatar::Args),
    /// Bytes per transition of the replay, and microseconds per batch
    Replay(replay::Args),
    /// Interactions per second of each agent with a full replay, and where the time goes
    Train(train::Args),
}

/// Measures the part and prints its rates.
pub fn run(args: Args, output: &Output) -> Outcome {
    match args.part {
        Part::Atari(args) => atari::run(args, output),
        Part::Engine(args) => engine::run(args, output),
        Part::Gym(args) => gym::run(args, output),
        Part::Minatar(args) => minatar::run(args, output),
        Part::Replay(args) => replay::run(args, output),
        Part::Train(args) => train::run(args, output),
    }
}
