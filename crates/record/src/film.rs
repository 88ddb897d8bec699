//! A small film of what an agent did lately: pictures, actions, σ, in one file that is always whole.
//!
//! ```text
//! "SANEFILM"   u32 length of the head, little-endian   head: JSON   pictures: zlib
//! ```
//! The pictures, unpacked, are one byte per pixel, row by row, picture by picture; each byte is the place of its colour
//! in the palette, XOR the byte at the same place of the picture before. What does not move is then zero, and packs to
//! next to nothing. A film depends on the clock and is no part of what repeats bit for bit.

use crate::RecordError;
use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fs;
use std::io::{Read, Write};
use std::path::Path;

const MAGIC: &[u8; 8] = b"SANEFILM";

/// Version of the format.
pub const FILM_VERSION: u32 = 1;

/// Everything about a film but its pictures; the lists have one entry per picture.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct FilmHead {
    /// [`FILM_VERSION`].
    pub version: u32,
    /// When it was finished, in seconds since 1970 by the machine's clock.
    pub unix_seconds: u64,
    /// Interactions of the run at the first picture.
    pub interactions: u64,
    /// Number of the episode at the first picture, from 1.
    pub episode: u64,
    /// Pixels per row.
    pub width: usize,
    /// Rows.
    pub height: usize,
    /// Red, green, blue.
    pub palette: Vec<[u8; 3]>,
    /// Names of the actions.
    pub actions: Vec<String>,
    /// Pictures at which an episode begins.
    pub episode_starts: Vec<usize>,
    /// Whether the last episode was longer than the film.
    pub cut: bool,
    /// What taking and packing the pictures cost the run.
    pub spent_seconds: f64,
    /// The action chosen in the state shown.
    pub action: Vec<u16>,
    /// |σ| of the state shown; empty for agents without a σ.
    pub sigma: Vec<f32>,
    /// Whether exploration changed the action: noise, or chance.
    pub explored: Vec<bool>,
    /// Sum of the episode's raw rewards up to here.
    pub return_so_far: Vec<f64>,
}

/// Pictures on their way into a film.
#[derive(Debug)]
pub struct FilmPictures {
    packed: ZlibEncoder<Vec<u8>>,
    palette: Vec<[u8; 3]>,
    places: HashMap<[u8; 3], u8>,
    before: Vec<u8>,
    mixed: Vec<u8>,
}

impl FilmPictures {
    /// None yet.
    pub fn new() -> Self {
        Self {
            packed: ZlibEncoder::new(Vec::new(), Compression::fast()),
            palette: Vec::new(),
            places: HashMap::new(),
            before: Vec::new(),
            mixed: Vec::new(),
        }
    }

    /// Adds a picture; all have the same number of pixels.
    pub fn add(&mut self, pixels: impl Iterator<Item = [u8; 3]>) {
        self.mixed.clear();
        let mut last = None;
        for (i, colour) in pixels.enumerate() {
            // Neighbours mostly have the same colour.
            let place = match last {
                Some((known, place)) if known == colour => place,
                _ => self.place(colour),
            };
            last = Some((colour, place));
            if i == self.before.len() {
                self.before.push(0);
            }
            self.mixed.push(place ^ self.before[i]);
            self.before[i] = place;
        }
        self.packed.write_all(&self.mixed).expect("memory takes all bytes");
    }

    /// No more will come.
    pub fn pack(self) -> PackedPictures {
        PackedPictures { palette: self.palette, bytes: self.packed.finish().expect("memory takes all bytes") }
    }

    /// Beyond 256 colours the nearest of them stands in.
    fn place(&mut self, colour: [u8; 3]) -> u8 {
        if let Some(&place) = self.places.get(&colour) {
            return place;
        }
        let place = match u8::try_from(self.palette.len()) {
            Ok(place) => {
                self.palette.push(colour);
                place
            }
            Err(_) => nearest(&self.palette, colour),
        };
        self.places.insert(colour, place);
        place
    }
}

/// Pictures ready to be written.
#[derive(Debug)]
pub struct PackedPictures {
    palette: Vec<[u8; 3]>,
    bytes: Vec<u8>,
}

impl Default for FilmPictures {
    fn default() -> Self {
        Self::new()
    }
}

