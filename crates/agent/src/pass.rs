//! One pass of a batch through a network: forward ([`Pass`]: states in, Q(s, ·) and σ(s) out) and, below it, backward
//! ([`Backward`]: ∂L/∂Q in, all derivatives and Adam's step out). What perturbs the dense layers is the pass's
//! [`Perturbation`]; this file knows only when it is asked.

use crate::behaviour::Behaviour;
use crate::network::{Layer, Network};
use crate::noise::PassRole;
use crate::objective::{KlParts, Regulariser};
use crate::perturbation::{ActedOn, KlTerm, LayerContext, Perturbation, Purpose, QValuesRead, StateInputs};
use sane_nn::{Activation, Adam, Buffer, DenseUpdate, Head, InputGradient, Matrix, Observations, Trace};

/// What the agent remembers, as a pass reads it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Memory<'a> {
    pub behaviour: &'a dyn Behaviour,
    /// Running median of the gap between action values.
    pub running_gap: f32,
}

/// How the numbers of a state are stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Element {
    Bytes,
    /// Little-endian `f32`.
    Floats,
}

/// Activations of a batch.
#[derive(Debug, Clone)]
pub(crate) struct Pass {
    /// h(s) and, behind it, the extra features: [B, width].
    pub features: Matrix,
    /// Outputs of the dense layers, after ReLU but for the last: Q(s, ·).
    pub y: Vec<Matrix>,
    /// The same without noise, where both are wanted.
    plain: Vec<Matrix>,
    /// Whether a learn step reads Q̄(s, ·), too.
    pub learns_plain_q: bool,
    pub perturbation: Box<dyn Perturbation>,
    element: Element,
    floats: Vec<f32>,
}

impl Pass {
    /// Buffers for `batch` states.
    pub fn new(network: &Network, element: Element, batch: usize) -> Self {
        let outputs = || network.layers.iter().map(|layer| Matrix::zeros(batch, layer.mean.outputs())).collect();
        let perturbation = network.perturbation.for_batch(batch);
        Self {
            features: Matrix::zeros(batch, network.feature_width() + perturbation.extra_features()),
            y: outputs(),
            plain: outputs(),
            learns_plain_q: false,
            perturbation,
            element,
            floats: Vec::new(),
        }
    }

    /// Q(s, ·) of the pass, [B, A].
    pub fn q(&self) -> &Matrix {
        &self.y[self.y.len() - 1]
    }

    /// Q̄(s, ·), where it was computed beside the perturbed one or is the only one.
    pub fn plain_q(&self) -> &Matrix {
        if self.perturbation.perturbs_weights() { &self.plain[self.plain.len() - 1] } else { self.q() }
    }

    /// Inputs of the last layer, φ(s).
    pub fn last_inputs(&self) -> &Matrix {
        match self.y.len() {
            1 => &self.features,
            layers => &self.y[layers - 2],
        }
    }

    /// The action values to act on in the first state, without noise and, if wanted, as drawn.
    pub fn action_values(&mut self, params: &[f32], plain: &mut [f32], sampled: Option<&mut [f32]>) {
        let last = self.y.len() - 1;
        let outputs = self.y[last].row(0);
        if self.perturbation.perturbs_weights() {
            match sampled {
                Some(sampled) => {
                    sampled.copy_from_slice(outputs);
                    plain.copy_from_slice(self.plain_q().row(0));
                }
                None => plain.copy_from_slice(outputs),
            }
            return;
        }
        let x = match last {
            0 => self.features.row(0),
            _ => self.y[last - 1].row(0),
        };
        self.perturbation.action_values(ActedOn { params, x, outputs }, plain, sampled);
    }

    /// A learn step's pass: draws the noise, then Q(s, ·) of the perturbed network. Activations of the torso are kept in
    /// `trace`, if there is one.
    ///
    /// DEVIATION(hidden-state-of-the-loss): the online network sees sᵢ, the target network s'ᵢ:
    /// docs/deviations.md#hidden-state-of-the-loss.
    pub fn forward(
        &mut self,
        network: &mut Network,
        params: &[f32],
        states: &[u8],
        (draw, role): (u64, PassRole),
        memory: Memory<'_>,
        trace: Option<&mut Trace>,
    ) {
        self.perturbation.draw(draw, role);
        self.hidden(network, params, states, trace);
        self.head(network, params, Purpose::Learn, states, memory);
    }

