//! The normal distribution.

/// Φ(z): the probability that a standard normal number is below z.
pub fn normal_cdf(z: f64) -> f64 {
    0.5 * libm::erfc(-z / std::f64::consts::SQRT_2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_quantiles_have_their_probabilities_far_out_in_the_tail_too() {
        for (z, probability) in [(0.0, 0.5), (1.959_963_984_540_054, 0.975), (-10.0, 7.619_853_024_160_527e-24)] {
            assert!((normal_cdf(z) / probability - 1.0).abs() < 1e-12, "{z}: {}", normal_cdf(z));
            assert!((normal_cdf(z) + normal_cdf(-z) - 1.0).abs() < 1e-15);
        }
        assert_eq!([f64::NEG_INFINITY, f64::INFINITY].map(normal_cdf), [0.0, 1.0]);
    }
}
