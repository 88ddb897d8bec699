//! Data on its way from one order to another, and whether it is the same.
//!
//! # Safety
//! All functions need a processor with the instructions of `V`; the parent module has checked the lengths.

use super::lanes::Lanes;

#[inline(always)]
pub(crate) unsafe fn digests<V: Lanes>(out: &mut [u32], x: &[f32], width: usize) {
    for (digest, x) in out.iter_mut().zip(x.chunks_exact(width)) {
        // Every lane begins elsewhere, so that values which change places change the sum.
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
pub(crate) unsafe fn has_same_bits<V: Lanes>(a: &[f32], b: &[f32]) -> bool {
    a.iter().zip(b).fold(0, |other, (a, b)| other | (a.to_bits() ^ b.to_bits())) == 0
}

#[inline(always)]
pub(crate) unsafe fn bytes_to_floats<V: Lanes>(out: &mut [f32], bytes: &[u8], factor: f32) {
    for (out_i, &byte) in out.iter_mut().zip(bytes) {
        *out_i = f32::from(byte) * factor;
    }
}

/// `side` rows of bytes, cut into squares of `side` × `side`: each as floats and times `factor` to a place of its own, `apart`
/// floats from the one before.
#[inline(always)]
pub(crate) unsafe fn bytes_to_blocks<V: Lanes>(
    out: &mut [f32],
    bytes: &[u8],
    (side, apart): (usize, usize),
    factor: f32,
) {
    match side {
        2 => squares_of::<2, 4>(out, bytes, apart, factor),
        4 => squares_of::<4, 16>(out, bytes, apart, factor),
        _ => {
            for (y, row) in bytes.chunks_exact(bytes.len() / side).enumerate() {
                for (piece, out) in row.chunks_exact(side).zip(out.chunks_mut(apart)) {
                    for (out_i, &byte) in out[y * side..].iter_mut().zip(piece) {
                        *out_i = f32::from(byte) * factor;
                    }
                }
            }
        }
    }
}

/// The same for a side that the compiler knows: a square is put together as bytes, then becomes floats all at once.
#[inline(always)]
fn squares_of<const SIDE: usize, const AREA: usize>(out: &mut [f32], bytes: &[u8], apart: usize, factor: f32) {
    let width = bytes.len() / SIDE;
    let rows: [&[[u8; SIDE]]; SIDE] = std::array::from_fn(|y| bytes[y * width..(y + 1) * width].as_chunks().0);
    for (n, out) in out.chunks_mut(apart).take(width / SIDE).enumerate() {
        let mut square = [0; AREA];
        for (row, piece) in rows.iter().zip(square.as_chunks_mut::<SIDE>().0) {
            *piece = row[n];
        }
        out[..AREA].copy_from_slice(&square.map(|byte| f32::from(byte) * factor));
    }
}

/// `to[j·to_stride + i] = from[i·16 + j]`, in blocks of 16 × 16.
#[inline(always)]
pub(crate) unsafe fn transpose<V: Lanes>(from: &[f32], to: &mut [f32], to_stride: usize) {
    for block in 0..from.len() / 256 {
        // SAFETY: the parent module has checked that all blocks lie inside both slices.
        unsafe { V::transpose(from.as_ptr().add(block * 256), to.as_mut_ptr().add(block * 16), to_stride) };
    }
}
