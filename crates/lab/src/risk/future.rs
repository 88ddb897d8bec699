//! What becomes of a state: an action is tried in a copy of the world and the policy plays on. Many such futures say how
//! much a random action costs and how often it loses a life that the best action keeps.

use crate::config::RewardForm;
use crate::interaction::Rollout;
use sane_agent::{ActMode, Policy};
use sane_env::{Action, Environment, FrameStack, Stream, WorldFault};

/// How futures are played.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FutureSettings {
    /// Futures per action.
    pub continuations: usize,
    /// Interactions at most, the tried action included.
    pub horizon: u64,
    /// Discount.
    pub gamma: f64,
    /// Form of the rewards.
    pub rewards: RewardForm,
    /// Probability of a random action while the policy plays on; chance is needed where the world has none.
    pub epsilon: f32,
}

/// One future.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Future {
    /// Discounted return up to the horizon, or to the first loss.
    pub discounted_return: f64,
    /// Whether a life or the game was lost within the horizon.
    pub harmed: bool,
}

/// What the best action of a state would save.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Avoidable {
    /// Return of the best action above that of a random one.
    pub return_loss: f64,
    /// Chance of harm after a random action above that after the best one.
    pub harm: f64,
}

/// The futures of every action of a state, `[action][continuation]`. Continuation k draws the same chance whatever the
/// action, so that actions are compared, not luck.
pub fn futures(
    policy: &mut Policy,
    world: &dyn Environment,
    stack: &FrameStack,
    settings: &FutureSettings,
    seed: u64,
) -> Result<Vec<Vec<Future>>, WorldFault> {
    let actions = world.spec().actions.len() as u16;
    let play = |policy: &mut Policy, action: u16, continuation: usize| {
        let stream = |name: &str| Stream::named(seed, &format!("risk/{name}/{continuation}"));
        let mut world = world.fork();
        world.redraw_chance(&mut stream("chance"));
        let rollout = Rollout::resume(world, stack.clone());
        future(policy, rollout, Action(action), settings, &mut stream("policy"))
    };
    (0..actions).map(|action| (0..settings.continuations).map(|k| play(policy, action, k)).collect()).collect()
}

fn future(
    policy: &mut Policy,
    mut rollout: Rollout,
    first: Action,
    settings: &FutureSettings,
    noise: &mut Stream,
) -> Result<Future, WorldFault> {
    let mode = ActMode::EpsilonGreedy { epsilon: settings.epsilon };
    let (mut action, mut discount, mut discounted_return) = (first, 1.0, 0.0);
    for t in 0..settings.horizon {
        if 0 < t {
            action = policy.act(rollout.state(), mode, noise).action;
        }
        let step = rollout.step(action, None, &mut ())?;
        discounted_return += discount * f64::from(settings.rewards.of(step.reward));
        discount *= settings.gamma;
        if step.ending.is_terminal() || step.ending.ends_episode() {
            return Ok(Future { discounted_return, harmed: step.ending.is_terminal() });
        }
    }
    Ok(Future { discounted_return, harmed: false })
}

/// What the best action saves against a random one.
///
/// The best action is chosen by the other continuations (of equal returns, the one with less harm) and measured by this
/// one, then the mean is taken over all continuations: the largest of some noisy means would be too large, and more so
/// in states whose futures vary more.
pub fn avoidable(futures: &[Vec<Future>]) -> Avoidable {
    let continuations = futures.first().map_or(0, Vec::len);
    assert!(0 < continuations, "avoidable: no future");
    let harm = |future: &Future| f64::from(u8::from(future.harmed));
    let value_of = |pick: fn(&Future) -> f64, action: usize, left_out: usize| -> f64 {
        let others = |k: &usize| continuations == 1 || *k != left_out;
        (0..continuations).filter(others).map(|k| pick(&futures[action][k])).sum()
    };
    let mut sum = Avoidable { return_loss: 0.0, harm: 0.0 };
    for k in 0..continuations {
        let value = |action: usize| {
            (
                value_of(|future| future.discounted_return, action, k),
                -value_of(|f| f64::from(u8::from(f.harmed)), action, k),
            )
        };
        let best = (1..futures.len()).fold(0, |best, action| if value(best) < value(action) { action } else { best });
        let mean = |pick: fn(&Future) -> f64| {
            futures.iter().map(|futures| pick(&futures[k])).sum::<f64>() / futures.len() as f64
        };
        sum.return_loss += futures[best][k].discounted_return - mean(|future| future.discounted_return);
        sum.harm += mean(|future| f64::from(u8::from(future.harmed))) - harm(&futures[best][k]);
    }
    Avoidable { return_loss: sum.return_loss / continuations as f64, harm: sum.harm / continuations as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(rows: &[&[(f64, bool)]]) -> Vec<Vec<Future>> {
        let future = |&(discounted_return, harmed): &(f64, bool)| Future { discounted_return, harmed };
        rows.iter().map(|row| row.iter().map(future).collect()).collect()
    }

    #[test]
    fn the_risk_is_the_best_action_above_the_mean_of_all() {
        // Returns 3, 0, 0: mean 1, so a random action loses 2; two of three actions die.
        let avoidable = avoidable(&table(&[&[(3.0, false); 2], &[(0.0, true); 2], &[(0.0, true); 2]]));
        assert_eq!(avoidable, Avoidable { return_loss: 2.0, harm: 2.0 / 3.0 });
    }

    #[test]
    fn harm_that_no_action_avoids_is_no_risk() {
        let avoidable = avoidable(&table(&[&[(1.0, true)], &[(1.0, true)]]));
        assert_eq!(avoidable, Avoidable { return_loss: 0.0, harm: 0.0 });
    }

    #[test]
    fn of_equal_returns_the_less_harmful_action_is_the_best() {
        let avoidable = avoidable(&table(&[&[(0.0, true); 2], &[(0.0, false); 2]]));
        assert_eq!(avoidable, Avoidable { return_loss: 0.0, harm: 0.5 });
    }

    #[test]
    fn luck_alone_gives_no_risk_since_the_best_is_chosen_by_the_other_futures() {
        // Each action wins once by luck. By the other continuation the loser of this one looks best, so the estimate is
        // −½ here; the plain "largest mean minus mean" would be 0 and, with luckier draws, above it.
        let avoidable = avoidable(&table(&[&[(1.0, false), (0.0, false)], &[(0.0, false), (1.0, false)]]));
        assert_eq!(avoidable.return_loss, -0.5);
    }
}
