//! Activations of a batch: one row per example, rows padded to whole 16-lane vectors.

use crate::buffer::Buffer;
use crate::kernels::LANES;
use crate::padded;

/// Rows that are a multiple of a KiB apart share few sets of the first-level cache: with a stride of 1,024 floats the lines that
/// a weight gradient reads, one per example, all fall into one set of eight or twelve lines. Such rows are set one line further
/// apart.
const ALIASING_STRIDE: usize = 256;

/// `rows` × `cols` numbers in row-major order. A row occupies [`Matrix::stride`] floats. The padding after its `cols` values is
/// zero: every function of this crate keeps it so, and so must callers that write through [`Matrix::padded_row_mut`].
#[derive(Debug, Clone)]
pub struct Matrix {
    data: Buffer,
    rows: usize,
    cols: usize,
    stride: usize,
}

impl Matrix {
    pub fn zeros(rows: usize, cols: usize) -> Self {
        let width = padded(cols);
        let stride = if width.is_multiple_of(ALIASING_STRIDE) { width + LANES } else { width };
        Self { data: Buffer::zeros(rows * stride), rows, cols, stride }
    }

    /// Number of examples.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of values in a row, without padding.
    pub fn cols(&self) -> usize {
        self.cols
    }

    /// Floats from one row to the next: `cols` rounded up to 16, or a line more.
    pub fn stride(&self) -> usize {
        self.stride
    }

    /// The values of row `i`, without padding.
    pub fn row(&self, i: usize) -> &[f32] {
        &self.data[i * self.stride..][..self.cols]
    }

    /// The values of row `i`, without padding.
    pub fn row_mut(&mut self, i: usize) -> &mut [f32] {
        &mut self.data[i * self.stride..][..self.cols]
    }

    /// Row `i` with its zero padding, on which the vector kernels are fastest.
    pub fn padded_row(&self, i: usize) -> &[f32] {
        &self.data[i * self.stride..][..self.stride]
    }

    /// Row `i` with its padding, which must still be zero afterwards.
    pub fn padded_row_mut(&mut self, i: usize) -> &mut [f32] {
        &mut self.data[i * self.stride..][..self.stride]
    }

    /// All rows with padding: `as_slice().chunks(stride())` are the rows.
    pub fn as_slice(&self) -> &[f32] {
        &self.data
    }

    /// All rows with padding; for parallel iterators over rows (`par_chunks_mut(stride)`).
    pub fn as_mut_slice(&mut self) -> &mut [f32] {
        &mut self.data
    }

    /// Sets all values to zero.
    pub fn clear(&mut self) {
        self.data.fill(0.0);
    }
}

/// Packs the columns `first..first + panels · 16` of `rows`, which are `stride` floats apart, into panels `[panels][rows][16]`.
/// A panel then uses the first-level cache evenly; rows whose stride is a power of two would share a few of its sets.
pub(crate) fn into_panels(rows: &[f32], stride: usize, first: usize, panels: usize, out: &mut [f32]) {
    let count = rows.len() / stride;
    for (r, row) in rows.chunks_exact(stride).enumerate() {
        let (pieces, _) = row[first..first + panels * LANES].as_chunks::<LANES>();
        for (panel, piece) in pieces.iter().enumerate() {
            out[(panel * count + r) * LANES..][..LANES].copy_from_slice(piece);
        }
    }
}
