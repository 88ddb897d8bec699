//! Exported policies: safetensors files with tensors and, as metadata, the configuration and the world they belong to.
//!
//! An input that begins with a brace is the header, up to the end of its line, and the tensors; the length that a file begins
//! with is made right. Any other input is a file as it is.

use crate::scratch;
use sane_agent::ActMode;
use sane_env::Stream;
use sane_lab::{Preset, TrainedAgent, WorldSource, export_policy, read_policy};
use std::fs;

/// World, its preset, agent.
const AGENTS: [(&str, Preset, &str); 4] = [
    ("risky-road", Preset::RiskyRoad, "sane"),
    ("minatar/breakout", Preset::Minatar, "noisynet"),
    ("deep-sea/6", Preset::DeepSea, "eps-greedy"),
    ("risky-road", Preset::RiskyRoad, "q-sane"),
];

/// Policies whose states are larger than this are read, and not asked for actions.
const MOST_STATE_BYTES: usize = 1 << 20;

pub fn seeds() -> Vec<Vec<u8>> {
    let files = AGENTS.map(|(world, preset, agent)| exported(world, preset, agent));
    let opened = files.iter().map(|file| {
        let (length, rest) = file.split_first_chunk::<8>().expect("a file begins with the length of its header");
        let (header, tensors) = rest.split_at(u64::from_le_bytes(*length) as usize);
        [header, b"\n", tensors].concat()
    });
    opened.chain(files.iter().cloned()).collect()
}

fn exported(world: &str, preset: Preset, agent: &str) -> Vec<u8> {
    let mut config = preset.config(world, agent).expect("a world and an agent that exist");
    config.learner.network.hidden = vec![6];
    config.learner.network.convolutions.iter_mut().for_each(|conv| conv.filters = 2);
    let source = WorldSource::open(&config.world, None, &mut |_| ()).expect("a built-in world");
    let trained = TrainedAgent::untrained(&config, &source).expect("a small agent");
    let folder = scratch::folder();
    let path = folder.path().join("policy.safetensors");
    export_policy(&trained, &path).expect("space for a small file");
    fs::read(path).expect("it was just written")
}

fn file_of(input: &[u8]) -> Vec<u8> {
    let end = input.iter().position(|&byte| byte == b'\n');
    match (input.first(), end) {
        (Some(b'{'), Some(end)) => [&(end as u64).to_le_bytes(), &input[..end], &input[end + 1..]].concat(),
        _ => input.to_vec(),
    }
}

pub fn body(input: &[u8]) -> bool {
    let folder = scratch::folder();
    let path = folder.path().join("policy.safetensors");
    fs::write(&path, file_of(input)).expect("space for a small file");
    let mut read = match read_policy(&path) {
        Ok(read) => read,
        Err(error) => {
            let place = path.display().to_string();
            assert!(error.to_string().contains(&place), "the error does not name the place: {error}");
            return false;
        }
    };
    let bytes = read.spec.state_bytes();
    if bytes <= MOST_STATE_BYTES {
        let mut noise = Stream::named(1, "noise");
        for mode in [ActMode::Greedy, ActMode::Noisy] {
            read.policy.begin_episode();
            let decision = read.policy.act(&vec![0; bytes], mode, &mut noise);
            assert!(usize::from(decision.action.0) < read.spec.actions.len(), "an action that the world has");
        }
    }
    true
}
