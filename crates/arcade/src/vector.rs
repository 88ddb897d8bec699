//! Many games at once, preprocessed and stacked: in: one action per game; out: their last frames as one block of bytes,
//! rewards, endings. Observations, rewards, endings and counters equal those of ale-py's vector environment with the same
//! seeds, actions and settings; `docs/python.md` says how that is tested.
//!
//! A [`Lane`] is one game with its frames. [`VectorEnv`] steps its lanes together on its threads ([`VectorEnv::step`]) or
//! hands them to the threads and takes those that are ready ([`VectorEnv::send`], [`VectorEnv::receive`]). Results never
//! depend on the number of threads.

use crate::ale::{Ale, AleError, AleSettings, AleSnapshot, LifeLoss};
use crate::area::MaxArea;
use crate::game::Game;
use crate::joystick::Joystick;
use crate::profile::ActionSet;
use sane_env::Mt19937;
use sane_vcs::{RenderMode, SnapshotMismatch};
use serde::{Deserialize, Serialize};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How the games of a vector are presented. The default is that of ale-py's vector environment.
#[derive(Debug, Clone, PartialEq)]
pub struct VectorSettings {
    /// Frames per step.
    pub frame_skip: u32,
    /// Frames that make an observation.
    pub stack: usize,
    /// Rows of a frame; at most those of the screen.
    pub rows: usize,
    /// Columns of a frame; at most 160.
    pub columns: usize,
    pub colour: Colour,
    /// Whether a frame is the pixelwise maximum of a step's last two screens, not the last one alone.
    pub max_of_two: bool,
    /// Whether rewards are reduced to their signs.
    pub clip_rewards: bool,
    /// An episode starts with fewer than this many frames without an action.
    pub max_noops: u32,
    /// Whether an episode starts with FIRE, in games that have it.
    pub fire_on_reset: bool,
    pub life: LifeRule,
    /// Frames after its start after which an episode is truncated.
    pub max_episode_frames: Option<u64>,
    /// Probability that a frame repeats the previous action.
    pub repeat_action_probability: f32,
    pub actions: ActionSet,
    pub autoreset: Autoreset,
}

/// What a frame shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colour {
    /// One byte of luma per pixel.
    Gray,
    /// Red, green and blue.
    Rgb,
}

/// What a lost life does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LifeRule {
    Ignored,
    /// The step is terminal; the game continues.
    Signalled,
    /// The episode ends, and the next one begins with a new game.
    EndsEpisode,
}

/// When a game that ended is reset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Autoreset {
    /// By the step after the last one, whose action is ignored.
    NextStep,
    /// By the last step itself, which keeps the last observation apart.
    SameStep,
    /// By the caller.
    Disabled,
}

impl Default for VectorSettings {
    fn default() -> Self {
        Self {
            frame_skip: 4,
            stack: 4,
            rows: 84,
            columns: 84,
            colour: Colour::Gray,
            max_of_two: true,
            clip_rewards: true,
            max_noops: 30,
            fire_on_reset: true,
            life: LifeRule::Ignored,
            max_episode_frames: Some(108_000),
            repeat_action_probability: 0.0,
            actions: ActionSet::Minimal,
            autoreset: Autoreset::NextStep,
        }
    }
}

