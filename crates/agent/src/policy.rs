//! The acting half of an agent: a state in, a [`Decision`] out. Everything evaluation needs, and no optimiser.

use crate::behaviour::Behaviour;
use crate::network::Network;
use crate::noise::PassRole;
use crate::pass::{Element, HeadMode, Pass};
use crate::td_target::greedy;
use crate::{AgentConfig, AgentError};
use sane_env::{Action, AgentSteps, EnvSpec, Stream};
use sane_nn::{Buffer, Kernel, NamedTensor};

/// How an action is chosen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ActMode {
    /// As in training after `now` interactions: random actions and noise as the agent explores.
    Explore { now: AgentSteps },
    /// Random with probability ε, else greedy without noise, whatever the agent: futures of an audit.
    EpsilonGreedy { epsilon: f32 },
    /// Greedy on a freshly perturbed network; agents without noise are plainly greedy.
    Noisy,
    /// Greedy without noise: evaluation.
    Greedy,
}

/// An action and what is known about how it came about.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Decision {
    pub action: Action,
    /// Q(s, action) of the network that chose; none for a random action.
    pub q: Option<f32>,
    /// |σ(s)|, for agents whose noise has one (the mean over layers or weights where it has several).
    pub sigma: Option<f32>,
    /// Whether the noise-free network would have chosen otherwise ("effective exploration").
    pub noise_changed_action: bool,
    /// Whether the action rule chose without the network.
    pub random: bool,
}

/// A network with its parameters, and scratch for one state.
#[derive(Debug, Clone)]
pub struct Policy {
    pub(crate) config: AgentConfig,
    pub(crate) world: EnvSpec,
    pub(crate) network: Network,
    pub(crate) params: Buffer,
    pub(crate) behaviour: Box<dyn Behaviour>,
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
        network.initialise(&mut params, init);
        let pass = Pass::new(&network, element(world), 1);
        let behaviour = config.exploration.behaviour();
        Ok(Self { config: config.clone(), world: world.clone(), network, params, behaviour, pass })
    }

    /// An episode begins: action rules that last several decisions start afresh.
    pub fn begin_episode(&mut self) {
        self.behaviour.begin_episode();
    }

    /// Chooses an action. The action rule and, for noisy agents, one 64-bit draw for the perturbation read `noise`.
    ///
    /// ```text
    /// ε ~ N(0, 1);  θᵖ' ← θᵖ + σ(h(s; θᵇ); Θ)·ε;  a ← argmax_a Q(s, a; θᵖ', θᵇ)               [SANE:alg-act]
    /// ```
    pub fn act(&mut self, state: &[u8], mode: ActMode, noise: &mut Stream) -> Decision {
        assert_eq!(state.len(), self.world.state_bytes(), "act: a state has {} bytes", self.world.state_bytes());
        if mode != ActMode::Greedy {
            self.behaviour.visit(state);
        }
        let actions = self.world.actions.len();
        let random = match mode {
            ActMode::Explore { now } => self.behaviour.choose(now, actions, noise),
            ActMode::EpsilonGreedy { epsilon } => epsilon_random(epsilon, actions, noise),
            ActMode::Noisy | ActMode::Greedy => None,
        };
        if let Some(action) = random {
            return Decision { action, q: None, sigma: None, noise_changed_action: false, random: true };
        }
        let Self { network, params, behaviour, pass, .. } = self;
        let is_noisy = matches!(mode, ActMode::Explore { .. } | ActMode::Noisy) && pass.perturbation.is_active();
        let head = if is_noisy { HeadMode::NoisyBesidePlain } else { HeadMode::Plain };
        if is_noisy {
            pass.perturbation.draw(noise.next_u64(), PassRole::Actor);
        }
        pass.hidden(network, params, state, None);
        pass.head(network, params, head, state, behaviour.as_ref());
        let q = pass.q().row(0);
        let action = greedy(q);
        let mean_abs = |sigma: &[f32]| sigma.iter().map(|s| s.abs()).sum::<f32>() / sigma.len() as f32;
        Decision {
            action: Action(action as u16),
            q: Some(q[action]),
            sigma: pass.perturbation.sigma().map(|sigma| mean_abs(sigma.row(0))),
            noise_changed_action: is_noisy && greedy(pass.plain_q().row(0)) != action,
            random: false,
        }
    }

    /// Q(s, ·) of the last decision that was not random: of the perturbed network where there was noise.
    pub fn q_values(&self) -> &[f32] {
        self.pass.q().row(0)
    }

    /// All σ of that state with their signs: one, or one per layer or weight; none for agents without.
    pub fn sigmas(&self) -> &[f32] {
        self.pass.perturbation.sigma().map_or(&[], |sigma| sigma.row(0))
    }

    /// All parameters with PyTorch's names, shapes and layouts.
    pub fn export(&self) -> Vec<NamedTensor> {
        self.network.layout.export(&self.params)
    }

    /// Replaces all parameters; refuses a set that does not fit, naming what does not.
    pub fn import(&mut self, tensors: &[NamedTensor]) -> Result<(), AgentError> {
        Ok(self.network.layout.import(&mut self.params, tensors)?)
    }
}

/// A uniformly random action with probability ε.
pub(crate) fn epsilon_random(epsilon: f32, actions: usize, noise: &mut Stream) -> Option<Action> {
    (noise.uniform() < f64::from(epsilon)).then(|| Action(noise.below(actions as u64) as u16))
}

/// How this world's states are stored.
pub(crate) fn element(world: &EnvSpec) -> Element {
    match world.frame.element {
        sane_env::Element::U8 { .. } => Element::Bytes,
        sane_env::Element::F32 => Element::Floats,
    }
}
