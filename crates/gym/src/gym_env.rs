//! A Gymnasium environment as an [`Environment`]. In: actions; out: frames, raw rewards, endings, with termination and
//! truncation kept apart. What goes wrong in the worker is a [`WorldFault`], and every later call gives it again.

use crate::ale::Ale;
use crate::error::GymError;
use crate::options::GymOptions;
use crate::picture::picture_of;
use crate::protocol::{Payload, Request};
use crate::source::IdleWorkers;
use crate::space::{EnvInfo, Space};
use crate::worker::{Exchange, Worker};
use sane_env::{
    Action, Ending, EnvFrames, EnvSpec, Environment, Picture, Reward, SnapshotError, Step, Stream, WorldFault,
};
use std::cell::RefCell;

/// An environment in its own worker process.
#[derive(Debug)]
pub struct GymEnv {
    spec: EnvSpec,
    view: View,
    has_no_limit: bool,
    /// There unless there is a fault. `picture` takes `&self` but asks the worker, hence the cell.
    worker: RefCell<Option<Worker>>,
    fault: Option<WorldFault>,
    idle: IdleWorkers,
    newest: Vec<u8>,
}

/// How observations become frames.
#[derive(Debug, Clone)]
pub(crate) enum View {
    /// Unchanged.
    Plain(Space),
    /// An Atari game, preprocessed by one of the arcade's profiles.
    Ale(Box<Ale>),
}

impl View {
    /// How the observations of an environment that was made are presented. `seed` is that of an Atari console.
    pub fn of(options: &GymOptions, info: &EnvInfo, seed: u64) -> Result<Self, GymError> {
        if options.is_presented_by_profile() {
            return Ok(Self::Ale(Box::new(Ale::new(options, info, seed)?)));
        }
        Ok(Self::Plain(Space::of(info)))
    }

    pub fn reset(
        &mut self,
        worker: &mut impl Exchange,
        world: &str,
        starts: &mut Stream,
        frame: &mut [u8],
    ) -> Result<(), GymError> {
        match self {
            Self::Ale(ale) => ale.reset(worker, starts, frame),
            Self::Plain(space) => {
                // 31 bits: valid for every environment, including those that pass it to other generators.
                worker.call(Request::Reset(Some(starts.next_u64() >> 33)), Payload::Observation)?;
                observe(space, worker, world, "reset", frame)
            }
        }
    }

    pub fn step(
        &mut self,
        worker: &mut impl Exchange,
        world: &str,
        action: Action,
        frame: &mut [u8],
    ) -> Result<Step, GymError> {
        let step = match self {
            Self::Ale(ale) => ale.step(worker, action.0, frame)?,
            Self::Plain(space) => plain_step(space, worker, world, action, frame)?,
        };
        if !step.reward.raw().is_finite() {
            let what = format!("the reward {}", step.reward.raw());
            return Err(GymError::NotFinite { world: world.into(), doing: "step", what });
        }
        Ok(step)
    }
}

impl GymEnv {
    pub(crate) fn new(spec: EnvSpec, view: View, has_no_limit: bool, worker: Worker, idle: IdleWorkers) -> Self {
        let newest = vec![0; spec.frame.bytes()];
        Self { spec, view, has_no_limit, worker: RefCell::new(Some(worker)), fault: None, idle, newest }
    }

    /// Runs `call` with the worker. Its error ends the worker, and every later request gives the same fault.
    fn request<T>(
        &mut self,
        call: impl FnOnce(&mut View, &mut Worker, &str) -> Result<T, GymError>,
    ) -> Result<T, WorldFault> {
        if let Some(fault) = &self.fault {
            return Err(fault.clone());
        }
        let worker = self.worker.get_mut();
        let live = worker.as_mut().expect("a world without a fault has a worker");
        call(&mut self.view, live, &self.spec.name).map_err(|error| {
            *worker = None;
            self.fault.insert(fault_of(&self.spec, &error)).clone()
        })
    }
}

impl Environment for GymEnv {
    fn spec(&self) -> &EnvSpec {
        &self.spec
    }