/// Why a vector cannot be made or does not do what it is asked.
#[derive(Debug, thiserror::Error)]
pub enum VectorError {
    #[error("a vector of no environments; ask for at least one")]
    Empty,
    #[error("{what} is {found}; expected {expected}")]
    Setting { what: &'static str, found: String, expected: String },
    #[error(transparent)]
    Ale(#[from] AleError),
    #[error(
        "{} has {} actions and {} has {}; games of one vector need the same number, which full_action_space=True gives them",
        .games[0], .actions[0], .games[1], .actions[1]
    )]
    DifferentActions { games: [&'static str; 2], actions: [usize; 2] },
    #[error("{found} {what} for {expected} environments; give one for each")]
    Count { what: &'static str, found: usize, expected: usize },
    #[error("action {found} of environment {lane}; {game} has the actions 0 to {last}")]
    Action { lane: usize, found: i64, game: &'static str, last: usize },
    #[error("there is no environment {found}; the vector has 0 to {last}")]
    NoSuchLane { found: usize, last: usize },
    #[error("environment {lane} has not been reset; reset it before its first step")]
    NotReset { lane: usize },
    #[error("the episode of environment {lane} has ended and autoreset is disabled; reset it first")]
    Ended { lane: usize },
    #[error("environment {lane} is being stepped; receive it first")]
    Busy { lane: usize },
    #[error("{asked} environments to receive, {sent} were sent; send actions first")]
    NothingSent { asked: usize, sent: usize },
    #[error("a worker thread failed in environment {lane}, which can no longer be used; make the vector anew")]
    Lost { lane: usize },
    #[error(
        "this vector was made in process {made} and has threads there; process {here} is a copy without them: make the vector after the fork"
    )]
    Forked { made: u32, here: u32 },
    #[error("cannot start {threads} threads: {reason}")]
    Threads { threads: usize, reason: String },
    #[error("the state is of {found}, environment {lane} plays {expected}")]
    OtherGame { lane: usize, found: String, expected: &'static str },
    #[error("{0}")]
    Snapshot(#[from] SnapshotMismatch),
}

/// What one lane plays.
#[derive(Debug, Clone)]
pub struct LaneGame {
    pub game: &'static Game,
    pub rom: Arc<[u8]>,
    /// Game mode, if not the default.
    pub mode: Option<u32>,
    /// Difficulty, if not the default.
    pub difficulty: Option<u32>,
}

/// Counters of a game.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LaneInfo {
    pub lives: i32,
    /// Frames since the cartridge was loaded, which a seeded reset does.
    pub frames: u64,
    pub episode_frames: u64,
}

/// The result of one step of one lane.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LaneStep {
    pub reward: i32,
    pub terminated: bool,
    pub truncated: bool,
    pub info: LaneInfo,
    /// The last observation of the episode, if this step also began the next one.
    pub final_observation: Option<Box<[u8]>>,
}

/// The state of a lane: exact, and independent of the vector it was taken from.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct LaneSnapshot {
    game: String,
    ale: AleSnapshot,
    /// The screen before the last one.
    previous: Vec<u8>,
    frames: Vec<u8>,
    starts: Mt19937,
    frames_at_start: u64,
    ended: bool,
}

/// One game with its last frames.
#[derive(Debug)]
struct Lane {
    plays: LaneGame,
    settings: Arc<VectorSettings>,
    actions: Vec<Joystick>,
    ale: Ale,
    /// One per colour.
    resizers: Vec<MaxArea>,
    /// The screen before the last one.
    previous: Vec<u8>,
    /// The last two screens of the step before.
    before_step: [Vec<u8>; 2],
    /// The observation: the last frames, oldest first.
    frames: Vec<u8>,
    plane: Vec<u8>,
    /// Draws the frames without an action at the start of episodes.
    starts: Mt19937,
    /// Frames before the first step of the episode, which the time limit does not count.
    frames_at_start: u64,
    was_reset: bool,
    ended: bool,
}

/// Which screen counts as a step's last one. ale-py's vector environment never shows the screen on which an episode ends: it
/// keeps the brighter pixels of the last two screens of the step before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Newest {
    Screen,
    BeforeStep,
}

