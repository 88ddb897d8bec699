//! The whole screen by area: the brighter of two frames at each pixel, then each of 84×84 pixels is the mean of the
//! piece of screen it covers, rounded to the nearest whole number (halves to the even one).
//!
//! Worked out in whole numbers: with h rows and 160 columns a pixel of the result covers h/84 × 160/84 pixels, so a pixel
//! of the screen counts with weights that are multiples of gcd(h, 84)/84 and 4/84.

use super::{SIDE, WIDTH};

/// At most this many pixels in a row (160 to 84) or column (250 to 84) lie under one pixel of the result.
const MOST_TAPS: usize = 4;

/// The definition, pixel by pixel.
pub fn area_of_max(newest: &[u8], before: &[u8], gray: &[u8; 256], out: &mut [u8]) {
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
                let luma = gray[usize::from(newest[at])].max(gray[usize::from(before[at])]);
                sum += overlap(y, row, height) * overlap(x, column, WIDTH) * u64::from(luma);
            }
        }
        let total = (height * WIDTH) as u64;
        let (whole, rest) = (sum / total, sum % total);
        *pixel = (whole + u64::from(total < 2 * rest || (total == 2 * rest && whole % 2 == 1))) as u8;
    }
}

/// The same, fast.
#[derive(Debug, Clone)]
pub struct Area {
    rows: Vec<Row>,
    columns: Vec<Taps>,
    lines: Vec<Taps>,
    total: u32,
    changed: Vec<bool>,
    out: Vec<u8>,
}

/// A row of the two screens as last seen, and what became of it: the weighted sums under each of the 84 columns.
#[derive(Debug, Clone)]
struct Row {
    newest: [u8; WIDTH],
    before: [u8; WIDTH],
    sums: [u16; SIDE],
}

/// The pixels under one pixel of the result, by first index, and their weights.
#[derive(Debug, Clone, Copy)]
struct Taps {
    first: usize,
    weights: [u16; MOST_TAPS],
}

impl Area {
    /// Ready for screens of `height` rows whose luma is given by `gray`.
    pub fn new(height: usize, gray: &[u8; 256]) -> Self {
        let (columns, column_total) = taps(WIDTH);
        let (lines, line_total) = taps(height);
        let sums = [gray[0].into(); SIDE].map(|luma: u16| luma * column_total as u16);
        Self {
            rows: vec![Row { newest: [0; WIDTH], before: [0; WIDTH], sums }; height],
            columns,
            lines,
            total: column_total * line_total,
            changed: vec![true; height],
            out: vec![0; SIDE * SIDE],
        }
    }

    /// Writes the 84×84 picture of two frames; `gray` must be that of [`new`](Self::new).
    pub fn shrink(&mut self, newest: &[u8], before: &[u8], gray: &[u8; 256], out: &mut [u8]) {
        let screens = newest.chunks_exact(WIDTH).zip(before.chunks_exact(WIDTH));
        for ((row, changed), (newest, before)) in self.rows.iter_mut().zip(&mut self.changed).zip(screens) {
            if row.newest == *newest && row.before == *before {
                continue;
            }
            row.newest.copy_from_slice(newest);
            row.before.copy_from_slice(before);
            row.sum_columns(gray, &self.columns);
            *changed = true;
        }
        for (lines, shrunk) in self.lines.iter().zip(self.out.chunks_exact_mut(SIDE)) {
            let under = lines.first..(lines.first + MOST_TAPS).min(self.rows.len());
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
        // Padded so that every column may read all its taps; the weight of those beyond the edge is zero.
        let mut luma = [0_u16; WIDTH + MOST_TAPS];
        for ((luma, newest), before) in luma.iter_mut().zip(self.newest).zip(self.before) {
            *luma = gray[usize::from(newest)].max(gray[usize::from(before)]).into();
        }
        for (sum, taps) in self.sums.iter_mut().zip(columns) {
            let under = luma[taps.first..].first_chunk::<MOST_TAPS>().expect("the row is padded");
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
    // Division by a number not known to the compiler is slow; sums stay below 2^21, so this product is exact.
    let reciprocal = (1_u64 << 40).div_ceil(u64::from(total));
    for (pixel, sum) in out.iter_mut().zip(sums) {
        let whole = ((u64::from(sum) * reciprocal) >> 40) as u32;
        let twice_rest = 2 * (sum - whole * total);
        *pixel = (whole + u32::from(total < twice_rest || (total == twice_rest && whole % 2 == 1))) as u8;
    }
}

/// For each pixel of the result its taps, and the sum of the weights of one.
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

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn the_fast_form_equals_the_definition_whatever_came_before(
            seed in any::<u64>(), height in prop::sample::select(vec![210_usize, 214, 220, 230, 250]),
        ) {
            let gray: [u8; 256] = std::array::from_fn(|i| (i as u8).wrapping_mul(37).wrapping_add(5));
            let mut stream = sane_env::Stream::named(seed, "screens");
            let mut area = Area::new(height, &gray);
            let [mut newest, mut before] = [(); 2].map(|()| vec![0; height * WIDTH]);
            for _ in 0..4 {
                for screen in [&mut newest, &mut before] {
                    let start = stream.below(screen.len() as u64) as usize;
                    screen[start..].iter_mut().take(4000).for_each(|pixel| *pixel = stream.next_u64() as u8);
                }
                let [mut fast, mut literal] = [(); 2].map(|()| vec![0; SIDE * SIDE]);
                area.shrink(&newest, &before, &gray, &mut fast);
                area_of_max(&newest, &before, &gray, &mut literal);
                prop_assert_eq!(fast, literal);
            }
        }
    }

    #[test]
    fn one_colour_stays_that_colour() {
        let gray: [u8; 256] = std::array::from_fn(|i| i as u8);
        for (height, colour) in [(210, 255), (214, 1), (220, 254), (230, 77), (250, 128)] {
            let screen = vec![colour; height * WIDTH];
            let mut out = vec![0; SIDE * SIDE];
            Area::new(height, &gray).shrink(&screen, &screen, &gray, &mut out);
            assert!(out.iter().all(|&pixel| pixel == colour), "{height} {colour}");
        }
    }
}
