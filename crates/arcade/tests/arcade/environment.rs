//! What an agent is given: preprocessed frames of every profile against ale-py (`golden/atari/profiles.csv`, made by
//! `golden/atari/make_profiles.py`), the RAM observation, and a lost life that truncates inside a frame skip.

use crate::{game_and_rom, golden, is_left_out};
use sane_arcade::{Ale, AleSettings, AtariEnv, AtariOptions, Joystick, LifeLoss, Observation, Profile};
use sane_env::{Action, Environment, Stream};

#[test]
fn frames_and_rewards_of_every_profile_equal_those_made_from_ale_py() {
    if is_left_out() {
        return;
    }
    let table = std::fs::read_to_string(golden("profiles.csv")).unwrap();
    let rows: Vec<&str> = table.lines().filter(|line| !line.starts_with('#')).skip(1).collect();
    assert!(33 <= rows.len(), "only {} rows", rows.len());
    for row in rows {
        let cells: Vec<&str> = row.split(',').collect();
        let [name, profile, ..] = cells[..] else { panic!("the row `{row}`") };
        let found = play(name, Profile::named(profile).expect(profile));
        assert_eq!(found, row, "game, profile, seed, no-ops, steps, reward, frames");
    }
}

/// Up to 120 decisions; the `i`-th is action `(i² · 7 + i / 3) mod n`.
fn play(name: &str, profile: Profile) -> String {
    const SEED: u32 = 11;
    let (game, rom) = game_and_rom(name);
    let options = AtariOptions { profile, seed: SEED, ..AtariOptions::default() };
    let mut env = AtariEnv::new(game, &rom, options).unwrap();
    let mut starts = Stream::named(SEED.into(), "starts");
    let noops = profile.spec().draw_noops(&mut starts.clone());
    let mut frame = vec![0; env.spec().frame.bytes()];
    env.reset(&mut starts, &mut frame).unwrap();
    let mut frames = frame.clone();
    let (mut steps, mut reward) = (0, 0.0);
    let actions = env.spec().actions.len() as u64;
    for i in 0..120_u64 {
        let step = env.step(Action(((i * i * 7 + i / 3) % actions) as u16), &mut frame).unwrap();
        steps += 1;
        reward += step.reward.raw();
        frames.extend_from_slice(&frame);
        if step.ending.ends_episode() {
            break;
        }
    }
    format!("{name},{},{SEED},{noops},{steps},{reward},{:08x}", profile.name(), sane_arcade::crc32(&frames))
}

#[test]
fn the_ram_observation_is_the_128_bytes_of_ram() {
    if is_left_out() {
        return;
    }
    let (game, rom) = game_and_rom("boxing");
    let options = AtariOptions { observation: Observation::Ram, ..AtariOptions::default() };
    let mut env = AtariEnv::new(game, &rom, options).unwrap();
    let mut frame = vec![0; env.spec().frame.bytes()];
    env.reset(&mut Stream::named(1, "starts"), &mut frame).unwrap();
    env.step(Action(2), &mut frame).unwrap();
    assert_eq!((frame.len(), env.spec().history), (128, 1));
    assert_eq!(frame, env.ale().ram());
}

/// Plays the same actions with a frame skip of four and frame by frame until the first life is lost.
fn check_truncation(name: &str) {
    let (game, rom) = game_and_rom(name);
    let settings = AleSettings { frame_skip: 4, life_loss: LifeLoss::Truncates, ..AleSettings::default() };
    let mut skipping = Ale::load(game, &rom, settings).unwrap();
    let mut single = Ale::load(game, &rom, AleSettings::default()).unwrap();
    skipping.reset_game();
    single.reset_game();
    let lives = single.lives();
    let mut choice = Stream::named(4, name);
    while single.lives() == lives {
        let actions = &game.minimal_actions;
        let action: Joystick = actions[choice.below(actions.len() as u64) as usize];
        let reward = skipping.act(action);
        let mut rewards = 0;
        for _ in 0..4 {
            rewards += if single.lives() == lives { single.act(action) } else { 0 };
        }
        assert_eq!(reward, rewards, "{name}: frames of a step after the lost life give no reward");
        assert!(single.episode_frame_number() < 20_000, "{name}: random play loses a life sooner");
    }
    assert!(skipping.is_truncated() && !skipping.is_terminal() && skipping.game_over());
    assert_eq!(skipping.episode_frame_number(), single.episode_frame_number(), "{name}: truncated inside the skip");
    assert_eq!((skipping.ram(), skipping.screen()), (single.ram(), single.screen()));
    let frames = skipping.frame_number();
    assert_eq!(
        (skipping.act(Joystick::NOOP), skipping.frame_number()),
        (0, frames),
        "{name}: no frames after the truncation"
    );
    skipping.reset_game();
    assert!(!skipping.game_over());
}

#[test]
fn a_lost_life_truncates_the_episode_inside_a_skip_of_four() {
    if is_left_out() {
        return;
    }
    ["asterix", "seaquest", "riverraid"].into_iter().for_each(check_truncation);
}