    /// h(s), keeping what a backward pass needs in `trace`, if there is one.
    ///
    /// ```text
    /// compute h(s; θᵇ)                                                                      [SANE:alg-hidden]
    /// ```
    pub fn hidden(&mut self, network: &mut Network, params: &[f32], states: &[u8], trace: Option<&mut Trace>) {
        if self.element == Element::Floats {
            self.floats.clear();
            let float = |b: &[u8]| f32::from_le_bytes([b[0], b[1], b[2], b[3]]);
            self.floats.extend(states.chunks_exact(4).map(float));
        }
        let observations = observations(self.element, states, &self.floats);
        match trace {
            Some(trace) => network.torso.forward(params, observations, trace, &mut self.features),
            None => network.torso.infer(params, observations, &mut self.features),
        }
    }

    /// σ(s) and Q(s, ·) from h(s): perturbed ones to learn, perturbed and plain ones to act with noise, else plain ones.
    pub fn head(&mut self, network: &mut Network, params: &[f32], purpose: Purpose, states: &[u8], memory: Memory<'_>) {
        if purpose == Purpose::ActWithoutNoise || !self.perturbation.perturbs_weights() {
            self.plain_head(network, params);
            self.prepare(params, states, memory, (QSource::Main, purpose));
            if !self.perturbation.perturbs_weights()
                && let Some(q) = self.y.last_mut()
            {
                self.perturbation.add_prior(params, observations(self.element, states, &self.floats), q);
            }
            return;
        }
        // W₁h + b₁ is shared by the perturbed and the unperturbed pass.
        network.layers[0].mean.forward(params, &self.features, &mut self.y[0], Activation::Linear);
        let q_values = self.perturbation.reads_q_values();
        if purpose == Purpose::Act || self.learns_plain_q || q_values != QValuesRead::None {
            self.plain_beside(network, params);
        }
        self.prepare(params, states, memory, (QSource::Plain, purpose));
        // DEVIATION(noisy-q-features): the authors' way, on request: docs/deviations.md#noisy-q-features.
        if q_values == QValuesRead::NoisyWhenLearning && purpose == Purpose::Learn {
            self.perturbed_head(network, params);
            self.prepare(params, states, memory, (QSource::Main, purpose));
            network.layers[0].mean.forward(params, &self.features, &mut self.y[0], Activation::Linear);
        }
        self.perturbed_head(network, params);
    }

    fn plain_head(&mut self, network: &mut Network, params: &[f32]) {
        let count = network.layers.len();
        for (k, layer) in network.layers.iter_mut().enumerate() {
            let (before, here) = self.y.split_at_mut(k);
            layer.mean.forward(params, before.last().unwrap_or(&self.features), &mut here[0], activation(k, count));
        }
    }

    /// Q̄ from y₁, which holds W₁h + b₁, leaving y as it is.
    fn plain_beside(&mut self, network: &mut Network, params: &[f32]) {
        let count = network.layers.len();
        self.plain[0].as_mut_slice().copy_from_slice(self.y[0].as_slice());
        if 1 < count {
            network.kernel.relu(self.plain[0].as_mut_slice());
        }
        for (k, layer) in network.layers.iter_mut().enumerate().skip(1) {
            let (before, here) = self.plain.split_at_mut(k);
            layer.mean.forward(params, &before[k - 1], &mut here[0], activation(k, count));
        }
    }

    fn prepare(&mut self, params: &[f32], states: &[u8], memory: Memory<'_>, (q, purpose): (QSource, Purpose)) {
        let values = match q {
            QSource::Plain => &self.plain,
            QSource::Main => &self.y,
        };
        let Memory { behaviour, running_gap } = memory;
        let inputs = StateInputs { states, q_values: &values[values.len() - 1], behaviour, running_gap, purpose };
        self.perturbation.prepare(params, &mut self.features, &inputs);
    }

