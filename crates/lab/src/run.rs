//! A run in memory: everything the loop reads and writes, its conversion to and from a checkpoint, and its digest: equal
//! for two runs if, and only if, their states are equal.

use crate::LabError;
use crate::clock::Clock;
use crate::config::{RunConfig, WorldConfig};
use crate::interaction::{Rollout, Store};
use crate::rng::RngStreams;
use crate::statistics::Statistics;
use crate::timer::PhaseTimer;
use crate::world::WorldSource;
use sane_agent::{ActMode, Decision, Learner, ParameterCounts};
use sane_env::{Action, AgentSteps, EnvSpec, Environment, Step, WorldFault};
use sane_record::RunStarted;
use sane_replay::{Batch, Replay};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::fmt;

/// The whole state of a training run.
pub struct Run {
    pub config: RunConfig,
    pub clock: Clock,
    pub rng: RngStreams,
    /// The world and the state that the agent sees.
    pub rollout: Rollout,
    pub replay: Replay,
    pub learner: Learner,
    /// Sums between two records.
    pub statistics: Statistics,
    /// Buffer of a sampled batch.
    pub batch: Batch,
}

/// The state of a run without its replay, as named sections in the order of the checkpoint file.
pub struct Sections(pub Vec<(String, Vec<u8>)>);

impl Run {
    /// A new run whose first episode has begun.
    pub fn new(config: &RunConfig, source: &WorldSource) -> Result<Self, LabError> {
        let mut run = Self::without_episode(config, source)?;
        run.begin_episode()?;
        Ok(run)
    }

    /// The run that these sections and this replay were saved from.
    pub fn restore(
        config: &RunConfig,
        source: &WorldSource,
        sections: &Sections,
        replay: Replay,
    ) -> Result<Self, LabError> {
        let mut run = Self::without_episode(config, source)?;
        run.clock = sections.get("clock")?;
        run.rng = sections.get("rng")?;
        run.rollout.stack = sections.get("stack")?;
        run.statistics = sections.get("statistics")?;
        run.rollout.world.restore(&sections.get::<Vec<u8>>("world")?)?;
        run.learner.load_state(&sections.get("learner")?)?;
        run.replay = replay;
        Ok(run)
    }

    /// Everything but the replay, for a checkpoint.
    pub fn sections(&self) -> Sections {
        let sections = [
            ("clock", encode(&self.clock)),
            ("rng", encode(&self.rng)),
            ("world", encode(&self.rollout.world.snapshot())),
            ("stack", encode(&self.rollout.stack)),
            ("statistics", encode(&self.statistics)),
            ("learner", encode(&self.learner.save_state())),
        ];
        Sections(sections.map(|(name, bytes)| (name.to_owned(), bytes)).into())
    }

    /// Chooses an action in the current state.
    pub fn act(&mut self) -> Decision {
        let mode = self.act_mode();
        self.learner.act(self.rollout.state(), mode, &mut self.rng.noise)
    }

    /// Carries out an action and stores the transition.
    pub fn step(&mut self, action: Action, timer: &mut impl PhaseTimer) -> Result<Step, WorldFault> {
        let store = Store { replay: &mut self.replay, rewards: self.config.replay.rewards };
        self.rollout.step(action, Some(store), timer)
    }

    /// Begins an episode, in the world and in the replay.
    pub fn begin_episode(&mut self) -> Result<(), WorldFault> {
        self.learner.begin_episode();
        self.rollout.begin_episode(&mut self.rng.env, Some(&mut self.replay))
    }

    /// One interaction that nothing is recorded of: carries out an action and begins a new episode if this one ended.
    pub fn step_unrecorded(&mut self, action: Action) -> Result<(), WorldFault> {
        let step = self.step(action, &mut ())?;
        if step.ending.ends_episode() { self.begin_episode() } else { Ok(()) }
    }

