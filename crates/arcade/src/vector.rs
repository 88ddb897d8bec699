//! Many games at once, preprocessed and stacked: in: one action per game; out: their last frames as one block of bytes,
//! rewards, endings. Observations, rewards, endings and counters equal those of ale-py's vector environment with the same
//! seeds, actions and settings; `docs/python.md` says how that is tested.
//!
//! A [`Lane`] is one game with its frames. [`VectorEnv`] steps its lanes together on its threads ([`VectorEnv::step`]) or
//! hands them to the threads and takes those that are ready ([`VectorEnv::send`], [`VectorEnv::receive`]). Results never
//! depend on the number of threads.

mod lane;

use crate::ale::{Ale, AleError};
use crate::joystick::Joystick;
use crate::profile::ActionSet;
use lane::Lane;
pub use lane::{LaneGame, LaneInfo, LaneSnapshot, LaneStep};
use sane_vcs::SnapshotMismatch;
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