    fn reset(&mut self, starts: &mut Stream, frame: &mut [u8]) -> Result<(), WorldFault> {
        self.request(|view, worker, world| view.reset(worker, world, starts, frame))?;
        self.newest.copy_from_slice(frame);
        Ok(())
    }

    fn step(&mut self, action: Action, frame: &mut [u8]) -> Result<Step, WorldFault> {
        let count = self.spec.actions.len();
        assert!(usize::from(action.0) < count, "step: action {} of {count} in {}", action.0, self.spec.name);
        let step = self.request(|view, worker, world| view.step(worker, world, action, frame))?;
        self.newest.copy_from_slice(frame);
        Ok(step)
    }

    /// The name alone: the state of a Python environment cannot be saved.
    fn snapshot(&self) -> Vec<u8> {
        self.spec.name.clone().into_bytes()
    }

    fn restore(&mut self, snapshot: &[u8]) -> Result<(), SnapshotError> {
        if snapshot == self.spec.name.as_bytes() {
            return Ok(());
        }
        let found = String::from_utf8_lossy(snapshot).into_owned();
        Err(SnapshotError::OtherWorld { found, expected: self.spec.name.clone() })
    }

    fn exact_snapshots(&self) -> bool {
        false
    }

    fn may_never_end(&self) -> bool {
        self.has_no_limit
    }

    /// Not possible: every step of the copy fails and says so.
    fn fork(&self) -> Box<dyn Environment> {
        Box::new(Self {
            spec: self.spec.clone(),
            view: self.view.clone(),
            has_no_limit: self.has_no_limit,
            worker: RefCell::new(None),
            fault: Some(fault_of(&self.spec, &GymError::Fork { world: self.spec.name.clone() })),
            idle: IdleWorkers::default(),
            newest: self.newest.clone(),
        })
    }

    fn picture(&self) -> Picture {
        let mut worker = self.worker.borrow_mut();
        let rendered = worker.as_mut().and_then(|worker| rendered(worker).ok()?);
        rendered.unwrap_or_else(|| picture_of(&self.spec.frame, &self.newest))
    }
}

impl Drop for GymEnv {
    fn drop(&mut self) {
        if let (Some(worker), Ok(mut idle)) = (self.worker.get_mut().take(), self.idle.lock()) {
            idle.push(worker);
        }
    }
}

fn fault_of(spec: &EnvSpec, error: &GymError) -> WorldFault {
    WorldFault { world: spec.name.clone(), reason: error.to_string() }
}

fn plain_step(
    space: &Space,
    worker: &mut impl Exchange,
    world: &str,
    action: Action,
    frame: &mut [u8],
) -> Result<Step, GymError> {
    let header = worker.call(Request::Step(action.0), Payload::Observation)?;
    observe(space, worker, world, "step", frame)?;
    let ending = match (header.terminated, header.truncated) {
        (true, _) => Ending::GameOver,
        (_, true) => Ending::Truncated,
        _ => Ending::Continues,
    };
    Ok(Step { reward: Reward(header.reward as f32), ending, frames: EnvFrames(1) })
}

fn observe(
    space: &Space,
    worker: &impl Exchange,
    world: &str,
    doing: &'static str,
    frame: &mut [u8],
) -> Result<(), GymError> {
    if let Some((index, number)) = space.not_finite(worker.observation()) {
        let what = format!("{number} at index {index} of the observation");
        return Err(GymError::NotFinite { world: world.into(), doing, what });
    }
    space.write(worker.observation(), frame);
    Ok(())
}

/// The environment's own rendering, if it has one.
pub(crate) fn rendered(worker: &mut impl Exchange) -> Result<Option<Picture>, GymError> {
    let header = worker.call(Request::Render, Payload::Nothing)?;
    let rgb = worker.picture(&header)?;
    let width = header.reward as usize;
    let height = (rgb.len() / 3).checked_div(width).unwrap_or(0);
    let is_whole = 0 < height && 3 * width * height == rgb.len();
    Ok(is_whole.then_some(Picture { width, height, rgb }))
}
