//! `sane risk film`: the film of `sane film`, for agents whose σ(s) it shows.

use crate::args::{LoadedRun, RunSelection};
use crate::commands::film::{FilmPart, record};
use crate::failure::{Outcome, classify};
use crate::output::Output;
use sane_lab::risk::require_sigma;
use std::path::PathBuf;

/// Record an episode as a film: the picture, σ below it, marks where the noise changed the action
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    sane risk film runs/boxing/q-sane/seed-1                          # into its folder risk/film.gif\n  \
    sane risk film runs/boxing/q-sane/seed-1 --episode 3 --from 200 --length 150 -o fight.gif\n  \
    sane risk film runs/risky-road/sane/seed-1 --frames pictures      # also a PNG per interaction\n\n\
    `sane film` is the same for any agent. One picture per interaction, at the speed of the game (15 per second on Atari). An \
    orange border and an orange tick mean that the network without noise would have chosen another action.")]
pub struct Args {
    /// File to write, .gif or .mp4 [default: risk/film.gif in the run folder]
    #[arg(long, short, value_name = "OUT.gif|OUT.mp4")]
    output: Option<PathBuf>,
    #[command(flatten)]
    part: FilmPart,
    #[command(flatten)]
    selection: RunSelection,
}

pub fn run(args: Args, output: &Output) -> Outcome {
    let LoadedRun { trained, .. } = args.selection.load(output)?;
    require_sigma(&trained).map_err(classify)?;
    let path = args.output.unwrap_or_else(|| args.selection.run.join("risk/film.gif"));
    record(&trained, &path, &args.part, args.selection.roms.folder(), output)
}
