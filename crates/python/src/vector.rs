//! Many Atari games at once: what `sane_rl.AtariVectorEnv` is made of.

use crate::array::filled;
use crate::errors::{runtime_error, value_error};
use crate::games::{game, rom};
use numpy::{PyArray1, PyArray2, PyArrayDyn, PyArrayMethods};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyType};
use sane_arcade::{
    ActionSet, Autoreset, Colour, LaneGame, LaneInfo, LaneSnapshot, LaneStep, LifeRule, VectorEnv, VectorError,
    VectorSettings,
};
use std::path::PathBuf;

/// Games that are stepped together.
#[pyclass(module = "sane_rl._native")]
pub struct Vector {
    vector: VectorEnv,
}

/// The state of one environment of a vector: exact, picklable.
#[pyclass(module = "sane_rl._native", frozen)]
#[derive(Clone)]
pub struct LaneState {
    snapshot: LaneSnapshot,
}

type Observations<'py> = Bound<'py, PyArrayDyn<u8>>;
type Flags<'py> = Bound<'py, PyArray1<bool>>;

/// Observations, rewards, terminations, truncations, infos.
type Batch<'py> = (Observations<'py>, Bound<'py, PyArray1<i32>>, Flags<'py>, Flags<'py>, Bound<'py, PyDict>);

#[pymethods]
impl Vector {
    #[new]
    #[allow(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    #[pyo3(signature = (games, *, modes, difficulties, frameskip, grayscale, stack_num, img_height, img_width, maxpool, reward_clipping, noop_max, use_fire_reset, episodic_life, life_loss_info, max_num_frames_per_episode, repeat_action_probability, full_action_space, autoreset_mode, num_threads, ale_package))]
    fn new(
        py: Python<'_>,
        games: Vec<String>,
        modes: Vec<Option<u32>>,
        difficulties: Vec<Option<u32>>,
        frameskip: u32,
        grayscale: bool,
        stack_num: usize,
        img_height: usize,
        img_width: usize,
        maxpool: bool,
        reward_clipping: bool,
        noop_max: u32,
        use_fire_reset: bool,
        episodic_life: bool,
        life_loss_info: bool,
        max_num_frames_per_episode: Option<u64>,
        repeat_action_probability: f32,
        full_action_space: bool,
        autoreset_mode: &str,
        num_threads: usize,
        ale_package: Option<PathBuf>,
    ) -> PyResult<Self> {
        let settings = VectorSettings {
            frame_skip: frameskip,
            stack: stack_num,
            rows: img_height,
            columns: img_width,
            colour: if grayscale { Colour::Gray } else { Colour::Rgb },
            max_of_two: maxpool,
            clip_rewards: reward_clipping,
            max_noops: noop_max,
            fire_on_reset: use_fire_reset,
            life: match (episodic_life, life_loss_info) {
                (true, _) => LifeRule::EndsEpisode,
                (false, true) => LifeRule::Signalled,
                (false, false) => LifeRule::Ignored,
            },
            max_episode_frames: max_num_frames_per_episode,
            repeat_action_probability,
            actions: if full_action_space { ActionSet::Legal } else { ActionSet::Minimal },
            autoreset: match autoreset_mode {
                "NextStep" => Autoreset::NextStep,
                "SameStep" => Autoreset::SameStep,
                "Disabled" => Autoreset::Disabled,
                other => {
                    return Err(value_error(format!(
                        "autoreset_mode is {other}; expected NextStep, SameStep or Disabled"
                    )));
                }
            },
        };
        let lanes: PyResult<Vec<LaneGame>> = games
            .iter()
            .zip(modes.into_iter().zip(difficulties))
            .map(|(name, (mode, difficulty))| {
                let game = game(name)?;
                Ok(LaneGame { game, rom: rom(py, game, ale_package.clone())?, mode, difficulty })
            })
            .collect();
        let lanes = lanes?;
        let vector = py.detach(|| VectorEnv::new(lanes, settings, num_threads)).map_err(vector_error)?;
        Ok(Self { vector })
    }

