//! `sane bench atari`: emulated frames per second on one thread, in three uses of a game.
//!
//! Random actions of the minimal set; resets are not counted. A rate is the best of a few rounds, since everything that
//! disturbs a round slows it; the slowest round stands beside it. `act` looks at RAM and reward only, so its pictures
//! are not coloured; `act + gray` takes the grayscale screen of every frame; `agent step` is the paper's profile: four
//! frames, one 84×84 picture, pushed onto a stack of four. Beside them: how long a snapshot in memory takes to make and to
//! take back, in the midst of a game, and how many bytes it has in a file.

use crate::output::{Failure, Outcome, Output};
use indicatif::{ProgressBar, ProgressDrawTarget};
use sane_arcade::{Ale, AtariEnv, AtariOptions, Game, Joystick, PictureMode, Roms, Settings};
use sane_env::{Action, Environment, FrameStack, Stream};
use serde_json::{Map, Value, json};
use std::path::PathBuf;
use std::time::{Duration, Instant};

const EXAMPLES: &str = "\
Examples:
  sane bench atari
  sane bench atari --json
  sane bench atari --games boxing,qbert --frames 20000";

/// Frames per second of the Atari games.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Games to measure, separated by commas
    #[arg(long, value_delimiter = ',', default_values_t = Game::OF_THE_PAPER.map(str::to_owned))]
    games: Vec<String>,
    /// Frames of each round
    #[arg(long, default_value_t = 6000, value_parser = clap::value_parser!(u64).range(4..))]
    frames: u64,
    /// Rounds; the best counts
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..))]
    rounds: u64,
    /// Folder with ROMs, looked at before all others
    #[arg(long, value_name = "DIR")]
    roms: Option<PathBuf>,
    /// Print one JSON object instead of a table
    #[arg(long)]
    json: bool,
}

/// Frames per second: the best round and the slowest.
#[derive(Clone, Copy)]
struct Rate {
    best: f64,
    slowest: f64,
}

/// A snapshot: microseconds to take it and to go back to it, bytes in a file.
#[derive(Clone, Copy)]
struct Cost {
    take_us: f64,
    restore_us: f64,
    bytes: usize,
}

const USES: [&str; 3] = ["act_fps", "act_gray_fps", "agent_step_fps"];

