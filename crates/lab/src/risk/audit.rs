//! Is low σ high risk? States of an evaluation, evenly sampled in time, each with its futures after every action. States
//! are worked on side by side; what each gives follows from its number and the start seed alone.

use super::future::{FutureSettings, avoidable, futures};
use super::{Future, Look};
use crate::LabError;
use crate::evaluate::alone;
use sane_env::{Environment, FrameStack, Stream};
use sane_record::{ActionFutures, AuditSettings, AuditedState, RiskAudit, SeenState};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Probability of a random action while the policy plays on in a world without chance of its own: without any, all
/// continuations of an action would be one. It is the one of the usual DQN evaluation (Mnih et al. 2015).
const EPSILON_WITHOUT_CHANCE: f32 = 0.05;

/// What is to be measured.
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
    /// States worked on at the same time.
    pub threads: usize,
}

/// A state with all that is needed to go on from it.
struct Sample {
    state: SeenState,
    world: Box<dyn Environment>,
    stack: FrameStack,
}

/// Measures. `progress` hears how many states are done, of how many; none if stopped.
pub fn audit(
    look: &Look<'_>,
    wanted: &Audit,
    progress: impl Fn(u64, u64) + Sync,
) -> Result<Option<RiskAudit>, LabError> {
    let mut asked = look.source.make(0)?;
    if !asked.exact_snapshots() {
        let reason =
            "its state cannot be copied, so no other action can be tried in it; audit an Atari game or a small world";
        return Err(LabError::World { name: asked.spec().name.clone(), reason: reason.into() });
    }
    let has_chance = asked.redraw_chance(&mut Stream::named(0, "asked only"));
    let mut samples = Vec::new();
    let mut places = places(look.start_seed, wanted).into_iter().peekable();
    let watched = look.watch(wanted.interactions, |view, state, before| {
        if places.next_if_eq(&before).is_some() {
            let mut stack = FrameStack::new(view.world.spec());
            view.state.chunks_exact(view.world.spec().frame.bytes()).for_each(|frame| stack.push(frame));
            samples.push(Sample { state, world: view.world.fork(), stack });
        }
    })?;
    let Some(watched) = watched else { return Ok(None) };
    let epsilon = wanted.epsilon.unwrap_or(if has_chance { 0.0 } else { EPSILON_WITHOUT_CHANCE });
    let config = &look.trained.config;
    let settings = FutureSettings {
        // Without any chance one continuation says it all.
        continuations: if has_chance || 0.0 < epsilon { wanted.continuations } else { 1 },
        horizon: wanted.horizon,
        gamma: f64::from(config.learner.gamma),
        rewards: config.replay.rewards,
        epsilon,
    };
    let Some(states) = all_futures(look, samples, &settings, wanted.threads, progress)? else { return Ok(None) };
    let settings = AuditSettings {
        continuations: settings.continuations,
        horizon_interactions: settings.horizon,
        gamma: settings.gamma,
        rewards: settings.rewards.name().to_owned(),
        epsilon: f64::from(epsilon),
        world_has_chance: has_chance,
    };
    Ok(Some(RiskAudit { subject: look.subject(&watched), settings, states }))
}

/// The interactions to sample: one at a random place of each of as many equal stretches as states are wanted.
fn places(start_seed: u64, wanted: &Audit) -> Vec<u64> {
    let mut stream = Stream::named(start_seed, "risk/places");
    let count = (wanted.states as u64).min(wanted.interactions);
    let start = |i: u64| i * wanted.interactions / count;
    (0..count).map(|i| start(i) + stream.below(start(i + 1) - start(i))).collect()
}

fn all_futures(
    look: &Look<'_>,
    samples: Vec<Sample>,
    settings: &FutureSettings,
    threads: usize,
    progress: impl Fn(u64, u64) + Sync,
) -> Result<Option<Vec<AuditedState>>, LabError> {
    let total = samples.len();
    let slots: Vec<Mutex<(Option<Sample>, Option<AuditedState>)>> =
        samples.into_iter().map(|sample| Mutex::new((Some(sample), None))).collect();
    let (given_out, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    // Only these are shared between threads; the world of a run is not.
    let (policy, start_seed, stop) = (look.trained.learner.policy(), look.start_seed, look.stop);
    let work = || -> Result<(), LabError> {
        while let Some(slot) = slots.get(given_out.fetch_add(1, Ordering::Relaxed)) {
            if stop.load(Ordering::Relaxed) {
                break;
            }
            let mut slot = slot.lock().expect("each slot is taken once");
            let Sample { state, world, stack } = slot.0.take().expect("each slot is taken once");
            let name = format!("risk/state/{}/{}", state.episode, state.interaction);
            let seed = Stream::named(start_seed, &name).next_u64();
            // A copy each time: an agent that counts visits must not carry them from one state to another.
            let table = futures(&mut policy.clone(), &*world, &stack, settings, seed)?;
            slot.1 = Some(audited(state, &table));
            progress(done.fetch_add(1, Ordering::Relaxed) as u64 + 1, total as u64);
        }
        Ok(())
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads.max(1)).map(|_| scope.spawn(|| alone(work))).collect();
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
    AuditedState { state, futures, risk_return: avoidable.return_loss, risk_harm: avoidable.harm }
}
