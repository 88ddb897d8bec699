//! The screens of one decision → 84×84 luma. In: the console's screens as colour indices; out: the frame an agent sees.
//!
//! [`Preprocessor`] is the interface. Behind it are two resizers, [`CropNearest`] and that of `area.rs`; each keeps the rows
//! of its previous call and recomputes only what changed. The tests hold the literal definition, which it must equal
//! whatever was kept.

use crate::area::MaxArea;
use crate::profile::Resize;

/// Rows and columns of a preprocessed frame.
pub const SIDE: usize = 84;

/// Pixels per row of the console's screen.
const WIDTH: usize = sane_vcs::WIDTH;

/// Turns the last screens of a decision into one 84×84 frame.
#[derive(Debug, Clone)]
pub struct Preprocessor(Resizer);

#[derive(Debug, Clone)]
enum Resizer {
    LastFrame(CropNearest),
    MaxOfTwoFrames {
        resizer: MaxArea,
        /// The screen before the last one.
        previous: Vec<u8>,
    },
}

impl Preprocessor {
    /// For screens of `height` rows, whose colour indices have the luma `gray`.
    pub fn new(resize: Resize, height: usize, gray: &[u8; 256]) -> Self {
        Self(match resize {
            Resize::CropNearest => Resizer::LastFrame(CropNearest::new(gray)),
            Resize::MaxArea => Resizer::MaxOfTwoFrames {
                resizer: MaxArea::new(height, SIDE, SIDE, gray),
                previous: vec![0; height * WIDTH],
            },
        })
    }

    /// How many of a decision's last screens are read.
    pub fn screens_read(&self) -> u64 {
        match self.0 {
            Resizer::LastFrame(_) => 1,
            Resizer::MaxOfTwoFrames { .. } => 2,
        }
    }

    /// Sets the screen before the last one, if it is read.
    pub fn set_previous(&mut self, screen: &[u8]) {
        if let Resizer::MaxOfTwoFrames { previous, .. } = &mut self.0 {
            previous.copy_from_slice(screen);
        }
    }

    /// Writes the frame of a decision whose last screen is `screen`.
    pub fn write_frame(&mut self, screen: &[u8], frame: &mut [u8]) {
        match &mut self.0 {
            Resizer::LastFrame(resizer) => resizer.resize(screen, frame),
            Resizer::MaxOfTwoFrames { resizer, previous } => resizer.resize(screen, previous, frame),
        }
    }
}

/// Rows 34–193 (160×160 pixels), nearest neighbour:
///
/// ```text
/// out[y, x] = luma(screen[34 + ⌊160 y / 84⌋, ⌊160 x / 84⌋])
/// ```
#[derive(Debug, Clone)]
struct CropNearest {
    gray: [u8; 256],
    /// The rows of the screen that were read last.
    seen: Vec<u8>,
    out: Vec<u8>,
}

const FIRST_ROW: usize = 34;
const KEPT_ROWS: usize = 160;
/// 160 to 84 is 40 to 21: the same 21 columns are taken of every 40.
const PERIOD: (usize, usize) = (40, 21);

impl CropNearest {
    fn new(gray: &[u8; 256]) -> Self {
        Self { gray: *gray, seen: vec![0; SIDE * WIDTH], out: vec![gray[0]; SIDE * SIDE] }
    }

    fn resize(&mut self, screen: &[u8], out: &mut [u8]) {
        let gray = &self.gray;
        let rows = self.seen.chunks_exact_mut(WIDTH).zip(self.out.chunks_exact_mut(SIDE));
        for (y, (seen, shrunk)) in rows.enumerate() {
            let row = &screen[source_row(y) * WIDTH..][..WIDTH];
            if row == seen {
                continue;
            }
            seen.copy_from_slice(row);
            for (from, to) in row.chunks_exact(PERIOD.0).zip(shrunk.chunks_exact_mut(PERIOD.1)) {
                let (from, to) = (from.first_chunk::<40>(), to.first_chunk_mut::<21>());
                let (from, to) = (from.expect("chunks of 40"), to.expect("chunks of 21"));
                for x in 0..PERIOD.1 {
                    to[x] = gray[usize::from(from[x * PERIOD.0 / PERIOD.1])];
                }
            }
        }
        out.copy_from_slice(&self.out);
    }
}

fn source_row(y: usize) -> usize {
    FIRST_ROW + y * KEPT_ROWS / SIDE
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use sane_env::Stream;

    fn literal_crop_nearest(screen: &[u8], gray: &[u8; 256], out: &mut [u8]) {
        for (i, pixel) in out.iter_mut().enumerate() {
            let (y, x) = (i / SIDE, i % SIDE);
            *pixel = gray[usize::from(screen[source_row(y) * WIDTH + x * WIDTH / SIDE])];
        }
    }

    fn scramble(screen: &mut [u8], stream: &mut Stream) {
        let start = stream.below(screen.len() as u64) as usize;
        screen[start..].iter_mut().take(4000).for_each(|pixel| *pixel = stream.next_u64() as u8);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn the_fast_form_equals_its_definition_whatever_was_kept(
            seed in any::<u64>(), height in prop::sample::select(vec![210_usize, 214, 220, 230, 250]),
        ) {
            let gray: [u8; 256] = std::array::from_fn(|i| (i as u8).wrapping_mul(37).wrapping_add(5));
            let mut stream = Stream::named(seed, "screens");
            let mut last = Preprocessor::new(Resize::CropNearest, height, &gray);
            let mut newest = vec![0; height * WIDTH];
            for _ in 0..4 {
                scramble(&mut newest, &mut stream);
                let [mut fast, mut literal] = [(); 2].map(|()| vec![0; SIDE * SIDE]);
                last.write_frame(&newest, &mut fast);
                literal_crop_nearest(&newest, &gray, &mut literal);
                prop_assert_eq!(&fast, &literal);
            }
        }
    }
}
