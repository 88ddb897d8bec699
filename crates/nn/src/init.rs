//! Initialisation of parameters from the caller's random stream, in PyTorch's order of elements.

use crate::params::{Layout, TensorId};

/// Distribution of a tensor's initial values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Init {
    Constant(f32),
    /// U[−a, a] with a = √(6 / (fan_in + fan_out)); Glorot and Bengio.
    GlorotUniform,
    /// N(0, 2 / fan_in); He et al.
    HeNormal,
    /// U[−a, a] with a = 1 / √fan_in.
    FanInUniform,
    /// U[−a, a].
    Uniform(f32),
}

impl Layout {
    /// Draws the values of one tensor of `flat`. `uniform` returns independent numbers in [0, 1). Fans follow from the tensor's
    /// shape: a weight `[outputs, inputs, window…]` has fan_in = inputs · window and fan_out = outputs · window; for a vector both are
    /// its length, so biases that depend on their layer's inputs are drawn with [`Init::Uniform`].
    pub fn initialise(&self, flat: &mut [f32], id: TensorId, init: Init, uniform: &mut dyn FnMut() -> f64) {
        let shape = self.shape(id);
        let count: usize = shape.iter().product();
        let (fan_in, fan_out) = fans(shape);
        let mut symmetric = |a: f64| (0..count).map(|_| ((2.0 * uniform() - 1.0) * a) as f32).collect::<Vec<_>>();
        let values = match init {
            Init::Constant(value) => vec![value; count],
            Init::GlorotUniform => symmetric((6.0 / (fan_in + fan_out)).sqrt()),
            Init::FanInUniform => symmetric(1.0 / fan_in.sqrt()),
            Init::Uniform(a) => symmetric(f64::from(a)),
            Init::HeNormal => (0..count).map(|_| (normal(uniform) * (2.0 / fan_in).sqrt()) as f32).collect(),
        };
        self.write(flat, id, &values);
    }
}

fn fans(shape: &[usize]) -> (f64, f64) {
    match shape {
        [len] => (*len as f64, *len as f64),
        [outputs, inputs, window @ ..] => {
            let window: usize = window.iter().product();
            ((inputs * window) as f64, (outputs * window) as f64)
        }
        [] => (1.0, 1.0),
    }
}

/// One standard normal number by Box–Muller; the second of the pair is discarded, so each value costs two draws.
fn normal(uniform: &mut dyn FnMut() -> f64) -> f64 {
    let radius = (-2.0 * libm::log(1.0 - uniform())).sqrt();
    radius * libm::cos(std::f64::consts::TAU * uniform())
}