impl Lane {
    fn new(plays: LaneGame, settings: Arc<VectorSettings>, seed: u32) -> Result<Self, VectorError> {
        let ale = load(&plays, &settings, seed)?;
        let game = plays.game;
        if ale.screen_height() < settings.rows || sane_vcs::WIDTH < settings.columns {
            return Err(VectorError::Setting {
                what: "the size of a frame",
                found: format!("{}×{}", settings.rows, settings.columns),
                expected: format!("at most the {}×160 pixels of {}", ale.screen_height(), game.name),
            });
        }
        let area =
            |brightness: &[u8; 256]| MaxArea::new(ale.screen_height(), settings.rows, settings.columns, brightness);
        let resizers: Vec<MaxArea> = match settings.colour {
            Colour::Gray => vec![area(ale.gray_table())],
            Colour::Rgb => (0..3).map(|c| area(&ale.rgb_table().map(|colour| colour[c]))).collect(),
        };
        Ok(Self {
            actions: match settings.actions {
                ActionSet::Minimal => game.minimal_actions.clone(),
                ActionSet::Legal => game.legal_actions(),
            },
            previous: ale.screen().to_vec(),
            before_step: [ale.screen().to_vec(), ale.screen().to_vec()],
            frames: vec![0; settings.observation_bytes()],
            plane: vec![0; settings.rows * settings.columns],
            starts: Mt19937::new(seed),
            frames_at_start: 0,
            was_reset: false,
            ended: false,
            plays,
            settings,
            ale,
            resizers,
        })
    }

    /// Begins an episode; a seed also loads the cartridge anew, which restarts everything that is left to chance.
    fn reset(&mut self, seed: Option<u32>) {
        if let Some(seed) = seed {
            self.ale = load(&self.plays, &self.settings, seed).expect("it was loaded before");
            self.starts = Mt19937::new(seed);
        }
        self.begin_episode();
        self.was_reset = true;
    }

    fn begin_episode(&mut self) {
        self.ale.reset_game();
        let mut noops = below(&mut self.starts, self.settings.max_noops.max(1));
        if self.settings.fire_on_reset && self.plays.game.minimal_actions.contains(&Joystick::FIRE) {
            self.ale.act_frame(Joystick::FIRE, RenderMode::CollisionsOnly);
            noops = noops.saturating_sub(1);
        }
        for _ in 0..noops {
            self.ale.act_frame(Joystick::NOOP, RenderMode::CollisionsOnly);
            if self.ale.game_over() {
                self.ale.reset_game();
            }
        }
        self.ale.render_deferred();
        self.previous.copy_from_slice(self.ale.screen());
        self.frames.fill(0);
        self.push_frame(Newest::Screen);
        self.frames_at_start = self.ale.episode_frame_number();
        self.ended = false;
    }

    fn step(&mut self, action: usize) -> LaneStep {
        if self.ended && self.settings.autoreset == Autoreset::NextStep {
            self.begin_episode();
            return LaneStep { info: self.info(), ..LaneStep::default() };
        }
        let lives_before = self.ale.lives();
        let (reward, frames) = self.hold(self.actions[action]);
        let skip = self.settings.frame_skip;
        match self.ale.game_over() || self.is_over_time() {
            false => self.push_frame(Newest::Screen),
            true if frames == skip && 1 < skip && self.settings.max_of_two => self.push_frame(Newest::BeforeStep),
            true => self.repeat_frame(),
        }
        let life_lost = self.ale.lives() < lives_before;
        let game_over = self.ale.is_terminal() || (life_lost && self.settings.life == LifeRule::EndsEpisode);
        let terminated = game_over || (life_lost && self.settings.life == LifeRule::Signalled);
        let truncated = !terminated && self.is_over_time();
        self.ended = game_over || self.is_over_time();
        let mut step = LaneStep {
            reward: if self.settings.clip_rewards { reward.signum() } else { reward },
            terminated,
            truncated,
            info: self.info(),
            final_observation: None,
        };
        if (terminated || truncated) && self.settings.autoreset == Autoreset::SameStep {
            step.final_observation = Some(self.frames.as_slice().into());
            if self.ended {
                self.begin_episode();
                step.info = self.info();
            }
        }
        step
    }

