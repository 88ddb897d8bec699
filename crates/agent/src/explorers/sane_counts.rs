//! SANE with a count-weighted bound: noise that shrinks where the agent has been, as a posterior does.
//!
//! ```text
//! λ(s) = λ·κ/n(s)   ⇒   σ²V = v²·κ/n(s)      n(s) the visits of the state, κ the visits after which the noise is v
//! ```
//!
//! The bound's 1/N, N all observations, becomes κ/n(s), the observations of this state. Where states hardly ever recur, n is a
//! pseudo-count: the visits of states whose features h(s) have the same SimHash (Charikar 2002; Tang et al. 2017), the signs of
//! a fixed random projection. The module also reads log(1 + n(s)), without which no function of h(s) could follow counts.

use super::sane_elbo::{Elbo, ElboVariant};
use crate::AgentError;
use crate::behaviour::{Behaviour, Thompson};
use crate::config::{check_noise_size, in_range};
use crate::explorer::Setting;
use crate::perturbation_module::Scales;
use crate::state_aware::{OneState, StateRule};
use crate::visit_counts::hash;
use sane_env::Stream;
use sane_nn::Kernel;
use serde::{Deserialize, Serialize};
use std::sync::Arc;
use std::sync::OnceLock;

/// Settings of SANE with a count-weighted bound.
pub type SaneCounts = Elbo<WeightedByVisits>;

/// The KL of a state weighs κ/n(s).
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct WeightedByVisits {
    /// What is counted.
    pub counts: CountedBy,
    /// Bits of a hash; 2^bits counters are kept.
    pub hash_bits: u32,
    /// κ: visits after which the noise of Q is `q_noise`.
    pub noise_at_visits: f32,
}

impl Default for WeightedByVisits {
    fn default() -> Self {
        Self { counts: CountedBy::Features, hash_bits: 18, noise_at_visits: 10.0 }
    }
}

impl ElboVariant for WeightedByVisits {
    const NAME: &'static str = "sane-counts";
    const SUMMARY: &'static str = "SANE with a KL term weighted by 1/visits: noise of Q that falls as 1/√n(s)";
    const SETTINGS: &'static [Setting] = &[
        Setting {
            key: "counts",
            meaning: "sane-counts: what is counted: features (SimHash of h(s)) or states (a hash of the whole state)",
        },
        Setting { key: "hash_bits", meaning: "sane-counts: bits of a hash, 4 to 24; 2^bits counters are kept" },
        Setting {
            key: "noise_at_visits",
            meaning: "sane-counts: visits after which the noise of Q is q_noise, from 1e-6 to 1e6",
        },
    ];

    fn check(&self, _thompson: Thompson) -> Result<(), AgentError> {
        in_range("exploration.hash_bits", self.hash_bits.into(), 4.0..25.0, "a whole number from 4 to 24")?;
        check_noise_size("exploration.noise_at_visits", self.noise_at_visits)
    }

    fn rule(&self) -> Option<Arc<dyn StateRule>> {
        Some(Arc::new(*self))
    }

    fn memory(&self) -> Option<Box<dyn Behaviour>> {
        Some(Box::new(HashedVisits::new(self.counts, self.hash_bits)))
    }
}

impl StateRule for WeightedByVisits {
    fn features(&self) -> usize {
        1
    }

    /// n(s)
    fn look_up(&self, state: &OneState<'_>) -> f32 {
        state.remembered()
    }

    /// log(1 + n(s))
    fn write_features(&self, visits: f32, out: &mut [f32]) {
        out[0] = libm::log1p(f64::from(visits)) as f32;
    }

    /// A state that was never acted in, as one after the end of an episode, counts as seen once.
    fn scales(&self, visits: f32, _sigma: f32) -> Scales {
        Scales { sigma: 1.0, kl: self.noise_at_visits / visits.max(1.0) }
    }
}

/// What a visit is a visit of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CountedBy {
    /// All states whose features have the same SimHash. Features are learned, so that a state's hash can change.
    #[default]
    Features,
    /// The state itself, by a hash of its bytes.
    States,
}

/// Visits under hashes of states or of their features.
#[derive(Debug, Clone)]
struct HashedVisits {
    counts: CountedBy,
    bits: u32,
    counters: Vec<u32>,
    kernel: Kernel,
    /// One row of h(s)'s width per bit; made when the width is first seen.
    projection: OnceLock<Vec<f32>>,
}

impl HashedVisits {
    fn new(counts: CountedBy, bits: u32) -> Self {
        Self { counts, bits, counters: vec![0; 1 << bits], kernel: Kernel::detect(), projection: OnceLock::new() }
    }