    /// Perturbs y₁, which holds W₁h + b₁, and continues to Q.
    fn perturbed_head(&mut self, network: &mut Network, params: &[f32]) {
        let count = network.layers.len();
        for k in 0..count {
            let (before, here) = self.y.split_at_mut(k);
            let (x, y) = (before.last().unwrap_or(&self.features), &mut here[0]);
            if 0 < k {
                network.layers[k].mean.forward(params, x, y, Activation::Linear);
            }
            let at = LayerContext { params, k, layer: &network.layers[k], is_last: k + 1 == count };
            self.perturbation.perturb(&at, x, y);
        }
    }
}

/// Which action values σ(s) may read.
enum QSource {
    /// Those computed beside the perturbed ones.
    Plain,
    /// Those of the pass itself.
    Main,
}

fn activation(k: usize, layers: usize) -> Activation {
    if k + 1 < layers { Activation::Relu } else { Activation::Linear }
}

fn observations<'a>(element: Element, states: &'a [u8], floats: &'a [f32]) -> Observations<'a> {
    match element {
        Element::Bytes => Observations::Bytes(states),
        Element::Floats => Observations::Floats(floats),
    }
}

/// Derivatives of a batch, and scratch to compute them.
#[derive(Debug, Clone)]
pub(crate) struct Backward {
    /// ∂L/∂(outputs of each dense layer before ReLU); the last is ∂L/∂Q, which the caller fills.
    pub d_y: Vec<Matrix>,
    /// ∂L/∂(every parameter), where it is stored.
    flat: Buffer,
    /// The torso's activations, kept by the forward pass.
    pub trace: Trace,
    d_features: Matrix,
    into_layer: Vec<InputGradient>,
}

impl Backward {
    /// Buffers for the derivatives of `pass`.
    pub fn new(network: &Network, pass: &Pass) -> Self {
        let batch = pass.features.rows();
        let into_layer = |(k, layer): (usize, &Layer)| match pass.perturbation.feature_layer() {
            Some(beside) if k == 0 => InputGradient::new(network.kernel, &[&layer.mean, beside], batch),
            _ => InputGradient::new(network.kernel, &[&layer.mean], batch),
        };
        Self {
            d_y: pass.y.clone(),
            flat: network.layout.zeros(),
            trace: network.torso.trace(),
            d_features: pass.features.clone(),
            into_layer: network.layers.iter().enumerate().map(into_layer).collect(),
        }
    }

    /// All derivatives towards activations, down to h(s). Returns what the KL of σ(s) adds to the loss.
    pub fn down_to_features(
        &mut self,
        network: &Network,
        params: &[f32],
        pass: &mut Pass,
        regulariser: Option<&Regulariser>,
    ) -> f32 {
        let Pass { features, y, perturbation, .. } = pass;
        let count = network.layers.len();
        let at = |k| LayerContext { params, k, layer: &network.layers[k], is_last: k + 1 == count };
        for k in (1..count).rev() {
            let (below, here) = self.d_y.split_at_mut(k);
            let (dx, delta) = (&mut below[k - 1], &here[0]);
            let heads = [Head { layer: &network.layers[k].mean, dy: delta, input_scale: None }];
            self.into_layer[k].compute(params, &heads, dx);
            perturbation.backward_noise(&at(k), &y[k - 1], delta, &mut self.flat);
            perturbation.backward_input(&at(k), delta, dx);
            network.kernel.relu_backward(dx.as_mut_slice(), y[k - 1].as_slice());
        }
        perturbation.backward_noise(&at(0), features, &self.d_y[0], &mut self.flat);
        let kl = perturbation.backward_sigma(regulariser, params, &mut self.flat);
        if network.learns_features {
            let main = Head { layer: &network.layers[0].mean, dy: &self.d_y[0], input_scale: None };
            match perturbation.feature_head() {
                Some(beside) => self.into_layer[0].compute(params, &[main, beside], &mut self.d_features),
                None => self.into_layer[0].compute(params, &[main], &mut self.d_features),
            }
            perturbation.backward_input(&at(0), &self.d_y[0], &mut self.d_features);
        }
        kl
    }

