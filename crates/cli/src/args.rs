//! The command line as a type, and the options that several commands share. Each command's own arguments are in its file.

use crate::commands::Command;
use crate::failure::Failure;
use crate::output::Output;
use clap::Parser;
use sane_env::AgentSteps;
use sane_lab::{CheckpointChoice, TrainedAgent, WorldSource, read_config, read_trained};
use sane_stats::number_format::parse_count;
use std::ops::{Bound, RangeBounds};
use std::path::{Path, PathBuf};

/// Deep Q-networks that explore by state-aware noise: train, evaluate, compare and inspect them
#[derive(Debug, Parser)]
#[command(name = "sane", version = crate::version::text(), arg_required_else_help = true, subcommand_required = true)]
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
    #[arg(long = "roms", value_name = "DIR", value_parser = existing_folder)]
    folder: Option<PathBuf>,
}

impl RomsOption {
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }
}

/// Which checkpoint of a run is used.
#[derive(Debug, Clone, Copy, clap::Args)]
pub struct CheckpointOption {
    /// Use the checkpoint at this interaction, or the best one that an evaluation while training has kept
    /// [default: the newest]
    #[arg(long, value_name = "N|best", value_parser = checkpoint_choice)]
    checkpoint: Option<CheckpointChoice>,
}

impl CheckpointOption {
    pub fn choice(self) -> CheckpointChoice {
        self.checkpoint.unwrap_or_default()
    }

    pub fn is_given(self) -> bool {
        self.checkpoint.is_some()
    }
}

fn checkpoint_choice(text: &str) -> Result<CheckpointChoice, String> {
    match text {
        "best" => Ok(CheckpointChoice::Best),
        _ => match text.parse() {
            Ok(interactions) => Ok(CheckpointChoice::At(AgentSteps(interactions))),
            Err(_) => Err(format!("expected a number of interactions, or best; found {text}")),
        },
    }
}

/// Run selection: a run folder and one of its checkpoints.
#[derive(Debug, clap::Args)]
pub struct RunSelection {
    /// Folder of the run
    pub run: PathBuf,
    #[command(flatten)]
    pub checkpoint: CheckpointOption,
    #[command(flatten)]
    pub roms: RomsOption,
}

impl RunSelection {
    pub fn load(&self, output: &Output) -> Result<LoadedRun, Failure> {
        LoadedRun::read(&self.run, self.checkpoint.choice(), &self.roms, output)
    }
}

/// A trained policy read from its run folder, and the source of the worlds it was trained in.
pub struct LoadedRun {
    pub trained: TrainedAgent,
    pub source: WorldSource,
}

impl LoadedRun {
    /// Reads a checkpoint; changes nothing in the folder.
    pub fn read(
        folder: &Path,
        checkpoint: CheckpointChoice,
        roms: &RomsOption,
        output: &Output,
    ) -> Result<Self, Failure> {
        let config = read_config(folder)?;
        let source = WorldSource::open(&config.world, roms.folder(), &mut |message| output.note(message))?;
        let trained = read_trained(folder, &source, checkpoint)?;
        trained.warnings.iter().for_each(|warning| output.warn(warning));
        Ok(Self { trained, source })
    }
}

/// Parses a count as people write it: `200000`, `1_000_000`, `1e6`, `200k`, `25M`.
pub fn count(text: &str) -> Result<u64, String> {
    parse_count(text)
}

/// The same within a range.
pub fn count_in(
    range: impl RangeBounds<u64> + Clone + Send + Sync + 'static,
) -> impl Fn(&str) -> Result<u64, String> + Clone + Send + Sync + 'static {
    move |text| {
        let value = parse_count(text)?;
        let least = match range.start_bound() {
            Bound::Included(&least) => least,
            Bound::Excluded(&below) => below + 1,
            Bound::Unbounded => 0,
        };
        let most = match range.end_bound() {
            Bound::Included(&most) => Some(most),
            Bound::Excluded(&above) => Some(above - 1),
            Bound::Unbounded => None,
        };
        match (range.contains(&value), most) {
            (true, _) => Ok(value),
            (false, Some(most)) => Err(format!("expected a number from {least} to {most}, found {value}")),
            (false, None) => Err(format!("expected at least {least}, found {value}")),
        }
    }
}

/// Parses the path of a folder, which must exist.
fn existing_folder(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    match std::fs::metadata(&path) {
        Ok(found) if found.is_dir() => Ok(path),
        Ok(_) => Err("it is a file, not a folder".into()),
        Err(error) => Err(format!("no such folder: {error}")),
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

    /// The command lines of a page's shell blocks that call `sane`, without comments and redirections, continued lines joined.
    fn commands(page: &str) -> Vec<String> {
        let joined = page.replace("\\\n", " ");
        let mut in_shell = false;
        let mut found = Vec::new();
        for line in joined.lines() {
            if let Some(language) = line.strip_prefix("```") {
                in_shell = !in_shell && matches!(language, "sh" | "bash");
            } else if in_shell {
                let line = line.replacen("cargo run --release --", "sane", 1);
                let command = line.split(" #").next().and_then(|line| line.split(" > ").next()).unwrap_or_default();
                found.extend(command.starts_with("sane ").then(|| command.to_owned()));
            }
        }
        found
    }

    #[test]
    fn a_count_in_a_range_is_read_as_people_write_it_and_refused_outside() {
        let read = count_in(1..=1_000);
        assert_eq!((read("1k"), read("1e2")), (Ok(1_000), Ok(100)));
        assert_eq!(read("2k").unwrap_err(), "expected a number from 1 to 1000, found 2000");
        assert_eq!(count_in(2..)("1").unwrap_err(), "expected at least 2, found 1");
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
