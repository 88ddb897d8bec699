//! A run in memory: everything the loop reads and writes, and its way into a checkpoint and back.

use crate::LabError;
use crate::clock::Clock;
use crate::config::RunConfig;
use crate::rng::RngStreams;
use crate::statistics::Statistics;
use crate::world::WorldSource;
use sane_agent::{ActMode, Learner, ParameterCounts};
use sane_env::{EnvSpec, Environment, FrameStack, WorldFault};
use sane_record::RunStarted;
use sane_replay::{Batch, Replay};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// The whole state of a training run.
pub struct Run {
    /// What is run.
    pub config: RunConfig,
    /// How far it has come.
    pub clock: Clock,
    /// Its random streams.
    pub rng: RngStreams,
    /// Where it acts.
    pub world: Box<dyn Environment>,
    /// The state it sees.
    pub stack: FrameStack,
    /// The newest frame, as the world wrote it.
    pub frame: Vec<u8>,
    /// What it remembers.
    pub replay: Replay,
    /// Who learns.
    pub learner: Learner,
    /// Sums between two records.
    pub statistics: Statistics,
    /// Room for a batch.
    pub batch: Batch,
}

/// The state of a run without its replay, as named parts; the order is that of the file.
pub struct Parts(pub Vec<(String, Vec<u8>)>);

impl Run {
    /// A run at its very beginning, its first episode begun.
    pub fn new(config: &RunConfig, source: &WorldSource) -> Result<Self, LabError> {
        let mut run = Self::without_episode(config, source)?;
        run.begin_episode()?;
        Ok(run)
    }

    /// The run that these parts and this replay were taken from.
    pub fn restore(config: &RunConfig, source: &WorldSource, parts: &Parts, replay: Replay) -> Result<Self, LabError> {
        let mut run = Self::without_episode(config, source)?;
        run.clock = parts.get("clock")?;
        run.rng = parts.get("rng")?;
        run.stack = parts.get("stack")?;
        run.statistics = parts.get("statistics")?;
        run.world.restore(&parts.get::<Vec<u8>>("world")?)?;
        run.learner.load_state(&parts.get("learner")?)?;
        run.replay = replay;
        Ok(run)
    }

    /// Everything but the replay, for a checkpoint.
    pub fn parts(&self) -> Parts {
        let parts = [
            ("clock", encode(&self.clock)),
            ("rng", encode(&self.rng)),
            ("world", encode(&self.world.snapshot())),
            ("stack", encode(&self.stack)),
            ("statistics", encode(&self.statistics)),
            ("learner", encode(&self.learner.save_state())),
        ];
        Parts(parts.map(|(name, bytes)| (name.to_owned(), bytes)).into())
    }

    /// The world starts anew; its first frame stands in every place of the stack.
    pub fn begin_episode(&mut self) -> Result<(), WorldFault> {
        self.world.reset(&mut self.rng.env, &mut self.frame)?;
        self.stack.restart(&self.frame);
        self.replay.begin_episode(&self.frame);
        Ok(())
    }

    /// After a restoration: a world whose inner state could not be saved begins a new episode, the old one is dropped.
    pub fn go_on(&mut self) -> Result<(), WorldFault> {
        if self.world.exact_snapshots() {
            return Ok(());
        }
        self.statistics.abandon_episode();
        self.begin_episode()
    }

    /// ε now, for agents that have one.
    pub fn epsilon(&self) -> Option<f32> {
        self.config.learner.exploration.epsilon().map(|schedule| schedule.at(self.clock.steps()))
    }

    /// How to act now.
    pub fn act_mode(&self) -> ActMode {
        self.epsilon().map_or(ActMode::Noisy, |epsilon| ActMode::Explore { epsilon })
    }

    /// The first record.
    pub fn started(&self) -> RunStarted {
        RunStarted {
            schema_version: sane_record::SCHEMA_VERSION,
            world: self.config.world.name.clone(),
            agent: self.config.agent.clone(),
            seed: self.config.seed,
            actions: self.spec().actions.clone(),
            parameters: self.parameters(),
            not_bit_exact: self.config.world.not_bit_exact().map(str::to_owned),
        }
    }

    /// Numbers that are learned.
    fn parameters(&self) -> u64 {
        let counts = ParameterCounts::of(&self.config.learner, self.spec()).expect("the learner was built from these");
        (counts.main + counts.exploration) as u64
    }

    /// What the world says about itself.
    pub fn spec(&self) -> &EnvSpec {
        self.world.spec()
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
            stack: FrameStack::new(&spec),
            frame: vec![0; spec.frame.bytes()],
            replay: Replay::new(config.replay.capacity, &spec),
            learner,
            statistics: Statistics::default(),
            batch: Batch::new(config.training.batch_size, spec.state_bytes()),
            world,
        })
    }
}

impl Parts {
    /// One part, decoded.
    pub fn get<T: DeserializeOwned>(&self, part: &'static str) -> Result<T, LabError> {
        let (_, bytes) = self
            .0
            .iter()
            .find(|(name, _)| name == part)
            .ok_or_else(|| LabError::Part { part, reason: "it is not there".into() })?;
        postcard::from_bytes(bytes).map_err(|error| LabError::Part { part, reason: error.to_string() })
    }
}

pub(crate) fn encode(value: &impl Serialize) -> Vec<u8> {
    postcard::to_stdvec(value).expect("plain data encodes")
}
