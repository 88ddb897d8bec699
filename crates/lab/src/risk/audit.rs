//! Is low σ high risk? States of an evaluation, evenly sampled in time, each with its futures after every action: the
//! action is tried in a copy of the world and the policy plays on. Many such futures show how much a random action costs
//! and how often it loses a life that the best action keeps. States are processed in parallel; the result of each follows
//! from its number and the start seed alone.

use super::RiskProbe;
use crate::LabError;
use crate::config::RewardForm;
use crate::evaluate::single_threaded;
use crate::interaction::Rollout;
use sane_agent::{ActMode, Policy};
use sane_env::{Action, Environment, FrameStack, Stream, WorldFault};
use sane_record::{ActionFutures, ActionGap, AuditSettings, AuditedState, RiskAudit, SeenState, StateLaw, StateNoise};
use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Probability of a random action while the policy plays on in a world without chance of its own: without any, all
/// continuations of an action would be one. It is the one of the usual DQN evaluation (Mnih et al. 2015).
const EPSILON_WITHOUT_CHANCE: f32 = 0.05;

/// Settings of an audit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Audit {
    /// States to sample.
    pub states: usize,
    /// Interactions of the evaluation they are sampled from.
    pub interactions: u64,
    /// Futures per state and action.
    pub continuations: usize,
    /// Interactions per future, at most.
    pub horizon: u64,
    /// Probability of a random action while the policy plays on; by default 0 in worlds with chance, else 0.05.
    pub epsilon: Option<f32>,
    /// Draws of the noise per state; 0 for none.
    pub draws: usize,
    /// States processed in parallel.
    pub threads: usize,
}

/// A state with the copy of the world to continue from.
struct Sample {
    state: SeenState,
    world: Box<dyn Environment>,
    stack: FrameStack,
}

/// Runs an audit. `progress` gets the number of states done and of all; `None` if stopped.
pub fn audit(
    probe: &RiskProbe<'_>,
    wanted: &Audit,
    progress: impl Fn(u64, u64) + Sync,
) -> Result<Option<RiskAudit>, LabError> {
    probe.check_noise()?;
    let mut world = probe.source.make(0)?;
    if !world.exact_snapshots() {
        let reason =
            "its state cannot be copied, so no other action can be tried in it; audit an Atari game or a small world";
        return Err(LabError::World { name: world.spec().name.clone(), reason: reason.into() });
    }
    let has_chance = world.reseed(&mut Stream::named(0, "asked only"));
    let mut samples = Vec::new();
    let mut visits = Visits::default();
    let mut sample_points = sample_points(probe.start_seed, wanted).into_iter().peekable();
    let observed = probe.observe(wanted.interactions, |view, state, before| {
        visits.add(view.state);
        if sample_points.next_if_eq(&before).is_some() {
            let mut stack = FrameStack::new(view.world.spec());
            view.state.chunks_exact(view.world.spec().frame.bytes()).for_each(|frame| stack.push(frame));
            samples.push(Sample { state, world: view.world.fork(), stack });
        }
    })?;
    let Some(observed) = observed else { return Ok(None) };
    let epsilon = wanted.epsilon.unwrap_or(if has_chance { 0.0 } else { EPSILON_WITHOUT_CHANCE });
    let config = &probe.trained.config;
    let settings = FutureSettings {
        // Without any randomness all continuations are equal.
        continuations: if has_chance || 0.0 < epsilon { wanted.continuations } else { 1 },
        horizon: wanted.horizon,
        gamma: f64::from(config.learner.gamma),
        rewards: config.replay.rewards,
        epsilon,
    };
    let Some(states) = all_futures(probe, samples, &visits, &settings, wanted, progress)? else { return Ok(None) };
    let settings = AuditSettings {
        continuations: settings.continuations,
        horizon_interactions: settings.horizon,
        gamma: settings.gamma,
        rewards: settings.rewards.name().to_owned(),
        epsilon: f64::from(epsilon),
        world_has_chance: has_chance,
    };
    Ok(Some(RiskAudit { subject: probe.subject(&observed), settings, states }))
}

/// How often each state occurred in the evaluation.
#[derive(Debug, Default)]
struct Visits(HashMap<u64, u64>);

impl Visits {
    fn add(&mut self, state: &[u8]) {
        *self.0.entry(Self::key(state)).or_default() += 1;
    }

    fn of(&self, state: &[u8]) -> Option<u64> {
        self.0.get(&Self::key(state)).copied()
    }

    fn key(state: &[u8]) -> u64 {
        let mut hasher = DefaultHasher::new();
        state.hash(&mut hasher);
        hasher.finish()
    }
}

/// The interactions to sample: stratified, one at a random position of each of as many equal intervals as states wanted.
fn sample_points(start_seed: u64, wanted: &Audit) -> Vec<u64> {
    let mut stream = Stream::named(start_seed, "risk/places");
    let count = (wanted.states as u64).min(wanted.interactions);
    let start = |i: u64| i * wanted.interactions / count;
    (0..count).map(|i| start(i) + stream.below(start(i + 1) - start(i))).collect()
}

