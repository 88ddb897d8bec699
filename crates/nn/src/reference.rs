//! Naive oracles in f64 with PyTorch's memory layouts, compiled for tests only: the definitions of what the engine computes.

use crate::conv::{ConvSpec, ImageShape};
use crate::params::{Layout, TensorId};

/// One tensor of a flat buffer in f64, PyTorch's order.
pub fn tensor(layout: &Layout, flat: &[f32], id: TensorId) -> Vec<f64> {
    layout.read(flat, id).into_iter().map(f64::from).collect()
}

/// max(0, x ∗ w + b): x `[C,H,W]`, w `[O,C,k,k]` → `[O,H',W']`, with the shape of the result.
pub fn conv_relu(x: &[f64], shape: ImageShape, w: &[f64], b: Option<&[f64]>, spec: ConvSpec) -> (Vec<f64>, ImageShape) {
    let ConvSpec { channels, kernel: k, stride } = spec;
    let out = ImageShape { channels, height: (shape.height - k) / stride + 1, width: (shape.width - k) / stride + 1 };
    let mut y = Vec::with_capacity(out.len());
    for o in 0..channels {
        for oy in 0..out.height {
            for ox in 0..out.width {
                let mut sum = b.map_or(0.0, |b| b[o]);
                for c in 0..shape.channels {
                    for ky in 0..k {
                        for kx in 0..k {
                            let pixel = x[(c * shape.height + oy * stride + ky) * shape.width + ox * stride + kx];
                            sum += pixel * w[((o * shape.channels + c) * k + ky) * k + kx];
                        }
                    }
                }
                y.push(sum.max(0.0));
            }
        }
    }
    (y, out)
}

/// x·Wᵀ + b for one row: w `[O,I]`.
pub fn dense(x: &[f64], w: &[f64], b: Option<&[f64]>) -> Vec<f64> {
    w.chunks(x.len())
        .enumerate()
        .map(|(o, row)| b.map_or(0.0, |b| b[o]) + row.iter().zip(x).map(|(w, x)| w * x).sum::<f64>())
        .collect()
}

/// Central difference of `f` in coordinate `i` of `at`.
pub fn slope(f: &dyn Fn(&[f64]) -> f64, at: &[f64], i: usize) -> f64 {
    let step = 1e-6;
    let mut moved = at.to_vec();
    moved[i] += step;
    let above = f(&moved);
    moved[i] -= 2.0 * step;
    (above - f(&moved)) / (2.0 * step)
}

/// The one-sided slope of a piecewise linear `f` in coordinate `i` of `at` that is closer to `found`: where a ReLU has its kink
/// inside the step the two sides differ, and either is a subgradient.
pub fn slope_near(found: f32, f: &dyn Fn(&[f64]) -> f64, at: &[f64], i: usize) -> f64 {
    let step = 1e-6;
    let here = f(at);
    let [above, below] = [step, -step].map(|step| {
        let mut moved = at.to_vec();
        moved[i] += step;
        (f(&moved) - here) / step
    });
    let distance = |slope: f64| (slope - f64::from(found)).abs();
    if distance(above) < distance(below) { above } else { below }
}

/// Reproducible numbers in [0, 1).
pub fn uniform(seed: u64) -> impl FnMut() -> f64 {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// `n` reproducible numbers in [−1, 1).
pub fn numbers(n: usize, seed: u64) -> Vec<f32> {
    let mut next = uniform(seed);
    (0..n).map(|_| (2.0 * next() - 1.0) as f32).collect()
}

/// Fails unless `found` is within `tolerance` of `expected`, relative to the larger of 1 and their size.
pub fn assert_close(found: f32, expected: f64, tolerance: f64, what: &str) {
    let allowed = tolerance * expected.abs().max(1.0);
    assert!((f64::from(found) - expected).abs() <= allowed, "{what}: {found} where the definition gives {expected}");
}
