//! Numbers the oracle computes with: plain `f64` for finite differences, and `Var`, which remembers how it was made, for
//! derivatives by reverse mode. One scalar at a time: slow, and hard to get wrong.

use std::cell::RefCell;
use std::ops::{Add, Mul, Sub};

/// Arithmetic the oracle needs.
pub trait Number: Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> {
    fn constant(value: f64) -> Self;
    fn value(self) -> f64;
    /// f(self), given f's value and slope there.
    fn map(self, value: f64, slope: f64) -> Self;

    fn relu(self) -> Self {
        let x = self.value();
        self.map(x.max(0.0), if 0.0 < x { 1.0 } else { 0.0 })
    }
    fn tanh(self) -> Self {
        let y = self.value().tanh();
        self.map(y, 1.0 - y * y)
    }
    fn ln_abs(self) -> Self {
        self.map(self.value().abs().ln(), 1.0 / self.value())
    }
    fn softplus(self) -> Self {
        let x = self.value();
        self.map(x.exp().ln_1p(), 1.0 / (1.0 + (-x).exp()))
    }
}

impl Number for f64 {
    fn constant(value: f64) -> Self {
        value
    }
    fn value(self) -> f64 {
        self
    }
    fn map(self, value: f64, _slope: f64) -> Self {
        value
    }
}

/// A number on the tape: its value and where it stands.
#[derive(Clone, Copy)]
pub struct Var {
    value: f64,
    place: usize,
}

/// Each place holds the two numbers it was made of and the slopes towards them.
type Tape = Vec<[(usize, f64); 2]>;

thread_local! {
    static TAPE: RefCell<Tape> = const { RefCell::new(Vec::new()) };
}

impl Var {
    /// Forgets all that was computed.
    pub fn start_tape() {
        TAPE.with_borrow_mut(Vec::clear);
    }

    /// ∂self/∂v for every `v`.
    pub fn gradient(self, of: &[Self]) -> Vec<f64> {
        TAPE.with_borrow(|tape| {
            let mut slopes = vec![0.0; tape.len()];
            slopes[self.place] = 1.0;
            for place in (0..=self.place).rev() {
                for (parent, slope) in tape[place] {
                    if parent != place {
                        slopes[parent] += slope * slopes[place];
                    }
                }
            }
            of.iter().map(|v| slopes[v.place]).collect()
        })
    }

    fn record(value: f64, parents: impl FnOnce(usize) -> [(usize, f64); 2]) -> Self {
        TAPE.with_borrow_mut(|tape| {
            let place = tape.len();
            tape.push(parents(place));
            Self { value, place }
        })
    }
}

impl Number for Var {
    fn constant(value: f64) -> Self {
        Self::record(value, |own| [(own, 0.0); 2])
    }
    fn value(self) -> f64 {
        self.value
    }
    fn map(self, value: f64, slope: f64) -> Self {
        Self::record(value, |own| [(self.place, slope), (own, 0.0)])
    }
}

impl Add for Var {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self::record(self.value + other.value, |_| [(self.place, 1.0), (other.place, 1.0)])
    }
}

impl Sub for Var {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self::record(self.value - other.value, |_| [(self.place, 1.0), (other.place, -1.0)])
    }
}

impl Mul for Var {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        Self::record(self.value * other.value, |_| [(self.place, other.value), (other.place, self.value)])
    }
}
