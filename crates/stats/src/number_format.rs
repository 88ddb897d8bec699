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

/// A duration as people say it: `45 s`, `4 min`, `1.2 h`, `2 days`.
pub fn duration(seconds: f64) -> String {
    let seconds = seconds.max(0.0);
    let (minutes, hours, days) = (seconds / 60.0, seconds / 3_600.0, seconds / 86_400.0);
    // One decimal below ten, none if it would be a zero.
    let short = |value: f64| {
        let decimals = usize::from(value < 9.95 && 0.05 <= (value - value.round()).abs());
        with_decimals(value, decimals)
    };
    if !seconds.is_finite() {
        "for ever".into()
    } else if seconds < 89.5 {
        format!("{seconds:.0} s")
    } else if minutes < 59.5 {
        format!("{minutes:.0} min")
    } else if hours < 23.95 {
        format!("{} h", short(hours))
    } else {
        let text = short(days);
        let plural = if text == "1" { "" } else { "s" };
        format!("{text} day{plural}")
    }
}

/// Reads a count as people write it: `200000`, `1_000_000`, `1,000,000`, `1e6`, `200k`, `25M`, `1.5M`. It must be whole, and
/// at most 2⁶³ − 1, as in a configuration file.
pub fn parse_count(text: &str) -> Result<u64, String> {
    let refused = || format!("expected a whole number such as 200000, 1_000_000, 1e6, 200k or 25M, found {text:?}");
    let plain: String = text.trim().chars().filter(|c| !matches!(c, '_' | ',')).collect();
    let (number, unit) = match plain.char_indices().last() {
        Some((end, 'k' | 'K')) => (&plain[..end], 3),
        Some((end, 'm' | 'M')) => (&plain[..end], 6),
        Some((end, 'g' | 'G')) => (&plain[..end], 9),
        _ => (&plain[..], 0),
    };
    let (mantissa, exponent) = number.split_once(['e', 'E']).unwrap_or((number, "0"));
    let exponent: i32 = exponent.parse().ok().filter(|exponent| (-18..=18).contains(exponent)).ok_or_else(refused)?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    // Exact, in decimals: a float would round large counts.
    let digits: u128 =
        [whole, fraction].concat().parse().ok().filter(|_| !mantissa.starts_with('+')).ok_or_else(refused)?;
    let power = unit + exponent - i32::try_from(fraction.len()).map_err(|_| refused())?;
    let ten = 10_u128.checked_pow(power.unsigned_abs()).ok_or_else(refused)?;
    let value = match power {
        0.. => digits.checked_mul(ten),
        _ => digits.is_multiple_of(ten).then_some(digits / ten),
    };
    value.and_then(|value| u64::try_from(value).ok()).filter(|value| *value <= i64::MAX as u64).ok_or_else(refused)
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
    fn a_duration_is_said_in_the_unit_that_people_would_choose() {
        let said = [
            (0.0, "0 s"),
            (45.4, "45 s"),
            (100.0, "2 min"),
            (240.0, "4 min"),
            (3_590.0, "1 h"),
            (4_400.0, "1.2 h"),
            (50_000.0, "14 h"),
            (86_399.0, "1 day"),
            (172_800.0, "2 days"),
            (129_600.0, "1.5 days"),
            (3e7, "347 days"),
            (f64::INFINITY, "for ever"),
        ];
        for (seconds, text) in said {
            assert_eq!(duration(seconds), text, "{seconds}");
        }
    }

    #[test]
    fn a_count_is_read_as_people_write_it() {
        let read = [
            ("0", 0),
            ("200000", 200_000),
            ("1_000_000", 1_000_000),
            ("1,000,000", 1_000_000),
            ("1e6", 1_000_000),
            ("2.5E6", 2_500_000),
            ("200k", 200_000),
            ("25M", 25_000_000),
            ("1.5M", 1_500_000),
            ("12000e-3", 12),
            ("9223372036854775807", i64::MAX as u64),
        ];
        for (text, count) in read {
            assert_eq!(parse_count(text), Ok(count), "{text}");
        }
    }

    #[test]
    fn what_is_no_whole_count_is_refused_with_examples() {
        let wrong = [
            "",
            "-1",
            "+1",
            "0.5",
            "1.0005k",
            "k",
            "1e",
            "e6",
            "1e99",
            "9223372036854775808",
            "abc",
            "12 k x",
            "٣",
            "1.2.3",
        ];
        for text in wrong {
            let said = parse_count(text).unwrap_err();
            assert!(said.contains("200k") && said.contains(&format!("{text:?}")), "{text}: {said}");
        }
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
