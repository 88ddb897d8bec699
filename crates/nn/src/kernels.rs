//! The fast kernels, chosen at run time. All `unsafe` of the project stands in this module and its children.
//!
//! Data flow: layers describe their arithmetic by safe slices and offset tables; the methods of [`Kernel`] check every length
//! once and call the path of this processor. A [`Kernel`] can only be had for a path the processor can run, which is the
//! safety argument of every call below.

mod elementwise;
mod gaussian;
mod lanes;
mod product;
mod tiles;
mod transform;
mod winograd;

use crate::error::NnError;
use crate::offsets::Offsets;
pub use elementwise::AdamCoefficients;
use gaussian::Shape;
pub(crate) use product::Ahead;
use product::{Source, Start, Store};
use std::ops::Range;
pub(crate) use tiles::{Grid, POSITIONS, Slot, position_len};

/// Number of lanes; all widths are padded to a multiple of it.
pub const LANES: usize = 16;

/// The set of kernels to compute with. Owning one proves that this processor has its instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kernel(Path);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Path {
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    Portable,
}

impl Kernel {
    /// The fastest this processor can run.
    pub fn detect() -> Self {
        Self::available()[0]
    }

    /// All that this processor can run, fastest first; the last is always the portable one.
    pub fn available() -> Vec<Self> {
        let mut kernels = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("fma")
            {
                kernels.push(Self(Path::Avx512));
            }
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                kernels.push(Self(Path::Avx2));
            }
        }
        kernels.push(Self(Path::Portable));
        kernels
    }

    /// The kernel called `name` (`avx512`, `avx2` or `portable`), if this processor can run it.
    pub fn named(name: &str) -> Result<Self, NnError> {
        let available = Self::available();
        available.iter().copied().find(|kernel| kernel.name() == name).ok_or_else(|| NnError::KernelUnavailable {
            kernel: name.to_owned(),
            available: available.iter().map(|kernel| kernel.name()).collect::<Vec<_>>().join(", "),
        })
    }

    /// `avx512`, `avx2` or `portable`.
    pub fn name(self) -> &'static str {
        match self.0 {
            #[cfg(target_arch = "x86_64")]
            Path::Avx512 => "avx512",
            #[cfg(target_arch = "x86_64")]
            Path::Avx2 => "avx2",
            Path::Portable => "portable",
        }
    }
}

/// Compiles each kernel three times, once per path, each with the instructions of that path enabled.
macro_rules! on_every_path {
    ($(fn $name:ident($($arg:ident: $type:ty),*) $(-> $out:ty)? = $generic:path;)*) => {
        #[cfg(target_arch = "x86_64")]
        mod avx512 {
            use super::*;
            $(#[target_feature(enable = "avx512f,avx2,fma")]
            pub(super) unsafe fn $name($($arg: $type),*) $(-> $out)? {
                use $generic as generic;
                // SAFETY: this function's instructions are those of the lanes; the rest is the caller's contract.
                unsafe { generic::<lanes::Avx512>($($arg),*) }
            })*
        }
        #[cfg(target_arch = "x86_64")]
        mod avx2 {
            use super::*;
            $(#[target_feature(enable = "avx2,fma")]
            pub(super) unsafe fn $name($($arg: $type),*) $(-> $out)? {
                use $generic as generic;
                // SAFETY: this function's instructions are those of the lanes; the rest is the caller's contract.
                unsafe { generic::<lanes::Avx2>($($arg),*) }
            })*
        }
        mod portable {
            use super::*;
            $(pub(super) unsafe fn $name($($arg: $type),*) $(-> $out)? {
                use $generic as generic;
                // SAFETY: portable lanes need no special instructions; the rest is the caller's contract.
                unsafe { generic::<lanes::Portable>($($arg),*) }
            })*
        }
    };
}

/// Calls the path of `kernel`.
macro_rules! dispatch {
    ($kernel:expr, $name:ident($($arg:expr),*)) => {
        // SAFETY: a `Kernel` exists only for a path this processor has; the caller of the macro has checked the lengths.
        unsafe {
            match $kernel.0 {
                #[cfg(target_arch = "x86_64")]
                Path::Avx512 => avx512::$name($($arg),*),
                #[cfg(target_arch = "x86_64")]
                Path::Avx2 => avx2::$name($($arg),*),
                Path::Portable => portable::$name($($arg),*),
            }
        }
    };
}

