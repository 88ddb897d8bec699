//! What an exploration mechanism does inside the network: it perturbs the dense layers of one pass and derives through
//! that. One implementation per way of exploring, in `explorers/`; [`Unperturbed`] is the plain DQN.
//!
//! A [`Perturbation`] belongs to one pass over a batch and owns what that pass needs: its own dense layers (shapes and
//! scratch; parameters are passed in), its noise, its activations and its derivatives. Nothing is allocated after
//! [`for_batch`](Perturbation::for_batch).

use crate::behaviour::Behaviour;
use crate::network::Layer;
use crate::noise::{PassNoise, PassRole};
use crate::objective::Regulariser;
use crate::sigma::SigmaStats;
use sane_nn::{Dense, DenseUpdate, Head, Kernel, Matrix, Observations};
use std::fmt::Debug;
use std::ops::Range;

/// One dense layer of the head, as a perturbation sees it.
#[derive(Debug, Clone, Copy)]
pub struct LayerContext<'a> {
    /// All parameters of the network whose pass this is.
    pub params: &'a [f32],
    /// Index of the layer, from 0.
    pub k: usize,
    pub layer: &'a Layer,
    /// Whether its outputs are Q(s, ·), so that no ReLU follows.
    pub is_last: bool,
}

/// What a perturbation may read of the batch's states, beside their features h(s).
#[derive(Debug, Clone, Copy)]
pub struct StateInputs<'a> {
    /// The states' bytes, one after the other.
    pub states: &'a [u8],
    /// Q̄(s, ·) where [`Perturbation::reads_q_values`] asks for it; no derivative flows back through it.
    pub q_values: &'a Matrix,
    /// What the agent remembers of states.
    pub behaviour: &'a dyn Behaviour,
    /// Running median of max Q̄ − mean Q̄, for agents with a KL term of their own; 0 before the first batch.
    pub running_gap: f32,
    pub purpose: Purpose,
}

/// What a pass is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// To choose an action by perturbed action values.
    Act,
    /// To choose an action without noise: σ(s) is only reported.
    ActWithoutNoise,
    Learn,
}

/// The state in which an action is chosen.
#[derive(Debug, Clone, Copy)]
pub struct ActedOn<'a> {
    pub params: &'a [f32],
    /// Inputs of the last layer.
    pub x: &'a [f32],
    /// Its outputs, one set of action values per head.
    pub outputs: &'a [f32],
}

/// Which action values a perturbation reads before it perturbs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QValuesRead {
    None,
    /// Unperturbed ones.
    Clean,
    /// Perturbed ones when learning (computed with the σ that the clean ones give), unperturbed ones when acting.
    NoisyWhenLearning,
}

/// How one parameter tensor enters the KL term of the objective.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KlTerm {
    /// As means μ: ½‖μ‖².
    Mean,
    /// As deviations σ: Σ (σ²/2 − log|σ|).
    Deviation,
    /// Through σ(s) of the batch, in [`Perturbation::backward_sigma`].
    OfStates,
}

/// The noise of one pass. The methods stand in the order in which a learn step calls them.
pub trait Perturbation: CloneBoxed + Debug + Send + Sync {
    /// The same for passes over `batch` states, with buffers of its own.
    fn for_batch(&self, batch: usize) -> Box<dyn Perturbation>;

    /// Whether it perturbs the weights of the pass; where it does not, it may still act on one of several heads or on a draw
    /// ([`action_values`](Self::action_values)).
    fn perturbs_weights(&self) -> bool {
        true
    }

    /// Whether an exploring decision depends on a draw.
    fn draws_to_act(&self) -> bool {
        self.perturbs_weights()
    }

    /// How many sets of action values the last layer gives, one behind the other: one, or one per head of an ensemble.
    fn heads(&self) -> usize {
        1
    }

    /// The weight of a transition, by its number, in the loss of a head.
    fn weight(&self, _transition: u64, _head: usize) -> f32 {
        1.0
    }

    /// Columns appended to h(s), which [`prepare`](Self::prepare) fills.
    fn extra_features(&self) -> usize {
        0
    }

    /// Which action values it reads in [`prepare`](Self::prepare). Those from which the size of the noise follows are computed
    /// either way, where [`Explorer::bound`](crate::Explorer::bound) is given.
    fn reads_q_values(&self) -> QValuesRead {
        QValuesRead::None
    }

    /// Draws the noise of the pass from one 64-bit number.
    fn draw(&mut self, draw: u64, role: PassRole);

