//! `sane bench replay`: memory of the replay on real frames, and the time to push and to sample.
//!
//! A replay is filled by random play under the paper's profile, then batches are sampled from it. The time per batch is
//! the median of many, with the 5th and 95th percentiles, on one thread and on all. The emulator's time is excluded.

use super::Measurements;
use crate::args::{RomsOption, count_in};
use crate::failure::{Failure, Outcome};
use crate::output::Output;
use indicatif::ProgressBar;
use sane_arcade::{AtariEnv, AtariOptions, Game, Roms};
use sane_env::{Action, AgentSteps, Environment, Stream, WorldFault};
use sane_lab::{Phase, PhaseTimer, RewardForm, Rollout, Store};
use sane_replay::{Batch, Replay};
use serde_json::{Map, Value, json};
use std::time::{Duration, Instant};

const EXAMPLES: &str = "\
Examples:
  sane bench replay
  sane bench replay --games boxing --transitions 1000000
  sane bench replay --json";

/// Bytes per transition of the replay, and microseconds per batch
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Games to measure, separated by commas
    #[arg(long, value_delimiter = ',', default_values_t = Game::PAPER_GAMES.map(str::to_owned))]
    games: Vec<String>,
    /// Transitions the replay is filled with
    #[arg(long, default_value_t = 100_000, value_parser = count_in(1..100_000_000))]
    transitions: u64,
    /// Transitions per batch
    #[arg(long, default_value_t = 32, value_parser = count_in(1..100_000))]
    batch_size: u64,
    /// Batches to sample
    #[arg(long, default_value_t = 500, value_parser = count_in(1..1_000_000))]
    batches: u64,
    #[command(flatten)]
    roms: RomsOption,
    /// Print one JSON object instead of a table
    #[arg(long)]
    json: bool,
}

/// The measurements of one game; times per batch in microseconds.
struct Row {
    game: &'static str,
    bytes: usize,
    bytes_per_transition: f64,
    push_microseconds: f64,
    one_thread: Measurements,
    all_threads: Measurements,
}

pub fn run(args: Args, output: &Output) -> Outcome {
    let games: Result<Vec<_>, _> = args.games.iter().map(|name| Game::named(name)).collect();
    let games = games.map_err(Failure::usage)?;
    let roms = Roms::new(args.roms.folder());
    let bar = output.progress_bar(args.transitions * games.len() as u64, "transitions");
    let mut rows = Vec::new();
    for game in games {
        let rom = roms.load(game, &mut |message| bar.suspend(|| output.note(message)))?;
        rows.push(measure(game, &rom, &args, &bar)?);
    }
    bar.finish_and_clear();
    if args.json {
        output.result(as_json(&rows, &args));
        return Ok(());
    }
    let million = "GB per million";
    output.result(format_args!(
        "{:14} {:>10} {million:>15} {:>9} {:>22} {:>22}",
        "replay", "bytes each", "push", "batch, 1 thread", "batch, all threads"
    ));
    for row in &rows {
        let batch = |times: &Measurements| {
            format!("{:.0} µs ({:.0}–{:.0})", times.median(), times.quantile(0.05), times.quantile(0.95))
        };
        output.result(format_args!(
            "{:14} {:10.0} {:15.3} {:6.1} µs {:>22} {:>22}",
            row.game,
            row.bytes_per_transition,
            row.bytes_per_transition / 1000.0,
            row.push_microseconds,
            batch(&row.one_thread),
            batch(&row.all_threads)
        ));
    }
    Ok(())
}

fn measure(game: &'static Game, rom: &[u8], args: &Args, bar: &ProgressBar) -> Result<Row, Failure> {
    let world = AtariEnv::new(game, rom, AtariOptions::default())?;
    let spec = world.spec().clone();
    let mut replay = Replay::new(args.transitions as usize, &spec);
    let pushing = fill(world, &mut replay, args.transitions, bar)?;
    let mut batch = Batch::new(args.batch_size as usize, spec.state_bytes());
    let mut sample = || sample(&mut replay, &mut batch, args.batches);
    let one_thread = sane_lab::pool(Some(1))?.install(&mut sample);
    let all_threads = sane_lab::pool(None)?.install(&mut sample);
    Ok(Row {
        game: game.name,
        bytes: replay.memory_bytes(),
        bytes_per_transition: replay.memory_bytes() as f64 / args.transitions as f64,
        push_microseconds: 1e6 * pushing.as_secs_f64() / args.transitions as f64,
        one_thread,
        all_threads,
    })
}

/// Fills the replay by random play; the time spent in pushes.
fn fill(world: AtariEnv, replay: &mut Replay, transitions: u64, bar: &ProgressBar) -> Result<Duration, WorldFault> {
    let (mut starts, mut draws) = (Stream::named(1, "starts"), Stream::named(1, "actions"));
    let mut rollout = Rollout::new(Box::new(world));
    let count = rollout.spec().actions.len() as u64;
    rollout.begin_episode(&mut starts, Some(replay))?;
    let mut timer = PushTimer(Duration::ZERO);
    for i in 0..transitions {
        let action = Action(draws.below(count) as u16);
        let step = rollout.step(action, Some(Store { replay, rewards: RewardForm::Clipped }), &mut timer)?;
        if step.ending.ends_episode() {
            rollout.begin_episode(&mut starts, Some(replay))?;
        }
        if i % 1000 == 999 {
            bar.inc(1000);
        }
    }
    Ok(timer.0)
}

/// The time spent in pushes to the replay.
struct PushTimer(Duration);

impl PhaseTimer for PushTimer {
    fn time<T>(&mut self, phase: Phase, work: impl FnOnce() -> T) -> T {
        let started = Instant::now();
        let result = work();
        if phase == Phase::Replay {
            self.0 += started.elapsed();
        }
        result
    }
}

/// Microseconds per batch.
fn sample(replay: &mut Replay, batch: &mut Batch, batches: u64) -> Measurements {
    let mut stream = Stream::named(1, "replay");
    let times = (0..batches)
        .filter_map(|_| {
            let started = Instant::now();
            replay.warmed_up(AgentSteps(1))?.sample(&mut stream, batch);
            Some(1e6 * started.elapsed().as_secs_f64())
        })
        .collect();
    Measurements::of(times)
}

fn as_json(rows: &[Row], args: &Args) -> Value {
    let spread = |times: &Measurements| json!({"p5": times.quantile(0.05), "median": times.median(), "p95": times.quantile(0.95)});
    let row = |row: &Row| {
        json!({
            "bytes": row.bytes,
            "bytes_per_transition": row.bytes_per_transition,
            "push_microseconds": row.push_microseconds,
            "batch_microseconds_one_thread": spread(&row.one_thread),
            "batch_microseconds_all_threads": spread(&row.all_threads),
        })
    };
    let games: Map<String, Value> = rows.iter().map(|r| (r.game.to_owned(), row(r))).collect();
    json!({"transitions": args.transitions, "batch_size": args.batch_size, "games": games})
}
