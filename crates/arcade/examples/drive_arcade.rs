//! Drives an Atari game without any agent: `cargo run --release -p sane-arcade --example drive_arcade -- [GAME]`
//!
//! Plays at random, prints score, lives and speed, then takes a snapshot and shows that two futures of it are equal.

#![allow(clippy::print_stdout, clippy::print_stderr)]

use sane_arcade::{Ale, AleSettings, Game, Joystick, Roms};
use sane_env::Stream;
use std::time::Instant;

#[allow(dead_code, reason = "the test calls `drive`")]
fn main() -> Result<(), Box<dyn std::error::Error>> {
    drive(&std::env::args().nth(1).unwrap_or_else(|| "boxing".into()))
}

pub fn drive(name: &str) -> Result<(), Box<dyn std::error::Error>> {
    let game = Game::named(name)?;
    // Found where `sane roms list` says, or fetched.
    let rom = Roms::new(None).load(game, &mut |event| eprintln!("{event}"))?;
    let mut ale = Ale::load(game, &rom, AleSettings::default())?;
    let actions = &game.minimal_actions;
    let mut chance = Stream::named(1, "actions");
    let mut random = || actions[chance.below(actions.len() as u64) as usize];

    let (mut score, mut episodes, start) = (0, 0, Instant::now());
    const FRAMES: u64 = 20_000;
    for _ in 0..FRAMES {
        score += ale.act(random());
        if ale.is_terminal() {
            episodes += 1;
            ale.reset_game();
        }
    }
    let per_second = FRAMES as f64 / start.elapsed().as_secs_f64();
    println!("{name}: {FRAMES} frames at {per_second:.0} per second, score {score}, {episodes} whole episodes");
    println!("lives {}, RAM[0..8] {:02x?}, screen {} pixels", ale.lives(), &ale.ram()[..8], ale.screen().len());

    let snapshot = ale.snapshot();
    let future: Vec<Joystick> = (0..600).map(|_| random()).collect();
    let play = |ale: &mut Ale| future.iter().map(|&action| ale.act(action)).sum::<i32>();
    let first = (play(&mut ale), ale.screen().to_vec());
    ale.restore(&snapshot)?;
    let second = (play(&mut ale), ale.screen().to_vec());
    assert!(first == second, "a restored snapshot has another future");
    println!("600 frames from a snapshot, twice: score {} and the same screen", first.0);
    Ok(())
}