    /// Number of actions of every environment.
    #[getter]
    fn num_actions(&self) -> PyResult<usize> {
        Ok(self.vector.actions(0).map_err(vector_error)?.len())
    }

    /// Names of the actions of an environment.
    fn action_meanings(&self, env: usize) -> PyResult<Vec<&'static str>> {
        let actions = self.vector.actions(env).map_err(vector_error)?;
        Ok(actions.iter().map(|action| action.name()).collect())
    }

    /// Resets the environments of `which`; observations and infos of all.
    fn reset<'py>(
        &mut self,
        py: Python<'py>,
        which: Vec<bool>,
        seeds: Vec<Option<u32>>,
    ) -> PyResult<(Observations<'py>, Bound<'py, PyDict>)> {
        let shape = self.shape(self.vector.len());
        let (observations, infos) = filled(py, shape, |out: &mut [u8]| self.vector.reset(&which, &seeds, out));
        let infos = infos.map_err(vector_error)?;
        let ids: Vec<i32> = (0..infos.len() as i32).collect();
        Ok((observations, info_dict(py, &ids, &infos)?))
    }

    /// Begins to reset all environments; `receive` has their first observations.
    fn send_resets(&mut self, seeds: Vec<Option<u32>>) -> PyResult<()> {
        self.vector.send_resets(&seeds).map_err(vector_error)
    }

    /// One step of every environment.
    fn step<'py>(&mut self, py: Python<'py>, actions: Bound<'py, PyArray1<i64>>) -> PyResult<Batch<'py>> {
        let actions = actions.to_vec().map_err(value_error)?;
        let shape = self.shape(self.vector.len());
        let (observations, steps) = filled(py, shape, |out: &mut [u8]| self.vector.step(&actions, out));
        let steps = steps.map_err(vector_error)?;
        let ids: Vec<usize> = (0..steps.len()).collect();
        self.batch(py, observations, &ids, steps)
    }

    /// Hands environments to the threads, each with its action.
    fn send(&mut self, envs: Vec<usize>, actions: Bound<'_, PyArray1<i64>>) -> PyResult<()> {
        let actions = actions.to_vec().map_err(value_error)?;
        self.vector.send(&envs, &actions).map_err(vector_error)
    }

    /// Waits for `count` of the environments that were sent.
    fn receive<'py>(&mut self, py: Python<'py>, count: usize) -> PyResult<Batch<'py>> {
        let received = py.detach(|| self.vector.receive(count)).map_err(vector_error)?;
        let (ids, steps): (Vec<usize>, Vec<LaneStep>) = received.into_iter().unzip();
        let bytes = self.vector.settings().observation_bytes();
        let (observations, copied) = filled(py, self.shape(count), |out: &mut [u8]| {
            out.chunks_exact_mut(bytes).zip(&ids).try_for_each(|(out, &env)| {
                out.copy_from_slice(self.vector.observation(env)?);
                Ok(())
            })
        });
        copied.map_err(vector_error)?;
        self.batch(py, observations, &ids, steps)
    }

    /// The RAM of all environments.
    fn ram<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<u8>>> {
        let (array, copied) = filled(py, (self.vector.len(), 128), |out: &mut [u8]| {
            out.as_chunks_mut::<128>().0.iter_mut().enumerate().try_for_each(|(env, out)| {
                *out = *self.vector.ale(env)?.ram();
                Ok(())
            })
        });
        copied.map_err(vector_error)?;
        Ok(array)
    }

    /// The screen of an environment in colour.
    fn screen_rgb<'py>(&self, py: Python<'py>, env: usize) -> PyResult<Bound<'py, PyArrayDyn<u8>>> {
        let ale = self.vector.ale(env).map_err(vector_error)?;
        let rows = ale.screen_height();
        Ok(filled(py, vec![rows, ale.screen().len() / rows, 3], |out: &mut [u8]| ale.write_rgb(out)).0)
    }

    fn clone_state(&self, env: usize) -> PyResult<LaneState> {
        Ok(LaneState { snapshot: self.vector.snapshot(env).map_err(vector_error)? })
    }

    fn restore_state(&mut self, env: usize, state: &LaneState) -> PyResult<()> {
        self.vector.restore(env, &state.snapshot).map_err(vector_error)
    }

    /// The observation of an environment.
    fn observation<'py>(&self, py: Python<'py>, env: usize) -> PyResult<Observations<'py>> {
        let observation = self.vector.observation(env).map_err(vector_error)?;
        let shape = self.shape(1).split_off(1);
        Ok(filled(py, shape, |out: &mut [u8]| out.copy_from_slice(observation)).0)
    }
}