    /// After a restoration: a world without exact snapshots begins a new episode, and the interrupted one is dropped.
    pub fn resume(&mut self) -> Result<(), WorldFault> {
        if self.rollout.world.exact_snapshots() {
            return Ok(());
        }
        self.statistics.abandon_episode();
        self.begin_episode()
    }

    /// ε now, for agents that have one.
    pub fn epsilon(&self) -> Option<f32> {
        self.config.learner.exploration.epsilon(self.clock.steps())
    }

    /// The mode of acting at this interaction.
    fn act_mode(&self) -> ActMode {
        ActMode::Explore { now: self.clock.steps() }
    }

    /// The first event of a run.
    pub fn started(&self) -> RunStarted {
        RunStarted {
            schema_version: sane_record::SCHEMA_VERSION,
            world: self.config.world.name.clone(),
            agent: self.config.agent.clone(),
            seed: self.config.seed,
            actions: self.spec().actions.clone(),
            parameters: self.parameters(),
            not_bit_exact: not_bit_exact(&self.config.world, &*self.rollout.world).map(str::to_owned),
        }
    }

    /// Number of trainable parameters.
    fn parameters(&self) -> u64 {
        let counts = ParameterCounts::of(&self.config.learner, self.spec()).expect("the learner was built from these");
        (counts.main + counts.exploration) as u64
    }

    pub fn spec(&self) -> &EnvSpec {
        self.rollout.spec()
    }

    fn without_episode(config: &RunConfig, source: &WorldSource) -> Result<Self, LabError> {
        config.check()?;
        let world = source.make(config.seed)?;
        let spec = world.spec().clone();
        let mut rng = RngStreams::from_seed(config.seed);
        let learner = Learner::new(&config.learner, &spec, &mut rng.init)?;
        Ok(Self {
            config: config.clone(),
            clock: Clock::default(),
            rng,
            replay: Replay::new(config.replay.capacity, &spec),
            learner,
            statistics: Statistics::default(),
            batch: Batch::new(config.training.batch_size, spec.state_bytes()),
            rollout: Rollout::new(world),
        })
    }
}

impl Sections {
    /// Decodes one section.
    pub fn get<T: DeserializeOwned>(&self, section: &'static str) -> Result<T, LabError> {
        let (_, bytes) = self
            .0
            .iter()
            .find(|(name, _)| name == section)
            .ok_or_else(|| LabError::Section { section, reason: "it is missing".into() })?;
        postcard::from_bytes(bytes).map_err(|error| LabError::Section { section, reason: error.to_string() })
    }
}

/// Digests of the sections of a run's state, and of all of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Digest {
    pub interactions: AgentSteps,
    /// Name of the section and its digest, in a fixed order.
    pub sections: Vec<(String, blake3::Hash)>,
    /// Over all sections.
    pub all: blake3::Hash,
}

impl Digest {
    /// Over parameters, optimiser and target network (`learner`), `replay`, random streams, world, frame stack,
    /// clock and running statistics.
    pub fn of(run: &Run) -> Self {
        let mut sections: Vec<(String, blake3::Hash)> =
            run.sections().0.into_iter().map(|(name, bytes)| (name, blake3::hash(&bytes))).collect();
        sections.push(("replay".to_owned(), run.replay.digest()));
        let mut all = blake3::Hasher::new();
        for (name, hash) in &sections {
            all.update(name.as_bytes());
            all.update(hash.as_bytes());
        }
        Self { interactions: run.clock.steps(), sections, all: all.finalize() }
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.all.to_hex())
    }
}

/// Why a resumed run in this world may differ from an uninterrupted one, if it may.
pub(crate) fn not_bit_exact(config: &WorldConfig, world: &dyn Environment) -> Option<&'static str> {
    let general = "the inner state of this world cannot be saved; a resumed run begins a new episode";
    config.not_bit_exact().or_else(|| (!world.exact_snapshots()).then_some(general))
}

pub(crate) fn encode(value: &impl Serialize) -> Vec<u8> {
    postcard::to_stdvec(value).expect("plain data encodes")
}
