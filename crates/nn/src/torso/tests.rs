//! The torso against naive convolutions in f64, its gradients against finite differences, over shapes, batches and threads.

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
    /// The same by the pass that keeps nothing.
    inferred: Matrix,
    gradients: Buffer,
    weights_on_features: Vec<f32>,
}

fn case(kernel: Kernel, shape: (usize, usize), layers: &[(usize, usize, usize)], batch: usize, has_bias: bool) -> Case {
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
    if 1 < case.batch {
        assert_eq!(inferred.as_slice(), features.as_slice(), "keeping nothing changes nothing");
    }
    for (&found, &expected) in inferred.as_slice().iter().zip(features.as_slice()) {
        assert_close(found, f64::from(expected), 1e-5, "one example, computed directly");
    }
    let count = torso.features().count();
    let weights_on_features = numbers(case.batch * count, 11);
    for b in 0..case.batch {
        for (i, &at) in torso.features().positions().iter().enumerate() {
            d_features.row_mut(b)[at as usize] = weights_on_features[b * count + i];
        }
    }
    let mut gradients = layout.zeros();
    torso.backward(observations, &trace, &features, &d_features, &mut gradients, std::iter::empty());
    let features = (0..case.batch).map(|b| torso.features().to_torch(features.row(b))).collect();
    Outcome { layout, params, features, inferred, gradients, weights_on_features }
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
    let expected = NnError::KernelTooLarge { layer: "conv2".to_owned(), kernel: 5, channels: 16, height: 4, width: 4 };
    assert_eq!(error, expected);
}

#[test]
fn a_convolution_without_channels_is_refused() {
    let spec = case(Kernel::detect(), (4, 10), &[(0, 3, 2)], 1, true).spec;
    assert!(matches!(Torso::new(Kernel::detect(), &spec, 1, &mut Layout::default()), Err(NnError::ZeroSize { .. })));
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let batch = case(Kernel::detect(), (4, 24), &[(32, 4, 2), (20, 3, 1)], 13, true);
    let screen = case(Kernel::detect(), (4, 44), &[(32, 8, 4), (16, 4, 2)], 1, true);
    for case in [batch, screen] {
        let on = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(|| run(&case));
        let alone = on(1);
        for threads in [2, 3, 8] {
            let together = on(threads);
            assert_eq!(
                alone.gradients.iter().map(|g| g.to_bits()).collect::<Vec<_>>(),
                together.gradients.iter().map(|g| g.to_bits()).collect::<Vec<_>>()
            );
            assert_eq!(alone.features, together.features);
            assert_eq!(alone.inferred.as_slice(), together.inferred.as_slice());
        }
    }
}
