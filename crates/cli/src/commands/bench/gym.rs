//! `sane bench gym`: microseconds per step of a Gymnasium environment through the bridge, and the same steps timed inside
//! Python. The difference is the bridge's overhead.
//!
//! Random actions; only steps are timed, resets are not. Reported for each side: the median of a few rounds, with the
//! fastest and the slowest.

use super::Measurements;
use crate::args::count_in;
use crate::failure::{Failure, Outcome, classify};
use crate::output::Output;
use anyhow::{Context, anyhow};
use sane_env::{Action, Environment, Stream};
use sane_gym::{GymOptions, GymSource};
use serde::Deserialize;
use serde_json::{Value, json};
use std::process::Command;
use std::time::{Duration, Instant};

const IN_PYTHON: &str = include_str!("gym_in_python.py");
/// The overhead per step that the bridge should stay below for small observations.
const TARGET_MICROSECONDS: f64 = 15.0;

const EXAMPLES: &str = "\
Examples:
  sane bench gym
  sane bench gym gym:Acrobot-v1 --json
  SANE_PYTHON=python3.12 sane bench gym --steps 100000

The interpreter is --python, else SANE_PYTHON, else python3.";

/// Overhead of a step of a Gymnasium environment over Python alone
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// The environment
    #[arg(default_value = "gym:CartPole-v1")]
    world: String,
    /// Print one JSON object instead of a table
    #[arg(long)]
    json: bool,
    /// Steps per round
    #[arg(long, default_value_t = 20_000, value_parser = count_in(1..))]
    steps: u64,
    /// Rounds on each side
    #[arg(long, default_value_t = 7, value_parser = count_in(1..=1000))]
    rounds: u64,
    /// The Python interpreter
    #[arg(long, value_name = "PATH")]
    python: Option<String>,
}

pub fn run(args: Args, output: &Output) -> Outcome {
    // Without preprocessing: a profile takes four frames per step, the Python side does not.
    let mut options = GymOptions { python: args.python.clone(), ..GymOptions::new(&args.world) };
    if options.is_presented_by_profile() {
        options.kwargs.insert("obs_type".into(), "rgb".into());
    }
    let id = options.id().map_err(classify)?.to_owned();
    let source = GymSource::open(&options).map_err(classify)?;
    let bar = output.progress_bar(args.rounds + 1, "rounds");
    let inside = Measurements::of(in_python(&options, &id, &args)?);
    bar.inc(1);
    let mut world = source.make(1).map_err(classify)?;
    let mut starts = Stream::named(1, "bench");
    let mut rounds = Vec::new();
    for _ in 0..args.rounds {
        rounds.push(through_the_bridge(&mut world, &mut starts, args.steps)?);
        bar.inc(1);
    }
    bar.finish_and_clear();
    let bridge = Measurements::of(rounds);
    let versions = source.versions();
    let bytes = source.spec().frame.bytes();
    if args.json {
        output.result(serde_json::to_string_pretty(&as_json(&args, &bridge, &inside, versions, bytes))?);
    } else {
        as_table(&args, &bridge, &inside, versions, bytes).iter().for_each(|line| output.result(line));
    }
    Ok(())
}

/// Microseconds per step of one round.
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

/// What the Python script prints.
#[derive(Deserialize)]
struct PythonTimings {
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
    let timings: PythonTimings =
        serde_json::from_slice(&result.stdout).context("the timings inside Python cannot be read")?;
    Ok(timings.microseconds)
}

fn as_json(args: &Args, bridge: &Measurements, inside: &Measurements, versions: &str, bytes: usize) -> Value {
    let spread =
        |times: &Measurements| json!({ "median": times.median(), "quickest": times.min(), "slowest": times.max() });
    json!({
        "what": "microseconds per step, random actions, resets not timed",
        "world": args.world,
        "frame_bytes": bytes,
        "steps": args.steps,
        "rounds": args.rounds,
        "versions": versions,
        "bridge_us": spread(bridge),
        "python_us": spread(inside),
        "overhead_us": bridge.median() - inside.median(),
        "target_overhead_us": TARGET_MICROSECONDS,
    })
}

fn as_table(args: &Args, bridge: &Measurements, inside: &Measurements, versions: &str, bytes: usize) -> Vec<String> {
    let line = |name: &str, times: &Measurements| {
        format!("{name:<24}{:>8.2}   ({:.2}–{:.2})", times.median(), times.min(), times.max())
    };
    vec![
        format!("{}, {bytes} bytes per frame, {versions}", args.world),
        format!("µs per step: median of {} rounds of {} steps (fastest–slowest)", args.rounds, args.steps),
        line("through the bridge", bridge),
        line("inside Python", inside),
        format!(
            "{:<24}{:>8.2}   target for small observations: at most {TARGET_MICROSECONDS}",
            "overhead",
            bridge.median() - inside.median()
        ),
    ]
}
