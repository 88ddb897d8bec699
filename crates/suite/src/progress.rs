//! Progress of a run, read off the ends of its files: cheap enough for every second.

use crate::file::{EvaluationFile, EvaluationNoise};
use sane_lab::{LabError, RunConfig};
use sane_record::{EvaluationFinished, Event, StopReason, Timing, open_plain, read_jsonl};
use serde::de::DeserializeOwned;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

/// Bytes read from the end of a file to find its last lines.
const TAIL_BYTES: u64 = 1 << 16;

/// Progress of a run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RunProgress {
    /// Interactions of its last record.
    pub interactions: u64,
    /// Whether training has reached the end of its budget.
    pub trained: bool,
    /// Mean of the last 100 episode returns.
    pub mean_return: Option<f64>,
    /// Speed of its last interval.
    pub interactions_per_second: Option<f64>,
    /// Interactions at which its last process found that it had diverged.
    pub diverged_at: Option<u64>,
}

impl RunProgress {
    /// Progress of the run in `folder`; a missing folder is a run that has not begun.
    pub fn read(folder: &Path, config: &RunConfig) -> Self {
        let mut progress = Self::default();
        for event in last_lines::<Event>(&folder.join("events.jsonl")) {
            let (interactions, mean) = match &event {
                Event::EpisodeFinished(episode) => (episode.interactions, Some(episode.return_mean_last_100)),
                Event::IntervalFinished(interval) => (interval.interactions, interval.return_mean_last_100),
                Event::RunFinished(run) => (run.interactions, run.return_mean_last_100),
                Event::RunStarted(_) | Event::EvaluationFinished(_) => continue,
            };
            progress.interactions = progress.interactions.max(interactions);
            progress.mean_return = progress.mean_return.or(mean);
            if let Event::RunFinished(run) = event {
                progress.trained = config.training.total_interactions.0 <= run.interactions;
            }
            if progress.mean_return.is_some() {
                break;
            }
        }
        let timings: Vec<Timing> = last_lines(&folder.join("timings.jsonl")).collect();
        progress.interactions_per_second = timings.iter().find_map(|timing| match timing {
            Timing::Speed { interactions_per_second, .. } => Some(*interactions_per_second),
            _ => None,
        });
        progress.diverged_at = match timings.first() {
            Some(Timing::ProcessStopped { interactions, reason: StopReason::Diverged, .. }) => Some(*interactions),
            _ => None,
        };
        progress
    }

    /// The evaluations the suite asks for that exist, and whether that is all of them.
    pub fn evaluations(
        folder: &Path,
        config: &RunConfig,
        wanted: &EvaluationFile,
    ) -> Result<(Vec<EvaluationFinished>, bool), LabError> {
        let modes = modes(config, wanted.noise);
        let path = folder.join("evaluations.jsonl");
        let all: Vec<Event> = if path.exists() { read_jsonl(&path)?.records } else { Vec::new() };
        let fits = |evaluation: &EvaluationFinished, mode: &str| {
            evaluation.noise == mode
                && evaluation.trained_interactions == config.training.total_interactions.0
                && evaluation.start_seed == wanted.start_seed
                && wanted.interactions <= evaluation.interactions
        };
        let find = |mode: &&str| {
            all.iter().rev().find_map(|event| match event {
                Event::EvaluationFinished(evaluation) if fits(evaluation, mode) => Some(evaluation.clone()),
                _ => None,
            })
        };
        let found: Vec<EvaluationFinished> = modes.iter().filter_map(find).collect();
        let complete = found.len() == modes.len();
        Ok((found, complete))
    }
}

/// The noise modes `sane eval` runs: an agent without noise has one.
fn modes(config: &RunConfig, noise: EvaluationNoise) -> &'static [&'static str] {
    match noise {
        EvaluationNoise::None => &[],
        _ if !config.learner.exploration.is_noisy() => &["off"],
        EvaluationNoise::Off => &["off"],
        EvaluationNoise::On => &["on"],
        EvaluationNoise::Both => &["off", "on"],
    }
}

/// The last complete, parsable lines of a file, newest first.
fn last_lines<T: DeserializeOwned>(path: &Path) -> impl Iterator<Item = T> {
    let bytes = tail(path).unwrap_or_default();
    let whole = bytes.iter().rposition(|&byte| byte == b'\n').map_or(&[][..], |end| &bytes[..end]);
    let lines: Vec<T> =
        whole.rsplit(|&byte| byte == b'\n').map_while(|line| serde_json::from_slice(line).ok()).take(64).collect();
    lines.into_iter()
}

fn tail(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut file = open_plain(path)?;
    let length = file.metadata()?.len();
    file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES)))?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use sane_lab::Preset;
    use sane_record::{JsonlFile, RunFinished};
    use std::fs::OpenOptions;
    use std::io::Write;

    #[test]
    fn progress_is_that_of_the_last_complete_line() {
        let folder = tempfile::tempdir().unwrap();
        let mut config = Preset::Minatar.config("minatar/breakout", "eps-greedy").unwrap();
        assert_eq!(RunProgress::read(folder.path(), &config), RunProgress::default());
        let finished = RunFinished {
            interactions: 90,
            frames: 90,
            episodes: 3,
            train_steps: 2,
            return_mean_last_100: Some(1.5),
            digest: None,
        };
        let path = folder.path().join("events.jsonl");
        let mut file = JsonlFile::append(&path).unwrap();
        file.write(&Event::RunFinished(finished)).unwrap();
        file.sync().unwrap();
        OpenOptions::new().append(true).open(&path).unwrap().write_all(b"{\"event\":\"run_fini").unwrap();
        let progress = RunProgress::read(folder.path(), &config);
        assert_eq!((progress.interactions, progress.trained, progress.mean_return), (90, false, Some(1.5)));
        config.training.total_interactions.0 = 90;
        assert!(RunProgress::read(folder.path(), &config).trained);
    }

    #[test]
    fn an_agent_without_noise_is_measured_once() {
        let config = |agent| Preset::Minatar.config("minatar/breakout", agent).unwrap();
        assert_eq!(modes(&config("eps-greedy"), EvaluationNoise::Both), ["off"]);
        assert_eq!(modes(&config("sane"), EvaluationNoise::Both), ["off", "on"]);
        assert!(modes(&config("sane"), EvaluationNoise::None).is_empty());
    }
}
