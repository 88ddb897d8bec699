//! `sane eval`: the returns of a trained policy, with and without its noise.

use crate::args::{LoadedRun, RunSelection, count_in};
use crate::failure::{Failure, Outcome, classify};
use crate::output::Output;
use anyhow::Context;
use clap::ValueEnum;
use sane_arcade::Profile;
use sane_env::{AgentSteps, closest_name};
use sane_lab::{
    Evaluation, EvaluationFinished, EvaluationLock, LabError, NoiseMode, TrainedAgent, WorldSource, available,
    dump_states, evaluate_with_actions, paired_difference, record_evaluation, stop_on_signals, suitable_length,
    traces_header, world_of,
};
use sane_record::{ActionTraces, RecordError, TracedEvaluation, write_action_traces};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

/// Evaluate a trained policy: whole episodes from seeded starts, raw rewards
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:\n  \
    sane eval runs/boxing/q-sane/seed-1     # with and without noise, as long as suits the run\n  \
    sane eval runs/boxing/sane/seed-1 --noise off --interactions 50000 --json\n  \
    sane eval runs/boxing/sane/seed-1 --checkpoint best     # the best policy that training has kept\n  \
    sane eval runs/boxing/sane/seed-1 --traces              # keeps the actions, for `sane verify`\n  \
    sane eval runs/boxing/sane/seed-1 --dump-states 100 -o states.safetensors\n\n\
    Without --interactions, each mode plays a fifth of the run's budget, at least 2,000 and at most the paper's 500,000: 20,000 \
    after the preset quick (under a minute), 500,000 after paper. Ctrl-C keeps the episodes that are whole, marked partial.\n\n\
    Episode i starts from a seed of its own, the same with and without noise; results do not depend on --threads.\n\
    The result is appended to evaluations.jsonl in the run folder, unless that is read-only. Agents without noise are evaluated once, at ε = 0.")]
pub struct Args {
    /// With noise, without noise, or both
    #[arg(long, value_enum, default_value_t = Noise::Both)]
    noise: Noise,
    /// Interactions to play in each mode; the last episode is played to its end [default: a fifth of the run's budget,
    /// 2,000 to 500,000]
    #[arg(long, value_name = "N", value_parser = count_in(1..))]
    interactions: Option<u64>,
    #[command(flatten)]
    selection: RunSelection,
    /// Episodes played in parallel [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
    /// Evaluate in another environment profile than the run's: paper, nature, machado (it must have the same actions)
    #[arg(long, value_name = "NAME")]
    profile: Option<String>,
    /// Seed from which the starts of the episodes are drawn
    #[arg(long, value_name = "S", default_value_t = 0)]
    start_seed: u64,
    /// Keep the actions taken, so that `sane verify` can play them again [default file: in the run folder, below traces/]
    #[arg(long, value_name = "FILE", num_args = 0..=1, conflicts_with = "dump_states")]
    traces: Option<Option<PathBuf>>,
    /// Instead of evaluating, write the first N states visited without noise, with their action values and σ
    #[arg(long, value_name = "N", requires = "output", value_parser = clap::value_parser!(u64).range(1..=1_000_000))]
    dump_states: Option<u64>,
    /// File for --dump-states
    #[arg(short, long, value_name = "FILE.safetensors", requires = "dump_states")]
    output: Option<PathBuf>,
    /// Print the result as JSON
    #[arg(long)]
    json: bool,
}

/// The modes to evaluate.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Noise {
    /// No noise, no exploration
    Off,
    /// With noise
    On,
    /// Both, from the same starts
    Both,
}

