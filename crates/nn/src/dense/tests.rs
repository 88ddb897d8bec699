//! Dense layers against their definition: values, gradients, fused and unfused updates, threads, kernels.

use super::*;
use crate::adam::AdamHyperparameters;
use crate::init::Init;
use crate::reference::{assert_close, dense, numbers, slope, tensor, uniform};
use proptest::prelude::*;

struct Built {
    layout: Layout,
    params: Buffer,
    layer: Dense,
    x: Matrix,
    dy: Matrix,
}

fn built(kernel: Kernel, order: InputOrder, outputs: usize, batch: usize) -> Built {
    let mut layout = Layout::default();
    let spec = DenseSpec { weight: "fc.weight", bias: Some("fc.bias"), inputs: order.clone(), outputs };
    let layer = Dense::new(kernel, &spec, batch, &mut layout).unwrap();
    let mut params = layout.zeros();
    let mut next = uniform(4);
    for (_, id) in layout.names() {
        layout.initialise(&mut params, id, Init::Uniform(0.5), &mut next);
    }
    // Wider than the layer reads: further columns belong to other layers.
    let mut x = Matrix::zeros(batch, order.width() + 3);
    let mut dy = Matrix::zeros(batch, outputs);
    for b in 0..batch {
        let values = numbers(order.count() + 3, 50 + b as u64);
        for (&at, &value) in order.positions().iter().zip(&values) {
            x.row_mut(b)[at as usize] = value;
        }
        x.row_mut(b)[order.width()..].copy_from_slice(&values[order.count()..]);
        dy.row_mut(b).copy_from_slice(&numbers(outputs, 90 + b as u64));
    }
    Built { layout, params, layer, x, dy }
}

/// Forward against the definition; gradients of Σ dy ⊙ y against finite differences.
fn check(kernel: Kernel, order: InputOrder, outputs: usize, batch: usize) {
    let Built { layout, params, mut layer, x, dy } = built(kernel, order.clone(), outputs, batch);
    let inputs: Vec<Vec<f64>> =
        (0..batch).map(|b| order.to_torch(x.row(b)).into_iter().map(f64::from).collect()).collect();
    let (w, bias) = (tensor(&layout, &params, layer.weight()), tensor(&layout, &params, layer.bias().unwrap()));
    let mut y = Matrix::zeros(batch, outputs);
    layer.forward(&params, &x, &mut y, Activation::Relu);
    for (b, x) in inputs.iter().enumerate() {
        for (o, expected) in dense(x, &w, Some(&bias)).into_iter().enumerate() {
            assert_close(y.row(b)[o], expected.max(0.0), 1e-5, "y");
        }
        assert!(y.padded_row(b)[outputs..].iter().all(|&padding| padding == 0.0));
    }
    let mut gradients = layout.zeros();
    layer.gradient(&mut gradients, &x, &dy);
    let loss = |w: &[f64], bias: &[f64]| -> f64 {
        let ys = inputs.iter().flat_map(|x| dense(x, w, Some(bias)));
        ys.zip((0..batch).flat_map(|b| dy.row(b))).map(|(y, &dy)| y * f64::from(dy)).sum()
    };
    let (dw, db) = (layout.read(&gradients, layer.weight()), layout.read(&gradients, layer.bias().unwrap()));
    let mut pick = uniform(8);
    for _ in 0..8 {
        let (i, o) = ((pick() * dw.len() as f64) as usize, (pick() * db.len() as f64) as usize);
        assert_close(dw[i], slope(&|w| loss(w, &bias), &w, i), 1e-4, "dw");
        assert_close(db[o], slope(&|b| loss(&w, b), &bias, o), 1e-4, "db");
    }
}

