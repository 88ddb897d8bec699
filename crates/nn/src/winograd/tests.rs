//! Winograd's method against the direct convolution of `conv.rs`, which is itself tested against the definition in f64.

use super::*;
use crate::conv::{ConvContext, ConvSpec, ImageOrder, ImageShape};
use crate::init::Init;
use crate::params::Layout;
use crate::reference::{numbers, uniform};

/// Outputs, weight gradient and input gradient of either method.
struct Pass {
    y: Vec<f32>,
    dw: Vec<f32>,
    dx: Vec<f32>,
}

struct Case {
    conv: Conv,
    params: Buffer,
    x: Vec<f32>,
    dy: Vec<f32>,
    count: usize,
}

fn case(kernel: Kernel, channels: usize, (height, width): (usize, usize), spec: ConvSpec, count: usize) -> Case {
    let input = ImageShape { channels, height, width };
    let mut layout = Layout::default();
    let context = ConvContext { input, order: ImageOrder::ChannelsLast, has_bias: true };
    let conv = Conv::new(kernel, "conv", spec, context, &mut layout).unwrap();
    let mut params = layout.zeros();
    let mut next = uniform(1);
    for (_, id) in layout.names() {
        layout.initialise(&mut params, id, Init::Uniform(0.5), &mut next);
    }
    let (x, dy) = (numbers(count * conv.input.padded_len(), 2), numbers(count * conv.output.padded_len(), 3));
    Case { conv, params, x, dy, count }
}

fn directly(case: &Case) -> Pass {
    let Case { conv, params, x, dy, .. } = case;
    let mut transposed = vec![0.0; conv.transposed_len()];
    for (piece, out) in transposed.chunks_mut(conv.transposed_piece_len()).enumerate() {
        conv.transpose_piece(params, piece, out);
    }
    let mut pass = Pass { y: vec![0.0; dy.len()], dw: vec![0.0; conv.weight.len()], dx: vec![0.0; x.len()] };
    let (inputs, outputs) = (conv.input.padded_len(), conv.output.padded_len());
    let mut packed = vec![0.0; outputs];
    for e in 0..case.count {
        let (x, dy) = (&x[e * inputs..][..inputs], &dy[e * outputs..][..outputs]);
        conv.forward(params, x, &mut pass.y[e * outputs..][..outputs]);
        conv.gradient(x, dy, &mut packed, &mut pass.dw, Accumulator::C);
        conv.add_input_gradient(&transposed, dy, &mut pass.dx[e * inputs..][..inputs]);
    }
    pass
}

fn filters(case: &Case, winograd: &Winograd) -> Vec<f32> {
    let mut filters = vec![0.0; winograd.filters_len()];
    for (piece, out) in filters.chunks_mut(winograd.filters_piece_len()).enumerate() {
        winograd.transform_filters(&case.params, piece, out);
    }
    filters
}

fn by_tiles(case: &Case, winograd: &Winograd) -> Pass {
    let Case { conv, params, x, dy, .. } = case;
    let (filters, mut transposed) = (filters(case, winograd), vec![0.0; winograd.filters_len()]);
    for (piece, out) in transposed.chunks_mut(winograd.transposed_filters_piece_len()).enumerate() {
        winograd.transpose_filters(params, piece, out);
    }
    let mut scratch = WinogradScratch::new(std::iter::once(winograd));
    let mut pass = Pass { y: vec![0.0; dy.len()], dw: vec![f32::NAN; conv.weight.len()], dx: vec![f32::NAN; x.len()] };
    let weights = Weights { params, filters: &filters };
    winograd.forward(weights, x, (&mut pass.y, conv.output.padded_len()), &mut scratch);
    // In two halves, so that overwriting and adding are both seen.
    let (inputs, outputs) = (conv.input.padded_len(), conv.output.padded_len());
    let mut done = 0;
    for count in [case.count.div_ceil(2), case.count / 2] {
        if 0 < count {
            let x = &x[done * inputs..][..count * inputs];
            winograd.begin_backward(x, &dy[done * outputs..][..count * outputs], &mut scratch);
            winograd.gradient(count, 0 < done, &mut pass.dw, &mut scratch);
            winograd.input_gradient(&transposed, &mut pass.dx[done * inputs..][..count * inputs], &mut scratch);
        }
        done += count;
    }
    pass
}

/// The largest difference, relative to the root of the mean square of the expected values.
fn distance(found: &[f32], expected: &[f32]) -> f64 {
    let scale = (expected.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>() / expected.len() as f64).sqrt();
    let difference = |(&found, &expected): (&f32, &f32)| (f64::from(found) - f64::from(expected)).abs() / scale;
    found.iter().zip(expected).map(difference).fold(0.0, |largest, next| if next <= largest { largest } else { next })
}

