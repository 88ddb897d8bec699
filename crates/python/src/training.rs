//! Training, evaluation and what runs have written down, for Python. Records pass as JSON, whose fields are those of the
//! files in a run folder.

use crate::errors::{lab_error, value_error};
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use sane_env::AgentSteps;
use sane_lab::{
    Evaluation, EvaluationFinished, Event, LabError, Layers, NoiseMode, Observer, OpenRun, Preset, Progress, Start,
    StopReason, WorldSource, available, default_folder, open_run_from, pool, read_config, read_trained,
    record_evaluation, resolve,
};
use sane_record::read_jsonl;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Time between two calls of a callback, and two looks for Ctrl-C.
const CALL_INTERVAL: Duration = Duration::from_millis(200);
/// Time between two looks whether the work is done.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// Trains a run, new or resumed; returns its folder and whether it reached its end. Ctrl-C saves a checkpoint, then raises.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "keyword arguments of Python")]
#[pyo3(signature = (world, agent, preset, assignments, out, fresh, threads, callback))]
pub fn train(
    py: Python<'_>,
    world: &str,
    agent: &str,
    preset: Option<&str>,
    assignments: Vec<String>,
    out: Option<PathBuf>,
    fresh: bool,
    threads: Option<usize>,
    callback: Option<Py<PyAny>>,
) -> PyResult<(PathBuf, bool)> {
    let mut layers = Layers::default();
    for text in
        assignments.iter().map(String::as_str).chain([&*format!("world.name={world}"), &*format!("agent={agent}")])
    {
        layers.assignment(text).map_err(value_error)?;
    }
    let preset = preset.map_or_else(|| Preset::default_for(world), Preset::named).map_err(value_error)?;
    let stop = AtomicBool::new(false);
    let mut latest = LatestProgress::default();
    let shown = Arc::clone(&latest.progress);
    let work = || -> Result<(PathBuf, bool), LabError> {
        let resolved = resolve(preset, world, agent, &layers)?;
        let command = std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect();
        let origin = sane_cli::version::sign(resolved.origin(command));
        let config = resolved.config;
        let folder = out.unwrap_or_else(|| default_folder(&config));
        let source = WorldSource::open(&config.world, None, &mut |_| ())?;
        let pool = pool(threads)?;
        let start = if fresh { Start::Fresh } else { Start::Resume };
        let OpenRun { mut run, mut files, .. } =
            pool.install(|| open_run_from(&origin, &folder, &config, &source, start))?;
        files.begin(&run, &mut latest)?;
        let reason = pool.install(|| sane_lab::train(&mut run, &mut files, &mut latest, &stop))?;
        latest.set(Progress::of(&run));
        Ok((folder, reason == StopReason::Finished))
    };
    let look = |py: Python<'_>| {
        let progress = shown.lock().unwrap_or_else(PoisonError::into_inner).take();
        let (Some(callback), Some(progress)) = (&callback, progress) else { return Ok(true) };
        let answer = callback.bind(py).call1((progress_dict(py, &progress)?,))?;
        Ok(answer.is_none() || answer.is_truthy()?)
    };
    supervised(py, &stop, "the run is saved; the same call resumes it", look, work)?.map_err(lab_error)
}

