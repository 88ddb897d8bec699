//! The acting half of an agent: a state in, a [`Decision`] out. Everything evaluation needs, and no optimiser.

use crate::exploration::QFeatures;
use crate::extra_features::{ExtraFeatures, FeatureSources};
use crate::network::{Mechanism, Network};
use crate::noise::NoiseUser;
use crate::pass::{Element, HeadMode, Pass};
use crate::td_target::greedy;
use crate::{ActMode, AgentConfig, AgentError, Decision, SigmaStats};
use sane_env::{Action, EnvSpec, Stream};
use sane_nn::{Buffer, Kernel, NamedTensor};

/// A network with its parameters, and scratch for one state.
#[derive(Debug, Clone)]
pub struct Policy {
    pub(crate) config: AgentConfig,
    pub(crate) world: EnvSpec,
    pub(crate) network: Network,
    pub(crate) params: Buffer,
    pub(crate) sources: FeatureSources,
    pass: Pass,
}

impl Policy {
    /// A policy with the given parameters, as [`Learner::export`](crate::Learner::export) gives them.
    pub fn new(config: &AgentConfig, world: &EnvSpec, tensors: &[NamedTensor]) -> Result<Self, AgentError> {
        let mut policy = Self::untrained(config, world, &mut Stream::named(0, "overwritten"), Kernel::detect())?;
        policy.import(tensors)?;
        Ok(policy)
    }

    pub(crate) fn untrained(
        config: &AgentConfig,
        world: &EnvSpec,
        init: &mut Stream,
        kernel: Kernel,
    ) -> Result<Self, AgentError> {
        let network = Network::new(config, world, kernel, 1)?;
        let mut params = network.layout.zeros();
        network.initialise(config, &mut params, init);
        let pass = Pass::new(&network, &config.exploration, 1);
        let sources = FeatureSources::of(&config.exploration, world.actions.len());
        Ok(Self { config: config.clone(), world: world.clone(), network, params, sources, pass })
    }

    /// Chooses an action. One number is drawn from `noise` for the perturbation; ε-greedy draws from it, too.
    ///
    /// ```text
    /// ε ~ N(0, 1);  θᵖ' ← θᵖ + σ(h(s; θᵇ); Θ)·ε;  a ← argmax_a Q(s, a; θᵖ', θᵇ)               [SANE:alg-act]
    /// ```
    pub fn act(&mut self, state: &[u8], mode: ActMode, noise: &mut Stream) -> Decision {
        assert_eq!(state.len(), self.world.state_bytes(), "act: a state has {} bytes", self.world.state_bytes());
        if mode != ActMode::Greedy
            && let Some(visits) = &mut self.sources.visits
        {
            visits.visit(state);
        }
        if let ActMode::Explore { epsilon } = mode
            && noise.uniform() < f64::from(epsilon)
        {
            let action = Action(noise.below(self.world.actions.len() as u64) as u16);
            return Decision { action, q: None, sigma: None, noise_changed_action: false, random: true };
        }
        let is_noisy = mode == ActMode::Noisy && self.network.mechanism != Mechanism::None;
        if is_noisy && let Some(drawn) = &mut self.pass.noise {
            drawn.draw(self.network.kernel, noise.next_u64(), NoiseUser::Actor);
        }
        let kind = element(&self.world);
        let head = if is_noisy { HeadMode::NoisyBesidePlain } else { HeadMode::Plain };
        let Self { network, params, sources, pass, .. } = self;
        pass.hidden(network, params, state, kind, None);
        // Acting always reads clean features; see `QFeatures::Noisy`.
        pass.head(network, params, head, QFeatures::Clean, sources, state);
        let q = pass.q().row(0);
        let action = greedy(q);
        let mean_abs = |sigma: &[f32]| sigma.iter().map(|s| s.abs()).sum::<f32>() / sigma.len() as f32;
        Decision {
            action: Action(action as u16),
            q: Some(q[action]),
            sigma: pass.sigma.as_ref().map(|sigma| mean_abs(sigma.row(0))),
            noise_changed_action: is_noisy && greedy(pass.plain_q().row(0)) != action,
            random: false,
        }
    }

    /// Q(s, ·) of the last state that chance did not decide: of the perturbed network where there was noise.
    pub fn q_values(&self) -> &[f32] {
        self.pass.q().row(0)
    }

    /// All σ of that state with their signs: one, or one per layer or weight; none for agents without.
    pub fn sigmas(&self) -> &[f32] {
        self.pass.sigma.as_ref().map_or(&[], |sigma| sigma.row(0))
    }

    /// Size and sign of σ over some states, and whether the module behind it is alive; none for agents without σ(s).
    pub fn module_health(&self, states: &[u8]) -> Option<SigmaStats> {
        let batch = states.len() / self.world.state_bytes();
        if batch == 0 || self.network.sigmas() == 0 {
            return None;
        }
        let mut network = self.network.resized(&self.config, &self.world, batch).ok()?;
        let mut pass = Pass::new(&network, &self.config.exploration, batch);
        pass.hidden(&mut network, &self.params, states, element(&self.world), None);
        pass.head(&mut network, &self.params, HeadMode::Plain, QFeatures::Clean, &self.sources, states);
        pass.sigma_stats()
    }

    /// All parameters with PyTorch's names, shapes and layouts.
    pub fn export(&self) -> Vec<NamedTensor> {
        self.network.layout.export(&self.params)
    }

    /// Takes parameters over; refuses a set that does not fit, naming what does not.
    pub fn import(&mut self, tensors: &[NamedTensor]) -> Result<(), AgentError> {
        Ok(self.network.layout.import(&mut self.params, tensors)?)
    }
}

/// How this world's states are stored.
pub(crate) fn element(world: &EnvSpec) -> Element {
    match world.frame.element {
        sane_env::Element::U8 { .. } => Element::Bytes,
        sane_env::Element::F32 => Element::Floats,
    }
}
