//! Vector arithmetic: elementwise operations, reductions in a fixed order, Adam.
//!
//! Sums run in sixteen lanes, element `i` in lane `i % 16`, and the lanes are added as a fixed tree; a last, shorter piece is
//! padded with zeros. So the order of a sum depends on its length alone.

use super::lanes::Lanes;
use super::*;

/// Constants of one optimiser step t.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AdamCoefficients {
    pub beta1: f32,
    pub beta2: f32,
    /// Learning rate divided by 1 − β₁ᵗ.
    pub rate: f32,
    /// 1 / √(1 − β₂ᵗ).
    pub root_correction: f32,
    pub epsilon: f32,
    /// Factor on every gradient: 1, or less when the global norm is clipped.
    pub gradient_scale: f32,
}

/// Asserts that all slices have the same length.
macro_rules! same_length {
    ($what:literal, $first:expr, $($other:expr),+) => {
        $(assert_eq!($first.len(), $other.len(), concat!($what, ": lengths differ"));)+
    };
}

/// Vector arithmetic. The slices of one call have equal lengths; multiples of 16 are fastest.
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
        dispatch!(self, relu_backward(d, h))
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
}

/// Sixteen values of `x` from `i` on, padded with zeros at its end.
///
/// # Safety
/// The processor has the instructions of `V`; `i` is below `x.len()`.
#[inline(always)]
unsafe fn load_piece<V: Lanes>(x: &[f32], i: usize) -> V {
    // SAFETY: a full piece lies inside `x`; a short one is copied into a full array first.
    unsafe {
        if i + 16 <= x.len() {
            V::load(x.as_ptr().add(i))
        } else {
            let mut last = [0.0; 16];
            last[..x.len() - i].copy_from_slice(&x[i..]);
            V::load(last.as_ptr())
        }
    }
}

/// Writes the lanes of `v` that lie inside `x`, from `i` on.
///
/// # Safety
/// As for [`load_piece`].
#[inline(always)]
unsafe fn store_piece<V: Lanes>(x: &mut [f32], i: usize, v: V) {
    // SAFETY: a full piece lies inside `x`; a short one goes through a full array.
    unsafe {
        if i + 16 <= x.len() {
            v.store(x.as_mut_ptr().add(i));
        } else {
            let mut last = [0.0; 16];
            v.store(last.as_mut_ptr());
            let count = x.len() - i;
            x[i..].copy_from_slice(&last[..count]);
        }
    }
}

/// The lanes added as a tree: l with l + 8, then l + 4, l + 2, l + 1.
#[inline(always)]
pub(super) unsafe fn tree_sum<V: Lanes>(v: V) -> f32 {
    let mut lanes = [0.0_f32; 16];
    // SAFETY: a local array of sixteen floats.
    unsafe { v.store(lanes.as_mut_ptr()) };
    for half in [8, 4, 2, 1] {
        for l in 0..half {
            lanes[l] += lanes[l + half];
        }
    }
    lanes[0]
}

// SAFETY of every block below: the caller's contract is that the processor has the instructions of `V` and that the slices
// have equal lengths (checked by the methods above); `load_piece` and `store_piece` are called with indices below those lengths.

#[inline(always)]
pub(super) unsafe fn dot<V: Lanes>(x: &[f32], y: &[f32]) -> f32 {
    // SAFETY: the caller's contract, as stated above; both have the length that is summed over.
    unsafe { sum_of_products::<V>(x.len(), |i| (load_piece(x, i), load_piece(y, i)), x, y) }
}

/// Σ xᵢ yᵢ over the first `n`, with the bits of [`dot`] of so many if `y` is 0 behind them; whole pieces are read.
///
/// # Safety
/// The processor has the instructions of `V`; both slices reach to the next multiple of 16 behind `n`.
#[inline(always)]
pub(super) unsafe fn dot_of_first<V: Lanes>(n: usize, x: &[f32], y: &[f32]) -> f32 {
    // SAFETY: the caller's contract; pieces begin below `n`, so that they end within both slices.
    unsafe { sum_of_products::<V>(n, |i| (V::load(x.as_ptr().add(i)), V::load(y.as_ptr().add(i))), x, y) }
}

/// Σ xᵢ yᵢ over the first `n` of both; `piece` gives the sixteen from an index on, of which fewer may be left.
///
/// # Safety
/// The processor has the instructions of `V`; both slices hold at least `n`.
#[inline(always)]
unsafe fn sum_of_products<V: Lanes>(n: usize, piece: impl Fn(usize) -> (V, V), x: &[f32], y: &[f32]) -> f32 {
    // SAFETY: the caller's contract; blocks of 64 are read where they end at `n` or before.
    unsafe {
        let mut sums = [V::splat(0.0); 4];
        let mut i = 0;
        while i + 64 <= n {
            for (j, sum) in sums.iter_mut().enumerate() {
                *sum = sum.fma(V::load(x.as_ptr().add(i + 16 * j)), V::load(y.as_ptr().add(i + 16 * j)));
            }
            i += 64;
        }
        while i < n {
            let (x, y) = piece(i);
            sums[0] = sums[0].fma(x, y);
            i += 16;
        }
        tree_sum(sums[0].add(sums[1]).add(sums[2].add(sums[3])))
    }
}

