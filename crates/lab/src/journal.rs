//! The records of a run being written: events, timings, TensorBoard. Owns the open files and knows where they stand.

use crate::LabError;
use crate::machine::{machine, resident_bytes_of};
use crate::timer::Lap;
use sane_record::{Event, Histogram, IntervalFinished, JsonlFile, StopReason, TensorBoard, Timing};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::time::SystemTime;

/// Buckets of a parameter histogram.
const BUCKETS: usize = 64;

/// The open records of a run.
#[derive(Debug)]
pub struct Journal {
    events: JsonlFile,
    timings: JsonlFile,
    board: TensorBoard,
}

/// Where the files stand that must go on at an exact byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Positions {
    events: u64,
    board: u64,
}

impl Journal {
    /// Opens the records in `folder`; whatever was written behind `positions` is dropped.
    pub fn resume(folder: &Path, positions: Positions) -> Result<Self, LabError> {
        Ok(Self {
            events: JsonlFile::resume(folder.join("events.jsonl"), positions.events)?,
            timings: JsonlFile::append(folder.join("timings.jsonl"))?,
            board: TensorBoard::resume(&folder.join("tensorboard"), positions.board)?,
        })
    }

    /// Whether no event was written yet.
    pub fn is_empty(&self) -> bool {
        self.events.position() == 0
    }

    /// Puts everything on the disk and says where the files stand: what a checkpoint needs to know.
    pub fn settle(&mut self) -> Result<Positions, LabError> {
        self.events.sync()?;
        self.board.sync()?;
        Ok(Positions { events: self.events.position(), board: self.board.position() })
    }

    /// Writes an event, and its numbers for TensorBoard.
    pub fn event(&mut self, event: &Event) -> Result<(), LabError> {
        self.events.write(event)?;
        match event {
            Event::EpisodeFinished(episode) => {
                let mut points = vec![
                    ("episode/return", episode.return_raw),
                    ("episode/length", episode.length_interactions as f64),
                ];
                points.push(("episode/return_mean_last_100", episode.return_mean_last_100));
                if let Some(sigma) = episode.sigma {
                    points.push(("episode/sigma_mean", sigma.mean_abs));
                    points.push(("episode/sigma_min", sigma.min_abs));
                    points.push(("episode/sigma_max", sigma.max_abs));
                }
                self.board.scalars(episode.interactions, &points)?;
            }
            Event::IntervalFinished(interval) => {
                self.board.scalars(interval.interactions, &interval_points(interval))?;
                self.flush()?;
            }
            Event::RunStarted(_) | Event::RunFinished(_) | Event::EvaluationFinished(_) => self.flush()?,
        }
        Ok(())
    }

    /// Writes how a tensor's numbers are spread.
    pub fn histogram(&mut self, interactions: u64, name: &str, values: &[f32]) -> Result<(), LabError> {
        let tag = format!("parameters/{name}");
        Ok(self.board.histogram(interactions, &tag, &Histogram::of(values, BUCKETS))?)
    }

    /// Writes how fast a stretch was.
    pub fn speed(&mut self, interactions: u64, per_second: f64, lap: &Lap) -> Result<(), LabError> {
        self.board.scalars(interactions, &[("speed/interactions_per_second", per_second)])?;
        self.timing(&Timing::Speed {
            interactions,
            interactions_per_second: per_second,
            resident_bytes: resident_bytes().unwrap_or(0),
            share: lap.share,
        })
    }

    /// Writes that this process begins to work on the run.
    pub fn process_started(&mut self, from_interactions: u64) -> Result<(), LabError> {
        self.timing(&Timing::ProcessStarted {
            unix_seconds: unix_seconds(),
            from_interactions,
            threads: rayon::current_num_threads() as u64,
            version: env!("CARGO_PKG_VERSION").into(),
        })?;
        self.timing(&machine())
    }

    /// Writes that this process stops working on the run.
    pub fn process_stopped(&mut self, interactions: u64, reason: StopReason) -> Result<(), LabError> {
        self.flush()?;
        self.timing(&Timing::ProcessStopped { unix_seconds: unix_seconds(), interactions, reason })
    }

    fn timing(&mut self, timing: &Timing) -> Result<(), LabError> {
        self.timings.write(timing)?;
        Ok(self.timings.flush()?)
    }

    fn flush(&mut self) -> Result<(), LabError> {
        self.events.flush()?;
        Ok(self.board.flush()?)
    }
}

fn interval_points(interval: &IntervalFinished) -> Vec<(&'static str, f64)> {
    let module = interval.module;
    let known = [
        ("learning/loss", interval.loss_mean),
        ("learning/q", interval.q_mean),
        ("learning/target", interval.target_mean),
        ("learning/gradient_norm", interval.gradient_norm_mean),
        ("exploration/epsilon", interval.epsilon),
        ("exploration/effective", interval.effective_exploration_share),
        ("exploration/sigma_mean", interval.sigma.map(|sigma| sigma.mean_abs)),
        ("exploration/sigma_min", interval.sigma.map(|sigma| sigma.min_abs)),
        ("exploration/sigma_max", interval.sigma.map(|sigma| sigma.max_abs)),
        ("module/live_units", module.map(|module| module.live_units_share)),
        ("module/sigma_spread", module.map(|module| module.sigma_spread_abs)),
        ("module/sigma_negative", module.map(|module| module.sigma_negative_share)),
        ("progress/return_mean_last_100", interval.return_mean_last_100),
        ("progress/episodes", Some(interval.episodes as f64)),
    ];
    known.into_iter().filter_map(|(tag, value)| Some((tag, value?))).collect()
}

/// The machine's clock, which may jump: for people only, nothing is computed from it.
pub fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Memory of this process, where the system says.
pub fn resident_bytes() -> Option<u64> {
    resident_bytes_of(std::process::id())
}
