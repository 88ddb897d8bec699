//! A small built-in world: what `sane_rl.SmallWorldEnv` is made of.

use crate::array::filled;
use crate::errors::{runtime_error, value_error};
use numpy::{PyArray3, PyArrayDyn};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use sane_env::{Action, Element, Environment, FrameStack, Stream};
use std::sync::{Mutex, PoisonError};

/// The listed worlds: name and description.
#[pyfunction]
pub fn world_names() -> Vec<(&'static str, &'static str)> {
    sane_minigames::known_worlds().map(|world| (world.name, world.description)).collect()
}

/// A world of a name such as `minatar/breakout` or `deep-sea/10`.
#[pyclass(module = "sane_rl._native")]
pub struct World {
    /// A world can be sent to another thread, but not shared; the lock makes it so.
    inner: Mutex<Inner>,
}

struct Inner {
    name: String,
    world: Box<dyn Environment>,
    starts: Stream,
    state: FrameStack,
    frame: Vec<u8>,
    ended: bool,
}

#[pymethods]
impl World {
    #[new]
    fn new(name: &str, seed: u64) -> PyResult<Self> {
        Ok(Self { inner: Mutex::new(Inner::new(name, seed)?) })
    }

    /// The shape of an observation: channels, rows, columns.
    #[getter]
    fn shape(&self) -> (usize, usize, usize) {
        let inner = self.lock();
        let spec = inner.world.spec();
        (spec.state_channels(), spec.frame.height, spec.frame.width)
    }

    /// The largest value of an observation.
    #[getter]
    fn full_scale(&self) -> u8 {
        match self.lock().world.spec().frame.element {
            Element::U8 { full_scale } => full_scale,
            Element::F32 => u8::MAX,
        }
    }

    #[getter]
    fn actions(&self) -> Vec<String> {
        self.lock().world.spec().actions.clone()
    }

    /// Begins an episode; a seed makes the world anew.
    fn reset<'py>(&self, py: Python<'py>, seed: Option<u64>) -> PyResult<Bound<'py, PyArrayDyn<u8>>> {
        py.detach(|| self.lock().reset(seed))?;
        Ok(self.observation(py))
    }

    /// One step: observation, reward, whether it ended terminally, whether a time limit ended it.
    fn step<'py>(&self, py: Python<'py>, action: i64) -> PyResult<(Bound<'py, PyArrayDyn<u8>>, f32, bool, bool)> {
        let (reward, terminated, truncated) = py.detach(|| self.lock().step(action))?;
        Ok((self.observation(py), reward, terminated, truncated))
    }

    /// The probability that a random action leads to harm that the best play avoids, in worlds that know it.
    fn true_risk(&self) -> Option<f64> {
        self.lock().world.ground_truth().and_then(|truth| truth.true_risk())
    }

    fn picture<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray3<u8>> {
        let picture = self.lock().world.picture();
        filled(py, (picture.height, picture.width, 3), |out: &mut [u8]| out.copy_from_slice(&picture.rgb)).0
    }

    /// Everything that decides the future, as bytes.
    fn snapshot<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        let inner = self.lock();
        let whole = (&inner.name, inner.world.snapshot(), &inner.starts, &inner.state, inner.ended);
        PyBytes::new(py, &postcard::to_stdvec(&whole).expect("plain data is written to memory"))
    }

    fn restore(&self, snapshot: &[u8]) -> PyResult<()> {
        self.lock().restore(snapshot)
    }
}

impl World {
    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn observation<'py>(&self, py: Python<'py>) -> Bound<'py, PyArrayDyn<u8>> {
        let inner = self.lock();
        let spec = inner.world.spec();
        let shape = vec![spec.state_channels(), spec.frame.height, spec.frame.width];
        let state = inner.state.state().to_vec();
        drop(inner);
        filled(py, shape, |out: &mut [u8]| out.copy_from_slice(&state)).0
    }
}

impl Inner {
    fn new(name: &str, seed: u64) -> PyResult<Self> {
        let world = sane_minigames::make(name, seed).map_err(value_error)?;
        let (state, frame) = (FrameStack::new(world.spec()), vec![0; world.spec().frame.bytes()]);
        let starts = Stream::named(seed, "starts");
        Ok(Self { name: name.to_owned(), world, starts, state, frame, ended: true })
    }

    fn reset(&mut self, seed: Option<u64>) -> PyResult<()> {
        if let Some(seed) = seed {
            *self = Self::new(&self.name.clone(), seed)?;
        }
        self.world.reset(&mut self.starts, &mut self.frame).map_err(runtime_error)?;
        self.state.restart(&self.frame);
        self.ended = false;
        Ok(())
    }

    fn step(&mut self, action: i64) -> PyResult<(f32, bool, bool)> {
        let count = self.world.spec().actions.len();
        if self.ended {
            return Err(value_error("the episode has ended; reset the environment before the next step"));
        }
        let Some(action) = u16::try_from(action).ok().filter(|&action| usize::from(action) < count) else {
            return Err(value_error(format!("there is no action {action}; {} has 0 to {}", self.name, count - 1)));
        };
        let step = self.world.step(Action(action), &mut self.frame).map_err(runtime_error)?;
        self.state.push(&self.frame);
        self.ended = step.ending.ends_episode();
        Ok((step.reward.raw(), step.ending.is_terminal(), self.ended && !step.ending.is_terminal()))
    }

    fn restore(&mut self, snapshot: &[u8]) -> PyResult<()> {
        let read: (String, Vec<u8>, Stream, FrameStack, bool) = postcard::from_bytes(snapshot)
            .map_err(|error| value_error(format!("this is no state of a world: {error}")))?;
        let (name, world, starts, state, ended) = read;
        if name != self.name {
            return Err(value_error(format!("the state is of {name}, this environment is {}", self.name)));
        }
        self.world.restore(&world).map_err(value_error)?;
        (self.starts, self.state, self.ended) = (starts, state, ended);
        Ok(())
    }
}
