//! Learn steps that must be the same, bit for bit or to rounding: at any number of threads, with no noise, after a
//! checkpoint, on every kernel, and against ten steps of the oracle.

mod oracle;

use oracle::model::Model;
use oracle::{
    Adam, Inputs, NO_GAP, check_close, check_within, largest, learner, learner_on, params, random_batch, small_network,
    world,
};
use proptest::prelude::*;
use sane_agent::{
    ActMode, AgentConfig, Exploration, LearnStats, Learner, NetworkSpec, Noisynet, PAPER_AGENTS, QNoiseUnit, Sane,
    SaneFixed, Thompson, catalogue,
};
use sane_env::{AgentSteps, EnvSpec, FrameSpace, Stream};
use sane_nn::Kernel;
use sane_replay::Batch;

fn atari_like() -> EnvSpec {
    world(FrameSpace::gray(36, 36), 2, 5)
}

fn named(name: &str, network: NetworkSpec) -> AgentConfig {
    AgentConfig { exploration: Exploration::named(name).unwrap(), network, ..AgentConfig::default() }
}

/// With noise that shall change a share of the actions, whose size is remembered besides.
fn by_share(mut config: AgentConfig) -> AgentConfig {
    let bound = config.exploration.bound_mut().unwrap();
    (bound.q_noise, bound.q_noise_unit) = (0.1, QNoiseUnit::Share);
    config
}

fn learn(learner: &mut Learner, world: &EnvSpec, size: usize, steps: usize, seed: u64) -> Vec<LearnStats> {
    let (mut batches, mut noise) = (Stream::named(seed, "batches"), Stream::named(seed, "noise"));
    (0..steps).map(|_| learner.learn(&random_batch(world, size, &mut batches), &mut noise).unwrap()).collect()
}

fn on_threads<T: Send>(threads: usize, work: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(work)
}

