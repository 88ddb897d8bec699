//! The records of a run while it trains: events, evaluations, timings, and the same numbers for TensorBoard. A resumed run
//! continues them at the byte at which its checkpoint was made.

use crate::LabError;
use crate::checkpoint::Entry;
use crate::config::{RunConfig, flat};
use crate::evaluate::Summary;
use crate::machine::{machine, resident_bytes, unix_seconds};
use crate::timer::Lap;
use sane_record::{
    Disk, EVALUATIONS_IN_TRAINING, EvaluatedWhileTraining, Event, Histogram, HyperParameter, IntervalFinished,
    JsonlFile, StopReason, TensorBoard, Timing,
};
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;

/// The record that checkpoints cover.
pub(crate) const EVENTS: &str = "events.jsonl";

/// Buckets of a parameter histogram.
const BUCKETS: usize = 64;

/// The open records of a run: events, evaluations while training, timings, TensorBoard.
#[derive(Debug)]
pub(crate) struct Journal {
    events: JsonlFile,
    /// Of a run that has never made any: none.
    evaluations: Option<JsonlFile>,
    timings: JsonlFile,
    board: TensorBoard,
}

/// Lengths of the files that a resumed run continues at an exact byte; part of the checkpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Positions {
    events: u64,
    board: u64,
}

impl Journal {
    /// Opens the records in `folder` and truncates them to what the checkpoint covers, its `positions` and `records`;
    /// bytes that are not those of the checkpoint are an error.
    pub(crate) fn resume(
        disk: &Arc<dyn Disk>,
        folder: &Path,
        positions: Positions,
        records: &[Entry],
        evaluates: bool,
    ) -> Result<Self, LabError> {
        let disk = || Arc::clone(disk);
        let covered = |name: &str| records.iter().find(|record| record.name == name);
        let digest = |entry: Option<&Entry>| entry.map(|entry| entry.blake3.clone());
        let evaluations = folder.join(EVALUATIONS_IN_TRAINING);
        let evaluated = covered(EVALUATIONS_IN_TRAINING);
        let evaluations = (evaluates || evaluated.is_some() || evaluations.exists()).then(|| {
            let position = evaluated.map_or(0, |entry| entry.bytes);
            JsonlFile::resume_on(disk(), evaluations, position, digest(evaluated).as_deref())
        });
        Ok(Self {
            events: JsonlFile::resume_on(
                disk(),
                folder.join(EVENTS),
                positions.events,
                digest(covered(EVENTS)).as_deref(),
            )?,
            evaluations: evaluations.transpose()?,
            timings: JsonlFile::append_on(disk(), folder.join("timings.jsonl"))?,
            board: TensorBoard::resume_on(disk(), &folder.join("tensorboard"), positions.board)?,
        })
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.events.position() == 0
    }

    /// Writes the settings of a run that begins, for TensorBoard's page HPARAMS. Runs that differ in their seed are one group.
    pub(crate) fn hyperparameters(&mut self, config: &RunConfig) -> Result<(), LabError> {
        let mut settings = flat(config);
        let seed = settings.remove("seed").unwrap_or_default();
        let group = settings.iter().fold(blake3::Hasher::new(), |mut group, (key, value)| {
            group.update(format!("{key}={value}\n").as_bytes());
            group
        });
        settings.insert("seed".into(), seed);
        let parameters: Vec<(&str, HyperParameter<'_>)> =
            settings.iter().map(|(key, value)| (key.as_str(), hyperparameter(value))).collect();
        Ok(self.board.hyperparameters(&group.finalize().to_hex()[..16], parameters)?)
    }

    /// Syncs the files and returns their lengths and the digests of those that repeat bit for bit, for a checkpoint.
    pub(crate) fn sync(&mut self) -> Result<(Positions, Vec<Entry>), LabError> {
        self.events.sync()?;
        if let Some(evaluations) = &mut self.evaluations {
            evaluations.sync()?;
        }
        self.timings.sync()?;
        self.board.sync()?;
        let files = [(EVENTS, Some(&self.events)), (EVALUATIONS_IN_TRAINING, self.evaluations.as_ref())];
        let entry = |(name, file): (&str, Option<&JsonlFile>)| {
            file.map(|file| Entry { name: name.into(), bytes: file.position(), blake3: file.digest() })
        };
        let records = files.into_iter().filter_map(entry).collect();
        Ok((Positions { events: self.events.position(), board: self.board.position() }, records))
    }

    /// Writes an event, and its numbers for TensorBoard.
    pub(crate) fn event(&mut self, event: &Event) -> Result<(), LabError> {
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
            Event::RunFinished(_) => {
                self.board.hyperparameters_end()?;
                self.flush()?;
            }
            Event::RunStarted(_) | Event::EvaluationFinished(_) => self.flush()?,
        }
        Ok(())
    }

