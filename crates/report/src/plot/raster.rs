//! Pictures made of pixels: frames of games, and finished drawings.

use std::sync::Arc;
use tiny_skia::{IntSize, Pixmap};

/// A picture, 3 bytes per pixel, row by row. Copies are cheap.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Raster {
    width: usize,
    height: usize,
    rgb: Arc<[u8]>,
}

impl Raster {
    /// Of these pixels; none if they are not `width` × `height`, or nothing at all.
    pub fn new(width: usize, height: usize, rgb: Vec<u8>) -> Option<Self> {
        (0 < width && 0 < height && rgb.len() == 3 * width * height).then(|| Self { width, height, rgb: rgb.into() })
    }

    /// Pixels per row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Rows.
    pub fn height(&self) -> usize {
        self.height
    }

    /// Red, green, blue of each pixel.
    pub fn rgb(&self) -> &[u8] {
        &self.rgb
    }

    /// As the bytes of a PNG file, pixel for pixel.
    pub fn png(&self) -> Result<Vec<u8>, String> {
        self.pixmap().encode_png().map_err(|error| error.to_string())
    }

    /// The largest size of this picture's proportions that fits into a box, whole multiples preferred.
    pub fn fitted(&self, width: f32, height: f32) -> (f32, f32) {
        let factor = (width / self.width as f32).min(height / self.height as f32);
        let factor = if 1.0 < factor { factor.floor() } else { factor };
        (self.width as f32 * factor, self.height as f32 * factor)
    }

    pub(super) fn of_pixmap(pixmap: &Pixmap) -> Self {
        let rgb = pixmap.pixels().iter().flat_map(|pixel| [pixel.red(), pixel.green(), pixel.blue()]).collect();
        Self { width: pixmap.width() as usize, height: pixmap.height() as usize, rgb }
    }

    pub(super) fn pixmap(&self) -> Pixmap {
        let rgba = self.rgb.chunks_exact(3).flat_map(|pixel| [pixel[0], pixel[1], pixel[2], 255]).collect();
        let size = IntSize::from_wh(self.width as u32, self.height as u32).expect("a raster has pixels");
        Pixmap::from_vec(rgba, size).expect("a raster has as many bytes as its size says")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pixels_survive_the_way_into_a_png_file() {
        let raster = Raster::new(2, 1, vec![1, 2, 3, 250, 251, 252]).unwrap();
        let read = Pixmap::decode_png(&raster.png().unwrap()).unwrap();
        assert_eq!(Raster::of_pixmap(&read), raster);
    }

    #[test]
    fn a_picture_of_the_wrong_number_of_bytes_is_none() {
        assert_eq!(Raster::new(2, 1, vec![0; 5]), None);
        assert_eq!(Raster::new(0, 1, vec![]), None);
    }

    #[test]
    fn small_pictures_grow_by_whole_factors_and_large_ones_shrink_to_fit() {
        let raster = |width, height| Raster::new(width, height, vec![0; 3 * width * height]).unwrap();
        assert_eq!(raster(160, 210).fitted(330.0, 430.0), (320.0, 420.0));
        assert_eq!(raster(800, 400).fitted(400.0, 400.0), (400.0, 200.0));
    }
}
