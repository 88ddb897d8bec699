//! The runs below a folder: finding them, and a summary of each from its records, without loading it.

use crate::LabError;
use crate::config::RunConfig;
use crate::folder::read_config;
use sane_minigames::SolvedRule;
use sane_record::{Event, RunSearch, Timing, scan_jsonl};
use std::fs;
use std::path::{Path, PathBuf};

/// A run as its records show it.
#[derive(Debug, Clone)]
pub struct RunSummary {
    pub folder: PathBuf,
    pub config: RunConfig,
    /// Interactions of the last record.
    pub interactions: u64,
    /// Episodes of the last record.
    pub episodes: u64,
    /// Mean of the last 100 returns.
    pub mean_return: Option<f64>,
    /// Episodes that were bad by the world's own criterion, in worlds that have one.
    pub bad_episodes: Option<u64>,
    /// The episode at which a deep sea was solved by bsuite's criterion.
    pub solved_at_episode: Option<u64>,
    /// Whether training has reached the end of its budget.
    pub finished: bool,
    /// Digest of its complete state at its end, if it is finished.
    pub digest: Option<String>,
    /// Speed of its last interval.
    pub interactions_per_second: Option<f64>,
    /// Bytes of all its files.
    pub disk_bytes: u64,
}

/// The folders that a search found, in order of path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundFolders {
    /// Run folders, also those moved aside; what is in them may be damaged.
    pub runs: Vec<PathBuf>,
    /// Why other folders could not be searched: one sentence each.
    pub warnings: Vec<String>,
}

/// Every run folder at or below `root`.
pub fn find_runs(root: &Path) -> Result<FoundFolders, LabError> {
    let search = RunSearch { moved_aside: true, ..RunSearch::default() };
    let found = search.find(&[root.into()])?;
    let warnings = found.unreadable.iter().map(ToString::to_string).collect();
    Ok(FoundFolders { runs: found.folders.into_values().collect(), warnings })
}

impl RunSummary {
    pub fn read(folder: &Path) -> Result<Self, LabError> {
        let mut summary = Self {
            folder: folder.into(),
            config: read_config(folder)?,
            interactions: 0,
            episodes: 0,
            mean_return: None,
            bad_episodes: None,
            solved_at_episode: None,
            finished: false,
            digest: None,
            interactions_per_second: None,
            disk_bytes: disk_bytes(folder),
        };
        let (events, timings) = (folder.join("events.jsonl"), folder.join("timings.jsonl"));
        if events.exists() {
            let mut marks = Vec::new();
            scan_jsonl(&events, |line| {
                let event = serde_json::from_slice(line)?;
                summary.take(&event);
                if let Event::EpisodeFinished(episode) = event {
                    marks.extend(episode.bad);
                }
                Ok(())
            })?;
            summary.solved_at_episode = summary.solved_rule().and_then(|rule| rule.solved_at(marks));
        }
        if timings.exists() {
            scan_jsonl(&timings, |line| {
                if let Timing::Speed { interactions_per_second, .. } = serde_json::from_slice(line)? {
                    summary.interactions_per_second = Some(interactions_per_second);
                }
                Ok(())
            })?;
        }
        Ok(summary)
    }

    /// The criterion by which this run's world counts as solved, if there is one.
    fn solved_rule(&self) -> Option<SolvedRule> {
        sane_minigames::family_of(&self.config.world.name)?.solved
    }

    fn take(&mut self, event: &Event) {
        match event {
            Event::EpisodeFinished(episode) => {
                if let Some(bad) = episode.bad {
                    *self.bad_episodes.get_or_insert(0) += u64::from(bad);
                }
                self.interactions = episode.interactions;
                self.episodes = episode.episode;
                self.mean_return = Some(episode.return_mean_last_100);
            }
            Event::IntervalFinished(interval) => self.interactions = interval.interactions,
            Event::RunFinished(run) => {
                (self.interactions, self.finished) = (run.interactions, true);
                self.digest = run.digest.clone();
            }
            Event::RunStarted(_) | Event::EvaluationFinished(_) => {}
        }
    }
}

/// Bytes of all files at or below a folder; links are not followed.
pub(crate) fn disk_bytes(folder: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    entries
        .flatten()
        .map(|entry| match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => disk_bytes(&entry.path()),
            Ok(metadata) => metadata.len(),
            Err(_) => 0,
        })
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deep_sea_is_solved_at_the_first_logged_episode_with_few_enough_bad_ones() {
        let root = tempfile::tempdir().unwrap();
        let config = crate::Preset::DeepSea.config("deep-sea/10", "sane").unwrap();
        fs::write(root.path().join("config.toml"), crate::to_toml(&config)).unwrap();
        let episode = |number: u64| {
            let bad = number <= 9;
            format!(
                "{{\"event\":\"episode_finished\",\"interactions\":{number},\"episode\":{number},\"return_raw\":0.0,\
                 \"length_interactions\":10,\"length_frames\":10,\"ending\":\"game_over\",\"bad\":{bad},\
                 \"return_mean_last_100\":0.0}}\n"
            )
        };
        let write =
            |episodes| fs::write(root.path().join("events.jsonl"), (1..=episodes).map(episode).collect::<String>());
        write(10).unwrap();
        assert_eq!(RunSummary::read(root.path()).unwrap().solved_at_episode, None, "nine bad ones of ten are too many");
        write(30).unwrap();
        let summary = RunSummary::read(root.path()).unwrap();
        assert_eq!((summary.bad_episodes, summary.solved_at_episode), (Some(9), Some(12)));
    }
}
