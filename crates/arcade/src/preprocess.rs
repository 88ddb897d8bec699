//! The screens of one decision → 84×84 luma. In: the console's screens as colour indices; out: the frame an agent sees.
//!
//! [`Preprocessor`] is the interface. Behind it are two resizers; each keeps the rows of its previous call and recomputes
//! only what changed. The tests hold the literal definition of both, which they must equal whatever was kept.

use crate::profile::Resize;

/// Rows and columns of a preprocessed frame.
pub const SIDE: usize = 84;

/// Pixels per row of the console's screen.
const WIDTH: usize = sane_vcs::WIDTH;

/// Turns the last screens of a decision into one 84×84 frame.
#[derive(Debug, Clone)]
pub enum Preprocessor {
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
        match resize {
            Resize::CropNearest => Self::LastFrame(CropNearest::new(gray)),
            Resize::MaxArea => {
                Self::MaxOfTwoFrames { resizer: MaxArea::new(height, gray), previous: vec![0; height * WIDTH] }
            }
        }
    }

    /// How many of a decision's last screens are read.
    pub fn screens_read(&self) -> u64 {
        match self {
            Self::LastFrame(_) => 1,
            Self::MaxOfTwoFrames { .. } => 2,
        }
    }

    /// Sets the screen before the last one, if it is read.
    pub fn set_previous(&mut self, screen: &[u8]) {
        if let Self::MaxOfTwoFrames { previous, .. } = self {
            previous.copy_from_slice(screen);
        }
    }

    /// Writes the frame of a decision whose last screen is `screen`.
    pub fn write_frame(&mut self, screen: &[u8], frame: &mut [u8]) {
        match self {
            Self::LastFrame(resizer) => resizer.resize(screen, frame),
            Self::MaxOfTwoFrames { resizer, previous } => resizer.resize(screen, previous, frame),
        }
    }
}

/// Rows 34–193 (160×160 pixels), nearest neighbour:
///
/// ```text
/// out[y, x] = luma(screen[34 + ⌊160 y / 84⌋, ⌊160 x / 84⌋])
/// ```
#[derive(Debug, Clone)]
pub struct CropNearest {
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

/// The pixelwise maximum of two screens, then area interpolation: each of the 84×84 pixels is the mean of the part of the
/// screen it covers, rounded to the nearest whole number, halves to even.
///
/// Computed in integers: of h rows and 160 columns, an output pixel covers h/84 × 160/84 pixels, so a pixel of the
/// screen has weights that are multiples of gcd(h, 84)/84 and 4/84.
#[derive(Debug, Clone)]
pub struct MaxArea {
    gray: [u8; 256],
    rows: Vec<Row>,
    columns: Vec<Taps>,
    lines: Vec<Taps>,
    total: u32,
    changed: Vec<bool>,
    out: Vec<u8>,
}

/// A row of the two screens as last read, and its weighted sums under each of the 84 columns.
#[derive(Debug, Clone)]
struct Row {
    newest: [u8; WIDTH],
    previous: [u8; WIDTH],
    sums: [u16; SIDE],
}

/// The input pixels under one output pixel, by first index, and their weights.
#[derive(Debug, Clone, Copy)]
struct Taps {
    first: usize,
    weights: [u16; MAX_TAPS],
}

/// At most this many pixels of a row (160 to 84) or column (250 to 84) lie under one output pixel.
const MAX_TAPS: usize = 4;

impl MaxArea {
    fn new(height: usize, gray: &[u8; 256]) -> Self {
        let (columns, column_total) = taps(WIDTH);
        let (lines, line_total) = taps(height);
        let sums = [gray[0].into(); SIDE].map(|luma: u16| luma * column_total as u16);
        Self {
            gray: *gray,
            rows: vec![Row { newest: [0; WIDTH], previous: [0; WIDTH], sums }; height],
            columns,
            lines,
            total: column_total * line_total,
            changed: vec![true; height],
            out: vec![0; SIDE * SIDE],
        }
    }

