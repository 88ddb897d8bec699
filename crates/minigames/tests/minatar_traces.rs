//! The MinAtar games against everything recorded from the package.

use sane_minigames::minatar::{Game, Trace, TraceError};
use std::collections::HashMap;
use std::io::{Read, Write};
use std::path::PathBuf;

fn golden_files() -> Vec<PathBuf> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../golden/minatar/traces");
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    files
}

fn golden(name: &str) -> Vec<u8> {
    std::fs::read(golden_files().into_iter().find(|path| path.ends_with(name)).unwrap()).unwrap()
}

fn unpacked(file: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(file).read_to_end(&mut bytes).unwrap();
    bytes
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn all_recorded_games_are_repeated_without_a_difference() {
    let mut steps: HashMap<Game, usize> = HashMap::new();
    let mut snapshots = 0;
    for path in golden_files() {
        let trace = Trace::read(&std::fs::read(&path).unwrap()).unwrap();
        let compared = trace.compare();
        assert_eq!((compared.differences, compared.first), (0, None), "{}", path.display());
        *steps.entry(trace.game).or_default() += compared.steps;
        snapshots += compared.snapshots;
    }
    let counts: Vec<usize> = Game::ALL.iter().map(|game| steps[game]).collect();
    assert_eq!((counts, snapshots), (vec![78_000, 73_000, 73_000, 88_000, 78_000], 1365));
}

#[test]
fn a_thin_trace_is_checked_by_its_chain() {
    // A thin file made from a full one: the chain is computed from the game that the full file has confirmed.
    let full = unpacked(&golden("seaquest_heur_s101_sticky10_ramp1.bin.gz"));
    let acts = u32::from_le_bytes(full[24..28].try_into().unwrap()) as usize;
    let mut thin = full[..48 + 3 * acts].to_vec();
    thin[10] = (thin[10] | 4) & !2;
    thin[28..32].fill(0);
    thin[36..40].copy_from_slice(&(acts as u32).to_le_bytes());
    let chain_of = |bytes: &[u8]| {
        let mut with_link = bytes.to_vec();
        with_link.extend([0; 4]);
        let difference = Trace::read(&packed(&with_link)).unwrap().compare().first.unwrap();
        assert_eq!((difference.step, difference.field), (acts, "running checksum"));
        difference.found.parse::<u32>().unwrap()
    };
    let link = chain_of(&thin);
    thin.extend(link.to_le_bytes());
    let compared = Trace::read(&packed(&thin)).unwrap().compare();
    assert_eq!((compared.steps, compared.first), (acts, None));
}

#[test]
fn the_first_difference_is_named_with_both_values() {
    let mut bytes = unpacked(&golden("breakout_rand_s1_sticky10_ramp1.bin.gz"));
    let acts = u32::from_le_bytes(bytes[24..28].try_into().unwrap()) as usize;
    bytes[48 + 2 * acts + 99] += 5;
    let compared = Trace::read(&packed(&bytes)).unwrap().compare();
    let difference = compared.first.unwrap();
    assert_eq!((compared.differences, difference.step, difference.field), (1, 100, "reward"));
    assert_eq!(difference.expected.parse::<u32>().unwrap(), difference.found.parse::<u32>().unwrap() + 5);
}

#[test]
fn a_flipped_cell_of_a_whole_observation_is_found() {
    let mut bytes = unpacked(&golden("asterix_rand_s1_sticky10_ramp1.bin.gz"));
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    let difference = Trace::read(&packed(&bytes)).unwrap().compare().first.unwrap();
    assert_eq!(difference.field, "observation");
    assert!(difference.expected.contains("row 9, column 9, channel 3"), "{}", difference.expected);
}

#[test]
fn a_trace_cut_short_anywhere_is_refused() {
    let file = golden("freeway_rand_postterm.bin.gz");
    for len in [0, 5, 30, file.len() / 2, file.len() - 9, file.len() - 1] {
        assert!(matches!(Trace::read(&file[..len]), Err(TraceError::Unpack(_))), "gzip of {len} bytes");
    }
    let bytes = unpacked(&file);
    for len in [8, 47, 48, 1000, bytes.len() - 1] {
        let error = Trace::read(&packed(&bytes[..len])).unwrap_err();
        assert!(matches!(error, TraceError::WrongLength { found, .. } if found == len as u64), "{len}: {error}");
    }
    assert!(matches!(Trace::read(&packed(&bytes[..7])), Err(TraceError::OtherKind { .. })));
}

#[test]
fn a_header_that_makes_no_sense_is_refused_by_field() {
    let bytes = unpacked(&golden("freeway_rand_postterm.bin.gz"));
    let field_of = |at: usize, value: u8| {
        let mut changed = bytes.clone();
        changed[at] = value;
        match Trace::read(&packed(&changed)) {
            Err(TraceError::BadField { field, .. }) => field,
            other => panic!("byte {at} = {value}: {other:?}"),
        }
    };
    assert_eq!(field_of(8, 5), "the game number");
    assert_eq!(field_of(9, 8), "the number of channels");
    assert_eq!(field_of(23, 0xc0), "the sticky probability");
    assert_eq!(field_of(10, 5), "the chain interval of a thin file");
    assert_eq!(field_of(48, 6), "an action");
}
