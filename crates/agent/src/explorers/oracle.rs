//! The oracle: SANE with its KL term, its noise decided by the world's true risk, which no other agent sees. It bounds from
//! above what noise that depends on the state can gain in a world; where even it gains nothing, the world cannot tell agents
//! apart.
//!
//! ```text
//! σ(s) = u(s)·c(s)      c(s) = risky_noise where the true risk of s exceeds risk_threshold, else 1
//! ```
//!
//! u is the positive output of the module, and the weight of a state's KL is multiplied by c², so that the noise of Q is c·v.
//! The risk of a state is told when it is about to be acted in, and remembered under a hash of the state, so that states of
//! the replay have theirs when they are learned from. A state that was never acted in counts as not risky.

use super::sane_elbo::{Elbo, ElboVariant};
use crate::AgentError;
use crate::behaviour::{Behaviour, Thompson};
use crate::config::{SMALLEST_NOISE, in_range};
use crate::explorer::Setting;
use crate::perturbation_module::Scales;
use crate::state_aware::{OneState, StateRule};
use crate::visit_counts::hash;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Settings of the oracle.
pub type Oracle = Elbo<SmallWhereRisky>;

/// Small noise in risky states.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SmallWhereRisky {
    /// What the noise is multiplied by in risky states.
    pub risky_noise: f32,
    /// True risk above which a state is risky.
    pub risk_threshold: f32,
}

impl Default for SmallWhereRisky {
    fn default() -> Self {
        Self { risky_noise: 0.01, risk_threshold: 0.0 }
    }
}

impl ElboVariant for SmallWhereRisky {
    const NAME: &'static str = "oracle";
    const SUMMARY: &'static str =
        "sane-elbo with small noise where the true risk is high: a bound, only in worlds that know their risk";
    const SETTINGS: &'static [Setting] = &[
        Setting { key: "risky_noise", meaning: "oracle: factor of the noise in risky states, from 1e-6 to 1" },
        Setting { key: "risk_threshold", meaning: "oracle: true risk above which a state is risky, in [0, 1)" },
    ];

    fn check(&self, _thompson: Thompson) -> Result<(), AgentError> {
        let factors = f64::from(SMALLEST_NOISE)..=1.0;
        in_range("exploration.risky_noise", self.risky_noise.into(), factors, "a number from 1e-6 to 1")?;
        in_range("exploration.risk_threshold", self.risk_threshold.into(), 0.0..1.0, "a number in [0, 1)")
    }

    fn rule(&self) -> Option<Arc<dyn StateRule>> {
        Some(Arc::new(*self))
    }

    fn memory(&self) -> Option<Box<dyn Behaviour>> {
        Some(Box::new(RiskyStates::new(self.risk_threshold)))
    }

    fn asks_for_risk(&self) -> bool {
        true
    }
}

impl StateRule for SmallWhereRisky {
    fn look_up(&self, state: &OneState<'_>) -> f32 {
        state.remembered()
    }

    fn scales(&self, label: f32, _sigma: f32) -> Scales {
        if label == RISKY { Scales::of_noise(self.risky_noise) } else { Scales::ONE }
    }
}

const RISKY: f32 = 1.0;

/// States whose hashes fall together share an entry.
const ENTRIES: usize = 1 << 24;

/// Which states are risky: two bits per entry.
#[derive(Debug, Clone)]
struct RiskyStates {
    threshold: f64,
    /// Sixteen entries each.
    words: Vec<u32>,
}

impl RiskyStates {
    fn new(threshold: f32) -> Self {
        Self { threshold: f64::from(threshold), words: vec![0; ENTRIES / 16] }
    }

    /// Word and shift of a state's entry.
    fn place(state: &[u8]) -> (usize, u32) {
        let entry = (hash(state) >> 40) as usize % ENTRIES;
        (entry / 16, 2 * (entry % 16) as u32)
    }
}

impl Behaviour for RiskyStates {
    fn inform(&mut self, state: &[u8], true_risk: f64) {
        let (word, shift) = Self::place(state);
        let label = u32::from(self.threshold < true_risk);
        self.words[word] = self.words[word] & !(0b11 << shift) | label << shift;
    }

    fn features(&self, state: &[u8], _features: &[f32], out: &mut [f32]) {
        let (word, shift) = Self::place(state);
        out[0] = (self.words[word] >> shift & 0b11) as f32;
    }

    fn memory(&self) -> &[u32] {
        &self.words
    }

    fn restore(&mut self, memory: &[u32]) {
        self.words.copy_from_slice(memory);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn label(states: &RiskyStates, state: &[u8]) -> f32 {
        let mut out = [0.0];
        states.features(state, &[], &mut out);
        out[0]
    }

    #[test]
    fn a_state_is_risky_once_it_is_known_to_be_and_until_it_is_known_not_to_be() {
        let mut states = RiskyStates::new(0.25);
        assert_eq!(label(&states, &[1, 2]), 0.0);
        states.inform(&[1, 2], 0.3);
        states.inform(&[2, 1], 0.2);
        assert_eq!((label(&states, &[1, 2]), label(&states, &[2, 1])), (RISKY, 0.0));
        let mut copy = RiskyStates::new(0.25);
        copy.restore(states.memory());
        assert_eq!(label(&copy, &[1, 2]), RISKY);
        states.inform(&[1, 2], 0.0);
        assert_eq!(label(&states, &[1, 2]), 0.0);
    }

    #[test]
    fn noise_too_small_to_have_a_kl_term_is_refused_and_the_smallest_is_not() {
        let check = |risky_noise| SmallWhereRisky { risky_noise, ..SmallWhereRisky::default() }.check(Thompson::Step);
        for risky_noise in [0.0, 1e-37, 9e-7, 1.1, f32::NAN] {
            let text = check(risky_noise).unwrap_err().to_string();
            let start = format!("exploration.risky_noise = {risky_noise} ");
            assert!(text.starts_with(&start) && text.ends_with("from 1e-6 to 1"), "{text}");
        }
        assert_eq!((check(1e-6), check(1.0)), (Ok(()), Ok(())));
    }
}
