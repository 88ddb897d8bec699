//! `sane runs`: what was run, how far it came, what state it is in, and tidying up.

use crate::output::{Outcome, Output};
use anyhow::Context;
use clap::Subcommand;
use sane_env::AgentSteps;
use sane_lab::{Digest, RunSummary, WorldSource, find_old_runs, find_runs, read_config, read_run, to_toml};
use serde_json::json;
use std::path::{Path, PathBuf};

/// Lists runs, shows one, prints the digest of its state, frees disk space
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    sane runs list                                          # everything below runs/\n  \
    sane runs show runs/boxing/sane/seed-1\n  \
    sane runs hash runs/boxing/sane/seed-1                  # equal digests: the same state, bit for bit\n  \
    sane runs prune --yes                                   # deletes what `sane train --fresh` moved aside")]
pub struct Args {
    #[command(subcommand)]
    deed: Deed,
}

#[derive(Debug, Subcommand)]
enum Deed {
    /// All runs below a folder
    List {
        /// The folder
        #[arg(default_value = "runs")]
        root: PathBuf,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// One run: how far it came, its settings
    Show {
        /// Folder of the run
        run: PathBuf,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// The digest of a run's state: parameters, optimiser, target, replay, random streams, world, counters
    Hash {
        /// Folder of the run
        run: PathBuf,
        /// The checkpoint at this interaction instead of the newest
        #[arg(long, value_name = "N")]
        checkpoint: Option<u64>,
        /// Also the digest of each part
        #[arg(long)]
        parts: bool,
        /// Folder with Atari ROMs, looked at before all others
        #[arg(long, value_name = "DIR")]
        roms: Option<PathBuf>,
    },
    /// Delete the old runs that `sane train --fresh` moved aside; without --yes, only list them
    Prune {
        /// The folder
        #[arg(default_value = "runs")]
        root: PathBuf,
        /// Really delete them
        #[arg(long)]
        yes: bool,
    },
}

/// Does it.
pub fn run(args: Args, output: &Output) -> Outcome {
    match args.deed {
        Deed::List { root, json } => list(&root, json, *output),
        Deed::Show { run, json } => show(&run, json, *output),
        Deed::Hash { run, checkpoint, parts, roms } => hash(&run, checkpoint, parts, roms.as_deref(), *output),
        Deed::Prune { root, yes } => prune(&root, yes, *output),
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
    let say = |key: &str, value: String| output.result(format_args!("{key:<24}{value}"));
    say("run", summary.folder.display().to_string());
    say("interactions", format!("{} of {}", summary.interactions, summary.config.training.total_interactions.0));
    say("episodes", summary.episodes.to_string());
    say("return (last 100)", summary.mean_return.map_or("-".into(), |mean| format!("{mean:.2}")));
    if let Some(bad) = summary.bad_episodes {
        say("bad episodes", format!("{bad} (by the world's own criterion)"));
    }
    if let Some(episode) = summary.solved_at_episode {
        say("solved at episode", episode.to_string());
    }
    say("state", if summary.finished { "finished".into() } else { "unfinished".to_owned() });
    if let Some(why) = summary.config.world.not_bit_exact() {
        say("resumed runs", format!("not bit-exact: {why}"));
    }
    say("interactions per second", summary.interactions_per_second.map_or("-".into(), |speed| format!("{speed:.0}")));
    say("disk", format!("{:.1} MB", summary.disk_bytes as f64 / 1e6));
    output.result(format_args!("\n{}", to_toml(&summary.config).trim_end()));
    Ok(())
}

fn hash(run: &Path, checkpoint: Option<u64>, parts: bool, roms: Option<&Path>, output: Output) -> Outcome {
    let source = WorldSource::open(&read_config(run)?.world, roms, &mut |news| output.note(news))?;
    let digest = Digest::of(&read_run(run, &source, checkpoint.map(AgentSteps))?);
    output.result(format_args!("{digest}  interactions {}", digest.interactions.0));
    if parts {
        for (part, hash) in &digest.parts {
            output.result(format_args!("{}  {part}", hash.to_hex()));
        }
    }
    Ok(())
}

fn prune(root: &Path, really: bool, output: Output) -> Outcome {
    let old = find_old_runs(root)?;
    let bytes: u64 = old.iter().map(|(_, bytes)| bytes).sum();
    for (folder, bytes) in &old {
        output.result(format_args!("{:<60}{:>10.1} MB", folder.display(), *bytes as f64 / 1e6));
        if really {
            std::fs::remove_dir_all(folder).with_context(|| format!("cannot delete {}", folder.display()))?;
        }
    }
    let deed = if really { "deleted" } else { "to delete with --yes" };
    output.note(format_args!("{} old runs, {:.1} MB {deed}", old.len(), bytes as f64 / 1e6));
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
