//! Kernels that visit each element once: vector arithmetic, reductions in a fixed order, Adam.
//!
//! Sums run in sixteen lanes, element `i` in lane `i % 16`, and the lanes are added as a fixed tree; a last, shorter piece is
//! padded with zeros. So the order of a sum depends on its length alone.

use super::lanes::Lanes;

/// What one optimiser step needs to know of its constants.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AdamCoefficients {
    /// β₁.
    pub beta1: f32,
    /// β₂.
    pub beta2: f32,
    /// Learning rate divided by 1 − β₁ᵗ.
    pub rate: f32,
    /// 1 / √(1 − β₂ᵗ).
    pub root_correction: f32,
    /// ε.
    pub epsilon: f32,
    /// Factor on every gradient: 1, or less when the global norm is clipped.
    pub gradient_scale: f32,
}

/// Sixteen values of `x` from `i` on, zeros behind its end.
///
/// # Safety
/// The processor has the instructions of `V`; `i` is below `x.len()`.
#[inline(always)]
unsafe fn piece<V: Lanes>(x: &[f32], i: usize) -> V {
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
/// As for [`piece`].
#[inline(always)]
unsafe fn put<V: Lanes>(x: &mut [f32], i: usize, v: V) {
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
unsafe fn tree_sum<V: Lanes>(v: V) -> f32 {
    let mut lanes = [0.0_f32; 16];
    // SAFETY: sixteen floats of our own.
    unsafe { v.store(lanes.as_mut_ptr()) };
    for half in [8, 4, 2, 1] {
        for l in 0..half {
            lanes[l] += lanes[l + half];
        }
    }
    lanes[0]
}

// SAFETY of every block below: the caller's contract is that the processor has the instructions of `V` and that the slices
// have equal lengths (checked by the parent module); `piece` and `put` are called with indices below those lengths.

#[inline(always)]
pub(crate) unsafe fn dot<V: Lanes>(x: &[f32], y: &[f32]) -> f32 {
    // SAFETY: the caller's contract, as stated above; indices stay below the lengths.
    unsafe {
        let mut sums = [V::splat(0.0); 4];
        let mut i = 0;
        while i + 64 <= x.len() {
            for (j, sum) in sums.iter_mut().enumerate() {
                *sum = sum.fma(V::load(x.as_ptr().add(i + 16 * j)), V::load(y.as_ptr().add(i + 16 * j)));
            }
            i += 64;
        }
        while i < x.len() {
            sums[0] = sums[0].fma(piece(x, i), piece(y, i));
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
            put($y, $i, value);
            $i += 16;
        }
    }};
}

#[inline(always)]
pub(crate) unsafe fn axpy<V: Lanes>(y: &mut [f32], alpha: f32, x: &[f32]) {
    // SAFETY: the caller's contract, as stated above; indices stay below the lengths.
    unsafe {
        let alpha = V::splat(alpha);
        each_piece!(y, i => piece::<V>(y, i).fma(alpha, piece(x, i)));
    }
}

#[inline(always)]
pub(crate) unsafe fn axpy_relu<V: Lanes>(y: &mut [f32], alpha: f32, x: &[f32]) {
    // SAFETY: the caller's contract, as stated above; indices stay below the lengths.
    unsafe {
        let alpha = V::splat(alpha);
        each_piece!(y, i => piece::<V>(y, i).fma(alpha, piece(x, i)).relu());
    }
}

#[inline(always)]
pub(crate) unsafe fn multiply<V: Lanes>(out: &mut [f32], x: &[f32], y: &[f32]) {
    // SAFETY: the caller's contract, as stated above; indices stay below the lengths.
    unsafe { each_piece!(out, i => piece::<V>(x, i).mul(piece(y, i))) }
}

#[inline(always)]
pub(crate) unsafe fn add_product<V: Lanes>(out: &mut [f32], x: &[f32], y: &[f32]) {
    unsafe { each_piece!(out, i => piece::<V>(out, i).fma(piece(x, i), piece(y, i))) }
}

#[inline(always)]
pub(crate) unsafe fn relu<V: Lanes>(y: &mut [f32]) {
    // SAFETY: the caller's contract, as stated above; indices stay below the lengths.
    unsafe { each_piece!(y, i => piece::<V>(y, i).relu()) }
}

#[inline(always)]
pub(crate) unsafe fn mask<V: Lanes>(d: &mut [f32], h: &[f32]) {
    unsafe { each_piece!(d, i => piece::<V>(d, i).where_positive(piece(h, i))) }
}

#[inline(always)]
pub(crate) unsafe fn scale<V: Lanes>(y: &mut [f32], alpha: f32) {
    // SAFETY: the caller's contract, as stated above; indices stay below the lengths.
    unsafe {
        let alpha = V::splat(alpha);
        each_piece!(y, i => piece::<V>(y, i).mul(alpha));
    }
}

#[inline(always)]
pub(crate) unsafe fn add<V: Lanes>(y: &mut [f32], x: &[f32]) {
    // SAFETY: the caller's contract, as stated above; indices stay below the lengths.
    unsafe { each_piece!(y, i => piece::<V>(y, i).add(piece(x, i))) }
}

/// `sums[j] (+)= Σ_r d[r·stride + j]`, row after row.
#[inline(always)]
pub(crate) unsafe fn column_sums<V: Lanes>(sums: &mut [f32], d: &[f32], stride: usize) {
    // SAFETY: the caller's contract, as stated above; indices stay below the lengths.
    unsafe {
        let rows = d.len() / stride;
        each_piece!(sums, j => {
            let mut sum = piece::<V>(sums, j);
            for r in 0..rows {
                sum = sum.add(piece(&d[r * stride..(r + 1) * stride], j));
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
pub(crate) unsafe fn adam_lanes<V: Lanes>(k: &AdamCoefficients, g: V, p: V, m: V, v: V) -> (V, V, V) {
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
pub(crate) unsafe fn adam<V: Lanes>(k: &AdamCoefficients, g: &[f32], p: &mut [f32], m: &mut [f32], v: &mut [f32]) {
    // SAFETY: the caller's contract, as stated above; indices stay below the lengths.
    unsafe {
        let mut i = 0;
        while i < g.len() {
            let (new_p, new_m, new_v) = adam_lanes::<V>(k, piece(g, i), piece(p, i), piece(m, i), piece(v, i));
            put(p, i, new_p);
            put(m, i, new_m);
            put(v, i, new_v);
            i += 16;
        }
    }
}

/// `rounds` rounds of independent multiply-adds on as many registers as a tile accumulates in; the result keeps them alive.
#[inline(always)]
pub(crate) unsafe fn multiply_adds<V: Lanes>(rounds: u64, x: f32) -> f32 {
    // SAFETY: the caller's contract.
    unsafe {
        match V::TILE_ROWS {
            ..6 => chains::<V, 2>(rounds, x),
            6..12 => chains::<V, 6>(rounds, x),
            _ => chains::<V, 12>(rounds, x),
        }
    }
}

/// Floating-point operations of one round of [`multiply_adds`].
///
/// # Safety
/// None; it is called like its neighbours.
pub(crate) unsafe fn flop_per_round_on<V: Lanes>() -> u64 {
    let chains = match V::TILE_ROWS {
        ..6 => 2,
        6..12 => 6,
        _ => 12,
    };
    chains * 16 * 2
}

#[inline(always)]
unsafe fn chains<V: Lanes, const N: usize>(rounds: u64, x: f32) -> f32 {
    // SAFETY: the caller's contract.
    unsafe {
        let (factor, mut sums) = (V::splat(x), [V::splat(x); N]);
        for _ in 0..rounds {
            for sum in &mut sums {
                *sum = factor.fma(*sum, factor);
            }
        }
        let mut total = sums[0];
        for &sum in &sums[1..] {
            total = total.add(sum);
        }
        tree_sum(total)
    }
}
