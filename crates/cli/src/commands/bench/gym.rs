//! `sane bench gym`: microseconds per step of a Gymnasium environment through the bridge, beside the same steps timed
//! inside Python. The difference is what the bridge costs.
//!
//! Random actions; only steps are timed, resets are not. The figure of each side is the median of a few rounds, with
//! the quickest and the slowest beside it.

use crate::commands::config::sorted;
use crate::output::{Failure, Outcome, Output};
use anyhow::{Context, anyhow};
use indicatif::{ProgressBar, ProgressDrawTarget};
use sane_env::{Action, Environment, Stream};
use sane_gym::{GymOptions, GymSource};
use sane_lab::LabError;
use serde::Deserialize;
use serde_json::{Value, json};
use std::process::Command;
use std::time::{Duration, Instant};

const IN_PYTHON: &str = include_str!("gym_in_python.py");
const MOST_MICROSECONDS: f64 = 15.0;

const EXAMPLES: &str = "\
Examples:
  sane bench gym
  sane bench gym gym:Acrobot-v1 --json
  SANE_PYTHON=python3.12 sane bench gym --steps 100000

The interpreter is that of --python, else SANE_PYTHON, else python3.";

/// Microseconds per step of a Gymnasium environment through the bridge, beside the same steps inside Python.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The environment
    #[arg(default_value = "gym:CartPole-v1")]
    world: String,
    /// Print one JSON object instead of a table
    #[arg(long)]
    json: bool,
    /// Steps of each round
    #[arg(long, default_value_t = 20_000, value_parser = clap::value_parser!(u64).range(1..))]
    steps: u64,
    /// Rounds on each side
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u64).range(1..=1000))]
    rounds: u64,
    /// The Python interpreter
    #[arg(long, value_name = "PATH")]
    python: Option<String>,
}

/// Measures both sides and prints them.
pub fn run(args: Args, output: &Output) -> Outcome {
    // As it is: a profile would hold four frames per step, which the other side does not.
    let mut options = GymOptions { python: args.python.clone(), ..GymOptions::new(&args.world) };
    if options.is_presented_by_profile() {
        options.kwargs.insert("obs_type".into(), "rgb".into());
    }
    let id = options.id().map_err(refused)?.to_owned();
    let source = GymSource::open(&options).map_err(refused)?;
    let target = if output.is_quiet() { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
    let bar = ProgressBar::with_draw_target(Some(args.rounds + 1), target);
    let inside = Spread::of(in_python(&options, &id, &args)?);
    bar.inc(1);
    let mut world = source.make(1).map_err(refused)?;
    let mut starts = Stream::named(1, "bench");
    let mut rounds = Vec::new();
    for _ in 0..args.rounds {
        rounds.push(through_the_bridge(&mut world, &mut starts, args.steps)?);
        bar.inc(1);
    }
    bar.finish_and_clear();
    let bridge = Spread::of(rounds);
    let versions = source.versions();
    let bytes = source.spec().frame.bytes();
    if args.json {
        output.result(serde_json::to_string_pretty(&as_json(&args, &bridge, &inside, versions, bytes))?);
    } else {
        as_table(&args, &bridge, &inside, versions, bytes).iter().for_each(|line| output.result(line));
    }
    Ok(())
}

fn refused(error: sane_gym::GymError) -> Failure {
    sorted(LabError::from(error))
}

/// Microseconds per step of some rounds.
struct Spread {
    median: f64,
    quickest: f64,
    slowest: f64,
}

impl Spread {
    fn of(mut rounds: Vec<f64>) -> Self {
        rounds.sort_by(f64::total_cmp);
        Self { median: rounds[rounds.len() / 2], quickest: rounds[0], slowest: rounds[rounds.len() - 1] }
    }

    fn json(&self) -> Value {
        json!({ "median": self.median, "quickest": self.quickest, "slowest": self.slowest })
    }
}

fn through_the_bridge(world: &mut dyn Environment, starts: &mut Stream, steps: u64) -> Result<f64, Failure> {
    let mut frame = vec![0; world.spec().frame.bytes()];
    let actions = world.spec().actions.len() as u64;
    world.reset(starts, &mut frame)?;
    let mut spent = Duration::ZERO;
    for _ in 0..steps {
        let action = Action(starts.below(actions) as u16);
        let start = Instant::now();
        let step = world.step(action, &mut frame)?;
        spent += start.elapsed();
        if step.ending.ends_episode() {
            world.reset(starts, &mut frame)?;
        }
    }
    Ok(spent.as_secs_f64() * 1e6 / steps as f64)
}

#[derive(Deserialize)]
struct InPython {
    microseconds: Vec<f64>,
}

fn in_python(options: &GymOptions, id: &str, args: &Args) -> Result<Vec<f64>, Failure> {
    let python = options.interpreter();
    let kwargs = serde_json::to_string(&options.kwargs)?;
    let result = Command::new(&python)
        .args(["-c", IN_PYTHON, id, &kwargs, &args.rounds.to_string(), &args.steps.to_string()])
        .output()
        .with_context(|| format!("cannot start `{python}`"))?;
    if !result.status.success() {
        return Err(anyhow!("`{python}` failed: {}", String::from_utf8_lossy(&result.stderr).trim()).into());
    }
    let told: InPython = serde_json::from_slice(&result.stdout).context("the timings inside Python cannot be read")?;
    Ok(told.microseconds)
}

fn as_json(args: &Args, bridge: &Spread, inside: &Spread, versions: &str, bytes: usize) -> Value {
    json!({
        "what": "microseconds per step, random actions, resets not timed",
        "world": args.world,
        "frame_bytes": bytes,
        "steps": args.steps,
        "rounds": args.rounds,
        "versions": versions,
        "bridge_us": bridge.json(),
        "python_us": inside.json(),
        "overhead_us": bridge.median - inside.median,
        "target_overhead_us": MOST_MICROSECONDS,
    })
}

fn as_table(args: &Args, bridge: &Spread, inside: &Spread, versions: &str, bytes: usize) -> Vec<String> {
    let line = |name: &str, spread: &Spread| {
        let Spread { median, quickest, slowest } = spread;
        format!("{name:<24}{median:>8.2}   ({quickest:.2}–{slowest:.2})")
    };
    vec![
        format!("{}, {bytes} bytes per frame, {versions}", args.world),
        format!("µs per step: median of {} rounds of {} steps (quickest–slowest)", args.rounds, args.steps),
        line("through the bridge", bridge),
        line("inside Python", inside),
        format!(
            "{:<24}{:>8.2}   at most {MOST_MICROSECONDS} is the aim for small observations",
            "the bridge costs",
            bridge.median - inside.median
        ),
    ]
}
