//! Presets: complete configurations as functions of world and agent. `paper` is the table of the paper; each of the others
//! says in what it differs from it.

use crate::LabError;
use crate::config::{
    ConfigError, Layers, RecordConfig, ReplayConfig, RewardForm, RunConfig, SettingOrigin, TrainingConfig, WorldConfig,
    differences, flat, set_value, unknown_agent,
};
use crate::world::{WorldKind, WorldSource};
use sane_agent::{AdamConfig, AgentConfig, Exploration, LinearSchedule, NetworkSpec};
use sane_arcade::Profile;
use sane_env::{AgentSteps, closest_name};
use sane_gym::is_ale_game;
use sane_minigames::SuitableNetwork;
use sane_record::RunOrigin;
use std::collections::BTreeMap;
use toml::{Table, Value};

/// A named starting point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Preset {
    /// The paper's table.
    Paper,
    /// Minutes instead of days.
    Quick,
    /// The paper's agent in today's standard environment.
    Machado,
    /// The paper's agent in the environment of Mnih et al. 2015.
    Nature,
    /// MinAtar, after its authors.
    Minatar,
    /// Deep sea, after bsuite.
    DeepSea,
    /// The risky road.
    RiskyRoad,
    /// Small environments of Gymnasium.
    Gym,
}

impl Preset {
    /// All of them, with the name to type and what it is.
    pub const ALL: [(Self, &'static str, &'static str); 8] = [
        (Self::Paper, "paper", "the paper's table: 25 million interactions, replay of a million"),
        (Self::Quick, "quick", "100 thousand interactions, small network, faster learning: minutes on two cores"),
        (Self::Machado, "machado", "paper, but sticky actions, all 18 actions, no life signal (Machado et al. 2018)"),
        (Self::Nature, "nature", "paper, but whole screen and maximum of two frames (Mnih et al. 2015)"),
        (Self::Minatar, "minatar", "small network, replay of 100 thousand, a train step per interaction"),
        (Self::DeepSea, "deep-sea", "dense network, 10 thousand episodes, a train step per interaction"),
        (Self::RiskyRoad, "risky-road", "as minatar, 300 thousand interactions"),
        (
            Self::Gym,
            "gym",
            "small Gymnasium environments: 100 thousand interactions (q-sane 250), a network that suits them",
        ),
    ];

    /// The preset of this name.
    pub fn named(name: &str) -> Result<Self, ConfigError> {
        Self::ALL.iter().find(|(_, known, _)| *known == name).map(|(preset, ..)| *preset).ok_or_else(|| {
            let suggestion = closest_name(name, Self::ALL.iter().map(|(_, known, _)| *known)).map(str::to_owned);
            ConfigError::UnknownName { kind: "preset", name: name.into(), suggestion }
        })
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(preset, ..)| *preset == self).map(|(_, name, _)| *name).expect("ALL holds all")
    }

    /// The default preset of a world.
    pub fn default_for(world: &str) -> Result<Self, ConfigError> {
        Ok(match WorldKind::of(world)? {
            WorldKind::Atari(_) => Self::Paper,
            WorldKind::BuiltIn(family) => Self::named(family.preset)?,
            WorldKind::Gym if is_ale_game(world) => Self::Paper,
            WorldKind::Gym => Self::Gym,
        })
    }

    /// The configuration for this world and agent, with seed 1.
    pub fn config(self, world: &str, agent: &str) -> Result<RunConfig, ConfigError> {
        self.config_with(world, network_for(world)?, agent)
    }

    /// The configuration for the worlds of `source`, which need not be built in: the network is the one that suits their
    /// frames.
    pub fn config_in(self, source: &WorldSource, agent: &str) -> Result<RunConfig, LabError> {
        let network = NetworkSpec::for_world(source.make(0)?.spec());
        Ok(self.config_with(&source.config().name, network, agent)?)
    }

    fn config_with(self, world: &str, network: NetworkSpec, agent: &str) -> Result<RunConfig, ConfigError> {
        let paper = paper(world, network, agent)?;
        Ok(match self {
            Self::Paper => paper,
            Self::Quick => quick(paper),
            Self::Machado => with_profile(paper, Profile::Machado),
            Self::Nature => with_profile(paper, Profile::Nature),
            Self::Minatar => minatar(paper),
            Self::DeepSea => deep_sea(paper, world)?,
            Self::RiskyRoad => risky_road(paper),
            Self::Gym => gym(paper),
        })
    }
}

