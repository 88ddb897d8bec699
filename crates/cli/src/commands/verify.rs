//! `sane verify`: the actions of an evaluation played again, on the console or the world alone.

use crate::args::RomsOption;
use crate::failure::{Failure, Outcome, classify};
use crate::output::Output;
use anyhow::{Context, anyhow};
use sane_lab::{Event, Mismatch, WorldSource, available, read_config, stop_on_signals, verify, world_of};
use sane_record::{ActionTraces, TracedEvaluation, read_action_traces, read_jsonl};
use sane_stats::number_format::{grouped, score};
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};

/// Most differences that are printed.
const SHOWN: usize = 5;

/// Play the actions of an evaluation again and see whether its scores come out; no network, no policy
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    sane eval runs/boxing/q-sane/seed-1 --traces            # writes the actions into the run folder\n  \
    sane verify runs/boxing/q-sane/seed-1                   # verifies every trace there, and its evaluations\n  \
    sane verify boxing.trace                                # a file from elsewhere\n  \
    sane verify boxing.trace --run runs/boxing/q-sane/seed-1 --json\n\n\
    Each episode starts from its own seed, takes the recorded actions, and must end where it ended with the score that is \
    recorded, to the last bit. Exit codes: 0 every score is reproduced, 1 not, 2 wrong usage. Traces of gym: worlds are \
    refused, since a file must not choose which Python code runs here.")]
