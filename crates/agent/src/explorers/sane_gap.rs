//! SANE whose noise is smaller where the action values differ more, by construction.
//!
//! ```text
//! σ(s) = u(s) / (1 + g(s)/ḡ)      g(s) = max Q̄(s, ·) − mean Q̄(s, ·), as plain numbers; ḡ its running median
//! ```
//!
//! u is the positive output of the module. The weight of a state's KL is divided by (1 + g/ḡ)², so that the bound asks for the
//! noise of Q that this σ means, v/(1 + g/ḡ); with a common weight the module would learn to undo the division.

use super::sane_elbo::{Elbo, ElboVariant};
use crate::bound::gap;
use crate::perturbation_module::Scales;
use crate::state_aware::{OneState, StateRule};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Settings of SANE with noise scaled by the gap between action values.
pub type SaneGap = Elbo<DividedByGap>;

/// σ ÷ (1 + g/ḡ).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct DividedByGap {}

impl ElboVariant for DividedByGap {
    const NAME: &'static str = "sane-gap";
    const SUMMARY: &'static str =
        "SANE with its KL term whose noise shrinks where action values differ more: σ = u/(1 + g/ḡ)";

    fn rule(&self) -> Option<Arc<dyn StateRule>> {
        Some(Arc::new(*self))
    }
}

impl StateRule for DividedByGap {
    fn reads_q_values(&self) -> bool {
        true
    }

    fn look_up(&self, state: &OneState<'_>) -> f32 {
        factor(gap(state.inputs.q_values.row(state.i)), state.inputs.running_gap)
    }

    fn scales(&self, factor: f32, _sigma: f32) -> Scales {
        Scales::of_noise(factor)
    }
}

/// 1 / (1 + g/ḡ); before the first batch there is no ḡ, and all states are alike.
fn factor(gap: f32, running_gap: f32) -> f32 {
    if 0.0 < running_gap { 1.0 / (1.0 + gap / running_gap) } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_is_halved_where_the_gap_is_the_median() {
        assert_eq!((factor(2.0, 2.0), factor(0.0, 2.0), factor(6.0, 2.0)), (0.5, 1.0, 0.25));
        assert_eq!(DividedByGap {}.scales(0.5, 3.0), Scales { sigma: 0.5, kl: 0.25 });
        assert_eq!(DividedByGap {}.scales(1.0, 3.0), Scales::ONE);
    }

    #[test]
    fn noise_stays_above_zero_however_large_the_gap_is() {
        for gap in [1e12, f32::INFINITY] {
            let Scales { sigma, kl } = DividedByGap {}.scales(factor(gap, 1e-38), 3.0);
            assert!(1e-7 < sigma && kl == sigma * sigma && kl.is_normal(), "{sigma} {kl}");
        }
    }

    #[test]
    fn without_a_median_all_states_are_alike() {
        assert_eq!(factor(3.0, 0.0), 1.0);
    }
}
