//! Examples of a batch, one after the other or on the threads of the current pool: the same numbers either way.

use rayon::prelude::*;
use sane_nn::Matrix;

/// Below this many numbers a second thread costs more than it brings.
const SMALL: usize = 1 << 14;

/// Calls `work(example, its row)` for every row.
pub(crate) fn for_each_row(matrix: &mut Matrix, work: impl Fn(usize, &mut [f32]) + Sync) {
    let (stride, cols) = (matrix.stride(), matrix.cols());
    let rows = matrix.as_mut_slice();
    if rows.len() < SMALL {
        rows.chunks_mut(stride).enumerate().for_each(|(i, row)| work(i, &mut row[..cols]));
    } else {
        rows.par_chunks_mut(stride).enumerate().for_each(|(i, row)| work(i, &mut row[..cols]));
    }
}

/// As [`for_each_row`], with one number per example besides.
pub(crate) fn for_each_row_and_number(
    matrix: &mut Matrix,
    numbers: &mut [f32],
    work: impl Fn(usize, &mut [f32], &mut f32) + Sync,
) {
    let (stride, cols) = (matrix.stride(), matrix.cols());
    let rows = matrix.as_mut_slice();
    if rows.len() < SMALL {
        let pairs = rows.chunks_mut(stride).zip(numbers).enumerate();
        pairs.for_each(|(i, (row, number))| work(i, &mut row[..cols], number));
    } else {
        let pairs = rows.par_chunks_mut(stride).zip(numbers).enumerate();
        pairs.for_each(|(i, (row, number))| work(i, &mut row[..cols], number));
    }
}
