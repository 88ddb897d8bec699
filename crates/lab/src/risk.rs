//! Where σ is small, where it is large, and whether that is where the risk is: evaluations state by state.
//!
//! [`gallery()`] finds the states with the smallest and largest |σ|, and [`audit()`] forks the world at sampled states, tries
//! every action and lets the policy play on. Both play the episodes that `sane eval` plays with the same start seed.

mod audit;
mod gallery;

pub use audit::{Audit, Avoidable, Future, FutureSettings, audit, avoidable};
pub use gallery::{Gallery, GalleryWithPictures, gallery};

use crate::LabError;
use crate::config::WorldConfig;
use crate::evaluate::{NoiseMode, View, play_episode};
use crate::statistics::MinMaxMean;
use crate::trained::TrainedAgent;
use crate::world::WorldSource;
use sane_agent::{Decision, catalogue};
use sane_record::{RiskSubject, SCHEMA_VERSION, SeenState};
use std::sync::atomic::{AtomicBool, Ordering};

/// The policy to examine, and the episode starts.
pub struct RiskProbe<'a> {
    pub trained: &'a TrainedAgent,
    pub source: &'a WorldSource,
    pub noise: NoiseMode,
    /// Seed of the episode starts.
    pub start_seed: u64,
    /// Stop signal.
    pub stop: &'a AtomicBool,
}

impl RiskProbe<'_> {
    /// Fails for agents without σ(s).
    fn check(&self) -> Result<(), LabError> {
        require_sigma(self.trained)
    }

    /// Fails for agents that have neither σ(s) nor any noise to draw.
    fn check_noise(&self) -> Result<(), LabError> {
        let exploration = &self.trained.config.learner.exploration;
        if exploration.is_noisy() || exploration.has_state_sigma() {
            return Ok(());
        }
        let noisy = catalogue().iter().filter(|agent| agent.settings.is_noisy() || agent.settings.has_state_sigma());
        let agents = noisy.map(|agent| agent.name).collect();
        Err(LabError::NoNoise { agent: self.trained.config.agent.clone(), agents })
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Plays episodes until their lengths add up to `interactions`; `observe` gets each state and the number of
    /// interactions before it in all episodes. `None` if stopped.
    fn observe(
        &self,
        interactions: u64,
        mut observe: impl FnMut(&View<'_>, SeenState, u64),
    ) -> Result<Option<Observed>, LabError> {
        let policy = self.trained.learner.policy();
        let mut observed = Observed::default();
        while observed.interactions < interactions {
            let number = observed.episodes;
            observed.episodes += 1;
            let mode = self.noise.act_mode();
            play_episode(&mut policy.clone(), self.source, self.start_seed, number, mode, &mut |view, decision| {
                if self.is_stopped() || interactions <= observed.interactions {
                    return false;
                }
                let state = state_record(view, decision, number);
                observed.sigma.add(state.sigma_abs);
                observe(view, state, observed.interactions);
                observed.interactions += 1;
                true
            })?;
            if self.is_stopped() {
                return Ok(None);
            }
        }
        Ok(Some(observed))
    }

    fn subject(&self, observed: &Observed) -> RiskSubject {
        let WorldConfig { name, profile, .. } = self.source.config();
        RiskSubject {
            schema_version: SCHEMA_VERSION,
            world: name.clone(),
            profile: profile.name().to_owned(),
            agent: self.trained.config.agent.clone(),
            seed: self.trained.config.seed,
            trained_interactions: self.trained.interactions.0,
            noise: self.noise.name().to_owned(),
            start_seed: self.start_seed,
            actions: self.trained.spec().actions.clone(),
            episodes: observed.episodes,
            interactions: observed.interactions,
            sigma: observed.sigma.range().expect("at least one state was observed"),
        }
    }
}

/// Fails for agents without σ(s).
pub fn require_sigma(trained: &TrainedAgent) -> Result<(), LabError> {
    if trained.config.learner.exploration.has_state_sigma() {
        return Ok(());
    }
    let with_sigma = catalogue().iter().filter(|agent| agent.settings.has_state_sigma());
    let agents = with_sigma.map(|agent| agent.name).collect();
    Err(LabError::NoSigma { agent: trained.config.agent.clone(), agents })
}

/// Sums over the observed states.
#[derive(Debug, Default)]
struct Observed {
    episodes: u64,
    interactions: u64,
    sigma: MinMaxMean,
}

/// The record of a state.
pub(crate) fn state_record(view: &View<'_>, decision: &Decision, episode: u64) -> SeenState {
    SeenState {
        episode,
        interaction: view.episode.interactions,
        // An agent whose noise has no σ(s), such as NoisyNet, can be audited by what its noise does.
        sigma_abs: f64::from(decision.sigma.unwrap_or(0.0)),
        q: view.policy.q_values().iter().map(|&q| f64::from(q)).collect(),
        action: usize::from(decision.action.0),
        noise_changed_action: decision.noise_changed_action,
        true_risk: view.world.ground_truth().and_then(|truth| truth.true_risk()),
    }
}

#[cfg(test)]
mod tests;
