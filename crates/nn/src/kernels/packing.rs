//! Conversions between the memory orders of layers, and comparison of bits.
//!
//! The unsafe functions need a processor with the instructions of `V`; the methods of [`Kernel`] above them check the lengths.

use super::lanes::Lanes;
use super::*;

impl Kernel {
    /// out ← factor · bytes.
    pub fn bytes_to_floats(self, out: &mut [f32], bytes: &[u8], factor: f32) {
        assert_eq!(out.len(), bytes.len(), "bytes_to_floats: lengths differ");
        dispatch!(self, bytes_to_floats(out, bytes, factor))
    }

    /// out[square · stride + y · side + x] ← factor · bytes[y][square · side + x] for x, y < side, for every whole square of
    /// `side` rows of bytes.
    pub(crate) fn bytes_to_blocks(self, out: &mut [f32], bytes: &[u8], (side, stride): (usize, usize), factor: f32) {
        dispatch!(self, bytes_to_blocks(out, bytes, (side, stride), factor))
    }

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

    /// out[i] ← a hash of the bits of floats i·width .. (i + 1)·width of `x`; `width` is a multiple of sixteen.
    pub(crate) fn digests(self, out: &mut [u32], x: &[f32], width: usize) {
        assert!(x.len() == out.len() * width && width.is_multiple_of(LANES), "digests: {} runs of {width}", out.len());
        dispatch!(self, digests(out, x, width))
    }

    /// Whether both slices have the same bits.
    pub(crate) fn has_same_bits(self, a: &[f32], b: &[f32]) -> bool {
        a.len() == b.len() && dispatch!(self, has_same_bits(a, b))
    }
}

#[inline(always)]
pub(super) unsafe fn digests<V: Lanes>(out: &mut [u32], x: &[f32], width: usize) {
    for (digest, x) in out.iter_mut().zip(x.chunks_exact(width)) {
        // Lanes start at different values, so that permuted values change the sum.
        let mut lanes: [u32; 16] = std::array::from_fn(|lane| lane as u32 * 0x9e37_79b9);
        for x in x.chunks_exact(16) {
            for (lane, value) in lanes.iter_mut().zip(x) {
                *lane = (*lane ^ value.to_bits()).wrapping_mul(0x85eb_ca6b);
            }
        }
        *digest = lanes.iter().fold(0, |sum, &lane| sum.wrapping_add(lane));
    }
}

#[inline(always)]
pub(super) unsafe fn has_same_bits<V: Lanes>(a: &[f32], b: &[f32]) -> bool {
    a.iter().zip(b).fold(0, |other, (a, b)| other | (a.to_bits() ^ b.to_bits())) == 0
}

#[inline(always)]
pub(super) unsafe fn bytes_to_floats<V: Lanes>(out: &mut [f32], bytes: &[u8], factor: f32) {
    for (out_i, &byte) in out.iter_mut().zip(bytes) {
        *out_i = f32::from(byte) * factor;
    }
}

#[inline(always)]
pub(super) unsafe fn bytes_to_blocks<V: Lanes>(
    out: &mut [f32],
    bytes: &[u8],
    (side, stride): (usize, usize),
    factor: f32,
) {
    match side {
        2 => squares_of::<2, 4>(out, bytes, stride, factor),
        4 => squares_of::<4, 16>(out, bytes, stride, factor),
        _ => {
            for (y, row) in bytes.chunks_exact(bytes.len() / side).enumerate() {
                for (piece, out) in row.chunks_exact(side).zip(out.chunks_mut(stride)) {
                    for (out_i, &byte) in out[y * side..].iter_mut().zip(piece) {
                        *out_i = f32::from(byte) * factor;
                    }
                }
            }
        }
    }
}

/// The same for a side known at compile time: a square is gathered as bytes, then converted to floats at once.
#[inline(always)]
fn squares_of<const SIDE: usize, const AREA: usize>(out: &mut [f32], bytes: &[u8], stride: usize, factor: f32) {
    let width = bytes.len() / SIDE;
    let rows: [&[[u8; SIDE]]; SIDE] = std::array::from_fn(|y| bytes[y * width..(y + 1) * width].as_chunks().0);
    for (n, out) in out.chunks_mut(stride).take(width / SIDE).enumerate() {
        let mut square = [0; AREA];
        for (row, piece) in rows.iter().zip(square.as_chunks_mut::<SIDE>().0) {
            *piece = row[n];
        }
        out[..AREA].copy_from_slice(&square.map(|byte| f32::from(byte) * factor));
    }
}

#[inline(always)]
pub(super) unsafe fn transpose<V: Lanes>(from: &[f32], to: &mut [f32], to_stride: usize) {
    for block in 0..from.len() / 256 {
        // SAFETY: `Kernel::transpose` has checked that all blocks lie inside both slices.
        unsafe { V::transpose(from.as_ptr().add(block * 256), to.as_mut_ptr().add(block * 16), to_stride) };
    }
}
