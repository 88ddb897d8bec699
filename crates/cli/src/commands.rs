//! The commands, one file each: arguments, help, and what the command does.

mod agents;
mod atari;
mod bench;
mod completions;
mod config;
mod eval;
mod export;
mod film;
mod frontier;
mod man;
mod minatar;
mod play;
mod report;
mod risk;
mod roms;
mod runs;
mod suite;
mod trace_learning;
mod train;
mod verify;
mod watch;

use crate::failure::Outcome;
use crate::output::Output;
use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub enum Command {
    /// List the agents: what they are, how many parameters they learn
    Agents(agents::Args),
    /// Compare the Atari games with recorded runs of the Arcade Learning Environment
    Atari(atari::Args),
    /// Measure the speed of the emulator, the engine, the replay and training on this machine
    Bench(bench::Args),
    /// Print completions for a shell
    Completions(completions::Args),
    /// Show the settings of a run: resolved, compared, explained
    Config(config::Args),
    /// Evaluate a trained policy: whole episodes from seeded starts, raw rewards
    Eval(eval::Args),
    /// Write a run's policy as safetensors, with PyTorch's names and layouts
    Export(export::Args),
    /// Record an episode of any agent as a film, GIF or MP4
    Film(film::Args),
    /// Compare agents by what their exploration costs, at equal shares of exploratory actions
    Frontier(frontier::Args),
    /// Print the manual page, or write one page per command
    Man(man::Args),
    /// Compare the MinAtar games with recorded runs of the Python package
    Minatar(minatar::Args),
    /// Show an agent playing in the terminal, or play a game yourself
    Play(play::Args),
    /// Make tables, figures and one page of many runs
    Report(report::Args),
    /// Show the states with small and large σ, and test whether small σ means high risk
    Risk(risk::Args),
    /// Find, download and check the ROMs of the Atari games
    Roms(roms::Args),
    /// List runs, show one, print the digest of its state, export it
    Runs(runs::Args),
    /// Run many runs from one file: games, agents, seeds, settings
    Suite(suite::Args),
    /// Write a few learn steps with all their inputs and results, for a check with PyTorch
    TraceLearning(trace_learning::Args),
    /// Train an agent in a world; the same command again resumes a stopped run
    Train(train::Args),
    /// Play the actions of an evaluation again and see whether its scores come out; no network, no policy
    Verify(verify::Args),
    /// Show the runs as a live page in the browser
    Watch(watch::Args),
}

pub fn run(command: Command, output: &Output) -> Outcome {
    match command {
        Command::Agents(args) => agents::run(args, output),
        Command::Atari(args) => atari::run(args, output),
        Command::Bench(args) => bench::run(args, output),
        Command::Completions(args) => completions::run(args, output),
        Command::Config(args) => config::run(args, output),
        Command::Eval(args) => eval::run(args, output),
        Command::Export(args) => export::run(args, output),
        Command::Film(args) => film::run(args, output),
        Command::Frontier(args) => frontier::run(args, output),
        Command::Man(args) => man::run(args, output),
        Command::Minatar(args) => minatar::run(args, output),
        Command::Play(args) => play::run(args, output),
        Command::Report(args) => report::run(args, output),
        Command::Risk(args) => risk::run(args, output),
        Command::Roms(args) => roms::run(args, output),
        Command::Runs(args) => runs::run(args, output),
        Command::Suite(args) => suite::run(args, output),
        Command::TraceLearning(args) => trace_learning::run(args, output),
        Command::Train(args) => train::run(args, output),
        Command::Verify(args) => verify::run(args, output),
        Command::Watch(args) => watch::run(args, output),
    }
}
