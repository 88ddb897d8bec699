//! A curve of any length in a few hundred buckets, filled while reading: mean, smallest and largest value of each.

use serde::{Serialize, Serializer};

/// About the pixels of a chart.
const MOST_BUCKETS: u64 = 480;

/// Values over interactions. All buckets are equally wide; when there are too many, neighbours are merged in pairs.
#[derive(Debug, Clone, PartialEq)]
pub struct Buckets {
    width: u64,
    filled: Vec<Bucket>,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Bucket {
    index: u64,
    /// Interactions of its newest value.
    x: u64,
    count: u64,
    sum: f64,
    low: f64,
    high: f64,
}

impl Default for Buckets {
    fn default() -> Self {
        Self { width: 1, filled: Vec::new() }
    }
}

impl Buckets {
    /// Adds a value; values come in order of interactions.
    pub fn add(&mut self, x: u64, value: f64) {
        self.add_range(x, value, value, value);
    }

    /// Adds a value that has a range of its own.
    pub fn add_range(&mut self, x: u64, value: f64, low: f64, high: f64) {
        if !(value.is_finite() && low.is_finite() && high.is_finite()) {
            return;
        }
        let (low, high) = (low.min(value), high.max(value));
        while MOST_BUCKETS <= x / self.width {
            self.halve();
        }
        self.put(Bucket { index: x / self.width, x, count: 1, sum: value, low, high });
    }

    /// As lists, with each point at the place that `place` gives for its interactions; those without a place are left out.
    pub fn over(&self, place: impl Fn(u64) -> Option<f64>) -> Drawn {
        let placed: Vec<(f64, &Bucket)> =
            self.filled.iter().filter_map(|bucket| Some((place(bucket.x)?, bucket))).collect();
        let list = |of: fn(&Bucket) -> f64| placed.iter().map(|(_, bucket)| short(of(bucket))).collect();
        Drawn {
            x: placed.iter().map(|(x, _)| *x).collect(),
            mean: list(Bucket::mean),
            low: list(|bucket| bucket.low),
            high: list(|bucket| bucket.high),
        }
    }

    fn put(&mut self, new: Bucket) {
        match self.filled.last_mut() {
            Some(last) if new.index <= last.index => last.merge(new),
            _ => self.filled.push(new),
        }
    }

    fn halve(&mut self) {
        self.width *= 2;
        for bucket in std::mem::take(&mut self.filled) {
            self.put(Bucket { index: bucket.index / 2, ..bucket });
        }
    }
}

impl Bucket {
    fn mean(&self) -> f64 {
        // Between the extremes also where the sum is beyond all numbers.
        (self.sum / self.count as f64).clamp(self.low, self.high)
    }

    fn merge(&mut self, other: Self) {
        self.x = self.x.max(other.x);
        self.count += other.count;
        self.sum += other.sum;
        self.low = self.low.min(other.low);
        self.high = self.high.max(other.high);
    }
}

/// A curve as the page draws it: four lists of the same length.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct Drawn {
    #[serde(serialize_with = "places")]
    pub x: Vec<f64>,
    pub mean: Vec<f64>,
    pub low: Vec<f64>,
    pub high: Vec<f64>,
}

/// Whole numbers as such, others with six significant digits.
pub fn places<S: Serializer>(list: &[f64], serializer: S) -> Result<S::Ok, S::Error> {
    const EXACT: f64 = (1_u64 << 53) as f64;
    serializer.collect_seq(list.iter().map(|&x| {
        if x.fract() == 0.0 && (0.0..EXACT).contains(&x) {
            serde_json::Number::from(x as u64)
        } else {
            serde_json::Number::from_f64(short(x)).unwrap_or_else(|| 0.into())
        }
    }))
}

/// Six significant digits: more than a chart resolves, in half the bytes.
pub fn short(value: f64) -> f64 {
    format!("{value:.5e}").parse().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn interactions_near_the_end_of_all_numbers_have_a_bucket() {
        let mut buckets = Buckets::default();
        for x in [0, 7, u64::MAX / 2, u64::MAX - 1, u64::MAX] {
            buckets.add(x, 1e308);
        }
        assert!(buckets.filled.len() <= MOST_BUCKETS as usize);
        let drawn = buckets.over(|x| Some(x as f64));
        assert_eq!((drawn.x.last(), drawn.mean.last()), (Some(&(u64::MAX as f64)), Some(&1e308)));
    }

    proptest! {
        #[test]
        fn a_curve_of_any_length_keeps_its_end_its_extremes_and_its_mean(
            steps in prop::collection::vec((1_u64..5_000, -1e3_f64..1e3), 1..2_000),
        ) {
            let mut buckets = Buckets::default();
            let mut x = 0;
            for &(step, value) in &steps {
                x += step;
                buckets.add(x, value);
            }
            let values = || steps.iter().map(|step| step.1);
            prop_assert!(buckets.filled.len() as u64 <= MOST_BUCKETS);
            prop_assert!(buckets.filled.windows(2).all(|pair| pair[0].x < pair[1].x));
            prop_assert_eq!(buckets.filled.last().map(|bucket| bucket.x), Some(x));
            let lowest = buckets.filled.iter().map(|b| b.low).fold(f64::MAX, f64::min);
            let highest = buckets.filled.iter().map(|b| b.high).fold(f64::MIN, f64::max);
            prop_assert_eq!(lowest, values().fold(f64::MAX, f64::min));
            prop_assert_eq!(highest, values().fold(f64::MIN, f64::max));
            prop_assert_eq!(buckets.filled.iter().map(|b| b.count).sum::<u64>(), steps.len() as u64);
            let sum: f64 = buckets.filled.iter().map(|b| b.sum).sum();
            prop_assert!((sum - values().sum::<f64>()).abs() < 1e-6 * 1e3 * steps.len() as f64);
        }
    }

    #[test]
    fn a_bucket_by_hand() {
        let mut buckets = Buckets::default();
        (0..MOST_BUCKETS).for_each(|x| buckets.add(x, x as f64));
        buckets.add(MOST_BUCKETS, 7.0);
        let drawn = buckets.over(|x| Some(x as f64));
        assert_eq!((&drawn.x[..2], &drawn.mean[..2]), (&[1.0, 3.0][..], &[0.5, 2.5][..]));
        let written = serde_json::to_value(&drawn).unwrap();
        assert_eq!((&written["high"][1], &written["x"][1]), (&3.0.into(), &3.into()));
        assert_eq!(buckets.over(|x| (x < 4).then_some(2.5)).x, [2.5, 2.5]);
    }

    #[test]
    fn values_that_are_not_finite_are_left_out() {
        let mut buckets = Buckets::default();
        buckets.add(1, f64::NAN);
        assert!(buckets.filled.is_empty());
    }
}
