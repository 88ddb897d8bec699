//! One row times panels of sixteen columns, where the row has many zeros: rows of B that a zero multiplies are not read.
//!
//! ```text
//! C[p·16 + lane] = bias + Σ_i value[i] · B[p·b_panel + input[i]·16 + lane]
//! ```
//!
//! Acting on a single state is bound by the memory traffic of the weights, and a ReLU leaves about half of the inputs of a dense
//! layer zero. The sum is that of `product.rs` in the same order without the terms that are zero, so it has the same bits as
//! long as B is finite.

use super::lanes::Lanes;
use super::*;

/// The non-zero values of a row, in the order of their indices.
#[derive(Debug, Clone)]
pub(crate) struct NonZeros(Vec<NonZero>);

#[derive(Debug, Clone, Copy)]
struct NonZero {
    input: u32,
    value: f32,
}

impl NonZeros {
    /// Empty, with memory for rows of up to `inputs` values.
    pub fn with_capacity(inputs: usize) -> Self {
        Self(Vec::with_capacity(inputs))
    }

    /// Replaces them by those of `row`.
    pub fn set(&mut self, row: &[f32]) {
        self.0.clear();
        let non_zeros = (0..).zip(row).filter(|(_, value)| **value != 0.0);
        self.0.extend(non_zeros.map(|(input, &value)| NonZero { input, value }));
    }

    /// One more than the largest index.
    fn end(&self) -> usize {
        self.0.last().map_or(0, |last| last.input as usize + 1)
    }
}

/// The operands; `bias` has sixteen values per panel.
#[derive(Clone, Copy)]
pub(crate) struct SparseRow<'a> {
    pub non_zeros: &'a NonZeros,
    pub b: &'a [f32],
    pub b_panel: usize,
    pub bias: Option<&'a [f32]>,
}

impl Kernel {
    /// C ← activation(bias + row · B), for as many panels of sixteen columns as C holds.
    pub(crate) fn sparse_row(self, row: SparseRow<'_>, c: &mut [f32], activation: Activation) {
        let panels = c.len() / LANES;
        assert!(0 < panels && c.len().is_multiple_of(LANES), "sparse row: {} columns", c.len());
        let end = (panels - 1) * row.b_panel + row.non_zeros.end() * LANES;
        assert!(end <= row.b.len(), "sparse row: B is read up to {end} of {}", row.b.len());
        assert!(row.bias.is_none_or(|bias| c.len() <= bias.len()), "sparse row: the bias is shorter than C");
        dispatch!(self, sparse_row(row, c, activation == Activation::Relu));
    }
}

/// Prefetch distance in non-zero values; the hardware prefetcher cannot predict which rows of B are skipped.
const PREFETCH_DISTANCE: usize = 24;

/// Computes as many panels as `c` holds, two at a time.
///
/// # Safety
/// The processor has the instructions of `V`; for every panel of `c` the bias has sixteen values, and B has sixteen at each
/// index of the formula.
#[inline(always)]
pub(super) unsafe fn sparse_row<V: Lanes>(row: SparseRow<'_>, c: &mut [f32], is_rectified: bool) {
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
    // SAFETY: the caller's contract: all these indices lie in B and in the bias; `c` has N panels; prefetches may go anywhere.
    unsafe {
        let b: [*const f32; N] = std::array::from_fn(|j| row.b.as_ptr().add((first + j) * row.b_panel));
        let mut sums: [V; N] = std::array::from_fn(|j| match row.bias {
            Some(bias) => V::load(bias.as_ptr().add((first + j) * 16)),
            None => V::splat(0.0),
        });
        let non_zeros = &row.non_zeros.0[..];
        for (i, x) in non_zeros.iter().enumerate() {
            let ahead = non_zeros[(i + PREFETCH_DISTANCE).min(non_zeros.len() - 1)].input as usize * 16;
            let (x, at) = (V::splat(x.value), x.input as usize * 16);
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
