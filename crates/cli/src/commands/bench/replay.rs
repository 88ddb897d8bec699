//! `sane bench replay`: what the replay weighs on real frames, and how long it takes to push and to sample.
//!
//! A replay is filled by random play under the paper's profile, then batches are drawn from all of it. Times of a batch
//! are the median of many, with the fifth and the ninety-fifth percentile beside it; they are taken on one thread and
//! on all of them. The emulator's time is not in any number.

use crate::output::{Failure, Outcome, Output};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use sane_arcade::{AtariEnv, AtariOptions, Game, Roms};
use sane_env::{Action, AgentSteps, Environment, Stream, WorldFault};
use sane_replay::{Batch, Replay};
use serde_json::{Map, Value, json};
use std::path::PathBuf;
use std::time::{Duration, Instant};

const EXAMPLES: &str = "\
Examples:
  sane bench replay
  sane bench replay --games boxing --transitions 1000000
  sane bench replay --json";

/// What the replay weighs on real frames, and how quickly it is sampled.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Games to measure, separated by commas
    #[arg(long, value_delimiter = ',', default_values_t = Game::OF_THE_PAPER.map(str::to_owned))]
    games: Vec<String>,
    /// Transitions the replay is filled with
    #[arg(long, default_value_t = 100_000, value_parser = clap::value_parser!(u64).range(1..100_000_000))]
    transitions: u64,
    /// Transitions per batch
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u64).range(1..100_000))]
    batch_size: u64,
    /// Batches drawn
    #[arg(long, default_value_t = 500, value_parser = clap::value_parser!(u64).range(1..1_000_000))]
    batches: u64,
    /// Folder with ROMs, looked at before all others
    #[arg(long, value_name = "DIR")]
    roms: Option<PathBuf>,
    /// Print one JSON object instead of a table
    #[arg(long)]
    json: bool,
}

/// What was measured of one game.
struct Row {
    game: &'static str,
    bytes: usize,
    bytes_per_transition: f64,
    push_microseconds: f64,
    alone: Spread,
    together: Spread,
}

/// Microseconds per batch.
#[derive(Clone, Copy)]
struct Spread {
    low: f64,
    median: f64,
    high: f64,
}

/// Fills a replay from each game and samples it.
pub fn run(args: Args, output: &Output) -> Outcome {
    let games: Result<Vec<_>, _> = args.games.iter().map(|name| Game::named(name)).collect();
    let games = games.map_err(|error| Failure::Usage(error.to_string()))?;
    let roms = Roms::new(args.roms.as_deref());
    let target = if output.is_quiet() { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
    let bar = ProgressBar::with_draw_target(Some(args.transitions * games.len() as u64), target);
    bar.set_style(ProgressStyle::with_template("{wide_bar} {pos}/{len} transitions, {eta} left")?);
    let mut rows = Vec::new();
    for game in games {
        let rom = roms.load(game, &mut |news| bar.suspend(|| output.note(news)))?;
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
        let batch = |spread: Spread| format!("{:.0} µs ({:.0}–{:.0})", spread.median, spread.low, spread.high);
        output.result(format_args!(
            "{:14} {:10.0} {:15.3} {:6.1} µs {:>22} {:>22}",
            row.game,
            row.bytes_per_transition,
            row.bytes_per_transition / 1000.0,
            row.push_microseconds,
            batch(row.alone),
            batch(row.together)
        ));
    }
    Ok(())
}

fn measure(game: &'static Game, rom: &[u8], args: &Args, bar: &ProgressBar) -> Result<Row, Failure> {
    let mut world = AtariEnv::new(game, rom, AtariOptions::default())?;
    let spec = world.spec().clone();
    let mut replay = Replay::new(args.transitions as usize, &spec);
    let pushing = fill(&mut world, &mut replay, args.transitions, bar)?;
    let mut batch = Batch::new(args.batch_size as usize, spec.state_bytes());
    let mut alone = || sampling(&mut replay, &mut batch, args.batches);
    let (alone, together) = (sane_lab::pool(Some(1))?.install(&mut alone), sane_lab::pool(None)?.install(&mut alone));
    Ok(Row {
        game: game.name,
        bytes: replay.memory_bytes(),
        bytes_per_transition: replay.memory_bytes() as f64 / args.transitions as f64,
        push_microseconds: 1e6 * pushing.as_secs_f64() / args.transitions as f64,
        alone,
        together,
    })
}

/// Random play until the replay holds so many transitions; returns the time spent in it.
fn fill(
    world: &mut AtariEnv,
    replay: &mut Replay,
    transitions: u64,
    bar: &ProgressBar,
) -> Result<Duration, WorldFault> {
    let (mut starts, mut choice) = (Stream::named(1, "starts"), Stream::named(1, "actions"));
    let count = world.spec().actions.len() as u64;
    let mut frame = vec![0; world.spec().frame.bytes()];
    world.reset(&mut starts, &mut frame)?;
    replay.begin_episode(&frame);
    let mut spent = Duration::ZERO;
    for i in 0..transitions {
        let action = Action(choice.below(count) as u16);
        let step = world.step(action, &mut frame)?;
        let started = Instant::now();
        replay.push(action, step.reward.clipped(), step.ending, &frame);
        spent += started.elapsed();
        if step.ending.ends_episode() {
            world.reset(&mut starts, &mut frame)?;
            replay.begin_episode(&frame);
        }
        if i % 1000 == 999 {
            bar.inc(1000);
        }
    }
    Ok(spent)
}

fn sampling(replay: &mut Replay, batch: &mut Batch, batches: u64) -> Spread {
    let mut stream = Stream::named(1, "replay");
    let mut times: Vec<f64> = (0..batches)
        .filter_map(|_| {
            let started = Instant::now();
            replay.warmed_up(AgentSteps(1))?.sample(&mut stream, batch);
            Some(1e6 * started.elapsed().as_secs_f64())
        })
        .collect();
    times.sort_by(f64::total_cmp);
    let at = |share: f64| times[(share * (times.len() - 1) as f64).round() as usize];
    Spread { low: at(0.05), median: at(0.5), high: at(0.95) }
}

fn as_json(rows: &[Row], args: &Args) -> Value {
    let spread = |s: Spread| json!({"p5": s.low, "median": s.median, "p95": s.high});
    let row = |row: &Row| {
        json!({
            "bytes": row.bytes,
            "bytes_per_transition": row.bytes_per_transition,
            "push_microseconds": row.push_microseconds,
            "batch_microseconds_one_thread": spread(row.alone),
            "batch_microseconds_all_threads": spread(row.together),
        })
    };
    let games: Map<String, Value> = rows.iter().map(|r| (r.game.to_owned(), row(r))).collect();
    json!({"transitions": args.transitions, "batch_size": args.batch_size, "games": games})
}
