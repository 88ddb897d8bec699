//! `sane play`: an agent in the terminal, or a person at the keyboard.

mod agent;
mod half_blocks;
mod human;
mod keys;
mod pace;
mod terminal;

use crate::output::{Outcome, Output};
use std::path::PathBuf;

/// The last line of the screen while the game stands still.
const PAUSED: &str = "paused   p goes on   r starts anew   q quits";

/// Shows an agent in the terminal, or lets a person play
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    sane play runs/boxing/q-sane/seed-1             # watch an agent; n switches its noise on and off\n  \
    sane play boxing --human                        # arrow keys and space\n  \
    sane play minatar/breakout --human --fps 6      # slower\n  \
    sane play runs/risky-road/sane/seed-1 --fps 4\n\n\
    Keys: q or Esc quits, p pauses, r starts the next episode; n (agent) noise on or off. A person steers with the arrow \
    keys and fires with space. The picture fits itself to the terminal: the larger the window and the smaller the font, \
    the finer. A terminal that shows 24-bit colour is needed.")]
pub struct Args {
    /// Folder of a run; with --human, a world: an Atari game, `minatar/GAME`, `deep-sea/SIZE`, `risky-road`
    target: String,
    /// Play yourself
    #[arg(long)]
    human: bool,
    /// Pictures per second [default: the game's own speed: 60 on Atari for a person, 15 decisions for an agent, else 8]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=240))]
    fps: Option<u16>,
    /// The checkpoint at this interaction instead of the newest
    #[arg(long, value_name = "N", conflicts_with = "human")]
    checkpoint: Option<u64>,
    /// Seed the starts of the episodes come from
    #[arg(long, value_name = "S", default_value_t = 0)]
    start_seed: u64,
    /// Folder with Atari ROMs, looked at before all others
    #[arg(long, value_name = "DIR")]
    roms: Option<PathBuf>,
}

/// Plays until somebody quits.
pub fn run(args: Args, output: &Output) -> Outcome {
    if args.human { human::play(&args, output) } else { agent::play(&args, output) }
}
