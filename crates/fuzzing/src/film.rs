//! Films.

use crate::scratch;
use sane_record::{FilmFrames, FilmHeader, read_film, write_film};
use std::fs;

pub fn seeds() -> Vec<Vec<u8>> {
    [(1, 1, 1), (8, 6, 5), (3, 200, 2)].map(|(width, height, frames)| film(width, height, frames)).to_vec()
}

fn film(width: usize, height: usize, frames: usize) -> Vec<u8> {
    let mut packed = FilmFrames::new();
    for frame in 0..frames {
        packed.add((0..width * height).map(|pixel| [(pixel % 7) as u8, frame as u8, 3]));
    }
    let header = FilmHeader {
        version: sane_record::FILM_VERSION,
        width,
        height,
        actions: vec!["left".into(), "right".into()],
        episode_starts: vec![0],
        action: vec![1; frames],
        sigma: vec![0.5; frames],
        explored: vec![false; frames],
        return_so_far: vec![1.0; frames],
        ..FilmHeader::default()
    };
    let folder = scratch::folder();
    let path = folder.path().join("film.bin");
    write_film(&path, header, packed.pack()).expect("space for a small file");
    fs::read(path).expect("it was just written")
}

pub fn body(input: &[u8]) -> bool {
    let folder = scratch::folder();
    let path = folder.path().join("film.bin");
    fs::write(&path, input).expect("space for a small file");
    let Ok((header, rgb)) = read_film(&path) else { return false };
    assert_eq!(rgb.len(), 3 * header.width * header.height * header.action.len(), "a film has all of its pixels");
    true
}
