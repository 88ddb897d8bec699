//! Area interpolation: each output pixel is the mean of the part of the screen that it covers. In: two screens as colour
//! indices, of which the brighter pixel counts; out: one byte per output pixel, as ale-py's vector environment has it.
//!
//! Its pixels are those of OpenCV's `INTER_AREA`, measured as a black box: sums in `f32`, columns first, then rows, and the
//! result rounded with halves to even. That is [`Weights::mean`], the definition. The fast form sums in integers, which is
//! exact in any order, keeps the rows of its previous call and recomputes only what changed; where the exact mean is so
//! close to a half that the rounding of `f32` decides, it asks the definition.

/// Pixels per row of the console's screen.
const WIDTH: usize = sane_vcs::WIDTH;

/// Shrinks the pixelwise maximum of two screens.
#[derive(Debug, Clone)]
pub(crate) struct MaxArea {
    /// Brightness of each colour index: luma, or one of the primary colours.
    brightness: [u8; 256],
    weights: Weights,
    method: Method,
}

/// How the mean is computed.
#[derive(Debug, Clone)]
enum Method {
    /// Every output pixel covers the same whole number of screen pixels.
    Blocks { rows: usize, columns: usize },
    /// Few pixels lie under an output pixel: integers, with rows kept.
    Kept(Box<KeptRows>),
    /// The definition.
    Literal,
}

impl MaxArea {
    /// For screens of `screen_rows` rows, shrunk to `rows` × `columns`.
    pub fn new(screen_rows: usize, rows: usize, columns: usize, brightness: &[u8; 256]) -> Self {
        assert!(
            (1..=screen_rows).contains(&rows) && (1..=WIDTH).contains(&columns),
            "{rows}×{columns} pixels of {screen_rows}×{WIDTH}"
        );
        let weights = Weights { rows: covered(screen_rows, rows), columns: covered(WIDTH, columns) };
        let method = if screen_rows.is_multiple_of(rows) && WIDTH.is_multiple_of(columns) {
            Method::Blocks { rows: screen_rows / rows, columns: WIDTH / columns }
        } else if weights.most_covered() <= MAX_TAPS && screen_rows <= MAX_SCREEN_ROWS {
            Method::Kept(Box::new(KeptRows::new(screen_rows, rows, columns, brightness)))
        } else {
            Method::Literal
        };
        Self { brightness: *brightness, weights, method }
    }

    /// The screen that has the brighter pixel of two screens.
    pub fn brighter(&self, one: &[u8], other: &[u8]) -> Vec<u8> {
        one.iter().zip(other).map(|(&one, &other)| if self.is_brighter(one, other) { one } else { other }).collect()
    }

    fn is_brighter(&self, one: u8, other: u8) -> bool {
        self.brightness[usize::from(other)] < self.brightness[usize::from(one)]
    }

    /// Writes the shrunk maximum of two screens.
    pub fn resize(&mut self, newest: &[u8], previous: &[u8], out: &mut [u8]) {
        let (weights, brightness) = (&self.weights, &self.brightness);
        let pixel = |at: usize| brightness[usize::from(newest[at])].max(brightness[usize::from(previous[at])]);
        assert_eq!(out.len(), weights.rows.len() * weights.columns.len(), "resize: {} output bytes", out.len());
        match &mut self.method {
            Method::Blocks { rows, columns } => {
                for (i, out) in out.iter_mut().enumerate() {
                    let (y, x) = (i / weights.columns.len() * *rows, i % weights.columns.len() * *columns);
                    let block = (y..y + *rows).flat_map(|y| (x..x + *columns).map(move |x| y * WIDTH + x));
                    *out = block_mean(block.map(|at| u32::from(pixel(at))).sum(), *rows, *columns);
                }
            }
            Method::Kept(kept) => kept.resize(newest, previous, brightness, weights, out),
            Method::Literal => {
                for (i, out) in out.iter_mut().enumerate() {
                    *out = weights.mean(i / weights.columns.len(), i % weights.columns.len(), pixel);
                }
            }
        }
    }
}

/// The mean of whole pixels. Blocks of 2×2 round halves up, all others to even.
fn block_mean(sum: u32, rows: usize, columns: usize) -> u8 {
    match (rows, columns) {
        (2, 2) => ((sum + 2) >> 2) as u8,
        _ => (sum as f32 * (1.0 / (rows * columns) as f32)).round_ties_even() as u8,
    }
}

/// The screen pixels under each output row and column, with their shares.
#[derive(Debug, Clone)]
struct Weights {
    rows: Vec<Covered>,
    columns: Vec<Covered>,
}

