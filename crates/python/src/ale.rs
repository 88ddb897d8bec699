//! One Atari game: what `sane_rl.AtariEnv` and `sane_rl.ALEInterface` are made of.

use crate::array::filled;
use crate::errors::value_error;
use crate::games::{game, rom};
use numpy::{PyArray1, PyArray2, PyArray3};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyType};
use sane_arcade::{AleSettings, AleSnapshot, Joystick, LifeLoss, RenderMode};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;

/// A loaded game.
#[pyclass(module = "sane_rl._native")]
pub struct Ale {
    ale: sane_arcade::Ale,
    /// Whether the screen was asked for after the last action. Screens are rendered as they are run as long as the program
    /// looks at them, and otherwise only when it asks.
    watched: bool,
}

/// The state of a game: exact, picklable, usable in any environment of the same game.
#[pyclass(module = "sane_rl._native", frozen)]
#[derive(Clone, Serialize, Deserialize)]
pub struct AleState {
    #[pyo3(get)]
    game: String,
    /// Whether the generator of sticky actions is restored, too.
    #[pyo3(get)]
    with_randomness: bool,
    #[pyo3(get)]
    mode: u32,
    #[pyo3(get)]
    difficulty: u32,
    #[pyo3(get)]
    frame_number: u64,
    #[pyo3(get)]
    episode_frame_number: u64,
    snapshot: AleSnapshot,
}

#[pymethods]
impl Ale {
    #[new]
    #[allow(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    #[pyo3(signature = (name, *, seed=0, repeat_action_probability=0.25, frame_skip=1, max_episode_frames=None, truncate_on_life_loss=false, ale_package=None))]
    fn new(
        py: Python<'_>,
        name: &str,
        seed: u32,
        repeat_action_probability: f32,
        frame_skip: u32,
        max_episode_frames: Option<u64>,
        truncate_on_life_loss: bool,
        ale_package: Option<PathBuf>,
    ) -> PyResult<Self> {
        if !(0.0..=1.0).contains(&repeat_action_probability) {
            return Err(value_error(format!(
                "repeat_action_probability is {repeat_action_probability}; expected a probability from 0 to 1"
            )));
        }
        let game = game(name)?;
        let rom = rom(py, game, ale_package)?;
        let settings = AleSettings {
            seed,
            repeat_action_probability,
            frame_skip,
            max_episode_frames,
            life_loss: if truncate_on_life_loss { LifeLoss::Truncates } else { LifeLoss::Continues },
        };
        let ale = py.detach(|| sane_arcade::Ale::load(game, &rom, settings)).map_err(value_error)?;
        Ok(Self { ale, watched: false })
    }

    /// Holds an action, by its id, for the frames of the setting; returns the sum of their rewards.
    fn act(&mut self, py: Python<'_>, action: i64) -> PyResult<i32> {
        self.hold(py, action, self.ale.settings().frame_skip)
    }

    /// Holds an action for `frames` frames; returns the sum of their rewards.
    fn hold(&mut self, py: Python<'_>, action: i64, frames: u32) -> PyResult<i32> {
        let joystick = joystick(action)?;
        let watched = std::mem::take(&mut self.watched);
        let render = if watched { RenderMode::Full } else { RenderMode::CollisionsOnly };
        Ok(py.detach(|| self.ale.hold(joystick, frames, render)))
    }

    fn reset_game(&mut self, py: Python<'_>) {
        py.detach(|| self.ale.reset_game());
    }

