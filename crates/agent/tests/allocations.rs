//! Learning and acting allocate nothing after the first step.

mod oracle;

use oracle::{learner, random_batch, world};
use sane_agent::{ActMode, AgentConfig, QNoiseUnit, RandomStart};
use sane_env::{AgentSteps, FrameSpace, Stream};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

#[test]
fn learning_and_acting_allocate_nothing() {
    let world = world(FrameSpace::gray(84, 84), 4, 6);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let names = [
        "eps-greedy",
        "bayes-head",
        "bootstrapped",
        "ez-greedy",
        "langevin",
        "noisynet",
        "noisynet-elbo",
        "oracle",
        "q-sane",
        "q-sane-elbo",
        "sane",
        "sane-constant",
        "sane-constant-elbo",
        "sane-counts",
        "sane-elbo",
        "sane-fixed",
        "sane-gap",
        "sane-layerwise",
        "sane-per-batch",
        "sane-shuffled",
    ];
    let named = |name| {
        let mut config = AgentConfig::named(name, &world).unwrap();
        if config.exploration.epsilon(AgentSteps(0)).is_none() {
            config.random_start = RandomStart { hold: AgentSteps(100), decay: AgentSteps(100) };
        }
        config
    };
    let mut by_share = named("sane-elbo");
    let bound = by_share.exploration.bound_mut().unwrap();
    (bound.q_noise, bound.q_noise_unit) = (0.1, QNoiseUnit::Share);
    for (name, config) in names.map(|name| (name, named(name))).into_iter().chain([("sane-elbo by share", by_share)]) {
        let mut learner = learner(&config, &world, 1);
        let batch = random_batch(&world, 32, &mut Stream::named(1, "batch"));
        let mut noise = Stream::named(1, "noise");
        let allocations = pool.install(|| {
            let mut step = || {
                learner.learn(&batch, &mut noise).unwrap();
                learner.act(&batch.states[..world.state_bytes()], ActMode::Noisy, &mut noise);
                // As the training loop acts, in a random start and behind it.
                for interactions in [0, 150, 1_000_000] {
                    let mode = ActMode::Explore { now: AgentSteps(interactions) };
                    learner.act(&batch.states[..world.state_bytes()], mode, &mut noise);
                }
                learner.act(&batch.states[..world.state_bytes()], ActMode::Greedy, &mut noise);
            };
            step();
            let region = Region::new(ALLOCATOR);
            for _ in 0..3 {
                step();
            }
            region.change().allocations
        });
        assert_eq!(allocations, 0, "{name}");
    }
}
