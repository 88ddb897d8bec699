//! `sane bench minatar`: acts with their observations per second, one thread, beside the Python package in the same run.
//!
//! Random actions, sticky probability 0.1, ramping on, resets included on both sides. The rate of a game is the median
//! of a few rounds; the slowest and the fastest round stand beside it.

use crate::output::{Outcome, Output};
use anyhow::{Context, anyhow};
use indicatif::{ProgressBar, ProgressDrawTarget};
use sane_env::{Action, Environment, Stream, WorldFault};
use sane_minigames::minatar::{Game, MinatarOptions, MinatarWorld};
use serde::Deserialize;
use serde_json::{Value, json};
use std::process::Command;
use std::time::Instant;

const PACKAGE_SCRIPT: &str = include_str!("minatar_package.py");
const TARGET: f64 = 30.0;
const ROUNDS: usize = 5;

const EXAMPLES: &str = "\
Examples:
  sane bench minatar
  PYTHONPATH=/path/to/site-packages sane bench minatar --python python3.11 --json

The package is measured if the interpreter can import `minatar`; otherwise only our own rates are given.";

/// Steps per second of the five MinAtar games, beside the Python package.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Print one JSON object instead of a table
    #[arg(long)]
    json: bool,
    /// Steps of each of our rounds
    #[arg(long, default_value_t = 1_000_000, value_parser = clap::value_parser!(u64).range(1..))]
    steps: u64,
    /// Steps of each of the package's rounds
    #[arg(long, default_value_t = 20_000, value_parser = clap::value_parser!(u64).range(1..))]
    package_steps: u64,
    /// Interpreter that runs the package
    #[arg(long, default_value = "python3")]
    python: String,
}

/// Measures and prints.
pub fn run(args: Args, output: &Output) -> Outcome {
    let target = if output.is_quiet() { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
    let bar = ProgressBar::with_draw_target(Some(2 * Game::ALL.len() as u64), target);
    let mut rows = Vec::new();
    let mut version = None;
    for game in Game::ALL {
        let ours = Rates::of(measure_ours(game, args.steps)?);
        bar.inc(1);
        let package = match measure_package(&args, game) {
            Ok(measured) => {
                version = Some(measured.version);
                Some(Rates::of(measured.steps_per_second))
            }
            Err(error) => {
                bar.suspend(|| output.note(format_args!("the package was not measured on {}: {error:#}", game.name())));
                None
            }
        };
        bar.inc(1);
        rows.push(Row { game, ours, package });
    }
    bar.finish_and_clear();
    if args.json {
        output.result(as_json(&rows, version.as_deref()));
    } else {
        as_table(&rows, version.as_deref()).iter().for_each(|line| output.result(line));
    }
    Ok(())
}

struct Row {
    game: Game,
    ours: Rates,
    package: Option<Rates>,
}

impl Row {
    fn ratio(&self) -> Option<f64> {
        self.package.as_ref().map(|package| self.ours.median / package.median)
    }
}

/// Steps per second over the rounds.
struct Rates {
    median: f64,
    slowest: f64,
    fastest: f64,
}

impl Rates {
    fn of(mut rounds: Vec<f64>) -> Self {
        rounds.sort_by(f64::total_cmp);
        Self { median: rounds[rounds.len() / 2], slowest: rounds[0], fastest: rounds[rounds.len() - 1] }
    }

    fn json(&self) -> Value {
        json!({ "median": self.median, "slowest": self.slowest, "fastest": self.fastest })
    }
}

fn measure_ours(game: Game, steps: u64) -> Result<Vec<f64>, WorldFault> {
    let mut world = MinatarWorld::new(game, MinatarOptions::default(), 1);
    let mut frame = vec![0; world.spec().frame.bytes()];
    let mut starts = Stream::named(1, "bench starts");
    let mut draws = Stream::named(1, "bench actions");
    let actions: Vec<Action> = (0..65_536).map(|_| Action(draws.below(6) as u16)).collect();
    world.reset(&mut starts, &mut frame)?;
    let mut round = || {
        let start = Instant::now();
        for &action in actions.iter().cycle().take(steps as usize) {
            if world.step(action, std::hint::black_box(&mut frame))?.ending.ends_episode() {
                world.reset(&mut starts, &mut frame)?;
            }
        }
        Ok(steps as f64 / start.elapsed().as_secs_f64())
    };
    (0..ROUNDS).map(|_| round()).collect()
}

#[derive(Deserialize)]
struct PackageMeasured {
    version: String,
    steps_per_second: Vec<f64>,
}

fn measure_package(args: &Args, game: Game) -> anyhow::Result<PackageMeasured> {
    let ran = Command::new(&args.python)
        .args(["-c", PACKAGE_SCRIPT, game.name(), &args.package_steps.to_string(), &ROUNDS.to_string()])
        .output()
        .with_context(|| format!("{} cannot be started", args.python))?;
    if !ran.status.success() {
        let complaint = String::from_utf8_lossy(&ran.stderr);
        let last = complaint.lines().last().unwrap_or("no message");
        return Err(anyhow!("{} says: {last} (`pip install minatar` provides it)", args.python));
    }
    let measured: PackageMeasured = serde_json::from_slice(&ran.stdout).context("its answer cannot be read")?;
    if measured.steps_per_second.is_empty() {
        return Err(anyhow!("its answer holds no rates"));
    }
    Ok(measured)
}

/// Of the games in which the package was measured, if it was in all.
fn geometric_mean_ratio(rows: &[Row]) -> Option<f64> {
    let logarithms: Option<Vec<f64>> = rows.iter().map(|row| row.ratio().map(f64::ln)).collect();
    logarithms.map(|logarithms| (logarithms.iter().sum::<f64>() / logarithms.len() as f64).exp())
}

fn as_json(rows: &[Row], version: Option<&str>) -> Value {
    let games: Vec<Value> = rows
        .iter()
        .map(|row| {
            json!({
                "game": row.game.name(),
                "steps_per_second": row.ours.json(),
                "package_steps_per_second": row.package.as_ref().map(Rates::json),
                "ratio": row.ratio(),
            })
        })
        .collect();
    json!({
        "what": "act + observation, one thread, random actions, resets included",
        "rounds": ROUNDS,
        "package_version": version,
        "games": games,
        "geometric_mean_ratio": geometric_mean_ratio(rows),
        "target_ratio": TARGET,
    })
}

fn as_table(rows: &[Row], version: Option<&str>) -> Vec<String> {
    let thousands = |rates: &Rates| {
        let [median, slowest, fastest] = [rates.median, rates.slowest, rates.fastest].map(|rate| rate / 1e3);
        format!("{median:.0} ({slowest:.0}–{fastest:.0})")
    };
    let mut lines = vec![
        "act + observation, thousand steps per second on one thread: median (slowest–fastest round)".to_string(),
        format!("{:<16}{:>24}{:>24}{:>9}", "game", "sane", "minatar package", "ratio"),
    ];
    for row in rows {
        let package = row.package.as_ref().map_or("not measured".into(), thousands);
        let ratio = row.ratio().map_or("–".into(), |ratio| format!("{ratio:.0}×"));
        lines.push(format!("{:<16}{:>24}{package:>24}{ratio:>9}", row.game.name(), thousands(&row.ours)));
    }
    if let (Some(mean), Some(version)) = (geometric_mean_ratio(rows), version) {
        lines.push(format!("geometric mean {mean:.0}× the package {version}; the aim is {TARGET:.0}×"));
    }
    lines
}
