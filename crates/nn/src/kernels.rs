//! The vector kernels, compiled for several instruction sets and selected at run time. All `unsafe` code of the workspace is in
//! this module and its children.
//!
//! Layers describe their arithmetic by safe slices and offset tables. A file of kernels begins with the methods of [`Kernel`],
//! which check all lengths; below them are the unchecked bodies, written once over [`lanes::Lanes`]. The safety argument of
//! every call is the same: a [`Kernel`] exists only for instructions that the processor has, and the lengths are checked.
//!
//! Reading order: `lanes.rs` (sixteen floats on each instruction set), `product.rs` (the matrix product behind every layer),
//! `sparse_row.rs` (its variant for a single example), `elementwise.rs`, `packing.rs`, `gaussian.rs`, `peak.rs`, and for Winograd's
//! convolution `tiles.rs`, `transform.rs`, `winograd.rs`.

use crate::error::NnError;
pub use elementwise::AdamCoefficients;
use gaussian::NoiseShape;
pub use product::Activation;
pub(crate) use product::{Accumulator, Offsets, Prefetch, Product};
use product::{AdamUpdate, Source, Store};
pub(crate) use sparse_row::{NonZeros, SparseRow};
use std::ops::Range;
use std::sync::OnceLock;
pub(crate) use tiles::{POSITIONS, PanelBias, Patch, TileGrid, TileSlot, TileSlots, position_stride};
pub use triangles::Triangles;

/// Lanes of a vector; all widths are padded to a multiple of it.
pub const LANES: usize = 16;

/// The kernel that this process computes with, once it is settled.
static OF_PROCESS: OnceLock<Kernel> = OnceLock::new();

/// An instruction set to compute with. A value exists only if this processor has its instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Kernel(InstructionSet);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum InstructionSet {
    #[cfg(target_arch = "x86_64")]
    Avx512,
    #[cfg(target_arch = "x86_64")]
    Avx2,
    Portable,
}

impl Kernel {
    /// The kernel of this process: the chosen one, or the fastest that the processor can run.
    pub fn detect() -> Self {
        *OF_PROCESS.get_or_init(|| Self::available()[0])
    }

    /// Makes this the kernel of the process. All kernels give the same bits, so this only changes speed. Fails if the process
    /// already computes with another one.
    pub fn use_in_process(self) -> Result<(), NnError> {
        let used = *OF_PROCESS.get_or_init(|| self);
        if used == self { Ok(()) } else { Err(NnError::KernelInUse { used: used.name(), asked: self.name() }) }
    }

    /// All that this processor can run, fastest first; the last is the portable one.
    pub fn available() -> Vec<Self> {
        let mut kernels = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("fma")
            {
                kernels.push(Self(InstructionSet::Avx512));
            }
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                kernels.push(Self(InstructionSet::Avx2));
            }
        }
        kernels.push(Self(InstructionSet::Portable));
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
            InstructionSet::Avx512 => "avx512",
            #[cfg(target_arch = "x86_64")]
            InstructionSet::Avx2 => "avx2",
            InstructionSet::Portable => "portable",
        }
    }
}

/// Compiles each kernel three times, once per instruction set, with its instructions enabled.
macro_rules! for_every_instruction_set {
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

/// Calls the variant compiled for the instruction set of `kernel`.
macro_rules! dispatch {
    ($kernel:expr, $name:ident($($arg:expr),*)) => {
        // SAFETY: a `Kernel` exists only for instructions this processor has; the caller of the macro has checked the lengths.
        unsafe {
            match $kernel.0 {
                #[cfg(target_arch = "x86_64")]
                InstructionSet::Avx512 => avx512::$name($($arg),*),
                #[cfg(target_arch = "x86_64")]
                InstructionSet::Avx2 => avx2::$name($($arg),*),
                InstructionSet::Portable => portable::$name($($arg),*),
            }
        }
    };
}

// The macros above must precede the modules that use them.
mod elementwise;
mod gaussian;
mod lanes;
mod packing;
mod peak;
mod product;
mod sparse_row;
mod tiles;
mod transform;
mod triangles;
mod winograd;

for_every_instruction_set! {
    fn dot(x: &[f32], y: &[f32]) -> f32 = elementwise::dot;
    fn axpy(y: &mut [f32], alpha: f32, x: &[f32]) = elementwise::axpy;
    fn axpy_relu(y: &mut [f32], alpha: f32, x: &[f32]) = elementwise::axpy_relu;
    fn multiply(out: &mut [f32], x: &[f32], y: &[f32]) = elementwise::multiply;
    fn add_product(out: &mut [f32], x: &[f32], y: &[f32]) = elementwise::add_product;
    fn add(y: &mut [f32], x: &[f32]) = elementwise::add;
    fn scale(y: &mut [f32], alpha: f32) = elementwise::scale;
    fn relu(y: &mut [f32]) = elementwise::relu;
    fn relu_backward(d: &mut [f32], h: &[f32]) = elementwise::relu_backward;
    fn column_sums(sums: &mut [f32], d: &[f32], stride: usize) = elementwise::column_sums;
    fn adam(k: &AdamCoefficients, g: &[f32], p: &mut [f32], m: &mut [f32], v: &mut [f32]) = elementwise::adam;
    fn digests(out: &mut [u32], x: &[f32], width: usize) = packing::digests;
    fn has_same_bits(a: &[f32], b: &[f32]) -> bool = packing::has_same_bits;
    fn bytes_to_floats(out: &mut [f32], bytes: &[u8], factor: f32) = packing::bytes_to_floats;
    fn bytes_to_blocks(out: &mut [f32], bytes: &[u8], shape: (usize, usize), factor: f32) = packing::bytes_to_blocks;
    fn transpose(from: &[f32], to: &mut [f32], to_stride: usize) = packing::transpose;
    fn substitute(triangles: Triangles<'_>, x: &[f32], u: &mut [f32], u_stride: usize) = triangles::substitute;
    fn multiply_adds(rounds: u64, x: f32) -> (f32, u64) = peak::multiply_adds;
    fn fill_gaussian(out: &mut [f32], seed: u64, shape: NoiseShape) = gaussian::fill;
    fn product_store(source: Source<'_>, sink: Store<'_>) = product::product;
    fn product_adam(source: Source<'_>, sink: AdamUpdate<'_>) = product::product;
    fn sparse_row(row: SparseRow<'_>, c: &mut [f32], is_rectified: bool) = sparse_row::sparse_row;
    fn winograd_input(grid: &TileGrid, x: &[f32], tiles: TileSlots<'_>, v: &mut [f32]) = winograd::input;
    fn winograd_input_adjoint(grid: &TileGrid, v: &[f32], tiles: TileSlots<'_>, panel: usize, dx: &mut [f32]) = winograd::input_adjoint;
    fn winograd_output(grid: &TileGrid, m: &[f32], tiles: TileSlots<'_>, panel: PanelBias<'_>, y: &mut [f32]) = winograd::output;
    fn winograd_output_adjoint(grid: &TileGrid, dy: &[f32], tiles: TileSlots<'_>, w: &mut [f32]) = winograd::output_adjoint;
    fn winograd_filter(grid: &TileGrid, weights: &[f32], u: &mut [f32]) = winograd::filter;
    fn winograd_filter_transposed(grid: &TileGrid, weights: &[f32], panel: usize, u: &mut [f32]) = winograd::filter_transposed;
    fn winograd_filter_adjoint(grid: &TileGrid, u: &[f32], rows: Range<usize>, does_add: bool, weights: &mut [f32])
        = winograd::filter_adjoint;
}
