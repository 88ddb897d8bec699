//! `sane minatar`: replays recorded games of the Python package and compares every step.

use crate::failure::{Failure, Outcome};
use crate::output::Output;
use anyhow::{Context, anyhow};
use clap::Subcommand;
use sane_minigames::minatar::{Comparison, Trace};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  sane minatar replay golden/minatar/traces/asterix_rand_s1_sticky10_ramp1.bin.gz
  sane minatar replay golden/minatar/traces/* --json

A trace holds the seed, the actions, and what the package returned: reward, terminal flag, difficulty, and a checksum of \
every observation (thin traces: a running checksum). Printed for each file: the number of acts (steps) that differ; for \
the first of them the act, the field and both values.
Exit code: 0 no difference, 1 some difference or an unreadable file, 2 wrong usage.";

/// Compare the MinAtar games with recorded runs of the Python package
#[derive(Debug, clap::Args)]
pub struct Args {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Replay recorded games and compare every act (step)
    #[command(after_help = EXAMPLES)]
    Replay {
        /// Trace files (.bin.gz)
        #[arg(required = true, value_name = "FILE")]
        files: Vec<PathBuf>,
        /// Print one JSON object instead of lines
        #[arg(long)]
        json: bool,
    },
}

pub fn run(args: Args, output: &Output) -> Outcome {
    match args.action {
        Action::Replay { files, json } => {
            let results = replay_all(&files, *output, if json { Format::Json } else { Format::Lines });
            if json {
                output.result(as_json(&results));
            }
            verdict(&results, *output)
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Format {
    Lines,
    Json,
}

type Results<'a> = Vec<(&'a PathBuf, anyhow::Result<(Trace, Comparison)>)>;

fn replay_all(files: &[PathBuf], output: Output, format: Format) -> Results<'_> {
    let bar = output.progress_bar(files.len() as u64, "files");
    let mut results = Vec::with_capacity(files.len());
    for path in files {
        let result = replay_file(path);
        if format == Format::Lines {
            bar.suspend(|| output.result(line_about(path, &result)));
        }
        results.push((path, result));
        bar.inc(1);
    }
    bar.finish_and_clear();
    results
}

fn replay_file(path: &Path) -> anyhow::Result<(Trace, Comparison)> {
    let trace = Trace::read(&std::fs::read(path).context("cannot be read")?)?;
    let comparison = trace.compare();
    Ok((trace, comparison))
}

fn line_about(path: &Path, result: &anyhow::Result<(Trace, Comparison)>) -> String {
    let path = path.display();
    match result {
        Err(error) => format!("{path}: not replayed: {error:#}"),
        Ok((trace, Comparison { steps, snapshots, differences, first })) => {
            let game = trace.game.name();
            let line =
                format!("{path}: {game}, {steps} acts, {snapshots} whole observations, {differences} differences");
            match first {
                None => line,
                Some(first) => format!(
                    "{line}; first at act {}: {} is {}, the trace has {}",
                    first.step, first.field, first.found, first.expected
                ),
            }
        }
    }
}

fn as_json(results: &Results<'_>) -> Value {
    let file = |(path, result): &(&PathBuf, anyhow::Result<(Trace, Comparison)>)| match result {
        Err(error) => json!({ "file": path, "error": format!("{error:#}") }),
        Ok((trace, replayed)) => {
            let first = replayed.first.as_ref().map(|first| {
                json!({ "act": first.step, "field": first.field, "expected": first.expected, "found": first.found })
            });
            json!({
                "file": path,
                "game": trace.game.name(),
                "acts": replayed.steps,
                "whole_observations": replayed.snapshots,
                "differences": replayed.differences,
                "first_difference": first,
            })
        }
    };
    let replayed = || results.iter().filter_map(|(_, result)| result.as_ref().ok());
    json!({
        "files": results.iter().map(file).collect::<Vec<_>>(),
        "acts": replayed().map(|(_, replayed)| replayed.steps).sum::<usize>(),
        "differences": replayed().map(|(_, replayed)| replayed.differences).sum::<usize>(),
        "unreadable": results.iter().filter(|(_, result)| result.is_err()).count(),
    })
}

fn verdict(results: &Results<'_>, output: Output) -> Outcome {
    let is_equal =
        |result: &anyhow::Result<(Trace, Comparison)>| matches!(result, Ok((_, replayed)) if replayed.differences == 0);
    let failed = results.iter().filter(|(_, result)| !is_equal(result)).count();
    if failed == 0 {
        output.note(format_args!("{} files, 0 differences", results.len()));
        return Ok(());
    }
    Err(Failure::Failed(anyhow!("{failed} of {} files differ or cannot be replayed", results.len())))
}
