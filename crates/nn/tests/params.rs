//! Parameters: export and import round-trip, wrong tensors are rejected by name, initial values have their distribution.

use sane_nn::{ConvSpec, Dense, DenseSpec, ImageShape, Init, InputOrder, Kernel, Layout, NnError, Torso, TorsoSpec};

fn network() -> Layout {
    let kernel = Kernel::detect();
    let mut layout = Layout::default();
    let layers = vec![ConvSpec { channels: 20, kernel: 3, stride: 1 }, ConvSpec { channels: 5, kernel: 2, stride: 1 }];
    let input = ImageShape { channels: 3, height: 9, width: 9 };
    let torso =
        Torso::new(kernel, &TorsoSpec { input, byte_scale: 1.0, layers, has_bias: true }, 2, &mut layout).unwrap();
    let inputs = torso.features().followed_by(4);
    let spec = DenseSpec { weight: "fc1.weight", bias: Some("fc1.bias"), inputs, outputs: 19 };
    Dense::new(kernel, &spec, 2, &mut layout).unwrap();
    layout
}

fn counter() -> impl FnMut() -> f64 {
    let mut state = 1_u64;
    move || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    }
}

#[test]
fn exported_tensors_import_bit_for_bit() {
    let layout = network();
    let mut flat = layout.zeros();
    let mut next = counter();
    for (_, id) in layout.names() {
        layout.initialise(&mut flat, id, Init::GlorotUniform, &mut next);
    }
    let tensors = layout.export(&flat);
    let shapes: Vec<_> = tensors.iter().map(|tensor| (tensor.name.as_str(), tensor.shape.clone())).collect();
    assert_eq!(shapes[0], ("conv1.weight", vec![20, 3, 3, 3]));
    assert_eq!(shapes[4], ("fc1.weight", vec![19, 5 * 36 + 4]));
    let mut back = layout.zeros();
    layout.import(&mut back, &tensors).unwrap();
    assert_eq!(&*back, &*flat);
}

#[test]
fn tensors_that_do_not_fit_are_rejected_by_name_and_nothing_is_written() {
    let layout = network();
    let good = layout.export(&layout.zeros());
    let mut flat = layout.zeros();
    let mut rejected = |change: &dyn Fn(&mut Vec<sane_nn::NamedTensor>)| {
        let mut tensors = good.clone();
        tensors.iter_mut().for_each(|tensor| tensor.values.fill(7.0));
        change(&mut tensors);
        let error = layout.import(&mut flat, &tensors).unwrap_err();
        assert!(flat.iter().all(|&value| value == 0.0));
        error
    };
    assert!(matches!(rejected(&|t| drop(t.remove(1))), NnError::MissingTensor { name, .. } if name == "conv1.bias"));
    assert!(
        matches!(rejected(&|t| t[4].shape = vec![184, 19]), NnError::WrongShape { name, .. } if name == "fc1.weight")
    );
    assert!(
        matches!(rejected(&|t| t[0].values.truncate(3)), NnError::WrongShape { name, .. } if name == "conv1.weight")
    );
    let add_unknown = |t: &mut Vec<sane_nn::NamedTensor>| {
        let mut tensor = t[0].clone();
        tensor.name = "conv9.weight".to_owned();
        t.push(tensor);
    };
    assert!(matches!(rejected(&add_unknown), NnError::UnknownTensor { name, .. } if name == "conv9.weight"));
    assert!(matches!(rejected(&|t| t.push(t[0].clone())), NnError::DuplicateTensor { name } if name == "conv1.weight"));
}

#[test]
fn a_name_can_be_given_only_once() {
    let mut layout = network();
    assert_eq!(layout.add_vector("fc1.bias", 3), Err(NnError::DuplicateTensor { name: "fc1.bias".to_owned() }));
}

#[test]
fn initial_values_have_the_variance_and_bound_of_their_distribution() {
    let mut layout = Layout::default();
    let id = layout.add_dense("w", &InputOrder::natural(300), 500).unwrap();
    let mut flat = layout.zeros();
    let mut drawn = |init: Init| {
        layout.initialise(&mut flat, id, init, &mut counter());
        let values = layout.read(&flat, id);
        let variance = values.iter().map(|&x| f64::from(x).powi(2)).sum::<f64>() / values.len() as f64;
        (variance, values.iter().fold(0.0_f32, |most, x| most.max(x.abs())))
    };
    for (init, variance, bound) in [
        (Init::GlorotUniform, 6.0 / 800.0 / 3.0, (6.0_f32 / 800.0).sqrt()),
        (Init::FanInUniform, 1.0 / 300.0 / 3.0, (1.0_f32 / 300.0).sqrt()),
        (Init::Uniform(0.25), 0.0625 / 3.0, 0.25),
        (Init::HeNormal, 2.0 / 300.0, f32::INFINITY),
        (Init::Constant(0.5), 0.25, 0.5),
    ] {
        let (found, most) = drawn(init);
        assert!((found / variance - 1.0).abs() < 0.02 && most <= bound, "{init:?}: variance {found}, largest {most}");
    }
}
