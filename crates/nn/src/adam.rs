//! Adam (Kingma and Ba): updates parameters from gradients.
//!
//! Two ways to the same step: [`Adam::apply`] takes stored gradients of a range of parameters, and [`Adam::weight_updates`] (in
//! `dense.rs`) computes the weight gradients of dense layers in the same pass and does not store them.

use crate::buffer::Buffer;
use crate::error::NnError;
use crate::kernels::{AdamCoefficients, Kernel};
use rayon::prelude::*;
use std::ops::Range;

/// Hyperparameters of the optimiser.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AdamHyperparameters {
    pub learning_rate: f64,
    /// Decay rate of the first moment.
    pub beta1: f64,
    /// Decay rate of the second moment.
    pub beta2: f64,
    /// Added to the square root of the second moment.
    pub epsilon: f64,
}

/// Moments and step counter. A step is one [`Adam::begin_step`], then one update of every parameter.
#[derive(Debug, Clone)]
pub struct Adam {
    hyperparameters: AdamHyperparameters,
    steps: u64,
    coefficients: AdamCoefficients,
    first: Buffer,
    second: Buffer,
    kernel: Kernel,
    /// Parameters that learn at another rate, and its multiple of the common one.
    scaled: Option<(Range<usize>, f32)>,
}

/// Parameters per parallel task, and per partial sum of [`global_norm`], whose bits depend on it.
const TASK: usize = 1 << 14;

impl Adam {
    /// Zero moments for `len` parameters.
    pub fn new(kernel: Kernel, hyperparameters: AdamHyperparameters, len: usize) -> Self {
        let coefficients = coefficients(&hyperparameters, 1, 1.0);
        let (first, second) = (Buffer::zeros(len), Buffer::zeros(len));
        Self { hyperparameters, steps: 0, coefficients, first, second, kernel, scaled: None }
    }

    /// Lets the parameters of `range` learn at `factor` times the learning rate. A tensor lies inside of it or outside.
    pub fn scale_rate(&mut self, range: Range<usize>, factor: f32) {
        self.scaled = Some((range, factor));
    }

    /// Starts the next step: increments the step counter and computes the bias corrections.
    pub fn begin_step(&mut self) {
        self.begin_clipped_step(1.0);
    }

    /// Starts the next step with every gradient multiplied by `gradient_scale` (see [`clip_scale`]).
    pub fn begin_clipped_step(&mut self, gradient_scale: f32) {
        self.steps += 1;
        self.coefficients = coefficients(&self.hyperparameters, self.steps, gradient_scale);
    }

    /// Starts the next step without bias corrections and with the learning rate multiplied by `rate_factor`.
    pub fn begin_uncorrected_step(&mut self, rate_factor: f64, gradient_scale: f32) {
        self.begin_clipped_step(gradient_scale);
        self.coefficients.rate = (self.hyperparameters.learning_rate * rate_factor) as f32;
        self.coefficients.root_correction = 1.0;
    }

    /// Updates `params[range]` with `gradients[range]`.
    pub fn apply(&mut self, params: &mut [f32], gradients: &[f32], range: Range<usize>) {
        assert_eq!((params.len(), gradients.len()), (self.first.len(), self.first.len()), "adam: another layout");
        let scaled = self.scaled.as_ref().map_or(range.end..range.end, |(scaled, _)| {
            scaled.start.clamp(range.start, range.end)..scaled.end.clamp(range.start, range.end)
        });
        for part in [range.start..scaled.start, scaled.clone(), scaled.end..range.end] {
            if !part.is_empty() {
                self.apply_at_one_rate(params, gradients, part);
            }
        }
    }

    fn apply_at_one_rate(&mut self, params: &mut [f32], gradients: &[f32], range: Range<usize>) {
        let (kernel, coefficients) = (self.kernel, self.coefficients_at(range.start));
        let (p, g) = (&mut params[range.clone()], &gradients[range.clone()]);
        let (m, v) = (&mut self.first[range.clone()], &mut self.second[range]);
        if p.len() <= TASK {
            kernel.adam(&coefficients, g, p, m, v);
        } else {
            let tasks =
                p.par_chunks_mut(TASK).zip(g.par_chunks(TASK)).zip(m.par_chunks_mut(TASK)).zip(v.par_chunks_mut(TASK));
            tasks.for_each(|(((p, g), m), v)| kernel.adam(&coefficients, g, p, m, v));
        }
    }

    /// The moments, and the coefficients of the current step for a parameter, for updates fused into another pass.
    pub(crate) fn step_state(&mut self) -> (impl Fn(usize) -> AdamCoefficients + Send + '_, &mut [f32], &mut [f32]) {
        let (coefficients, scaled) = (self.coefficients, self.scaled.as_ref());
        (move |parameter| at_own_rate(coefficients, scaled, parameter), &mut self.first, &mut self.second)
    }

    fn coefficients_at(&self, parameter: usize) -> AdamCoefficients {
        at_own_rate(self.coefficients, self.scaled.as_ref(), parameter)
    }

    /// Number of steps started so far.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// First moments m, in the layout of the parameters.
    pub fn first_moments(&self) -> &[f32] {
        &self.first
    }

    /// Second moments v, in the layout of the parameters.
    pub fn second_moments(&self) -> &[f32] {
        &self.second
    }

    /// Restores a saved state.
    pub fn restore(&mut self, steps: u64, first: &[f32], second: &[f32]) -> Result<(), NnError> {
        for (what, found) in [("the first moments", first.len()), ("the second moments", second.len())] {
            if found != self.first.len() {
                return Err(NnError::WrongLength { what, found, expected: self.first.len() });
            }
        }
        self.steps = steps;
        self.first.copy_from_slice(first);
        self.second.copy_from_slice(second);
        Ok(())
    }
}

fn at_own_rate(common: AdamCoefficients, scaled: Option<&(Range<usize>, f32)>, parameter: usize) -> AdamCoefficients {
    match scaled {
        Some((range, factor)) if range.contains(&parameter) => {
            AdamCoefficients { rate: common.rate * factor, ..common }
        }
        _ => common,
    }
}

/// Euclidean norm of all gradients, summed in a fixed order at any thread count.
pub fn global_norm(kernel: Kernel, gradients: &[f32]) -> f32 {
    gradients.chunks(TASK).map(|chunk| f64::from(kernel.dot(chunk, chunk))).sum::<f64>().sqrt() as f32
}

/// The factor that brings a gradient of norm `norm` down to `max_norm`, as PyTorch's `clip_grad_norm_` computes it.
pub fn clip_scale(norm: f32, max_norm: f32) -> f32 {
    (max_norm / (norm + 1e-6)).min(1.0)
}

fn coefficients(hyperparameters: &AdamHyperparameters, step: u64, gradient_scale: f32) -> AdamCoefficients {
    AdamCoefficients {
        beta1: hyperparameters.beta1 as f32,
        beta2: hyperparameters.beta2 as f32,
        rate: (hyperparameters.learning_rate / (1.0 - power(hyperparameters.beta1, step))) as f32,
        root_correction: (1.0 / (1.0 - power(hyperparameters.beta2, step)).sqrt()) as f32,
        epsilon: hyperparameters.epsilon as f32,
        gradient_scale,
    }
}

/// baseⁿ by repeated squaring: the order of the products is ours, while the precision of `powi` is left to the platform.
fn power(mut base: f64, mut n: u64) -> f64 {
    let mut result = 1.0;
    loop {
        if n & 1 == 1 {
            result *= base;
        }
        n /= 2;
        if n == 0 {
            return result;
        }
        base *= base;
    }
}