/// A configuration and where each of its values comes from.
#[derive(Debug, Clone)]
pub struct Resolved {
    pub preset: Preset,
    pub config: RunConfig,
    /// By dotted key.
    pub origins: BTreeMap<String, SettingOrigin>,
    /// What preset and world gave alone.
    base: RunConfig,
}

impl Resolved {
    /// The record of a run that `command` begins. Its program's commit is for the caller to say.
    pub fn origin(&self, command: Vec<String>) -> RunOrigin {
        RunOrigin {
            preset: self.preset.name().into(),
            command,
            version: env!("CARGO_PKG_VERSION").into(),
            chosen: self.chosen(),
            ..RunOrigin::default()
        }
    }

    /// The keys whose values are not those of the preset, and what set them. World, agent and seed are always chosen and are
    /// not listed.
    fn chosen(&self) -> BTreeMap<String, String> {
        let (values, before) = (flat(&self.config), flat(&self.base));
        let given = |origin| !matches!(origin, SettingOrigin::Preset | SettingOrigin::World);
        let is_chosen = |(key, origin): &(&String, &SettingOrigin)| {
            !["world.name", "agent", "seed"].contains(&key.as_str())
                && given(**origin)
                && values.get(*key) != before.get(*key)
        };
        let named = |(key, origin): (&String, &SettingOrigin)| (key.clone(), origin.name().to_owned());
        self.origins.iter().filter(is_chosen).map(named).collect()
    }
}

/// The configuration that these layers make of a preset. The frames of a Gymnasium environment are known only after it is
/// made; its network is the one that suits them, unless a layer sets it; vectors get the dense layers of the preset.
pub fn resolve(preset: Preset, world: &str, agent: &str, layers: &Layers) -> Result<Resolved, LabError> {
    let plain = preset.config(world, agent)?;
    let base = base_for(&plain, world, layers)?;
    let config = layers.apply(&base)?;
    let mut origins = layers.origins(&base, &config);
    for key in differences(&plain, &base).into_keys() {
        if let Some(origin @ SettingOrigin::Preset) = origins.get_mut(&key) {
            *origin = SettingOrigin::World;
        }
    }
    origins.insert("world.name".into(), SettingOrigin::World);
    Ok(Resolved { preset, config, origins, base })
}

/// The preset with the network that suits the frames of a Gymnasium environment; of other worlds as it is.
fn base_for(plain: &RunConfig, world: &str, layers: &Layers) -> Result<RunConfig, LabError> {
    let mut base = plain.clone();
    if !matches!(WorldKind::of(world)?, WorldKind::Gym) {
        return Ok(base);
    }
    let config = layers.apply(&base)?;
    let source = WorldSource::open(&config.world, None, &mut |_| ())?;
    let suited = NetworkSpec::for_world(source.make(config.seed)?.spec());
    if suited != NetworkSpec::mlp() || !base.learner.network.convolutions.is_empty() {
        base.learner.network = suited;
    }
    Ok(base)
}

/// The network for a world, by its name.
fn network_for(world: &str) -> Result<NetworkSpec, ConfigError> {
    Ok(match WorldKind::of(world)? {
        WorldKind::Atari(_) => NetworkSpec::nature(),
        WorldKind::BuiltIn(family) => match family.network {
            SuitableNetwork::Convolutional => NetworkSpec::minatar(),
            SuitableNetwork::Dense => NetworkSpec::mlp(),
        },
        WorldKind::Gym if is_ale_game(world) => NetworkSpec::nature(),
        // The frames of a Gymnasium environment are known once it is made; see `resolve`.
        WorldKind::Gym => NetworkSpec::mlp(),
    })
}

