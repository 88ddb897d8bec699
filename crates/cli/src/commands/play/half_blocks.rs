//! Pictures as text: each letter is an upper half block, two pixels in 24-bit colour. And bars of text.

use sane_env::Picture;

/// The picture as rows of text that fit into `columns` × `rows` letters, its proportions kept, in the middle.
pub fn half_blocks(picture: &Picture, columns: usize, rows: usize) -> Vec<String> {
    if columns == 0 || rows == 0 || picture.width == 0 || picture.height == 0 {
        return Vec::new();
    }
    // A letter is about twice as high as wide, so half of it is about a square.
    let factor = (columns as f64 / picture.width as f64).min(2.0 * rows as f64 / picture.height as f64);
    let across = |size: usize| ((size as f64 * factor).floor() as usize).max(1);
    let (width, height) = (across(picture.width).min(columns), across(picture.height).min(2 * rows));
    let small = shrunk(picture, width, height);
    let indent = " ".repeat((columns - width) / 2);
    let pixel = |x: usize, y: usize| (y < height).then(|| small[y * width + x]);
    (0..height.div_ceil(2))
        .map(|row| {
            let mut text = indent.clone();
            let mut colours = (None, None);
            for x in 0..width {
                let (upper, lower) = (pixel(x, 2 * row), pixel(x, 2 * row + 1));
                if colours.0 != upper {
                    text += &colour(38, upper);
                }
                if colours.1 != lower {
                    text += &colour(48, lower);
                }
                colours = (upper, lower);
                text.push('▀');
            }
            text
        })
        .collect()
}

/// A bar that is full at `most`, with as many letters as `columns`.
pub fn bar(value: f64, most: f64, columns: usize) -> String {
    let share = if 0.0 < most { (value / most).clamp(0.0, 1.0) } else { 0.0 };
    let full = (share * columns as f64).round() as usize;
    format!("{}{}", "█".repeat(full), "·".repeat(columns - full))
}

fn colour(ground: u8, rgb: Option<[u8; 3]>) -> String {
    match rgb {
        Some([r, g, b]) => format!("\x1b[{ground};2;{r};{g};{b}m"),
        None => format!("\x1b[{}m", ground + 1),
    }
}

/// The mean colour of the pixels that fall together; pixels repeat where there are fewer.
fn shrunk(picture: &Picture, width: usize, height: usize) -> Vec<[u8; 3]> {
    let span = |i: usize, to: usize, from: usize| {
        let start = i * from / to;
        start..((i + 1) * from / to).max(start + 1)
    };
    let mut pixels = Vec::with_capacity(width * height);
    for y in 0..height {
        for x in 0..width {
            let (mut sum, mut count) = ([0_u32; 3], 0);
            for row in span(y, height, picture.height) {
                for column in span(x, width, picture.width) {
                    let at = 3 * (row * picture.width + column);
                    (0..3).for_each(|c| sum[c] += u32::from(picture.rgb[at + c]));
                    count += 1;
                }
            }
            pixels.push(sum.map(|sum| (sum / count) as u8));
        }
    }
    pixels
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text without its colours, as it is seen.
    fn letters(row: &str) -> String {
        let mut seen = String::new();
        let mut is_command = false;
        for c in row.chars() {
            match (is_command, c) {
                (false, '\x1b') => is_command = true,
                (false, c) => seen.push(c),
                (true, c) => is_command = !c.is_ascii_alphabetic(),
            }
        }
        seen
    }

    fn picture(width: usize, height: usize) -> Picture {
        Picture { width, height, rgb: (0..3 * width * height).map(|i| (i % 251) as u8).collect() }
    }

    #[test]
    fn a_picture_of_two_pixels_is_one_letter_in_their_colours() {
        let two = Picture { width: 1, height: 2, rgb: vec![1, 2, 3, 4, 5, 6] };
        assert_eq!(half_blocks(&two, 1, 1), ["\x1b[38;2;1;2;3m\x1b[48;2;4;5;6m▀"]);
    }

    #[test]
    fn a_picture_fits_every_terminal_and_keeps_its_proportions() {
        for (columns, rows) in [(80, 24), (200, 60), (10, 50), (3, 1), (1, 1)] {
            let text = half_blocks(&picture(160, 210), columns, rows);
            assert!(text.len() <= rows && text.iter().all(|row| letters(row).chars().count() <= columns));
        }
        let text = half_blocks(&picture(160, 210), 200, 105);
        assert_eq!((text.len(), letters(&text[0]).trim_start().chars().count()), (105, 160));
        assert!(half_blocks(&picture(160, 210), 0, 5).is_empty());
    }

    #[test]
    fn a_bar_is_as_full_as_its_value() {
        assert_eq!([bar(0.5, 1.0, 4), bar(9.0, 1.0, 2), bar(1.0, 0.0, 3)], ["██··", "██", "···"]);
    }
}
