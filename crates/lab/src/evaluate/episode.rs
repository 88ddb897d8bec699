//! One episode of an evaluated policy: it depends on the policy, the start seed and its number, on nothing else.

use crate::LabError;
use crate::interaction::Rollout;
use crate::statistics::Spread;
use crate::world::WorldSource;
use sane_agent::{ActMode, Decision, Policy};
use sane_env::{Environment, Stream};

/// Sums over an episode.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Episode {
    /// Sum of the raw rewards.
    pub return_raw: f64,
    pub interactions: u64,
    /// Interactions in which the noise changed the action.
    pub explored: u64,
    /// |σ| of its states.
    pub sigma: Spread,
    /// True risk of its states, in worlds that know it.
    pub true_risk: Spread,
    /// Whether it was a bad one by the world's own criterion, in worlds that have one.
    pub bad: Option<bool>,
    /// Whether it was left before its end.
    pub cut: bool,
}

/// An interaction before it is carried out.
pub struct View<'a> {
    pub state: &'a [u8],
    /// The world, in that state.
    pub world: &'a dyn Environment,
    /// The policy, with the activations of its last decision.
    pub policy: &'a Policy,
    /// The episode so far.
    pub episode: &'a Episode,
}

/// Plays episode `number` to its end, or until `observe` returns false. `observe` sees each decision before it is
/// carried out.
pub fn play_episode(
    policy: &mut Policy,
    source: &WorldSource,
    start_seed: u64,
    number: u64,
    mode: ActMode,
    observe: &mut dyn FnMut(&View<'_>, &Decision) -> bool,
) -> Result<Episode, LabError> {
    let stream = |name: &str| Stream::named(start_seed, &format!("evaluation/{name}/{number}"));
    let (mut starts, mut noise) = (stream("start"), stream("noise"));
    let mut rollout = Rollout::new(source.make(stream("world").next_u64())?);
    rollout.begin_episode(&mut starts, None)?;
    let mut episode = Episode::default();
    loop {
        let decision = policy.act(rollout.state(), mode, &mut noise);
        if let Some(risk) = rollout.world.ground_truth().and_then(|truth| truth.true_risk()) {
            episode.true_risk.add(risk);
        }
        let view = View { state: rollout.state(), world: &*rollout.world, policy, episode: &episode };
        if !observe(&view, &decision) {
            episode.cut = true;
            return Ok(episode);
        }
        let step = rollout.step(decision.action, None, &mut ())?;
        episode.return_raw += f64::from(step.reward.raw());
        episode.interactions += 1;
        episode.explored += u64::from(decision.noise_changed_action);
        if let Some(sigma) = decision.sigma {
            episode.sigma.add(f64::from(sigma.abs()));
        }
        if step.ending.ends_episode() {
            episode.bad = rollout.world.ground_truth().and_then(|truth| truth.bad_episode());
            return Ok(episode);
        }
    }
}