pub fn run(args: Args, output: &Output) -> Outcome {
    let LoadedRun { trained, .. } = args.selection.load(output)?;
    let mut world = trained.config.world.clone();
    world.profile = profile(args.profile.as_deref(), world.profile)?;
    let source = WorldSource::open(&world, args.selection.roms.folder(), &mut |message| output.note(message))?;
    if source.make(0)?.spec().actions != trained.spec().actions {
        return Err(Failure::Usage(format!(
            "the policy chooses among {} actions, the profile {} has others; evaluate it in the profile it was trained in",
            trained.spec().actions.len(),
            world.profile.name()
        )));
    }
    if let (Some(count), Some(path)) = (args.dump_states, &args.output) {
        dump_states(&mut trained.learner.policy(), &source, args.start_seed, count as usize, path)?;
        output.note(format_args!("{count} states written to {}", path.display()));
        return Ok(());
    }
    let modes = modes(args.noise, &trained);
    let interactions = args.interactions.unwrap_or_else(|| suitable_length(&trained.config).0);
    let mut traces = match &args.traces {
        Some(file) => Some(Traces::begin(&args, file.as_deref(), &trained, &source, interactions, modes)?),
        None => None,
    };
    // A suite that is started again waits for it.
    let _announced = EvaluationLock::announce(&args.selection.run);
    let (stop, mut results, mut unrecorded) = (stop_on_signals()?, Vec::new(), None);
    for &noise in modes {
        let evaluation = Evaluation {
            noise,
            interactions: AgentSteps(interactions),
            start_seed: args.start_seed,
            threads: args.threads.map_or_else(available, usize::from),
        };
        let Some((mut result, actions)) = measure(&trained, &source, &evaluation, &stop, *output)? else {
            output.note(format_args!("stopped; noise {} has no whole episode yet, nothing is recorded", noise.name()));
            break;
        };
        if let Some(traces) = &mut traces {
            result.traces = Some(traces.add(actions)?);
        }
        if let Err(error) = record_evaluation(&args.selection.run, &result) {
            unrecorded = Some(error);
        }
        results.push(result);
        if stop.load(Ordering::Relaxed) {
            break;
        }
    }
    if let Some(traces) = &traces {
        output.note(format_args!("the actions are in {0}; `sane verify {0}` plays them again", traces.path.display()));
    }
    if args.json {
        output.result(serde_json::to_string_pretty(&results)?);
    } else if !results.is_empty() {
        table(&results, *output);
    }
    match unrecorded {
        None => Ok(()),
        Some(error) if is_read_only(&error) => {
            output.warn(format_args!("the result is printed only, the run folder cannot be written: {error}"));
            Ok(())
        }
        Some(error) => Err(anyhow::anyhow!("the result is printed, but was not recorded: {error}").into()),
    }
}

/// Whether a result could not be recorded because the run is in an archive or belongs to another user.
fn is_read_only(error: &LabError) -> bool {
    let LabError::Record(RecordError::Io { source, .. }) = error else { return false };
    matches!(source.kind(), ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem)
}

fn profile(name: Option<&str>, trained_in: Profile) -> Result<Profile, Failure> {
    let Some(name) = name else { return Ok(trained_in) };
    Profile::named(name).ok_or_else(|| {
        let closest = closest_name(name, Profile::ALL.map(Profile::name));
        let hint = closest.map(|closest| format!("; did you mean {closest}?")).unwrap_or_default();
        Failure::Usage(format!("unknown profile {name}{hint}"))
    })
}

/// Agents without noise are evaluated once.
fn modes(wanted: Noise, trained: &TrainedAgent) -> &'static [NoiseMode] {
    match wanted {
        _ if !trained.config.learner.exploration.is_noisy() => &[NoiseMode::Off],
        Noise::Off => &[NoiseMode::Off],
        Noise::On => &[NoiseMode::On],
        Noise::Both => &[NoiseMode::Off, NoiseMode::On],
    }
}

/// The file of actions that grows with each mode.
struct Traces {
    path: PathBuf,
    /// As the record of an evaluation names it.
    name: String,
    traces: ActionTraces,
}

