//! `sane bench minatar`: steps with their observations per second on one thread, compared with the Python package.
//!
//! Random actions, sticky probability 0.1, ramping on, resets included on both sides. Reported for each game: the median
//! of a few rounds, with the slowest and the fastest.

use super::{Measurements, geometric_mean};
use crate::args::count_in;
use crate::failure::Outcome;
use crate::output::Output;
use anyhow::{Context, anyhow};
use sane_env::{Action, Environment, Stream, WorldFault};
use sane_minigames::minatar::{Game, MinatarOptions, MinatarWorld};
use serde::Deserialize;
use serde_json::{Value, json};
use std::process::Command;
use std::time::Instant;

const PACKAGE_SCRIPT: &str = include_str!("minatar_package.py");
/// Speed-up over the package to stay above.
const TARGET: f64 = 30.0;
const ROUNDS: usize = 5;

const EXAMPLES: &str = "\
Examples:
  sane bench minatar
  PYTHONPATH=/path/to/site-packages sane bench minatar --python python3.11 --json

The package is measured if the interpreter can import `minatar`; otherwise only the rates of sane are printed.";

/// Steps per second of the five MinAtar games, compared with the Python package
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Print one JSON object instead of a table
    #[arg(long)]
    json: bool,
    /// Steps per round of sane
    #[arg(long, default_value_t = 1_000_000, value_parser = count_in(1..))]
    steps: u64,
    /// Steps per round of the package
    #[arg(long, default_value_t = 20_000, value_parser = count_in(1..))]
    package_steps: u64,
    /// Python interpreter that runs the package
    #[arg(long, default_value = "python3")]
    python: String,
}

pub fn run(args: Args, output: &Output) -> Outcome {
    let bar = output.progress_bar(2 * Game::ALL.len() as u64, "measurements");
    let mut rows = Vec::new();
    let mut version = None;
    for game in Game::ALL {
        let sane = Measurements::of(measure_sane(game, args.steps)?);
        bar.inc(1);
        let package = match measure_package(&args, game) {
            Ok(measured) => {
                version = Some(measured.version);
                Some(Measurements::of(measured.steps_per_second))
            }
            Err(error) => {
                bar.suspend(|| output.note(format_args!("the package was not measured on {}: {error:#}", game.name())));
                None
            }
        };
        bar.inc(1);
        rows.push(Row { game, sane, package });
    }
    bar.finish_and_clear();
    if args.json {
        output.result(as_json(&rows, version.as_deref()));
    } else {
        as_table(&rows, version.as_deref()).iter().for_each(|line| output.result(line));
    }
    Ok(())
}

/// Steps per second in one game.
struct Row {
    game: Game,
    sane: Measurements,
    package: Option<Measurements>,
}

impl Row {
    fn ratio(&self) -> Option<f64> {
        self.package.as_ref().map(|package| self.sane.median() / package.median())
    }
}

fn measure_sane(game: Game, steps: u64) -> Result<Vec<f64>, WorldFault> {
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

/// What the Python script prints.
#[derive(Deserialize)]
struct PackageRates {
    version: String,
    steps_per_second: Vec<f64>,
}

fn measure_package(args: &Args, game: Game) -> anyhow::Result<PackageRates> {
    let ran = Command::new(&args.python)
        .args(["-c", PACKAGE_SCRIPT, game.name(), &args.package_steps.to_string(), &ROUNDS.to_string()])
        .output()
        .with_context(|| format!("{} cannot be started", args.python))?;
    if !ran.status.success() {
        let message = String::from_utf8_lossy(&ran.stderr);
        let last = message.lines().last().unwrap_or("no message");
        return Err(anyhow!("{} failed: {last} (`pip install minatar` installs the package)", args.python));
    }
    let measured: PackageRates = serde_json::from_slice(&ran.stdout).context("its output cannot be read")?;
    if measured.steps_per_second.is_empty() {
        return Err(anyhow!("its output holds no rates"));
    }
    Ok(measured)
}

/// `None` unless the package was measured in all games.
fn geometric_mean_ratio(rows: &[Row]) -> Option<f64> {
    let ratios: Option<Vec<f64>> = rows.iter().map(Row::ratio).collect();
    ratios.map(|ratios| geometric_mean(ratios.into_iter()))
}

fn as_json(rows: &[Row], version: Option<&str>) -> Value {
    let spread =
        |rates: &Measurements| json!({ "median": rates.median(), "slowest": rates.min(), "fastest": rates.max() });
    let games: Vec<Value> = rows
        .iter()
        .map(|row| {
            json!({
                "game": row.game.name(),
                "steps_per_second": spread(&row.sane),
                "package_steps_per_second": row.package.as_ref().map(spread),
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
    let thousands = |rates: &Measurements| {
        let [median, slowest, fastest] = [rates.median(), rates.min(), rates.max()].map(|rate| rate / 1e3);
        format!("{median:.0} ({slowest:.0}–{fastest:.0})")
    };
    let mut lines = vec![
        "act + observation, thousand steps per second on one thread: median (slowest–fastest round)".to_string(),
        format!("{:<16}{:>24}{:>24}{:>9}", "game", "sane", "minatar package", "ratio"),
    ];
    for row in rows {
        let package = row.package.as_ref().map_or("not measured".into(), thousands);
        let ratio = row.ratio().map_or("–".into(), |ratio| format!("{ratio:.0}×"));
        lines.push(format!("{:<16}{:>24}{package:>24}{ratio:>9}", row.game.name(), thousands(&row.sane)));
    }
    if let (Some(mean), Some(version)) = (geometric_mean_ratio(rows), version) {
        lines.push(format!("geometric mean {mean:.0}× the package {version}; target {TARGET:.0}×"));
    }
    lines
}
