//! The acting half of an agent: a state in, a [`Decision`] out. Everything evaluation needs, and no optimiser.

use crate::behaviour::{Behaviour, Thompson};
use crate::bound::BoundState;
use crate::network::Network;
use crate::noise::PassRole;
use crate::noise_law::{NoiseLaw, unit_variance};
use crate::pass::{Element, Memory, Pass};
use crate::perturbation::Purpose;
use crate::td_target::greedy;
use crate::{AgentConfig, AgentError, Objective, SigmaStats};
use sane_env::{Action, AgentSteps, EnvSpec, Stream};
use sane_nn::{Buffer, Kernel, NamedTensor};

/// How an action is chosen.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum ActMode {
    /// As in training after `now` interactions: random actions and noise as the agent explores.
    Explore { now: AgentSteps },
    /// Random with probability ε, else greedy without noise, whatever the agent: futures of an audit.
    EpsilonGreedy { epsilon: f32 },
    /// Greedy on the network as it is perturbed in training, by a draw of the decision's or of the episode's; agents without noise,
    /// or that do not act on theirs, are plainly greedy.
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
    /// Whether the noise-free network would have chosen otherwise, be it that noise or that chance chose.
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
    /// The weight of the KL term, for agents that choose it by the size of the noise.
    pub(crate) bound: Option<BoundState>,
    /// The draw that is acted on until the episode ends, where noise is held so long.
    held_draw: Option<u64>,
    pass: Pass,
    /// Q(s, ·) of the last decision, and what it would have been without noise.
    q: Vec<f32>,
    plain_q: Vec<f32>,
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
        let bound = config.exploration.bound().copied().map(BoundState::new);
        let q = vec![0.0; world.actions.len()];
        let (config, world, plain_q) = (config.clone(), world.clone(), q.clone());
        Ok(Self { config, world, network, params, behaviour, bound, held_draw: None, pass, q, plain_q })
    }

    /// An episode begins: action rules that last several decisions start afresh, and so does noise that lasts an episode.
    pub fn begin_episode(&mut self) {
        self.behaviour.begin_episode();
        self.held_draw = None;
    }

    /// Whether one draw of the noise is acted on until the episode ends.
    pub fn holds_noise_for_an_episode(&self) -> bool {
        self.config.exploration.thompson() == Thompson::Episode
    }

    /// Tells the true risk of a state that is about to be decided on, to agents that read it.
    pub fn inform(&mut self, state: &[u8], true_risk: f64) {
        self.behaviour.inform(state, true_risk);
    }

    /// Chooses an action. The action rule and, for noisy agents, one 64-bit draw for the perturbation read `noise`.
    ///
    /// ```text
    /// ε ~ N(0, 1);  θᵖ' ← θᵖ + σ(h(s; θᵇ); Θ)·ε;  a ← argmax_a Q(s, a; θᵖ', θᵇ)               [SANE:alg-act]
    /// ```
    pub fn act(&mut self, state: &[u8], mode: ActMode, noise: &mut Stream) -> Decision {
        assert_eq!(state.len(), self.world.state_bytes(), "act: a state has {} bytes", self.world.state_bytes());
        let explores = matches!(mode, ActMode::Explore { .. });
        let has_noise = explores || mode == ActMode::Noisy;
        if has_noise {
            self.behaviour.begin_decision();
        }
        if explores {
            self.behaviour.visit(state);
            self.bound.iter_mut().for_each(BoundState::add_transition);
        }
        let actions = self.world.actions.len();
        let random = match mode {
            ActMode::Explore { now } => {
                // Nothing is drawn where there is no random start.
                let start = Some(self.config.random_start.epsilon(now)).filter(|epsilon| 0.0 < *epsilon);
                let at_start = start.and_then(|epsilon| epsilon_random(epsilon, actions, noise));
                at_start.or_else(|| self.behaviour.choose(now, actions, noise))
            }
            ActMode::EpsilonGreedy { epsilon } => epsilon_random(epsilon, actions, noise),
            ActMode::Noisy | ActMode::Greedy => None,
        };
        let Self { config, network, params, behaviour, bound, held_draw, pass, q, plain_q, .. } = self;
        let running_gap = bound.as_ref().map_or(0.0, BoundState::gap);
        let may_draw = has_noise && random.is_none() && pass.perturbation.draws_to_act();
        let draw = match config.exploration.thompson() {
            Thompson::Never => None,
            _ if !may_draw => None,
            Thompson::Step => Some(noise.next_u64()),
            Thompson::Episode => Some(*held_draw.get_or_insert_with(|| noise.next_u64())),
        };
        if let Some(draw) = draw {
            pass.perturbation.draw(draw, PassRole::Actor);
        }
        let is_noisy = draw.is_some();
        let purpose = if is_noisy { Purpose::Act } else { Purpose::ActWithoutNoise };
        pass.hidden(network, params, state, None);
        if explores {
            behaviour.visit_features(&pass.features.row(0)[..network.feature_width()]);
        }
        pass.head(network, params, purpose, state, Memory { behaviour: behaviour.as_ref(), running_gap });
        pass.action_values(params, plain_q, is_noisy.then_some(&mut q[..]));
        if !is_noisy {
            q.copy_from_slice(plain_q);
        }
        if let Some(action) = random {
            // What the greedy action would have been: only so can agents be compared at equal shares of changed actions.
            let noise_changed_action = greedy(q) != usize::from(action.0);
            return Decision { action, q: None, sigma: None, noise_changed_action, random: true };
        }
        let action = greedy(q);
        let mean_abs = |sigma: &[f32]| sigma.iter().map(|s| s.abs()).sum::<f32>() / sigma.len() as f32;
        Decision {
            action: Action(action as u16),
            q: Some(q[action]),
            sigma: pass.perturbation.sigma().map(|sigma| mean_abs(sigma.row(0))),
            noise_changed_action: is_noisy && greedy(plain_q) != action,
            random: false,
        }
    }

    /// What the noise in a state should follow from; none for agents whose noise no single σ(s) scales.
    pub fn noise_law(&mut self, state: &[u8]) -> Option<NoiseLaw> {
        self.look_at(state);
        let Self { network, params, bound, pass, config, .. } = self;
        let unit_variance = unit_variance(network, params, pass)?;
        let perturbed = network.perturbed();
        let weight = match (bound, config.objective) {
            (Some(bound), _) => Some(bound.kl_weight(perturbed)),
            (None, Objective::Elbo { kl_weight }) => Some(kl_weight),
            (None, _) => None,
        };
        let kl_weight = weight.map(|weight| f64::from(weight) * perturbed as f64 * pass.perturbation.kl_scale(0));
        Some(NoiseLaw { unit_variance, kl_weight })
    }

    /// How often the agent has seen a state, or states it takes for the same; none for agents that do not count.
    pub fn visits(&mut self, state: &[u8]) -> Option<u32> {
        self.look_at(state);
        self.behaviour.visits(state, &self.pass.features.row(0)[..self.network.feature_width()])
    }

    /// A pass without noise that no count notices.
    fn look_at(&mut self, state: &[u8]) {
        self.act(state, ActMode::Greedy, &mut Stream::named(0, "a greedy decision draws nothing"));
    }

    /// What decides its actions beside the parameters, and a checkpoint keeps: the behaviour's memory, then the state of the bound,
    /// then the draw that is held. Empty for agents that remember nothing.
    pub fn memory(&self) -> Vec<u32> {
        let mut memory = self.behaviour.memory().to_vec();
        memory.extend(self.bound.iter().flat_map(BoundState::words));
        if self.holds_noise_for_an_episode() {
            let draw = self.held_draw.unwrap_or(0);
            memory.extend([u32::from(self.held_draw.is_some()), (draw >> 32) as u32, draw as u32]);
        }
        memory
    }

    /// Replaces what it remembers by what [`memory`](Self::memory) gave; refuses what is not of this agent in this world.
    pub fn set_memory(&mut self, memory: &[u32]) -> Result<(), AgentError> {
        self.check_memory(memory)?;
        self.restore_memory(memory);
        Ok(())
    }

    /// Whether this can be the memory of this agent in this world.
    pub(crate) fn check_memory(&self, memory: &[u32]) -> Result<(), AgentError> {
        let (found, expected) = (memory.len(), self.memory().len());
        if found != expected {
            return Err(AgentError::BehaviourMemory { found, expected });
        }
        let (of_behaviour, rest) = memory.split_at(self.behaviour.memory().len());
        let is_valid = self.behaviour.is_valid(of_behaviour, self.world.actions.len())
            && self.bound.as_ref().is_none_or(|bound| bound.is_valid(rest));
        if is_valid { Ok(()) } else { Err(AgentError::BehaviourState) }
    }

    /// Restores a memory that has been checked.
    pub(crate) fn restore_memory(&mut self, memory: &[u32]) {
        let (of_behaviour, rest) = memory.split_at(self.behaviour.memory().len());
        self.behaviour.restore(of_behaviour);
        if let Some(bound) = &mut self.bound {
            bound.restore(rest);
        }
        if let (true, Some([is_held, high, low])) = (self.holds_noise_for_an_episode(), rest.last_chunk().copied()) {
            self.held_draw = (is_held != 0).then_some(u64::from(high) << 32 | u64::from(low));
        }
    }

    /// Q(s, ·) of the last decision: of the perturbed network where there was noise, of the plain one where chance chose.
    pub fn q_values(&self) -> &[f32] {
        &self.q
    }

    /// σ of the last state and the health of the module in it alone; none for agents without σ.
    pub fn sigma_stats(&self) -> Option<SigmaStats> {
        self.pass.perturbation.sigma_stats()
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
