//! Vector arithmetic: each operation equals its scalar definition on every kernel and at every length.

use sane_nn::{AdamCoefficients, Kernel, Matrix, Triangles};

fn numbers(n: usize, seed: u64) -> Vec<f32> {
    let mut out = vec![0.0; n];
    Kernel::detect().fill_normal(&mut out, seed);
    out
}

/// `found` and `expected`, element by element, to a few roundings of numbers near one.
fn assert_near(found: &[f32], expected: impl Iterator<Item = f32>, what: &str) {
    for (found, expected) in found.iter().zip(expected) {
        assert!((found - expected).abs() <= 2e-6 * expected.abs().max(1.0), "{what}: {found} is not {expected}");
    }
}

#[test]
fn elementwise_kernels_equal_their_definitions() {
    for kernel in Kernel::available() {
        for n in [1, 15, 16, 17, 64, 100] {
            let (x, y, z) = (numbers(n, 1), numbers(n, 2), numbers(n, 3));
            let apply = |f: &dyn Fn(&mut [f32])| {
                let mut out = z.clone();
                f(&mut out);
                out
            };
            assert_near(&apply(&|z| kernel.axpy(z, 0.7, &x)), (0..n).map(|i| z[i] + 0.7 * x[i]), "axpy");
            assert_near(
                &apply(&|z| kernel.axpy_relu(z, 0.7, &x)),
                (0..n).map(|i| (z[i] + 0.7 * x[i]).max(0.0)),
                "axpy_relu",
            );
            assert_near(&apply(&|z| kernel.multiply(z, &x, &y)), (0..n).map(|i| x[i] * y[i]), "multiply");
            assert_near(&apply(&|z| kernel.add_product(z, &x, &y)), (0..n).map(|i| z[i] + x[i] * y[i]), "add_product");
            assert_near(&apply(&|z| kernel.add(z, &x)), (0..n).map(|i| z[i] + x[i]), "add");
            assert_near(&apply(&|z| kernel.scale(z, -2.0)), (0..n).map(|i| -2.0 * z[i]), "scale");
            assert_near(&apply(&|z| kernel.relu(z)), (0..n).map(|i| z[i].max(0.0)), "relu");
            assert_near(
                &apply(&|z| kernel.relu_backward(z, &x)),
                (0..n).map(|i| if 0.0 < x[i] { z[i] } else { 0.0 }),
                "relu_backward",
            );
            assert_near(
                &apply(&|z| kernel.add_column_sums(z, &[x.clone(), y.clone()].concat(), n)),
                (0..n).map(|i| z[i] + x[i] + y[i]),
                "sums",
            );
            let dot: f64 = x.iter().zip(&y).map(|(x, y)| f64::from(*x) * f64::from(*y)).sum();
            assert!((f64::from(kernel.dot(&x, &y)) - dot).abs() < 1e-4, "dot of {n}");
        }
    }
}

#[test]
fn substitution_solves_every_triangle_with_the_bits_of_one_row_after_the_other() {
    let count = 3;
    for width in [1, 2, 15, 16, 17, 63, 64, 65, 130, 512] {
        let below = Triangles::below_diagonal(width);
        let (lower, x) = (numbers(count * below, 1), numbers(width, 2));
        let diagonal: Vec<f32> = numbers(count * width, 3).iter().map(|value| 10.0 + value.abs()).collect();
        let mut found = Matrix::zeros(count, width);
        // What an earlier substitution has left does not count.
        (0..count).for_each(|t| found.row_mut(t).fill(7.0));
        for kernel in Kernel::available() {
            kernel.substitute(Triangles { width, diagonal: &diagonal, lower: &lower }, &x, &mut found);
            for t in 0..count {
                let (mut u, mut rows) = (vec![0.0; width], &lower[t * below..]);
                for i in 0..width {
                    let (row, rest) = rows.split_at(i);
                    u[i] = (x[i] - kernel.dot(row, &u[..i])) / diagonal[t * width + i];
                    rows = rest;
                    let product: f64 = row.iter().zip(&u).map(|(l, u)| f64::from(*l) * f64::from(*u)).sum();
                    let solved = product + f64::from(diagonal[t * width + i]) * f64::from(u[i]);
                    assert!((solved - f64::from(x[i])).abs() < 1e-4, "width {width}, row {i} of {t}");
                }
                assert_eq!(found.row(t), u, "width {width}, triangle {t}, {}", kernel.name());
                assert!(found.padded_row(t)[width..].iter().all(|padding| *padding == 0.0));
            }
        }
    }
}

#[test]
fn bytes_become_scaled_floats() {
    for kernel in Kernel::available() {
        let bytes: Vec<u8> = (0..=255).collect();
        let mut out = vec![0.0; 256];
        kernel.bytes_to_floats(&mut out, &bytes, 1.0 / 255.0);
        assert_near(&out, bytes.iter().map(|&byte| f32::from(byte) / 255.0), "bytes");
    }
}

#[test]
fn a_nan_survives_relu_and_dot() {
    for kernel in Kernel::available() {
        let mut x = vec![-1.0, f32::NAN, 2.0];
        kernel.relu(&mut x);
        assert!(x[0] == 0.0 && x[1].is_nan() && x[2] == 2.0);
        assert!(kernel.dot(&x, &x).is_nan());
    }
}

/// Adam as PyTorch documents it, in f64.
#[test]
fn one_adam_step_equals_its_definition() {
    let n = 37;
    let (g, p, m) = (numbers(n, 4), numbers(n, 5), numbers(n, 6));
    let v: Vec<f32> = numbers(n, 7).iter().map(|x| x * x).collect();
    let (beta1, beta2, rate, root_correction, epsilon, gradient_scale) = (0.9, 0.999, 0.01, 1.5, 1.5e-4, 0.5);
    let k = AdamCoefficients { beta1, beta2, rate, root_correction, epsilon, gradient_scale };
    for kernel in Kernel::available() {
        let (mut new_p, mut new_m, mut new_v) = (p.clone(), m.clone(), v.clone());
        kernel.adam(&k, &g, &mut new_p, &mut new_m, &mut new_v);
        let moments: Vec<(f32, f32)> =
            (0..n).map(|i| (0.9 * m[i] + 0.1 * (0.5 * g[i]), 0.999 * v[i] + 0.001 * (0.5 * g[i]).powi(2))).collect();
        assert_near(&new_m, moments.iter().map(|moment| moment.0), "m");
        assert_near(&new_v, moments.iter().map(|moment| moment.1), "v");
        let expected = moments.iter().enumerate().map(|(i, (m, v))| p[i] - 0.01 * m / (v.sqrt() * 1.5 + 1.5e-4));
        assert_near(&new_p, expected, "p");
    }
}

#[test]
fn an_unknown_kernel_is_rejected_with_a_list_of_the_available_ones() {
    let error = Kernel::named("neon2").unwrap_err().to_string();
    assert!(error.contains("neon2") && error.contains("portable"), "{error}");
}