fn paper(world: &str, network: NetworkSpec, agent: &str) -> Result<RunConfig, ConfigError> {
    let exploration = Exploration::named(agent).ok_or_else(|| unknown_agent(agent))?;
    Ok(RunConfig {
        agent: agent.into(),
        seed: 1,
        world: WorldConfig::new(world, Profile::Paper),
        training: TrainingConfig {
            total_interactions: AgentSteps(25_000_000),
            learning_starts: AgentSteps(50_000),
            train_period: AgentSteps(4),
            batch_size: 32,
            target_period: AgentSteps(10_000),
            evaluate_every: AgentSteps(0),
        },
        replay: ReplayConfig { capacity: 1_000_000, rewards: RewardForm::Clipped },
        record: RecordConfig {
            interval: AgentSteps(10_000),
            histogram_interval: AgentSteps(250_000),
            checkpoint_interval: AgentSteps(100_000),
            film_interval: FILM_INTERVAL,
        },
        learner: AgentConfig { exploration, network, ..AgentConfig::default() },
    })
}

/// Seconds between films: often enough to watch, too seldom to be felt.
const FILM_INTERVAL: u64 = 120;

/// Minutes on two cores: less of everything, the smaller network of Mnih et al. 2013 for screens, a learning rate five times
/// the paper's, a fresher target, and a discount that looks 20 decisions ahead instead of 100, since early values are the
/// more overestimated the further they look.
fn quick(paper: RunConfig) -> RunConfig {
    let mut config = with_epsilon(
        paper,
        LinearSchedule { first: 1.0, last: 0.05, hold: AgentSteps(2_000), decay: AgentSteps(50_000) },
    );
    config.training = TrainingConfig {
        total_interactions: AgentSteps(100_000),
        learning_starts: AgentSteps(2_000),
        target_period: AgentSteps(1_000),
        evaluate_every: AgentSteps(10_000),
        ..config.training
    };
    // Large enough for a run three times as long, which some games need.
    config.replay.capacity = 300_000;
    config.record = RecordConfig {
        interval: AgentSteps(2_000),
        histogram_interval: AgentSteps(20_000),
        checkpoint_interval: AgentSteps(20_000),
        film_interval: FILM_INTERVAL,
    };
    if config.learner.network == NetworkSpec::nature() {
        config.learner.network = NetworkSpec::nips();
    }
    config.learner.gamma = 0.95;
    config.learner.optimiser.learning_rate = 3e-4;
    config
}

/// Young and Tian 2019 as their released DQN, with these differences: Adam instead of centred RMSprop and the squared
/// error instead of Huber's (the paper's learner, so that agents compare), Glorot instead of PyTorch's default weights. Their
/// ε of 0.01 in the divisor stays: with the paper's 1.5e-4 the values run away (docs/small-worlds.md). The perturbation
/// module has half as many units as the network's dense layer, as in the paper.
fn minatar(paper: RunConfig) -> RunConfig {
    let mut config = with_epsilon(
        paper,
        LinearSchedule { first: 1.0, last: 0.1, hold: AgentSteps(5_000), decay: AgentSteps(100_000) },
    );
    config.training = TrainingConfig {
        total_interactions: AgentSteps(5_000_000),
        learning_starts: AgentSteps(5_000),
        train_period: AgentSteps(1),
        batch_size: 32,
        target_period: AgentSteps(1_000),
        evaluate_every: AgentSteps(50_000),
    };
    config.replay = ReplayConfig { capacity: 100_000, rewards: RewardForm::Raw };
    config.record.checkpoint_interval = AgentSteps(250_000);
    config.learner.optimiser = AdamConfig { learning_rate: 2.5e-4, epsilon: 0.01, ..config.learner.optimiser };
    config.learner = config.learner.with_module_of_half_the_width();
    config
}

