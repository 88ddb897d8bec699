//! `sane export`: a trained policy as a file that PyTorch reads.

use crate::output::{Outcome, Output};
use sane_env::AgentSteps;
use sane_lab::{WorldSource, export_policy, read_config, read_trained};
use std::path::PathBuf;

/// Writes a run's policy as safetensors, with PyTorch's names and layouts
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    sane export runs/boxing/q-sane/seed-1 -o policy.safetensors\n  \
    sane eval runs/boxing/q-sane/seed-1 --dump-states 100 -o states.safetensors\n  \
    python tools/load_policy.py policy.safetensors states.safetensors    # the same action values, computed with numpy")]
pub struct Args {
    /// Folder of the run
    run: PathBuf,
    /// The file to write
    #[arg(short, long, value_name = "FILE.safetensors")]
    output: PathBuf,
    /// The checkpoint at this interaction instead of the newest
    #[arg(long, value_name = "N")]
    checkpoint: Option<u64>,
    /// Folder with Atari ROMs, looked at before all others
    #[arg(long, value_name = "DIR")]
    roms: Option<PathBuf>,
}

/// Exports.
pub fn run(args: Args, output: &Output) -> Outcome {
    let config = read_config(&args.run)?;
    let source = WorldSource::open(&config.world, args.roms.as_deref(), &mut |news| output.note(news))?;
    let trained = read_trained(&args.run, &source, args.checkpoint.map(AgentSteps))?;
    trained.notes.iter().for_each(|note| output.note(note));
    export_policy(&trained, &args.output)?;
    let (agent, world, steps) = (&config.agent, &config.world.name, trained.interactions.0);
    output.note(format_args!("{agent} on {world} after {steps} interactions written to {}", args.output.display()));
    Ok(())
}