    /// Holds an action for the frames of the skip or until the episode ends; the sum of the rewards, and the frames.
    fn hold(&mut self, action: Joystick) -> (i32, u32) {
        let skip = self.settings.frame_skip;
        let [last, before_last] = &mut self.before_step;
        last.copy_from_slice(self.ale.screen());
        std::mem::swap(before_last, &mut self.previous);
        let screens = 1 + u32::from(self.settings.max_of_two);
        let (mut reward, mut frames) = (0, 0);
        while frames < skip && !self.ale.game_over() && !self.is_over_time() {
            let left = skip - 1 - frames;
            let render = if left < screens { RenderMode::Full } else { RenderMode::CollisionsOnly };
            reward += self.ale.act_frame(action, render);
            frames += 1;
            if left == 1 && self.settings.max_of_two {
                self.previous.copy_from_slice(self.ale.screen());
            }
        }
        if skip == 1 || !self.settings.max_of_two {
            self.previous.copy_from_slice(self.ale.screen());
        }
        // The episode may have ended on a frame that was not rendered.
        self.ale.render_deferred();
        (reward, frames)
    }

    fn is_over_time(&self) -> bool {
        let played = self.ale.episode_frame_number() - self.frames_at_start;
        self.settings.max_episode_frames.is_some_and(|limit| limit <= played)
    }

    /// The frame of two screens becomes the newest of the observation.
    fn push_frame(&mut self, newest: Newest) {
        let bytes = self.settings.frame_bytes();
        self.frames.copy_within(bytes.., 0);
        let at = self.frames.len() - bytes;
        let colours = self.resizers.len();
        for (c, resizer) in self.resizers.iter_mut().enumerate() {
            match newest {
                Newest::Screen => resizer.resize(self.ale.screen(), &self.previous, &mut self.plane),
                Newest::BeforeStep => {
                    let [last, before_last] = &self.before_step;
                    resizer.resize(&resizer.brighter(last, before_last), &self.previous, &mut self.plane);
                }
            }
            if colours == 1 {
                self.frames[at..].copy_from_slice(&self.plane);
            } else {
                let pixels = self.frames[at..].iter_mut().skip(c).step_by(colours);
                pixels.zip(&self.plane).for_each(|(out, &value)| *out = value);
            }
        }
    }

    /// The newest frame once more, for an episode that ended inside a skip.
    fn repeat_frame(&mut self) {
        self.frames.copy_within(self.settings.frame_bytes().., 0);
    }

    fn info(&self) -> LaneInfo {
        LaneInfo {
            lives: self.ale.lives(),
            frames: self.ale.frame_number(),
            episode_frames: self.ale.episode_frame_number(),
        }
    }

    fn snapshot(&self) -> LaneSnapshot {
        LaneSnapshot {
            game: self.plays.game.name.to_owned(),
            ale: self.ale.snapshot(),
            previous: self.previous.clone(),
            frames: self.frames.clone(),
            starts: self.starts.clone(),
            frames_at_start: self.frames_at_start,
            ended: self.ended,
        }
    }

    fn restore(&mut self, lane: usize, snapshot: &LaneSnapshot) -> Result<(), VectorError> {
        let expected = self.plays.game.name;
        if snapshot.game != expected {
            return Err(VectorError::OtherGame { lane, found: snapshot.game.clone(), expected });
        }
        if snapshot.previous.len() != self.previous.len() {
            return Err(VectorError::Setting {
                what: "the screen of the state",
                found: format!("{} pixels", snapshot.previous.len()),
                expected: format!("the {} pixels of {expected}", self.previous.len()),
            });
        }
        if snapshot.frames.len() != self.frames.len() {
            return Err(VectorError::Setting {
                what: "the observation of the state",
                found: format!("{} bytes", snapshot.frames.len()),
                expected: format!("{} bytes, as this vector has them", self.frames.len()),
            });
        }
        self.ale.restore(&snapshot.ale)?;
        self.previous.copy_from_slice(&snapshot.previous);
        self.frames.copy_from_slice(&snapshot.frames);
        self.starts.clone_from(&snapshot.starts);
        self.frames_at_start = snapshot.frames_at_start.min(self.ale.episode_frame_number());
        (self.ended, self.was_reset) = (snapshot.ended, true);
        Ok(())
    }
}

