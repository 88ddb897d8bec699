//! `sane bench`: the speed of the parts on this machine, one file per part. Here: the statistics they share.

mod atari;
mod engine;
mod gym;
mod minatar;
mod replay;
mod train;

use crate::failure::Outcome;
use crate::output::Output;
use clap::Subcommand;

/// Measure the speed of the emulator, the engine, the replay and training on this machine
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    sane bench engine                                   # the four agents' train step\n  \
    sane bench train boxing --fill 100000               # the whole training loop\n  \
    sane bench atari --games boxing,qbert --json        # the emulator, for scripts")]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Frames per second of the Atari games, in three uses
    Atari(atari::Args),
    /// Train step and action selection of each agent, compared with the processor's peak
    Engine(engine::Args),
    /// Overhead of a step of a Gymnasium environment over Python alone
    Gym(gym::Args),
    /// Steps per second of the five MinAtar games, compared with the Python package
    Minatar(minatar::Args),
    /// Bytes per transition of the replay, and microseconds per batch
    Replay(replay::Args),
    /// Interactions per second of each agent with a full replay, and the share of each phase
    Train(train::Args),
}

pub fn run(args: Args, output: &Output) -> Outcome {
    match args.action {
        Action::Atari(args) => atari::run(args, output),
        Action::Engine(args) => engine::run(args, output),
        Action::Gym(args) => gym::run(args, output),
        Action::Minatar(args) => minatar::run(args, output),
        Action::Replay(args) => replay::run(args, output),
        Action::Train(args) => train::run(args, output),
    }
}

/// Repeated measurements of one quantity, in ascending order; at least one.
struct Measurements(Vec<f64>);

impl Measurements {
    fn of(mut values: Vec<f64>) -> Self {
        assert!(!values.is_empty(), "a measurement needs at least one value");
        values.sort_by(f64::total_cmp);
        Self(values)
    }

    fn min(&self) -> f64 {
        self.0[0]
    }

    fn median(&self) -> f64 {
        self.quantile(0.5)
    }

    fn max(&self) -> f64 {
        self.0[self.0.len() - 1]
    }

    /// By nearest rank.
    fn quantile(&self, q: f64) -> f64 {
        self.0[(q * (self.0.len() - 1) as f64).round() as usize]
    }
}

fn geometric_mean(values: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = values.len() as f64;
    (values.map(f64::ln).sum::<f64>() / count).exp()
}
