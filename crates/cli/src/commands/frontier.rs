//! `sane frontier`: what exploring costs, agent by agent, from the runs of a suite whose variants set one knob.

use crate::failure::{Failure, Outcome};
use crate::output::Output;
use anyhow::Context;
use sane_report::frontier::{Frontier, read_frontier_run};
use sane_report::{ReportError, SetAside, search_runs};
use sane_suite::{Suite, default_suite_folder};
use std::fs;
use std::path::{Path, PathBuf};

/// Compare agents by what their exploration costs: harm and return at equal shares of exploratory actions
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sane frontier suites/frontier.toml              # the suite's runs, from its default folder
  sane frontier runs/suites/frontier -o figures   # the same by folder, into figures/
  sane frontier runs/suites/frontier --last 0.25  # measured over the last quarter of training
  sane frontier runs/suites/frontier --json | jq .findings

Each agent has a knob (ε, q_noise, sigma_0 …) that the variants of the suite set; each value gives a point: share of actions \
that differ from the noise-free greedy one, bad episodes (or lost lives) per 1,000 interactions, mean return. Written: \
index.html, frontier.md, frontier.json, frontier.csv, frontier-runs.csv, and a figure per world as SVG and PNG. \
docs/frontier.md explains the numbers.")]
pub struct Args {
    /// Suite files, or folders with runs at any depth
    #[arg(required = true, value_name = "SUITE_OR_DIR")]
    places: Vec<PathBuf>,
    /// Share of the training that is measured, from its end
    #[arg(long, value_name = "SHARE", default_value_t = 0.5, value_parser = share)]
    last: f64,
    /// Folder for the result
    #[arg(long, short, default_value = "frontier", value_name = "OUT")]
    output: PathBuf,
    /// Print points, runs and findings as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args, output: &Output) -> Outcome {
    let folders = args.places.iter().map(|place| folder_of(place)).collect::<Result<Vec<_>, _>>()?;
    let (found, mut set_aside) = search_runs(&folders)?;
    let bar = output.progress_bar(found.len() as u64, "reading runs");
    let mut runs = Vec::new();
    for folder in &found {
        match read_frontier_run(folder, args.last) {
            Ok(run) => runs.push(run),
            Err(error) => {
                let folder = folder.display().to_string();
                let reason = match error {
                    ReportError::Unusable { reason, .. } => reason,
                    error => error.to_string(),
                };
                set_aside.push(SetAside { folder, reason });
            }
        }
        bar.inc(1);
    }
    bar.finish_and_clear();
    if let (true, Some(first)) = (runs.is_empty(), set_aside.first()) {
        return Err(ReportError::NoneUsable {
            count: set_aside.len(),
            first: format!("{}: {}", first.folder, first.reason),
        }
        .into());
    }
    let frontier = Frontier::of(runs, set_aside, args.last);
    for run in &frontier.set_aside {
        output.note(format!("set aside: {}: {}", run.folder, run.reason));
    }
    fs::create_dir_all(&args.output).with_context(|| format!("cannot create {}", args.output.display()))?;
    for file in frontier.files()? {
        let path = args.output.join(&file.path);
        fs::write(&path, &file.bytes).with_context(|| format!("cannot write {}", path.display()))?;
    }
    if args.json {
        output.result(serde_json::to_string_pretty(&frontier.json())?);
    } else {
        frontier.findings().iter().for_each(|finding| output.note(finding));
        output.result(args.output.join("index.html").display());
    }
    Ok(())
}

fn folder_of(place: &Path) -> Result<PathBuf, Failure> {
    if place.is_file() {
        let folder = default_suite_folder(&Suite::read(place).map_err(Failure::usage)?);
        if folder.is_dir() {
            return Ok(folder);
        }
        return Err(Failure::Usage(format!(
            "{0} has no runs yet: there is no folder {1}; `sane suite run {0}` makes it, or name the folder that was given with --out",
            place.display(),
            folder.display()
        )));
    }
    if place.is_dir() {
        return Ok(place.into());
    }
    Err(Failure::Usage(format!(
        "{} is neither a suite file nor a folder; name one that contains runs, such as runs/suites/frontier",
        place.display()
    )))
}

/// Parses a share above 0.
fn share(text: &str) -> Result<f64, String> {
    let value = text.parse().ok().filter(|value| 0.0 < *value && *value <= 1.0);
    value.ok_or_else(|| format!("expected a share above 0 and at most 1, found {text}"))
}
