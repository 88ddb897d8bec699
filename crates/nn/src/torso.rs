//! The convolutional torso: observations in, one row of features per example out, and the way back.
//!
//! The batch is cut into at most eight groups of neighbouring examples, a number that never depends on the threads. A group
//! is computed by one thread, example by example, so that its data stay in the second-level cache; the groups' weight
//! gradients are added in order.

mod backward;

use crate::buffer::Buffer;
use crate::conv::{Conv, ConvSpec, ImageShape, Order, Place};
use crate::error::NnError;
use crate::kernels::Kernel;
use crate::matrix::Matrix;
use crate::params::{InputOrder, Layout, TensorId};
use rayon::prelude::*;
use std::ops::Range;

/// What a torso is. Without layers the features are the (scaled) observation itself.
#[derive(Debug, Clone, PartialEq)]
pub struct TorsoSpec {
    /// Shape of an observation; a plain vector of n numbers is n × 1 × 1.
    pub input: ImageShape,
    /// Factor on observation bytes: 1/255 for screens, 1 for bytes that are numbers. Observations of floats are not scaled.
    pub byte_scale: f32,
    /// The convolutions, each followed by ReLU. They are called `conv1`, `conv2`, …
    pub layers: Vec<ConvSpec>,
    /// Whether the convolutions have biases.
    pub has_bias: bool,
}

