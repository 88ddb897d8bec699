//! An episode picture by picture, with what the policy thought of each.

use super::{Look, seen};
use crate::LabError;
use crate::evaluate::play_episode;
use sane_env::Picture;
use sane_record::SeenState;

/// Which part of which episode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Filming {
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
    /// Whether the episode went on after the last of them.
    pub was_cut: bool,
}

/// One picture.
pub struct FilmFrame {
    /// What is seen.
    pub picture: Picture,
    /// What the policy made of it.
    pub state: SeenState,
    /// Return of the episode before this interaction.
    pub return_raw: f64,
}

/// Films. `progress` hears how many interactions are done, of at most how many; none if stopped.
pub fn film(look: &Look<'_>, filming: Filming, progress: impl Fn(u64, u64)) -> Result<Option<Film>, LabError> {
    look.check()?;
    let (mut frames, mut was_cut, last) = (Vec::new(), false, filming.from + filming.length);
    let mut policy = look.trained.learner.policy();
    let number = filming.episode;
    let mode = look.noise.act_mode();
    let episode = play_episode(&mut policy, look.source, look.start_seed, number, mode, &mut |view, decision| {
        let place = view.episode.interactions;
        was_cut = last <= place;
        if was_cut || look.is_stopped() {
            return false;
        }
        if filming.from <= place {
            let state = seen(view, decision, number);
            frames.push(FilmFrame { picture: view.world.picture(), state, return_raw: view.episode.return_raw });
        }
        progress(place + 1, last);
        true
    })?;
    if look.is_stopped() {
        return Ok(None);
    }
    if frames.is_empty() {
        return Err(LabError::EpisodeTooShort { episode: number, interactions: episode.interactions });
    }
    Ok(Some(Film { frames, was_cut }))
}
