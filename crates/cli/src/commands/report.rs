//! `sane report`: many runs in; one page, tables and figures out.

use crate::failure::{Failure, Outcome};
use crate::output::Output;
use anyhow::Context;
use rayon::prelude::*;
use sane_report::{OutputFile, RecordedRun, Report, ReportError, ReportOptions, SetAside, read_run, search_runs};
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};

/// Identifies a page that `sane report` has written.
const GENERATOR: &str = "content=\"sane report\"";

/// Make tables, figures and one page of many runs
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sane report runs                        # all runs below runs/, into report/
  sane report runs/boxing -o boxing       # the runs of one game
  sane report runs other/runs -o both     # the runs of two folders in one report
  sane report runs --at 10000000          # tables from evaluations after 10 million interactions
  sane report runs --paper                # beside the paper's tables, in full, whatever was run
  sane report runs --json | jq .scores    # the numbers, for scripts

Written: index.html (one self-contained page), tables.md, tables.tex, checklist.md (what conferences ask about \
experiments), the numbers as CSV, and figures/ as SVG and PNG. Within a world, runs of different budgets or settings \
are never averaged; what the presets of different worlds give makes no different agents. A run that cannot be read is \
set aside, and the page says why.")]
pub struct Args {
    /// Folders with runs, at any depth
    #[arg(required = true, value_name = "DIR")]
    folders: Vec<PathBuf>,
    /// Folder for the report
    #[arg(long, short, default_value = "report", value_name = "OUT")]
    output: PathBuf,
    /// Build the tables from evaluations after this many interactions of training [default: the runs' whole budget]
    #[arg(long, value_name = "INTERACTIONS")]
    at: Option<u64>,
    /// Show the paper's tables in full [default: when its suite of 8 games was run]
    #[arg(long)]
    paper: bool,
    /// Print the numbers as JSON as well
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args, output: &Output) -> Outcome {
    if let Some(folder) = args.folders.iter().find(|folder| !folder.is_dir()) {
        return Err(Failure::Usage(format!(
            "{} is not a folder; name one that contains runs, such as runs/ after `sane train`",
            folder.display()
        )));
    }
    let (folders, unreadable) = search_runs(&args.folders)?;
    let (runs, mut set_aside) = read_all(&folders, output)?;
    set_aside.extend(unreadable);
    let options = ReportOptions { evaluated_at: args.at, paper: args.paper };
    let report = Report::with(runs, set_aside, options);
    for run in &report.set_aside {
        output.warn(format!("set aside: {}: {}", run.folder, run.reason));
    }
    let files = report.files()?;
    remove_stale_figures(&args.output, &files)?;
    for file in &files {
        write(&args.output.join(&file.path), &file.bytes)?;
    }
    for section in &report.sections {
        output.note(&section.title);
        for remark in &section.remarks {
            output.note(format!("  {remark}"));
        }
    }
    if args.json {
        let mut numbers = report.json();
        numbers["files"] = files.iter().map(|file| json!(args.output.join(&file.path))).collect();
        output.result(serde_json::to_string_pretty(&numbers)?);
    } else {
        output.result(args.output.join("index.html").display());
    }
    Ok(())
}

/// Reads all runs in parallel and sets aside those that cannot be read; an error if that is all of them.
fn read_all(folders: &[PathBuf], output: &Output) -> Result<(Vec<RecordedRun>, Vec<SetAside>), Failure> {
    let bar = output.progress_bar(folders.len() as u64, "reading runs");
    let read: Vec<(&PathBuf, Result<RecordedRun, ReportError>)> = folders
        .par_iter()
        .map(|folder| {
            let run = read_run(folder);
            bar.inc(1);
            (folder, run)
        })
        .collect();
    bar.finish_and_clear();
    let (mut runs, mut set_aside) = (Vec::new(), Vec::new());
    for (folder, run) in read {
        match run {
            Ok(run) => runs.push(run),
            Err(error) => {
                set_aside.push(SetAside { folder: folder.display().to_string(), reason: error.to_string() });
            }
        }
    }
    match set_aside.first() {
        Some(first) if runs.is_empty() => {
            Err(ReportError::NoneUsable { count: set_aside.len(), first: first.reason.clone() }.into())
        }
        _ => Ok((runs, set_aside)),
    }
}

/// Removes figures of an earlier report that this one does not have, so that they are not mistaken for its own. Does
/// nothing in a folder that holds no report.
fn remove_stale_figures(output: &Path, files: &[OutputFile]) -> Result<(), Failure> {
    let is_report = fs::read_to_string(output.join("index.html")).is_ok_and(|page| page.contains(GENERATOR));
    let Ok(figures) = fs::read_dir(output.join("figures")) else { return Ok(()) };
    for path in figures.flatten().map(|entry| entry.path()).filter(|_| is_report) {
        let is_figure = path.extension().is_some_and(|ending| ending == "svg" || ending == "png");
        let is_new = files.iter().any(|file| output.join(&file.path) == path);
        if is_figure && !is_new {
            fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
        }
    }
    Ok(())
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    let folder = path.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(folder).with_context(|| format!("cannot create {}", folder.display()))?;
    fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))?;
    Ok(())
}