fn load(plays: &LaneGame, settings: &VectorSettings, seed: u32) -> Result<Ale, AleError> {
    let ale_settings = AleSettings {
        seed,
        repeat_action_probability: settings.repeat_action_probability,
        frame_skip: 1,
        max_episode_frames: None,
        life_loss: if settings.life == LifeRule::EndsEpisode { LifeLoss::Truncates } else { LifeLoss::Continues },
    };
    let mut ale = Ale::load(plays.game, &plays.rom, ale_settings)?;
    plays.mode.map_or(Ok(()), |mode| ale.set_mode(mode))?;
    plays.difficulty.map_or(Ok(()), |difficulty| ale.set_difficulty(difficulty))?;
    Ok(ale)
}

/// An unbiased integer in `0..n` from 32-bit words (Lemire 2019), as C++ standard libraries draw it.
fn below(generator: &mut Mt19937, n: u32) -> u32 {
    let threshold = n.wrapping_neg() % n;
    loop {
        let product = u64::from(generator.next_u32()) * u64::from(n);
        if threshold <= product as u32 {
            return (product >> 32) as u32;
        }
    }
}

impl VectorSettings {
    /// Bytes of one frame.
    pub fn frame_bytes(&self) -> usize {
        self.rows * self.columns * if self.colour == Colour::Rgb { 3 } else { 1 }
    }

    /// Bytes of the observation of one environment.
    pub fn observation_bytes(&self) -> usize {
        self.stack * self.frame_bytes()
    }

    fn check(&self) -> Result<(), VectorError> {
        let refuse = |what, found: String, expected: &str| {
            Err(VectorError::Setting { what, found, expected: expected.to_owned() })
        };
        if self.frame_skip == 0 {
            return refuse("frameskip", "0".into(), "at least 1");
        }
        if self.stack == 0 {
            return refuse("stack_num", "0".into(), "at least 1");
        }
        if self.rows == 0 || self.columns == 0 {
            return refuse("the size of a frame", format!("{}×{}", self.rows, self.columns), "at least 1×1");
        }
        if !(0.0..=1.0).contains(&self.repeat_action_probability) {
            let found = self.repeat_action_probability.to_string();
            return refuse("repeat_action_probability", found, "a probability from 0 to 1");
        }
        Ok(())
    }
}

/// Games that are stepped together. Not cloneable: its threads are its own.
#[derive(Debug)]
pub struct VectorEnv {
    settings: Arc<VectorSettings>,
    /// None while a thread steps it.
    lanes: Vec<Option<Lane>>,
    /// None if one thread, the caller's, does the work.
    pool: Option<rayon::ThreadPool>,
    threads: usize,
    sender: Sender<Delivery>,
    /// A receiver alone cannot be shared between threads, and a vector should be.
    receiver: Mutex<Receiver<Delivery>>,
    sent: usize,
    /// Calls so far; threads that spin until the next one read it.
    calls: Arc<AtomicU64>,
    process: u32,
}

/// How long a thread spins before it sleeps: about what waking it takes.
const SPIN: Duration = Duration::from_micros(50);

/// Spins until a condition holds, for a short while at most.
fn spin_until(is_met: impl Fn() -> bool) {
    let start = Instant::now();
    while !is_met() && start.elapsed() < SPIN {
        std::hint::spin_loop();
    }
}

/// A lane that a thread has stepped; no lane if the thread failed.
#[derive(Debug)]
struct Delivery {
    lane: usize,
    stepped: Option<(Lane, LaneStep)>,
}

