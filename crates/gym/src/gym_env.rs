//! A Gymnasium environment as an [`Environment`]. In: actions; out: frames, raw rewards, endings, with termination and
//! truncation kept apart. What goes wrong in the worker is kept as a [fault](Environment::fault).

use crate::ale::Ale;
use crate::error::GymError;
use crate::picture::picture_of;
use crate::protocol::{Order, Wanted};
use crate::source::Idle;
use crate::space::Space;
use crate::worker::Worker;
use sane_env::{
    Action, Ending, EnvFrames, EnvSpec, Environment, Picture, Reward, SnapshotError, Step, Stream, WorldFault,
};
use std::cell::RefCell;

/// An environment in a worker of its own.
#[derive(Debug)]
pub struct GymEnv {
    spec: EnvSpec,
    view: View,
    /// A picture is made by the worker, but taken of a world that nobody changes.
    worker: RefCell<Option<Worker>>,
    idle: Idle,
    newest: Vec<u8>,
    fault: Option<GymError>,
}

/// How observations become frames.
#[derive(Debug, Clone)]
pub(crate) enum View {
    /// As they are.
    Plain(Space),
    /// By one of the arcade's profiles.
    Ale(Box<Ale>),
}

impl GymEnv {
    pub(crate) fn new(spec: EnvSpec, view: View, worker: Worker, idle: Idle) -> Self {
        let newest = vec![0; spec.frame.bytes()];
        Self { spec, view, worker: RefCell::new(Some(worker)), idle, newest, fault: None }
    }

    /// Runs `deed` unless something went wrong before; remembers what goes wrong. A world with a fault has no future.
    fn attempt<T>(&mut self, deed: impl FnOnce(&mut View, &mut Worker, &str) -> Result<T, GymError>) -> Option<T> {
        let worker = self.worker.get_mut().as_mut().filter(|_| self.fault.is_none())?;
        match deed(&mut self.view, worker, &self.spec.name) {
            Ok(value) => Some(value),
            Err(error) => {
                self.fault = Some(error);
                None
            }
        }
    }
}

impl Environment for GymEnv {
    fn spec(&self) -> &EnvSpec {
        &self.spec
    }

    fn reset(&mut self, starts: &mut Stream, frame: &mut [u8]) {
        self.attempt(|view, worker, world| match view {
            View::Ale(ale) => ale.reset(worker, starts, frame),
            View::Plain(space) => {
                // 31 bits: a seed that every environment takes, also those that hand it on to other generators.
                worker.call(Order::Reset(Some(starts.next_u64() >> 33)), Wanted::Observation)?;
                observe(space, worker, world, "reset", frame)
            }
        });
        self.newest.copy_from_slice(frame);
    }

    fn step(&mut self, action: Action, frame: &mut [u8]) -> Step {
        let count = self.spec.actions.len();
        assert!(usize::from(action.0) < count, "step: action {} of {count} in {}", action.0, self.spec.name);
        let step = self.attempt(|view, worker, world| match view {
            View::Ale(ale) => ale.step(worker, action.0, frame),
            View::Plain(space) => plain_step(space, worker, world, action, frame),
        });
        self.newest.copy_from_slice(frame);
        step.unwrap_or(Step { ending: Ending::Truncated, ..Step::default() })
    }

    /// The name alone: what is inside a Python environment cannot be saved.
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

    /// Not possible, which the copy says by its fault.
    fn fork(&self) -> Box<dyn Environment> {
        Box::new(Self {
            spec: self.spec.clone(),
            view: self.view.clone(),
            worker: RefCell::new(None),
            idle: Idle::default(),
            newest: self.newest.clone(),
            fault: Some(GymError::Fork { world: self.spec.name.clone() }),
        })
    }

    fn fault(&self) -> Option<WorldFault> {
        self.fault.as_ref().map(|error| WorldFault { world: self.spec.name.clone(), reason: error.to_string() })
    }

    fn picture(&self) -> Picture {
        let mut worker = self.worker.borrow_mut();
        let rendered = worker.as_mut().filter(|_| self.fault.is_none()).and_then(|worker| rendered(worker).ok()?);
        rendered.unwrap_or_else(|| picture_of(&self.spec.frame, &self.newest))
    }
}

impl Drop for GymEnv {
    fn drop(&mut self) {
        let worker = self.worker.get_mut().take().filter(|_| self.fault.is_none());
        if let (Some(worker), Ok(mut idle)) = (worker, self.idle.lock()) {
            idle.push(worker);
        }
    }
}

fn plain_step(
    space: &Space,
    worker: &mut Worker,
    world: &str,
    action: Action,
    frame: &mut [u8],
) -> Result<Step, GymError> {
    let head = worker.call(Order::Step(action.0), Wanted::Observation)?;
    observe(space, worker, world, "step", frame)?;
    let reward = head.reward as f32;
    if !reward.is_finite() {
        let what = format!("the reward {}", head.reward);
        return Err(GymError::NotFinite { world: world.into(), doing: "step", what });
    }
    let ending = match (head.terminated, head.truncated) {
        (true, _) => Ending::GameOver,
        (_, true) => Ending::Truncated,
        _ => Ending::Continues,
    };
    Ok(Step { reward: Reward(reward), ending, frames: EnvFrames(1) })
}

fn observe(space: &Space, worker: &Worker, world: &str, doing: &'static str, frame: &mut [u8]) -> Result<(), GymError> {
    if let Some((place, number)) = space.not_finite(worker.observation()) {
        let what = format!("{number} at place {place} of the observation");
        return Err(GymError::NotFinite { world: world.into(), doing, what });
    }
    space.write(worker.observation(), frame);
    Ok(())
}

/// What the environment itself draws, if it does.
fn rendered(worker: &mut Worker) -> Result<Option<Picture>, GymError> {
    let head = worker.call(Order::Render, Wanted::Nothing)?;
    let rgb = worker.rest("render", head.number as usize)?;
    let width = head.reward as usize;
    let height = (rgb.len() / 3).checked_div(width).unwrap_or(0);
    Ok((0 < height).then_some(Picture { width, height, rgb }))
}
