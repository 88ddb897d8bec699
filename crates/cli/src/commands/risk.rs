//! `sane risk`: the states that σ singles out, as pictures and films, and whether small σ means high risk. Here: the
//! options that the three subcommands share, and the files they write.

mod audit;
mod film;
mod gallery;

use crate::args::{LoadedRun, RunSelection};
use crate::commands::film::{raster, remove_stale};
use crate::failure::{Failure, Outcome};
use crate::output::Output;
use anyhow::Context;
use clap::{Subcommand, ValueEnum};
use sane_lab::risk::RiskProbe;
use sane_lab::{NoiseMode, stop_on_signals};
use sane_report::OutputFile;
use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Show the states with small and large σ, and test whether small σ means high risk
#[derive(Debug, clap::Args)]
#[command(
    arg_required_else_help = true,
    subcommand_required = true,
    after_help = "Examples:\n  \
    sane risk gallery runs/boxing/q-sane/seed-1         # pictures of the states with extreme σ\n  \
    sane risk film runs/boxing/q-sane/seed-1            # a GIF of an episode with σ below it\n  \
    sane risk audit runs/risky-road/sane/seed-1         # correlation of σ with measured risk\n\n\
    Gallery and film need an agent with a state-dependent σ(s), such as sane or q-sane; an audit needs an agent with noise; \
    `sane film` films any agent. docs/risk.md explains the numbers."
)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Measure whether low σ means high risk
    Audit(audit::Args),
    /// Record an episode as a film, with σ below the picture
    Film(film::Args),
    /// Show the states with the smallest and largest |σ| of an evaluation
    Gallery(gallery::Args),
}

pub fn run(args: Args, output: &Output) -> Outcome {
    match args.action {
        Action::Audit(args) => audit::run(args, output),
        Action::Film(args) => film::run(args, output),
        Action::Gallery(args) => gallery::run(args, output),
    }
}

/// Which run to inspect, and from which starts.
#[derive(Debug, clap::Args)]
struct Inspection {
    #[command(flatten)]
    selection: RunSelection,
    /// Seed from which the starts of the episodes are drawn
    #[arg(long, value_name = "S", default_value_t = 0)]
    start_seed: u64,
}

/// Whether the policy plays with its noise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Noise {
    /// No noise, no exploration
    Off,
    /// With noise
    On,
}

/// A run that was read, and the stop signal.
struct InspectedRun {
    run: LoadedRun,
    start_seed: u64,
    stop: Arc<AtomicBool>,
}

impl Inspection {
    fn load(&self, output: &Output) -> Result<InspectedRun, Failure> {
        Ok(InspectedRun { run: self.selection.load(output)?, start_seed: self.start_seed, stop: stop_on_signals()? })
    }

    fn folder(&self) -> &Path {
        &self.selection.run
    }
}

impl InspectedRun {
    fn probe(&self, noise: Noise) -> RiskProbe<'_> {
        let Self { run: LoadedRun { trained, source }, start_seed, stop } = self;
        let noise = match noise {
            Noise::Off => NoiseMode::Off,
            Noise::On => NoiseMode::On,
        };
        RiskProbe { trained, source, noise, start_seed: *start_seed, stop }
    }
}

/// Writes files below a folder.
fn write_all(folder: &Path, files: &[OutputFile]) -> Result<(), Failure> {
    for file in files {
        let path = folder.join(&file.path);
        let parent = path.parent().unwrap_or(folder);
        fs::create_dir_all(parent).with_context(|| format!("cannot create {}", parent.display()))?;
        fs::write(&path, &file.bytes).with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}
