//! Every agent's whole loss: values and gradient of one learn step against the literal equations in f64, and those
//! against finite differences.

mod oracle;

use oracle::model::{Model, Params};
use oracle::{
    Inputs, NO_GAP, check_close, check_within, first_gradient, largest, learner, params, random_batch, small_network,
    tensor, world,
};
use proptest::prelude::*;
use sane_agent::{
    ActMode, AgentConfig, Bootstrapped, Bound, Contraction, ConvSpec, CountedBy, Exploration, ModuleActivation,
    ModuleSettings, NetworkSpec, Objective, QNoiseUnit, SaneWeightwise, SigmaForm, catalogue,
};
use sane_env::{AgentSteps, EnvSpec, FrameSpace, Stream};
use std::collections::HashMap;

/// Gradients are compared relative to the largest of their layer: what f32 sums leave is well below this. A bias is judged with
/// its weights, because over a batch the terms of its gradient may cancel almost wholly and leave it alone tiny.
const TOLERANCE: f64 = 1e-4;

/// Finite differences are taken for small batches only: in a large one some ReLU is always at its kink.
const SMALL_BATCH: usize = 7;

/// Agents of every kind of perturbation.
const OF_EACH_KIND: [&str; 8] = [
    "eps-greedy",
    "noisynet",
    "sane",
    "q-sane",
    "sane-constant",
    "sane-layerwise",
    "sane-weightwise",
    "noisynet-per-example",
];

fn small_world() -> EnvSpec {
    world(FrameSpace::gray(9, 8), 2, 3)
}

/// The named agent on a small network, its module narrow enough for the oracle.
fn small(name: &str) -> AgentConfig {
    let mut exploration = Exploration::named(name).unwrap();
    if let Some(module) = exploration.module_mut() {
        module.hidden = vec![7];
    }
    if let Exploration::SaneConstant(constant) = &mut exploration {
        constant.initial_sigma = 0.3;
    }
    if let Exploration::SaneCounts(counts) = &mut exploration {
        counts.variant.counts = CountedBy::States;
    }
    if let Some(bound) = exploration.bound_mut() {
        bound.q_noise = 1.0;
    }
    AgentConfig { exploration, network: small_network(), ..AgentConfig::default() }
}

/// One learn step, compared with the oracle.
fn check_step(what: &str, config: &AgentConfig, world: &EnvSpec, size: usize, seed: u64) {
    let mut learner = learner(config, world, seed);
    let batch = random_batch(world, size, &mut Stream::named(seed, "batch"));
    let mut noise = Stream::named(seed, "noise");
    let (mut visits, mut transitions): (HashMap<Vec<u8>, u32>, u64) = (HashMap::new(), 0);
    for state in batch.states.chunks_exact(world.state_bytes()).step_by(2) {
        learner.act(state, ActMode::Explore { now: AgentSteps(0) }, &mut noise);
        transitions += 1;
        *visits.entry(state.to_vec()).or_default() += 1;
    }
    let log_visits = |state: &[u8]| f64::from(visits.get(state).copied().unwrap_or(0)).ln_1p();
    let reads_visits = config.exploration.module().is_some_and(|module| module.visit_counts)
        || matches!(config.exploration, Exploration::SaneCounts(_));
    let is_risky = |state: &[u8]| state.iter().map(|&byte| u32::from(byte)).sum::<u32>() % 2 == 0;
    let both =
        batch.states.chunks_exact(world.state_bytes()).chain(batch.next_states.chunks_exact(world.state_bytes()));
    both.for_each(|state| learner.inform(state, f64::from(u8::from(is_risky(state)))));
    let gap_before = if config.exploration.bound().is_some() { (0.25, 3) } else { NO_GAP };
    if let (gap, batches @ 1..) = gap_before {
        let mut state = learner.save_state();
        let is_share = config.exploration.bound().is_some_and(|bound| bound.q_noise_unit == QNoiseUnit::Share);
        let words = state.behaviour.len() - if is_share { 6 } else { 4 };
        (state.behaviour[words], state.behaviour[words + 1]) = ((gap as f32).to_bits(), batches);
        learner.load_state(&state).unwrap();
    }
    let (online, target) = (params(&learner.export()), params(&learner.export_target()));

    let stats = learner.learn(&batch, &mut noise).unwrap();

    let trace = learner.last_step();
    let inputs = Inputs {
        model: Model { config, world },
        target: &target,
        batch: &batch,
        trace: &trace,
        log_visits: reads_visits.then_some(&log_visits),
        is_risky: &is_risky,
        gap_before,
        transitions,
    };
    let expected = inputs.expected(&online);
    let wide = |name: &str| tensor(&trace, name).values.iter().map(|&v| f64::from(v)).collect::<Vec<_>>();
    check_close(&format!("{what}: q"), wide("q"), &expected.q, TOLERANCE);
    check_close(&format!("{what}: targets"), wide("target_value"), &expected.targets, TOLERANCE);
    if !expected.sigma.is_empty() {
        check_close(&format!("{what}: sigma"), wide("sigma"), &expected.sigma, TOLERANCE);
    }
    check_close(&format!("{what}: loss"), [f64::from(stats.loss)], &[expected.loss], TOLERANCE);
    let found = first_gradient(&learner, config);
    assert!(found.keys().eq(expected.gradient.keys()), "{what}: other parameters");
    for (name, (shape, gradient)) in &expected.gradient {
        assert_eq!(shape, &found[name].0, "{what}: shape of {name}");
        let is_of_layer = |other: &str| other.split('.').next() == name.split('.').next();
        let layer = expected.gradient.iter().filter(|(other, _)| is_of_layer(other));
        let scale = layer.map(|(_, (_, values))| largest(values)).fold(0.0, f64::max);
        let found = found[name].1.iter().copied();
        check_within(&format!("{what}: ∂L/∂{name}"), found, gradient, TOLERANCE * scale);
    }
    if size <= SMALL_BATCH {
        check_against_finite_differences(what, &inputs, &online, &expected.gradient);
    }
}

