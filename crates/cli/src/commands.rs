//! One file per command: its arguments, its help, its deed.

mod agents;
mod atari;
mod bench;
mod config;
mod eval;
mod export;
mod minatar;
mod play;
mod report;
mod risk;
mod roms;
mod runs;
mod suite;
mod trace_learning;
mod train;
mod watch;

use crate::output::{Outcome, Output};
use clap::Subcommand;

/// Everything `sane` can do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List the agents, what they are and how many parameters they learn
    Agents(agents::Args),
    /// Compare the Atari games with recorded runs of the Arcade Learning Environment
    Atari(atari::Args),
    /// Measure how fast the parts are on this machine
    Bench(bench::Args),
    /// Show the settings of a run: resolved, compared, explained
    Config(config::Args),
    /// Measure a trained policy: whole episodes from named starts, raw rewards
    Eval(eval::Args),
    /// Write a run's policy as safetensors, with PyTorch's names and layouts
    Export(export::Args),
    /// Compare the MinAtar games with recorded runs of the Python package
    Minatar(minatar::Args),
    /// Watch an agent in the terminal, or play a game yourself
    Play(play::Args),
    /// Make tables, figures and one page of many runs
    Report(report::Args),
    /// Show where σ is small and large, and measure whether the risk is there
    Risk(risk::Args),
    /// Find, fetch and check the ROMs of the Atari games
    Roms(roms::Args),
    /// List runs, show one, print the digest of its state
    Runs(runs::Args),
    /// Run many runs from one file: games, agents, seeds, settings
    Suite(suite::Args),
    /// Write a few learn steps with all their inputs and results, for a check with PyTorch
    TraceLearning(trace_learning::Args),
    /// Train an agent in a world; the same command again goes on where it stopped
    Train(train::Args),
    /// Show the runs as a live page in the browser
    Watch(watch::Args),
}

/// Does it.
pub fn run(command: Command, output: &Output) -> Outcome {
    match command {
        Command::Agents(args) => agents::run(args, output),
        Command::Atari(args) => atari::run(args, output),
        Command::Bench(args) => bench::run(args, output),
        Command::Config(args) => config::run(args, output),
        Command::Eval(args) => eval::run(args, output),
        Command::Export(args) => export::run(args, output),
        Command::Minatar(args) => minatar::run(args, output),
        Command::Play(args) => play::run(args, output),
        Command::Report(args) => report::run(args, output),
        Command::Risk(args) => risk::run(args, output),
        Command::Roms(args) => roms::run(args, output),
        Command::Runs(args) => runs::run(args, output),
        Command::Suite(args) => suite::run(args, output),
        Command::TraceLearning(args) => trace_learning::run(args, output),
        Command::Train(args) => train::run(args, output),
        Command::Watch(args) => watch::run(args, output),
    }
}
