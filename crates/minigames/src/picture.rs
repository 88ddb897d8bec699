//! Planes of zeros and ones as a picture: each cell is a square in the colour of the last plane set in it.

use sane_env::{LegendEntry, Picture};

/// Red, green, blue.
pub type Colour = [u8; 3];

const BACKGROUND: Colour = [18, 20, 26];

/// Pixels along the side of a cell, so that a grid of `cells` comes to about 320 pixels.
fn cell_side(cells: usize) -> usize {
    (320 / cells).max(2)
}

/// `planes` is `[channels][height][width]`; `colours` has one entry per channel.
pub fn paint(planes: &[u8], height: usize, width: usize, colours: &[Colour]) -> Picture {
    assert_eq!(planes.len(), colours.len() * height * width, "paint: {} bytes of planes", planes.len());
    let side = cell_side(height.max(width));
    let colour_at = |row: usize, column: usize| {
        let set = |&channel: &usize| planes[(channel * height + row) * width + column] != 0;
        (0..colours.len()).rev().find(set).map_or(BACKGROUND, |channel| colours[channel])
    };
    let mut rgb = Vec::with_capacity(3 * side * side * height * width);
    for row in 0..height {
        let line: Vec<u8> = (0..width).flat_map(|column| colour_at(row, column).repeat(side)).collect();
        (0..side).for_each(|_| rgb.extend_from_slice(&line));
    }
    Picture { width: width * side, height: height * side, rgb }
}

/// The legend of planes with these meanings, in these colours.
pub fn legend(meanings: &[&'static str], colours: &[Colour]) -> Vec<LegendEntry> {
    assert_eq!(meanings.len(), colours.len(), "legend: {meanings:?}");
    meanings.iter().zip(colours).map(|(&meaning, &rgb)| LegendEntry { meaning, rgb }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_plane_set_in_a_cell_is_seen() {
        let picture = paint(&[1, 1, 0, 1], 1, 2, &[[1, 2, 3], [9, 9, 9]]);
        assert_eq!((picture.width, picture.height), (320, 160));
        assert_eq!((&picture.rgb[..3], &picture.rgb[3 * 319..3 * 320]), (&[1, 2, 3][..], &[9, 9, 9][..]));
        assert_eq!(picture.rgb.len(), 3 * picture.width * picture.height);
    }
}