    /// Computes σ(s) from `features`, which hold h(s) and the extra columns; also called for passes without noise, where
    /// σ(s) is only recorded.
    fn prepare(&mut self, params: &[f32], features: &mut Matrix, inputs: &StateInputs<'_>);

    /// Forward: `y` holds W x + b and becomes W̃ x + b̃, followed by ReLU unless the layer is the last.
    fn perturb(&mut self, at: &LayerContext<'_>, x: &Matrix, y: &mut Matrix);

    /// Forward: adds to the outputs of the last layer what is not learned. Asked only where no weight is perturbed.
    fn add_prior(&mut self, _params: &[f32], _observations: Observations<'_>, _q: &mut Matrix) {}

    /// Acting where no weight is perturbed: action values without noise, and the ones drawn where they are wanted.
    fn action_values(&mut self, on: ActedOn<'_>, plain: &mut [f32], sampled: Option<&mut [f32]>) {
        plain.copy_from_slice(on.outputs);
        if let Some(sampled) = sampled {
            sampled.copy_from_slice(on.outputs);
        }
    }

    /// Backward: ∂L/∂(scale of the noise) from `delta` = ∂L/∂y. Gradients that no [`DenseUpdate`] carries go to
    /// `gradients`.
    fn backward_noise(&mut self, at: &LayerContext<'_>, x: &Matrix, delta: &Matrix, gradients: &mut [f32]);

    /// Backward: adds the noise's part to `dx`, which holds Wᵀδ. Called after [`backward_noise`](Self::backward_noise) of
    /// the same layer.
    fn backward_input(&mut self, at: &LayerContext<'_>, delta: &Matrix, dx: &mut Matrix);

    /// Backward: from ∂L/∂σ(s) of all layers to what computes σ(s). Returns what the KL term of σ(s) adds to the loss.
    fn backward_sigma(&mut self, _regulariser: Option<&Regulariser>, _params: &[f32], _gradients: &mut [f32]) -> f32 {
        0.0
    }

    /// A dense layer that reads h(s) beside the first layer of the head.
    fn feature_layer(&self) -> Option<&Dense> {
        None
    }

    /// That layer's part of ∂L/∂h, after [`backward_sigma`](Self::backward_sigma).
    fn feature_head(&self) -> Option<Head<'_>> {
        None
    }

    /// The update of the own dense layer whose weights follow layer `k` of the head in the parameter layout; `k` counts on
    /// beyond the last layer. `features` is what [`prepare`](Self::prepare) saw.
    fn own_update<'a>(&'a self, _k: usize, _features: &'a Matrix) -> Option<DenseUpdate<'a>> {
        None
    }

    /// The `i`-th range of own parameters whose gradient [`backward_noise`](Self::backward_noise) or
    /// [`backward_sigma`](Self::backward_sigma) wrote down whole.
    fn stored_gradient(&self, _i: usize) -> Option<Range<usize>> {
        None
    }

    /// Puts own parameters back into their range after a step whose gradient reached them through the KL term.
    fn project(&self, _params: &mut [f32]) {}

    /// Own parameters that learn at another rate than the network, and by which factor.
    fn rate_scale(&self) -> Option<(Range<usize>, f32)> {
        None
    }

    /// How the tensor of this name enters the KL term.
    fn kl_term(&self, _tensor: &str) -> KlTerm {
        KlTerm::Mean
    }

    /// σ of each state, [B, number of σ]; none where σ belongs to no state.
    fn sigma(&self) -> Option<&Matrix> {
        None
    }

    /// Size and sign of σ over the batch.
    fn sigma_stats(&self) -> Option<SigmaStats> {
        let sigma = self.sigma()?;
        Some(SigmaStats::new((0..sigma.rows()).flat_map(|i| sigma.row(i).iter().copied()), 1.0))
    }

    /// Variance of each output of a dense layer with inputs `x` if σ were 1; none where no single σ scales all layers.
    fn unit_variance(&self, _x: &[f32]) -> Option<f64> {
        None
    }

    /// f²: what the weight of the KL is multiplied by in the i-th state of the pass, whose noise of Q then is f times the wanted
    /// one.
    fn kl_scale(&self, _i: usize) -> f64 {
        1.0
    }

    /// The noise as drawn, for the trace of a learn step.
    fn drawn(&self) -> Option<&PassNoise> {
        None
    }
}

/// Cloning behind a `Box<dyn Perturbation>`; every `Clone` type has it.
pub trait CloneBoxed {
    fn clone_boxed(&self) -> Box<dyn Perturbation>;
}

impl<T: Perturbation + Clone + 'static> CloneBoxed for T {
    fn clone_boxed(&self) -> Box<dyn Perturbation> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn Perturbation> {
    fn clone(&self) -> Self {
        self.as_ref().clone_boxed()
    }
}

/// No perturbation: a plain DQN.
#[derive(Debug, Clone, Copy)]
pub struct Unperturbed;

impl Perturbation for Unperturbed {
    fn for_batch(&self, _batch: usize) -> Box<dyn Perturbation> {
        Box::new(Self)
    }

    fn perturbs_weights(&self) -> bool {
        false
    }

    fn draw(&mut self, _draw: u64, _role: PassRole) {}

    fn prepare(&mut self, _params: &[f32], _features: &mut Matrix, _inputs: &StateInputs<'_>) {}

    fn perturb(&mut self, _at: &LayerContext<'_>, _x: &Matrix, _y: &mut Matrix) {}

    fn backward_noise(&mut self, _at: &LayerContext<'_>, _x: &Matrix, _delta: &Matrix, _gradients: &mut [f32]) {}

    fn backward_input(&mut self, _at: &LayerContext<'_>, _delta: &Matrix, _dx: &mut Matrix) {}
}

/// Noise whose scale is one σ per state, or one per state and layer: the part of a [`Perturbation`] that does not care where
/// σ comes from. Rank-one noise is the fast form (`perturbed_layer.rs`), independent noise the slow reference
/// (`explorers/reference.rs`).
pub(crate) trait ScaledNoise: CloneScaled + Debug + Send + Sync {
    fn for_batch(&self, batch: usize) -> Box<dyn ScaledNoise>;

    fn draw(&mut self, draw: u64, role: PassRole);

    fn drawn(&self) -> &PassNoise;

    /// Variance of each output of a layer with inputs `x` if σ were 1.
    fn unit_variance(&self, x: &[f32]) -> f64;

    /// y ← W̃ x + b̃ with W̃ = W + σ(s)·ε_w, then ReLU unless the layer is the last.
    fn perturb(&mut self, at: &LayerContext<'_>, sigma: &Matrix, x: &Matrix, y: &mut Matrix);

    /// Adds this layer's part of ∂L/∂σ(s).
    fn backward_sigma(
        &mut self,
        at: &LayerContext<'_>,
        sigma: &Matrix,
        x: &Matrix,
        delta: &Matrix,
        d_sigma: &mut Matrix,
    );

    /// Adds the noise's part to `dx`, which holds Wᵀδ.
    fn backward_input(&mut self, at: &LayerContext<'_>, sigma: &Matrix, delta: &Matrix, dx: &mut Matrix);
}

/// ‖x‖², in f64.
pub(crate) fn squared_norm(x: &[f32]) -> f64 {
    x.iter().map(|x| f64::from(*x) * f64::from(*x)).sum()
}

/// Which σ of a state scales layer `k`: the only one, or that of the layer.
pub(crate) fn sigma_column(sigma: &Matrix, k: usize) -> usize {
    if sigma.cols() == 1 { 0 } else { k }
}

/// Cloning behind a `Box<dyn ScaledNoise>`.
pub(crate) trait CloneScaled {
    fn clone_scaled(&self) -> Box<dyn ScaledNoise>;
}

impl<T: ScaledNoise + Clone + 'static> CloneScaled for T {
    fn clone_scaled(&self) -> Box<dyn ScaledNoise> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn ScaledNoise> {
    fn clone(&self) -> Self {
        self.as_ref().clone_scaled()
    }
}

/// Shapes that the noise of a head needs: (columns of an input row, outputs) of each layer.
pub(crate) fn noise_shapes(layers: &[Layer]) -> Vec<(usize, usize)> {
    layers.iter().map(|layer| (layer.width(), layer.mean.outputs())).collect()
}

/// The fast or the slow form of scaled noise, as the settings ask.
pub(crate) fn scaled_noise(noise: crate::Noise, kernel: Kernel, layers: &[Layer]) -> Box<dyn ScaledNoise> {
    match noise.form {
        crate::NoiseForm::Factored => Box::new(crate::perturbed_layer::RankOneNoise::new(noise, kernel, layers)),
        crate::NoiseForm::Independent => {
            Box::new(crate::explorers::reference::ScaledIndependent::new(noise, kernel, layers))
        }
    }
}
