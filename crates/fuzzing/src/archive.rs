//! Packed files: recorded games and the wheel the ROMs come in. What they unpack to is limited, whatever they announce.

use crate::scratch;
use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use std::fs;
use std::io::{Cursor, Read, Write};

const MINATAR: &[u8] = include_bytes!("../../../golden/minatar/wrong_reward.bin.gz");
const ATARI: &[u8] = include_bytes!("../../../golden/atari/boxing.trc.gz");

/// Of the content that is mutated.
const MOST: usize = 30_000;

fn unpacked(packed: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    GzDecoder::new(packed).take(MOST as u64).read_to_end(&mut bytes).expect("a whole file");
    bytes
}

fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).expect("memory takes all bytes");
    encoder.finish().expect("memory takes all bytes")
}

/// The first byte says whether the rest is packed before it is read.
fn file_of(input: &[u8]) -> Vec<u8> {
    match input {
        [] => Vec::new(),
        [0, bytes @ ..] => bytes.to_vec(),
        [_, bytes @ ..] => packed(bytes),
    }
}

/// A file of a few hundred kilobytes that unpacks to 600 MB, beginning as a trace does.
pub fn bomb(start: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(start).expect("memory takes all bytes");
    for _ in 0..600 {
        encoder.write_all(&[0; 1 << 20]).expect("memory takes all bytes");
    }
    encoder.finish().expect("memory takes all bytes")
}

/// A wheel with a file of 600 MB, and one whose name leaves the folder.
pub fn large_wheel() -> Vec<u8> {
    wheel(&[("../../../etc/boxing.bin", vec![7; 2048]), ("roms/large.bin", vec![0; 600 << 20])])
}

pub fn minatar_seeds() -> Vec<Vec<u8>> {
    vec![[&[0], MINATAR].concat(), [&[1], &unpacked(MINATAR)[..]].concat()]
}

pub fn minatar_body(input: &[u8]) -> bool {
    let Ok(trace) = sane_minigames::minatar::Trace::read(&file_of(input)) else { return false };
    trace.compare();
    true
}

pub fn atari_seeds() -> Vec<Vec<u8>> {
    vec![[&[0], ATARI].concat(), [&[1], &unpacked(ATARI)[..]].concat()]
}

pub fn atari_body(input: &[u8]) -> bool {
    let folder = scratch::folder();
    let path = folder.path().join("boxing.trc.gz");
    fs::write(&path, file_of(input)).expect("space for a small file");
    sane_arcade::Trace::read(&path).is_ok()
}

fn wheel(files: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Deflated);
    for (name, bytes) in files {
        archive.start_file(*name, options).expect("memory takes all bytes");
        archive.write_all(bytes).expect("memory takes all bytes");
    }
    archive.finish().expect("memory takes all bytes").into_inner()
}

pub fn wheel_seeds() -> Vec<Vec<u8>> {
    vec![wheel(&[("ale_py/roms/boxing.bin", vec![7; 2048]), ("ale_py/__init__.py", b"pass".to_vec())])]
}

pub fn wheel_body(input: &[u8]) -> bool {
    let folder = scratch::folder();
    let path = folder.path().join("ale_py.whl");
    fs::write(&path, input).expect("space for a small file");
    sane_arcade::roms_in_wheel(&path).is_ok()
}
