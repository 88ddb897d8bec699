//! `sane atari replay`: recorded runs in, differences out; exit code 1 if there is any.

use crate::output::{Failure, Outcome, Output};
use anyhow::{Context, anyhow};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use rayon::prelude::*;
use sane_arcade::{Comparison, Game, Roms, Trace, replay};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

const EXAMPLES: &str = "\
Examples:
  sane atari replay golden/atari/boxing.trc.gz
  sane atari replay golden/atari/*.trc.gz --json

For each file it prints the frames and the number of states that differ; at the first difference the frame, the field \
and both values. The file's name may carry a mode and a difficulty: atlantis.m2.d0.trc.gz.
Exit code: 0 no difference, 1 some difference or an unreadable file, 2 wrong usage.";

/// Replay recorded runs.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Trace files (.trc.gz)
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Folder with ROMs, looked at before all others
    #[arg(long, value_name = "DIR")]
    roms: Option<PathBuf>,
    /// Print one JSON object instead of lines
    #[arg(long)]
    json: bool,
}

/// Replays all files, several at a time.
pub fn run(args: Args, output: &Output) -> Outcome {
    let roms = Roms::new(args.roms.as_deref());
    let bar = progress_bar(*output);
    let results: Vec<(&PathBuf, anyhow::Result<Comparison>)> = args
        .files
        .par_iter()
        .map(|path| {
            let result = replay_file(path, &roms, &bar, *output);
            if !args.json {
                bar.suspend(|| output.result(line_about(path, &result)));
            }
            (path, result)
        })
        .collect();
    bar.finish_and_clear();
    let wrong = results.iter().filter(|(_, result)| !result.as_ref().is_ok_and(|c| c.differences == 0)).count();
    if args.json {
        output.result(as_json(&results));
    }
    if wrong == 0 {
        output.note(format_args!("{} files, no difference", results.len()));
        return Ok(());
    }
    Err(Failure::Failed(anyhow!("{wrong} of {} files differ or cannot be replayed", results.len())))
}

fn replay_file(path: &Path, roms: &Roms, bar: &ProgressBar, output: Output) -> anyhow::Result<Comparison> {
    let trace = Trace::read(path)?;
    let game = Game::named(&trace.header.game)?;
    if trace.header.md5 != game.md5 {
        let (theirs, ours) = (&trace.header.md5, game.md5);
        return Err(anyhow!("the trace was made with a ROM of MD5 {theirs}, the ROM of {} has {ours}", game.name));
    }
    let rom = roms.load(game, &mut |news| bar.suspend(|| output.note(news)))?;
    bar.inc_length(trace.header.frames.into());
    replay(game, &rom, &trace, || bar.inc(1)).with_context(|| path.display().to_string())
}

fn line_about(path: &Path, result: &anyhow::Result<Comparison>) -> String {
    let path = path.display();
    match result {
        Err(error) => format!("{path}: not replayed: {error:#}"),
        Ok(Comparison { frames, differences, first }) => {
            let line = format!("{path}: {frames} frames, {differences} differences");
            first.as_ref().map_or(line.clone(), |first| {
                let (at, field) = (&first.at, &first.field);
                format!("{line}; first at {at}: {field} is {}, recorded {}", first.found, first.recorded)
            })
        }
    }
}

fn as_json(results: &[(&PathBuf, anyhow::Result<Comparison>)]) -> Value {
    let file = |(path, result): &(&PathBuf, anyhow::Result<Comparison>)| {
        let path = path.display().to_string();
        match result {
            Err(error) => json!({"file": path, "error": format!("{error:#}")}),
            Ok(comparison) => {
                let first = comparison.first.as_ref().map(|first| {
                    json!({"at": first.at, "field": first.field, "recorded": first.recorded, "found": first.found})
                });
                let (frames, differences) = (comparison.frames, comparison.differences);
                json!({"file": path, "frames": frames, "differences": differences, "first": first})
            }
        }
    };
    let differences: u64 = results.iter().filter_map(|(_, result)| result.as_ref().ok()).map(|c| c.differences).sum();
    let frames: u64 = results.iter().filter_map(|(_, result)| result.as_ref().ok()).map(|c| c.frames).sum();
    json!({"files": results.iter().map(file).collect::<Vec<_>>(), "frames": frames, "differences": differences})
}

fn progress_bar(output: Output) -> ProgressBar {
    let target = if output.is_quiet() { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
    let style = ProgressStyle::with_template("{bar:40} {human_pos}/{human_len} frames {per_sec} {eta}");
    ProgressBar::with_draw_target(Some(0), target).with_style(style.expect("the template is a literal"))
}