on_every_path! {
    fn dot(x: &[f32], y: &[f32]) -> f32 = elementwise::dot;
    fn axpy(y: &mut [f32], alpha: f32, x: &[f32]) = elementwise::axpy;
    fn axpy_relu(y: &mut [f32], alpha: f32, x: &[f32]) = elementwise::axpy_relu;
    fn multiply(out: &mut [f32], x: &[f32], y: &[f32]) = elementwise::multiply;
    fn add_product(out: &mut [f32], x: &[f32], y: &[f32]) = elementwise::add_product;
    fn add(y: &mut [f32], x: &[f32]) = elementwise::add;
    fn scale(y: &mut [f32], alpha: f32) = elementwise::scale;
    fn relu(y: &mut [f32]) = elementwise::relu;
    fn mask(d: &mut [f32], h: &[f32]) = elementwise::mask;
    fn column_sums(sums: &mut [f32], d: &[f32], stride: usize) = elementwise::column_sums;
    fn adam(k: &AdamCoefficients, g: &[f32], p: &mut [f32], m: &mut [f32], v: &mut [f32]) = elementwise::adam;
    fn bytes_to_floats(out: &mut [f32], bytes: &[u8], factor: f32) = elementwise::bytes_to_floats;
    fn bytes_to_blocks(out: &mut [f32], bytes: &[u8], shape: (usize, usize), factor: f32) = elementwise::bytes_to_blocks;
    fn transpose(from: &[f32], to: &mut [f32], to_stride: usize) = elementwise::transpose;
    fn multiply_adds(rounds: u64, x: f32) -> f32 = elementwise::multiply_adds;
    fn flop_per_round() -> u64 = elementwise::flop_per_round_on;
    fn fill_gaussian(out: &mut [f32], seed: u64, shape: Shape) = gaussian::fill_on;
    fn product_store(source: Source<'_>, sink: Store<'_>) = product::store;
    fn product_adam(source: Source<'_>, sink: product::Update<'_>) = product::update;
    fn winograd_data(grid: &Grid, x: &[f32], slot: Slot, v: &mut [f32]) = winograd::data;
    fn winograd_data_adjoint(grid: &Grid, v: &[f32], slot: Slot, panel: usize, dx: &mut [f32]) = winograd::data_adjoint;
    fn winograd_result(grid: &Grid, m: &[f32], slot: Slot, panel: usize, bias: &[f32], y: &mut [f32]) = winograd::result;
    fn winograd_result_adjoint(grid: &Grid, dy: &[f32], slot: Slot, w: &mut [f32]) = winograd::result_adjoint;
    fn winograd_filter(grid: &Grid, weights: &[f32], u: &mut [f32]) = winograd::filter;
    fn winograd_filter_across(grid: &Grid, weights: &[f32], panel: usize, u: &mut [f32]) = winograd::filter_across;
    fn winograd_filter_adjoint(grid: &Grid, u: &[f32], rows: Range<usize>, does_add: bool, weights: &mut [f32])
        = winograd::filter_adjoint;
}

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

    /// out ← factor · bytes.
    pub fn bytes_to_floats(self, out: &mut [f32], bytes: &[u8], factor: f32) {
        same_length!("bytes_to_floats", out, bytes);
        dispatch!(self, bytes_to_floats(out, bytes, factor))
    }

    /// out[piece · apart + i] ← factor · bytes[piece · side + i] for i < side, for every whole piece.
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

/// Winograd's transforms; each checks its addresses itself. What they compute stands in `kernels/winograd.rs`.
impl Kernel {
    pub(crate) fn winograd_data(self, grid: &Grid, x: &[f32], slot: Slot, v: &mut [f32]) {
        dispatch!(self, winograd_data(grid, x, slot, v))
    }

    pub(crate) fn winograd_data_adjoint(self, grid: &Grid, v: &[f32], slot: Slot, panel: usize, dx: &mut [f32]) {
        dispatch!(self, winograd_data_adjoint(grid, v, slot, panel, dx))
    }

    pub(crate) fn winograd_result(self, grid: &Grid, m: &[f32], slot: Slot, panel: usize, bias: &[f32], y: &mut [f32]) {
        dispatch!(self, winograd_result(grid, m, slot, panel, bias, y))
    }

    pub(crate) fn winograd_result_adjoint(self, grid: &Grid, dy: &[f32], slot: Slot, w: &mut [f32]) {
        dispatch!(self, winograd_result_adjoint(grid, dy, slot, w))
    }

    pub(crate) fn winograd_filter(self, grid: &Grid, weights: &[f32], u: &mut [f32]) {
        dispatch!(self, winograd_filter(grid, weights, u))
    }

    pub(crate) fn winograd_filter_across(self, grid: &Grid, weights: &[f32], panel: usize, u: &mut [f32]) {
        dispatch!(self, winograd_filter_across(grid, weights, panel, u))
    }