#[test]
fn values_and_gradients_match_the_definition_on_every_kernel() {
    for kernel in Kernel::available() {
        check(kernel, InputOrder::image(20, 9), 37, 7);
        check(kernel, InputOrder::natural(515), 6, 1);
        check(kernel, InputOrder::natural(40).followed_by(5), 130, 2);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn any_shape_and_batch_equals_the_definition(inputs in 1_usize..300, outputs in 1_usize..80, batch in 1_usize..65) {
        check(Kernel::detect(), InputOrder::natural(inputs), outputs, batch);
    }
}

#[test]
fn one_example_alone_gives_the_bits_it_gives_in_a_batch_however_many_of_its_inputs_are_zero() {
    for (kernel, activation) in
        Kernel::available().into_iter().flat_map(|kernel| [(kernel, Activation::Linear), (kernel, Activation::Relu)])
    {
        let Built { params, mut layer, mut x, .. } = built(kernel, InputOrder::natural(700), 90, 9);
        for b in 0..9 {
            // One input of b + 1 stays; of the last example none.
            let is_kept = |i: usize| b < 8 && i.is_multiple_of(b + 1);
            x.row_mut(b).iter_mut().enumerate().filter(|(i, _)| !is_kept(*i)).for_each(|(_, value)| *value = 0.0);
        }
        let mut y = Matrix::zeros(9, 90);
        layer.forward(&params, &x, &mut y, activation);
        for b in 0..9 {
            let (mut one, mut y_one) = (Matrix::zeros(1, x.cols()), Matrix::zeros(1, 90));
            one.row_mut(0).copy_from_slice(x.row(b));
            layer.forward(&params, &one, &mut y_one, activation);
            let bits = |row: &[f32]| row.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(y_one.row(0)), bits(y.row(b)), "example {b} on {}", kernel.name());
        }
    }
}

/// Parameters and second moments after three optimiser steps.
fn train(built: &Built, kernel: Kernel, is_fused: bool) -> (Vec<f32>, Vec<f32>) {
    let Built { layout, params, layer, x, dy } = built;
    let (mut params, mut gradients) = (params.clone(), layout.zeros());
    let config = AdamHyperparameters { learning_rate: 1e-2, beta1: 0.9, beta2: 0.999, epsilon: 1.5e-4 };
    let mut adam = Adam::new(kernel, config, layout.len());
    for _ in 0..3 {
        adam.begin_step();
        if is_fused {
            let update = DenseUpdate { layer, x, dy };
            adam.weight_updates(&mut params, std::iter::once(update)).for_each(WeightUpdate::run);
            layer.update_bias(&mut params, &mut adam, &mut gradients, dy);
        } else {
            layer.gradient(&mut gradients, x, dy);
            adam.apply(&mut params, &gradients, 0..layout.len());
        }
    }
    (params.to_vec(), adam.second_moments().to_vec())
}

#[test]
fn fused_and_unfused_updates_agree_to_rounding() {
    for kernel in Kernel::available() {
        for batch in [1, 32, 300] {
            let built = built(kernel, InputOrder::natural(900), 70, batch);
            let ((fused, fused_v), (plain, plain_v)) = (train(&built, kernel, true), train(&built, kernel, false));
            for (a, b) in fused.iter().zip(&plain).chain(fused_v.iter().zip(&plain_v)) {
                assert_close(*a, f64::from(*b), 1e-5, "parameter or moment");
            }
        }
    }
}

#[test]
fn the_number_of_threads_changes_no_bit() {
    let kernel = Kernel::detect();
    let built = built(kernel, InputOrder::natural(1100), 150, 33);
    let on = |threads: usize| {
        rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(|| {
            let (mut y, mut layer) = (Matrix::zeros(33, 150), built.layer.clone());
            layer.forward(&built.params, &built.x, &mut y, Activation::Linear);
            (train(&built, kernel, true), train(&built, kernel, false), y.as_slice().to_vec())
        })
    };
    let alone = on(1);
    for threads in [2, 3, 8] {
        assert_eq!(on(threads), alone);
    }
}

#[test]
fn all_kernels_give_the_same_bits() {
    let results = Kernel::available().into_iter().map(|kernel| {
        let built = built(kernel, InputOrder::natural(500), 48, 16);
        let bits = |numbers: &[f32]| numbers.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        [true, false].map(|fused| bits(&train(&built, kernel, fused).0))
    });
    let results: Vec<_> = results.collect();
    assert!(results.iter().all(|other| *other == results[0]));
}

#[test]
fn a_layer_without_outputs_is_refused() {
    let spec = DenseSpec { weight: "fc1.weight", bias: None, inputs: InputOrder::natural(4), outputs: 0 };
    let error = Dense::new(Kernel::detect(), &spec, 1, &mut Layout::default()).unwrap_err();
    assert_eq!(error.to_string(), "layer fc1: the number of outputs is 0; it must be at least 1");
}
