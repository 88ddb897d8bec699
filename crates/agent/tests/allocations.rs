//! Learning and acting allocate nothing after the first step.

mod oracle;

use oracle::{learner, random_batch, world};
use sane_agent::{ActMode, AgentConfig};
use sane_env::{FrameSpace, Stream};
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
    for name in names {
        let config = AgentConfig::named(name, &world).unwrap();
        let mut learner = learner(&config, &world, 1);
        let batch = random_batch(&world, 32, &mut Stream::named(1, "batch"));
        let mut noise = Stream::named(1, "noise");
        let allocations = pool.install(|| {
            let mut step = || {
                learner.learn(&batch, &mut noise).unwrap();
                learner.act(&batch.states[..world.state_bytes()], ActMode::Noisy, &mut noise);
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
