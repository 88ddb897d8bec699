//! Plays a fixed game for a profiler to count, and prints a checksum of what was seen:
//!
//! ```text
//! cargo build --release -p sane-arcade --example play_frames
//! valgrind --tool=callgrind --toggle-collect='*::play_frames::play*' target/release/examples/play_frames seaquest act 500
//! ```
//!
//! `act` reads RAM and reward only, `gray` takes the grayscale screen of every frame, `step` is the paper's agent step and
//! `nature` that of Mnih et al. (84×84, four frames), with a stack of four observations.

#![allow(clippy::print_stdout, clippy::print_stderr)]

use sane_arcade::{Ale, AleSettings, AtariEnv, AtariOptions, Game, Profile, RenderMode, Roms};
use sane_env::{Action, Environment, FrameStack, Stream};

type AnyError = Box<dyn std::error::Error>;

fn main() -> Result<(), AnyError> {
    let mut arguments = std::env::args().skip(1);
    let mut argument = |default: &str| arguments.next().unwrap_or_else(|| default.to_owned());
    let (name, usage, frames) = (argument("seaquest"), argument("act"), argument("500").parse()?);
    let game = Game::named(&name)?;
    let rom = Roms::new(None).load(game, &mut |event| eprintln!("{event}"))?;
    let seen = match usage.as_str() {
        "act" => play(Ale::load(game, &rom, AleSettings::default())?, RenderMode::CollisionsOnly, frames),
        "gray" => play(Ale::load(game, &rom, AleSettings::default())?, RenderMode::Full, frames),
        "step" => prepared(game, &rom, Profile::Paper, frames)?,
        "nature" => prepared(game, &rom, Profile::Nature, frames)?,
        other => return Err(format!("no use {other}: act, gray, step or nature").into()),
    };
    println!("{name} {usage} {frames}: {seen:016x}");
    Ok(())
}

/// One action per frame.
#[inline(never)]
fn play(mut ale: Ale, render: RenderMode, frames: u64) -> u64 {
    let mut draws = Stream::named(1, "actions");
    let mut gray = vec![0; ale.screen().len()];
    let mut seen = 0;
    for _ in 0..frames {
        let actions = &ale.game().minimal_actions;
        let action = actions[draws.below(actions.len() as u64) as usize];
        seen = hashed(seen, &ale.act_frame(action, render).to_le_bytes());
        seen = hashed(seen, ale.ram());
        if render == RenderMode::Full {
            ale.screen_gray(&mut gray);
        }
        if ale.game_over() {
            ale.reset_game();
        }
    }
    hashed(seen, &gray)
}

/// One action per four frames; the world is loaded and reset outside of what is counted.
fn prepared(game: &'static Game, rom: &[u8], profile: Profile, frames: u64) -> Result<u64, AnyError> {
    let mut world = AtariEnv::new(game, rom, AtariOptions { profile, ..AtariOptions::default() })?;
    let mut frame = vec![0; world.spec().frame.bytes()];
    world.reset(&mut Stream::named(1, "starts"), &mut frame)?;
    play_steps(world, &mut frame, frames)
}

#[inline(never)]
fn play_steps(mut world: AtariEnv, frame: &mut [u8], frames: u64) -> Result<u64, AnyError> {
    let (mut starts, mut draws) = (Stream::named(2, "starts"), Stream::named(1, "actions"));
    let mut stack = FrameStack::new(world.spec());
    stack.restart(frame);
    let count = world.spec().actions.len() as u64;
    let (mut seen, mut run) = (0, 0);
    while run < frames {
        let step = world.step(Action(draws.below(count) as u16), frame)?;
        stack.push(frame);
        run += step.frames.0;
        seen = hashed(seen, &step.reward.0.to_le_bytes());
        if step.ending.ends_episode() {
            world.reset(&mut starts, frame)?;
            stack.restart(frame);
        }
    }
    Ok(hashed(hashed(seen, frame), world.ale().ram()))
}

/// A cheap hash, eight bytes at a time.
fn hashed(seed: u64, bytes: &[u8]) -> u64 {
    bytes.chunks(8).fold(seed, |hash, chunk| {
        let word = chunk.iter().fold(0, |word, &byte| word << 8 | u64::from(byte));
        (hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29)
    })
}
