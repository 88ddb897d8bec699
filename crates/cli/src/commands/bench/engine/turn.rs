//! One agent on the engine's bench: its batch of random states, its turns, and the times that come of them.

use super::{ACTIONS, BATCH};
use crate::output::Failure;
use sane_agent::{ActMode, AgentConfig, Learner, Phase, Probe};
use sane_env::{Action, Element, EnvSpec, Stream};
use sane_nn::Kernel;
use sane_replay::Batch;
use std::time::{Duration, Instant};

/// Shortest and middle of many times, in seconds.
#[derive(Clone, Copy)]
pub struct Spread {
    pub min: f64,
    pub median: f64,
}

impl Spread {
    pub fn of(mut times: Vec<f64>) -> Self {
        times.sort_by(f64::total_cmp);
        Self { min: times[0], median: times[times.len() / 2] }
    }
}

/// Watches a learn step and keeps the shortest time of each phase.
pub struct Clock {
    last: Instant,
    pub best: [f64; Phase::ALL.len()],
    now: [f64; Phase::ALL.len()],
}

impl Probe for Clock {
    fn finished(&mut self, phase: Phase) {
        let time = Instant::now();
        let i = Phase::ALL.iter().position(|&known| known == phase).expect("all phases are listed");
        self.now[i] += (time - self.last).as_secs_f64();
        self.last = time;
    }
}

/// One agent on the bench, with the times measured so far.
pub struct Bench {
    learner: Learner,
    noise: Stream,
    batch: Batch,
    state: Vec<u8>,
    pub clock: Clock,
    pub train_times: Vec<f64>,
    pub act_times: Vec<f64>,
}

impl Bench {
    pub fn new(config: &AgentConfig, world: &EnvSpec, kernel: Kernel) -> Result<Self, Failure> {
        let mut draws = Stream::named(1, "bench states");
        let mut batch = Batch::new(BATCH, world.state_bytes());
        let Element::U8 { full_scale } = world.frame.element else { unreachable!("the worlds above are bytes") };
        batch.states.fill_with(|| draws.below(u64::from(full_scale) + 1) as u8);
        batch.next_states.fill_with(|| draws.below(u64::from(full_scale) + 1) as u8);
        for (i, (action, reward)) in batch.actions.iter_mut().zip(&mut batch.rewards).enumerate() {
            *action = Action((i % ACTIONS) as u16);
            *reward = (i % 3) as f32 - 1.0;
        }
        let none = [0.0; Phase::ALL.len()];
        Ok(Self {
            learner: Learner::on_kernel(config, world, &mut Stream::named(1, "init"), kernel)?,
            noise: Stream::named(1, "noise"),
            batch,
            state: vec![1; world.state_bytes()],
            clock: Clock { last: Instant::now(), best: none.map(|_| f64::INFINITY), now: none },
            train_times: Vec::new(),
            act_times: Vec::new(),
        })
    }

    /// Learn steps for as long as the turn lasts, at least one.
    pub fn learn(&mut self, turn: Duration) -> Result<(), Failure> {
        let start = Instant::now();
        loop {
            let clock = &mut self.clock;
            clock.now = [0.0; Phase::ALL.len()];
            clock.last = Instant::now();
            let begun = clock.last;
            self.learner.learn_watched(&self.batch, &mut self.noise, clock)?;
            self.train_times.push(begun.elapsed().as_secs_f64());
            for (best, now) in clock.best.iter_mut().zip(clock.now) {
                *best = best.min(now);
            }
            if turn <= start.elapsed() {
                return Ok(());
            }
        }
    }

    /// Acts on the perturbed network (greedy for agents without noise) for as long as the turn lasts, at least one.
    pub fn act(&mut self, turn: Duration) {
        let start = Instant::now();
        loop {
            let begun = Instant::now();
            std::hint::black_box(self.learner.act(&self.state, ActMode::Noisy, &mut self.noise));
            self.act_times.push(begun.elapsed().as_secs_f64());
            if turn <= start.elapsed() {
                return;
            }
        }
    }
}
