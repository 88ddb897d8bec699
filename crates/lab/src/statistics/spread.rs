//! Count, sum, smallest and largest of a row of numbers.

use sane_record::SigmaRange;
use serde::{Deserialize, Serialize};

/// What is kept of a row of numbers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    count: u64,
    sum: f64,
    min: f64,
    max: f64,
}

impl Default for Spread {
    fn default() -> Self {
        Self { count: 0, sum: 0.0, min: f64::INFINITY, max: f64::NEG_INFINITY }
    }
}

impl Spread {
    /// One more number.
    pub fn add(&mut self, value: f64) {
        self.count += 1;
        self.sum += value;
        self.min = self.min.min(value);
        self.max = self.max.max(value);
    }

    /// Two rows as one.
    pub fn merge(&mut self, other: &Self) {
        self.count += other.count;
        self.sum += other.sum;
        self.min = self.min.min(other.min);
        self.max = self.max.max(other.max);
    }

    /// Their mean, if there are any.
    pub fn mean(&self) -> Option<f64> {
        (0 < self.count).then(|| self.sum / self.count as f64)
    }

    /// Mean, smallest and largest, if there are any; the numbers are values of |σ|.
    pub fn range(&self) -> Option<SigmaRange> {
        Some(SigmaRange { mean_abs: self.mean()?, min_abs: self.min, max_abs: self.max })
    }
}
