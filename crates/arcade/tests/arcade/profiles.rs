//! Preprocessed frames against ale-py: `golden/atari/profiles.csv`, whose recipe is `golden/atari/make_profiles.py`.

use crate::{game_and_rom, golden};
use sane_arcade::{AtariEnv, AtariOptions, Profile};
use sane_env::{Action, Environment, Stream};

#[test]
fn frames_and_rewards_of_every_profile_equal_those_made_from_ale_py() {
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
    let noops = profile.recipe().most_noops.map_or(0, |most| 1 + starts.clone().below(most));
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