impl Traces {
    fn begin(
        args: &Args,
        file: Option<&Path>,
        trained: &TrainedAgent,
        source: &WorldSource,
        interactions: u64,
        modes: &[NoiseMode],
    ) -> Result<Self, Failure> {
        let header = traces_header(trained, source, args.start_seed);
        // What could not be verified is refused before it is measured.
        world_of(&header).map_err(classify)?;
        let (path, name) = match file {
            Some(file) => (file.to_owned(), file.display().to_string()),
            None => {
                let noise = if 1 < modes.len() { "both" } else { modes[0].name() };
                let (after, profile) = (trained.interactions.0, &header.profile);
                let name = format!(
                    "traces/after-{after}-{profile}-noise-{noise}-starts-{}-{interactions}.trace",
                    args.start_seed
                );
                (args.selection.run.join(&name), name)
            }
        };
        if let Some(parent) = path.parent().filter(|parent| !parent.as_os_str().is_empty()) {
            fs::create_dir_all(parent).with_context(|| format!("cannot create {}", parent.display()))?;
        }
        Ok(Self { path, name, traces: ActionTraces { header, evaluations: Vec::new() } })
    }

    /// Writes the file with one more evaluation; its name.
    fn add(&mut self, evaluation: TracedEvaluation) -> Result<String, Failure> {
        self.traces.evaluations.push(evaluation);
        write_action_traces(&self.path, &self.traces)?;
        Ok(self.name.clone())
    }
}

fn measure(
    trained: &TrainedAgent,
    source: &WorldSource,
    evaluation: &Evaluation,
    stop: &AtomicBool,
    output: Output,
) -> Result<Option<(EvaluationFinished, TracedEvaluation)>, Failure> {
    let message = match evaluation.noise {
        NoiseMode::Off => "noise off",
        NoiseMode::On => "noise on",
    };
    let bar = output.progress_bar(evaluation.interactions.0, message);
    let result = evaluate_with_actions(trained, source, evaluation, |played| bar.set_position(played), stop)?;
    bar.finish_and_clear();
    Ok(result)
}

fn table(results: &[EvaluationFinished], output: Output) {
    output.result(format_args!(
        "{:<6}{:>10}{:>10}{:>10}   {:<22}{:>9}{:>13}{:>8}{:>10}",
        "noise", "mean", "std", "median", "95 % interval of mean", "episodes", "interactions", "human", "explores"
    ));
    for result in results {
        let [low, high] = result.return_mean_interval_95;
        let share = |value: Option<f64>| value.map_or("-".into(), |value| format!("{:.1} %", 100.0 * value));
        output.result(format_args!(
            "{:<6}{:>10.2}{:>10.2}{:>10.2}   {:<22}{:>9}{:>13}{:>8}{:>10}",
            result.noise,
            result.return_mean,
            result.return_std,
            result.return_median,
            format!("{low:.2} to {high:.2}"),
            result.episodes,
            result.interactions,
            result.human_normalised.map_or("-".into(), |score| format!("{score:.3}")),
            share(result.effective_exploration_share),
        ));
    }
    for result in results {
        if result.partial {
            output.result(format_args!(
                "noise {}: partial, stopped after {} interactions; recorded as such",
                result.noise, result.interactions
            ));
        }
        if let Some(bad) = result.bad_episodes {
            output.result(format_args!(
                "noise {}: {bad} of {} episodes bad by the world's own criterion",
                result.noise, result.episodes
            ));
        }
        if 0 < result.cut_episodes {
            output.note(format_args!(
                "noise {}: {} of {} episodes were cut off; one episode alone filled all {} interactions",
                result.noise, result.cut_episodes, result.episodes, result.interactions
            ));
        }
    }
    if let [off, on] = results {
        let (pairs, difference) = paired_difference(off, on);
        let [low, high] = difference.interval_95;
        output.result(format_args!(
            "noise on − off, {pairs} paired starts: {:.2} (95 % interval {low:.2} to {high:.2})",
            difference.mean
        ));
    }
}