/// Measures every game in its three uses.
pub fn run(args: Args, output: &Output) -> Outcome {
    let games: Result<Vec<_>, _> = args.games.iter().map(|name| Game::named(name)).collect();
    let games = games.map_err(|error| Failure::Usage(error.to_string()))?;
    let roms = Roms::new(args.roms.as_deref());
    let target = if output.is_quiet() { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
    let bar = ProgressBar::with_draw_target(Some(args.rounds * games.len() as u64), target);
    let mut rows = Vec::new();
    for game in games {
        let rom = roms.load(game, &mut |news| bar.suspend(|| output.note(news)))?;
        let rates = measure(game, &rom, &args, &bar)?;
        rows.push((game.name, rates, snapshot_cost(game, &rom)?));
    }
    bar.finish_and_clear();
    let means = [0, 1, 2].map(|i| geometric_mean(rows.iter().map(|(_, rates, _)| rates[i].best)));
    if args.json {
        output.result(as_json(&rows, means));
        return Ok(());
    }
    let head = ["act", "act + gray", "agent step", "snapshot, restore µs", "KiB"];
    output.result(format_args!(
        "{:14} {:>18} {:>18} {:>18} {:>21} {:>6}",
        "frames/second", head[0], head[1], head[2], head[3], head[4]
    ));
    for (name, rates, cost) in &rows {
        let [act, gray, step] = rates.map(|rate| format!("{:.0} ({:.0})", rate.best, rate.slowest));
        let times = format!("{:.1}, {:.1}", cost.take_us, cost.restore_us);
        let size = cost.bytes as f64 / 1024.0;
        output.result(format_args!("{name:14} {act:>18} {gray:>18} {step:>18} {times:>21} {size:>6.1}"));
    }
    let [act, gray, step] = means.map(|mean| format!("{mean:.0}"));
    output.result(format_args!("{:14} {act:>18} {gray:>18} {step:>18}", "geometric mean"));
    Ok(())
}

fn measure(game: &'static Game, rom: &[u8], args: &Args, bar: &ProgressBar) -> Result<[Rate; 3], Failure> {
    let mut rates = [Rate { best: 0.0, slowest: f64::INFINITY }; 3];
    for _ in 0..args.rounds {
        let round = [
            act_round(game, rom, args.frames, PictureMode::CollisionsOnly)?,
            act_round(game, rom, args.frames, PictureMode::Coloured)?,
            step_round(game, rom, args.frames)?,
        ];
        for (rate, fps) in rates.iter_mut().zip(round) {
            *rate = Rate { best: rate.best.max(fps), slowest: rate.slowest.min(fps) };
        }
        bar.inc(1);
    }
    Ok(rates)
}

/// One frame per act; a coloured picture is also turned to gray.
fn act_round(game: &'static Game, rom: &[u8], frames: u64, picture: PictureMode) -> Result<f64, Failure> {
    let mut ale = Ale::load(game, rom, Settings::default())?;
    ale.reset_game();
    let mut choice = Stream::named(1, "actions");
    let actions: Vec<Joystick> = (0..frames).map(|_| pick(&game.minimal_actions, &mut choice)).collect();
    let mut gray = vec![0; ale.screen().len()];
    let (started, mut resets) = (Instant::now(), Duration::ZERO);
    for action in actions {
        ale.act_frame(action, picture);
        if picture == PictureMode::Coloured {
            ale.screen_gray(&mut gray);
        }
        if ale.game_over() {
            let reset_started = Instant::now();
            ale.reset_game();
            resets += reset_started.elapsed();
        }
    }
    Ok(frames as f64 / (started.elapsed() - resets).as_secs_f64())
}

fn step_round(game: &'static Game, rom: &[u8], frames: u64) -> Result<f64, Failure> {
    let mut world = AtariEnv::new(game, rom, AtariOptions::default())?;
    let (mut starts, mut choice) = (Stream::named(1, "starts"), Stream::named(1, "actions"));
    let mut stack = FrameStack::new(world.spec());
    let mut frame = vec![0; world.spec().frame.bytes()];
    let count = world.spec().actions.len() as u64;
    world.reset(&mut starts, &mut frame)?;
    stack.restart(&frame);
    let (started, mut resets, mut run) = (Instant::now(), Duration::ZERO, 0);
    while run < frames {
        let step = world.step(Action(choice.below(count) as u16), &mut frame)?;
        stack.push(&frame);
        run += step.frames.0;
        if step.ending.ends_episode() {
            let reset_started = Instant::now();
            world.reset(&mut starts, &mut frame)?;
            stack.restart(&frame);
            resets += reset_started.elapsed();
        }
    }
    Ok(run as f64 / (started.elapsed() - resets).as_secs_f64())
}

/// The best of many, after a few hundred frames of the agent's use; the last of them was not coloured.
fn snapshot_cost(game: &'static Game, rom: &[u8]) -> Result<Cost, Failure> {
    const FRAMES: u64 = 303;
    const TIMES: u32 = 200;
    let mut world = AtariEnv::new(game, rom, AtariOptions::default())?;
    world.reset(&mut Stream::named(1, "starts"), &mut vec![0; world.spec().frame.bytes()])?;
    let mut ale = world.ale().clone();
    let mut choice = Stream::named(1, "actions");
    for _ in 0..FRAMES {
        ale.act_frame(pick(&game.minimal_actions, &mut choice), PictureMode::CollisionsOnly);
    }
    let mut cost = Cost { take_us: f64::INFINITY, restore_us: f64::INFINITY, bytes: world.snapshot().len() };
    for _ in 0..TIMES {
        let started = Instant::now();
        let snapshot = ale.snapshot();
        cost.take_us = cost.take_us.min(started.elapsed().as_secs_f64() * 1e6);
        let started = Instant::now();
        let restored = ale.restore(&snapshot);
        cost.restore_us = cost.restore_us.min(started.elapsed().as_secs_f64() * 1e6);
        restored?;
    }
    Ok(cost)
}

fn pick(actions: &[Joystick], choice: &mut Stream) -> Joystick {
    actions[choice.below(actions.len() as u64) as usize]
}

fn geometric_mean(rates: impl ExactSizeIterator<Item = f64>) -> f64 {
    let count = rates.len() as f64;
    (rates.map(f64::ln).sum::<f64>() / count).exp()
}

fn as_json(rows: &[(&str, [Rate; 3], Cost)], means: [f64; 3]) -> Value {
    let whole = |fps: f64| json!(fps.round() as u64);
    let mut games = Map::new();
    for (name, rates, cost) in rows {
        let mut row = Map::new();
        let mut slowest = Map::new();
        for (key, rate) in USES.into_iter().zip(rates) {
            row.insert(key.to_owned(), whole(rate.best));
            slowest.insert(key.to_owned(), whole(rate.slowest));
        }
        row.insert("slowest_round".to_owned(), Value::Object(slowest));
        let Cost { take_us, restore_us, bytes } = *cost;
        row.insert("snapshot".to_owned(), json!({"take_us": take_us, "restore_us": restore_us, "bytes": bytes}));
        games.insert((*name).to_owned(), Value::Object(row));
    }
    let means: Map<String, Value> = USES.into_iter().map(str::to_owned).zip(means.map(whole)).collect();
    json!({"games": games, "geometric_mean": means})
}
