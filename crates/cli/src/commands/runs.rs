//! `sane runs`: run folders: their progress, the digest of their state, and deleting old ones.

use crate::args::RomsOption;
use crate::failure::Outcome;
use crate::output::Output;
use anyhow::Context;
use clap::Subcommand;
use sane_env::AgentSteps;
use sane_lab::{Digest, RunSummary, WorldSource, find_old_runs, find_runs, read_config, read_run, to_toml};
use serde_json::json;
use std::path::{Path, PathBuf};

/// List runs, show one, print the digest of its state, delete replaced ones
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    sane runs list                              # all runs below runs/\n  \
    sane runs show runs/boxing/sane/seed-1\n  \
    sane runs hash runs/boxing/sane/seed-1      # equal digests mean equal states, bit for bit\n  \
    sane runs prune --yes                       # delete the runs that `sane train --fresh` renamed")]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// List all runs below a folder
    List {
        /// The folder
        #[arg(default_value = "runs")]
        root: PathBuf,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Show one run: its progress, results and settings
    Show {
        /// Folder of the run
        run: PathBuf,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Print the digest of a run's state: parameters, optimiser, target, replay, random streams, world, counters
    Hash {
        /// Folder of the run
        run: PathBuf,
        /// Use the checkpoint at this interaction [default: the newest]
        #[arg(long, value_name = "N")]
        checkpoint: Option<u64>,
        /// Print the digest of each part as well
        #[arg(long)]
        parts: bool,
        #[command(flatten)]
        roms: RomsOption,
    },
    /// Delete the old runs that `sane train --fresh` renamed; without --yes, only list them
    Prune {
        /// The folder
        #[arg(default_value = "runs")]
        root: PathBuf,
        /// Delete them
        #[arg(long)]
        yes: bool,
    },
}

pub fn run(args: Args, output: &Output) -> Outcome {
    match args.action {
        Action::List { root, json } => list(&root, json, *output),
        Action::Show { run, json } => show(&run, json, *output),
        Action::Hash { run, checkpoint, parts, roms } => hash(&run, checkpoint, parts, roms.folder(), *output),
        Action::Prune { root, yes } => prune(&root, yes, *output),
    }
}

fn list(root: &Path, as_json: bool, output: Output) -> Outcome {
    let summaries = find_runs(root)?.iter().map(|run| RunSummary::read(run)).collect::<Result<Vec<_>, _>>()?;
    if as_json {
        output.result(serde_json::to_string_pretty(&summaries.iter().map(as_value).collect::<Vec<_>>())?);
        return Ok(());
    }
    if summaries.is_empty() {
        output.note(format_args!("no runs below {}", root.display()));
        return Ok(());
    }
    output.result(format_args!("{:<44}{:>12}{:>12}{:>10}{:>10}  state", "run", "interactions", "of", "return", "MB"));
    for summary in summaries {
        output.result(format_args!(
            "{:<44}{:>12}{:>12}{:>10}{:>10.1}  {}",
            summary.folder.display(),
            summary.interactions,
            summary.config.training.total_interactions.0,
            summary.mean_return.map_or("-".into(), |mean| format!("{mean:.2}")),
            summary.disk_bytes as f64 / 1e6,
            if summary.finished { "finished" } else { "unfinished" },
        ));
    }
    Ok(())
}

fn show(run: &Path, as_json: bool, output: Output) -> Outcome {
    let summary = RunSummary::read(run)?;
    if as_json {
        output.result(serde_json::to_string_pretty(&as_value(&summary))?);
        return Ok(());
    }
    let line = |key: &str, value: String| output.result(format_args!("{key:<24}{value}"));
    line("run", summary.folder.display().to_string());
    line("interactions", format!("{} of {}", summary.interactions, summary.config.training.total_interactions.0));
    line("episodes", summary.episodes.to_string());
    line("return (last 100)", summary.mean_return.map_or("-".into(), |mean| format!("{mean:.2}")));
    if let Some(bad) = summary.bad_episodes {
        line("bad episodes", format!("{bad} (by the world's own criterion)"));
    }
    if let Some(episode) = summary.solved_at_episode {
        line("solved at episode", episode.to_string());
    }
    line("state", if summary.finished { "finished".into() } else { "unfinished".to_owned() });
    if let Some(why) = summary.config.world.not_bit_exact() {
        line("resumed runs", format!("not bit-exact: {why}"));
    }
    line("interactions per second", summary.interactions_per_second.map_or("-".into(), |speed| format!("{speed:.0}")));
    line("disk", format!("{:.1} MB", summary.disk_bytes as f64 / 1e6));
    output.result(format_args!("\n{}", to_toml(&summary.config).trim_end()));
    Ok(())
}

fn hash(run: &Path, checkpoint: Option<u64>, parts: bool, roms: Option<&Path>, output: Output) -> Outcome {
    let source = WorldSource::open(&read_config(run)?.world, roms, &mut |message| output.note(message))?;
    let digest = Digest::of(&read_run(run, &source, checkpoint.map(AgentSteps))?);
    output.result(format_args!("{digest}  interactions {}", digest.interactions.0));
    if parts {
        for (part, hash) in &digest.sections {
            output.result(format_args!("{}  {part}", hash.to_hex()));
        }
    }
    Ok(())
}

fn prune(root: &Path, confirmed: bool, output: Output) -> Outcome {
    let old = find_old_runs(root)?;
    let bytes: u64 = old.iter().map(|(_, bytes)| bytes).sum();
    for (folder, bytes) in &old {
        output.result(format_args!("{:<60}{:>10.1} MB", folder.display(), *bytes as f64 / 1e6));
        if confirmed {
            std::fs::remove_dir_all(folder).with_context(|| format!("cannot delete {}", folder.display()))?;
        }
    }
    let action = if confirmed { "deleted" } else { "to delete with --yes" };
    output.note(format_args!("{} old runs, {:.1} MB {action}", old.len(), bytes as f64 / 1e6));
    Ok(())
}

fn as_value(summary: &RunSummary) -> serde_json::Value {
    json!({
        "run": summary.folder,
        "world": summary.config.world.name,
        "agent": summary.config.agent,
        "seed": summary.config.seed,
        "interactions": summary.interactions,
        "total_interactions": summary.config.training.total_interactions.0,
        "episodes": summary.episodes,
        "return_mean_last_100": summary.mean_return,
        "bad_episodes": summary.bad_episodes,
        "solved_at_episode": summary.solved_at_episode,
        "finished": summary.finished,
        "not_bit_exact": summary.config.world.not_bit_exact(),
        "interactions_per_second": summary.interactions_per_second,
        "disk_bytes": summary.disk_bytes,
    })
}