/// The pixels under one output pixel along one axis: index of the first, and the share of each.
#[derive(Debug, Clone)]
struct Covered {
    first: usize,
    shares: Vec<f32>,
}

impl Weights {
    /// The definition: output pixel (y, x), in `f32`, in this order.
    fn mean(&self, y: usize, x: usize, pixel: impl Fn(usize) -> u8) -> u8 {
        let (rows, columns) = (&self.rows[y], &self.columns[x]);
        let mut mean = 0.0_f32;
        for (row, share_of_row) in (rows.first..).zip(&rows.shares) {
            let mut of_row = 0.0_f32;
            for (column, share) in (columns.first..).zip(&columns.shares) {
                of_row += f32::from(pixel(row * WIDTH + column)) * share;
            }
            mean += share_of_row * of_row;
        }
        mean.round_ties_even() as u8
    }

    fn most_covered(&self) -> usize {
        self.rows.iter().chain(&self.columns).map(|covered| covered.shares.len()).max().unwrap_or(0)
    }
}

/// The pixels of an axis of `size` pixels under each of `count` output pixels. A share below a thousandth is left out.
fn covered(size: usize, count: usize) -> Vec<Covered> {
    const LEAST: f64 = 1e-3;
    let scale = size as f64 / count as f64;
    let of = |i: usize| {
        let (start, end) = (i as f64 * scale, i as f64 * scale + scale);
        let length = scale.min(size as f64 - start);
        let whole_end = (end.floor() as usize).min(size - 1);
        let whole_start = (start.ceil() as usize).min(whole_end);
        let (before, after) = (whole_start as f64 - start, end - whole_end as f64);
        let mut shares = Vec::new();
        let mut first = whole_start;
        if LEAST < before {
            first -= 1;
            shares.push((before / length) as f32);
        }
        shares.extend((whole_start..whole_end).map(|_| (1.0 / length) as f32));
        if LEAST < after {
            shares.push((after.min(1.0).min(length) / length) as f32);
        }
        Covered { first, shares }
    };
    (0..count).map(of).collect()
}

/// The fast form. Of h rows shrunk to r, an output pixel covers h/r, so a row has a weight that is a multiple of
/// gcd(h, r)/r; columns likewise. Rows are summed first: whole lines at once, and fewer of them are left for the columns.
#[derive(Debug, Clone)]
struct KeptRows {
    /// Both screens as last read, and the brighter pixel of both.
    newest: Vec<u8>,
    previous: Vec<u8>,
    brighter: Vec<u8>,
    columns: Vec<ColumnTaps>,
    /// The most pixels of a row that lie under one output pixel.
    column_taps: usize,
    lines: Vec<Taps>,
    total: u32,
    changed: Vec<bool>,
    out: Vec<u8>,
}

/// The input pixels under one output pixel, by first index, and their weights.
#[derive(Debug, Clone, Copy)]
struct Taps {
    first: usize,
    weights: [u16; MAX_TAPS],
}

/// Taps of a row; as a byte the index is always inside the line.
#[derive(Debug, Clone, Copy)]
struct ColumnTaps {
    first: u8,
    weights: [u16; MAX_TAPS],
}

/// At most this many pixels of a row (160 to 84) or column (250 to 84) lie under one output pixel.
const MAX_TAPS: usize = 4;

/// Sums of a column of so many bytes fit 16 bits.
const MAX_SCREEN_ROWS: usize = 256;

/// A line of sums, padded so that every column can read all its taps; those beyond the edge have weight zero.
type Line = [u16; 256 + MAX_TAPS];

/// `f32` sums of a dozen products of bytes are off by less than 2·10⁻⁴, and the quotient below by a tenth of that: a mean
/// that is further from a half than this is rounded as the exact one is.
const NEAR_HALF: f32 = 2.5e-4;

/// Added to a number below 2²² it leaves the nearest integer in the low bits.
const ROUNDING: f32 = 12_582_912.0;

impl KeptRows {
    fn new(screen_rows: usize, rows: usize, columns: usize, brightness: &[u8; 256]) -> Self {
        let (columns, column_total) = taps(WIDTH, columns);
        let (lines, line_total) = taps(screen_rows, rows);
        let used = |taps: &Taps| taps.weights.iter().filter(|&&weight| weight != 0).count();
        Self {
            newest: vec![0; screen_rows * WIDTH],
            previous: vec![0; screen_rows * WIDTH],
            brighter: vec![brightness[0]; screen_rows * WIDTH],
            total: column_total * line_total,
            changed: vec![true; screen_rows],
            out: vec![0; lines.len() * columns.len()],
            column_taps: columns.iter().map(used).max().unwrap_or(0),
            columns: columns.iter().map(|taps| ColumnTaps { first: taps.first as u8, weights: taps.weights }).collect(),
            lines,
        }
    }

