//! What a learn step drew and computed, as named tensors in PyTorch's order: for an outside judge and for the tests.

use crate::NoiseForm;
use crate::network::Network;
use crate::noise::PassNoise;
use crate::workspace::Workspace;
use sane_nn::{Matrix, NamedTensor};

/// All of it; names are listed at [`Learner::last_step`](crate::Learner::last_step).
pub(crate) fn of_step(network: &Network, work: &Workspace) -> Vec<NamedTensor> {
    let mut tensors = Vec::new();
    let passes = [("online", Some(&work.online)), ("target", Some(&work.target)), ("selector", work.selector.as_ref())];
    for (prefix, pass) in passes {
        if let Some(noise) = pass.and_then(|pass| pass.perturbation.drawn()) {
            add_noise(&mut tensors, prefix, network, noise);
        }
    }
    tensors.push(rows("q", work.online.q()));
    if let Some(sigma) = work.online.perturbation.sigma() {
        let mut sigma = rows("sigma", sigma);
        if sigma.shape[1] == 1 {
            sigma.shape.pop();
        }
        tensors.push(sigma);
    }
    if let Some(langevin) = &work.langevin {
        let noise = network.layout.export(langevin.noise()).into_iter();
        tensors.extend(noise.map(|tensor| NamedTensor { name: format!("langevin.{}", tensor.name), ..tensor }));
    }
    let targets = work.targets.clone();
    let shape = if work.heads == 1 { vec![work.batch] } else { vec![work.batch, work.heads] };
    if work.heads != 1 || work.weights.iter().any(|weight| *weight != 1.0) {
        tensors.push(NamedTensor { name: "weight".into(), shape: shape.clone(), values: work.weights.clone() });
    }
    tensors.push(NamedTensor { name: "target_value".into(), shape, values: targets });
    tensors
}

fn add_noise(tensors: &mut Vec<NamedTensor>, prefix: &str, network: &Network, noise: &PassNoise) {
    let draws = noise.draws();
    let mut add = |name: String, own: Vec<usize>, values: Vec<f32>| {
        let shape = if noise.is_shared() { own } else { [vec![draws], own].concat() };
        tensors.push(NamedTensor { name: format!("{prefix}.{name}"), shape, values });
    };
    for (k, layer) in network.layers.iter().enumerate() {
        let (inputs, outputs) = (layer.inputs.count(), layer.mean.outputs());
        let z_out: Vec<f32> = (0..draws).flat_map(|i| noise.z_out(k, i).to_vec()).collect();
        match noise.form() {
            NoiseForm::Factored => {
                let z_in = (0..draws).flat_map(|i| layer.inputs.to_torch(noise.z_in(k, i))).collect();
                add(format!("z_in{}", k + 1), vec![inputs], z_in);
                add(format!("z_out{}", k + 1), vec![outputs], z_out);
            }
            NoiseForm::Independent => {
                let mut row = vec![0.0; layer.width()];
                let mut eps_w = Vec::with_capacity(draws * outputs * inputs);
                for (i, j) in (0..draws).flat_map(|i| (0..outputs).map(move |j| (i, j))) {
                    noise.weight_row(k, i, j, &mut row);
                    eps_w.extend(layer.inputs.to_torch(&row));
                }
                add(format!("eps_w{}", k + 1), vec![outputs, inputs], eps_w);
                add(format!("eps_b{}", k + 1), vec![outputs], z_out);
            }
        }
    }
}

fn rows(name: &str, matrix: &Matrix) -> NamedTensor {
    let values = (0..matrix.rows()).flat_map(|i| matrix.row(i).to_vec()).collect();
    NamedTensor { name: name.into(), shape: vec![matrix.rows(), matrix.cols()], values }
}
