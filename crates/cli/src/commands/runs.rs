//! `sane runs`: run folders: their progress, the digest of their state, whether they are whole, and deleting old ones.

use crate::args::{CheckpointOption, RomsOption};
use crate::failure::{Failure, Outcome};
use crate::output::Output;
use clap::Subcommand;
use sane_lab::{
    CheckpointChoice, Digest, FoundFolders, LabError, RunSummary, WorldSource, check_run, find_old_runs, find_runs,
    inspect_run, read_config, to_toml,
};
use sane_record::RunSearch;
use sane_record::export::{ExportRun, TableFormat, export_mlflow, export_tables, export_wandb};
use sane_stats::number_format::counted;
use serde_json::json;
use std::path::{Path, PathBuf};

/// List runs, show one, print the digest of its state, check it, export it, delete replaced ones
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    sane runs list                              # all runs below runs/, and the digests of the finished ones\n  \
    sane runs show runs/boxing/sane/seed-1\n  \
    sane runs hash runs/boxing/sane/seed-1      # equal digests mean equal states, bit for bit\n  \
    sane runs check runs/boxing/sane/seed-1     # read everything it holds and say what is damaged\n  \
    sane runs export runs --csv tables          # episodes, intervals, evaluations and settings as tables\n  \
    sane runs export runs --mlflow mlruns       # for MLflow; --parquet, --wandb-offline\n  \
    sane runs prune                             # list the runs that `sane train --fresh` set aside\n  \
    sane runs prune --yes                       # delete them")]
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
        #[command(flatten)]
        checkpoint: CheckpointOption,
        /// Print the digest of each part as well
        #[arg(long)]
        parts: bool,
        #[command(flatten)]
        roms: RomsOption,
    },
    /// Read a run whole and say what is damaged: checkpoints, replay, records; exit code 1 if anything is
    Check {
        /// Folder of the run
        run: PathBuf,
        /// Print JSON
        #[arg(long)]
        json: bool,
        #[command(flatten)]
        roms: RomsOption,
    },
    /// Write runs for other programs: tables, MLflow, Weights & Biases; run folders stay as they are
    #[command(after_help = "Examples:\n  \
        sane runs export runs/boxing/sane/seed-1 --csv tables      # pandas.read_csv(\"tables/episodes.csv\")\n  \
        sane runs export runs --parquet tables                     # pandas.read_parquet(\"tables/intervals.parquet\")\n  \
        sane runs export runs --mlflow mlruns                      # MLFLOW_ALLOW_FILE_STORE=true mlflow ui --backend-store-uri mlruns\n  \
        sane runs export runs --wandb-offline wandb                # wandb sync wandb/offline-run-*\n\n\
        A run that is exported again replaces what was exported before. A damaged run is set aside with one line.\n\
        TensorBoard reads run folders as they are, hyperparameters included: tensorboard --logdir runs")]
    Export {
        /// Folders of runs, or folders with runs below them
        #[arg(required = true)]
        runs: Vec<PathBuf>,
        #[command(flatten)]
        formats: Formats,
    },
    /// List the old runs that `sane train --fresh` set aside; with --yes, delete them
    Prune {
        /// The folder
        #[arg(default_value = "runs")]
        root: PathBuf,
        /// Delete them
        #[arg(long)]
        yes: bool,
    },
}

/// Where runs are exported to.
#[derive(Debug, clap::Args)]
#[group(required = true, multiple = true)]
struct Formats {
    /// Folder for tables as CSV: episodes, intervals, evaluations, runs
    #[arg(long, value_name = "DIR")]
    csv: Option<PathBuf>,
    /// Folder for the same tables as Parquet
    #[arg(long, value_name = "DIR")]
    parquet: Option<PathBuf>,
    /// Folder of an MLflow file store
    #[arg(long, value_name = "DIR")]
    mlflow: Option<PathBuf>,
    /// Folder for offline runs of Weights & Biases
    #[arg(long, value_name = "DIR")]
    wandb_offline: Option<PathBuf>,
}

