//! Numbers as tables and axes show them: as many digits as are significant, thousands separated, a typographic minus.

/// A whole number with its thousands separated: 1,687,206.
pub fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if 0 < i && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A count and its noun: 1 run, 2 runs.
pub fn counted(number: usize, noun: &str) -> String {
    format!("{} {noun}{}", grouped(number as u64), if number == 1 { "" } else { "s" })
}

/// A score with about three significant digits; digits before the point are never dropped.
pub fn score(value: f64) -> String {
    with_decimals(value, decimals(value))
}

/// Mean ± deviation, both with the decimals of the larger one.
pub fn plus_minus(mean: f64, std: Option<f64>) -> String {
    let Some(std) = std else { return score(mean) };
    let decimals = decimals(mean.abs().max(std));
    format!("{} ± {}", with_decimals(mean, decimals), with_decimals(std, decimals))
}

/// Two decimals, as for normalised scores.
pub fn hundredths(value: f64) -> String {
    with_decimals(value, 2)
}

/// `low to high`, two decimals.
pub fn range(interval: [f64; 2]) -> String {
    format!("{} to {}", hundredths(interval[0]), hundredths(interval[1]))
}

/// 0.1234 → 12 %; small shares keep a decimal.
pub fn percent(share: f64) -> String {
    let value = 100.0 * share;
    with_decimals(value, usize::from(value.abs() < 10.0 && value != 0.0)) + " %"
}

/// The unit in which an axis up to this magnitude is labelled, and its letter: 250k, 25M.
pub fn unit(magnitude: f64) -> (f64, &'static str) {
    if 1e6 <= magnitude {
        (1e6, "M")
    } else if 1e3 <= magnitude {
        (1e3, "k")
    } else {
        (1.0, "")
    }
}

/// Two digits and a power of ten where needed: 0.021, 7.3e−4.
pub fn scientific(value: f64) -> String {
    if value == 0.0 || (1e-3..1e4).contains(&value.abs()) {
        let places = if value.abs() < 0.1 { 4 } else { 2 };
        return with_decimals(value, places);
    }
    format!("{value:.1e}").replace('-', "−")
}

/// A duration in minutes and seconds, hours and minutes, or days and hours: `3:07`, `2h05`, `4d03h`.
pub fn duration(seconds: f64) -> String {
    let seconds = seconds as u64;
    match (seconds / 86_400, seconds / 3_600 % 24, seconds / 60 % 60, seconds % 60) {
        (0, 0, minutes, seconds) => format!("{minutes}:{seconds:02}"),
        (0, hours, minutes, _) => format!("{hours}h{minutes:02}"),
        (days, hours, ..) => format!("{days}d{hours:02}h"),
    }
}

fn decimals(value: f64) -> usize {
    match value.abs() {
        large if 100.0 <= large => 0,
        medium if 10.0 <= medium => 1,
        small if 0.1 <= small || small == 0.0 => 2,
        _ => 4,
    }
}

/// With this many digits after the point.
pub fn with_decimals(value: f64, decimals: usize) -> String {
    let text = format!("{:.decimals$}", value.abs());
    let (whole, rest) = text.split_once('.').map_or((text.as_str(), None), |(whole, rest)| (whole, Some(rest)));
    let whole = whole.parse::<u64>().map_or_else(|_| whole.to_owned(), grouped);
    sign(value, &rest.map_or_else(|| whole.clone(), |rest| format!("{whole}.{rest}")))
}

/// Puts the minus sign before a negative number unless it was rounded to zero.
fn sign(value: f64, text: &str) -> String {
    let zero = text.chars().all(|c| matches!(c, '0' | '.'));
    if value < 0.0 && !zero { format!("−{text}") } else { text.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_about_three_significant_digits_and_grouped_thousands() {
        assert_eq!([7, 1_606, 1_687_206].map(grouped)[..], ["7", "1,606", "1,687,206"]);
        assert_eq!(
            [17_358.4, -2.4, 95.34, 0.0312, 0.0, -0.001].map(score)[..],
            ["17,358", "−2.40", "95.3", "0.0312", "0.00", "−0.0010"]
        );
        assert_eq!(plus_minus(126_213.2, Some(20_478.0)), "126,213 ± 20,478");
        assert_eq!(plus_minus(2.99, Some(1.4)), "2.99 ± 1.40");
        assert_eq!(plus_minus(0.6, Some(120.0)), "1 ± 120");
        assert_eq!([0.5, 0.034, 0.0].map(percent)[..], ["50 %", "3.4 %", "0 %"]);
        assert_eq!(scientific(7.31e-4), "7.3e−4");
    }

    #[test]
    fn a_duration_has_its_two_largest_units() {
        assert_eq!([187.9, 7_500.0, 356_400.0].map(duration)[..], ["3:07", "2h05", "4d03h"]);
    }

    #[test]
    fn what_rounds_to_zero_has_no_sign() {
        assert_eq!(hundredths(-0.001), "0.00");
    }

    #[test]
    fn nan_and_infinity_are_printed_by_name() {
        assert_eq!(score(f64::NAN), "NaN");
        assert_eq!(score(f64::NEG_INFINITY), "−inf");
    }
}