/// Runs `work` on a thread of its own, while this one, which is Python's, looks for Ctrl-C and calls `look`. If either raises
/// or `look` answers false, `stop` is set; the work ends by itself, and what was raised is returned. `after` is the text of a
/// Ctrl-C.
fn supervised<T: Send>(
    py: Python<'_>,
    stop: &AtomicBool,
    after: &'static str,
    mut look: impl FnMut(Python<'_>) -> PyResult<bool> + Send,
    work: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    py.detach(|| {
        std::thread::scope(|scope| {
            let worker = scope.spawn(work);
            let mut looked = Instant::now();
            let mut outcome = Ok(true);
            while !worker.is_finished() {
                std::thread::sleep(POLL_INTERVAL);
                if matches!(outcome, Ok(true)) && CALL_INTERVAL <= looked.elapsed() {
                    looked = Instant::now();
                    outcome = Python::attach(|py| unless_interrupted(py, after, &mut look));
                    stop.store(!matches!(outcome, Ok(true)), Ordering::Relaxed);
                }
            }
            let done = worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            if matches!(outcome, Ok(true)) {
                outcome = Python::attach(|py| unless_interrupted(py, after, &mut look));
            }
            outcome.map(|_| done)
        })
    })
}

/// Calls `look` unless Ctrl-C was pressed. If it was, then or while `look` runs, the exception says what became of the work.
fn unless_interrupted(
    py: Python<'_>,
    after: &'static str,
    look: &mut impl FnMut(Python<'_>) -> PyResult<bool>,
) -> PyResult<bool> {
    py.check_signals().and_then(|()| look(py)).map_err(|error| match error.is_instance_of::<PyKeyboardInterrupt>(py) {
        true => PyKeyboardInterrupt::new_err(after),
        false => error,
    })
}

/// Keeps the newest progress for the thread that shows it.
struct LatestProgress {
    progress: Arc<Mutex<Option<Progress>>>,
    taken: Instant,
}

impl Default for LatestProgress {
    fn default() -> Self {
        Self { progress: Arc::default(), taken: Instant::now() }
    }
}

impl LatestProgress {
    fn set(&self, progress: Progress) {
        *self.progress.lock().unwrap_or_else(PoisonError::into_inner) = Some(progress);
    }
}

impl Observer for LatestProgress {
    fn tick(&mut self, progress: &mut dyn FnMut() -> Progress) {
        if CALL_INTERVAL / 2 <= self.taken.elapsed() {
            self.taken = Instant::now();
            self.set(progress());
        }
    }
}

fn progress_dict<'py>(py: Python<'py>, progress: &Progress) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("interactions", progress.interactions)?;
    dict.set_item("total_interactions", progress.total_interactions)?;
    dict.set_item("episodes", progress.episodes)?;
    dict.set_item("mean_return", progress.mean_return)?;
    dict.set_item("epsilon", progress.epsilon)?;
    dict.set_item("sigma", progress.sigma)?;
    dict.set_item("explored_share", progress.explored_share)?;
    dict.set_item("loss", progress.loss)?;
    Ok(dict)
}

/// Evaluates the policy of a run; the result as JSON, appended to the run's evaluations if `record`.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "keyword arguments of Python")]
#[pyo3(signature = (run, noise, interactions, start_seed, threads, checkpoint, record))]
pub fn evaluate(
    py: Python<'_>,
    run: PathBuf,
    noise: bool,
    interactions: u64,
    start_seed: u64,
    threads: Option<usize>,
    checkpoint: Option<u64>,
    record: bool,
) -> PyResult<String> {
    let stop = AtomicBool::new(false);
    let work = || -> Result<Option<EvaluationFinished>, LabError> {
        let source = WorldSource::open(&read_config(&run)?.world, None, &mut |_| ())?;
        let trained = read_trained(&run, &source, checkpoint.map(AgentSteps).into())?;
        let evaluation = Evaluation {
            noise: if noise { NoiseMode::On } else { NoiseMode::Off },
            interactions: AgentSteps(interactions),
            start_seed,
            threads: threads.unwrap_or_else(available),
        };
        let result = sane_lab::evaluate(&trained, &source, &evaluation, |_| (), &stop)?;
        if let Some(result) = result.as_ref().filter(|result| record && !result.partial) {
            record_evaluation(&run, result)?;
        }
        Ok(result)
    };
    let result = supervised(py, &stop, "the evaluation was stopped; nothing was recorded", |_| Ok(true), work)?
        .map_err(lab_error)?;
    let result = result.ok_or_else(|| PyKeyboardInterrupt::new_err("the evaluation was stopped"))?;
    Ok(serde_json::to_string(&result).expect("a record is plain data"))
}

/// The folders of all runs at or below a folder, and why others could not be searched.
#[pyfunction]
pub fn run_folders(root: PathBuf) -> PyResult<(Vec<PathBuf>, Vec<String>)> {
    let found = sane_lab::find_runs(&root).map_err(lab_error)?;
    Ok((found.runs, found.warnings))
}

/// What a run has written down, as JSON: settings, events, evaluations.
#[pyfunction]
pub fn read_run(py: Python<'_>, folder: PathBuf) -> PyResult<(String, String, String)> {
    py.detach(|| {
        let config = read_config(&folder).map_err(lab_error)?;
        let events = folder.join("events.jsonl");
        let evaluations = folder.join("evaluations.jsonl");
        let events: Vec<Event> =
            if events.exists() { read_jsonl(&events).map_err(value_error)?.records } else { Vec::new() };
        let evaluations: Vec<Event> =
            if evaluations.exists() { read_jsonl(&evaluations).map_err(value_error)?.records } else { Vec::new() };
        let json = |value: serde_json::Result<String>| value.expect("a record is plain data");
        Ok((
            json(serde_json::to_string(&config)),
            json(serde_json::to_string(&events)),
            json(serde_json::to_string(&evaluations)),
        ))
    })
}