fn check_against_finite_differences(what: &str, inputs: &Inputs, online: &Params<f64>, gradient: &Params<f64>) {
    for (name, (_, values)) in online {
        let step = 1e-5;
        let picks = [0, values.len() / 3, values.len() - 1];
        for i in picks {
            let at = |change: f64| {
                let mut moved = online.clone();
                moved.get_mut(name).unwrap().1[i] += change;
                inputs.loss_at(&moved, online)
            };
            let slope = (at(step) - at(-step)) / (2.0 * step);
            let largest = gradient[name].1.iter().fold(1e-3_f64, |max, g| max.max(g.abs()));
            let found = gradient[name].1[i];
            assert!((found - slope).abs() <= 1e-4 * largest, "{what}: ∂L/∂{name}[{i}] is {found}, slope {slope}");
        }
    }
}

#[test]
fn gradient_matches_the_literal_equations_for_every_agent() {
    for entry in catalogue() {
        check_step(entry.name, &small(entry.name), &small_world(), 5, 11);
    }
}

#[test]
fn gradient_matches_with_the_whole_bound_and_with_the_authors_penalties() {
    for objective in [Objective::Elbo { kl_weight: 0.01 }, Objective::Penalties { parameters: 1e-2, sigma: 1e-1 }] {
        for name in ["eps-greedy", "noisynet", "sane", "q-sane", "sane-constant", "sane-layerwise", "sane-weightwise"] {
            let mut config = AgentConfig { objective, ..small(name) };
            if let Exploration::SaneWeightwise(SaneWeightwise { module, .. }) = &mut config.exploration {
                // Hundreds of linear σ always have one near zero, where the slope −1/σ blows rounding up.
                module.sigma = SigmaForm::Softplus;
            }
            check_step(&format!("{name} with {objective:?}"), &config, &small_world(), 4, 12);
        }
    }
}

/// Agents with a KL term of their own.
fn agents_with_a_bound() -> impl Iterator<Item = &'static str> {
    catalogue().iter().filter(|agent| agent.settings.bound().is_some()).map(|agent| agent.name)
}

#[test]
fn gradient_matches_with_every_setting_of_the_bound() {
    let absolute = |bound: &mut Bound| bound.q_noise_unit = QNoiseUnit::Absolute;
    let contracting = |bound: &mut Bound| (bound.contraction, bound.posterior_at) = (Contraction::Posterior, 50);
    let whole = |bound: &mut Bound| bound.kl_of_means = true;
    let share = |bound: &mut Bound| (bound.q_noise, bound.q_noise_unit) = (0.4, QNoiseUnit::Share);
    for change in [absolute as fn(&mut Bound), contracting, whole, share] {
        for name in agents_with_a_bound() {
            let mut config = small(name);
            let bound = config.exploration.bound_mut().unwrap();
            // So large that a mistake in any part of the KL term would show.
            bound.q_noise = 3.0;
            change(bound);
            check_step(&format!("{name} with {bound:?}"), &config, &small_world(), 4, 17);
        }
    }
}