impl VectorEnv {
    /// Loads the games. `threads` work on them; 0 takes one per core, and never more than there are games.
    pub fn new(games: Vec<LaneGame>, settings: VectorSettings, threads: usize) -> Result<Self, VectorError> {
        settings.check()?;
        if games.is_empty() {
            return Err(VectorError::Empty);
        }
        let settings = Arc::new(settings);
        let lanes: Result<Vec<Option<Lane>>, VectorError> =
            (0_u32..).zip(games).map(|(i, plays)| Ok(Some(Lane::new(plays, Arc::clone(&settings), i)?))).collect();
        let lanes = lanes?;
        let first = lanes[0].as_ref().expect("no lane was sent");
        for other in lanes.iter().flatten() {
            if other.actions.len() != first.actions.len() {
                let [a, b] = [first, other].map(|lane| (lane.plays.game.name, lane.actions.len()));
                return Err(VectorError::DifferentActions { games: [a.0, b.0], actions: [a.1, b.1] });
            }
        }
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = if threads == 0 { cores } else { threads }.min(lanes.len());
        let pool = (1 < threads)
            .then(|| rayon::ThreadPoolBuilder::new().num_threads(threads).build())
            .transpose()
            .map_err(|error| VectorError::Threads { threads, reason: error.to_string() })?;
        let (sender, receiver) = channel();
        let receiver = Mutex::new(receiver);
        Ok(Self {
            settings,
            lanes,
            pool,
            threads,
            sender,
            receiver,
            sent: 0,
            calls: Arc::default(),
            process: std::process::id(),
        })
    }

    pub fn settings(&self) -> &VectorSettings {
        &self.settings
    }

    /// Number of environments.
    pub fn len(&self) -> usize {
        self.lanes.len()
    }

    /// Never: a vector has at least one environment.
    pub fn is_empty(&self) -> bool {
        self.lanes.is_empty()
    }

    /// The actions of an environment, by index.
    pub fn actions(&self, lane: usize) -> Result<&[Joystick], VectorError> {
        Ok(&self.lane(lane)?.actions)
    }

    /// Resets the environments of `which` and writes the observations of all. A seed restarts what is left to chance.
    pub fn reset(
        &mut self,
        which: &[bool],
        seeds: &[Option<u32>],
        observations: &mut [u8],
    ) -> Result<Vec<LaneInfo>, VectorError> {
        self.count("reset flags", which.len())?;
        self.count("seeds", seeds.len())?;
        self.all_present()?;
        let lanes = self.lanes.iter().flatten().zip(which);
        if let Some((lane, _)) = lanes.enumerate().find(|(_, (lane, reset))| !lane.was_reset && !**reset) {
            return Err(VectorError::NotReset { lane });
        }
        Ok(self.on_all(observations, |i, lane| {
            if which[i] {
                lane.reset(seeds[i]);
            }
            lane.info()
        }))
    }

    /// One step of every environment; the observations are written in order. An error steps none of them.
    pub fn step(&mut self, actions: &[i64], observations: &mut [u8]) -> Result<Vec<LaneStep>, VectorError> {
        self.count("actions", actions.len())?;
        self.all_present()?;
        for (lane, &action) in actions.iter().enumerate() {
            self.check_action(lane, action)?;
        }
        Ok(self.on_all(observations, |i, lane| lane.step(actions[i] as usize)))
    }