    fn resize(&mut self, newest: &[u8], previous: &[u8], brightness: &[u8; 256], weights: &Weights, out: &mut [u8]) {
        let kept = self.newest.chunks_exact_mut(WIDTH).zip(self.previous.chunks_exact_mut(WIDTH));
        let kept = kept.zip(self.brighter.chunks_exact_mut(WIDTH)).zip(&mut self.changed);
        let screens = newest.chunks_exact(WIDTH).zip(previous.chunks_exact(WIDTH));
        for ((((kept_newest, kept_previous), brighter), changed), (newest, previous)) in kept.zip(screens) {
            if kept_newest != newest || kept_previous != previous {
                brighten([newest, previous], [&*kept_newest, &*kept_previous], brightness, brighter);
                kept_newest.copy_from_slice(newest);
                kept_previous.copy_from_slice(previous);
                *changed = true;
            }
        }
        let width = self.columns.len();
        for (y, (lines, shrunk)) in self.lines.iter().zip(self.out.chunks_exact_mut(width)).enumerate() {
            let under = lines.first..(lines.first + MAX_TAPS).min(self.changed.len());
            if !self.changed[under].contains(&true) {
                continue;
            }
            let line = sum_lines(&self.brighter, lines);
            let mut sums = [0; WIDTH];
            let sums = &mut sums[..width];
            match self.column_taps {
                0..=2 => sum_columns::<2>(&line, &self.columns, sums),
                3 => sum_columns::<3>(&line, &self.columns, sums),
                _ => sum_columns::<MAX_TAPS>(&line, &self.columns, sums),
            }
            if rounded_means(sums, self.total, shrunk) {
                for (x, &sum) in sums.iter().enumerate() {
                    if is_near_half(sum as f32 / self.total as f32) {
                        shrunk[x] = weights.mean(y, x, |at| self.brighter[at]);
                    }
                }
            }
        }
        self.changed.fill(false);
        out.copy_from_slice(&self.out);
    }
}

/// Updates the brighter pixels of one row where it differs from what was kept.
fn brighten(now: [&[u8]; 2], kept: [&[u8]; 2], brightness: &[u8; 256], brighter: &mut [u8]) {
    let groups = |row| <[u8]>::as_chunks::<8>(row).0.iter();
    let [newest, previous] = now.map(groups);
    let [kept_newest, kept_previous] = kept.map(groups);
    let rows = newest.zip(previous).zip(kept_newest.zip(kept_previous));
    for ((now, kept), brighter) in rows.zip(brighter.as_chunks_mut::<8>().0) {
        if now != kept {
            let (newest, previous) = now;
            let of = |pixel: u8| brightness[usize::from(pixel)];
            *brighter = std::array::from_fn(|i| of(newest[i]).max(of(previous[i])));
        }
    }
}

/// The weighted sum of the screen rows under one output row.
fn sum_lines(brighter: &[u8], lines: &Taps) -> Line {
    let mut line = [0; 256 + MAX_TAPS];
    for (row, weight) in (lines.first..).zip(lines.weights).filter(|&(_, weight)| weight != 0) {
        for (sum, &pixel) in line.iter_mut().zip(&brighter[row * WIDTH..][..WIDTH]) {
            *sum += u16::from(pixel) * weight;
        }
    }
    line
}

/// The weighted sums under each output pixel of a row; below 2²⁴, so that `f32` holds them exactly.
fn sum_columns<const TAPS: usize>(line: &Line, columns: &[ColumnTaps], sums: &mut [i32]) {
    for (sum, taps) in sums.iter_mut().zip(columns) {
        let first = usize::from(taps.first);
        *sum = (0..TAPS).map(|k| i32::from(line[first + k]) * i32::from(taps.weights[k])).sum();
    }
}

/// Writes the rounded means of one output row; whether one of them is near a half and needs the definition.
fn rounded_means(sums: &[i32], total: u32, out: &mut [u8]) -> bool {
    let share = 1.0 / total as f32;
    let mut farthest = 0.0_f32;
    for (pixel, &sum) in out.iter_mut().zip(sums) {
        let mean = sum as f32 * share;
        let rounded = mean + ROUNDING;
        let rest = (mean - (rounded - ROUNDING)).abs();
        farthest = if farthest < rest { rest } else { farthest };
        *pixel = rounded.to_bits() as u8;
    }
    0.5 - NEAR_HALF <= farthest
}