#[test]
fn gradient_matches_with_every_setting_of_the_module() {
    let set = |change: fn(&mut ModuleSettings)| change;
    let changes = [
        set(|module| module.activation = ModuleActivation::LeakyRelu),
        set(|module| module.activation = ModuleActivation::Tanh),
        set(|module| module.stop_gradient = true),
        set(|module| (module.stop_gradient, module.hidden) = (true, vec![5, 4])),
    ];
    for (change, name) in changes.iter().flat_map(|change| ["sane", "q-sane-elbo"].map(|name| (change, name))) {
        let mut config = small(name);
        let module = config.exploration.module_mut().unwrap();
        change(module);
        check_step(&format!("{name} with {module:?}"), &config, &small_world(), 5, 18);
    }
}

#[test]
fn gradient_matches_with_one_head_that_learns_from_half_of_the_transitions() {
    for heads in [1, 2] {
        let exploration = Exploration::Bootstrapped(Bootstrapped { heads, ..Bootstrapped::default() });
        let config = AgentConfig { exploration, ..small("bootstrapped") };
        check_step(&format!("{heads} heads"), &config, &small_world(), 6, 19);
    }
}

#[test]
fn gradient_matches_with_double_q() {
    for name in ["eps-greedy", "noisynet", "sane", "q-sane", "bootstrapped"] {
        let config = AgentConfig { double_q: true, ..small(name) };
        check_step(&format!("{name} with double-Q"), &config, &small_world(), 6, 13);
    }
}

#[test]
fn gradient_matches_without_convolutions_and_with_several_dense_layers() {
    let vector = world(FrameSpace::vector(6), 1, 4);
    let names = ["eps-greedy", "noisynet", "sane", "q-sane", "sane-layerwise", "sane-weightwise", "sane-independent"];
    for name in names.into_iter().chain(["bootstrapped"]) {
        let network = NetworkSpec { convolutions: Vec::new(), hidden: vec![11, 8], conv_bias: true };
        let config = AgentConfig { network, ..small(name) };
        check_step(&format!("{name} on a vector"), &config, &vector, 7, 14);
        let network = NetworkSpec { convolutions: Vec::new(), hidden: Vec::new(), conv_bias: true };
        let config = AgentConfig { network, ..small(name) };
        check_step(&format!("{name} without hidden layers"), &config, &vector, 7, 15);
    }
}

#[test]
fn gradient_matches_without_convolution_biases() {
    for name in ["eps-greedy", "sane"] {
        let network = NetworkSpec { conv_bias: false, ..small_network() };
        check_step(name, &AgentConfig { network, ..small(name) }, &small_world(), 3, 16);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn gradient_matches_over_shapes_and_batch_sizes(
        agent in 0..OF_EACH_KIND.len(),
        (height, width) in (3..9_usize, 3..9_usize),
        (channels, history) in (1..4_usize, 1..3_usize),
        kernel in 1..4_usize,
        stride in 1..3_usize,
        filters in 1..20_usize,
        hidden in proptest::collection::vec(1..20_usize, 0..3),
        module in proptest::collection::vec(1..20_usize, 0..3),
        (actions, size) in (1..19_usize, 1..65_usize),
        seed in 0..1_000_u64,
    ) {
        let mut exploration = Exploration::named(OF_EACH_KIND[agent]).unwrap();
        if let Some(settings) = exploration.module_mut() {
            settings.hidden = module;
        }
        let network = NetworkSpec { convolutions: vec![ConvSpec { filters, kernel, stride }], hidden, conv_bias: true };
        let config = AgentConfig { exploration, network, ..AgentConfig::default() };
        let weightwise = matches!(config.exploration, Exploration::SaneWeightwise(_));
        let size = if weightwise { size.min(4) } else { size };
        let world = world(FrameSpace::planes(channels, height, width), history, actions);
        check_step(OF_EACH_KIND[agent], &config, &world, size, seed);
    }
}
