//! The fast kernels, chosen at run time. All `unsafe` of the project stands in this module and its children.
//!
//! Data flow: layers describe their arithmetic by safe slices and offset tables; the methods of [`Kernel`] check every length
//! once and call the path of this processor. A [`Kernel`] can only be had for a path the processor can run, which is the
//! safety argument of every call below.

mod elementwise;
mod gaussian;
mod lanes;
mod layouts;
mod product;
mod sinks;
mod sparse_row;
mod tiles;
mod transform;
mod winograd;

use crate::error::NnError;
pub use elementwise::AdamCoefficients;
use gaussian::Shape;
pub(crate) use product::Ahead;
use product::Source;
use sinks::{Store, Update};
pub(crate) use sparse_row::{SparseRow, Steps};
use std::ops::Range;
pub(crate) use tiles::{Biased, Grid, POSITIONS, Patch, Placed, Tiles, position_len};

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

mod request;
mod vectors;

pub use request::Activation;
pub(crate) use request::{From, Product};

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
    fn digests(out: &mut [u32], x: &[f32], width: usize) = layouts::digests;
    fn has_same_bits(a: &[f32], b: &[f32]) -> bool = layouts::has_same_bits;
    fn bytes_to_floats(out: &mut [f32], bytes: &[u8], factor: f32) = layouts::bytes_to_floats;
    fn bytes_to_blocks(out: &mut [f32], bytes: &[u8], shape: (usize, usize), factor: f32) = layouts::bytes_to_blocks;
    fn transpose(from: &[f32], to: &mut [f32], to_stride: usize) = layouts::transpose;
    fn multiply_adds(rounds: u64, x: f32) -> f32 = elementwise::multiply_adds;
    fn flop_per_round() -> u64 = elementwise::flop_per_round_on;
    fn fill_gaussian(out: &mut [f32], seed: u64, shape: Shape) = gaussian::fill_on;
    fn product_store(source: Source<'_>, sink: Store<'_>) = product::store;
    fn product_adam(source: Source<'_>, sink: Update<'_>) = product::update;
    fn sparse_row(row: SparseRow<'_>, c: &mut [f32], is_rectified: bool) = sparse_row::sparse_row;
    fn winograd_data(grid: &Grid, x: &[f32], tiles: Tiles<'_>, v: &mut [f32]) = winograd::data;
    fn winograd_data_adjoint(grid: &Grid, v: &[f32], tiles: Tiles<'_>, panel: usize, dx: &mut [f32]) = winograd::data_adjoint;
    fn winograd_result(grid: &Grid, m: &[f32], tiles: Tiles<'_>, panel: Biased<'_>, y: &mut [f32]) = winograd::result;
    fn winograd_result_adjoint(grid: &Grid, dy: &[f32], tiles: Tiles<'_>, w: &mut [f32]) = winograd::result_adjoint;
    fn winograd_filter(grid: &Grid, weights: &[f32], u: &mut [f32]) = winograd::filter;
    fn winograd_filter_across(grid: &Grid, weights: &[f32], panel: usize, u: &mut [f32]) = winograd::filter_across;
    fn winograd_filter_adjoint(grid: &Grid, u: &[f32], rows: Range<usize>, does_add: bool, weights: &mut [f32])
        = winograd::filter_adjoint;
}

/// Winograd's transforms; each checks its addresses itself. What they compute stands in `kernels/winograd.rs`.
impl Kernel {
    pub(crate) fn winograd_data(self, grid: &Grid, x: &[f32], tiles: Tiles<'_>, v: &mut [f32]) {
        dispatch!(self, winograd_data(grid, x, tiles, v))
    }

    pub(crate) fn winograd_data_adjoint(self, grid: &Grid, v: &[f32], tiles: Tiles<'_>, panel: usize, dx: &mut [f32]) {
        dispatch!(self, winograd_data_adjoint(grid, v, tiles, panel, dx))
    }

    pub(crate) fn winograd_result(self, grid: &Grid, m: &[f32], tiles: Tiles<'_>, panel: Biased<'_>, y: &mut [f32]) {
        dispatch!(self, winograd_result(grid, m, tiles, panel, y))
    }

    pub(crate) fn winograd_result_adjoint(self, grid: &Grid, dy: &[f32], tiles: Tiles<'_>, w: &mut [f32]) {
        dispatch!(self, winograd_result_adjoint(grid, dy, tiles, w))
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