/// bsuite's 10,000 episodes with a learner of the size of its DQN.
fn deep_sea(paper: RunConfig, world: &str) -> Result<RunConfig, ConfigError> {
    let length = match WorldKind::of(world)? {
        WorldKind::BuiltIn(family) => family.episode_length(world),
        _ => None,
    };
    let Some(length) = length else {
        let expected =
            "a world whose episodes all have the same length, such as deep-sea/20, since this preset counts in \
                        episodes"
                .into();
        return Err(ConfigError::OutOfRange { key: "world.name", value: world.into(), expected });
    };
    let episodes = |count: u64| AgentSteps(count * length);
    let epsilon = LinearSchedule { first: 1.0, last: 0.05, hold: episodes(10), decay: episodes(1_000) };
    let mut config = with_epsilon(paper, epsilon);
    config.training = TrainingConfig {
        total_interactions: episodes(10_000),
        learning_starts: episodes(10),
        train_period: AgentSteps(1),
        batch_size: 32,
        target_period: AgentSteps(100),
        evaluate_every: episodes(500),
    };
    config.replay = ReplayConfig { capacity: 100_000, rewards: RewardForm::Raw };
    config.record.interval = episodes(100);
    config.record.checkpoint_interval = episodes(2_500);
    config.learner.optimiser.learning_rate = 5e-4;
    config.learner = config.learner.with_module_of_half_the_width();
    Ok(config)
}

/// As MinAtar, but shorter, and with the paper's ε in the divisor, with which every agent learns to drive
/// (docs/results/risky-road.md). Random actions crash here: their share has come down to its last value long before the
/// shortest runs in use end (60,000 interactions).
fn risky_road(paper: RunConfig) -> RunConfig {
    let divisor = paper.learner.optimiser.epsilon;
    let random = LinearSchedule { first: 1.0, last: 0.01, hold: AgentSteps(5_000), decay: AgentSteps(20_000) };
    let mut config = with_epsilon(minatar(paper), random);
    config.learner.optimiser.epsilon = divisor;
    config.training.total_interactions = AgentSteps(300_000);
    config.training.evaluate_every = AgentSteps(10_000);
    config.record.checkpoint_interval = AgentSteps(100_000);
    if let Some((_, key, value)) = KNOBS_ON_THE_ROAD.iter().find(|(agent, ..)| *agent == config.agent) {
        let mut exploration = Table::try_from(&config.learner.exploration).expect("exploration is a table");
        set_value(&mut exploration, key, Value::Float(*value));
        config.learner.exploration = exploration.try_into().expect("the key is one of the agent's");
    }
    config
}

/// What each agent's noise is on the risky road: of the values of `suites/frontier.toml` the one with which it returned most on
/// seeds 101 and 102, which no result uses (docs/results/frontier.md). The last ε of `eps-greedy` and `ez-greedy` is of the same
/// kind; `sane` and `q-sane` have no such setting.
const KNOBS_ON_THE_ROAD: [(&str, &str, f64); 13] = [
    ("bayes-head", "error_deviation", 0.3),
    ("bootstrapped", "prior_scale", 0.0),
    ("langevin", "inverse_temperature", 1e8),
    ("noisynet", "sigma_0", 0.5),
    ("noisynet-elbo", "q_noise", 0.3),
    ("oracle", "q_noise", 0.3),
    ("q-sane-elbo", "q_noise", 0.1),
    ("sane-constant-elbo", "q_noise", 0.1),
    ("sane-counts", "q_noise", 0.1),
    ("sane-elbo", "q_noise", 0.3),
    ("sane-fixed", "sigma", 0.01),
    ("sane-gap", "q_noise", 1.0),
    ("sane-shuffled", "q_noise", 0.3),
];

