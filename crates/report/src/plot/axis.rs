//! Axes: from values to positions, and ticks at round numbers.

use sane_stats::number_format;

/// Fewer ticks would not show the scale.
const FEWEST_TICKS: usize = 3;

/// Format of tick labels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TickStyle {
    /// 0, 250k, 25M.
    Short,
    /// 0 %, 50 %.
    Percent,
}

/// A scale with its range and ticks.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// Quantity and unit.
    pub label: String,
    /// Value and label.
    pub ticks: Vec<(f64, String)>,
    low: f64,
    high: f64,
    logarithmic: bool,
}

impl Axis {
    /// A linear axis over the values with a small margin, with about `most_ticks` steps at most.
    pub fn linear(
        label: impl Into<String>,
        values: impl IntoIterator<Item = f64>,
        most_ticks: usize,
        style: TickStyle,
    ) -> Self {
        let (low, high) = widened(extent(values).unwrap_or((0.0, 1.0)));
        let margin = (high - low) * 0.04;
        // No margin below zero for quantities that are never negative.
        let low = if 0.0 <= low { (low - margin).max(0.0) } else { low - margin };
        Self::exact(label, low, high + margin, most_ticks, style)
    }

    /// A linear axis with exactly these ends, for quantities with known bounds such as time and probability.
    pub fn exact(label: impl Into<String>, low: f64, high: f64, most_ticks: usize, style: TickStyle) -> Self {
        let (low, high) = widened((low, high));
        // Tolerance, since 0.3 / 0.1 is slightly below 3.
        let within = |step: f64| (low / step - 1e-9).ceil() as i64..=(high / step + 1e-9).floor() as i64;
        let mut step = round_step((high - low) / most_ticks.max(1) as f64);
        while within(step).count() < FEWEST_TICKS {
            step = round_step(step * 0.4);
        }
        let values: Vec<f64> = within(step).map(|i| i as f64 * step).collect();
        let largest = values.iter().fold(0.0_f64, |largest, value| largest.max(value.abs()));
        let ticks = values.into_iter().map(|value| (value, tick_label(value, step, largest, style))).collect();
        Self { label: label.into(), ticks, low, high, logarithmic: false }
    }

    /// A logarithmic axis over the positive values, widened to whole decades.
    pub fn logarithmic(label: impl Into<String>, values: impl IntoIterator<Item = f64>, most_ticks: usize) -> Self {
        let logs = values.into_iter().filter(|value| 0.0 < *value).map(f64::log10);
        let (low, high) = extent(logs).unwrap_or((-1.0, 0.0));
        let (first, mut last) = (low.floor() as i32, high.ceil() as i32);
        last = last.max(first + 1);
        let every = ((last - first) as usize).div_ceil(most_ticks.max(1)).max(1);
        let ticks = (first..=last)
            .step_by(every)
            .map(|power| (10.0_f64.powi(power), format!("10{}", superscript(power))))
            .collect();
        let (low, high) = (10.0_f64.powi(first), 10.0_f64.powi(last));
        Self { label: label.into(), ticks, low, high, logarithmic: true }
    }

    /// Position of a value on the axis, 0 at its low end and 1 at its high end; values outside are clamped.
    pub fn position(&self, value: f64) -> f32 {
        let share = if self.logarithmic {
            (value.max(self.low).ln() - self.low.ln()) / (self.high.ln() - self.low.ln())
        } else {
            (value - self.low) / (self.high - self.low)
        };
        share.clamp(0.0, 1.0) as f32
    }
}

fn extent(values: impl IntoIterator<Item = f64>) -> Option<(f64, f64)> {
    values.into_iter().filter(|value| value.is_finite()).fold(None, |extent, value| {
        let (low, high) = extent.unwrap_or((value, value));
        Some((low.min(value), high.max(value)))
    })
}

/// An axis of a single value is widened around it.
fn widened((low, high): (f64, f64)) -> (f64, f64) {
    if low < high {
        return (low, high);
    }
    let margin = if low == 0.0 { 1.0 } else { low.abs() / 2.0 };
    (low - margin, high + margin)
}

/// The least of 1, 2, 5 times a power of ten that is at least `step`.
fn round_step(step: f64) -> f64 {
    let power = 10.0_f64.powf(step.log10().floor());
    // Tolerance, so that a step of exactly 2·10ᵏ stays one.
    [1.0, 2.0, 5.0]
        .into_iter()
        .map(|factor| factor * power)
        .find(|round| step <= round * (1.0 + 1e-9))
        .unwrap_or(10.0 * power)
}

