//! The control that tells whether it matters *which* state has which σ: SANE with its KL term, acting with the σ of other
//! states.
//!
//! ```text
//! acting in s with noise: σ(s') instead of σ(s), s' drawn from the replay;   learning, or acting without noise: σ(s) itself
//! ```
//!
//! The module learns as in `sane-elbo`, so that the values of σ are the same ones; they are only given to other states. (If
//! learning were shuffled, too, the optimum would be one σ for all states, which is another control.) The σ in use are those
//! of the last batches that were learned from, taken in their order: batches are drawn uniformly from the replay.

use super::sane_elbo::{Elbo, ElboVariant};
use crate::AgentError;
use crate::behaviour::{Behaviour, Thompson};
use crate::perturbation::Purpose;
use crate::perturbation_module::Scales;
use crate::state_aware::{OneState, StateRule};
use sane_nn::Matrix;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Settings of SANE with shuffled σ.
pub type SaneShuffled = Elbo<OfAnotherState>;

/// σ of another state when acting.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct OfAnotherState {}

impl ElboVariant for OfAnotherState {
    const NAME: &'static str = "sane-shuffled";
    const SUMMARY: &'static str = "sane-elbo acting with the σ of other states: a control";

    fn rule(&self) -> Option<Arc<dyn StateRule>> {
        Some(Arc::new(*self))
    }

    /// Without noise in acting it would be `sane-elbo`, and the control of nothing.
    fn check(&self, thompson: Thompson) -> Result<(), AgentError> {
        thompson
            .check_is_acted_on("step or episode, since this agent differs from sane-elbo in acting on its noise alone")
    }

    fn memory(&self) -> Option<Box<dyn Behaviour>> {
        Some(Box::new(RecentSigmas::new()))
    }
}

impl StateRule for OfAnotherState {
    /// σ of the other state; 0 where the state has its own.
    fn look_up(&self, state: &OneState<'_>) -> f32 {
        if state.inputs.purpose == Purpose::Act { state.remembered() } else { 0.0 }
    }

    fn scales(&self, other: f32, sigma: f32) -> Scales {
        if 0.0 < other { Scales { sigma: other / sigma, kl: 1.0 } } else { Scales::ONE }
    }
}

/// How many σ are remembered.
const REMEMBERED: usize = 256;

/// σ of the last states learned from, and which of them is in use.
#[derive(Debug, Clone)]
struct RecentSigmas {
    /// Where the next σ is written, how many there are, which is in use; then the σ as bits.
    words: Vec<u32>,
}

const NEXT: usize = 0;
const COUNT: usize = 1;
const IN_USE: usize = 2;
const FIRST: usize = 3;

impl RecentSigmas {
    fn new() -> Self {
        Self { words: vec![0; FIRST + REMEMBERED] }
    }
}

impl Behaviour for RecentSigmas {
    fn begin_decision(&mut self) {
        let count = self.words[COUNT];
        if 0 < count {
            self.words[IN_USE] = (self.words[IN_USE] + 1) % count;
        }
    }

    fn learned(&mut self, sigma: &Matrix) {
        for i in 0..sigma.rows() {
            let next = self.words[NEXT] as usize;
            self.words[FIRST + next] = sigma.row(i)[0].to_bits();
            self.words[NEXT] = ((next + 1) % REMEMBERED) as u32;
            self.words[COUNT] = (self.words[COUNT] + 1).min(REMEMBERED as u32);
        }
    }

    /// The σ in use; 0 before the first batch.
    fn features(&self, _state: &[u8], _features: &[f32], out: &mut [f32]) {
        out[0] = f32::from_bits(self.words[FIRST + self.words[IN_USE] as usize]);
    }

    fn memory(&self) -> &[u32] {
        &self.words
    }

    fn is_valid(&self, memory: &[u32], _actions: usize) -> bool {
        let [next, count, in_use] = [NEXT, COUNT, IN_USE].map(|place| memory[place] as usize);
        let sigmas = memory[FIRST..].iter().map(|bits| f32::from_bits(*bits));
        next < REMEMBERED && count <= REMEMBERED && in_use < count.max(1) && sigmas.into_iter().all(f32::is_finite)
    }

