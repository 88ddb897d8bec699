//! Substitution in several lower triangles at once: u = L⁻¹x for each.
//!
//! Each number of u waits for the one before, but triangles do not wait for each other, so that their rows take turns.

use super::elementwise::{dot, dot_of_first};
use super::lanes::Lanes;
use super::*;
use crate::Matrix;

/// How many rows ahead memory is asked for. Between two decisions a train step has driven the triangles out of the cache, and rows
/// that take turns are too short for the processor to see where they lead.
const ROWS_AHEAD: usize = 8;

/// Lower triangular matrices of one width, packed.
#[derive(Debug, Clone, Copy)]
pub struct Triangles<'a> {
    pub width: usize,
    /// The diagonals, one behind the other.
    pub diagonal: &'a [f32],
    /// The rows below the diagonal, one behind the other; of each matrix [`below_diagonal`](Self::below_diagonal).
    pub lower: &'a [f32],
}

impl Triangles<'_> {
    /// Numbers below the diagonal of a square of this width.
    pub fn below_diagonal(width: usize) -> usize {
        width * width.saturating_sub(1) / 2
    }

    fn count(&self) -> usize {
        self.diagonal.len() / self.width
    }
}

impl Kernel {
    /// Row t of U ← L_t⁻¹x, by substitution; each sum has the bits of [`dot`](Self::dot).
    pub fn substitute(self, triangles: Triangles<'_>, x: &[f32], u: &mut Matrix) {
        let (width, count) = (triangles.width, triangles.count());
        let expected = [count * width, count * Triangles::below_diagonal(width), width, count, width];
        let found = [triangles.diagonal.len(), triangles.lower.len(), x.len(), u.rows(), u.cols()];
        assert_eq!(found, expected, "substitute: diagonals, lower rows, x, rows and columns of U");
        let stride = u.stride();
        // What is not known yet must not count.
        u.clear();
        dispatch!(self, substitute(triangles, x, u.as_mut_slice(), stride));
    }
}

/// # Safety
/// The processor has the instructions of `V`; sizes are those that `Kernel::substitute` checks, `u` has `u_stride` numbers for each
/// triangle, a multiple of 16 that holds the width, and all are 0.
#[inline(always)]
pub(super) unsafe fn substitute<V: Lanes>(triangles: Triangles<'_>, x: &[f32], u: &mut [f32], u_stride: usize) {
    let Triangles { width, diagonal, lower } = triangles;
    for i in 0..width {
        for t in 0..triangles.count() {
            let row = &lower[t * Triangles::below_diagonal(width) + Triangles::below_diagonal(i)..];
            for line in (0..i).step_by(LANES) {
                // SAFETY: any address is allowed.
                unsafe { V::prefetch(row.as_ptr().wrapping_add(ROWS_AHEAD * i + line)) };
            }
            let u = &mut u[t * u_stride..][..u_stride];
            // SAFETY: the instructions are the caller's contract. `u` reaches to the next multiple of 16 behind i, which is at
            // most its length, and is 0 from i on; `row` reaches so far in the first case, and in the second both have length i.
            let known = unsafe {
                if i.next_multiple_of(16) <= row.len() {
                    dot_of_first::<V>(i, row, u)
                } else {
                    dot::<V>(&row[..i], &u[..i])
                }
            };
            u[i] = (x[i] - known) / diagonal[t * width + i];
        }
    }
}
