//! The paper's picture: rows 34–193 kept (160×160), nearest neighbour to 84×84.

use super::{SIDE, WIDTH};

const FIRST_ROW: usize = 34;
const KEPT_ROWS: usize = 160;
/// 160 to 84 is 40 to 21: the same 21 columns are taken of every 40.
const PERIOD: (usize, usize) = (40, 21);

/// The definition: pixel (y, x) is the luma of pixel (34 + ⌊160y/84⌋, ⌊160x/84⌋).
pub fn crop_nearest(screen: &[u8], gray: &[u8; 256], out: &mut [u8]) {
    for (i, pixel) in out.iter_mut().enumerate() {
        let (y, x) = (i / SIDE, i % SIDE);
        *pixel = gray[usize::from(screen[source_row(y) * WIDTH + x * WIDTH / SIDE])];
    }
}

/// The same, fast.
#[derive(Debug, Clone)]
pub struct Nearest {
    seen: Vec<u8>,
    out: Vec<u8>,
}

impl Nearest {
    /// Ready for a screen whose luma is given by `gray`.
    pub fn new(gray: &[u8; 256]) -> Self {
        Self { seen: vec![0; SIDE * WIDTH], out: vec![gray[0]; SIDE * SIDE] }
    }

    /// Writes the 84×84 picture of `screen`; `gray` must be that of [`new`](Self::new).
    pub fn shrink(&mut self, screen: &[u8], gray: &[u8; 256], out: &mut [u8]) {
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

    proptest! {
        #[test]
        fn the_fast_form_equals_the_definition_whatever_came_before(seed in any::<u64>(), height in 210_usize..=250) {
            let gray: [u8; 256] = std::array::from_fn(|i| (i as u8).wrapping_mul(37).wrapping_add(5));
            let mut stream = sane_env::Stream::named(seed, "screens");
            let mut nearest = Nearest::new(&gray);
            let mut screen = vec![0; height * WIDTH];
            for _ in 0..4 {
                let start = stream.below(screen.len() as u64) as usize;
                screen[start..].iter_mut().take(4000).for_each(|pixel| *pixel = stream.next_u64() as u8);
                let [mut fast, mut literal] = [(); 2].map(|()| vec![0; SIDE * SIDE]);
                nearest.shrink(&screen, &gray, &mut fast);
                crop_nearest(&screen, &gray, &mut literal);
                prop_assert_eq!(fast, literal);
            }
        }
    }
}