    fn restore(&mut self, memory: &[u32]) {
        self.words.copy_from_slice(memory);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::explorer::Explorer;
    use crate::{ActMode, AgentConfig, Learner};
    use sane_env::{EnvSpec, FrameSkip, FrameSpace, Stream};
    use sane_replay::Batch;

    fn world() -> EnvSpec {
        let actions = (0..3).map(|a| a.to_string()).collect();
        let frame = FrameSpace::planes(2, 10, 10);
        EnvSpec { name: "test".into(), frame, history: 1, actions, frame_skip: FrameSkip(1) }
    }

    /// Eight transitions from states of random bits.
    fn transitions() -> Batch {
        let (mut batch, mut bits) = (Batch::new(8, world().state_bytes()), Stream::named(4, "states"));
        batch.states.fill_with(|| bits.below(2) as u8);
        batch
    }

    fn in_use(sigmas: &RecentSigmas) -> f32 {
        let mut out = [0.0];
        sigmas.features(&[], &[], &mut out);
        out[0]
    }

    fn batch(first: f32) -> Matrix {
        let mut sigma = Matrix::zeros(100, 1);
        (0..100).for_each(|i| sigma.row_mut(i)[0] = first + i as f32);
        sigma
    }

    #[test]
    fn every_remembered_sigma_is_used_once_before_any_is_used_again() {
        let mut sigmas = RecentSigmas::new();
        sigmas.begin_decision();
        assert_eq!(in_use(&sigmas), 0.0);
        [1.0, 101.0, 201.0].iter().for_each(|first| sigmas.learned(&batch(*first)));
        let mut used: Vec<f32> = (0..REMEMBERED)
            .map(|_| {
                sigmas.begin_decision();
                in_use(&sigmas)
            })
            .collect();
        used.sort_by(f32::total_cmp);
        let newest: Vec<f32> = (0..REMEMBERED).map(|i| (300 - REMEMBERED + 1 + i) as f32).collect();
        assert_eq!(used, newest);
    }

    #[test]
    fn only_noise_that_is_acted_on_has_the_sigma_of_other_states() {
        let learner = |name| {
            let mut config = AgentConfig::named(name, &world()).unwrap();
            config.network.hidden = vec![16];
            Learner::new(&config, &world(), &mut Stream::named(1, "init")).unwrap()
        };
        let (mut shuffled, mut elbo) = (learner("sane-shuffled"), learner("sane-elbo"));
        let batch = transitions();
        let mut noise = Stream::named(2, "noise");
        (0..3).for_each(|_| _ = shuffled.learn(&batch, &mut noise).unwrap());
        elbo.import(&shuffled.export()).unwrap();
        let states = || batch.states.chunks_exact(world().state_bytes());
        let sigma = |learner: &mut Learner, state: &[u8], mode| {
            learner.act(state, mode, &mut Stream::named(3, "act")).sigma.unwrap()
        };
        let (mut own, mut other) = (Vec::new(), Vec::new());
        for state in states() {
            own.push(sigma(&mut shuffled, state, ActMode::Greedy));
            assert_eq!(own.last(), Some(&sigma(&mut elbo, state, ActMode::Greedy)));
            other.push(sigma(&mut shuffled, state, ActMode::Noisy));
        }
        assert!(own.iter().any(|sigma| *sigma != own[0]), "{own:?}");
        assert!(own.iter().zip(&other).all(|(own, other)| own != other), "{own:?} {other:?}");
    }

    #[test]
    fn a_control_that_acts_without_noise_is_refused() {
        let text =
            SaneShuffled { thompson: Thompson::Never, ..SaneShuffled::default() }.check().unwrap_err().to_string();
        assert!(text.starts_with("exploration.thompson = never is not possible; expected step or episode"), "{text}");
        for thompson in [Thompson::Step, Thompson::Episode] {
            assert_eq!(SaneShuffled { thompson, ..SaneShuffled::default() }.check(), Ok(()));
        }
    }

    #[test]
    fn a_memory_that_points_outside_itself_or_holds_no_numbers_is_refused() {
        let mut sigmas = RecentSigmas::new();
        assert!(sigmas.is_valid(sigmas.memory(), 3));
        sigmas.learned(&batch(5.0));
        assert!(sigmas.is_valid(sigmas.memory(), 3));
        for (place, word) in [(NEXT, 256), (COUNT, 257), (IN_USE, 100), (FIRST + 7, f32::NAN.to_bits())] {
            let mut altered = sigmas.memory().to_vec();
            altered[place] = word;
            assert!(!sigmas.is_valid(&altered, 3), "{place}");
        }
    }

    #[test]
    fn what_is_remembered_survives_a_checkpoint() {
        let mut sigmas = RecentSigmas::new();
        sigmas.learned(&batch(5.0));
        (0..7).for_each(|_| sigmas.begin_decision());
        let mut copy = RecentSigmas::new();
        copy.restore(sigmas.memory());
        copy.begin_decision();
        sigmas.begin_decision();
        assert_eq!(in_use(&copy), in_use(&sigmas));
    }
}
