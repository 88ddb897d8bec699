//! One row times panels of sixteen columns, where the row has many zeros: rows of B that would be multiplied by zero are not read.
//!
//! ```text
//! C[p·16 + lane] = start + Σ_i value[i] · B[p·b_panel + input[i]·16 + lane]
//! ```
//!
//! Acting waits for its weights, not for arithmetic, and a ReLU leaves about half of the inputs of a dense layer zero. The sum
//! is that of `product.rs` in the same order without terms that are zero, so it has the same bits as long as B is finite.

use super::lanes::Lanes;

/// The values of a row that are not zero, in the order of their places.
#[derive(Debug, Clone)]
pub(crate) struct Steps(Vec<Step>);

#[derive(Debug, Clone, Copy)]
struct Step {
    input: u32,
    value: f32,
}

impl Steps {
    /// For rows of up to `inputs` values.
    pub fn with_room_for(inputs: usize) -> Self {
        Self(Vec::with_capacity(inputs))
    }

    /// Those of `row`.
    pub fn set(&mut self, row: &[f32]) {
        self.0.clear();
        self.0.extend((0..).zip(row).filter(|(_, value)| **value != 0.0).map(|(input, &value)| Step { input, value }));
    }

    /// One more than the last place.
    pub fn end(&self) -> usize {
        self.0.last().map_or(0, |last| last.input as usize + 1)
    }
}

/// The operands; `bias` has sixteen values per panel.
#[derive(Clone, Copy)]
pub(crate) struct SparseRow<'a> {
    pub steps: &'a Steps,
    pub b: &'a [f32],
    pub b_panel: usize,
    pub bias: Option<&'a [f32]>,
}

/// How many steps before their use rows of B are asked for: the processor cannot guess which are left out.
const AHEAD: usize = 24;

/// Computes as many panels as `c` holds, two at a time.
///
/// # Safety
/// The processor has the instructions of `V`; for every panel of `c` the bias has sixteen values, and B has sixteen at each
/// place that the formula names.
#[inline(always)]
pub(crate) unsafe fn sparse_row<V: Lanes>(row: SparseRow<'_>, c: &mut [f32], is_rectified: bool) {
    for (pair, c) in c.chunks_mut(32).enumerate() {
        // SAFETY: the caller's contract; the pairs partition the panels of `c`.
        unsafe {
            match c.len() {
                32 => panels::<V, 2>(row, 2 * pair, c, is_rectified),
                _ => panels::<V, 1>(row, 2 * pair, c, is_rectified),
            }
        }
    }
}

#[inline(always)]
unsafe fn panels<V: Lanes, const N: usize>(row: SparseRow<'_>, first: usize, c: &mut [f32], is_rectified: bool) {
    // SAFETY: the caller's contract: all these places lie in B and in the bias; `c` has N panels; prefetches may go anywhere.
    unsafe {
        let b: [*const f32; N] = std::array::from_fn(|j| row.b.as_ptr().add((first + j) * row.b_panel));
        let mut sums: [V; N] = std::array::from_fn(|j| match row.bias {
            Some(bias) => V::load(bias.as_ptr().add((first + j) * 16)),
            None => V::splat(0.0),
        });
        let steps = &row.steps.0[..];
        for (i, step) in steps.iter().enumerate() {
            let ahead = steps[(i + AHEAD).min(steps.len() - 1)].input as usize * 16;
            let (x, at) = (V::splat(step.value), step.input as usize * 16);
            for j in 0..N {
                V::prefetch(b[j].wrapping_add(ahead));
                sums[j] = sums[j].fma(x, V::load(b[j].add(at)));
            }
        }
        for (sum, c) in sums.into_iter().zip(c.chunks_exact_mut(16)) {
            if is_rectified { sum.relu() } else { sum }.store(c.as_mut_ptr());
        }
    }
}