pub fn run(args: Args, output: &Output) -> Outcome {
    match args.action {
        Action::List { root, json } => list(&root, json, *output),
        Action::Show { run, json } => show(&run, json, *output),
        Action::Hash { run, checkpoint, parts, roms } => hash(&run, checkpoint.choice(), parts, roms.folder(), *output),
        Action::Check { run, json, roms } => check(&run, json, roms.folder(), *output),
        Action::Export { runs, formats } => export(&runs, &formats, *output),
        Action::Prune { root, yes } => prune(&root, yes, *output),
    }
}

fn list(root: &Path, as_json: bool, output: Output) -> Outcome {
    require_folder(root)?;
    let FoundFolders { runs, warnings } = find_runs(root)?;
    warnings.iter().for_each(|warning| output.warn(warning));
    let summaries: Vec<(PathBuf, Result<RunSummary, LabError>)> =
        runs.into_iter().map(|run| (run.clone(), RunSummary::read(&run))).collect();
    if as_json {
        let values = summaries.iter().map(|(run, summary)| match summary {
            Ok(summary) => as_value(summary),
            Err(error) => json!({ "run": run, "problem": error.to_string() }),
        });
        output.result(serde_json::to_string_pretty(&values.collect::<Vec<_>>())?);
        return Ok(());
    }
    if summaries.is_empty() {
        output.note(format_args!("no runs below {}", root.display()));
        return Ok(());
    }
    output.result(format_args!(
        "{:<44}{:>12}{:>12}{:>10}{:>10}  {:<12}digest",
        "run", "interactions", "of", "return", "MB", "state"
    ));
    for (run, summary) in summaries {
        let summary = match summary {
            Ok(summary) => summary,
            Err(error) => {
                output.result(format_args!("{:<44}{:>44}  damaged: {error}", run.display(), "-"));
                continue;
            }
        };
        output.result(format_args!(
            "{:<44}{:>12}{:>12}{:>10}{:>10.1}  {:<12}{}",
            summary.folder.display(),
            summary.interactions,
            summary.config.training.total_interactions.0,
            summary.mean_return.map_or("-".into(), |mean| format!("{mean:.2}")),
            summary.disk_bytes as f64 / 1e6,
            if summary.finished { "finished" } else { "unfinished" },
            summary.digest.as_deref().map_or("-", |digest| &digest[..12.min(digest.len())]),
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

fn hash(run: &Path, checkpoint: CheckpointChoice, parts: bool, roms: Option<&Path>, output: Output) -> Outcome {
    let source = WorldSource::open(&read_config(run)?.world, roms, &mut |message| output.note(message))?;
    let interactions = match checkpoint {
        CheckpointChoice::Newest => None,
        CheckpointChoice::At(interactions) => Some(interactions),
        CheckpointChoice::Best => {
            return Err(Failure::usage(
                "the best checkpoint holds the policy without its replay, so the digest of the whole state cannot be \
                 computed; `sane runs check` checks it",
            ));
        }
    };
    let (state, warnings) = inspect_run(run, &source, interactions)?;
    warnings.iter().for_each(|warning| output.warn(warning));
    let digest = Digest::of(&state);
    output.result(format_args!("{digest}  interactions {}", digest.interactions.0));
    if parts {
        for (part, hash) in &digest.sections {
            output.result(format_args!("{}  {part}", hash.to_hex()));
        }
    }
    Ok(())
}

fn check(run: &Path, as_json: bool, roms: Option<&Path>, output: Output) -> Outcome {
    let source = WorldSource::open(&read_config(run)?.world, roms, &mut |message| output.note(message))?;
    let bar = output.spinner("reading the run");
    let check = check_run(run, &source);
    bar.finish_and_clear();
    let check = check?;
    if as_json {
        let value = json!({ "run": run, "sound": check.sound, "problems": check.problems });
        output.result(serde_json::to_string_pretty(&value)?);
    } else {
        check.sound.iter().for_each(|line| output.result(format_args!("sound    {line}")));
        check.problems.iter().for_each(|line| output.result(format_args!("damaged  {line}")));
    }
    match check.problems.len() {
        0 => Ok(()),
        count => Err(anyhow::anyhow!("{} is damaged in {count} places", run.display()).into()),
    }
}

/// A folder that is searched for runs must exist.
fn require_folder(root: &Path) -> Result<(), Failure> {
    if root.is_dir() {
        return Ok(());
    }
    let place = std::path::absolute(root).unwrap_or_else(|_| root.into());
    Err(Failure::Usage(format!(
        "there is no folder {}: `sane train` makes runs/ where it is called; go there, or name the folder that holds \
         the runs",
        place.display()
    )))
}

fn export(folders: &[PathBuf], formats: &Formats, output: Output) -> Outcome {
    folders.iter().try_for_each(|folder| require_folder(folder))?;
    let found = RunSearch::default().find(folders)?;
    found.unreadable.iter().for_each(|error| output.warn(error));
    let bar = output.progress_bar(found.folders.len() as u64, "reading runs");
    let mut runs = Vec::new();
    for folder in found.folders.values() {
        match ExportRun::read(folder) {
            Ok(run) => runs.push(run),
            Err(error) => output.warn(format_args!("{} is left out: {error}", folder.display())),
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    if runs.is_empty() {
        let names: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
        return Err(Failure::Usage(format!("no run to export in {}", names.join(", "))));
    }
    let spinner = output.spinner("writing");
    let mut written = Vec::new();
    if let Some(folder) = &formats.csv {
        written.extend(export_tables(&runs, TableFormat::Csv, folder)?);
    }
    if let Some(folder) = &formats.parquet {
        written.extend(export_tables(&runs, TableFormat::Parquet, folder)?);
    }
    if let Some(folder) = &formats.mlflow {
        written.extend(export_mlflow(&runs, folder)?);
    }
    if let Some(folder) = &formats.wandb_offline {
        written.extend(export_wandb(&runs, folder)?);
    }
    spinner.finish_and_clear();
    written.iter().for_each(|path| output.result(path.display()));
    output.note(format_args!("{} exported", counted(runs.len(), "run")));
    Ok(())
}

/// Lists what will be deleted before anything is, and what looks like it but is kept.
fn prune(root: &Path, confirmed: bool, output: Output) -> Outcome {
    require_folder(root)?;
    let (old, kept): (Vec<_>, Vec<_>) = find_old_runs(root)?.into_iter().partition(|old| old.kept_because.is_none());
    let bytes: u64 = old.iter().map(|old| old.bytes).sum();
    for run in &old {
        output.result(format_args!("{:<60}{:>10.1} MB", run.folder.display(), run.bytes as f64 / 1e6));
    }
    for run in &kept {
        let reason = run.kept_because.as_deref().unwrap_or_default();
        output
            .warn(format_args!("{} is kept: {reason}; delete it by hand if you do not need it", run.folder.display()));
    }
    if !confirmed {
        output.note(format_args!("{} old runs, {:.1} MB to delete with --yes", old.len(), bytes as f64 / 1e6));
        return Ok(());
    }
    let mut failures = Vec::new();
    for run in &old {
        // Does not follow links: what one points to stays.
        if let Err(error) = std::fs::remove_dir_all(&run.folder) {
            failures.push(format!("{}: {error}", run.folder.display()));
        }
    }
    if !failures.is_empty() {
        return Err(Failure::Failed(anyhow::anyhow!("cannot delete {}", failures.join("; "))));
    }
    output.note(format_args!("{} old runs, {:.1} MB deleted", old.len(), bytes as f64 / 1e6));
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
        "digest": summary.digest,
        "not_bit_exact": summary.config.world.not_bit_exact(),
        "interactions_per_second": summary.interactions_per_second,
        "disk_bytes": summary.disk_bytes,
    })
}
