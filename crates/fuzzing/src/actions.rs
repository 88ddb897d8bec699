//! The actions of evaluations, which come from strangers: read, and played again in the world that the file names.
//!
//! An input that does not begin as such a file does is the announced length of the episodes, the header up to the end of its line,
//! and the packed episodes; lengths and digest are made right.

use crate::scratch;
use sane_lab::{WorldSource, verify, world_of};
use sane_record::{
    ACTION_TRACES_VERSION, ActionTraces, TracedEpisode, TracedEvaluation, TracesHeader, read_action_traces,
    write_action_traces,
};
use std::fs;
use std::sync::atomic::AtomicBool;

const MAGIC: &[u8] = b"SANEACTS";

/// Bytes before the header.
const HEAD: usize = 32;

const DIGEST: usize = 32;

/// Longer episodes are read, and not played.
const MOST_ACTIONS: usize = 10_000;

pub fn seeds() -> Vec<Vec<u8>> {
    let files =
        [("risky-road", 40), ("deep-sea/6", 6), ("minatar/breakout", 60)].map(|(world, length)| file(world, length));
    let opened = files.iter().map(|file| {
        let json = u32::from_le_bytes(file[12..16].try_into().expect("four bytes")) as usize;
        let (header, packed) = file[HEAD..file.len() - DIGEST].split_at(json);
        [&file[24..32], header, b"\n", packed].concat()
    });
    opened.chain(files.iter().cloned()).collect()
}

fn file(world: &str, length: usize) -> Vec<u8> {
    let mut header = TracesHeader {
        program: "0.1.0".into(),
        world: world.into(),
        profile: "paper".into(),
        actions: Vec::new(),
        agent: "sane".into(),
        seed: 1,
        trained_interactions: 100,
        start_seed: 0,
    };
    let world = world_of(&header).expect("a built-in world");
    let source = WorldSource::open(&world, None, &mut |_| ()).expect("a world that needs no file");
    header.actions = source.make(0).expect("it can be made").spec().actions.clone();
    let actions: Vec<u16> = (0..length).map(|i| (i % header.actions.len()) as u16).collect();
    let episode = TracedEpisode { return_raw: 1.0, cut: true, actions };
    let evaluation = TracedEvaluation { noise: "off".into(), episodes: vec![episode; 2] };
    let folder = scratch::folder();
    let path = folder.path().join("a.trace");
    write_action_traces(&path, &ActionTraces { header, evaluations: vec![evaluation] })
        .expect("space for a small file");
    fs::read(path).expect("it was just written")
}

fn file_of(input: &[u8]) -> Vec<u8> {
    let Some((unpacked, rest)) = input.split_first_chunk::<8>().filter(|_| !input.starts_with(MAGIC)) else {
        return input.to_vec();
    };
    let Some(end) = rest.iter().position(|&byte| byte == b'\n') else { return input.to_vec() };
    let (json, packed) = (&rest[..end], &rest[end + 1..]);
    let mut bytes = MAGIC.to_vec();
    bytes.extend_from_slice(&ACTION_TRACES_VERSION.to_le_bytes());
    bytes.extend_from_slice(&(json.len() as u32).to_le_bytes());
    bytes.extend_from_slice(&(packed.len() as u64).to_le_bytes());
    bytes.extend_from_slice(unpacked);
    bytes.extend_from_slice(json);
    bytes.extend_from_slice(packed);
    let digest = blake3::hash(&bytes);
    bytes.extend_from_slice(digest.as_bytes());
    bytes
}

pub fn body(input: &[u8]) -> bool {
    let folder = scratch::folder();
    let path = folder.path().join("a.trace");
    fs::write(&path, file_of(input)).expect("space for a small file");
    let traces = match read_action_traces(&path) {
        Ok(traces) => traces,
        Err(error) => {
            let place = path.display().to_string();
            assert!(error.to_string().contains(&place), "the error does not name the place: {error}");
            return false;
        }
    };
    let episodes = || traces.evaluations.iter().flat_map(|evaluation| &evaluation.episodes);
    let is_short = episodes().map(|episode| episode.actions.len()).sum::<usize>() <= MOST_ACTIONS;
    // Atari worlds need their ROMs, which are not fetched for a file from elsewhere to be tried.
    let built_in = ["risky-road", "deep-sea/6", "minatar/breakout"].contains(&traces.header.world.as_str());
    if is_short
        && built_in
        && let Ok(world) = world_of(&traces.header)
        && let Ok(source) = WorldSource::open(&world, None, &mut |_| ())
    {
        let _ = verify(&traces, &source, 1, |_| (), &AtomicBool::new(false));
    }
    true
}