/// With as many digits as distinguish ticks that are `step` apart; the same number for all ticks of an axis.
fn tick_label(value: f64, step: f64, largest: f64, style: TickStyle) -> String {
    match style {
        TickStyle::Short => {
            let (unit, suffix) = number_format::unit(largest);
            if value == 0.0 {
                "0".into()
            } else {
                number_format::with_decimals(value / unit, decimals(step / unit)) + suffix
            }
        }
        TickStyle::Percent if value == 0.0 => "0 %".into(),
        TickStyle::Percent => format!("{} %", number_format::with_decimals(100.0 * value, decimals(100.0 * step))),
    }
}

/// Digits after the point that steps of this size need, with a tolerance, since log10(0.1) may be below −1.
fn decimals(step: f64) -> usize {
    (-step.log10() - 1e-9).ceil().clamp(0.0, 12.0) as usize
}

fn superscript(power: i32) -> String {
    power
        .to_string()
        .chars()
        .map(|c| match c {
            '-' => '⁻',
            '1' => '¹',
            '2' => '²',
            '3' => '³',
            digit => char::from_u32('⁰' as u32 + digit.to_digit(10).unwrap_or(0)).unwrap_or(digit),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn labels(axis: &Axis) -> Vec<&str> {
        axis.ticks.iter().map(|(_, label)| label.as_str()).collect()
    }

    #[test]
    fn a_quantity_that_is_never_negative_has_no_margin_below_zero() {
        assert_eq!(Axis::linear("y", [0.0, 10.0], 4, TickStyle::Short).position(0.0), 0.0);
        assert!(0.0 < Axis::linear("y", [-1.0, 10.0], 4, TickStyle::Short).position(-1.0));
    }

    #[test]
    fn ticks_are_round_numbers() {
        assert_eq!(labels(&Axis::exact("x", 0.0, 25e6, 5, TickStyle::Short)), ["0", "5M", "10M", "15M", "20M", "25M"]);
        assert_eq!(labels(&Axis::linear("y", [3.0, 87.0], 4, TickStyle::Short)), ["0", "20", "40", "60", "80"]);
        assert_eq!(labels(&Axis::linear("y", [-91.7, -12.0], 4, TickStyle::Short)), ["−80", "−60", "−40", "−20"]);
        assert_eq!(labels(&Axis::logarithmic("σ", [3e-4, 0.05], 4)), ["10⁻⁴", "10⁻³", "10⁻²", "10⁻¹"]);
        assert_eq!(labels(&Axis::exact("p", 0.0, 1.0, 4, TickStyle::Percent)), ["0 %", "50 %", "100 %"]);
    }

    #[test]
    fn ticks_that_are_close_together_have_distinct_labels() {
        assert_eq!(labels(&Axis::exact("σ", 0.08, 0.094, 3, TickStyle::Short)), ["0.080", "0.085", "0.090"]);
        assert_eq!(labels(&Axis::exact("p", 0.0, 0.0002, 2, TickStyle::Percent)), ["0 %", "0.01 %", "0.02 %"]);
        let narrow = Axis::exact("x", 1_000_000.0, 1_006_000.0, 3, TickStyle::Short);
        assert_eq!(labels(&narrow), ["1.000M", "1.002M", "1.004M", "1.006M"]);
    }

    #[test]
    fn ticks_of_one_axis_have_one_unit_and_as_many_digits() {
        assert_eq!(labels(&Axis::exact("x", 0.0, 1.5e6, 3, TickStyle::Short)), ["0", "0.5M", "1.0M", "1.5M"]);
        assert_eq!(labels(&Axis::exact("y", 1.8, 2.4, 3, TickStyle::Short)), ["1.8", "2.0", "2.2", "2.4"]);
    }

    proptest! {
        #[test]
        fn every_value_lies_on_its_axis_and_order_is_kept(values in prop::collection::vec(-1e9_f64..1e9, 0..20)) {
            let axis = Axis::linear("y", values.iter().copied(), 5, TickStyle::Short);
            prop_assert!((3..=8).contains(&axis.ticks.len()), "{:?}", axis.ticks);
            let mut sorted = values;
            sorted.sort_by(f64::total_cmp);
            let positions: Vec<f32> = sorted.iter().map(|&value| axis.position(value)).collect();
            prop_assert!(positions.iter().all(|position| (0.0..=1.0).contains(position)));
            prop_assert!(positions.windows(2).all(|pair| pair[0] <= pair[1]));
        }
    }
}
