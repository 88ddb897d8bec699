//! The command line as a type, and the options that several commands share. Each command's own arguments are in its file.

use crate::commands::Command;
use crate::failure::Failure;
use crate::output::Output;
use clap::Parser;
use sane_env::AgentSteps;
use sane_lab::{TrainedAgent, WorldSource, read_config, read_trained};
use std::path::{Path, PathBuf};

/// Deep Q-networks that explore by state-aware noise: train, evaluate, compare and inspect them
#[derive(Debug, Parser)]
#[command(name = "sane", version, arg_required_else_help = true, subcommand_required = true)]
pub struct Cli {
    /// Print only results, warnings of damage and errors; no notes, no progress bars
    #[arg(long, short, global = true, display_order = 900)]
    pub quiet: bool,
    #[command(subcommand)]
    pub command: Command,
}

/// Where ROMs are searched first.
#[derive(Debug, Clone, clap::Args)]
pub struct RomsOption {
    /// Folder with Atari ROMs, searched before all others
    #[arg(long = "roms", value_name = "DIR")]
    folder: Option<PathBuf>,
}

impl RomsOption {
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }
}

/// Run selection: a run folder and one of its checkpoints.
#[derive(Debug, clap::Args)]
pub struct RunSelection {
    /// Folder of the run
    pub run: PathBuf,
    /// Use the checkpoint at this interaction [default: the newest]
    #[arg(long, value_name = "N")]
    checkpoint: Option<u64>,
    #[command(flatten)]
    pub roms: RomsOption,
}

impl RunSelection {
    pub fn load(&self, output: &Output) -> Result<LoadedRun, Failure> {
        LoadedRun::read(&self.run, self.checkpoint, &self.roms, output)
    }
}

/// A trained policy read from its run folder, and the source of the worlds it was trained in.
pub struct LoadedRun {
    pub trained: TrainedAgent,
    pub source: WorldSource,
}

impl LoadedRun {
    /// Reads the newest checkpoint, or the one at this interaction; changes nothing in the folder.
    pub fn read(folder: &Path, checkpoint: Option<u64>, roms: &RomsOption, output: &Output) -> Result<Self, Failure> {
        let config = read_config(folder)?;
        let source = WorldSource::open(&config.world, roms.folder(), &mut |message| output.note(message))?;
        let trained = read_trained(folder, &source, checkpoint.map(AgentSteps))?;
        trained.warnings.iter().for_each(|warning| output.warn(warning));
        Ok(Self { trained, source })
    }
}

/// Parses a probability.
pub fn probability(text: &str) -> Result<f32, String> {
    let value = text.parse().ok().filter(|value| (0.0..=1.0).contains(value));
    value.ok_or_else(|| format!("expected a probability from 0 to 1, found {text}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    /// The command lines of a page's shell blocks that call `sane`, without comments, continued lines joined.
    fn commands(page: &str) -> Vec<String> {
        let joined = page.replace("\\\n", " ");
        let mut in_shell = false;
        let mut found = Vec::new();
        for line in joined.lines() {
            if let Some(language) = line.strip_prefix("```") {
                in_shell = !in_shell && matches!(language, "sh" | "bash");
            } else if in_shell {
                let line = line.replacen("cargo run --release --", "sane", 1);
                let command = line.split(" #").next().expect("split gives at least one part");
                found.extend(command.starts_with("sane ").then(|| command.to_owned()));
            }
        }
        found
    }

    #[test]
    fn every_command_in_the_documents_is_accepted() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut pages = vec![root.join("README.md")];
        for folder in ["docs", "docs/results"] {
            pages.extend(fs::read_dir(root.join(folder)).unwrap().map(|entry| entry.unwrap().path()));
        }
        let mut count = 0;
        for page in pages.into_iter().filter(|page| page.extension().is_some_and(|extension| extension == "md")) {
            for command in commands(&fs::read_to_string(&page).unwrap()) {
                let parsed = Cli::try_parse_from(command.split_whitespace());
                assert!(parsed.is_ok(), "{}: {command}\n{}", page.display(), parsed.unwrap_err());
                count += 1;
            }
        }
        assert!(60 < count, "only {count} commands were found");
    }
}