    fn resize(&mut self, newest: &[u8], previous: &[u8], out: &mut [u8]) {
        let screens = newest.chunks_exact(WIDTH).zip(previous.chunks_exact(WIDTH));
        for ((row, changed), (newest, previous)) in self.rows.iter_mut().zip(&mut self.changed).zip(screens) {
            if row.newest == *newest && row.previous == *previous {
                continue;
            }
            row.newest.copy_from_slice(newest);
            row.previous.copy_from_slice(previous);
            row.sum_columns(&self.gray, &self.columns);
            *changed = true;
        }
        for (lines, shrunk) in self.lines.iter().zip(self.out.chunks_exact_mut(SIDE)) {
            let under = lines.first..(lines.first + MAX_TAPS).min(self.rows.len());
            if self.changed[under.clone()].contains(&true) {
                sum_lines(&self.rows[under], lines, self.total, shrunk);
            }
        }
        self.changed.fill(false);
        out.copy_from_slice(&self.out);
    }
}

impl Row {
    fn sum_columns(&mut self, gray: &[u8; 256], columns: &[Taps]) {
        // Padded so that every column can read all its taps; those beyond the edge have weight zero.
        let mut luma = [0_u16; WIDTH + MAX_TAPS];
        for ((luma, newest), previous) in luma.iter_mut().zip(self.newest).zip(self.previous) {
            *luma = gray[usize::from(newest)].max(gray[usize::from(previous)]).into();
        }
        for (sum, taps) in self.sums.iter_mut().zip(columns) {
            let under = luma[taps.first..].first_chunk::<MAX_TAPS>().expect("the row is padded");
            *sum = under.iter().zip(taps.weights).map(|(luma, weight)| luma * weight).sum();
        }
    }
}

fn sum_lines(rows: &[Row], lines: &Taps, total: u32, out: &mut [u8]) {
    let mut sums = [0_u32; SIDE];
    for (row, weight) in rows.iter().zip(lines.weights).filter(|&(_, weight)| weight != 0) {
        for (sum, &part) in sums.iter_mut().zip(&row.sums) {
            *sum += u32::from(part) * u32::from(weight);
        }
    }
    // Division by a number unknown to the compiler is slow; sums stay below 2^21, so this product is exact.
    let reciprocal = (1_u64 << 40).div_ceil(u64::from(total));
    for (pixel, sum) in out.iter_mut().zip(sums) {
        let whole = ((u64::from(sum) * reciprocal) >> 40) as u32;
        let twice_rest = 2 * (sum - whole * total);
        *pixel = (whole + u32::from(total < twice_rest || (total == twice_rest && whole % 2 == 1))) as u8;
    }
}

/// The taps of each output pixel, and the sum of the weights of one.
fn taps(size: usize) -> (Vec<Taps>, u32) {
    let unit = gcd(size, SIDE);
    let of = |i: usize| {
        let first = i * size / SIDE;
        let weights = std::array::from_fn(|k| {
            let start = (i * size).max((first + k) * SIDE);
            let end = ((i + 1) * size).min((first + k + 1) * SIDE);
            (end.saturating_sub(start) / unit) as u16
        });
        Taps { first, weights }
    };
    ((0..SIDE).map(of).collect(), (size / unit) as u32)
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
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

    fn literal_max_area(newest: &[u8], previous: &[u8], gray: &[u8; 256], out: &mut [u8]) {
        let height = newest.len() / WIDTH;
        let overlap = |i: usize, source: usize, size: usize| {
            let (start, end) = ((i * size).max(source * SIDE), ((i + 1) * size).min((source + 1) * SIDE));
            end.saturating_sub(start) as u64
        };
        for (i, pixel) in out.iter_mut().enumerate() {
            let (y, x) = (i / SIDE, i % SIDE);
            let mut sum = 0;
            for row in y * height / SIDE..((y + 1) * height).div_ceil(SIDE) {
                for column in x * WIDTH / SIDE..((x + 1) * WIDTH).div_ceil(SIDE) {
                    let at = row * WIDTH + column;
                    let luma = gray[usize::from(newest[at])].max(gray[usize::from(previous[at])]);
                    sum += overlap(y, row, height) * overlap(x, column, WIDTH) * u64::from(luma);
                }
            }
            let total = (height * WIDTH) as u64;
            let (whole, rest) = (sum / total, sum % total);
            *pixel = (whole + u64::from(total < 2 * rest || (total == 2 * rest && whole % 2 == 1))) as u8;
        }
    }

    fn scramble(screen: &mut [u8], stream: &mut Stream) {
        let start = stream.below(screen.len() as u64) as usize;
        screen[start..].iter_mut().take(4000).for_each(|pixel| *pixel = stream.next_u64() as u8);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn the_fast_forms_equal_their_definitions_whatever_was_kept(
            seed in any::<u64>(), height in prop::sample::select(vec![210_usize, 214, 220, 230, 250]),
        ) {
            let gray: [u8; 256] = std::array::from_fn(|i| (i as u8).wrapping_mul(37).wrapping_add(5));
            let mut stream = Stream::named(seed, "screens");
            let mut last = Preprocessor::new(Resize::CropNearest, height, &gray);
            let mut max = Preprocessor::new(Resize::MaxArea, height, &gray);
            let [mut newest, mut previous] = [(); 2].map(|()| vec![0; height * WIDTH]);
            for _ in 0..4 {
                scramble(&mut newest, &mut stream);
                scramble(&mut previous, &mut stream);
                let [mut fast, mut literal] = [(); 2].map(|()| vec![0; SIDE * SIDE]);
                last.write_frame(&newest, &mut fast);
                literal_crop_nearest(&newest, &gray, &mut literal);
                prop_assert_eq!(&fast, &literal);
                max.set_previous(&previous);
                max.write_frame(&newest, &mut fast);
                literal_max_area(&newest, &previous, &gray, &mut literal);
                prop_assert_eq!(&fast, &literal);
            }
        }
    }

    #[test]
    fn area_interpolation_of_one_colour_is_that_colour() {
        let gray: [u8; 256] = std::array::from_fn(|i| i as u8);
        for (height, colour) in [(210, 255), (214, 1), (220, 254), (230, 77), (250, 128)] {
            let screen = vec![colour; height * WIDTH];
            let mut out = vec![0; SIDE * SIDE];
            MaxArea::new(height, &gray).resize(&screen, &screen, &mut out);
            assert!(out.iter().all(|&pixel| pixel == colour), "{height} {colour}");
        }
    }
}
