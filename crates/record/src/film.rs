//! A film: frames, actions and σ of a recent episode, in one file that is replaced atomically.
//!
//! ```text
//! "SANEFILM"   u32 length of the header, little-endian   header: JSON   frames: zlib
//! ```
//! The unpacked frames are one byte per pixel, row by row, frame by frame; each byte is the index of its colour in the
//! palette, XOR the byte of the same pixel in the previous frame, so that still areas are zero and compress well. When a
//! film is recorded depends on the clock; it is not part of what repeats bit for bit.

use crate::RecordError;
use crate::disk::{RealDisk, read_plain, replace_file};
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::io::{Read, Write};
use std::path::Path;

const MAGIC: &[u8; 8] = b"SANEFILM";

/// Pixels of the longest film that is read: an hour of the console's screen at 15 frames per second would be twice that.
const MOST_PIXELS: usize = 1 << 30;

/// Version of the format.
pub const FILM_VERSION: u32 = 1;

/// A larger file is no film: a thousand incompressible pictures of 160 by 210 points have 34 megabytes.
const LARGEST_FILM_BYTES: u64 = 256 << 20;

/// Everything about a film but its frames; the lists have one entry per frame.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct FilmHeader {
    /// Is [`FILM_VERSION`].
    pub version: u32,
    /// When it was finished, in Unix time.
    pub unix_seconds: u64,
    /// Interactions of the run at the first frame.
    pub interactions: u64,
    /// Number of the episode at the first frame, from 1.
    pub episode: u64,
    /// In pixels.
    pub width: usize,
    /// In pixels.
    pub height: usize,
    /// RGB.
    pub palette: Vec<[u8; 3]>,
    /// Names of all actions.
    pub actions: Vec<String>,
    /// Frames at which an episode begins.
    pub episode_starts: Vec<usize>,
    /// Whether the last episode was longer than the film.
    pub cut: bool,
    /// Time the run spent on capturing and compressing the frames.
    pub spent_seconds: f64,
    /// The action chosen in the state shown.
    pub action: Vec<u16>,
    /// |σ| of the state shown; empty for agents without a σ.
    pub sigma: Vec<f32>,
    /// Whether noise changed the action, or chance chose it.
    pub explored: Vec<bool>,
    /// Sum of the episode's raw rewards up to here.
    pub return_so_far: Vec<f64>,
}

/// Frames being compressed into a film.
#[derive(Debug)]
pub struct FilmFrames {
    packed: ZlibEncoder<Vec<u8>>,
    palette: Vec<[u8; 3]>,
    indices: HashMap<[u8; 3], u8>,
    previous: Vec<u8>,
    delta: Vec<u8>,
}

impl FilmFrames {
    pub fn new() -> Self {
        Self {
            packed: ZlibEncoder::new(Vec::new(), Compression::fast()),
            palette: Vec::new(),
            indices: HashMap::new(),
            previous: Vec::new(),
            delta: Vec::new(),
        }
    }

    /// Adds a frame; all have the same number of pixels.
    pub fn add(&mut self, pixels: impl Iterator<Item = [u8; 3]>) {
        self.delta.clear();
        let mut last = None;
        for (i, colour) in pixels.enumerate() {
            // Neighbours mostly have the same colour.
            let index = match last {
                Some((known, index)) if known == colour => index,
                _ => self.index_of(colour),
            };
            last = Some((colour, index));
            if i == self.previous.len() {
                self.previous.push(0);
            }
            self.delta.push(index ^ self.previous[i]);
            self.previous[i] = index;
        }
        self.packed.write_all(&self.delta).expect("memory takes all bytes");
    }

    /// Ends the compression.
    pub fn pack(self) -> PackedFrames {
        PackedFrames { palette: self.palette, bytes: self.packed.finish().expect("memory takes all bytes") }
    }

    /// Index of the colour in the palette; once 256 are taken, of the nearest one.
    fn index_of(&mut self, colour: [u8; 3]) -> u8 {
        if let Some(&index) = self.indices.get(&colour) {
            return index;
        }
        let index = match u8::try_from(self.palette.len()) {
            Ok(index) => {
                self.palette.push(colour);
                index
            }
            Err(_) => nearest(&self.palette, colour),
        };
        self.indices.insert(colour, index);
        index
    }
}

/// Compressed frames and their palette.
#[derive(Debug)]
pub struct PackedFrames {
    palette: Vec<[u8; 3]>,
    bytes: Vec<u8>,
}

impl Default for FilmFrames {
    fn default() -> Self {
        Self::new()
    }
}

