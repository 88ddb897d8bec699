//! A run in memory: everything the loop reads and writes, its conversion to and from a checkpoint, and its digest: equal
//! for two runs if, and only if, their states are equal.

use crate::LabError;
use crate::clock::Clock;
use crate::config::{ConfigError, RunConfig, WorldConfig, flat};
use crate::interaction::{Rollout, Store};
use crate::rng::RngStreams;
use crate::statistics::Statistics;
use crate::timer::PhaseTimer;
use crate::world::WorldSource;
use sane_agent::{ActMode, Decision, Learner, LearnerState, ParameterCounts, Thompson};
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
        run.check_world()?;
        Ok(run)
    }

    /// Refuses an agent that asks for more than this world gives.
    fn check_world(&self) -> Result<(), ConfigError> {
        if self.config.learner.exploration.reads_true_risk() && self.rollout.true_risk().is_none() {
            return Err(self.config.no_true_risk());
        }
        check_episodes(&self.config, &*self.rollout.world)
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
        if run.has_bound() {
            run.statistics.bound = sections.get("bound statistics")?;
        }
        run.statistics.series = sections.get("series")?;
        run.rollout.world.restore(&sections.get::<Vec<u8>>("world")?)?;
        let learner: LearnerState = sections.get("learner")?;
        run.learner.load_state(&learner)?;
        run.replay = replay;
        run.check(&learner)?;
        Ok(run)
    }

    /// Checks that the restored parts are of one moment of one run. Digests say that they are what was saved; this says
    /// that what was saved can be trained on.
    fn check(&self, learner: &LearnerState) -> Result<(), LabError> {
        let pushed = self.replay.pushed();
        let facts = [
            ("clock", self.clock.steps() == pushed, "it counts other interactions than the replay"),
            ("clock", self.clock.is_consistent(), "its counters contradict each other"),
            ("stack", self.rollout.stack.fits(self.spec()), "it is not of this world"),
            ("statistics", self.statistics.is_consistent(&self.clock), "they are not of this run"),
            ("learner", learner.learn_steps <= pushed.0, "it counts more train steps than interactions"),
            (
                "replay",
                self.replay.is_in_episode() || !self.rollout.world.exact_snapshots(),
                "no episode has begun in it",
            ),
        ];
        match facts.into_iter().find(|(_, holds, _)| !holds) {
            Some((section, _, reason)) => Err(LabError::Section { section, reason: reason.into() }),
            None => Ok(()),
        }
    }

    /// Everything but the replay, for a checkpoint.
    pub fn sections(&self) -> Sections {
        let sections = [
            ("clock", encode(&self.clock)),
            ("rng", encode(&self.rng)),
            ("world", encode(&self.rollout.world.snapshot())),
            ("stack", encode(&self.rollout.stack)),
            ("statistics", encode(&self.statistics)),
            ("series", encode(&self.statistics.series)),
            ("learner", encode(&self.learner.save_state())),
        ];
        let mut sections = Vec::from(sections);
        if self.has_bound() {
            sections.push(("bound statistics", encode(&self.statistics.bound)));
        }
        Sections(sections.into_iter().map(|(name, bytes)| (name.to_owned(), bytes)).collect())
    }

    /// Whether the agent has a KL term of its own, of which statistics are kept.
    fn has_bound(&self) -> bool {
        self.config.learner.exploration.bound().is_some()
    }

    /// Chooses an action in the current state.
    pub fn act(&mut self) -> Decision {
        let mode = self.act_mode();
        if self.config.learner.exploration.reads_true_risk()
            && let Some(risk) = self.rollout.true_risk()
        {
            self.learner.inform(self.rollout.state(), risk);
        }
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
        self.config.learner.epsilon(self.clock.steps())
    }

    /// The true risk of the current state, in worlds that know it.
    pub fn true_risk(&self) -> Option<f64> {
        self.rollout.world.ground_truth().and_then(|truth| truth.true_risk())
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

/// Refuses noise that is held for an episode in a world whose episodes never end.
pub(crate) fn check_episodes(config: &RunConfig, world: &dyn Environment) -> Result<(), ConfigError> {
    if !holds_noise_for_an_episode(config) || !world.never_ends() {
        return Ok(());
    }
    let name = &world.spec().name;
    let (key, value, expected) = if has_thompson(config) {
        ("learner.exploration.thompson", "episode", format!("step, since an episode of {name} never ends"))
    } else {
        let agent = "an agent that acts on its noise for less than an episode";
        ("agent", config.agent.as_str(), format!("{agent}, since one of {name} never ends"))
    };
    Err(ConfigError::OutOfRange { key, value: value.into(), expected })
}

/// What to know about noise that is held for an episode in a world of which it is unknown whether its episodes end.
pub(crate) fn note_on_episodes(config: &RunConfig, world: &dyn Environment) -> Option<String> {
    if !holds_noise_for_an_episode(config) || !world.may_never_end() {
        return None;
    }
    let (agent, name) = (&config.agent, &world.spec().name);
    let by_step = if has_thompson(config) { ", or learner.exploration.thompson=step" } else { "" };
    Some(format!(
        "{agent} acts on one draw of its noise, or one head, until the episode ends, and nothing limits the episodes of {name}: if \
         they never end, that is the whole run; set a limit (in Gymnasium: world.kwargs.max_episode_steps=N){by_step}"
    ))
}

fn holds_noise_for_an_episode(config: &RunConfig) -> bool {
    config.learner.exploration.thompson() == Thompson::Episode
}

/// Whether it is a setting of the agent how long it acts on its noise.
fn has_thompson(config: &RunConfig) -> bool {
    flat(config).contains_key("learner.exploration.thompson")
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Layers;
    use crate::folder::{Start, open_run};
    use crate::preset::Preset;
    use crate::world::tests::source;
    use sane_agent::{AgentError, catalogue};
    use sane_env::{GroundTruth, Picture, SnapshotError, Stream};

    #[test]
    fn a_checkpoint_that_lacks_a_section_is_refused_by_its_name() {
        let source = source("risky-road").unwrap();
        let config = config("sane-elbo", &[]);
        for (missing, _) in Run::new(&config, &source).unwrap().sections().0 {
            let run = Run::new(&config, &source).unwrap();
            let mut sections = run.sections();
            sections.0.retain(|(name, _)| *name != missing);
            match Run::restore(&config, &source, &sections, run.replay) {
                Err(LabError::Section { section, .. }) => assert_eq!(section, missing),
                other => panic!("without {missing}: {:?}", other.err()),
            }
        }
    }

    fn config_with(agent: &str, assignments: &[&str]) -> Result<RunConfig, ConfigError> {
        let mut layers = Layers::default();
        assignments.iter().for_each(|text| layers.assignment(text).unwrap());
        layers.apply(&Preset::RiskyRoad.config("risky-road", agent).unwrap())
    }

    fn config(agent: &str, assignments: &[&str]) -> RunConfig {
        config_with(agent, assignments).unwrap()
    }

    fn run(config: &RunConfig) -> Result<Run, LabError> {
        Run::new(config, &WorldSource::open(&config.world, None, &mut |_| ()).unwrap())
    }

    /// Every agent that fits into this network, with its noise held for an episode if it has any.
    fn agents() -> impl Iterator<Item = RunConfig> {
        catalogue().iter().filter_map(|agent| {
            let held = config_with(agent.name, &["learner.exploration.thompson=episode"]);
            let config = held.unwrap_or_else(|_| config(agent.name, &[]));
            match run(&config) {
                Err(LabError::Agent(AgentError::ModuleTooLarge { .. })) => None,
                run => run.map(|_| config).ok().or_else(|| panic!("{} cannot be run", agent.name)),
            }
        })
    }

    fn learn(run: &mut Run) {
        let mut warm = run.replay.warmed_up(AgentSteps(1)).unwrap();
        warm.sample(&mut run.rng.replay, &mut run.batch);
        run.learner.learn(&run.batch, &mut run.rng.noise).unwrap();
    }

    /// A run after a few interactions, with a train step after each.
    fn begun(config: &RunConfig) -> Run {
        let mut begun = run(config).unwrap();
        for _ in 0..4 {
            let action = begun.act().action;
            let step = begun.step(action, &mut ()).unwrap();
            begun.clock.tick(step.frames);
            if step.ending.ends_episode() {
                begun.begin_episode().unwrap();
            }
            learn(&mut begun);
        }
        begun
    }

    #[test]
    fn every_agent_restored_in_the_middle_of_an_episode_decides_as_if_never_interrupted() {
        for config in agents() {
            let (mut unbroken, twin) = (begun(&config), begun(&config));
            let source = WorldSource::open(&config.world, None, &mut |_| ()).unwrap();
            let mut restored = Run::restore(&config, &source, &unbroken.sections(), twin.replay).unwrap();
            let decide = |run: &mut Run| {
                let decision = run.act();
                let ended = run.rollout.step(decision.action, None, &mut ()).unwrap().ending.ends_episode();
                if ended {
                    run.learner.begin_episode();
                    run.rollout.begin_episode(&mut run.rng.env, None).unwrap();
                }
                (decision, run.learner.q_values().to_vec())
            };
            for _ in 0..30 {
                assert_eq!(decide(&mut unbroken), decide(&mut restored), "{}", config.agent);
            }
            let [unbroken, restored] = [unbroken, restored].map(|run| run.sections().0);
            assert!(unbroken == restored, "{}", config.agent);
        }
    }

    #[test]
    fn noise_held_for_an_episode_is_the_same_until_its_end_and_another_after_it() {
        // An agent that counts visits has another σ at each of them.
        let counts_visits = |config: &RunConfig| config.agent.ends_with("-visits") || config.agent == "sane-counts";
        for config in agents().filter(|config| config.learner.exploration.is_noisy() && !counts_visits(config)) {
            let mut run = run(&config).unwrap();
            assert!(run.learner.holds_noise_for_an_episode(), "{}", config.agent);
            let values = |run: &mut Run| {
                run.act();
                run.learner.q_values().to_vec()
            };
            let first = values(&mut run);
            assert_eq!(values(&mut run), first, "{}", config.agent);
            run.learner.begin_episode();
            assert_ne!(values(&mut run), first, "{}", config.agent);
            let (mut policy, state) = (run.learner.policy(), run.rollout.state().to_vec());
            let mut noise = Stream::named(1, "evaluation");
            let mut evaluated = || {
                policy.act(&state, ActMode::Noisy, &mut noise);
                policy.q_values().to_vec()
            };
            assert_eq!(evaluated(), evaluated(), "{} in evaluation", config.agent);
        }
    }

    /// A road without an end, or of which it is unknown whether it has one.
    struct Endless {
        road: Box<dyn Environment>,
        is_known: bool,
    }

    impl Environment for Endless {
        fn spec(&self) -> &EnvSpec {
            self.road.spec()
        }

        fn reset(&mut self, starts: &mut Stream, frame: &mut [u8]) -> Result<(), WorldFault> {
            self.road.reset(starts, frame)
        }

        fn step(&mut self, action: Action, frame: &mut [u8]) -> Result<Step, WorldFault> {
            self.road.step(action, frame)
        }

        fn snapshot(&self) -> Vec<u8> {
            self.road.snapshot()
        }

        fn restore(&mut self, snapshot: &[u8]) -> Result<(), SnapshotError> {
            self.road.restore(snapshot)
        }

        fn never_ends(&self) -> bool {
            self.is_known
        }

        fn may_never_end(&self) -> bool {
            !self.is_known
        }

        fn fork(&self) -> Box<dyn Environment> {
            Box::new(Self { road: self.road.fork(), is_known: self.is_known })
        }

        fn picture(&self) -> Picture {
            self.road.picture()
        }

        fn ground_truth(&self) -> Option<&dyn GroundTruth> {
            self.road.ground_truth()
        }
    }

    fn endless(is_known: bool) -> WorldSource {
        let make = move |seed| {
            let road = sane_minigames::make("risky-road", seed).unwrap();
            Ok(Box::new(Endless { road, is_known }) as Box<dyn Environment>)
        };
        WorldSource::custom("endless-road", make).unwrap()
    }

    #[test]
    fn noise_held_for_an_episode_is_refused_in_a_world_that_never_ends() {
        let source = endless(true);
        let folder = tempfile::tempdir().unwrap();
        let with = |agent: &str, assignments: &[&str]| {
            let mut config = config(agent, assignments);
            config.world = source.config().clone();
            let opened = open_run(&folder.path().join("run"), &config, &source, Start::Resume);
            let begun = Run::new(&config, &source).map(|_| ()).map_err(|error| error.to_string());
            assert_eq!(opened.map(|_| ()).map_err(|error| error.to_string()), begun);
            begun
        };
        for agent in ["sane-elbo", "bayes-head"] {
            let refused = with(agent, &["learner.exploration.thompson=episode"]).unwrap_err();
            let expected =
                "learner.exploration.thompson = episode is not possible; expected step, since an episode of risky-road";
            assert!(refused.starts_with(expected), "{refused}");
        }
        let refused = with("bootstrapped", &[]).unwrap_err();
        assert!(refused.starts_with("agent = bootstrapped is not possible; expected an agent that acts"), "{refused}");
        assert!(!folder.path().join("run").exists(), "it is refused before anything is written");
        assert_eq!(with("sane-elbo", &[]), Ok(()));
    }

    #[test]
    fn noise_held_for_an_episode_is_taken_with_a_note_where_episodes_have_no_limit() {
        let source = endless(false);
        let notes = |agent: &str, assignments: &[&str]| {
            let mut config = config(agent, assignments);
            config.world = source.config().clone();
            open_run(tempfile::tempdir().unwrap().path(), &config, &source, Start::Resume).unwrap().notes.concat()
        };
        let by_step = ", or learner.exploration.thompson=step";
        for (agent, assignments, has_thompson) in [
            ("sane-elbo", &["learner.exploration.thompson=episode"][..], true),
            ("bayes-head", &[], true),
            ("bootstrapped", &[], false),
        ] {
            let note = notes(agent, assignments);
            assert!(note.starts_with(agent) && note.contains("nothing limits the episodes of risky-road"), "{note}");
            assert!(note.contains("world.kwargs.max_episode_steps=N"), "{note}");
            assert_eq!(note.ends_with(by_step), has_thompson, "{note}");
        }
        assert_eq!(notes("sane-elbo", &[]), "");
    }

    #[test]
    fn the_oracle_is_refused_where_the_world_knows_no_risk() {
        let mut config = Preset::Minatar.config("minatar/breakout", "oracle").unwrap();
        config.training.learning_starts = AgentSteps(100);
        let refused = run(&config).map(|_| ()).unwrap_err().to_string();
        assert!(refused.starts_with("agent = oracle ") && refused.contains("minatar/breakout"), "{refused}");
        let mut driver = run(&self::config("oracle", &[])).unwrap();
        let sigma = |run: &mut Run| run.act().sigma.unwrap();
        let (mut in_risky, mut elsewhere) = (Vec::new(), Vec::new());
        for _ in 0..300 {
            let (risk, decision) = (driver.rollout.true_risk().unwrap(), sigma(&mut driver));
            if 0.0 < risk { &mut in_risky } else { &mut elsewhere }.push(decision);
            driver.step_unrecorded(Action(1)).unwrap();
        }
        let mean = |sigmas: &[f32]| sigmas.iter().sum::<f32>() / sigmas.len() as f32;
        assert!(mean(&in_risky) < 0.05 * mean(&elsewhere), "{} {}", mean(&in_risky), mean(&elsewhere));
    }
}
