//! Colour index → RGB and gray, by television standard.
//!
//! Indices are even, except on PAL after a frame with an odd number of lines. The gray of an odd PAL index is the blue
//! byte of the next entry: a quirk of the system this console equals, kept because agents see it.

mod ntsc;
mod pal;

use crate::config::TvFormat;

/// Red, green and blue of each colour index.
pub fn rgb(tv: TvFormat) -> &'static [[u8; 3]; 256] {
    match tv {
        TvFormat::Ntsc => &ntsc::RGB,
        TvFormat::Pal => &pal::RGB,
    }
}

/// Luma of each colour index.
pub fn gray(tv: TvFormat) -> &'static [u8; 256] {
    match tv {
        TvFormat::Ntsc => &ntsc::GRAY,
        TvFormat::Pal => &pal::GRAY,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ntsc_gray_is_the_rounded_luma_of_its_colour() {
        for index in (0..256).step_by(2) {
            let [r, g, b] = rgb(TvFormat::Ntsc)[index].map(f64::from);
            let luma = (0.299 * r + 0.587 * g + 0.114 * b).round() as u8;
            assert_eq!(gray(TvFormat::Ntsc)[index], luma, "index {index}");
        }
    }

    #[test]
    fn gray_of_an_odd_pal_index_is_the_blue_of_the_next_entry() {
        for index in (1..255).step_by(2) {
            assert_eq!(gray(TvFormat::Pal)[index], rgb(TvFormat::Pal)[index + 1][2], "index {index}");
        }
    }

    #[test]
    fn known_colours_are_where_they_were_measured() {
        assert_eq!(rgb(TvFormat::Ntsc)[0], [0, 0, 0]);
        assert_eq!(rgb(TvFormat::Ntsc)[2], [74, 74, 74]);
        assert_eq!(rgb(TvFormat::Pal)[3], [43, 43, 43]);
        assert_eq!(gray(TvFormat::Pal)[3], 82);
    }
}