    /// The convolutions' derivatives into `flat`, and Adam's step on everything, fused with the derivatives of the dense
    /// weights, which are never stored and run while the convolutions leave threads idle.
    pub fn update(&mut self, network: &mut Network, params: &mut [f32], adam: &mut Adam, pass: &Pass, states: &[u8]) {
        adam.begin_step();
        let Network { torso, layers, .. } = network;
        let count = layers.len();
        let (d_y, own) = (&self.d_y, |k| pass.perturbation.own_update(k, &pass.features));
        let of_layers =
            layers.iter().enumerate().flat_map(|(k, layer)| [Some(mean_update(layer, pass, d_y, k)), own(k)]);
        let dense = adam.weight_updates(params, of_layers.flatten().chain((count..).map_while(own)));
        let observations = observations(pass.element, states, &pass.floats);
        torso.backward(observations, &self.trace, &pass.features, &self.d_features, &mut self.flat, dense);
        adam.apply(params, &self.flat, torso.param_range());
        for (layer, dy) in layers.iter().zip(&self.d_y) {
            layer.mean.update_bias(params, adam, &mut self.flat, dy);
        }
        for DenseUpdate { layer, dy, .. } in own_updates(pass, count) {
            layer.update_bias(params, adam, &mut self.flat, dy);
        }
        for range in (0..).map_while(|i| pass.perturbation.stored_gradient(i)) {
            adam.apply(params, &self.flat, range);
        }
    }

    /// The same with every derivative stored first, for steps that need them whole: the KL of the parameters, or a limit on the
    /// norm of the gradient. Returns what that KL adds to the loss, and the norm.
    pub fn store(
        &mut self,
        network: &mut Network,
        params: &[f32],
        pass: &Pass,
        states: &[u8],
        regulariser: Option<&Regulariser>,
    ) -> (KlParts, f32) {
        let observations = observations(pass.element, states, &pass.floats);
        let none = std::iter::empty();
        network.torso.backward(observations, &self.trace, &pass.features, &self.d_features, &mut self.flat, none);
        for (k, layer) in network.layers.iter().enumerate() {
            let DenseUpdate { layer, x, dy } = mean_update(layer, pass, &self.d_y, k);
            layer.gradient(&mut self.flat, x, dy);
        }
        for DenseUpdate { layer, x, dy } in own_updates(pass, network.layers.len()) {
            layer.gradient(&mut self.flat, x, dy);
        }
        let kl = match regulariser {
            Some(weights) => self.add_parameter_kl(network, params, pass, weights),
            None => KlParts::default(),
        };
        (kl, sane_nn::global_norm(network.kernel, &self.flat))
    }

    /// ∂L/∂(every parameter), as [`store`](Self::store) left it.
    pub fn gradients(&self) -> &[f32] {
        &self.flat
    }

    /// Adam's step with the stored derivatives, all of them multiplied by `gradient_scale`.
    pub fn apply_stored(&self, params: &mut [f32], adam: &mut Adam, gradient_scale: f32) {
        adam.begin_clipped_step(gradient_scale);
        adam.apply(params, &self.flat, 0..self.flat.len());
    }

    /// The KL of all parameters: adds its derivative to `flat`, returns what it adds to the loss.
    fn add_parameter_kl(&mut self, network: &Network, params: &[f32], pass: &Pass, weights: &Regulariser) -> KlParts {
        let mut parts = KlParts { sigma: weights.constant, means: 0.0 };
        for (name, id) in network.layout.names() {
            let range = network.layout.range(id);
            let (p, g) = (&params[range.clone()], &mut self.flat[range]);
            match pass.perturbation.kl_term(name) {
                KlTerm::Deviation => parts.sigma += weights.add_kl_of_deviations(p, g),
                KlTerm::Mean if weights.parameters != 0.0 => {
                    parts.means += 0.5 * weights.parameters * network.kernel.dot(p, p);
                    network.kernel.axpy(g, weights.parameters, p);
                }
                KlTerm::Mean | KlTerm::OfStates => {}
            }
        }
        parts
    }
}

fn mean_update<'a>(layer: &'a Layer, pass: &'a Pass, d_y: &'a [Matrix], k: usize) -> DenseUpdate<'a> {
    let x = if k == 0 { &pass.features } else { &pass.y[k - 1] };
    DenseUpdate { layer: &layer.mean, x, dy: &d_y[k] }
}

/// The updates of the dense layers that the perturbation owns.
fn own_updates(pass: &Pass, layers: usize) -> impl Iterator<Item = DenseUpdate<'_>> {
    let own = |k| pass.perturbation.own_update(k, &pass.features);
    (0..layers).filter_map(own).chain((layers..).map_while(own))
}
