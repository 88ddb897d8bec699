//! A trained policy: states in, actions, action values and σ out.

use crate::array::filled;
use crate::errors::{lab_error, value_error};
use numpy::{PyArray1, PyArray2, PyReadonlyArray2};
use pyo3::prelude::*;
use sane_agent::ActMode;
use sane_env::{AgentSteps, Element, EnvSpec, Stream};
use sane_lab::{ExportedPolicy, LabError, RunConfig, WorldSource, read_config, read_policy, read_trained, to_toml};
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// The network of a run, or of an exported file.
#[pyclass(module = "sane_rl._native")]
pub struct Policy {
    /// A policy has scratch memory of its own and cannot be shared; the lock makes it so.
    policy: Mutex<sane_agent::Policy>,
    spec: EnvSpec,
    config: RunConfig,
    interactions: Option<u64>,
}

/// Actions `(N)`, action values `(N, A)`, σ `(N, S)` (S = 0 for agents without).
type Decisions<'py> = (Bound<'py, PyArray1<i64>>, Bound<'py, PyArray2<f32>>, Bound<'py, PyArray2<f32>>);

#[pymethods]
impl Policy {
    /// Reads a run folder, at its newest checkpoint or the one at an interaction, or an exported file.
    #[new]
    #[pyo3(signature = (path, checkpoint=None))]
    fn new(py: Python<'_>, path: PathBuf, checkpoint: Option<u64>) -> PyResult<Self> {
        py.detach(|| -> Result<Self, LabError> {
            if path.is_file() {
                let ExportedPolicy { config, spec, policy } = read_policy(&path)?;
                return Ok(Self { policy: Mutex::new(policy), spec, config, interactions: None });
            }
            let config = read_config(&path)?;
            let source = WorldSource::open(&config.world, None, &mut |_| ())?;
            let trained = read_trained(&path, &source, checkpoint.map(AgentSteps).into())?;
            let (policy, spec) = (Mutex::new(trained.learner.policy()), trained.spec().clone());
            Ok(Self { policy, spec, config: trained.config, interactions: Some(trained.interactions.0) })
        })
        .map_err(lab_error)
    }

    /// The shape of a state: channels, rows, columns.
    #[getter]
    fn shape(&self) -> (usize, usize, usize) {
        (self.spec.state_channels(), self.spec.frame.height, self.spec.frame.width)
    }

    /// Whether a state is bytes; otherwise it is `float32`.
    #[getter]
    fn takes_bytes(&self) -> bool {
        matches!(self.spec.frame.element, Element::U8 { .. })
    }

    #[getter]
    fn actions(&self) -> Vec<String> {
        self.spec.actions.clone()
    }

    #[getter]
    fn world(&self) -> String {
        self.config.world.name.clone()
    }

    #[getter]
    fn agent(&self) -> String {
        self.config.agent.clone()
    }

    /// Interactions after which the run was saved; none for an exported file.
    #[getter]
    fn interactions(&self) -> Option<u64> {
        self.interactions
    }

    /// The settings of the run, as TOML.
    #[getter]
    fn settings(&self) -> String {
        to_toml(&self.config)
    }

    /// Decides for each row of bytes, which is a state. Noise is drawn from `seed`, one draw after the other.
    fn act<'py>(
        &self,
        py: Python<'py>,
        states: PyReadonlyArray2<'py, u8>,
        noise: bool,
        seed: u64,
    ) -> PyResult<Decisions<'py>> {
        let bytes = states.as_slice().map_err(value_error)?;
        let size = self.spec.state_bytes();
        if !bytes.len().is_multiple_of(size) {
            return Err(value_error(format!("states of {} bytes; one state has {size}", bytes.len())));
        }
        let count = bytes.len() / size;
        let mode = if noise { ActMode::Noisy } else { ActMode::Greedy };
        let (mut actions, mut q, mut sigmas) = (Vec::new(), Vec::new(), Vec::new());
        py.detach(|| {
            let mut policy = self.policy.lock().unwrap_or_else(PoisonError::into_inner);
            let mut draws = Stream::named(seed, "noise");
            for state in bytes.chunks_exact(size) {
                // The states of a batch are of no common episode: an agent that holds a draw draws anew for each.
                policy.begin_episode();
                actions.push(i64::from(policy.act(state, mode, &mut draws).action.0));
                q.extend_from_slice(policy.q_values());
                sigmas.extend_from_slice(policy.sigmas());
            }
        });
        let rows = |values: Vec<f32>| {
            let width = values.len().checked_div(count).unwrap_or(0);
            filled(py, (count, width), |out: &mut [f32]| out.copy_from_slice(&values)).0
        };
        Ok((PyArray1::from_vec(py, actions), rows(q), rows(sigmas)))
    }
}