fn all_futures(
    probe: &RiskProbe<'_>,
    samples: Vec<Sample>,
    visits: &Visits,
    settings: &FutureSettings,
    wanted: &Audit,
    progress: impl Fn(u64, u64) + Sync,
) -> Result<Option<Vec<AuditedState>>, LabError> {
    let total = samples.len();
    let slots: Vec<Mutex<(Option<Sample>, Option<AuditedState>)>> =
        samples.into_iter().map(|sample| Mutex::new((Some(sample), None))).collect();
    let (assigned, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    // Only these are shared between threads; the world of a run is not.
    let (policy, start_seed, stop) = (probe.trained.learner.policy(), probe.start_seed, probe.stop);
    let has_module = probe.trained.config.learner.exploration.module().is_some();
    let work = || -> Result<(), LabError> {
        while let Some(slot) = slots.get(assigned.fetch_add(1, Ordering::Relaxed)) {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            let mut slot = slot.lock().expect("each slot is taken once");
            let Sample { state, world, stack } = slot.0.take().expect("each slot is taken once");
            let name = format!("risk/state/{}/{}", state.episode, state.interaction);
            let seed = Stream::named(start_seed, &name).next_u64();
            // A copy each time: what an agent is told of a state, or which σ of another state it uses, must not depend on the
            // states that the same thread has audited before.
            let mut policy = policy.clone();
            let table = futures(&mut policy, &*world, &stack, settings, seed)?;
            if let Some(risk) = state.true_risk {
                policy.inform(stack.state(), risk);
            }
            let law = state_law(&mut policy, stack.state());
            let (noise, gap) = state_noise(&mut policy, stack.state(), wanted.draws, has_module, seed);
            let visits = visits.of(stack.state());
            slot.1 = Some(AuditedState { noise, gap, law, visits, ..audited(state, &table) });
            progress(done.fetch_add(1, Ordering::Relaxed) as u64 + 1, total as u64);
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..wanted.threads.max(1)).map(|_| scope.spawn(|| single_threaded(work))).collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("a worker does not panic"))
    })?;
    Ok(slots.into_iter().map(|slot| slot.into_inner().expect("no worker panics").1).collect())
}

fn audited(state: SeenState, table: &[Vec<Future>]) -> AuditedState {
    let mean =
        |futures: &[Future], pick: fn(&Future) -> f64| futures.iter().map(pick).sum::<f64>() / futures.len() as f64;
    let futures = table
        .iter()
        .map(|futures| ActionFutures {
            return_mean: mean(futures, |future| future.discounted_return),
            harm_share: mean(futures, |future| f64::from(u8::from(future.harmed))),
        })
        .collect();
    let avoidable = avoidable(table);
    AuditedState {
        state,
        futures,
        noise: None,
        gap: None,
        visits: None,
        law: None,
        risk_return: avoidable.return_loss,
        risk_harm: avoidable.harm,
    }
}

/// What the size of the noise in a state should follow from.
fn state_law(policy: &mut Policy, state: &[u8]) -> Option<StateLaw> {
    let law = policy.noise_law(state)?;
    Some(StateLaw {
        unit_variance: law.mean_unit_variance(),
        kl_weight: law.kl_weight,
        counted_visits: policy.visits(state),
    })
}

/// What the policy's noise does in a state: how often it changes the action, how far it moves the action values, and how far
/// the two best against each other. Each draw is that of a new episode, so that noise which is held for an episode is drawn
/// anew, too.
fn state_noise(
    policy: &mut Policy,
    state: &[u8],
    draws: usize,
    has_module: bool,
    seed: u64,
) -> (Option<StateNoise>, Option<ActionGap>) {
    if draws == 0 {
        return (None, None);
    }
    let mut stream = Stream::named(seed, "risk/noise");
    let best = usize::from(policy.act(state, ActMode::Greedy, &mut stream).action.0);
    let plain: Vec<f64> = policy.q_values().iter().map(|&q| f64::from(q)).collect();
    let others = (0..plain.len()).filter(|&action| action != best);
    let second = others.max_by(|&a, &b| plain[a].total_cmp(&plain[b]));
    let (mut changed, mut noise, mut between) = (0_u32, vec![Moments::default(); plain.len()], Moments::default());
    for _ in 0..draws {
        policy.begin_episode();
        changed += u32::from(policy.act(state, ActMode::Noisy, &mut stream).noise_changed_action);
        let q = policy.q_values();
        noise.iter_mut().zip(q).for_each(|(moments, &q)| moments.add(f64::from(q)));
        if let Some(second) = second {
            between.add(f64::from(q[best]) - f64::from(q[second]));
        }
    }
    let q_noise = noise.iter().map(Moments::deviation).sum::<f64>() / noise.len() as f64;
    let live = policy.sigma_stats().filter(|_| has_module).map(|stats| f64::from(stats.live_units_share));
    let gap = second.map(|second| ActionGap { q: plain[best] - plain[second], noise: between.deviation() });
    let changed_share = f64::from(changed) / draws as f64;
    (Some(StateNoise { draws, changed_share, q_noise, live_units_share: live }), gap)
}

/// Sums of values and of their squares.
#[derive(Debug, Clone, Copy, Default)]
struct Moments {
    count: f64,
    sum: f64,
    squares: f64,
}

impl Moments {
    fn add(&mut self, value: f64) {
        self.count += 1.0;
        self.sum += value;
        self.squares += value * value;
    }

    fn deviation(&self) -> f64 {
        let mean = self.sum / self.count;
        (self.squares / self.count - mean * mean).max(0.0).sqrt()
    }
}

/// Settings of futures.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FutureSettings {
    /// Futures per action.
    pub continuations: usize,
    /// Interactions at most, the tried action included.
    pub horizon: u64,
    pub gamma: f64,
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

/// What the best action of a state avoids compared with a random one.
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
        world.reseed(&mut stream("chance"));
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

/// The advantage of the best action over a random one.
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
