//! The states with the smallest and largest |σ| of an evaluation, with pictures. The evaluation is played twice: first to
//! find the states, then, as far as needed, to take their pictures; episodes repeat bit for bit.

use super::{RiskProbe, state_record};
use crate::LabError;
use crate::evaluate::play_episode;
use sane_env::Picture;
use sane_record::{GalleryState, RiskGallery, SeenState};
use std::collections::BTreeMap;

/// Candidates kept at an end. Neighbours in time have like |σ|, so many more are needed than are shown.
const KEPT: usize = 2_000;

/// Share of the values in use in which two frames must differ to count as different.
const LEAST_DIFFERENCE: f64 = 0.02;

/// Size of a gallery.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gallery {
    /// States at each end.
    pub states: usize,
    /// Interactions to search.
    pub interactions: u64,
    /// Interactions between two shown states of one episode, at least.
    pub apart: u64,
}

/// A gallery and its pictures: one for each smallest, then one for each largest.
pub struct GalleryWithPictures {
    pub gallery: RiskGallery,
    pub pictures: Vec<Picture>,
}

/// Finds the states. `progress` gets the number of interactions done and of all; `None` if stopped.
pub fn gallery(
    probe: &RiskProbe<'_>,
    wanted: Gallery,
    progress: impl Fn(u64, u64),
) -> Result<Option<GalleryWithPictures>, LabError> {
    probe.check()?;
    let (mut smallest, mut largest) = (Extremes::new(End::Smallest), Extremes::new(End::Largest));
    let frame_bytes = probe.trained.spec().frame.bytes();
    let observed = probe.observe(wanted.interactions, |view, state, before| {
        let newest = &view.state[view.state.len() - frame_bytes..];
        for end in [&mut smallest, &mut largest] {
            end.offer(state.sigma_abs, state.episode, state.interaction, newest);
        }
        progress(before + 1, wanted.interactions);
    })?;
    let Some(observed) = observed else { return Ok(None) };
    let picked = [smallest, largest].map(|end| end.pick(wanted.states, wanted.apart));
    let Some(shown) = replay_states(probe, picked.iter().flatten(), observed.interactions, &progress)? else {
        return Ok(None);
    };
    let mut pictures = Vec::new();
    let mut named = |end: &str, picked: &[Candidate]| -> Result<Vec<GalleryState>, LabError> {
        let mut states = Vec::new();
        for (i, candidate) in picked.iter().enumerate() {
            // Of very few states, one may be at both ends, so nothing is removed from the map.
            let (state, picture) = shown.get(&(candidate.episode, candidate.interaction)).ok_or_else(|| {
                let name = probe.source.config().name.clone();
                let reason = format!("episode {} did not repeat from its seed", candidate.episode);
                LabError::World { name, reason }
            })?;
            pictures.push(picture.clone());
            states.push(GalleryState { picture: format!("{end}-{}.png", i + 1), state: state.clone() });
        }
        Ok(states)
    };
    let (smallest, largest) = (named("smallest", &picked[0])?, named("largest", &picked[1])?);
    let subject = probe.subject(&observed);
    Ok(Some(GalleryWithPictures {
        gallery: RiskGallery { subject, apart_interactions: wanted.apart, smallest, largest },
        pictures,
    }))
}

type Shown = BTreeMap<(u64, u64), (SeenState, Picture)>;

/// Plays the episodes of the picked states once more, each up to its last one.
fn replay_states<'a>(
    probe: &RiskProbe<'_>,
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
    let policy = probe.trained.learner.policy();
    for (&number, places) in &episodes {
        let last = places.iter().copied().max().unwrap_or(0);
        let mode = probe.noise.act_mode();
        play_episode(&mut policy.clone(), probe.source, probe.start_seed, number, mode, &mut |view, decision| {
            let place = view.episode.interactions;
            if places.contains(&place) {
                shown.insert((number, place), (state_record(view, decision, number), view.world.picture()));
            }
            done += 1;
            progress(done, total);
            place < last && !probe.is_stopped()
        })?;
        if probe.is_stopped() {
            return Ok(None);
        }
    }
    Ok(Some(shown))
}

/// Which end of the scale.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    /// Smallest |σ|.
    Smallest,
    /// Largest |σ|.
    Largest,
}

/// A state that may be shown.
#[derive(Debug, Clone, PartialEq)]
struct Candidate {
    /// |σ|.
    sigma_abs: f64,
    /// Number of its episode.
    episode: u64,
    /// Interactions of the episode before it.
    interaction: u64,
    /// Its newest frame.
    frame: Vec<u8>,
}