macro_rules! each_piece {
    ($y:ident, $i:ident => $value:expr) => {{
        let mut $i = 0;
        while $i < $y.len() {
            let value = $value;
            store_piece($y, $i, value);
            $i += 16;
        }
    }};
}

#[inline(always)]
pub(super) unsafe fn axpy<V: Lanes>(y: &mut [f32], alpha: f32, x: &[f32]) {
    // SAFETY: the caller's contract, as stated above; indices stay below the lengths.
    unsafe {
        let alpha = V::splat(alpha);
        each_piece!(y, i => load_piece::<V>(y, i).fma(alpha, load_piece(x, i)));
    }
}

#[inline(always)]
pub(super) unsafe fn axpy_relu<V: Lanes>(y: &mut [f32], alpha: f32, x: &[f32]) {
    // SAFETY: the caller's contract, as stated above; indices stay below the lengths.
    unsafe {
        let alpha = V::splat(alpha);
        each_piece!(y, i => load_piece::<V>(y, i).fma(alpha, load_piece(x, i)).relu());
    }
}

#[inline(always)]
pub(super) unsafe fn multiply<V: Lanes>(out: &mut [f32], x: &[f32], y: &[f32]) {
    // SAFETY: the caller's contract, as stated above; indices stay below the lengths.
    unsafe { each_piece!(out, i => load_piece::<V>(x, i).mul(load_piece(y, i))) }
}

#[inline(always)]
pub(super) unsafe fn add_product<V: Lanes>(out: &mut [f32], x: &[f32], y: &[f32]) {
    unsafe { each_piece!(out, i => load_piece::<V>(out, i).fma(load_piece(x, i), load_piece(y, i))) }
}

#[inline(always)]
pub(super) unsafe fn relu<V: Lanes>(y: &mut [f32]) {
    // SAFETY: the caller's contract, as stated above; indices stay below the lengths.
    unsafe { each_piece!(y, i => load_piece::<V>(y, i).relu()) }
}

#[inline(always)]
pub(super) unsafe fn relu_backward<V: Lanes>(d: &mut [f32], h: &[f32]) {
    unsafe { each_piece!(d, i => load_piece::<V>(d, i).where_positive(load_piece(h, i))) }
}

#[inline(always)]
pub(super) unsafe fn scale<V: Lanes>(y: &mut [f32], alpha: f32) {
    // SAFETY: the caller's contract, as stated above; indices stay below the lengths.
    unsafe {
        let alpha = V::splat(alpha);
        each_piece!(y, i => load_piece::<V>(y, i).mul(alpha));
    }
}

#[inline(always)]
pub(super) unsafe fn add<V: Lanes>(y: &mut [f32], x: &[f32]) {
    // SAFETY: the caller's contract, as stated above; indices stay below the lengths.
    unsafe { each_piece!(y, i => load_piece::<V>(y, i).add(load_piece(x, i))) }
}

#[inline(always)]
pub(super) unsafe fn column_sums<V: Lanes>(sums: &mut [f32], d: &[f32], stride: usize) {
    // SAFETY: the caller's contract, as stated above; indices stay below the lengths.
    unsafe {
        let rows = d.len() / stride;
        each_piece!(sums, j => {
            let mut sum = load_piece::<V>(sums, j);
            for r in 0..rows {
                sum = sum.add(load_piece(&d[r * stride..(r + 1) * stride], j));
            }
            sum
        });
    }
}

/// One Adam step on sixteen parameters:
///
/// ```text
/// m ← β₁ m + (1 − β₁) g      v ← β₂ v + (1 − β₂) g²      p ← p − rate · m / (√v · root_correction + ε)
/// ```
///
/// # Safety
/// The processor has the instructions of `V`; sixteen floats are accessible at `p`, `m` and `v`.
#[inline(always)]
pub(super) unsafe fn adam_lanes<V: Lanes>(k: &AdamCoefficients, g: V, p: V, m: V, v: V) -> (V, V, V) {
    // SAFETY: the caller's contract, as stated above; indices stay below the lengths.
    unsafe {
        let g = g.mul(V::splat(k.gradient_scale));
        let m = m.mul(V::splat(k.beta1)).fma(g, V::splat(1.0 - k.beta1));
        let v = v.mul(V::splat(k.beta2)).fma(g.mul(g), V::splat(1.0 - k.beta2));
        let denominator = V::splat(k.epsilon).fma(v.sqrt(), V::splat(k.root_correction));
        (p.fma(m.div(denominator), V::splat(-k.rate)), m, v)
    }
}

#[inline(always)]
pub(super) unsafe fn adam<V: Lanes>(k: &AdamCoefficients, g: &[f32], p: &mut [f32], m: &mut [f32], v: &mut [f32]) {
    // SAFETY: the caller's contract, as stated above; indices stay below the lengths.
    unsafe {
        let mut i = 0;
        while i < g.len() {
            let (new_p, new_m, new_v) =
                adam_lanes::<V>(k, load_piece(g, i), load_piece(p, i), load_piece(m, i), load_piece(v, i));
            store_piece(p, i, new_p);
            store_piece(m, i, new_m);
            store_piece(v, i, new_v);
            i += 16;
        }
    }
}
