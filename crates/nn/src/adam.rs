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
}

/// Parameters per parallel task, and per partial sum of [`global_norm`], whose bits depend on it.
const TASK: usize = 1 << 14;

impl Adam {
    /// Zero moments for `len` parameters.
    pub fn new(kernel: Kernel, hyperparameters: AdamHyperparameters, len: usize) -> Self {
        let coefficients = coefficients(&hyperparameters, 1, 1.0);
        Self { hyperparameters, steps: 0, coefficients, first: Buffer::zeros(len), second: Buffer::zeros(len), kernel }
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

    /// Updates `params[range]` with `gradients[range]`.
    pub fn apply(&mut self, params: &mut [f32], gradients: &[f32], range: Range<usize>) {
        assert_eq!((params.len(), gradients.len()), (self.first.len(), self.first.len()), "adam: another layout");
        let (kernel, coefficients) = (self.kernel, self.coefficients);
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

    /// Coefficients of the current step and moments of `range`, for updates fused into another pass.
    pub(crate) fn step_state(&mut self, range: Range<usize>) -> (AdamCoefficients, &mut [f32], &mut [f32]) {
        (self.coefficients, &mut self.first[range.clone()], &mut self.second[range])
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

/// Euclidean norm of all gradients, summed in a fixed order at any thread count.
pub fn global_norm(kernel: Kernel, gradients: &[f32]) -> f32 {
    gradients.chunks(TASK).map(|chunk| f64::from(kernel.dot(chunk, chunk))).sum::<f64>().sqrt() as f32
}

/// The factor that brings a gradient of norm `norm` down to `max_norm`, as PyTorch's `clip_grad_norm_` computes it.
pub fn clip_scale(norm: f32, max_norm: f32) -> f32 {
    (max_norm / (norm + 1e-6)).min(1.0)
}

fn coefficients(hyperparameters: &AdamHyperparameters, step: u64, gradient_scale: f32) -> AdamCoefficients {
    let t = i32::try_from(step).unwrap_or(i32::MAX);
    AdamCoefficients {
        beta1: hyperparameters.beta1 as f32,
        beta2: hyperparameters.beta2 as f32,
        rate: (hyperparameters.learning_rate / (1.0 - hyperparameters.beta1.powi(t))) as f32,
        root_correction: (1.0 / (1.0 - hyperparameters.beta2.powi(t)).sqrt()) as f32,
        epsilon: hyperparameters.epsilon as f32,
        gradient_scale,
    }
}