/// The candidates of one end.
#[derive(Debug)]
struct Extremes {
    end: End,
    kept: Vec<Candidate>,
    /// States beyond this are no candidates any more.
    bound: Option<f64>,
}

impl Extremes {
    fn new(end: End) -> Self {
        Self { end, kept: Vec::new(), bound: None }
    }

    /// Keeps the state if it is among the most extreme so far.
    fn offer(&mut self, sigma_abs: f64, episode: u64, interaction: u64, frame: &[u8]) {
        if self.bound.is_some_and(|bound| self.is_nearer(bound, sigma_abs)) {
            return;
        }
        self.kept.push(Candidate { sigma_abs, episode, interaction, frame: frame.to_vec() });
        if 2 * KEPT <= self.kept.len() {
            self.sort();
            self.kept.truncate(KEPT);
            self.bound = self.kept.last().map(|candidate| candidate.sigma_abs);
        }
    }

    /// Up to `count` states, the most extreme first: two of one episode are at least `apart` interactions apart, and no
    /// two look alike.
    fn pick(mut self, count: usize, apart: u64) -> Vec<Candidate> {
        self.sort();
        let mut picked: Vec<Candidate> = Vec::new();
        for candidate in self.kept {
            if picked.len() == count {
                break;
            }
            let is_new = |other: &Candidate| {
                let is_far =
                    other.episode != candidate.episode || apart <= other.interaction.abs_diff(candidate.interaction);
                is_far && differ(&other.frame, &candidate.frame)
            };
            if picked.iter().all(is_new) {
                picked.push(candidate);
            }
        }
        picked
    }

    fn is_nearer(&self, first: f64, second: f64) -> bool {
        match self.end {
            End::Smallest => first < second,
            End::Largest => second < first,
        }
    }

    /// Most extreme first; the sort is stable, so that equals stay in the order they came.
    fn sort(&mut self) {
        let end = self.end;
        self.kept.sort_by(|a, b| match end {
            End::Smallest => a.sigma_abs.total_cmp(&b.sigma_abs),
            End::Largest => b.sigma_abs.total_cmp(&a.sigma_abs),
        });
    }
}

/// Whether two frames differ enough to be told apart: by a share of the values that are in use in either.
fn differ(a: &[u8], b: &[u8]) -> bool {
    let in_use = a.iter().zip(b).filter(|(a, b)| **a != 0 || **b != 0).count();
    let different = a.iter().zip(b).filter(|(a, b)| a != b).count();
    0 < different && LEAST_DIFFERENCE * in_use as f64 <= different as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picked(end: End, offers: &[(f64, u64, u64, u8)], count: usize, apart: u64) -> Vec<(u64, u64)> {
        let mut extremes = Extremes::new(end);
        offers.iter().for_each(|&(sigma, episode, interaction, pixel)| {
            extremes.offer(sigma, episode, interaction, &[pixel, 9, 9]);
        });
        extremes.pick(count, apart).iter().map(|state| (state.episode, state.interaction)).collect()
    }

    #[test]
    fn the_most_extreme_come_first_at_either_end() {
        let offers = [(0.3, 0, 0, 1), (0.1, 0, 10, 2), (0.5, 0, 20, 3), (0.2, 0, 30, 4)];
        assert_eq!(picked(End::Smallest, &offers, 2, 5), [(0, 10), (0, 30)]);
        assert_eq!(picked(End::Largest, &offers, 2, 5), [(0, 20), (0, 0)]);
    }

    #[test]
    fn neighbours_in_time_are_shown_once_but_other_episodes_may_be_as_near() {
        let offers = [(0.10, 0, 10, 1), (0.11, 0, 11, 2), (0.12, 1, 11, 3), (0.13, 0, 15, 4)];
        assert_eq!(picked(End::Smallest, &offers, 4, 5), [(0, 10), (1, 11), (0, 15)]);
    }

    #[test]
    fn two_states_that_look_alike_are_shown_once() {
        let offers = [(0.1, 0, 0, 7), (0.2, 1, 0, 7), (0.3, 2, 0, 8)];
        assert_eq!(picked(End::Smallest, &offers, 4, 5), [(0, 0), (2, 0)]);
    }

    #[test]
    fn the_most_extreme_of_very_many_is_found_wherever_it_stands() {
        for place in [0, 5_000, 9_999] {
            let mut extremes = Extremes::new(End::Largest);
            for t in 0..10_000 {
                extremes.offer(if t == place { 2.0 } else { (t % 100) as f64 / 100.0 }, 0, t, &[t as u8]);
            }
            assert_eq!(extremes.pick(1, 1)[0].interaction, place);
        }
    }
}