/// Minutes for environments such as CartPole, in which every step is rewarded: values grow as far as the horizon reaches,
/// and slow ways to fail are seen only by a far one. A small step size and large batches keep such values still. The replay
/// is long enough to remember failures: an agent that has only seen itself succeed overrates every state.
fn gym(paper: RunConfig) -> RunConfig {
    let epsilon = LinearSchedule { first: 1.0, last: 0.05, hold: AgentSteps(1_000), decay: AgentSteps(10_000) };
    let mut config = with_epsilon(paper, epsilon);
    config.training = TrainingConfig {
        total_interactions: AgentSteps(100_000),
        learning_starts: AgentSteps(1_000),
        train_period: AgentSteps(2),
        batch_size: 128,
        target_period: AgentSteps(250),
        evaluate_every: AgentSteps(0),
    };
    config.replay = ReplayConfig { capacity: 100_000, rewards: RewardForm::Raw };
    config.record = RecordConfig {
        interval: AgentSteps(1_000),
        histogram_interval: AgentSteps(20_000),
        checkpoint_interval: AgentSteps(20_000),
        film_interval: FILM_INTERVAL,
    };
    config.learner.network.hidden = vec![256, 256];
    config.learner.optimiser.learning_rate = 2.5e-4;
    config.learner.double_q = true;
    if config.learner.exploration.module().is_some() {
        // Large σ of the first interactions bring single gradients with norms of 10⁴ to 10⁷, where 900 is much later on;
        // Adam would remember them for thousands of steps.
        config.learner.clip_gradient_norm = Some(1000.0);
    }
    if config.learner.exploration.reads_q_values()
        && let Some(module) = config.learner.exploration.module_mut()
    {
        // Its module reads the action values, here up to 100 where states are about 1: σ and with it the noise follow
        // every step of the optimiser that much further. So a smaller module, smaller steps, and more of them.
        module.hidden = vec![32];
        config.learner.network.hidden = vec![128, 128];
        config.learner.optimiser.learning_rate = 1e-4;
        config.training.total_interactions = AgentSteps(250_000);
    }
    config
}

fn with_profile(mut config: RunConfig, profile: Profile) -> RunConfig {
    config.world.profile = profile;
    config
}

/// Agents without ε stay as they are.
fn with_epsilon(mut config: RunConfig, schedule: LinearSchedule) -> RunConfig {
    if let Some(epsilon) = config.learner.exploration.epsilon_schedule() {
        *epsilon = schedule;
    }
    config
}

#[cfg(test)]
mod tests {
    use super::*;
    use sane_agent::catalogue;

    #[test]
    fn the_paper_preset_is_the_table_of_the_paper() {
        let config = Preset::Paper.config("seaquest", "eps-greedy").unwrap();
        let TrainingConfig {
            total_interactions,
            learning_starts,
            train_period,
            batch_size,
            target_period,
            evaluate_every,
        } = config.training;
        assert_eq!(evaluate_every, AgentSteps(0));
        let steps = [total_interactions, learning_starts, train_period, target_period].map(|steps| steps.0);
        assert_eq!(steps, [25_000_000, 50_000, 4, 10_000]);
        assert_eq!((batch_size, config.replay.capacity, config.replay.rewards), (32, 1_000_000, RewardForm::Clipped));
        let AdamConfig { learning_rate, beta_1, beta_2, epsilon } = config.learner.optimiser;
        assert_eq!((learning_rate, beta_1, beta_2, epsilon), (6.25e-5, 0.9, 0.999, 1.5e-4));
        let Exploration::EpsGreedy(eps_greedy) = config.learner.exploration else { panic!("another agent") };
        assert_eq!(eps_greedy.epsilon, LinearSchedule::PAPER);
        assert_eq!((config.learner.gamma, config.world.profile), (0.99, Profile::Paper));
    }

