//! Pictures as an animated GIF that repeats forever. Only the rectangle that changes from one to the next is stored, and in
//! it what stays the same is transparent, which takes next to no space.

use crate::plot::Raster;
use gif::{Encoder, EncodingError, Frame, Repeat};
use std::io::Write;

/// A GIF being written.
pub struct GifFile<W: Write> {
    encoder: Encoder<W>,
    last: Option<Raster>,
    hundredths_per_picture: f64,
    shown: f64,
}

impl<W: Write> GifFile<W> {
    /// For pictures of this size, at `per_second` of them.
    pub fn new(writer: W, (width, height): (usize, usize), per_second: f64) -> Result<Self, EncodingError> {
        let mut encoder = Encoder::new(writer, width as u16, height as u16, &[])?;
        encoder.set_repeat(Repeat::Infinite)?;
        Ok(Self { encoder, last: None, hundredths_per_picture: 100.0 / per_second, shown: 0.0 })
    }

    /// Adds a picture of that size.
    pub fn push(&mut self, picture: &Raster) -> Result<(), EncodingError> {
        let [left, top, width, height] = match &self.last {
            // A picture equal to the last one still has its duration: one pixel of it is stored.
            Some(last) => changed(last, picture).unwrap_or([0, 0, 1, 1]),
            None => [0, 0, picture.width(), picture.height()],
        };
        let last = self.last.as_ref().map(Raster::rgb);
        let pixels = (top..top + height).flat_map(|y| (left..left + width).map(move |x| 3 * (y * picture.width() + x)));
        let mut rgba: Vec<u8> = pixels
            .flat_map(|at| {
                let pixel = &picture.rgb()[at..at + 3];
                let stays = last.is_some_and(|last| last[at..at + 3] == *pixel);
                if stays { [0; 4] } else { [pixel[0], pixel[1], pixel[2], 255] }
            })
            .collect();
        // Up to 256 colours are kept exactly, more are approximated.
        let mut frame = Frame::from_rgba_speed(width as u16, height as u16, &mut rgba, 10);
        (frame.left, frame.top) = (left as u16, top as u16);
        // Durations are whole hundredths of a second; the rounding error is carried to the next picture.
        let before = self.shown.round();
        self.shown += self.hundredths_per_picture;
        frame.delay = (self.shown.round() - before).clamp(1.0, f64::from(u16::MAX)) as u16;
        self.encoder.write_frame(&frame)?;
        self.last = Some(picture.clone());
        Ok(())
    }

    /// Ends the file; the writer, which may hold bytes that are not written yet.
    pub fn finish(self) -> Result<W, EncodingError> {
        self.encoder.into_inner()
    }
}

/// Left, top, width and height of the rectangle that differs.
fn changed(a: &Raster, b: &Raster) -> Option<[usize; 4]> {
    let row_bytes = 3 * b.width();
    let rows: Vec<usize> = (0..b.height())
        .filter(|y| a.rgb()[y * row_bytes..(y + 1) * row_bytes] != b.rgb()[y * row_bytes..(y + 1) * row_bytes])
        .collect();
    let (&top, &bottom) = (rows.first()?, rows.last()?);
    let differs = |x: &usize| {
        rows.iter().any(|y| {
            let at = 3 * (y * b.width() + x);
            a.rgb()[at..at + 3] != b.rgb()[at..at + 3]
        })
    };
    let left = (0..b.width()).find(differs)?;
    let right = (0..b.width()).rev().find(differs)?;
    Some([left, top, right + 1 - left, bottom + 1 - top])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(dot: usize) -> Raster {
        let mut rgb = vec![20; 3 * 12];
        rgb[3 * dot..3 * dot + 3].copy_from_slice(&[200, 100, 0]);
        Raster::new(4, 3, rgb).unwrap()
    }

    #[test]
    fn what_was_written_is_read_back_with_its_changes_and_its_time() {
        let mut bytes = Vec::new();
        let mut file = GifFile::new(&mut bytes, (4, 3), 15.0).unwrap();
        let film = [picture(0), picture(5), picture(5), picture(11)];
        film.iter().for_each(|picture| file.push(picture).unwrap());
        drop(file);
        let mut options = gif::DecodeOptions::new();
        options.set_color_output(gif::ColorOutput::RGBA);
        let mut decoder = options.read_info(&bytes[..]).unwrap();
        let (mut screen, mut delays) = (vec![0; 36], Vec::new());
        for expected in &film {
            let frame = decoder.read_next_frame().unwrap().unwrap();
            delays.push(frame.delay);
            for (i, pixel) in frame.buffer.chunks_exact(4).enumerate().filter(|(_, pixel)| pixel[3] != 0) {
                let (x, y) = (
                    usize::from(frame.left) + i % usize::from(frame.width),
                    usize::from(frame.top) + i / usize::from(frame.width),
                );
                screen[3 * (y * 4 + x)..][..3].copy_from_slice(&pixel[..3]);
            }
            assert_eq!(screen, expected.rgb());
        }
        assert_eq!((decoder.read_next_frame().unwrap().is_none(), delays), (true, vec![7, 6, 7, 7]));
    }

    #[test]
    fn the_changed_part_is_the_least_rectangle_around_it() {
        assert_eq!(changed(&picture(0), &picture(0)), None);
        assert_eq!(changed(&picture(1), &picture(6)), Some([1, 0, 2, 2]));
    }
}
