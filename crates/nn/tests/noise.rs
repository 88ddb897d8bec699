//! The noise stream: its moments, its independence, and the same bits on every kernel.

use sane_nn::Kernel;

const COUNT: usize = 1 << 20;

fn normals(seed: u64) -> Vec<f32> {
    let mut out = vec![0.0; COUNT];
    Kernel::detect().fill_normal(&mut out, seed);
    out
}

fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (sum, count) = values.fold((0.0, 0_u64), |(sum, count), value| (sum + value, count + 1));
    sum / count as f64
}

/// Standard errors of the mean of n draws are 1/√n, √2/√n, √15/√n, √96/√n; the bounds are five of them.
#[test]
fn normal_numbers_have_the_moments_of_a_normal_distribution() {
    let x = normals(1);
    for (power, expected, spread) in
        [(1, 0.0, 1.0), (2, 1.0, 2.0_f64.sqrt()), (3, 0.0, 15.0_f64.sqrt()), (4, 3.0, 96.0_f64.sqrt())]
    {
        let moment = mean(x.iter().map(|&x| f64::from(x).powi(power)));
        assert!((moment - expected).abs() < 5.0 * spread / (COUNT as f64).sqrt(), "moment {power} is {moment}");
    }
}

/// P(|x| < 1) = 0.682689, P(|x| < 2) = 0.954500, P(|x| < 3) = 0.997300.
#[test]
fn normal_numbers_have_the_tails_of_a_normal_distribution() {
    let x = normals(2);
    for (bound, expected) in [(1.0, 0.682_689), (2.0, 0.954_500), (3.0, 0.997_300)] {
        let share = mean(x.iter().map(|&x| if x.abs() < bound { 1.0 } else { 0.0 }));
        assert!((share - expected).abs() < 0.0025, "share within {bound} is {share}");
    }
}

#[test]
fn z_is_the_signed_root_of_the_normal_stream() {
    let kernel = Kernel::detect();
    let (mut x, mut z) = (vec![0.0; 1000], vec![0.0; 1000]);
    kernel.fill_normal(&mut x, 9);
    kernel.fill_z(&mut z, 9);
    for (x, z) in x.iter().zip(&z) {
        assert_eq!(*z, x.signum() * x.abs().sqrt());
    }
}

#[test]
fn neighbours_and_neighbouring_seeds_are_uncorrelated() {
    let (x, y) = (normals(3), normals(4));
    let bound = 5.0 / (COUNT as f64).sqrt();
    for lag in [1, 2, 16, 32] {
        let correlation = mean(x.iter().zip(&x[lag..]).map(|(a, b)| f64::from(a * b)));
        assert!(correlation.abs() < bound, "lag {lag}: {correlation}");
        let squares =
            mean(x.iter().zip(&x[lag..]).map(|(a, b)| (f64::from(*a).powi(2) - 1.0) * (f64::from(*b).powi(2) - 1.0)));
        assert!(squares.abs() < 2.0 * bound, "squares at lag {lag}: {squares}");
    }
    let across = mean(x.iter().zip(&y).map(|(a, b)| f64::from(a * b)));
    assert!(across.abs() < bound, "seeds: {across}");
}

#[test]
fn every_kernel_draws_the_same_bits_and_a_prefix_is_a_prefix() {
    for seed in [0, 1, u64::MAX] {
        let mut expected = vec![0.0; 1003];
        Kernel::detect().fill_z(&mut expected, seed);
        for kernel in Kernel::available() {
            for len in [1, 6, 31, 32, 33, 1003] {
                let mut out = vec![0.0; len];
                kernel.fill_z(&mut out, seed);
                let bits = |values: &[f32]| values.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
                assert_eq!(bits(&out), bits(&expected[..len]), "{} seed {seed}", kernel.name());
            }
        }
    }
}