fn check(kernel: Kernel, channels: usize, size: (usize, usize), spec: ConvSpec, count: usize) {
    let case = case(kernel, channels, size, spec, count);
    let winograd = Winograd::of(&case.conv, CHUNK).expect("the method applies");
    let (found, expected) = (by_tiles(&case, &winograd), directly(&case));
    for (what, found, expected) in
        [("y", found.y, expected.y), ("dw", found.dw, expected.dw), ("dx", found.dx, expected.dx)]
    {
        let distance = distance(&found, &expected);
        assert!(distance < 1e-5, "{what} of {size:?}, {spec:?}, {count} examples, {}: {distance:e}", kernel.name());
    }
}

#[test]
fn the_nature_network_is_that_of_the_direct_method_on_every_kernel() {
    for kernel in Kernel::available() {
        check(kernel, 64, (21, 21), ConvSpec { channels: 32, kernel: 2, stride: 1 }, 1);
        check(kernel, 32, (20, 20), ConvSpec { channels: 64, kernel: 4, stride: 2 }, 4);
        check(kernel, 64, (9, 9), ConvSpec { channels: 64, kernel: 3, stride: 1 }, 4);
    }
}

#[test]
fn ragged_edges_odd_channels_and_unused_borders_are_those_of_the_direct_method() {
    let kernel = Kernel::detect();
    for count in 1..=CHUNK {
        check(kernel, 5, (9, 12), ConvSpec { channels: 17, kernel: 3, stride: 1 }, count);
        check(kernel, 20, (7, 10), ConvSpec { channels: 3, kernel: 2, stride: 1 }, count);
        check(kernel, 3, (25, 22), ConvSpec { channels: 33, kernel: 6, stride: 3 }, count);
        check(kernel, 16, (16, 17), ConvSpec { channels: 16, kernel: 6, stride: 2 }, count);
    }
}

#[test]
fn a_layer_that_would_gain_little_keeps_the_direct_method() {
    let of = |size, kernel, stride| {
        let spec = ConvSpec { channels: 16, kernel, stride };
        Winograd::of(&case(Kernel::detect(), 16, (size, size), spec, 1).conv, 1)
    };
    assert!(of(4, 3, 1).is_some());
    assert!(of(3, 3, 1).is_none(), "one output");
    assert!(of(9, 5, 1).is_none(), "too many taps");
    assert!(of(9, 3, 2).is_none(), "the window is no multiple of the stride");
    assert!(of(9, 1, 1).is_none(), "nothing to share");
}

/// Outputs of the pass with the tile cache, and the number of distinct tiles.
fn with_tile_cache(case: &Case, winograd: &Winograd) -> (Vec<f32>, usize) {
    let Case { conv, params, x, .. } = case;
    let (mut y, mut packed) = (vec![f32::NAN; case.dy.len()], vec![f32::NAN; x.len()]);
    let (mut scratch, mut cache) =
        (WinogradScratch::new(std::iter::once(winograd)), TileCache::new(winograd, case.count));
    let weights = Weights { params, filters: &filters(case, winograd) };
    for _ in 0..2 {
        // Twice, so that content which outlives a pass would be noticed.
        let pack = |e: usize, out: &mut [f32]| out.copy_from_slice(&x[e * out.len()..(e + 1) * out.len()]);
        let y = (&mut y[..], conv.output.padded_len());
        winograd.forward_cached(weights, (&mut packed, pack), y, (&mut scratch, &mut cache));
    }
    (y, cache.distinct())
}

#[test]
fn repeated_tiles_have_the_bits_of_computed_ones() {
    for kernel in Kernel::available() {
        for (channels, size, (window, stride)) in
            [(16, (21, 21), (2, 1)), (20, (12, 15), (3, 1)), (16, (25, 22), (6, 3))]
        {
            let spec = ConvSpec { channels: 33, kernel: window, stride };
            let mut case = case(kernel, channels, size, spec, CHUNK);
            let winograd = Winograd::of(&case.conv, 1).expect("the method applies");
            let tiles = CHUNK * winograd.grid.tiles();
            let (noise, pixel) = (case.x.clone(), case.conv.input.padded_len() / (size.0 * size.1));
            for share in [0.0, 0.02, 0.3, 1.0] {
                // A background of one colour with pixels of noise: all of it, some, or none.
                let mut next = uniform(4);
                for (x, noise) in case.x.chunks_mut(pixel).zip(noise.chunks(pixel)) {
                    if next() < share { x.copy_from_slice(noise) } else { x.fill(0.25) }
                }
                let (y, distinct) = with_tile_cache(&case, &winograd);
                let expected = by_tiles(&case, &Winograd::of(&case.conv, CHUNK).expect("the method applies")).y;
                let bits = |y: &[f32]| y.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
                assert!(bits(&y) == bits(&expected), "{share} of noise, {size:?}, {}", kernel.name());
                match share {
                    0.0 => assert!(distinct <= 4, "the middle, two edges, a corner; not {distinct}"),
                    1.0 => assert_eq!(distinct, tiles, "noise does not repeat"),
                    _ => assert!(4 < distinct && distinct <= tiles),
                }
            }
        }
    }
}