    #[test]
    fn every_preset_can_be_run_with_every_agent_in_its_worlds() {
        let worlds = [
            ("boxing", &[Preset::Paper, Preset::Quick, Preset::Machado, Preset::Nature][..]),
            ("minatar/breakout", &[Preset::Minatar, Preset::Paper]),
            ("deep-sea/10", &[Preset::DeepSea]),
            ("risky-road", &[Preset::RiskyRoad]),
            ("gym:CartPole-v1", &[Preset::Gym]),
        ];
        for (world, presets) in worlds {
            assert_eq!(Preset::default_for(world).unwrap(), presets[0]);
            let agents = catalogue().iter().map(|agent| agent.name);
            for (preset, agent) in agents.flat_map(|agent| presets.iter().map(move |preset| (preset, agent))) {
                let config = preset.config(world, agent).unwrap();
                if config.learner.exploration.reads_true_risk() && world != "risky-road" {
                    let refused = config.check().unwrap_err().to_string();
                    assert!(refused.ends_with(&format!("the true risk, which {world} does not know")), "{refused}");
                    continue;
                }
                config.check().unwrap_or_else(|error| panic!("{world} {agent} {preset:?}: {error}"));
            }
        }
    }

    #[test]
    fn agents_drive_with_the_knobs_that_were_tuned_for_them() {
        for (agent, key, value) in KNOBS_ON_THE_ROAD {
            let key = format!("learner.exploration.{key}");
            let config = Preset::RiskyRoad.config("risky-road", agent).unwrap();
            config.check().unwrap();
            assert_eq!(flat(&config)[&key].parse::<f64>().unwrap() as f32, value as f32, "{agent}");
        }
    }

    #[test]
    fn random_actions_on_the_risky_road_have_become_few_before_the_shortest_runs_end() {
        for world in ["risky-road", "risky-road/treasure", "risky-road/shift"] {
            let config = Preset::default_for(world).unwrap().config(world, "eps-greedy").unwrap();
            let epsilon = |now| config.learner.exploration.epsilon(AgentSteps(now)).unwrap();
            assert_eq!((epsilon(0), epsilon(5_000), epsilon(25_000), epsilon(60_000)), (1.0, 1.0, 0.01, 0.01));
        }
    }

    #[test]
    fn the_module_of_small_worlds_has_the_papers_proportion_to_the_network() {
        let module = |preset: Preset, world| {
            preset.config(world, "sane").unwrap().learner.exploration.module().unwrap().hidden.clone()
        };
        assert_eq!(module(Preset::Paper, "boxing"), [256]);
        assert_eq!(module(Preset::Minatar, "minatar/asterix"), [64]);
        assert_eq!(module(Preset::RiskyRoad, "risky-road"), [64]);
        assert_eq!(module(Preset::DeepSea, "deep-sea/10"), [32]);
    }

    #[test]
    fn every_built_in_world_can_be_run_with_its_own_preset_and_network() {
        for world in sane_minigames::known_worlds().map(|world| world.name) {
            let config = Preset::default_for(world).unwrap().config(world, "sane").unwrap();
            config.check().unwrap_or_else(|error| panic!("{world}: {error}"));
            let spec = sane_minigames::make(world, 1).unwrap().spec().clone();
            config.learner.network.features(&spec).unwrap_or_else(|error| panic!("{world}: {error}"));
        }
    }

    #[test]
    fn unknown_presets_and_agents_get_a_suggestion() {
        let text = Preset::named("papr").unwrap_err().to_string();
        assert_eq!(text, "unknown preset papr; did you mean paper?");
        let text = Preset::Paper.config("boxing", "qsane").unwrap_err().to_string();
        assert_eq!(text, "unknown agent qsane; did you mean q-sane?");
        let text = Preset::named("overnight").unwrap_err().to_string();
        assert_eq!(text, "unknown preset overnight; `sane config keys` lists them");
    }
}
