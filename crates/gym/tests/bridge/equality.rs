//! CartPole through the bridge is CartPole in Python, bit for bit.

use crate::fixture::{Fixture, floats};
use crate::packages::is_left_out;
use sane_env::{Action, Ending, Environment, Stream};
use sane_gym::GymSource;
use std::process::Command;

const EPISODES: usize = 12;

/// Plays episodes with these seeds, the actions of a small generator, and prints what happened in hexadecimal.
const IN_PYTHON: &str = r#"
import sys, gymnasium, numpy as np
env = gymnasium.make("CartPole-v1")
state = 1
for seed in map(int, sys.argv[1:]):
    observation, _ = env.reset(seed=seed)
    print(observation.astype("<f4").tobytes().hex())
    over = False
    while not over:
        state = (state * 1103515245 + 12345) % 2**31
        observation, reward, terminated, truncated, _ = env.step(state >> 30)
        print(observation.astype("<f4").tobytes().hex(), reward, terminated, truncated)
        over = terminated or truncated
"#;

fn in_python(fixture: &Fixture, seeds: &[u64]) -> String {
    let output = Command::new(fixture.python())
        .args(["-c", IN_PYTHON])
        .args(seeds.iter().map(u64::to_string))
        .output()
        .expect("Python starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("it prints text")
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[test]
fn cartpole_through_the_bridge_is_cartpole_in_python() {
    if is_left_out() {
        return;
    }
    let fixture = Fixture::new();
    let source = GymSource::open(&fixture.world("gym:CartPole-v1")).unwrap();
    let mut world = source.make(7).unwrap();
    let mut starts = Stream::named(3, "starts");
    let seeds: Vec<u64> = std::iter::repeat_with({
        let mut copy = starts.clone();
        move || copy.next_u64() >> 33
    })
    .take(EPISODES)
    .collect();
    let mut frame = vec![0; world.spec().frame.bytes()];
    let mut told = String::new();
    let mut state = 1_u64;
    for _ in 0..EPISODES {
        world.reset(&mut starts, &mut frame).unwrap();
        told += &format!("{}\n", hex(&frame));
        loop {
            state = (state * 1_103_515_245 + 12_345) % (1 << 31);
            let step = world.step(Action((state >> 30) as u16), &mut frame).unwrap();
            let (terminated, truncated) = match step.ending {
                Ending::GameOver => ("True", "False"),
                Ending::Truncated => ("False", "True"),
                _ => ("False", "False"),
            };
            told += &format!("{} {:.1} {terminated} {truncated}\n", hex(&frame), step.reward.raw());
            if step.ending.ends_episode() {
                break;
            }
        }
    }
    assert_eq!(told, in_python(&fixture, &seeds));
}

#[test]
fn a_world_made_in_an_old_process_is_a_new_one() {
    if is_left_out() {
        return;
    }
    let fixture = Fixture::new();
    let source = GymSource::open(&fixture.counter("event = 'noisy start'\nat = 1")).unwrap();
    let first = |seed: &str| {
        let mut world = source.make(1).unwrap();
        let mut frame = vec![0; world.spec().frame.bytes()];
        world.reset(&mut Stream::named(1, seed), &mut frame).unwrap();
        world.step(Action(0), &mut frame).unwrap();
        floats(&frame)
    };
    assert_eq!(first("a"), first("a"));
    assert_ne!(first("a"), first("b"));
}

#[test]
fn worlds_of_one_source_live_side_by_side() {
    if is_left_out() {
        return;
    }
    let fixture = Fixture::new();
    let source = GymSource::open(&fixture.counter("")).unwrap();
    let mut worlds = [source.make(1).unwrap(), source.make(1).unwrap()];
    let mut frame = vec![0; 8];
    for world in &mut worlds {
        world.reset(&mut Stream::named(1, "starts"), &mut frame).unwrap();
    }
    worlds[0].step(Action(1), &mut frame).unwrap();
    worlds[0].step(Action(1), &mut frame).unwrap();
    assert_eq!(floats(&frame), [2.0, 3.0]);
    worlds[1].step(Action(1), &mut frame).unwrap();
    assert_eq!(floats(&frame), [1.0, 2.0]);
}
