//! The states with the smallest and largest |σ| of an evaluation, with pictures. The evaluation is played twice: once to
//! find the states, once more, as far as needed, to see them; episodes repeat bit for bit.

use super::extremes::{Candidate, End, Extremes};
use super::{Look, seen};
use crate::LabError;
use crate::evaluate::play_episode;
use sane_env::Picture;
use sane_record::{GalleryState, RiskGallery, SeenState};
use std::collections::BTreeMap;

/// How large a gallery is wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gallery {
    /// States at each end.
    pub states: usize,
    /// Interactions to look through.
    pub interactions: u64,
    /// Interactions between two shown states of one episode, at least.
    pub apart: u64,
}

/// A gallery and its pictures: one for each smallest, then one for each largest.
pub struct GalleryFound {
    /// What is written down.
    pub gallery: RiskGallery,
    /// What is seen.
    pub pictures: Vec<Picture>,
}

/// Finds the states. `progress` hears how many interactions are done and how many there will be; none if stopped.
pub fn gallery(
    look: &Look<'_>,
    wanted: Gallery,
    progress: impl Fn(u64, u64),
) -> Result<Option<GalleryFound>, LabError> {
    let (mut smallest, mut largest) = (Extremes::new(End::Smallest), Extremes::new(End::Largest));
    let frame_bytes = look.trained.spec().frame.bytes();
    let watched = look.watch(wanted.interactions, |view, state, before| {
        let newest = &view.state[view.state.len() - frame_bytes..];
        for end in [&mut smallest, &mut largest] {
            end.offer(state.sigma_abs, state.episode, state.interaction, newest);
        }
        progress(before + 1, wanted.interactions);
    })?;
    let Some(watched) = watched else { return Ok(None) };
    let picked = [smallest, largest].map(|end| end.pick(wanted.states, wanted.apart));
    let Some(shown) = look_again(look, picked.iter().flatten(), watched.interactions, &progress)? else {
        return Ok(None);
    };
    let mut pictures = Vec::new();
    let mut named = |end: &str, picked: &[Candidate]| -> Result<Vec<GalleryState>, LabError> {
        let mut states = Vec::new();
        for (i, candidate) in picked.iter().enumerate() {
            // Of very few states, one may stand at both ends, so nothing is taken out.
            let (state, picture) = shown.get(&(candidate.episode, candidate.interaction)).ok_or_else(|| {
                let name = look.source.config().name.clone();
                let reason = format!("episode {} did not repeat from its seed", candidate.episode);
                LabError::World { name, reason }
            })?;
            pictures.push(picture.clone());
            states.push(GalleryState { picture: format!("{end}-{}.png", i + 1), state: state.clone() });
        }
        Ok(states)
    };
    let (smallest, largest) = (named("smallest", &picked[0])?, named("largest", &picked[1])?);
    let subject = look.subject(&watched);
    Ok(Some(GalleryFound {
        gallery: RiskGallery { subject, apart_interactions: wanted.apart, smallest, largest },
        pictures,
    }))
}

type Shown = BTreeMap<(u64, u64), (SeenState, Picture)>;

/// Plays the episodes of the picked states once more, each up to its last one.
fn look_again<'a>(
    look: &Look<'_>,
    picked: impl Iterator<Item = &'a Candidate>,
    before: u64,
    progress: &impl Fn(u64, u64),
) -> Result<Option<Shown>, LabError> {
    let mut episodes: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for candidate in picked {
        episodes.entry(candidate.episode).or_default().push(candidate.interaction);
    }
    let lasts = episodes.values().filter_map(|places| places.iter().max());
    let total = before + lasts.map(|last| last + 1).sum::<u64>();
    let (mut shown, mut done) = (Shown::new(), before);
    let policy = look.trained.learner.policy();
    for (&number, places) in &episodes {
        let last = places.iter().copied().max().unwrap_or(0);
        let mode = look.noise.act_mode();
        play_episode(&mut policy.clone(), look.source, look.start_seed, number, mode, &mut |view, decision| {
            let place = view.episode.interactions;
            if places.contains(&place) {
                shown.insert((number, place), (seen(view, decision, number), view.world.picture()));
            }
            done += 1;
            progress(done, total);
            place < last && !look.is_stopped()
        })?;
        if look.is_stopped() {
            return Ok(None);
        }
    }
    Ok(Some(shown))
}