/// Writes the film, its colours included, beside its place and renames it: a reader meets the old one or the new one.
pub fn write_film(path: &Path, head: FilmHead, pictures: PackedPictures) -> Result<(), RecordError> {
    let head = FilmHead { palette: pictures.palette, ..head };
    let json =
        serde_json::to_vec(&head).map_err(|error| RecordError::io("write", path)(std::io::Error::other(error)))?;
    let length = (json.len() as u32).to_le_bytes();
    let temporary = path.with_extension("new");
    fs::write(&temporary, [&MAGIC[..], &length, &json, &pictures.bytes].concat())
        .map_err(RecordError::io("write", &temporary))?;
    fs::rename(&temporary, path).map_err(RecordError::io("rename", &temporary))
}

/// A film's head and its pictures as RGB, one after the other.
pub fn read_film(path: &Path) -> Result<(FilmHead, Vec<u8>), RecordError> {
    let bytes = fs::read(path).map_err(RecordError::io("read", path))?;
    parse(&bytes).ok_or_else(|| {
        let reason = "it is not a film, or not a whole one";
        RecordError::io("read", path)(std::io::Error::new(std::io::ErrorKind::InvalidData, reason))
    })
}

fn parse(bytes: &[u8]) -> Option<(FilmHead, Vec<u8>)> {
    let rest = bytes.strip_prefix(MAGIC)?;
    let (length, rest) = rest.split_first_chunk::<4>()?;
    let (json, packed) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    let head: FilmHead = serde_json::from_slice(json).ok()?;
    let size = head.width * head.height;
    let mut mixed = vec![0; size * head.action.len()];
    ZlibDecoder::new(packed).read_exact(&mut mixed).ok()?;
    for i in size..mixed.len() {
        mixed[i] ^= mixed[i - size];
    }
    let rgb = mixed.iter().map(|&place| head.palette.get(usize::from(place)).copied()).collect::<Option<Vec<_>>>()?;
    Some((head, rgb.concat()))
}

fn nearest(palette: &[[u8; 3]], wanted: [u8; 3]) -> u8 {
    let apart =
        |colour: &[u8; 3]| -> u32 { colour.iter().zip(wanted).map(|(&a, b)| u32::from(a.abs_diff(b)).pow(2)).sum() };
    (0..=u8::MAX).min_by_key(|&place| apart(&palette[usize::from(place)])).expect("there are 256 of them")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check_round_trip(pictures: &[Vec<[u8; 3]>], width: usize) -> (FilmHead, Vec<u8>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("film.bin");
        let mut film = FilmPictures::new();
        pictures.iter().for_each(|picture| film.add(picture.iter().copied()));
        let head = FilmHead {
            width,
            height: pictures[0].len() / width,
            action: vec![0; pictures.len()],
            ..FilmHead::default()
        };
        write_film(&path, head, film.pack()).unwrap();
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        read_film(&path).unwrap()
    }

    proptest! {
        #[test]
        fn a_film_of_few_colours_comes_back_as_it_was(
            pictures in prop::collection::vec(prop::collection::vec(prop::array::uniform3(0_u8..4), 12), 1..9),
        ) {
            let (head, rgb) = check_round_trip(&pictures, 4);
            prop_assert_eq!((head.width, head.height), (4, 3));
            prop_assert_eq!(rgb, pictures.concat().concat());
        }
    }

    #[test]
    fn beyond_256_colours_the_nearest_stands_in() {
        let picture: Vec<[u8; 3]> = (0..300_u32).map(|i| [(i % 256) as u8, (i / 256) as u8, 0]).collect();
        let (head, rgb) = check_round_trip(std::slice::from_ref(&picture), 300);
        assert_eq!(head.palette.len(), 256);
        // The colour (3, 1, 0) has none left; (3, 0, 0) is next to it.
        assert_eq!(rgb[3 * 259..][..3], [3, 0, 0]);
    }

    #[test]
    fn a_picture_that_does_not_move_costs_next_to_nothing() {
        let picture: Vec<[u8; 3]> = (0..160 * 210).map(|i| [(i * i % 13) as u8, 0, 0]).collect();
        let mut film = FilmPictures::new();
        (0..200).for_each(|_| film.add(picture.iter().copied()));
        let bytes = film.pack().bytes.len();
        assert!(bytes < 200_000, "{bytes}");
    }

    #[test]
    fn a_torn_film_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("film.bin");
        let mut film = FilmPictures::new();
        film.add([[1, 2, 3]; 6].into_iter());
        write_film(&path, FilmHead { width: 6, height: 1, action: vec![0], ..FilmHead::default() }, film.pack())
            .unwrap();
        let whole = fs::read(&path).unwrap();
        for length in [0, 7, 11, 40, whole.len() - 9] {
            fs::write(&path, &whole[..length]).unwrap();
            assert!(read_film(&path).is_err(), "{length}");
        }
    }
}
