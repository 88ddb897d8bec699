//! Kernels on vectors, with the checks that make them safe to call.

use super::*;

/// Asserts that slices which are visited together have one length.
macro_rules! same_length {
    ($what:literal, $first:expr, $($other:expr),+) => {
        $(assert_eq!($first.len(), $other.len(), concat!($what, ": lengths differ"));)+
    };
}

/// Vector kernels. Slices given to one call have equal lengths; multiples of 16 are fastest.
impl Kernel {
    /// Σ xᵢ yᵢ, in an order that depends on the length alone.
    pub fn dot(self, x: &[f32], y: &[f32]) -> f32 {
        same_length!("dot", x, y);
        dispatch!(self, dot(x, y))
    }

    /// y ← y + α x.
    pub fn axpy(self, y: &mut [f32], alpha: f32, x: &[f32]) {
        same_length!("axpy", y, x);
        dispatch!(self, axpy(y, alpha, x))
    }

    /// y ← max(0, y + α x).
    pub fn axpy_relu(self, y: &mut [f32], alpha: f32, x: &[f32]) {
        same_length!("axpy_relu", y, x);
        dispatch!(self, axpy_relu(y, alpha, x))
    }

    /// out ← x ⊙ y.
    pub fn multiply(self, out: &mut [f32], x: &[f32], y: &[f32]) {
        same_length!("multiply", out, x, y);
        dispatch!(self, multiply(out, x, y))
    }

    /// out ← out + x ⊙ y.
    pub fn add_product(self, out: &mut [f32], x: &[f32], y: &[f32]) {
        same_length!("add_product", out, x, y);
        dispatch!(self, add_product(out, x, y))
    }

    /// y ← y + x.
    pub fn add(self, y: &mut [f32], x: &[f32]) {
        same_length!("add", y, x);
        dispatch!(self, add(y, x))
    }

    /// y ← α y.
    pub fn scale(self, y: &mut [f32], alpha: f32) {
        dispatch!(self, scale(y, alpha))
    }

    /// y ← max(0, y); NaN stays NaN.
    pub fn relu(self, y: &mut [f32]) {
        dispatch!(self, relu(y))
    }

    /// The backward pass of ReLU: d ← d where h > 0, else 0. `h` is the layer's output after ReLU.
    pub fn relu_backward(self, d: &mut [f32], h: &[f32]) {
        same_length!("relu_backward", d, h);
        dispatch!(self, mask(d, h))
    }

    /// sums[j] ← sums[j] + Σ_r d[r·stride + j], row after row.
    pub fn add_column_sums(self, sums: &mut [f32], d: &[f32], stride: usize) {
        assert!(
            sums.len() <= stride && d.len().is_multiple_of(stride),
            "column sums: {} columns of rows of {stride}",
            sums.len()
        );
        dispatch!(self, column_sums(sums, d, stride))
    }

    /// One Adam step on parameters `p` with gradients `g` and moments `m`, `v`.
    pub fn adam(self, k: &AdamCoefficients, g: &[f32], p: &mut [f32], m: &mut [f32], v: &mut [f32]) {
        same_length!("adam", g, p, m, v);
        dispatch!(self, adam(k, g, p, m, v))
    }

    /// out[i] ← a number that says little of the `width` floats of run i, a multiple of sixteen, but is the same for the same bits.
    pub(crate) fn digests(self, out: &mut [u32], x: &[f32], width: usize) {
        assert!(x.len() == out.len() * width && width.is_multiple_of(LANES), "digests: {} runs of {width}", out.len());
        dispatch!(self, digests(out, x, width))
    }

    /// Whether both have the same bits.
    pub(crate) fn has_same_bits(self, a: &[f32], b: &[f32]) -> bool {
        a.len() == b.len() && dispatch!(self, has_same_bits(a, b))
    }

    /// out ← factor · bytes.
    pub fn bytes_to_floats(self, out: &mut [f32], bytes: &[u8], factor: f32) {
        same_length!("bytes_to_floats", out, bytes);
        dispatch!(self, bytes_to_floats(out, bytes, factor))
    }

    /// out[square · apart + y · side + x] ← factor · bytes[y][square · side + x] for x, y < side, for every whole square of
    /// `side` rows of bytes.
    pub(crate) fn bytes_to_blocks(self, out: &mut [f32], bytes: &[u8], shape: (usize, usize), factor: f32) {
        dispatch!(self, bytes_to_blocks(out, bytes, shape, factor))
    }

    /// Standard normal numbers: the stream of `seed`, the same bits on every kernel.
    pub fn fill_normal(self, out: &mut [f32], seed: u64) {
        dispatch!(self, fill_gaussian(out, seed, Shape::Normal))
    }

    /// z(x) = sgn(x)·√|x| of standard normal numbers x: the stream of `seed`, the same bits on every kernel.
    pub fn fill_z(self, out: &mut [f32], seed: u64) {
        dispatch!(self, fill_gaussian(out, seed, Shape::SignedRoot))
    }
}

/// Data movement between the layers' orders.
impl Kernel {
    /// A block `[16 · n][16]` as sixteen columns: `to[j·to_stride + i] = from[i·16 + j]` for j < 16, i < 16 · n.
    pub(crate) fn transpose(self, from: &[f32], to: &mut [f32], to_stride: usize) {
        let rows = from.len() / LANES;
        assert!(
            from.len().is_multiple_of(LANES * LANES) && rows <= to_stride,
            "transpose: {} floats, stride {to_stride}",
            from.len()
        );
        assert!((LANES - 1) * to_stride + rows <= to.len(), "transpose: {} floats to write to", to.len());
        dispatch!(self, transpose(from, to, to_stride))
    }
}
