//! One episode of a measured policy: it depends on the policy, the start seed and its number, on nothing else.

use crate::LabError;
use crate::statistics::Spread;
use crate::world::WorldSource;
use sane_agent::{ActMode, Decision, Policy};
use sane_env::{Environment, FrameStack, Stream};

/// What is kept of an episode.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Episode {
    /// Sum of the raw rewards.
    pub return_raw: f64,
    /// Its length.
    pub interactions: u64,
    /// Interactions in which the noise changed the action.
    pub explored: u64,
    /// |σ| of its states.
    pub sigma: Spread,
    /// True risk of its states, in worlds that know it.
    pub true_risk: Spread,
    /// Whether it was a bad one by the world's own criterion, in worlds that have one.
    pub bad: Option<bool>,
    /// Whether it was still going on when it was left.
    pub cut: bool,
}

/// What a watcher sees of an interaction, before it is carried out.
pub struct View<'a> {
    /// The state.
    pub state: &'a [u8],
    /// The world, in that state.
    pub world: &'a dyn Environment,
    /// The policy, which has just looked at it.
    pub policy: &'a Policy,
    /// The episode so far.
    pub episode: &'a Episode,
}

/// Plays episode `number` to its end, or until `watch` says no.
pub fn play_episode(
    policy: &mut Policy,
    source: &WorldSource,
    start_seed: u64,
    number: u64,
    mode: ActMode,
    watch: &mut dyn FnMut(&View<'_>, &Decision) -> bool,
) -> Result<Episode, LabError> {
    let stream = |name: &str| Stream::named(start_seed, &format!("evaluation/{name}/{number}"));
    let (mut starts, mut noise) = (stream("start"), stream("noise"));
    let mut world = source.make(stream("world").next_u64())?;
    let mut frame = vec![0; world.spec().frame.bytes()];
    let mut stack = FrameStack::new(world.spec());
    world.reset(&mut starts, &mut frame)?;
    stack.restart(&frame);
    let mut episode = Episode::default();
    loop {
        let decision = policy.act(stack.state(), mode, &mut noise);
        if let Some(risk) = world.ground_truth().and_then(|truth| truth.true_risk()) {
            episode.true_risk.add(risk);
        }
        if !watch(&View { state: stack.state(), world: &*world, policy, episode: &episode }, &decision) {
            episode.cut = true;
            return Ok(episode);
        }
        let step = world.step(decision.action, &mut frame)?;
        stack.push(&frame);
        episode.return_raw += f64::from(step.reward.raw());
        episode.interactions += 1;
        episode.explored += u64::from(decision.noise_changed_action);
        if let Some(sigma) = decision.sigma {
            episode.sigma.add(f64::from(sigma.abs()));
        }
        if step.ending.ends_episode() {
            episode.bad = world.ground_truth().and_then(|truth| truth.bad_episode());
            return Ok(episode);
        }
    }
}
