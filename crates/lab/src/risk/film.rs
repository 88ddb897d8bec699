//! An episode picture by picture, with the action values and σ of each state.

use super::{RiskProbe, state_record};
use crate::LabError;
use crate::evaluate::play_episode;
use sane_env::Picture;
use sane_record::SeenState;

/// A range of an episode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FilmRange {
    /// Number of the episode.
    pub episode: u64,
    /// Interactions to skip at its beginning.
    pub from: u64,
    /// Interactions to film at most.
    pub length: u64,
}

/// The film.
pub struct Film {
    /// Its pictures in order.
    pub frames: Vec<FilmFrame>,
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
pub fn film(probe: &RiskProbe<'_>, range: FilmRange, progress: impl Fn(u64, u64)) -> Result<Option<Film>, LabError> {
    probe.check()?;
    let (mut frames, mut was_cut, last) = (Vec::new(), false, range.from + range.length);
    let mut policy = probe.trained.learner.policy();
    let number = range.episode;
    let mode = probe.noise.act_mode();
    let episode = play_episode(&mut policy, probe.source, probe.start_seed, number, mode, &mut |view, decision| {
        let position = view.episode.interactions;
        was_cut = last <= position;
        if was_cut || probe.is_stopped() {
            return false;
        }
        if range.from <= position {
            let state = state_record(view, decision, number);
            frames.push(FilmFrame { picture: view.world.picture(), state, return_raw: view.episode.return_raw });
        }
        progress(position + 1, last);
        true
    })?;
    if probe.is_stopped() {
        return Ok(None);
    }
    if frames.is_empty() {
        return Err(LabError::EpisodeTooShort { episode: number, interactions: episode.interactions });
    }
    Ok(Some(Film { frames, was_cut }))
}