/// A batch of observations, one behind the other, each `[channels][height][width]`.
#[derive(Debug, Clone, Copy)]
pub enum Observations<'a> {
    /// Bytes, scaled on the way in.
    Bytes(&'a [u8]),
    /// Numbers taken as they are.
    Floats(&'a [f32]),
}

/// The torso: shapes, places of its parameters, scratch.
#[derive(Debug, Clone)]
pub struct Torso {
    kernel: Kernel,
    input: ImageShape,
    byte_scale: f32,
    layers: Vec<Conv>,
    order: InputOrder,
    max_batch: usize,
    /// The convolutions' parameters are contiguous in the flat buffers.
    params: Range<usize>,
    groups: Vec<Group>,
    /// Transposed weights of every layer but the first.
    transposed: Vec<Buffer>,
}

/// What one group of examples needs for itself.
#[derive(Debug, Clone)]
struct Group {
    /// One observation as floats.
    observation: Buffer,
    /// Activations of one example, for passes that keep nothing.
    passing: Vec<Buffer>,
    /// Gradients of every layer's outputs before ReLU, of one example.
    d_activations: Vec<Buffer>,
    /// The gradient of one layer's outputs in panels.
    laid: Buffer,
    gradient: Buffer,
}

/// Activations of all layers but the last, kept by a forward pass for its backward pass.
#[derive(Debug, Clone)]
pub struct Trace {
    groups: Vec<Vec<Buffer>>,
}

const GROUPS: usize = 8;

impl Torso {
    /// Checks all shapes and adds the convolutions' tensors to `layout`. `max_batch` is the largest batch it will ever see.
    pub fn new(kernel: Kernel, spec: &TorsoSpec, max_batch: usize, layout: &mut Layout) -> Result<Self, NnError> {
        let sizes = [
            ("the number of channels", spec.input.channels),
            ("the height", spec.input.height),
            ("the width", spec.input.width),
            ("the batch size", max_batch),
        ];
        if let Some(&(what, _)) = sizes.iter().find(|(_, size)| *size == 0) {
            return Err(NnError::ZeroSize { layer: "input".to_owned(), what });
        }
        let first = layout.len();
        let mut layers: Vec<Conv> = Vec::new();
        for (i, &conv) in spec.layers.iter().enumerate() {
            let (input, order) = layers.last().map_or((spec.input, Order::Planes), |last| (last.output, Order::Pixels));
            let place = Place { input, order, has_bias: spec.has_bias };
            layers.push(Conv::new(kernel, &format!("conv{}", i + 1), conv, place, layout)?);
        }
        let params = first..layout.len();
        let order = match layers.last() {
            Some(last) => InputOrder::image(last.output.channels, last.output.height * last.output.width),
            None => InputOrder::natural(spec.input.len()),
        };
        let activations =
            |count: usize| layers.iter().take(count).map(|layer| Buffer::zeros(layer.output.padded_len())).collect();
        let group = || Group {
            observation: Buffer::zeros(spec.input.len()),
            passing: activations(layers.len().saturating_sub(1)),
            d_activations: activations(layers.len()),
            laid: Buffer::zeros(layers.iter().map(|layer| layer.output.padded_len()).max().unwrap_or(0)),
            gradient: Buffer::zeros(params.len()),
        };
        Ok(Self {
            kernel,
            input: spec.input,
            byte_scale: spec.byte_scale,
            order,
            max_batch,
            groups: (0..group_count(max_batch)).map(|_| group()).collect(),
            transposed: layers.iter().skip(1).map(|layer| Buffer::zeros(layer.transposed_len())).collect(),
            params,
            layers,
        })
    }

    /// Where the features lie in a row, in PyTorch's order of flattening; its width is the number of columns written.
    pub fn features(&self) -> &InputOrder {
        &self.order
    }

    /// Place of all convolution parameters in the flat buffers.
    pub fn param_range(&self) -> Range<usize> {
        self.params.clone()
    }

    /// Weight and bias of each convolution.
    pub fn tensors(&self) -> impl Iterator<Item = (TensorId, Option<TensorId>)> {
        self.layers.iter().map(|layer| (layer.weight_id, layer.bias_id))
    }

    /// Room for what a backward pass needs of a forward pass.
    pub fn trace(&self) -> Trace {
        let per_group = self.max_batch.div_ceil(GROUPS.min(self.max_batch));
        let group = || {
            self.layers
                .iter()
                .take(self.layers.len().saturating_sub(1))
                .map(|layer| Buffer::zeros(per_group * layer.output.padded_len()))
                .collect()
        };
        Trace { groups: (0..self.groups.len()).map(|_| group()).collect() }
    }

    /// features[B,F] of a batch, keeping in `trace` what [`Torso::backward`] needs. Columns behind the features are left alone.
    pub fn forward(
        &mut self,
        params: &[f32],
        observations: Observations<'_>,
        trace: &mut Trace,
        features: &mut Matrix,
    ) {
        let batch = self.check(observations, features);
        let observed = self.observed(observations);
        let Self { layers, groups, order, .. } = self;
        let per_group = batch.div_ceil(group_count(batch));
        let stride = features.stride();
        let tasks = features.as_mut_slice().par_chunks_mut(per_group * stride).zip(groups).zip(&mut trace.groups);
        tasks.enumerate().for_each(|(g, ((rows, group), kept))| {
            for (e, row) in rows.chunks_mut(stride).enumerate() {
                let x = observed.get(g * per_group + e, &mut group.observation);
                forward_one(layers, params, x, kept, e, &mut row[..order.width()]);
            }
        });
    }

    /// features[B,F] of a batch when no backward pass follows; also the way to act, with one observation.
    pub fn infer(&mut self, params: &[f32], observations: Observations<'_>, features: &mut Matrix) {
        let batch = self.check(observations, features);
        let observed = self.observed(observations);
        let Self { layers, groups, order, .. } = self;
        let per_group = batch.div_ceil(group_count(batch));
        let stride = features.stride();
        let run = |(g, (rows, group)): (usize, (&mut [f32], &mut Group))| {
            for (e, row) in rows.chunks_mut(stride).enumerate() {
                let x = observed.get(g * per_group + e, &mut group.observation);
                forward_one(layers, params, x, &mut group.passing, 0, &mut row[..order.width()]);
            }
        };
        if batch == 1 {
            run((0, (features.as_mut_slice(), &mut groups[0])));
        } else {
            features.as_mut_slice().par_chunks_mut(per_group * stride).zip(groups).enumerate().for_each(run);
        }
    }

    fn observed<'a>(&self, all: Observations<'a>) -> Observed<'a> {
        Observed { kernel: self.kernel, all, shape: self.input, byte_scale: self.byte_scale }
    }

    fn check(&self, observations: Observations<'_>, features: &Matrix) -> usize {
        let batch = features.rows();
        let len = match observations {
            Observations::Bytes(bytes) => bytes.len(),
            Observations::Floats(floats) => floats.len(),
        };
        assert_eq!(len, batch * self.input.len(), "torso: observations are not [B={batch}, {:?}]", self.input);
        assert!(
            self.order.width() <= features.cols(),
            "torso: {} features do not fit into {} columns",
            self.order.width(),
            features.cols()
        );
        assert!(batch <= self.max_batch, "torso: batch {batch} exceeds {}", self.max_batch);
        batch
    }
}

fn group_count(batch: usize) -> usize {
    batch.min(GROUPS)
}

