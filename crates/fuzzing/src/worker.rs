//! What a Python worker replies: the description of its environment, observations, errors, pictures.
//!
//! The first byte picks the kind of world, the rest is what comes through the pipe.

use sane_gym::{GymOptions, play_replies};

const WORLDS: [&str; 2] = ["gym:X-v0", "gym:ALE/Pong-v5"];

pub fn seeds() -> Vec<Vec<u8>> {
    let vector = session(0, &info("[4]", false, 3), 16, 12);
    let picture = session(0, &info("[6,5,3]", true, 2), 90, 12);
    let screen = session(1, &info("[210,160]", true, 18), 210 * 160, 4);
    let text = br#"{"kind":"unknown-id","text":"Environment X is none","known":["X-v1","Y-v0"]}"#;
    let error = [&[0], &header(1, 0, text.len() as i32, 0.0)[..], text].concat();
    let fails = [&session(0, &info("[4]", false, 3), 16, 2)[..], &header(1, 0, text.len() as i32, 0.0), text].concat();
    vec![vector, picture, screen, error, fails]
}

fn info(shape: &str, is_bytes: bool, actions: u32) -> String {
    let rest = r#""names":["NOOP","FIRE"],"versions":"gymnasium 1.0"}"#;
    format!(r#"{{"shape":{shape},"is_bytes":{is_bytes},"full_scale":255,"actions":{actions},{rest}"#)
}

/// As `worker.py` writes it.
fn header(status: u8, flags: u8, number: i32, reward: f64) -> Vec<u8> {
    [&[status, flags, 0, 0], &number.to_le_bytes()[..], &reward.to_le_bytes()].concat()
}

/// The replies to a session of `steps` steps, each with an observation of `bytes` bytes. Where fewer bytes are asked for, as
/// in the skipped frames of an Atari game, the rest is read as the next reply, which most often ends the session.
fn session(world: u8, info: &str, bytes: usize, steps: usize) -> Vec<u8> {
    let mut replies = vec![world];
    replies.extend(header(0, 0, info.len() as i32, 0.0));
    replies.extend(info.as_bytes());
    let observation = vec![0; bytes];
    for step in 0..=steps + steps / 7 {
        replies.extend(header(0, u8::from(step == 5), 3, 0.5));
        replies.extend(&observation);
        if step % 3 == 0 && 0 < step {
            replies.extend(header(0, 0, 12, 2.0));
            replies.extend([7; 12]);
        }
    }
    replies
}

pub fn body(input: &[u8]) -> bool {
    let [world, replies @ ..] = input else { return false };
    let options = GymOptions::new(WORLDS[usize::from(*world) % WORLDS.len()]);
    let (steps, error) = play_replies(&options, replies);
    assert!(!error.to_string().is_empty(), "every error says something");
    0 < steps
}
