//! Games played in parallel on one, two and four threads give the same results.

use crate::{game_and_rom, is_left_out};
use rayon::prelude::*;
use sane_arcade::{AtariEnv, AtariOptions, Profile};
use sane_env::{Action, Environment, Stream};

/// Plays 60 decisions; a checksum of all rewards and frames.
fn play(i: u32) -> u32 {
    let (game, rom) = game_and_rom(["boxing", "qbert", "seaquest"][i as usize % 3]);
    let options = AtariOptions { profile: Profile::ALL[i as usize / 3], seed: i, ..AtariOptions::default() };
    let mut env = AtariEnv::new(game, &rom, options).unwrap();
    let mut frame = vec![0; env.spec().frame.bytes()];
    let mut starts = Stream::named(i.into(), "starts");
    env.reset(&mut starts, &mut frame).unwrap();
    let mut seen = sane_arcade::crc32(&frame);
    for t in 0..60 {
        let step = env.step(Action((t * 5 + i as u16) % 6), &mut frame).unwrap();
        let reward = step.reward.raw().to_bits();
        seen = sane_arcade::crc32(&[&seen.to_le_bytes()[..], &reward.to_le_bytes(), &frame].concat());
        if step.ending.ends_episode() {
            env.reset(&mut starts, &mut frame).unwrap();
        }
    }
    seen
}

#[test]
fn the_number_of_threads_does_not_change_the_results() {
    if is_left_out() {
        return;
    }
    let run_on = |threads: usize| -> Vec<u32> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| (0..9).into_par_iter().map(play).collect())
    };
    let one = run_on(1);
    assert_eq!(run_on(2), one);
    assert_eq!(run_on(4), one);
}