    #[getter]
    fn name(&self) -> &'static str {
        self.ale.game().name
    }

    #[getter]
    fn lives(&self) -> i32 {
        self.ale.lives()
    }

    fn game_over(&self, with_truncation: bool) -> bool {
        self.ale.is_terminal() || (with_truncation && self.ale.is_truncated())
    }

    #[getter]
    fn is_terminal(&self) -> bool {
        self.ale.is_terminal()
    }

    #[getter]
    fn is_truncated(&self) -> bool {
        self.ale.is_truncated()
    }

    #[getter]
    fn frame_number(&self) -> u64 {
        self.ale.frame_number()
    }

    #[getter]
    fn episode_frame_number(&self) -> u64 {
        self.ale.episode_frame_number()
    }

    #[getter]
    fn mode(&self) -> u32 {
        self.ale.mode()
    }

    #[getter]
    fn difficulty(&self) -> u32 {
        self.ale.difficulty()
    }

    fn set_mode(&mut self, mode: u32) -> PyResult<()> {
        self.ale.set_mode(mode).map_err(value_error)
    }

    fn set_difficulty(&mut self, difficulty: u32) -> PyResult<()> {
        self.ale.set_difficulty(difficulty).map_err(value_error)
    }

    /// Rows and columns of the screen.
    #[getter]
    fn screen_size(&self) -> (usize, usize) {
        (self.ale.screen_height(), self.ale.screen().len() / self.ale.screen_height())
    }

    fn ram<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<u8>> {
        PyArray1::from_slice(py, self.ale.ram())
    }

    fn set_ram(&mut self, index: i64, value: i64) -> PyResult<()> {
        match (u8::try_from(index), u8::try_from(value)) {
            (Ok(index @ 0..128), Ok(value)) => {
                self.ale.set_ram(index, value);
                Ok(())
            }
            (Ok(0..128), Err(_)) => Err(value_error(format!("the value {value} is not a byte; expected 0 to 255"))),
            _ => Err(value_error(format!("there is no byte {index} of RAM; it has 0 to 127"))),
        }
    }

    /// The screen as colour indices.
    fn screen<'py>(&mut self, py: Python<'py>) -> Bound<'py, PyArray2<u8>> {
        self.look();
        filled(py, self.screen_size(), |out: &mut [u8]| out.copy_from_slice(self.ale.screen())).0
    }

    fn screen_gray<'py>(&mut self, py: Python<'py>) -> Bound<'py, PyArray2<u8>> {
        self.look();
        filled(py, self.screen_size(), |out| self.ale.screen_gray(out)).0
    }

    fn screen_rgb<'py>(&mut self, py: Python<'py>) -> Bound<'py, PyArray3<u8>> {
        self.look();
        let (rows, columns) = self.screen_size();
        filled(py, (rows, columns, 3), |out| self.ale.write_rgb(out)).0
    }

    fn clone_state(&self, with_randomness: bool) -> AleState {
        AleState {
            game: self.ale.game().name.to_owned(),
            with_randomness,
            mode: self.ale.mode(),
            difficulty: self.ale.difficulty(),
            frame_number: self.ale.frame_number(),
            episode_frame_number: self.ale.episode_frame_number(),
            snapshot: self.ale.snapshot(),
        }
    }

    fn restore_state(&mut self, state: &AleState) -> PyResult<()> {
        let here = self.ale.game().name;
        if state.game != here {
            return Err(value_error(format!("the state is of {}, this environment plays {here}", state.game)));
        }
        let restored = match state.with_randomness {
            true => self.ale.restore(&state.snapshot),
            false => self.ale.restore_without_randomness(&state.snapshot),
        };
        restored.map_err(value_error)
    }
}

impl Ale {
    /// Renders the screen, if it is not.
    fn look(&mut self) {
        self.ale.render_deferred();
        self.watched = true;
    }
}

#[pymethods]
impl AleState {
    /// The state as bytes.
    fn serialize<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &postcard::to_stdvec(self).expect("plain data is written to memory"))
    }

    /// The state that `serialize` wrote.
    #[classmethod]
    fn deserialize(_class: &Bound<'_, PyType>, bytes: &[u8]) -> PyResult<Self> {
        postcard::from_bytes(bytes).map_err(|error| value_error(format!("this is no state of a game: {error}")))
    }

    fn __reduce__<'py>(this: &Bound<'py, Self>) -> PyResult<(Bound<'py, PyAny>, (Bound<'py, PyBytes>,))> {
        Ok((this.get_type().getattr("deserialize")?, (this.get().serialize(this.py()),)))
    }

    fn __eq__(&self, other: &Self) -> bool {
        self.game == other.game
            && self.with_randomness == other.with_randomness
            && self.snapshot.is_same_state(&other.snapshot)
    }

    fn __repr__(&self) -> String {
        format!("<state of {} at frame {} of its episode>", self.game, self.episode_frame_number)
    }
}

fn joystick(action: i64) -> PyResult<Joystick> {
    let known = u8::try_from(action).ok().and_then(Joystick::from_id);
    known.ok_or_else(|| value_error(format!("there is no action {action}; the actions have the ids 0 to 17")))
}
