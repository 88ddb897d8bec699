//! Texts that galleries, films and audits share: the policy, |σ|, digits.

use sane_record::RiskSubject;
use sane_stats::number_format::{grouped, scientific, with_decimals};

/// `boxing, q-sane, seed 1`.
pub fn name(subject: &RiskSubject) -> String {
    format!("{}, {}, seed {}", subject.world, subject.agent, subject.seed)
}

/// The evaluated policy in a sentence.
pub fn policy(subject: &RiskSubject) -> String {
    let noise = if subject.noise == "on" { "with its noise" } else { "without noise" };
    let sigmas = if subject.sigma.max_abs == 0.0 {
        "It has no σ(s).".to_owned()
    } else {
        let [mean, low, high] = [subject.sigma.mean_abs, subject.sigma.min_abs, subject.sigma.max_abs].map(sigma);
        format!("|σ| there: mean {mean}, from {low} to {high}.")
    };
    format!(
        "{} after {} interactions of training, played {noise} for {} interactions ({} episode{}, start seed {}). {sigmas}",
        name(subject),
        grouped(subject.trained_interactions),
        grouped(subject.interactions),
        grouped(subject.episodes),
        if subject.episodes == 1 { "" } else { "s" },
        subject.start_seed,
    )
}

/// |σ| with enough digits to tell states apart.
pub fn sigma(value: f64) -> String {
    if value == 0.0 || (1e-4..1.0).contains(&value) {
        return with_decimals(value, 5);
    }
    scientific(value)
}

/// Digits after the point that show differences within `range` to about two digits.
pub fn decimals_for(range: f64) -> usize {
    if !range.is_finite() || range <= 0.0 {
        return 2;
    }
    (1.0 - range.log10().floor()).clamp(0.0, 6.0) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_follow_the_differences_to_be_shown() {
        assert_eq!([150.0, 30.0, 3.0, 0.2, 0.03, 0.0, f64::NAN].map(decimals_for), [0, 0, 1, 2, 3, 2, 2]);
        assert_eq!([0.01234, 2.5, 0.0].map(sigma)[..], ["0.01234", "2.50", "0.00000"]);
    }
}
