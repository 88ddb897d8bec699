//! Makes worlds of one environment. Interpreters are slow to start, so the worker of a dropped world is kept and makes the
//! next one: a new environment in an old process.

use crate::ale::{Ale, HISTORY};
use crate::error::GymError;
use crate::gym_env::{GymEnv, View};
use crate::options::GymOptions;
use crate::space::{EnvInfo, Space};
use crate::worker::Worker;
use sane_env::{EnvSpec, FrameSkip};
use std::sync::{Arc, Mutex};

/// Workers without a world, for reuse.
pub(crate) type IdleWorkers = Arc<Mutex<Vec<Worker>>>;

/// A factory of worlds of one environment.
#[derive(Debug)]
pub struct GymSource {
    options: GymOptions,
    id: String,
    kwargs: toml::Table,
    info: EnvInfo,
    spec: EnvSpec,
    idle: IdleWorkers,
}

impl GymSource {
    /// Starts a worker, makes the environment and reads its observation and action spaces.
    pub fn open(options: &GymOptions) -> Result<Self, GymError> {
        let id = options.id()?.to_owned();
        let kwargs = if options.is_presented_by_profile() { Ale::kwargs(options)? } else { options.kwargs.clone() };
        let mut worker = Worker::start(options)?;
        let info = worker.make(&id, &kwargs)?;
        let spec = spec_of(options, &info)?;
        let idle = Arc::new(Mutex::new(vec![worker]));
        Ok(Self { options: options.clone(), id, kwargs, info, spec, idle })
    }

    pub fn spec(&self) -> &EnvSpec {
        &self.spec
    }

    /// Versions of Gymnasium and Python, as text.
    pub fn versions(&self) -> &str {
        &self.info.versions
    }

    /// Makes a world. `seed` is that of an Atari console; all other environments are seeded at each reset.
    pub fn make(&self, seed: u64) -> Result<GymEnv, GymError> {
        let idle = self.idle.lock().ok().and_then(|mut idle| idle.pop());
        let mut worker = idle.map_or_else(|| Worker::start(&self.options), Ok)?;
        if !worker.is_fresh() {
            let info = worker.make(&self.id, &self.kwargs)?;
            if info != self.info {
                let reason = "its spaces differ from those when it was first made".into();
                return Err(GymError::Raised { world: self.options.world.clone(), doing: "make", reason });
            }
        }
        let view = View::of(&self.options, &self.info, seed)?;
        Ok(GymEnv::new(self.spec.clone(), view, self.info.has_no_limit, worker, Arc::clone(&self.idle)))
    }
}

/// What the environment that a worker describes is for an agent; refuses one that no agent can act in.
pub(crate) fn spec_of(options: &GymOptions, info: &EnvInfo) -> Result<EnvSpec, GymError> {
    if !(1..=usize::from(u16::MAX)).contains(&info.actions) {
        let space = format!("of {} actions", info.actions);
        return Err(GymError::Actions { world: options.world.clone(), what: "an action space", space });
    }
    let actions = info.action_names();
    let (frame, history, skip) = if options.is_presented_by_profile() {
        Ale::new(options, info, 0)?;
        (Ale::frame(), HISTORY, options.profile.spec().frame_skip)
    } else {
        (Space::of(info).frame, options.history.unwrap_or(1), FrameSkip(1))
    };
    if frame.bytes() == 0 {
        let space = format!("observations of shape {:?}, which are empty", info.shape);
        return Err(GymError::Observations { world: options.world.clone(), space });
    }
    Ok(EnvSpec { name: options.world.clone(), frame, history, actions, frame_skip: skip })
}