fn is_near_half(mean: f32) -> bool {
    (mean - mean.floor() - 0.5).abs() <= 1.5 * NEAR_HALF
}

/// The taps of each output pixel, and the sum of the weights of one.
fn taps(size: usize, count: usize) -> (Vec<Taps>, u32) {
    let unit = gcd(size, count);
    let of = |i: usize| {
        let first = i * size / count;
        let weights = std::array::from_fn(|k| {
            let start = (i * size).max((first + k) * count);
            let end = ((i + 1) * size).min((first + k + 1) * count);
            (end.saturating_sub(start) / unit) as u16
        });
        Taps { first, weights }
    };
    ((0..count).map(of).collect(), (size / unit) as u32)
}

fn gcd(a: usize, b: usize) -> usize {
    if b == 0 { a } else { gcd(b, a % b) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use sane_env::Stream;

    fn scramble(screen: &mut [u8], stream: &mut Stream, colours: u64) {
        let start = stream.below(screen.len() as u64) as usize;
        screen[start..].iter_mut().take(4000).for_each(|pixel| *pixel = stream.below(colours) as u8);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(48))]

        #[test]
        fn the_fast_form_equals_the_definition_whatever_was_kept(
            seed in any::<u64>(), height in prop::sample::select(vec![210_usize, 214, 220, 230, 250]),
            size in prop::sample::select(vec![(84, 84), (84, 96), (100, 64), (150, 150), (96, 55)]),
            colours in prop::sample::select(vec![2_u64, 5, 256]),
        ) {
            let brightness: [u8; 256] = std::array::from_fn(|i| (i as u8).wrapping_mul(37).wrapping_add(5));
            let mut stream = Stream::named(seed, "screens");
            let mut fast = MaxArea::new(height, size.0, size.1, &brightness);
            let mut literal = MaxArea { method: Method::Literal, ..fast.clone() };
            prop_assert!(matches!(fast.method, Method::Kept(_)));
            let [mut newest, mut previous] = [(); 2].map(|()| vec![0; height * WIDTH]);
            for _ in 0..3 {
                scramble(&mut newest, &mut stream, colours);
                scramble(&mut previous, &mut stream, colours);
                let [mut one, mut other] = [(); 2].map(|()| vec![0; size.0 * size.1]);
                fast.resize(&newest, &previous, &mut one);
                literal.resize(&newest, &previous, &mut other);
                prop_assert_eq!(&one, &other);
            }
        }
    }

    #[test]
    fn one_colour_stays_that_colour_in_every_size() {
        let identity: [u8; 256] = std::array::from_fn(|i| i as u8);
        for (height, rows, columns, colour) in
            [(210, 84, 84, 255), (250, 84, 84, 128), (210, 105, 80, 7), (210, 210, 160, 9), (210, 1, 1, 200)]
        {
            let screen = vec![colour; height * WIDTH];
            let mut out = vec![0; rows * columns];
            MaxArea::new(height, rows, columns, &identity).resize(&screen, &screen, &mut out);
            assert!(out.iter().all(|&pixel| pixel == colour), "{height} {rows} {columns} {colour}");
        }
    }

    #[test]
    fn an_exact_half_is_rounded_as_opencv_does() {
        let identity: [u8; 256] = std::array::from_fn(|i| i as u8);
        let mut halves = 0;
        let mut stream = Stream::named(1, "halves");
        for _ in 0..40 {
            let screen: Vec<u8> = (0..210 * WIDTH).map(|_| stream.below(4) as u8 * 50).collect();
            let mut area = MaxArea::new(210, 84, 84, &identity);
            let mut out = vec![0; 84 * 84];
            area.resize(&screen, &screen, &mut out);
            let Method::Kept(kept) = &area.method else { panic!("84×84 is computed fast") };
            for (y, lines) in kept.lines.iter().enumerate() {
                let mut sums = [0; 84];
                sum_columns::<MAX_TAPS>(&sum_lines(&screen, lines), &kept.columns, &mut sums);
                for (x, sum) in sums.into_iter().enumerate().filter(|&(_, sum)| sum % 200 == 100) {
                    assert_eq!(out[84 * y + x], area.weights.mean(y, x, |at| screen[at]));
                    halves += u32::from(i32::from(out[84 * y + x]) != (sum + 100) / 200);
                }
            }
        }
        assert!(0 < halves, "no half was rounded down: the case is never tested");
    }
}
