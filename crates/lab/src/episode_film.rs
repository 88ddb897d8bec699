//! An episode picture by picture, with the action values of each state, and σ where the agent has one: the film of any agent.

use crate::LabError;
use crate::config::WorldConfig;
use crate::evaluate::{NoiseMode, play_episode};
use crate::risk::state_record;
use crate::trained::TrainedAgent;
use crate::world::WorldSource;
use sane_env::{LegendEntry, Picture};
use sane_record::SeenState;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// The episode of a film, and the part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FilmRange {
    pub noise: NoiseMode,
    /// Seed of the episode starts.
    pub start_seed: u64,
    /// Number of the episode.
    pub episode: u64,
    /// Interactions to skip at its beginning.
    pub from: u64,
    /// Interactions to film at most.
    pub length: u64,
}

/// The film.
pub struct EpisodeFilm {
    /// Its pictures in order.
    pub frames: Vec<FilmFrame>,
    /// What the colours of the pictures stand for, in worlds that say so.
    pub legend: Vec<LegendEntry>,
    /// Whether the episode continued after the last of them.
    pub was_cut: bool,
}

/// One picture.
pub struct FilmFrame {
    pub picture: Picture,
    pub state: SeenState,
    /// Return of the episode before this interaction.
    pub return_raw: f64,
}

/// Records a film. `progress` gets the number of interactions done and of all; `None` if stopped.
pub fn film_episode(
    trained: &TrainedAgent,
    source: &WorldSource,
    range: FilmRange,
    progress: impl Fn(u64, u64),
    stop: &AtomicBool,
) -> Result<Option<EpisodeFilm>, LabError> {
    let (mut frames, mut legend, mut was_cut) = (Vec::new(), Vec::new(), false);
    let (number, last) = (range.episode, range.from + range.length);
    let is_stopped = || stop.load(Ordering::Relaxed);
    let mut policy = trained.learner.policy();
    let mode = range.noise.act_mode();
    let episode = play_episode(&mut policy, source, range.start_seed, number, mode, &mut |view, decision| {
        let position = view.episode.interactions;
        was_cut = last <= position;
        if was_cut || is_stopped() {
            return false;
        }
        if range.from <= position {
            let state = state_record(view, decision, number);
            frames.push(FilmFrame { picture: view.world.picture(), state, return_raw: view.episode.return_raw });
            legend = view.world.legend();
        }
        progress(position + 1, last);
        true
    })?;
    if is_stopped() {
        return Ok(None);
    }
    if frames.is_empty() {
        return Err(LabError::EpisodeTooShort { episode: number, interactions: episode.interactions });
    }
    Ok(Some(EpisodeFilm { frames, legend, was_cut }))
}

/// The worlds of a run for a film: a Gymnasium environment draws itself if it can. What it shows the agent stays the same.
pub fn open_to_film(
    config: &WorldConfig,
    roms: Option<&Path>,
    message: &mut dyn FnMut(String),
) -> Result<WorldSource, LabError> {
    if sane_gym::is_gym_world(&config.name) && !config.kwargs.contains_key("render_mode") {
        let mut drawing = config.clone();
        drawing.kwargs.insert("render_mode".into(), "rgb_array".into());
        // An environment that has no such mode is filmed by its observations.
        if let Ok(source) = WorldSource::open(&drawing, roms, message) {
            return Ok(source);
        }
    }
    WorldSource::open(config, roms, message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preset::Preset;

    #[test]
    fn a_film_is_the_part_of_the_episode_that_was_asked_for_and_any_agent_can_be_filmed() {
        for agent in ["sane", "eps-greedy", "noisynet"] {
            let config = Preset::RiskyRoad.config("risky-road", agent).unwrap();
            let source = WorldSource::open(&config.world, None, &mut |_| ()).unwrap();
            let trained = TrainedAgent::untrained(&config, &source).unwrap();
            let film = |from, length| {
                let range = FilmRange { noise: NoiseMode::On, start_seed: 0, episode: 1, from, length };
                film_episode(&trained, &source, range, |_, _| (), &AtomicBool::new(false)).map(Option::unwrap)
            };
            let (whole, part) = (film(0, 600).unwrap(), film(1, 2).unwrap());
            assert!(!whole.was_cut && 3 < whole.frames.len() && part.was_cut);
            assert_eq!(part.frames.iter().map(|frame| frame.state.interaction).collect::<Vec<_>>(), [1, 2]);
            assert_eq!(part.frames[0].picture, whole.frames[1].picture);
            assert_eq!((part.legend.len(), part.frames[0].state.q.len()), (3, 3));
            assert!(film(600, 2).err().unwrap().to_string().starts_with("episode 1 lasts"));
        }
    }
}
