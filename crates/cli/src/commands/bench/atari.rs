//! `sane bench atari`: emulated frames per second on one thread, in three uses of a game.
//!
//! Random actions of the minimal set; resets are not timed. A rate is the best of a few rounds, since every disturbance
//! slows a round; the slowest round is printed next to it. `act` reads RAM and reward only, so its screens are not
//! coloured; `act + gray` takes the grayscale screen of every frame; `agent step` is the paper's profile: four frames, one
//! 84×84 observation, pushed onto a stack of four. Also: the time to take and to restore a snapshot in memory, in the
//! middle of a game, and its size in a file.

use super::{Measurements, geometric_mean};
use crate::args::{RomsOption, count_in};
use crate::failure::{Failure, Outcome};
use crate::output::Output;
use indicatif::ProgressBar;
use sane_arcade::{Ale, AleSettings, AtariEnv, AtariOptions, Game, Joystick, RenderMode, Roms};
use sane_env::{Action, Environment, FrameStack, Stream};
use serde_json::{Map, Value, json};
use std::time::{Duration, Instant};

const EXAMPLES: &str = "\
Examples:
  sane bench atari
  sane bench atari --json
  sane bench atari --games boxing,qbert --frames 20000";

/// Frames per second of the Atari games, in three uses
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Games to measure, separated by commas
    #[arg(long, value_delimiter = ',', default_values_t = Game::PAPER_GAMES.map(str::to_owned))]
    games: Vec<String>,
    /// Frames per round
    #[arg(long, default_value_t = 6000, value_parser = count_in(4..))]
    frames: u64,
    /// Rounds; the best one is reported
    #[arg(long, default_value_t = 5, value_parser = count_in(1..))]
    rounds: u64,
    #[command(flatten)]
    roms: RomsOption,
    /// Print one JSON object instead of a table
    #[arg(long)]
    json: bool,
}

/// What a snapshot costs: microseconds to take and to restore it, bytes in a file.
struct SnapshotCost {
    take_us: f64,
    restore_us: f64,
    bytes: usize,
}

const USES: [&str; 3] = ["act_fps", "act_gray_fps", "agent_step_fps"];

pub fn run(args: Args, output: &Output) -> Outcome {
    let games: Result<Vec<_>, _> = args.games.iter().map(|name| Game::named(name)).collect();
    let games = games.map_err(Failure::usage)?;
    let roms = Roms::new(args.roms.folder());
    let bar = output.progress_bar(args.rounds * games.len() as u64, "rounds");
    let mut rows = Vec::new();
    for game in games {
        let rom = roms.load(game, &mut |message| bar.suspend(|| output.note(message)))?;
        let rates = measure(game, &rom, &args, &bar)?;
        rows.push((game.name, rates, snapshot_cost(game, &rom)?));
    }
    bar.finish_and_clear();
    let means = [0, 1, 2].map(|i| geometric_mean(rows.iter().map(|(_, rates, _)| rates[i].max())));
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
        let [act, gray, step] = rates.each_ref().map(|rate| format!("{:.0} ({:.0})", rate.max(), rate.min()));
        let times = format!("{:.1}, {:.1}", cost.take_us, cost.restore_us);
        let size = cost.bytes as f64 / 1024.0;
        output.result(format_args!("{name:14} {act:>18} {gray:>18} {step:>18} {times:>21} {size:>6.1}"));
    }
    let [act, gray, step] = means.map(|mean| format!("{mean:.0}"));
    output.result(format_args!("{:14} {act:>18} {gray:>18} {step:>18}", "geometric mean"));
    Ok(())
}

/// Frames per second of each use.
fn measure(game: &'static Game, rom: &[u8], args: &Args, bar: &ProgressBar) -> Result<[Measurements; 3], Failure> {
    let mut rates = [const { Vec::new() }; 3];
    for _ in 0..args.rounds {
        let round = [
            act_round(game, rom, args.frames, RenderMode::CollisionsOnly)?,
            act_round(game, rom, args.frames, RenderMode::Full)?,
            step_round(game, rom, args.frames)?,
        ];
        rates.iter_mut().zip(round).for_each(|(rates, fps)| rates.push(fps));
        bar.inc(1);
    }
    Ok(rates.map(Measurements::of))
}

/// One frame per action; a rendered screen is also converted to grayscale.
fn act_round(game: &'static Game, rom: &[u8], frames: u64, render: RenderMode) -> Result<f64, Failure> {
    let mut ale = Ale::load(game, rom, AleSettings::default())?;
    ale.reset_game();
    let mut draws = Stream::named(1, "actions");
    let actions: Vec<Joystick> = (0..frames).map(|_| pick(&game.minimal_actions, &mut draws)).collect();
    let mut gray = vec![0; ale.screen().len()];
    let (started, mut resets) = (Instant::now(), Duration::ZERO);
    for action in actions {
        ale.act_frame(action, render);
        if render == RenderMode::Full {
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
    let (mut starts, mut draws) = (Stream::named(1, "starts"), Stream::named(1, "actions"));
    let mut stack = FrameStack::new(world.spec());
    let mut frame = vec![0; world.spec().frame.bytes()];
    let count = world.spec().actions.len() as u64;
    world.reset(&mut starts, &mut frame)?;
    stack.restart(&frame);
    let (started, mut resets, mut run) = (Instant::now(), Duration::ZERO, 0);
    while run < frames {
        let step = world.step(Action(draws.below(count) as u16), &mut frame)?;
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

/// Minimum of many, after a few hundred frames as an agent plays them: the last frame was not coloured.
fn snapshot_cost(game: &'static Game, rom: &[u8]) -> Result<SnapshotCost, Failure> {
    const FRAMES: u64 = 303;
    const REPETITIONS: u32 = 200;
    let mut world = AtariEnv::new(game, rom, AtariOptions::default())?;
    world.reset(&mut Stream::named(1, "starts"), &mut vec![0; world.spec().frame.bytes()])?;
    let mut ale = world.ale().clone();
    let mut draws = Stream::named(1, "actions");
    for _ in 0..FRAMES {
        ale.act_frame(pick(&game.minimal_actions, &mut draws), RenderMode::CollisionsOnly);
    }
    let mut cost = SnapshotCost { take_us: f64::INFINITY, restore_us: f64::INFINITY, bytes: world.snapshot().len() };
    for _ in 0..REPETITIONS {
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

fn pick(actions: &[Joystick], draws: &mut Stream) -> Joystick {
    actions[draws.below(actions.len() as u64) as usize]
}

fn as_json(rows: &[(&str, [Measurements; 3], SnapshotCost)], means: [f64; 3]) -> Value {
    let whole = |fps: f64| json!(fps.round() as u64);
    let mut games = Map::new();
    for (name, rates, cost) in rows {
        let mut row = Map::new();
        let mut slowest = Map::new();
        for (key, rate) in USES.into_iter().zip(rates) {
            row.insert(key.to_owned(), whole(rate.max()));
            slowest.insert(key.to_owned(), whole(rate.min()));
        }
        row.insert("slowest_round".to_owned(), Value::Object(slowest));
        let SnapshotCost { take_us, restore_us, bytes } = cost;
        row.insert("snapshot".to_owned(), json!({"take_us": take_us, "restore_us": restore_us, "bytes": bytes}));
        games.insert((*name).to_owned(), Value::Object(row));
    }
    let means: Map<String, Value> = USES.into_iter().map(str::to_owned).zip(means.map(whole)).collect();
    json!({"games": games, "geometric_mean": means})
}