/// A batch of observations with what is needed to read one of them as floats.
#[derive(Clone, Copy)]
struct Observed<'a> {
    kernel: Kernel,
    all: Observations<'a>,
    shape: ImageShape,
    byte_scale: f32,
}

impl Observed<'_> {
    /// Observation `i`: in place if it consists of floats already, else converted into `scratch`.
    fn get<'s>(&'s self, i: usize, scratch: &'s mut [f32]) -> &'s [f32] {
        let range = i * self.shape.len()..(i + 1) * self.shape.len();
        match self.all {
            Observations::Floats(floats) => &floats[range],
            Observations::Bytes(bytes) => {
                self.kernel.bytes_to_floats(scratch, &bytes[range], self.byte_scale);
                scratch
            }
        }
    }
}

/// One example through all layers; inner activations go to place `e` of `kept`.
fn forward_one(layers: &[Conv], params: &[f32], x: &[f32], kept: &mut [Buffer], e: usize, features: &mut [f32]) {
    let Some((last, inner)) = layers.split_last() else {
        features.copy_from_slice(x);
        return;
    };
    for (i, layer) in inner.iter().enumerate() {
        let (before, after) = kept.split_at_mut(i);
        let input = before.last().map_or(x, |buffer| activation(buffer, layer.input, e));
        let len = layer.output.padded_len();
        layer.forward(params, input, &mut after[0][e * len..(e + 1) * len]);
    }
    let input = kept.last().map_or(x, |buffer| activation(buffer, last.input, e));
    last.forward(params, input, features);
}

