//! `sane export`: a trained policy as a file that PyTorch reads.

use crate::args::{LoadedRun, RunSelection};
use crate::failure::Outcome;
use crate::output::Output;
use sane_lab::export_policy;
use std::path::PathBuf;

/// Write a run's policy as safetensors, with PyTorch's names and layouts
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    sane export runs/boxing/q-sane/seed-1 -o policy.safetensors\n  \
    sane eval runs/boxing/q-sane/seed-1 --dump-states 100 -o states.safetensors\n  \
    python tools/load_policy.py policy.safetensors states.safetensors\n\n\
    The last line computes the same action values with numpy.")]
pub struct Args {
    /// File to write
    #[arg(short, long, value_name = "FILE.safetensors")]
    output: PathBuf,
    #[command(flatten)]
    selection: RunSelection,
}

pub fn run(args: Args, output: &Output) -> Outcome {
    let LoadedRun { trained, .. } = args.selection.load(output)?;
    export_policy(&trained, &args.output)?;
    let (agent, world, steps) = (&trained.config.agent, &trained.config.world.name, trained.interactions.0);
    output.note(format_args!("{agent} on {world} after {steps} interactions written to {}", args.output.display()));
    Ok(())
}