    pub(crate) fn winograd_filter_adjoint(
        self,
        grid: &Grid,
        u: &[f32],
        rows: Range<usize>,
        does_add: bool,
        weights: &mut [f32],
    ) {
        dispatch!(self, winograd_filter_adjoint(grid, u, rows, does_add, weights))
    }
}

/// What the processor can do at best.
impl Kernel {
    /// Computes `rounds` rounds of multiply-adds in registers alone and returns their number of floating-point operations:
    /// timed by the caller, it is the peak that the layers are measured against.
    pub fn multiply_adds(self, rounds: u64) -> u64 {
        let x = std::hint::black_box(0.5);
        std::hint::black_box(dispatch!(self, multiply_adds(rounds, x)));
        rounds * dispatch!(self, flop_per_round())
    }
}

/// The operands of a matrix product; the formula stands at the top of `kernels/product.rs`.
pub(crate) struct Product<'a> {
    pub a: &'a [f32],
    pub rows: &'a Offsets,
    /// How many rows of A, and of C, take part.
    pub row_count: usize,
    pub segments: &'a Offsets,
    pub segment_count: usize,
    pub length: usize,
    pub step: usize,
    pub b: &'a [f32],
    pub b_stride: usize,
    pub b_panel: usize,
    pub panels: usize,
    /// Where row r of C begins, for panel 0.
    pub c_rows: &'a Offsets,
    /// Floats from one panel of C to the next.
    pub c_panel: usize,
    pub ahead: Ahead,
}

/// What a product adds to.
pub(crate) enum From<'a> {
    Zero,
    C,
    Bias(&'a [f32]),
}

/// What happens to a sum before it is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Activation {
    /// Nothing.
    Linear,
    /// max(0, ·).
    Relu,
}

impl Product<'_> {
    /// Checks every address of the formula against the slices.
    fn source(&self) -> Source<'_> {
        let steps = self.segment_count * self.length;
        assert!(0 < self.row_count && 0 < steps && 0 < self.panels, "product: nothing to compute");
        let last_a = self.rows.largest_of(self.row_count)
            + self.segments.largest_of(self.segment_count)
            + (self.length - 1) * self.step;
        assert!(last_a < self.a.len(), "product: A is read at {last_a} of {}", self.a.len());
        let end_b = (self.panels - 1) * self.b_panel + (steps - 1) * self.b_stride + LANES;
        assert!(end_b <= self.b.len(), "product: B is read up to {end_b} of {}", self.b.len());
        Source {
            a: self.a.as_ptr(),
            rows: &self.rows.values()[..self.row_count],
            segments: &self.segments.values()[..self.segment_count],
            length: self.length,
            step: self.step,
            b: self.b.as_ptr(),
            b_stride: self.b_stride,
            b_panel: self.b_panel,
            panels: self.panels,
            ahead: self.ahead,
        }
    }

    /// One more than the last element of C that is touched.
    fn end_c(&self) -> usize {
        self.c_rows.largest_of(self.row_count) + (self.panels - 1) * self.c_panel + LANES
    }
}

impl Kernel {
    /// C ← activation(from + A·B).
    pub(crate) fn product(self, p: &Product<'_>, from: From<'_>, c: &mut [f32], activation: Activation) {
        let source = p.source();
        assert!(p.end_c() <= c.len(), "product: C is written up to {} of {}", p.end_c(), c.len());
        let start = match from {
            From::Zero => Start::Zero,
            From::C => Start::Add,
            From::Bias(bias) => {
                assert!(p.panels * LANES <= bias.len(), "product: bias has {} of {}", bias.len(), p.panels * LANES);
                Start::Bias(bias.as_ptr())
            }
        };
        let rows = &p.c_rows.values()[..p.row_count];
        let is_rectified = activation == Activation::Relu;
        dispatch!(
            self,
            product_store(source, Store { c: c.as_mut_ptr(), rows, panel: p.c_panel, start, is_rectified })
        );
    }

    /// One Adam step on the parameters C, whose gradient is A·B.
    pub(crate) fn product_adam(
        self,
        p: &Product<'_>,
        k: &AdamCoefficients,
        c: &mut [f32],
        m: &mut [f32],
        v: &mut [f32],
    ) {
        let source = p.source();
        let end = p.end_c();
        assert!(end <= c.len() && end <= m.len() && end <= v.len(), "product_adam: parameters are written up to {end}");
        let rows = &p.c_rows.values()[..p.row_count];
        let sink =
            product::Update { p: c.as_mut_ptr(), m: m.as_mut_ptr(), v: v.as_mut_ptr(), rows, panel: p.c_panel, k };
        dispatch!(self, product_adam(source, sink));
    }
}