/// Place `e` of a buffer of activations.
fn activation(buffer: &[f32], shape: ImageShape, e: usize) -> &[f32] {
    &buffer[e * shape.padded_len()..(e + 1) * shape.padded_len()]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::init::Init;
    use crate::reference::{assert_close, conv_relu, numbers, slope_near, tensor, uniform};
    use proptest::prelude::*;

    struct Case {
        spec: TorsoSpec,
        batch: usize,
        kernel: Kernel,
        bytes: Vec<u8>,
    }

    struct Outcome {
        layout: Layout,
        params: Buffer,
        features: Vec<Vec<f32>>,
        gradients: Buffer,
        weights_on_features: Vec<f32>,
    }

    fn case(
        kernel: Kernel,
        shape: (usize, usize),
        layers: &[(usize, usize, usize)],
        batch: usize,
        has_bias: bool,
    ) -> Case {
        let input = ImageShape { channels: shape.0, height: shape.1, width: shape.1 };
        let layers = layers.iter().map(|&(channels, kernel, stride)| ConvSpec { channels, kernel, stride }).collect();
        let mut next = uniform(7);
        let bytes = (0..batch * input.len()).map(|_| (next() * 256.0) as u8).collect();
        Case { spec: TorsoSpec { input, byte_scale: 1.0 / 255.0, layers, has_bias }, batch, kernel, bytes }
    }

    /// Forward and backward with d_features = fixed numbers, so that the loss is Σ d_features · features.
    fn run(case: &Case) -> Outcome {
        let mut layout = Layout::default();
        let mut torso = Torso::new(case.kernel, &case.spec, case.batch, &mut layout).unwrap();
        let mut params = layout.zeros();
        let mut next = uniform(3);
        for (_, id) in layout.names() {
            layout.initialise(&mut params, id, Init::Uniform(0.4), &mut next);
        }
        let width = torso.features().width();
        let (mut features, mut d_features) = (Matrix::zeros(case.batch, width), Matrix::zeros(case.batch, width));
        let mut trace = torso.trace();
        let observations = Observations::Bytes(&case.bytes);
        torso.forward(&params, observations, &mut trace, &mut features);
        let mut inferred = features.clone();
        inferred.clear();
        torso.infer(&params, observations, &mut inferred);
        assert_eq!(inferred.as_slice(), features.as_slice(), "keeping nothing changes nothing");
        let count = torso.features().count();
        let weights_on_features = numbers(case.batch * count, 11);
        for b in 0..case.batch {
            for (i, &at) in torso.features().positions().iter().enumerate() {
                d_features.row_mut(b)[at as usize] = weights_on_features[b * count + i];
            }
        }
        let mut gradients = layout.zeros();
        torso.backward(&params, observations, &trace, &features, &d_features, &mut gradients);
        let features = (0..case.batch).map(|b| torso.features().to_torch(features.row(b))).collect();
        Outcome { layout, params, features, gradients, weights_on_features }
    }

    fn reference_features(case: &Case, layout: &Layout, tensors: &[Vec<f64>], b: usize) -> Vec<f64> {
        let len = case.spec.input.len();
        let mut x: Vec<f64> = case.bytes[b * len..(b + 1) * len]
            .iter()
            .map(|&byte| f64::from(byte) * f64::from(case.spec.byte_scale))
            .collect();
        let mut shape = case.spec.input;
        for (l, &conv) in case.spec.layers.iter().enumerate() {
            let index = |name: &str| layout.names().position(|(known, _)| known == format!("conv{}.{name}", l + 1));
            let bias = index("bias").map(|i| tensors[i].as_slice());
            (x, shape) = conv_relu(&x, shape, &tensors[index("weight").unwrap()], bias, conv);
        }
        x
    }

    fn check(case: &Case) {
        let outcome = run(case);
        let tensors: Vec<Vec<f64>> =
            outcome.layout.names().map(|(_, id)| tensor(&outcome.layout, &outcome.params, id)).collect();
        for (b, row) in outcome.features.iter().enumerate() {
            for (i, expected) in reference_features(case, &outcome.layout, &tensors, b).into_iter().enumerate() {
                assert_close(row[i], expected, 1e-4, "feature");
            }
        }
        let mut pick = uniform(5);
        for (t, (name, id)) in outcome.layout.names().enumerate() {
            let gradient = outcome.layout.read(&outcome.gradients, id);
            for _ in 0..6 {
                let i = (pick() * gradient.len() as f64) as usize;
                let loss = |values: &[f64]| {
                    let mut moved = tensors.clone();
                    moved[t] = values.to_vec();
                    let rows = (0..case.batch).flat_map(|b| reference_features(case, &outcome.layout, &moved, b));
                    rows.zip(&outcome.weights_on_features).map(|(x, &w)| x * f64::from(w)).sum()
                };
                assert_close(gradient[i], slope_near(gradient[i], &loss, &tensors[t], i), 1e-3, name);
            }
        }
    }

    #[test]
    fn gradients_of_two_and_three_layers_match_finite_differences_on_every_kernel() {
        for kernel in Kernel::available() {
            check(&case(kernel, (2, 14), &[(5, 4, 2), (18, 3, 1), (7, 2, 1)], 3, true));
            check(&case(kernel, (4, 10), &[(16, 3, 1)], 9, true));
            check(&case(kernel, (3, 9), &[(33, 3, 2), (16, 2, 2)], 2, false));
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn any_possible_torso_equals_its_definition(
            channels in 1_usize..4, side in 5_usize..11, batch in 1_usize..20,
            first in (1_usize..20, 1_usize..4, 1_usize..3), second in (1_usize..20, 1_usize..3, 1_usize..3),
            depth in 0_usize..3, has_bias: bool,
        ) {
            check(&case(Kernel::detect(), (channels, side), &[first, second][..depth], batch, has_bias));
        }
    }

    #[test]
    fn a_window_larger_than_its_image_is_refused_with_layer_and_shape() {
        let spec = case(Kernel::detect(), (4, 10), &[(16, 3, 2), (16, 5, 1)], 1, true).spec;
        let error = Torso::new(Kernel::detect(), &spec, 1, &mut Layout::default()).unwrap_err();
        let expected =
            NnError::KernelTooLarge { layer: "conv2".to_owned(), kernel: 5, channels: 16, height: 4, width: 4 };
        assert_eq!(error, expected);
    }

    #[test]
    fn a_convolution_without_channels_is_refused() {
        let spec = case(Kernel::detect(), (4, 10), &[(0, 3, 2)], 1, true).spec;
        assert!(matches!(
            Torso::new(Kernel::detect(), &spec, 1, &mut Layout::default()),
            Err(NnError::ZeroSize { .. })
        ));
    }

    #[test]
    fn the_number_of_threads_changes_no_bit() {
        let case = case(Kernel::detect(), (4, 24), &[(32, 4, 2), (20, 3, 1)], 13, true);
        let on = |threads: usize| {
            rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(|| run(&case))
        };
        let alone = on(1);
        for threads in [2, 3, 8] {
            let together = on(threads);
            assert_eq!(
                alone.gradients.iter().map(|g| g.to_bits()).collect::<Vec<_>>(),
                together.gradients.iter().map(|g| g.to_bits()).collect::<Vec<_>>()
            );
            assert_eq!(alone.features, together.features);
        }
    }
}