    fn counter(&self, state: &[u8], features: &[f32]) -> usize {
        match self.counts {
            CountedBy::States => (hash(state) >> (64 - self.bits)) as usize,
            CountedBy::Features => self.sim_hash(features),
        }
    }

    /// Bit k is the sign of ⟨a_k, h(s)⟩.
    fn sim_hash(&self, features: &[f32]) -> usize {
        let rows = self.projection.get_or_init(|| projection(self.bits, features.len()));
        let bit = |row: &[f32]| usize::from(0.0 < self.kernel.dot(row, features));
        rows.chunks_exact(features.len()).fold(0, |hash, row| hash << 1 | bit(row))
    }
}

/// Normal rows a_k without their mean: h(s) is never negative, and what all its numbers share should decide no sign.
fn projection(bits: u32, width: usize) -> Vec<f32> {
    let mut stream = Stream::named(0, "sane-counts projection");
    let mut rows: Vec<f32> = (0..bits as usize * width).map(|_| stream.normal() as f32).collect();
    for row in rows.chunks_exact_mut(width) {
        let mean = row.iter().sum::<f32>() / width as f32;
        row.iter_mut().for_each(|a| *a -= mean);
    }
    rows
}

impl Behaviour for HashedVisits {
    fn visit(&mut self, state: &[u8]) {
        if self.counts == CountedBy::States {
            let counter = self.counter(state, &[]);
            self.counters[counter] = self.counters[counter].saturating_add(1);
        }
    }

    fn visit_features(&mut self, features: &[f32]) {
        if self.counts == CountedBy::Features {
            let counter = self.counter(&[], features);
            self.counters[counter] = self.counters[counter].saturating_add(1);
        }
    }

    fn visits(&self, state: &[u8], features: &[f32]) -> Option<u32> {
        Some(self.counters[self.counter(state, features)])
    }

    /// n(s)
    fn features(&self, state: &[u8], features: &[f32], out: &mut [f32]) {
        out[0] = self.counters[self.counter(state, features)] as f32;
    }

    fn memory(&self) -> &[u32] {
        &self.counters
    }

    fn restore(&mut self, memory: &[u32]) {
        self.counters.copy_from_slice(memory);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(visits: &HashedVisits, state: &[u8], features: &[f32]) -> f32 {
        let mut out = [0.0];
        visits.features(state, features, &mut out);
        out[0]
    }

    fn features(seed: u64) -> Vec<f32> {
        let mut stream = Stream::named(seed, "features");
        (0..200).map(|_| stream.normal().max(0.0) as f32).collect()
    }

    #[test]
    fn exact_counts_tell_states_apart_whatever_their_features() {
        let mut visits = HashedVisits::new(CountedBy::States, 18);
        (0..3).for_each(|_| visits.visit(&[1, 2, 3]));
        visits.visit_features(&features(1));
        assert_eq!((count(&visits, &[1, 2, 3], &[]), count(&visits, &[3, 2, 1], &[])), (3.0, 0.0));
    }

    #[test]
    fn states_with_nearly_the_same_features_share_a_count_and_others_rarely_do() {
        let mut visits = HashedVisits::new(CountedBy::Features, 16);
        let seen = features(1);
        (0..5).for_each(|_| visits.visit_features(&seen));
        let near: Vec<f32> = seen.iter().map(|h| h * 1.001).collect();
        assert_eq!((count(&visits, &[], &seen), count(&visits, &[], &near)), (5.0, 5.0));
        let shared = (2..502).filter(|&seed| 0.0 < count(&visits, &[], &features(seed))).count();
        assert!(shared < 5, "{shared} of 500 unlike states share the count");
    }

    #[test]
    fn counts_survive_a_checkpoint() {
        let mut visits = HashedVisits::new(CountedBy::Features, 12);
        visits.visit_features(&features(7));
        let mut copy = HashedVisits::new(CountedBy::Features, 12);
        copy.restore(visits.memory());
        assert_eq!(count(&copy, &[], &features(7)), 1.0);
    }

    #[test]
    fn hashes_that_cannot_be_are_refused() {
        for hash_bits in [3, 25] {
            let text = WeightedByVisits { hash_bits, ..WeightedByVisits::default() }
                .check(Thompson::Step)
                .unwrap_err()
                .to_string();
            assert!(text.starts_with("exploration.hash_bits = "), "{text}");
        }
    }

    #[test]
    fn visits_that_leave_no_kl_term_or_an_infinite_one_are_refused() {
        for noise_at_visits in [0.0, 1e-30, 1e30] {
            let rule = WeightedByVisits { noise_at_visits, ..WeightedByVisits::default() };
            let text = rule.check(Thompson::Step).unwrap_err().to_string();
            assert!(text.starts_with("exploration.noise_at_visits = "), "{text}");
        }
    }
}
