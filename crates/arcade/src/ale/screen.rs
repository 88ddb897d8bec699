//! The picture of the last frame: colour indices, luma, colours.

use super::Ale;
use sane_vcs::{TvFormat, palette};

impl Ale {
    /// The screen as colour indices, 160 per row.
    pub fn screen(&self) -> &[u8] {
        self.console.screen()
    }

    /// Rows of the screen.
    pub fn screen_height(&self) -> usize {
        self.game.height as usize
    }

    /// The screen in luma, one byte per pixel.
    pub fn screen_gray(&self, out: &mut [u8]) {
        let gray = self.gray_table();
        assert_eq!(out.len(), self.screen().len(), "screen_gray: {} bytes for the screen", out.len());
        // Most groups of eight pixels equal the one before. A screen has a multiple of eight.
        let (mut seen, mut shown) = ([0; 8], [gray[0]; 8]);
        for (pixels, group) in out.as_chunks_mut::<8>().0.iter_mut().zip(self.screen().as_chunks::<8>().0) {
            if *group != seen {
                seen = *group;
                shown = seen.map(|index| gray[usize::from(index)]);
            }
            *pixels = shown;
        }
    }

    /// The screen in colour, three bytes per pixel.
    pub fn screen_rgb(&self) -> Vec<u8> {
        let rgb = palette::rgb(self.tv);
        self.screen().iter().flat_map(|&index| rgb[usize::from(index)]).collect()
    }

    /// Luma of each colour index on this game's television.
    pub fn gray_table(&self) -> &'static [u8; 256] {
        palette::gray(self.tv)
    }

    /// The television standard that was found out at loading.
    pub fn tv(&self) -> TvFormat {
        self.tv
    }

    /// Colours the picture of the last frame after all, if it was run without.
    pub fn develop(&mut self) {
        self.console.develop();
    }
}