pub struct Args {
    /// A file of actions, or a run folder: all files in its traces/
    #[arg(value_name = "FILE|RUN")]
    target: PathBuf,
    /// Also compare with the evaluations that this run has recorded
    #[arg(long, value_name = "DIR")]
    run: Option<PathBuf>,
    #[command(flatten)]
    roms: RomsOption,
    /// Episodes played in parallel [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

pub fn run(args: Args, output: &Output) -> Outcome {
    let is_run = args.target.is_dir();
    let files = if is_run { traces_of(&args.target)? } else { vec![args.target.clone()] };
    let recorded_by = if is_run { Some(args.target.as_path()) } else { args.run.as_deref() };
    let (mut values, mut problems) = (Vec::new(), Vec::new());
    for file in &files {
        let traces = read_action_traces(file)?;
        let Some(mismatches) = play(&args, &traces, output)? else {
            output.note("stopped; nothing was verified");
            return Ok(());
        };
        let mut found: Vec<String> = mismatches.iter().map(sentence).collect();
        if let Some(run) = recorded_by {
            found.extend(compare(run, &traces)?);
        }
        if args.json {
            let evaluations: Vec<_> = traces.evaluations.iter().map(|one| evaluation_json(one, &mismatches)).collect();
            let header = &traces.header;
            values.push(json!({
                "file": file, "reproduced": found.is_empty(), "problems": found, "header": header,
                "evaluations": evaluations,
            }));
        } else {
            table(file, &traces, &mismatches, *output);
        }
        problems.extend(found);
    }
    if args.json {
        output.result(serde_json::to_string_pretty(&values)?);
    }
    if problems.is_empty() {
        if !args.json {
            output.result("every score is reproduced");
        }
        return Ok(());
    }
    let more = problems.len().saturating_sub(SHOWN);
    let mut shown: Vec<String> = problems.into_iter().take(SHOWN).collect();
    shown.extend((0 < more).then(|| format!("and {more} more")));
    Err(anyhow!("not reproduced: {}", shown.join("; ")).into())
}

/// The files of actions in a run folder, in order of name.
fn traces_of(run: &Path) -> Result<Vec<PathBuf>, Failure> {
    let folder = run.join("traces");
    let entries = fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let mut files: Vec<PathBuf> =
        entries.filter(|path| path.extension().is_some_and(|extension| extension == "trace")).collect();
    files.sort();
    if files.is_empty() {
        let name = run.display();
        return Err(Failure::Failed(anyhow!("{name} has no traces; `sane eval {name} --traces` writes them")));
    }
    Ok(files)
}

fn play(args: &Args, traces: &ActionTraces, output: &Output) -> Result<Option<Vec<Mismatch>>, Failure> {
    let world = world_of(&traces.header).map_err(classify)?;
    let source =
        WorldSource::open(&world, args.roms.folder(), &mut |message| output.note(message)).map_err(classify)?;
    let stop = stop_on_signals()?;
    let total = traces.evaluations.iter().map(interactions).sum();
    let bar = output.progress_bar(total, "playing");
    let threads = args.threads.map_or_else(available, usize::from);
    let mismatches = verify(traces, &source, threads, |played| bar.set_position(played), &stop);
    bar.finish_and_clear();
    Ok(mismatches?)
}

/// What the run says about these evaluations that the actions do not.
fn compare(run: &Path, traces: &ActionTraces) -> Result<Vec<String>, Failure> {
    let (header, world) = (&traces.header, read_config(run)?.world.name);
    if world != header.world {
        return Ok(vec![format!("the trace is of {}, {} was trained in {world}", header.world, run.display())]);
    }
    let path = run.join("evaluations.jsonl");
    let events: Vec<Event> = if path.exists() {
        read_jsonl(&path).with_context(|| format!("cannot read {}", path.display()))?.records
    } else {
        Vec::new()
    };
    let is_recorded = |evaluation: &TracedEvaluation| {
        let returns: Vec<f64> = evaluation.episodes.iter().map(|episode| episode.return_raw).collect();
        events.iter().any(|event| {
            let Event::EvaluationFinished(recorded) = event else { return false };
            recorded.noise == evaluation.noise
                && recorded.agent == header.agent
                && recorded.seed == header.seed
                && recorded.profile == header.profile
                && recorded.trained_interactions == header.trained_interactions
                && recorded.start_seed == header.start_seed
                && recorded.returns == returns
        })
    };
    let missing = traces.evaluations.iter().filter(|evaluation| !is_recorded(evaluation));
    Ok(missing
        .map(|evaluation| {
            format!("{} has no evaluation with noise {} and these scores", path.display(), evaluation.noise)
        })
        .collect())
}

fn sentence(Mismatch { noise, episode, what }: &Mismatch) -> String {
    format!("noise {noise}, episode {episode}: {what}")
}

fn interactions(evaluation: &TracedEvaluation) -> u64 {
    evaluation.episodes.iter().map(|episode| episode.actions.len() as u64).sum()
}

fn mean(evaluation: &TracedEvaluation) -> f64 {
    let sum: f64 = evaluation.episodes.iter().map(|episode| episode.return_raw).sum();
    sum / evaluation.episodes.len().max(1) as f64
}

fn reproduced(evaluation: &TracedEvaluation, mismatches: &[Mismatch]) -> usize {
    evaluation.episodes.len() - mismatches.iter().filter(|mismatch| mismatch.noise == evaluation.noise).count()
}

fn evaluation_json(evaluation: &TracedEvaluation, mismatches: &[Mismatch]) -> serde_json::Value {
    json!({
        "noise": evaluation.noise, "episodes": evaluation.episodes.len(), "interactions": interactions(evaluation),
        "mean": mean(evaluation), "reproduced": reproduced(evaluation, mismatches),
    })
}

fn table(file: &Path, traces: &ActionTraces, mismatches: &[Mismatch], output: Output) {
    let header = &traces.header;
    output.result(format_args!(
        "{}: {} ({}), {} seed {} after {} interactions, start seed {}",
        file.display(),
        header.world,
        header.profile,
        header.agent,
        header.seed,
        grouped(header.trained_interactions),
        header.start_seed
    ));
    for evaluation in &traces.evaluations {
        output.result(format_args!(
            "noise {:<4} mean {:>10}   {} interactions, {} of {} episodes reproduced",
            evaluation.noise,
            score(mean(evaluation)),
            grouped(interactions(evaluation)),
            reproduced(evaluation, mismatches),
            evaluation.episodes.len()
        ));
    }
}