    /// Writes an evaluation made while training, and its numbers for TensorBoard.
    pub(crate) fn evaluation(&mut self, evaluation: &EvaluatedWhileTraining) -> Result<(), LabError> {
        if let Some(file) = &mut self.evaluations {
            file.write(evaluation)?;
            file.flush()?;
        }
        let Summary { mean, interval_95: [low, high], .. } = Summary::of(&evaluation.returns);
        let points = [
            ("evaluation/return_mean", mean),
            ("evaluation/return_mean_low", low),
            ("evaluation/return_mean_high", high),
            ("evaluation/episodes", evaluation.episodes as f64),
        ];
        Ok(self.board.scalars(evaluation.interactions, &points)?)
    }

    /// Writes the histogram of a tensor.
    pub(crate) fn histogram(&mut self, interactions: u64, name: &str, values: &[f32]) -> Result<(), LabError> {
        let tag = format!("parameters/{name}");
        Ok(self.board.histogram(interactions, &tag, &Histogram::of(values, BUCKETS))?)
    }

    /// Writes the speed of an interval.
    pub(crate) fn speed(&mut self, interactions: u64, per_second: f64, lap: &Lap) -> Result<(), LabError> {
        self.board.scalars(interactions, &[("speed/interactions_per_second", per_second)])?;
        self.timing(&Timing::Speed {
            interactions,
            interactions_per_second: per_second,
            resident_bytes: resident_bytes().unwrap_or(0),
            share: lap.share,
        })
    }

    pub(crate) fn process_started(&mut self, from_interactions: u64) -> Result<(), LabError> {
        self.timing(&Timing::ProcessStarted {
            unix_seconds: unix_seconds(),
            from_interactions,
            threads: rayon::current_num_threads() as u64,
            version: env!("CARGO_PKG_VERSION").into(),
            kernel: sane_nn::Kernel::detect().name().into(),
        })?;
        self.timing(&machine())
    }

    pub(crate) fn process_stopped(&mut self, interactions: u64, reason: StopReason) -> Result<(), LabError> {
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

/// A setting as TOML prints it.
fn hyperparameter(value: &str) -> HyperParameter<'_> {
    match (value.parse::<f64>(), value.parse::<bool>()) {
        (Ok(number), _) => HyperParameter::Number(number),
        (_, Ok(truth)) => HyperParameter::Truth(truth),
        _ => HyperParameter::Text(value.trim_matches('"')),
    }
}

fn interval_points(interval: &IntervalFinished) -> Vec<(&'static str, f64)> {
    let module = interval.module;
    let known = [
        ("learning/loss", interval.loss_mean),
        ("learning/q", interval.q_mean),
        ("learning/target", interval.target_mean),
        ("learning/gradient_norm", interval.gradient_norm_mean),
        ("learning/td_loss", interval.bound.map(|bound| bound.td_loss_mean)),
        ("learning/kl_sigma", interval.bound.map(|bound| bound.kl_sigma_mean)),
        ("learning/kl_means", interval.bound.map(|bound| bound.kl_means_mean)),
        ("exploration/kl_weight", interval.bound.map(|bound| bound.kl_weight_mean)),
        ("exploration/q_noise", interval.bound.map(|bound| bound.q_noise_mean)),
        ("exploration/gap", interval.bound.map(|bound| bound.gap_mean)),
        ("exploration/epsilon", interval.epsilon),
        ("exploration/effective", interval.effective_exploration_share),
        ("exploration/changed_actions", interval.changed_action_share),
        ("exploration/changed_actions_risky", interval.by_risk.and_then(|by_risk| by_risk.changed_share_risky)),
        ("exploration/changed_actions_other", interval.by_risk.and_then(|by_risk| by_risk.changed_share_other)),
        ("exploration/sigma_mean", interval.sigma.map(|sigma| sigma.mean_abs)),
        ("exploration/sigma_min", interval.sigma.map(|sigma| sigma.min_abs)),
        ("exploration/sigma_max", interval.sigma.map(|sigma| sigma.max_abs)),
        ("module/live_units", module.map(|module| module.live_units_share)),
        ("module/dead_states", module.and_then(|module| module.dead_states_share)),
        ("module/sigma_spread", module.map(|module| module.sigma_spread_abs)),
        ("module/sigma_negative", module.map(|module| module.sigma_negative_share)),
        ("progress/return_mean_last_100", interval.return_mean_last_100),
        ("progress/episodes", Some(interval.episodes as f64)),
    ];
    known.into_iter().filter_map(|(tag, value)| Some((tag, value?))).collect()
}