/// Writes the film to a temporary file and renames it: a reader sees the old film or the new one.
pub fn write_film(path: &Path, header: FilmHeader, frames: PackedFrames) -> Result<(), RecordError> {
    let header = FilmHeader { palette: frames.palette, ..header };
    let json =
        serde_json::to_vec(&header).map_err(|error| RecordError::io("write", path)(std::io::Error::other(error)))?;
    let length = (json.len() as u32).to_le_bytes();
    let pieces = [&MAGIC[..], &length, &json, &frames.bytes];
    replace_file(&RealDisk, &path.with_extension("new"), path, &pieces).map_err(RecordError::io("write", path))
}

/// A film's header and its frames as RGB, one after the other.
pub fn read_film(path: &Path) -> Result<(FilmHeader, Vec<u8>), RecordError> {
    let bytes = read_plain(path, LARGEST_FILM_BYTES).map_err(RecordError::io("read", path))?;
    parse(&bytes).ok_or_else(|| {
        let reason = "not a film, or a truncated one";
        RecordError::io("read", path)(std::io::Error::new(std::io::ErrorKind::InvalidData, reason))
    })
}

fn parse(bytes: &[u8]) -> Option<(FilmHeader, Vec<u8>)> {
    let rest = bytes.strip_prefix(MAGIC)?;
    let (length, rest) = rest.split_first_chunk::<4>()?;
    let (json, packed) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    let header: FilmHeader = serde_json::from_slice(json).ok()?;
    let size = header.width.checked_mul(header.height)?;
    // The pixels are announced by the header: they are read as far as they are there, not allocated as announced.
    let pixels = size.checked_mul(header.action.len()).filter(|pixels| *pixels <= MOST_PIXELS)?;
    let mut delta = Vec::new();
    ZlibDecoder::new(packed).take(pixels as u64).read_to_end(&mut delta).ok()?;
    if delta.len() != pixels {
        return None;
    }
    for i in size..delta.len() {
        delta[i] ^= delta[i - size];
    }
    let rgb = delta.iter().map(|&index| header.palette.get(usize::from(index)).copied()).collect::<Option<Vec<_>>>()?;
    Some((header, rgb.concat()))
}

fn nearest(palette: &[[u8; 3]], wanted: [u8; 3]) -> u8 {
    let apart =
        |colour: &[u8; 3]| -> u32 { colour.iter().zip(wanted).map(|(&a, b)| u32::from(a.abs_diff(b)).pow(2)).sum() };
    (0..=u8::MAX).min_by_key(|&index| apart(&palette[usize::from(index)])).expect("there are 256 of them")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::fs;

    fn check_round_trip(frames: &[Vec<[u8; 3]>], width: usize) -> (FilmHeader, Vec<u8>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("film.bin");
        let mut film = FilmFrames::new();
        frames.iter().for_each(|frame| film.add(frame.iter().copied()));
        let header = FilmHeader {
            width,
            height: frames[0].len() / width,
            action: vec![0; frames.len()],
            ..FilmHeader::default()
        };
        write_film(&path, header, film.pack()).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        read_film(&path).unwrap()
    }

    proptest! {
        #[test]
        fn a_film_of_few_colours_is_read_back_unchanged(
            frames in prop::collection::vec(prop::collection::vec(prop::array::uniform3(0_u8..4), 12), 1..9),
        ) {
            let (header, rgb) = check_round_trip(&frames, 4);
            prop_assert_eq!((header.width, header.height), (4, 3));
            prop_assert_eq!(rgb, frames.concat().concat());
        }
    }

    #[test]
    fn beyond_256_colours_the_nearest_is_used() {
        let frame: Vec<[u8; 3]> = (0..300_u32).map(|i| [(i % 256) as u8, (i / 256) as u8, 0]).collect();
        let (header, rgb) = check_round_trip(std::slice::from_ref(&frame), 300);
        assert_eq!(header.palette.len(), 256);
        // The palette is full before (3, 1, 0); (3, 0, 0) is nearest.
        assert_eq!(rgb[3 * 259..][..3], [3, 0, 0]);
    }

    #[test]
    fn still_frames_compress_to_almost_nothing() {
        let frame: Vec<[u8; 3]> = (0..160 * 210).map(|i| [(i * i % 13) as u8, 0, 0]).collect();
        let mut film = FilmFrames::new();
        (0..200).for_each(|_| film.add(frame.iter().copied()));
        let bytes = film.pack().bytes.len();
        assert!(bytes < 200_000, "{bytes}");
    }

    #[test]
    fn a_truncated_film_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("film.bin");
        let mut film = FilmFrames::new();
        film.add([[1, 2, 3]; 6].into_iter());
        write_film(&path, FilmHeader { width: 6, height: 1, action: vec![0], ..FilmHeader::default() }, film.pack())
            .unwrap();
        let whole = fs::read(&path).unwrap();
        for length in [0, 7, 11, 40, whole.len() - 9] {
            fs::write(&path, &whole[..length]).unwrap();
            assert!(read_film(&path).is_err(), "{length}");
        }
    }
}