    /// Does `work` on all environments, which are present, and writes their observations. The caller's thread works, too, and
    /// threads spin for a short while after their work: an environment's step takes not much longer than waking one.
    fn on_all<T: Default + Send>(
        &mut self,
        observations: &mut [u8],
        work: impl Fn(usize, &mut Lane) -> T + Sync,
    ) -> Vec<T> {
        let (threads, bytes) = (self.threads, self.settings.observation_bytes());
        let count = self.lanes.len();
        let mut results: Vec<T> = (0..count).map(|_| T::default()).collect();
        let jobs = self.lanes.iter_mut().zip(observations.chunks_exact_mut(bytes)).zip(&mut results).enumerate();
        let jobs = Mutex::new(jobs);
        let left = AtomicUsize::new(count);
        let run = || {
            let next = || jobs.lock().unwrap_or_else(PoisonError::into_inner).next();
            while let Some((i, ((lane, out), result))) = next() {
                let lane = lane.as_mut().expect("all lanes are present");
                *result = work(i, lane);
                out.copy_from_slice(&lane.frames);
                left.fetch_sub(1, Ordering::Release);
            }
        };
        match &self.pool {
            None => run(),
            Some(pool) => {
                let call = self.calls.fetch_add(1, Ordering::Relaxed) + 1;
                pool.in_place_scope(|scope| {
                    (1..threads).for_each(|_| scope.spawn(|_| run()));
                    run();
                    spin_until(|| left.load(Ordering::Acquire) == 0);
                });
                for _ in 1..threads {
                    let calls = Arc::clone(&self.calls);
                    pool.spawn(move || spin_until(|| calls.load(Ordering::Relaxed) != call));
                }
            }
        }
        results
    }

    /// Hands the named environments to the threads, each with its action. An error sends none of them.
    pub fn send(&mut self, lanes: &[usize], actions: &[i64]) -> Result<(), VectorError> {
        self.same_process()?;
        if lanes.len() != actions.len() {
            return Err(VectorError::Count { what: "actions", found: actions.len(), expected: lanes.len() });
        }
        for (i, (&lane, &action)) in lanes.iter().zip(actions).enumerate() {
            self.check_action(lane, action)?;
            if lanes[..i].contains(&lane) {
                return Err(VectorError::Busy { lane });
            }
        }
        for (&lane, &action) in lanes.iter().zip(actions) {
            self.dispatch(lane, move |moved| moved.step(action as usize));
        }
        Ok(())
    }

    /// Hands all environments to the threads to be reset.
    pub fn send_resets(&mut self, seeds: &[Option<u32>]) -> Result<(), VectorError> {
        self.count("seeds", seeds.len())?;
        self.all_present()?;
        for (lane, &seed) in seeds.iter().enumerate() {
            self.dispatch(lane, move |moved| {
                moved.reset(seed);
                LaneStep { info: moved.info(), ..LaneStep::default() }
            });
        }
        Ok(())
    }

    fn dispatch(&mut self, lane: usize, work: impl FnOnce(&mut Lane) -> LaneStep + Send + 'static) {
        let mut moved = self.lanes[lane].take().expect("it was checked to be present");
        let sender = self.sender.clone();
        let deliver = move || {
            let stepped = catch_unwind(AssertUnwindSafe(|| {
                let step = work(&mut moved);
                (moved, step)
            }));
            // The receiver is dropped with the vector; then the result is not needed.
            let _ = sender.send(Delivery { lane, stepped: stepped.ok() });
        };
        match &self.pool {
            Some(pool) => pool.spawn(deliver),
            None => deliver(),
        }
        self.sent += 1;
    }

    /// Waits for `count` of the environments that were sent; sorted by index. [`Self::observation`] has what they show.
    pub fn receive(&mut self, count: usize) -> Result<Vec<(usize, LaneStep)>, VectorError> {
        self.same_process()?;
        if self.sent < count {
            return Err(VectorError::NothingSent { asked: count, sent: self.sent });
        }
        let mut received = Vec::with_capacity(count);
        for _ in 0..count {
            let receiver = self.receiver.get_mut().unwrap_or_else(PoisonError::into_inner);
            let Delivery { lane, stepped } = receiver.recv().expect("the vector holds a sender");
            self.sent -= 1;
            let (moved, step) = stepped.ok_or(VectorError::Lost { lane })?;
            self.lanes[lane] = Some(moved);
            received.push((lane, step));
        }
        received.sort_by_key(|(lane, _)| *lane);
        Ok(received)
    }