#[test]
fn every_agent_learns_the_same_bytes_on_1_2_3_and_8_threads() {
    let world = world(FrameSpace::planes(4, 10, 10), 1, 6);
    let configs = catalogue().iter().map(|entry| (entry.name, AgentConfig::named(entry.name, &world).unwrap()));
    let share = ("sane-elbo by share", by_share(AgentConfig::named("sane-elbo", &world).unwrap()));
    for (name, mut config) in configs.chain([share]) {
        if let Exploration::SaneWeightwise(_) = config.exploration {
            config.network.hidden = vec![8];
        }
        let run = |threads| {
            on_threads(threads, || {
                let mut learner = learner(&config, &world, 21);
                let stats = learn(&mut learner, &world, 32, 3, 21);
                let state = vec![1; world.state_bytes()];
                let decision = learner.act(&state, ActMode::Noisy, &mut Stream::named(1, "act"));
                (stats, decision, learner.save_state())
            })
        };
        let alone = run(1);
        for threads in [2, 3, 8] {
            assert!(run(threads) == alone, "{name} differs on {threads} threads");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    #[test]
    fn threads_do_not_change_a_bit_over_batch_sizes(agent in 0..4_usize, size in 1..65_usize, threads in 2..9_usize, seed in 0..99_u64) {
        let world = atari_like();
        let config = named(PAPER_AGENTS[agent], NetworkSpec::nature());
        let run = |threads| on_threads(threads, || {
            let mut learner = learner(&config, &world, seed);
            (learn(&mut learner, &world, size, 1, seed), learner.save_state())
        });
        prop_assert!(run(1) == run(threads));
    }
}

/// Sets every tensor whose name passes to zero, in both networks.
fn silence(learner: &mut Learner, is_silent: impl Fn(&str) -> bool) {
    let silenced = |mut tensors: Vec<sane_agent::NamedTensor>| {
        tensors.iter_mut().filter(|tensor| is_silent(&tensor.name)).for_each(|tensor| tensor.values.fill(0.0));
        tensors
    };
    let (online, target) = (silenced(learner.export()), silenced(learner.export_target()));
    learner.import(&online).unwrap();
    learner.import_target(&target).unwrap();
}

/// Parameters of the main network after one step, by their plain names.
fn main_parameters(learner: &Learner) -> Vec<(String, Vec<f32>)> {
    let tensors = learner.export().into_iter();
    let main = tensors.filter(|tensor| !tensor.name.contains("sigma"));
    main.map(|tensor| (tensor.name.replace("_mu", ""), tensor.values)).collect()
}

/// A plain DQN with the main network of `other`.
fn plain_twin(other: &Learner, world: &EnvSpec) -> Learner {
    let main = |tensors: Vec<sane_agent::NamedTensor>| {
        let main = tensors.into_iter().filter(|tensor| !tensor.name.contains("sigma"));
        let plain = |t: sane_agent::NamedTensor| sane_agent::NamedTensor { name: t.name.replace("_mu", ""), ..t };
        main.map(plain).collect::<Vec<_>>()
    };
    let config = named("eps-greedy", other.config().network.clone());
    let mut twin = Learner::new(&config, world, &mut Stream::named(0, "overwritten")).unwrap();
    twin.import(&main(other.export())).unwrap();
    twin.import_target(&main(other.export_target())).unwrap();
    twin
}

#[test]
fn without_sigma_every_noisy_agent_is_plain_dqn_bit_for_bit() {
    let world = atari_like();
    type IsSilent = fn(&str) -> bool;
    let silent: [(&str, IsSilent); 8] = [
        ("sane", |name| name.starts_with("sigma2")),
        ("q-sane", |name| name.starts_with("sigma2")),
        ("sane-constant", |name| name == "sigma"),
        ("sane-layerwise", |name| name.starts_with("sigma2")),
        ("sane-per-batch", |name| name.starts_with("sigma2")),
        ("sane-independent", |name| name.starts_with("sigma2")),
        ("noisynet", |name| name.ends_with("_sigma")),
        ("noisynet-per-example", |name| name.ends_with("_sigma")),
    ];
    for (name, is_silent) in silent {
        let mut noisy = learner(&named(name, small_network()), &world, 31);
        silence(&mut noisy, is_silent);
        let mut plain = plain_twin(&noisy, &world);
        let state: Vec<u8> = (0..world.state_bytes()).map(|i| (i % 251) as u8).collect();
        let decision = noisy.act(&state, ActMode::Noisy, &mut Stream::named(1, "act"));
        plain.act(&state, ActMode::Greedy, &mut Stream::named(1, "act"));
        assert_eq!(noisy.q_values(), plain.q_values(), "{name}: action values");
        assert!(!decision.noise_changed_action, "{name}");
        let (with, without) = (learn(&mut noisy, &world, 9, 1, 31), learn(&mut plain, &world, 9, 1, 31));
        assert_eq!(with[0].loss, without[0].loss, "{name}: loss");
        assert!(main_parameters(&noisy) == main_parameters(&plain), "{name}: parameters after a step");
    }
}

#[test]
fn noise_in_acting_alone_learns_as_plain_dqn_bit_for_bit_and_acts_on_perturbed_values() {
    let world = atari_like();
    let exploration = Exploration::SaneFixed(SaneFixed { sigma: 0.3, learn_with_noise: false, ..SaneFixed::default() });
    let config = AgentConfig { exploration, network: small_network(), ..AgentConfig::default() };
    let mut noisy = learner(&config, &world, 32);
    let mut plain = plain_twin(&noisy, &world);
    let (with, without) = (learn(&mut noisy, &world, 9, 3, 32), learn(&mut plain, &world, 9, 3, 32));
    let losses = |stats: &[LearnStats]| stats.iter().map(|step| step.loss).collect::<Vec<_>>();
    assert_eq!(losses(&with), losses(&without));
    assert!(main_parameters(&noisy) == main_parameters(&plain), "parameters after three steps");
    let state: Vec<u8> = (0..world.state_bytes()).map(|i| (i % 251) as u8).collect();
    plain.act(&state, ActMode::Greedy, &mut Stream::named(1, "act"));
    noisy.act(&state, ActMode::Noisy, &mut Stream::named(1, "act"));
    assert_ne!(noisy.q_values(), plain.q_values());
    noisy.act(&state, ActMode::Greedy, &mut Stream::named(1, "act"));
    assert_eq!(noisy.q_values(), plain.q_values());
}

#[test]
fn noise_that_is_never_acted_on_learns_as_any_other_and_acts_on_the_means() {
    let world = atari_like();
    let agents = |thompson| {
        let sane = Exploration::Sane(Sane { thompson, ..Sane::default() });
        let noisynet = Exploration::Noisynet(Noisynet { thompson, ..Noisynet::default() });
        [sane, noisynet].map(|exploration| {
            learner(&AgentConfig { exploration, network: small_network(), ..AgentConfig::default() }, &world, 33)
        })
    };
    for (mut never, mut step) in agents(Thompson::Never).into_iter().zip(agents(Thompson::Step)) {
        assert_eq!(learn(&mut never, &world, 9, 3, 33), learn(&mut step, &world, 9, 3, 33));
        assert!(never.save_state() == step.save_state(), "what three steps have learned");
        let state: Vec<u8> = (0..world.state_bytes()).map(|i| (i % 251) as u8).collect();
        step.act(&state, ActMode::Noisy, &mut Stream::named(1, "act"));
        let with_noise = step.q_values().to_vec();
        step.act(&state, ActMode::Greedy, &mut Stream::named(1, "act"));
        for mode in [ActMode::Explore { now: AgentSteps(0) }, ActMode::Noisy] {
            let mut noise = Stream::named(1, "act");
            let decision = never.act(&state, mode, &mut noise);
            assert_eq!(never.q_values(), step.q_values());
            assert_ne!(never.q_values(), with_noise);
            assert!(!decision.noise_changed_action);
            assert_eq!(noise, Stream::named(1, "act"), "no number was drawn");
        }
    }
}

#[test]
fn what_computes_sigma_learns_at_its_own_multiple_of_the_learning_rate_fused_or_clipped() {
    let world = atari_like();
    let with_scale = |name: &str, scale: Option<f32>, clip_gradient_norm| {
        let mut config = AgentConfig { clip_gradient_norm, ..named(name, small_network()) };
        // So large that rounding of the parameters does not hide a step.
        config.optimiser.learning_rate = 1e-3;
        match (&mut config.exploration, scale) {
            (Exploration::SaneConstantElbo(constant), Some(scale)) => constant.learning_rate_scale = scale,
            (exploration, Some(scale)) => exploration.module_mut().unwrap().learning_rate_scale = scale,
            (_, None) => {}
        }
        config
    };
    // How far each tensor has moved after one step.
    let movements = |config: &AgentConfig| {
        let mut learner = learner(config, &world, 35);
        let before = params(&learner.export());
        learn(&mut learner, &world, 9, 1, 35);
        let mut moved = params(&learner.export());
        for (name, (_, values)) in &mut moved {
            values.iter_mut().zip(&before[name].1).for_each(|(after, before)| *after -= before);
        }
        moved
    };
    for (name, default) in [("sane", 1.0), ("q-sane-elbo", 1.0), ("sane-constant-elbo", 10.0)] {
        // Never reached, and reached in every step.
        for clip in [None, Some(1e9), Some(0.01)] {
            let at_one = movements(&with_scale(name, Some(1.0), clip));
            let cases = [(Some(0.0), 0.0), (Some(10.0), 10.0), (None, default)];
            for (scale, factor) in cases {
                for (tensor, (_, moved)) in movements(&with_scale(name, scale, clip)) {
                    let factor = if tensor.starts_with("sigma") { factor } else { 1.0 };
                    let expected: Vec<f64> = at_one[&tensor].1.iter().map(|moved| factor * moved).collect();
                    assert!(2e-5 < largest(&at_one[&tensor].1), "{tensor} hardly moves");
                    let what = format!("{name}, scale {scale:?}, clip {clip:?}: {tensor}");
                    check_within(&what, moved, &expected, 1e-6);
                }
            }
        }
    }
}

#[test]
fn a_restored_learner_continues_bit_for_bit() {
    let world = atari_like();
    // The reference with a σ per weight keeps nothing that the others do not keep, and is slow.
    let kept = catalogue().iter().filter(|entry| !matches!(entry.settings, Exploration::SaneWeightwise(_)));
    let configs = kept.map(|entry| (entry.name, named(entry.name, small_network())));
    let share = ("sane-elbo by share", by_share(named("sane-elbo", small_network())));
    for (name, config) in configs.chain([share]) {
        let mut unbroken = learner(&config, &world, 41);
        let mut noise = Stream::named(3, "act");
        for byte in 0..5_u8 {
            unbroken.act(&vec![byte; world.state_bytes()], ActMode::Explore { now: AgentSteps(0) }, &mut noise);
        }
        learn(&mut unbroken, &world, 8, 3, 41);
        let mut restored = Learner::new(&config, &world, &mut Stream::named(99, "other")).unwrap();
        restored.load_state(&unbroken.save_state()).unwrap();
        let (a, b) = (learn(&mut unbroken, &world, 8, 3, 42), learn(&mut restored, &world, 8, 3, 42));
        assert_eq!(a, b, "{name}");
        assert!(unbroken.save_state() == restored.save_state(), "{name}");
    }
}

#[test]
fn clipping_at_a_norm_never_reached_equals_the_fused_step_to_rounding() {
    let world = atari_like();
    for name in ["eps-greedy", "noisynet", "sane", "q-sane", "sane-constant", "noisynet-independent"] {
        let config = named(name, small_network());
        let unfused = AgentConfig { clip_gradient_norm: Some(1e6), ..config.clone() };
        let (mut a, mut b) = (learner(&config, &world, 51), learner(&unfused, &world, 51));
        learn(&mut a, &world, 16, 5, 51);
        learn(&mut b, &world, 16, 5, 51);
        for (a, b) in params(&a.export()).values().zip(params(&b.export()).values()) {
            check_close(name, b.1.iter().copied(), &a.1, 1e-6);
        }
    }
}

#[test]
fn a_clipped_gradient_has_the_norm_it_was_clipped_to() {
    let world = atari_like();
    let config = AgentConfig { clip_gradient_norm: Some(0.01), ..named("sane", small_network()) };
    let mut learner = learner(&config, &world, 52);
    let stats = learn(&mut learner, &world, 16, 1, 52);
    assert!(0.01 < stats[0].gradient_norm.unwrap());
    let gradient = oracle::first_gradient(&learner, &config);
    let norm = gradient.values().flat_map(|(_, v)| v).map(|g| g * g).sum::<f64>().sqrt();
    assert!((norm - 0.01).abs() < 1e-5, "{norm}");
}

#[test]
fn all_kernels_learn_and_act_the_same_bit_for_bit() {
    let world = atari_like();
    let configs = catalogue().iter().map(|entry| (entry.name, named(entry.name, small_network())));
    let share = ("sane-elbo by share", by_share(named("sane-elbo", small_network())));
    for (name, mut config) in configs.chain([share]) {
        if let Exploration::SaneWeightwise(_) = config.exploration {
            config.network.hidden = vec![8];
        }
        let run = |kernel| {
            let mut learner = learner_on(&config, &world, 61, kernel);
            let stats = learn(&mut learner, &world, 16, 3, 61);
            let decision = learner.act(&vec![7; world.state_bytes()], ActMode::Noisy, &mut Stream::named(1, "act"));
            (stats, decision, learner.q_values().to_vec(), learner.save_state())
        };
        let fastest = run(Kernel::detect());
        for kernel in Kernel::available() {
            assert!(run(kernel) == fastest, "{name} on {}", kernel.name());
        }
    }
}

#[test]
fn ten_learn_steps_match_the_oracle() {
    let world = world(FrameSpace::gray(9, 8), 2, 3);
    for name in ["eps-greedy", "noisynet", "sane", "q-sane", "langevin", "bootstrapped"] {
        let mut config = named(name, small_network());
        config.optimiser.learning_rate = 1e-3;
        if let Exploration::Langevin(langevin) = &mut config.exploration {
            // The noise of ten steps is then as large as what they learn.
            langevin.inverse_temperature = 1e3;
        }
        if let Some(module) = config.exploration.module_mut() {
            module.hidden = vec![6];
        }
        let mut learner = learner(&config, &world, 71);
        let (mut online, target) = (params(&learner.export()), params(&learner.export_target()));
        let mut adam = Adam::new(&online);
        let (mut batches, mut noise) = (Stream::named(71, "batches"), Stream::named(71, "noise"));
        for step in 0..10 {
            let batch: Batch = random_batch(&world, 4, &mut batches);
            let stats = learner.learn(&batch, &mut noise).unwrap();
            let trace = learner.last_step();
            let model = Model { config: &config, world: &world };
            let inputs = Inputs {
                model,
                target: &target,
                batch: &batch,
                trace: &trace,
                log_visits: None,
                is_risky: &|_| false,
                gap_before: NO_GAP,
                transitions: 0,
            };
            let expected = inputs.expected(&online);
            check_close(&format!("{name}: loss {step}"), [f64::from(stats.loss)], &[expected.loss], 1e-4);
            adam.step(&mut online, &expected.gradient, &config, &trace);
        }
        for (tensor, (_, values)) in params(&learner.export()) {
            check_close(&format!("{name}: {tensor} after ten steps"), values, &online[&tensor].1, 1e-4);
        }
    }
}