impl Vector {
    /// Shape of the observations of `count` environments.
    fn shape(&self, count: usize) -> Vec<usize> {
        let VectorSettings { stack, rows, columns, colour, .. } = *self.vector.settings();
        let mut shape = vec![count, stack, rows, columns];
        shape.extend((colour == Colour::Rgb).then_some(3));
        shape
    }

    fn batch<'py>(
        &self,
        py: Python<'py>,
        observations: Observations<'py>,
        ids: &[usize],
        steps: Vec<LaneStep>,
    ) -> PyResult<Batch<'py>> {
        let infos: Vec<LaneInfo> = steps.iter().map(|step| step.info).collect();
        let env_ids: Vec<i32> = ids.iter().map(|&id| id as i32).collect();
        let info = info_dict(py, &env_ids, &infos)?;
        if steps.iter().any(|step| step.final_observation.is_some()) {
            let bytes = self.vector.settings().observation_bytes();
            let current = observations.to_vec().map_err(value_error)?;
            let (last, ()) = filled(py, self.shape(steps.len()), |out: &mut [u8]| {
                out.copy_from_slice(&current);
                for (out, step) in out.chunks_exact_mut(bytes).zip(&steps) {
                    step.final_observation.iter().for_each(|last| out.copy_from_slice(last));
                }
            });
            let which = steps.iter().map(|step| step.final_observation.is_some());
            info.set_item("final_obs", last)?;
            info.set_item("_final_obs", PyArray1::from_iter(py, which))?;
        }
        let rewards = PyArray1::from_iter(py, steps.iter().map(|step| step.reward));
        let terminated = PyArray1::from_iter(py, steps.iter().map(|step| step.terminated));
        let truncated = PyArray1::from_iter(py, steps.iter().map(|step| step.truncated));
        Ok((observations, rewards, terminated, truncated, info))
    }
}

#[pymethods]
impl LaneState {
    /// The state as bytes.
    fn serialize<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &postcard::to_stdvec(&self.snapshot).expect("plain data is written to memory"))
    }

    /// The state that `serialize` wrote.
    #[classmethod]
    fn deserialize(_class: &Bound<'_, PyType>, bytes: &[u8]) -> PyResult<Self> {
        let snapshot = postcard::from_bytes(bytes);
        Ok(Self { snapshot: snapshot.map_err(|error| value_error(format!("this is no state of a vector: {error}")))? })
    }

    fn __reduce__<'py>(this: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        Ok((this.get_type().getattr("deserialize")?, (this.get().serialize(this.py()),)))
    }
}

fn info_dict<'py>(py: Python<'py>, ids: &[i32], infos: &[LaneInfo]) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("env_id", PyArray1::from_slice(py, ids))?;
    dict.set_item("lives", PyArray1::from_iter(py, infos.iter().map(|info| info.lives)))?;
    dict.set_item("frame_number", PyArray1::from_iter(py, infos.iter().map(|info| info.frames as i32)))?;
    dict.set_item(
        "episode_frame_number",
        PyArray1::from_iter(py, infos.iter().map(|info| info.episode_frames as i32)),
    )?;
    Ok(dict)
}

fn vector_error(error: VectorError) -> PyErr {
    match error {
        VectorError::Lost { .. } | VectorError::Forked { .. } | VectorError::Threads { .. } => runtime_error(error),
        _ => value_error(error),
    }
}
