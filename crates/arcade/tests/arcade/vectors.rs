//! A vector of games gives the same on one, two and four threads.

use crate::game_and_rom;
use sane_arcade::{AtariEnv, AtariOptions, Observation, Profile};
use sane_env::{Action, Environment, Stream, VectorEnv};

fn run_on(threads: usize) -> Vec<u32> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| {
        let world = |i: u32| -> (Box<dyn Environment>, Stream) {
            let (game, rom) = game_and_rom(["boxing", "qbert", "seaquest"][i as usize % 3]);
            let profile = Profile::ALL[i as usize / 3];
            let options = AtariOptions { profile, seed: i, ..AtariOptions::default() };
            (Box::new(AtariEnv::new(game, &rom, options).unwrap()), Stream::named(i.into(), "starts"))
        };
        let mut worlds = VectorEnv::new((0..9).map(world).collect());
        let mut seen = vec![0_u32; worlds.len()];
        for step in 0..60 {
            let actions: Vec<Action> = (0..9).map(|i| Action((step * 5 + i) % 6)).collect();
            worlds.step(&actions);
            for (i, seen) in seen.iter_mut().enumerate() {
                let reward = worlds.last_step(i).reward.raw().to_bits();
                *seen = sane_arcade::crc32(&[&seen.to_le_bytes()[..], &reward.to_le_bytes(), worlds.state(i)].concat());
            }
        }
        seen
    })
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let one = run_on(1);
    assert_eq!(run_on(2), one);
    assert_eq!(run_on(4), one);
}

#[test]
fn ram_is_an_observation_of_128_bytes() {
    let (game, rom) = game_and_rom("boxing");
    let options = AtariOptions { observation: Observation::Ram, ..AtariOptions::default() };
    let mut env = AtariEnv::new(game, &rom, options).unwrap();
    let mut frame = vec![0; env.spec().frame.bytes()];
    env.reset(&mut Stream::named(1, "starts"), &mut frame);
    env.step(Action(2), &mut frame);
    assert_eq!((frame.len(), env.spec().history), (128, 1));
    assert_eq!(frame, env.ale().ram());
}
