//! The states at one end of the scale of |σ|, far enough apart to differ: candidates are kept while an evaluation goes
//! by, and picked from when it is over.

/// Candidates kept at an end. Neighbours in time have like |σ|, so many more are needed than are shown.
const KEPT: usize = 2_000;

/// Share of the values in use in which two frames must differ to count as different.
const LEAST_DIFFERENCE: f64 = 0.02;

/// Which end of the scale.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// Smallest |σ|.
    Smallest,
    /// Largest |σ|.
    Largest,
}

/// A state that may be shown.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// |σ|.
    pub sigma_abs: f64,
    /// Number of its episode.
    pub episode: u64,
    /// Interactions of the episode before it.
    pub interaction: u64,
    /// Its newest frame.
    pub frame: Vec<u8>,
}

/// The candidates of one end.
#[derive(Debug)]
pub struct Extremes {
    end: End,
    kept: Vec<Candidate>,
    /// Whoever is beyond this has no chance any more.
    bound: Option<f64>,
}

impl Extremes {
    /// None yet.
    pub fn new(end: End) -> Self {
        Self { end, kept: Vec::new(), bound: None }
    }

    /// Keeps the state if it is among the most extreme so far.
    pub fn offer(&mut self, sigma_abs: f64, episode: u64, interaction: u64, frame: &[u8]) {
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
    pub fn pick(mut self, count: usize, apart: u64) -> Vec<Candidate> {
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
