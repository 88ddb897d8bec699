//! A frame as a picture, for environments that do not render: images unchanged, vectors as bars.

use sane_env::{Element, FrameSpace, Picture};

/// Width of a bar and height of the picture, in pixels.
const BAR: usize = 12;
const BARS_HEIGHT: usize = 96;

/// Numbers that are shown of a long vector.
const MOST_BARS: usize = 200;

pub(crate) fn picture_of(space: &FrameSpace, frame: &[u8]) -> Picture {
    let FrameSpace { channels, height, width, .. } = *space;
    if height == 1 && width == 1 {
        return bars(&shades(space, frame));
    }
    let shades = shades(space, frame);
    let plane = height * width;
    let byte = |at: usize| (255.0 * shades[at].clamp(0.0, 1.0)).round() as u8;
    let pixel = |at: usize| {
        // Three planes are colours; otherwise the first plane is shown.
        if channels == 3 { [byte(at), byte(plane + at), byte(2 * plane + at)] } else { [byte(at); 3] }
    };
    Picture { width, height, rgb: (0..plane).flat_map(pixel).collect() }
}

/// The numbers of the frame, bytes scaled to [0, 1].
fn shades(space: &FrameSpace, frame: &[u8]) -> Vec<f32> {
    match space.element {
        Element::U8 { full_scale } => frame.iter().map(|&byte| f32::from(byte) / f32::from(full_scale)).collect(),
        Element::F32 => frame.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])).collect(),
    }
}

/// A column per number, up or down from the middle; x/(1+|x|) maps any number into the picture.
fn bars(numbers: &[f32]) -> Picture {
    let numbers = &numbers[..numbers.len().min(MOST_BARS)];
    let (width, middle) = (BAR * numbers.len(), BARS_HEIGHT as f32 / 2.0);
    let mut rgb = vec![24; 3 * width * BARS_HEIGHT];
    for (i, pixel) in rgb.chunks_exact_mut(3).enumerate() {
        let (y, x) = (i / width, i % width);
        let number = numbers[x / BAR];
        let height = middle * number / (1.0 + number.abs());
        let above = middle - (y as f32 + 0.5);
        let inside = (0.0 < above && above < height) || (above < 0.0 && height < above);
        if inside && x % BAR + 1 < BAR {
            pixel.copy_from_slice(if 0.0 < number { &[90, 170, 250] } else { &[250, 150, 80] });
        }
    }
    Picture { width, height: BARS_HEIGHT, rgb }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_gray_image_keeps_its_shades() {
        let picture = picture_of(&FrameSpace::gray(1, 2), &[0, 200]);
        assert_eq!((picture.width, picture.height), (2, 1));
        assert_eq!(picture.rgb, [0, 0, 0, 200, 200, 200]);
    }

    #[test]
    fn colour_planes_become_pixels() {
        let space = FrameSpace { channels: 3, height: 1, width: 2, element: Element::U8 { full_scale: 255 } };
        assert_eq!(picture_of(&space, &[1, 2, 3, 4, 5, 6]).rgb, [1, 3, 5, 2, 4, 6]);
    }

    #[test]
    fn positive_numbers_are_drawn_upwards_and_negative_ones_downwards() {
        let bytes: Vec<u8> = [1.0_f32, -1.0].iter().flat_map(|x| x.to_le_bytes()).collect();
        let picture = picture_of(&FrameSpace::vector(2), &bytes);
        let lit = |y: usize, x: usize| 24 < picture.rgb[3 * (y * picture.width + x)];
        assert!(lit(BARS_HEIGHT / 2 - 2, 3) && !lit(BARS_HEIGHT / 2 + 2, 3));
        assert!(!lit(BARS_HEIGHT / 2 - 2, BAR + 3) && lit(BARS_HEIGHT / 2 + 2, BAR + 3));
    }
}
