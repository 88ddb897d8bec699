//! Where σ is small, where it is large, and whether the risk is there: evaluations looked at state by state.
//!
//! [`gallery()`] finds the states with the smallest and largest |σ|, [`film()`] keeps an episode picture by picture, and
//! [`audit()`] forks the world at sampled states, tries every action and lets the policy play on. All of them play the
//! episodes that `sane eval` plays with the same start seed.

mod audit;
mod extremes;
mod film;
mod future;
mod gallery;

pub use audit::{Audit, audit};
pub use film::{Film, FilmFrame, Filming, film};
pub use future::{Avoidable, Future, FutureSettings, avoidable};
pub use gallery::{Gallery, GalleryFound, gallery};

use crate::LabError;
use crate::config::WorldConfig;
use crate::evaluate::{NoiseMode, View, play_episode};
use crate::statistics::Spread;
use crate::trained::Trained;
use crate::world::WorldSource;
use sane_agent::{Decision, catalogue};
use sane_record::{RiskSubject, SCHEMA_VERSION, SeenState};
use std::sync::atomic::{AtomicBool, Ordering};

/// Whom to look at, and from which starts.
pub struct Look<'a> {
    /// The policy.
    pub trained: &'a Trained,
    /// Where it plays.
    pub source: &'a WorldSource,
    /// With or without noise.
    pub noise: NoiseMode,
    /// What the starts follow from.
    pub start_seed: u64,
    /// Set from outside to give up.
    pub stop: &'a AtomicBool,
}

impl Look<'_> {
    /// Refuses agents that have no σ(s) to look at.
    fn check(&self) -> Result<(), LabError> {
        if self.trained.config.learner.exploration.module().is_some() {
            return Ok(());
        }
        let with_module = catalogue().iter().filter(|agent| agent.settings.module().is_some());
        let agents = with_module.map(|agent| agent.name).collect();
        Err(LabError::NoSigma { agent: self.trained.config.agent.clone(), agents })
    }

    fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Plays episode after episode until they hold `interactions` together, `watch` seeing each state with the number
    /// of its episode and of interactions before it in all; none if stopped.
    fn watch(
        &self,
        interactions: u64,
        mut watch: impl FnMut(&View<'_>, SeenState, u64),
    ) -> Result<Option<Watched>, LabError> {
        self.check()?;
        let policy = self.trained.learner.policy();
        let mut watched = Watched::default();
        while watched.interactions < interactions {
            let number = watched.episodes;
            watched.episodes += 1;
            let mode = self.noise.act_mode();
            play_episode(&mut policy.clone(), self.source, self.start_seed, number, mode, &mut |view, decision| {
                if self.is_stopped() || interactions <= watched.interactions {
                    return false;
                }
                let state = seen(view, decision, number);
                watched.sigma.add(state.sigma_abs);
                watch(view, state, watched.interactions);
                watched.interactions += 1;
                true
            })?;
            if self.is_stopped() {
                return Ok(None);
            }
        }
        Ok(Some(watched))
    }

    fn subject(&self, watched: &Watched) -> RiskSubject {
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
            episodes: watched.episodes,
            interactions: watched.interactions,
            sigma: watched.sigma.range().expect("at least one state was met"),
        }
    }
}

/// What was met while watching.
#[derive(Debug, Default)]
struct Watched {
    episodes: u64,
    interactions: u64,
    sigma: Spread,
}

/// A state as it is written down.
fn seen(view: &View<'_>, decision: &Decision, episode: u64) -> SeenState {
    SeenState {
        episode,
        interaction: view.episode.interactions,
        sigma_abs: f64::from(decision.sigma.expect("the agent has a σ")),
        q: view.policy.q_values().iter().map(|&q| f64::from(q)).collect(),
        action: usize::from(decision.action.0),
        noise_changed_action: decision.noise_changed_action,
        true_risk: view.world.ground_truth().and_then(|truth| truth.true_risk()),
    }
}

#[cfg(test)]
mod tests;
