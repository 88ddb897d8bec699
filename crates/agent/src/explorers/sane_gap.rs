//! SANE whose noise is smaller where the action values differ more, by construction.
//!
//! ```text
//! σ(s) = u(s) / (1 + g(s)/ḡ)      g(s) = max Q̄(s, ·) − mean Q̄(s, ·), as plain numbers; ḡ its running median
//! ```
//!
//! u is the positive output of the module. The weight of a state's KL is divided by (1 + g/ḡ)², so that the bound asks for the
//! noise of Q that this σ means, v/(1 + g/ḡ); with a common weight the module would learn to undo the division.

use super::sane::{OneState, StateAware, StateAwareNoise, StateRule};
use super::sane_elbo::{elbo_settings, positive_module};
use crate::behaviour::Thompson;
use crate::bound::gap;
use crate::explorer::{NamedAgent, Registered, Setting};
use crate::network::HeadBuilder;
use crate::perturbation::Perturbation;
use crate::perturbation_module::{ModuleSettings, Scales};
use crate::{AgentError, Bound, Noise};
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Settings of SANE with noise scaled by the gap between action values.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SaneGap {
    pub module: ModuleSettings,
    pub noise: Noise,
    pub thompson: Thompson,
    #[serde(flatten)]
    pub bound: Bound,
}

impl Default for SaneGap {
    fn default() -> Self {
        Self { module: positive_module(), noise: Noise::default(), thompson: Thompson::Step, bound: Bound::default() }
    }
}

impl Registered for SaneGap {
    const KIND: &'static str = "sane-gap";

    fn agents() -> Vec<NamedAgent<Self>> {
        let summary = "SANE with its KL term whose noise shrinks where action values differ more: σ = u/(1 + g/ḡ)";
        vec![NamedAgent { name: "sane-gap", summary, settings: Self::default() }]
    }

    fn settings() -> Vec<Setting> {
        elbo_settings()
    }
}

impl StateAware for SaneGap {
    fn module_settings(&self) -> &ModuleSettings {
        &self.module
    }

    fn module_settings_mut(&mut self) -> &mut ModuleSettings {
        &mut self.module
    }

    fn acts_on(&self) -> Thompson {
        self.thompson
    }

    fn sigmas(&self, _dense_widths: &[usize]) -> usize {
        1
    }

    fn noise_bound(&self) -> Option<&Bound> {
        Some(&self.bound)
    }

    fn noise_bound_mut(&mut self) -> Option<&mut Bound> {
        Some(&mut self.bound)
    }

    fn rule(&self) -> Option<Arc<dyn StateRule>> {
        Some(Arc::new(DividedByGap))
    }

    fn build_perturbation(&self, head: &mut HeadBuilder) -> Result<Box<dyn Perturbation>, AgentError> {
        StateAwareNoise::build(self, self.noise, head)
    }
}

/// σ ÷ (1 + g/ḡ).
#[derive(Debug)]
struct DividedByGap;

impl StateRule for DividedByGap {
    fn scales(&self, state: &OneState<'_>) -> Scales {
        scales_of(gap(state.inputs.q_values.row(state.i)), state.inputs.running_gap)
    }
}

/// Before the first batch there is no ḡ, and all states are alike.
fn scales_of(gap: f32, running_gap: f32) -> Scales {
    if 0.0 < running_gap { Scales::of_noise(1.0 / (1.0 + gap / running_gap)) } else { Scales::ONE }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn noise_is_halved_where_the_gap_is_the_median() {
        assert_eq!(scales_of(2.0, 2.0), Scales { sigma: 0.5, kl: 0.25 });
        assert_eq!(scales_of(0.0, 2.0), Scales::ONE);
        assert_eq!(scales_of(6.0, 2.0).sigma, 0.25);
    }

    #[test]
    fn without_a_median_all_states_are_alike() {
        assert_eq!(scales_of(3.0, 0.0), Scales::ONE);
    }
}