    /// The observation of an environment.
    pub fn observation(&self, lane: usize) -> Result<&[u8], VectorError> {
        Ok(&self.lane(lane)?.frames)
    }

    /// Counters of an environment.
    pub fn info(&self, lane: usize) -> Result<LaneInfo, VectorError> {
        Ok(self.lane(lane)?.info())
    }

    /// The game underneath an environment.
    pub fn ale(&self, lane: usize) -> Result<&Ale, VectorError> {
        Ok(&self.lane(lane)?.ale)
    }

    pub fn snapshot(&self, lane: usize) -> Result<LaneSnapshot, VectorError> {
        Ok(self.lane(lane)?.snapshot())
    }

    /// Restores a state into an environment that plays the same game; an error changes nothing.
    pub fn restore(&mut self, lane: usize, snapshot: &LaneSnapshot) -> Result<(), VectorError> {
        self.lane(lane)?;
        self.lanes[lane].as_mut().expect("it was checked").restore(lane, snapshot)
    }

    fn lane(&self, lane: usize) -> Result<&Lane, VectorError> {
        let slot = self.lanes.get(lane);
        slot.ok_or(VectorError::NoSuchLane { found: lane, last: self.lanes.len() - 1 })?
            .as_ref()
            .ok_or(VectorError::Busy { lane })
    }

    fn check_action(&self, index: usize, action: i64) -> Result<(), VectorError> {
        let lane = self.lane(index)?;
        if !lane.was_reset {
            return Err(VectorError::NotReset { lane: index });
        }
        if lane.ended && self.settings.autoreset == Autoreset::Disabled {
            return Err(VectorError::Ended { lane: index });
        }
        let known = usize::try_from(action).is_ok_and(|action| action < lane.actions.len());
        let (game, last) = (lane.plays.game.name, lane.actions.len() - 1);
        known.then_some(()).ok_or(VectorError::Action { lane: index, found: action, game, last })
    }

    fn count(&self, what: &'static str, found: usize) -> Result<(), VectorError> {
        let expected = self.lanes.len();
        (found == expected).then_some(()).ok_or(VectorError::Count { what, found, expected })
    }

    fn all_present(&self) -> Result<(), VectorError> {
        self.same_process()?;
        self.lanes.iter().position(Option::is_none).map_or(Ok(()), |lane| Err(VectorError::Busy { lane }))
    }

    /// The threads of a pool do not exist in a forked process, where waiting for them would never end.
    fn same_process(&self) -> Result<(), VectorError> {
        let here = std::process::id();
        let works = self.pool.is_none() || here == self.process;
        works.then_some(()).ok_or(VectorError::Forked { made: self.process, here })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_starting_frames_equal_those_of_the_c_plus_plus_library() {
        // Seeds 0 to 7 and 30, as ale-py's vector environment starts them.
        let drawn: Vec<u32> = (0..8).map(|seed| below(&mut Mt19937::new(seed), 30)).collect();
        assert_eq!(drawn, [16, 12, 13, 16, 29, 6, 26, 2]);
        let mut generator = Mt19937::new(0);
        assert_eq!([(); 3].map(|()| below(&mut generator, 30)), [16, 17, 21]);
    }

    #[test]
    fn settings_that_cannot_be_are_refused_with_both_values() {
        for (settings, expected) in [
            (VectorSettings { frame_skip: 0, ..VectorSettings::default() }, "frameskip is 0; expected at least 1"),
            (VectorSettings { stack: 0, ..VectorSettings::default() }, "stack_num is 0; expected at least 1"),
            (VectorSettings { rows: 0, ..VectorSettings::default() }, "0×84; expected at least 1×1"),
            (
                VectorSettings { repeat_action_probability: 1.5, ..VectorSettings::default() },
                "repeat_action_probability is 1.5; expected a probability from 0 to 1",
            ),
        ] {
            let error = settings.check().unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        assert!(VectorEnv::new(Vec::new(), VectorSettings::default(), 1).is_err());
    }
}
