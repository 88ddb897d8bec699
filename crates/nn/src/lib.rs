//! CPU engine for small networks: convolutions, dense layers, Adam. It knows shapes, not environments or rewards.
//!
//! A network consists of a [`Torso`] (any number of convolutions) and [`Dense`] layers. Layers own shapes and scratch memory;
//! all parameters live in flat buffers that share one [`Layout`]: online weights, target weights, gradients, Adam's moments.
//! [`Kernel`] selects the instruction set and has the vector arithmetic for what happens between layers. Nothing is allocated
//! after construction. Passes run on rayon's current thread pool, and no bit of a result depends on its number of threads.
//!
//! Dimension letters: B examples of a batch, I inputs, O outputs, F features of the torso, A actions. `dx` is the gradient of the
//! loss with respect to `x`. A panel is sixteen columns of a matrix, stored contiguously; sixteen is the number of vector lanes.
//!
//! Reading order: `params.rs` (layout of the parameters), `dense.rs`, `input_gradient.rs`, `conv.rs` and `winograd.rs` (two
//! methods for the same layer), `torso.rs` (the convolutions of a batch), `adam.rs`; then `kernels.rs` and its children, which
//! hold all `unsafe` code. `reference.rs` defines in naive f64 loops what the layers must compute.
//!
//! # A train step
//!
//! ```
//! use sane_nn::*;
//! # fn main() -> Result<(), NnError> {
//! let (batch, actions) = (32, 6);
//! let kernel = Kernel::detect();
//!
//! // Build: layers declare their tensors in one layout.
//! let spec = TorsoSpec {
//!     input: ImageShape { channels: 4, height: 10, width: 10 },
//!     byte_scale: 1.0,
//!     layers: vec![ConvSpec { channels: 16, kernel: 3, stride: 1 }],
//!     has_bias: true,
//! };
//! let mut layout = Layout::default();
//! let mut torso = Torso::new(kernel, &spec, batch, &mut layout)?;
//! let dense = |weight, bias, inputs, outputs| DenseSpec { weight, bias: Some(bias), inputs, outputs };
//! let mut fc1 = Dense::new(kernel, &dense("fc1.weight", "fc1.bias", torso.features().clone(), 128), batch, &mut layout)?;
//! let mut fc2 = Dense::new(kernel, &dense("fc2.weight", "fc2.bias", InputOrder::natural(128), actions), batch, &mut layout)?;
//!
//! // Parameters, gradients, optimiser: buffers of that layout.
//! let mut online = layout.zeros();
//! let mut random = 1_u32; // any source of uniform numbers in [0, 1)
//! let mut uniform = || {
//!     random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
//!     f64::from(random) / 4_294_967_296.0
//! };
//! for (name, id) in layout.names().map(|(name, id)| (name.to_owned(), id)).collect::<Vec<_>>() {
//!     let init = if name.ends_with("weight") { Init::GlorotUniform } else { Init::Constant(0.0) };
//!     layout.initialise(&mut online, id, init, &mut uniform);
//! }
//! let mut gradients = layout.zeros();
//! let adam = AdamHyperparameters { learning_rate: 6.25e-5, beta1: 0.9, beta2: 0.999, epsilon: 1.5e-4 };
//! let mut adam = Adam::new(kernel, adam, layout.len());
//!
//! // Activations and their gradients.
//! let mut trace = torso.trace();
//! let mut features = Matrix::zeros(batch, torso.features().width());
//! let mut d_features = features.clone();
//! let (mut hidden, mut q) = (Matrix::zeros(batch, 128), Matrix::zeros(batch, actions));
//! let (mut d_hidden, mut d_q) = (hidden.clone(), q.clone());
//! let mut into_hidden = InputGradient::new(kernel, &[&fc2], batch);
//! let mut into_features = InputGradient::new(kernel, &[&fc1], batch); // list every layer that reads the features
//!
//! // Forward.
//! let states = vec![1_u8; batch * spec.input.len()];
//! torso.forward(&online, Observations::Bytes(&states), &mut trace, &mut features);
//! fc1.forward(&online, &features, &mut hidden, Activation::Relu);
//! fc2.forward(&online, &hidden, &mut q, Activation::Linear);
//!
//! // Backward: input gradients first (they need the old weights), then updates fused with the weight gradients.
//! for b in 0..batch {
//!     d_q.row_mut(b)[b % actions] = q.row(b)[b % actions] - 1.0;
//! }
//! into_hidden.compute(&online, &[Head { layer: &fc2, dy: &d_q, input_scale: None }], &mut d_hidden);
//! kernel.relu_backward(d_hidden.as_mut_slice(), hidden.as_slice());
//! into_features.compute(&online, &[Head { layer: &fc1, dy: &d_hidden, input_scale: None }], &mut d_features);
//! adam.begin_step();
//! let dense = [
//!     DenseUpdate { layer: &fc1, x: &features, dy: &d_hidden },
//!     DenseUpdate { layer: &fc2, x: &hidden, dy: &d_q },
//! ];
//! let updates = adam.weight_updates(&mut online, dense.into_iter());
//! torso.backward(Observations::Bytes(&states), &trace, &features, &d_features, &mut gradients, updates);
//! adam.apply(&mut online, &gradients, torso.param_range());
//! fc1.update_bias(&mut online, &mut adam, &mut gradients, &d_hidden);
//! fc2.update_bias(&mut online, &mut adam, &mut gradients, &d_q);
//!
//! // The loss Σ (q − 1)² / 2 over the chosen actions decreases.
//! let loss = |q: &Matrix| (0..batch).map(|b| (q.row(b)[b % actions] - 1.0).powi(2) / 2.0).sum::<f32>();
//! let before = loss(&q);
//! torso.infer(&online, Observations::Bytes(&states), &mut features);
//! fc1.forward(&online, &features, &mut hidden, Activation::Relu);
//! fc2.forward(&online, &hidden, &mut q, Activation::Linear);
//! assert!(loss(&q) < before);
//! # Ok(()) }
//! ```
//!
//! To clip the global norm, [`Dense::gradient`] stores all gradients, [`global_norm`] and [`clip_scale`] give the factor for
//! [`Adam::begin_clipped_step`], and one [`Adam::apply`] over all parameters updates them. To act, [`Torso::infer`] and
//! [`Dense::forward`] take matrices of one row. Additional features (action values, visit counts) are columns after the torso's
//! in the same feature matrix: [`InputOrder::followed_by`] describes a layer that reads them too.

#![allow(rustdoc::broken_intra_doc_links, reason = "shapes are written y[B,O], which reads like a link")]

mod adam;
mod buffer;
mod conv;
mod dense;
mod error;
mod init;
mod input_gradient;
mod kernels;
mod matrix;
mod params;
#[cfg(test)]
mod reference;
mod space_to_depth;
mod torso;
mod winograd;
mod work_queue;

pub use adam::{Adam, AdamHyperparameters, clip_scale, global_norm};
pub use buffer::Buffer;
pub use conv::{ConvSpec, ImageShape};
pub use dense::{Dense, DenseSpec, DenseUpdate, WeightUpdate};
pub use error::NnError;
pub use init::Init;
pub use input_gradient::{Head, InputGradient};
pub use kernels::{Activation, AdamCoefficients, Kernel, LANES, Triangles};
pub use matrix::Matrix;
pub use params::{InputOrder, Layout, NamedTensor, TensorId};
pub use torso::{Observations, Torso, TorsoSpec, Trace};

/// `n` rounded up to a multiple of sixteen lanes.
pub(crate) fn padded(n: usize) -> usize {
    n.next_multiple_of(LANES)
}
