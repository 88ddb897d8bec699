//! Learning, acting and refitting allocate nothing after the first step.

mod oracle;

use oracle::{learner, random_batch, small_network, world};
use sane_agent::{
    ActMode, AgentConfig, Bound, Contraction, CountedBy, Exploration, ModuleActivation, Objective, ParameterCounts,
    QNoiseUnit, RandomStart, Thompson, catalogue,
};
use sane_env::{Action, AgentSteps, Ending, EnvSpec, FrameSpace, Stream};
use sane_replay::{Batch, Replay};
use stats_alloc::{INSTRUMENTED_SYSTEM, Region, StatsAlloc};
use std::alloc::System;

#[global_allocator]
static ALLOCATOR: &StatsAlloc<System> = &INSTRUMENTED_SYSTEM;

const BATCH: usize = 32;

/// A named agent on the paper's network, or on a small one where it is not meant for large ones.
fn named(name: &str, world: &EnvSpec) -> AgentConfig {
    let mut config = AgentConfig::named(name, world).unwrap();
    if ParameterCounts::of(&config, world).is_err() {
        config.network = small_network();
    }
    if config.exploration.epsilon(AgentSteps(0)).is_none() {
        config.random_start = RandomStart { hold: AgentSteps(100), decay: AgentSteps(100) };
    }
    config
}

/// `sane-elbo` with other settings of its bound.
fn bound(world: &EnvSpec, set: impl Fn(&mut Bound)) -> AgentConfig {
    let mut config = named("sane-elbo", world);
    set(config.exploration.bound_mut().unwrap());
    config
}

/// `sane` with another activation of its module.
fn activation(world: &EnvSpec, activation: ModuleActivation) -> AgentConfig {
    let mut config = named("sane", world);
    config.exploration.module_mut().unwrap().activation = activation;
    config
}

/// A named agent that holds a draw of its noise for an episode.
fn held(name: &str, world: &EnvSpec) -> AgentConfig {
    let mut config = named(name, world);
    match &mut config.exploration {
        Exploration::Sane(sane) => sane.thompson = Thompson::Episode,
        Exploration::SaneElbo(elbo) => elbo.thompson = Thompson::Episode,
        Exploration::Noisynet(noisynet) => noisynet.thompson = Thompson::Episode,
        other => panic!("{other:?} is not one of those that are tried"),
    }
    config
}

/// What can be set so that an agent computes something else.
fn variants(world: &EnvSpec) -> Vec<(&'static str, AgentConfig)> {
    let mut exact_counts = named("sane-counts", world);
    if let Exploration::SaneCounts(counts) = &mut exact_counts.exploration {
        counts.variant.counts = CountedBy::States;
    }
    let clipped = AgentConfig { double_q: true, clip_gradient_norm: Some(1.0), ..named("sane", world) };
    let penalised =
        AgentConfig { objective: Objective::Penalties { parameters: 1e-4, sigma: 1e-2 }, ..named("sane", world) };
    vec![
        ("sane-elbo by share", bound(world, |bound| (bound.q_noise, bound.q_noise_unit) = (0.1, QNoiseUnit::Share))),
        ("sane-elbo with the KL of means", bound(world, |bound| bound.kl_of_means = true)),
        ("sane-elbo contracting", bound(world, |bound| bound.contraction = Contraction::Posterior)),
        ("tanh", activation(world, ModuleActivation::Tanh)),
        ("leaky ReLU", activation(world, ModuleActivation::LeakyRelu)),
        ("sane for an episode", held("sane", world)),
        ("sane-elbo for an episode", held("sane-elbo", world)),
        ("noisynet for an episode", held("noisynet", world)),
        ("exact counts", exact_counts),
        ("double Q, clipped", clipped),
        ("penalties", penalised),
    ]
}

/// A replay of random transitions.
fn replay(world: &EnvSpec, transitions: usize) -> Replay {
    let (mut replay, mut stream) = (Replay::new(transitions, world), Stream::named(1, "replay"));
    let mut frame = vec![0; world.frame.bytes()];
    replay.begin_episode(&frame);
    for _ in 0..transitions {
        frame.fill_with(|| stream.below(256) as u8);
        replay.push(Action(stream.below(world.actions.len() as u64) as u16), 0.5, Ending::Continues, &frame);
    }
    replay
}

#[test]
fn no_agent_allocates_in_learning_acting_or_refitting() {
    let world = world(FrameSpace::gray(84, 84), 4, 6);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let mut replay = replay(&world, 200);
    let agents = catalogue().iter().map(|agent| (agent.name, named(agent.name, &world)));
    for (name, config) in agents.chain(variants(&world)) {
        let mut learner = learner(&config, &world, 1);
        let batch = random_batch(&world, BATCH, &mut Stream::named(1, "batch"));
        let state = &batch.states[..world.state_bytes()];
        let mut noise = Stream::named(1, "noise");
        let (mut warm, mut sample) = (replay.warmed_up(AgentSteps(1)).unwrap(), Batch::new(BATCH, world.state_bytes()));
        let allocations = pool.install(|| {
            let mut step = || {
                learner.begin_episode();
                learner.learn(&batch, &mut noise).unwrap();
                learner.inform(state, 0.5);
                learner.act(state, ActMode::Noisy, &mut noise);
                // As the training loop acts, in a random start and behind it.
                for interactions in [0, 150, 1_000_000] {
                    learner.act(state, ActMode::Explore { now: AgentSteps(interactions) }, &mut noise);
                }
                learner.act(state, ActMode::Greedy, &mut noise);
                learner.refit(&mut warm, &mut sample, &mut noise, 64);
                learner.sync_target();
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
