//! What a learner does besides computing gradients: acting, refusing, reporting.

mod oracle;

use oracle::{learner, random_batch, small_network, world};
use sane_agent::{
    ActMode, AgentConfig, AgentError, ConvSpec, EpsGreedy, Exploration, LearnError, Learner, LinearSchedule,
    ModuleActivation, NetworkSpec, ParameterCounts, Policy, QNoiseUnit, RandomStart, SaneConstant, SaneFixed, Thompson,
    catalogue,
};
use sane_env::{AgentSteps, EnvSpec, FrameSpace, Stream};

fn small_world() -> EnvSpec {
    world(FrameSpace::gray(9, 8), 2, 4)
}

fn named(name: &str) -> AgentConfig {
    AgentConfig { exploration: Exploration::named(name).unwrap(), network: small_network(), ..AgentConfig::default() }
}

fn state(world: &EnvSpec, seed: u64) -> Vec<u8> {
    random_batch(world, 1, &mut Stream::named(seed, "state")).states
}

#[test]
fn every_network_has_as_many_parameters_as_counted() {
    let world = small_world();
    for entry in catalogue() {
        let config = named(entry.name);
        let counts = ParameterCounts::of(&config, &world).unwrap();
        let learner = Learner::new(&config, &world, &mut Stream::named(1, "init")).unwrap();
        let plain = Learner::new(&named("eps-greedy"), &world, &mut Stream::named(1, "init")).unwrap();
        let learned = |learner: &Learner| -> usize {
            let tensors = learner.export().into_iter().filter(|tensor| {
                // What is fixed, or follows from the replay, is not learned.
                !tensor.name.starts_with("prior.") && !tensor.name.starts_with("posterior.")
            });
            tensors.map(|tensor| tensor.values.len()).sum()
        };
        assert_eq!(counts.main, learned(&plain), "{}", entry.name);
        assert_eq!(counts.main + counts.exploration, learned(&learner), "{}", entry.name);
    }
}

#[test]
fn epsilon_one_is_uniform_and_epsilon_zero_is_greedy() {
    let world = small_world();
    // ε is 1 before interaction 10 and 0 from then on.
    let epsilon = LinearSchedule { first: 1.0, last: 0.0, hold: AgentSteps(10), decay: AgentSteps(0) };
    let exploration = Exploration::EpsGreedy(EpsGreedy { epsilon });
    let mut learner = learner(&AgentConfig { exploration, ..named("eps-greedy") }, &world, 1);
    let (state, mut noise) = (state(&world, 1), Stream::named(1, "act"));
    let plain = learner.act(&state, ActMode::Greedy, &mut noise).action;
    let mut counts = [0_u32; 4];
    for _ in 0..4_000 {
        let decision = learner.act(&state, ActMode::Explore { now: AgentSteps(0) }, &mut noise);
        assert!(decision.random && decision.q.is_none());
        assert_eq!(decision.noise_changed_action, decision.action != plain);
        counts[usize::from(decision.action.0)] += 1;
    }
    assert!(counts.iter().all(|&count| (850..1150).contains(&count)), "{counts:?}");
    let greedy = learner.act(&state, ActMode::Greedy, &mut noise);
    for _ in 0..100 {
        let decision = learner.act(&state, ActMode::Explore { now: AgentSteps(10) }, &mut noise);
        assert_eq!((decision.action, decision.random), (greedy.action, false));
    }
    let best = learner.q_values().iter().fold(f32::NEG_INFINITY, |best, &q| best.max(q));
    assert_eq!(greedy.q, Some(best));
}

#[test]
fn a_random_start_comes_before_the_agents_own_noise_and_leaves_no_trace_in_it() {
    let world = small_world();
    let random_start = RandomStart { hold: AgentSteps(10), decay: AgentSteps(20) };
    for entry in catalogue().iter().filter(|entry| entry.settings.epsilon(AgentSteps(0)).is_none()) {
        let (plain, started) = (named(entry.name), AgentConfig { random_start, ..named(entry.name) });
        started.check().unwrap();
        let (mut plain, mut started) = (learner(&plain, &world, 1), learner(&started, &world, 1));
        let state = state(&world, 1);
        let mut share = |now| {
            let mut noise = Stream::named(now, "act");
            let mode = ActMode::Explore { now: AgentSteps(now) };
            (0..200).filter(|_| started.act(&state, mode, &mut noise).random).count()
        };
        assert_eq!((share(0), share(9), share(30)), (200, 200, 0), "{}", entry.name);
        assert!((70..130).contains(&share(20)), "{}", entry.name);
        // From its end on, the same decisions from the same draws.
        let (mut ours, mut theirs) = (Stream::named(1, "later"), Stream::named(1, "later"));
        let now = AgentSteps(30);
        started.begin_episode();
        plain.begin_episode();
        if entry.settings.bound().is_none() && !entry.name.contains("visits") {
            for _ in 0..5 {
                let decisions = (
                    started.act(&state, ActMode::Explore { now }, &mut ours),
                    plain.act(&state, ActMode::Explore { now }, &mut theirs),
                );
                assert_eq!(decisions.0, decisions.1, "{}", entry.name);
            }
        }
        // Evaluation knows nothing of it.
        let decision = started.act(&state, ActMode::Noisy, &mut ours);
        assert!(!decision.random, "{}", entry.name);
    }
}

#[test]
fn visits_are_counted_while_exploring_and_in_no_other_mode() {
    let world = small_world();
    for name in ["sane-visits", "q-sane-visits", "sane-counts"] {
        let mut learner = learner(&named(name), &world, 2);
        let (state, mut noise) = (state(&world, 2), Stream::named(2, "act"));
        for mode in [ActMode::Noisy, ActMode::Greedy, ActMode::EpsilonGreedy { epsilon: 0.5 }] {
            (0..10).for_each(|_| _ = learner.act(&state, mode, &mut noise));
        }
        assert_eq!(learner.policy().visits(&state), Some(0), "{name}");
        (0..3).for_each(|now| _ = learner.act(&state, ActMode::Explore { now: AgentSteps(now) }, &mut noise));
        assert_eq!(learner.policy().visits(&state), Some(3), "{name}");
    }
}

#[test]
fn the_sigma_of_another_state_is_another_one_at_each_decision_with_noise_and_at_no_other() {
    let world = small_world();
    let mut learner = learner(&named("sane-shuffled"), &world, 2);
    let batch = random_batch(&world, 16, &mut Stream::named(2, "batch"));
    learner.learn(&batch, &mut Stream::named(2, "noise")).unwrap();
    let (state, mut noise) = (state(&world, 2), Stream::named(2, "act"));
    let mut sigma = |mode| learner.act(&state, mode, &mut noise).sigma;
    let explored = sigma(ActMode::Explore { now: AgentSteps(0) });
    let noisy = sigma(ActMode::Noisy);
    assert_ne!(explored, noisy);
    for mode in [ActMode::Greedy, ActMode::EpsilonGreedy { epsilon: 0.0 }] {
        assert_eq!(sigma(mode), sigma(mode));
    }
    assert_ne!(sigma(ActMode::Noisy), noisy);
}

#[test]
fn noise_is_drawn_anew_for_each_decision_and_never_for_greedy_ones() {
    let world = small_world();
    for name in ["noisynet", "sane", "q-sane", "sane-constant", "sane-layerwise", "sane-independent"] {
        let mut learner = learner(&named(name), &world, 2);
        let (state, mut noise) = (state(&world, 2), Stream::named(2, "act"));
        let mut values = |mode| {
            learner.act(&state, mode, &mut noise);
            learner.q_values().to_vec()
        };
        assert_ne!(values(ActMode::Noisy), values(ActMode::Noisy), "{name}");
        assert_eq!(values(ActMode::Greedy), values(ActMode::Greedy), "{name}");
    }
}

#[test]
fn large_noise_changes_actions_and_says_so() {
    let world = small_world();
    let exploration = Exploration::SaneConstant(SaneConstant { initial_sigma: 5.0, ..SaneConstant::default() });
    let mut learner = learner(&AgentConfig { exploration, ..named("sane") }, &world, 3);
    let (state, mut noise) = (state(&world, 3), Stream::named(3, "act"));
    let plain = learner.act(&state, ActMode::Greedy, &mut noise).action;
    let mut changed = 0;
    for _ in 0..200 {
        let decision = learner.act(&state, ActMode::Noisy, &mut noise);
        assert_eq!(decision.noise_changed_action, decision.action != plain);
        changed += u32::from(decision.noise_changed_action);
        assert_eq!(decision.sigma, Some(5.0));
    }
    assert!((50..200).contains(&changed), "{changed} of 200");
}

#[test]
fn sigma_is_one_scalar_per_state_and_depends_on_it() {
    let world = small_world();
    let mut learner = learner(&named("sane"), &world, 4);
    let mut noise = Stream::named(4, "act");
    let mut sigma = |seed| learner.act(&state(&world, seed), ActMode::Greedy, &mut noise).sigma.unwrap();
    assert_ne!(sigma(1), sigma(2));
    assert_eq!(sigma(1), sigma(1));
}

#[test]
fn a_dead_module_is_detected() {
    let world = small_world();
    let mut learner = learner(&named("sane"), &world, 5);
    let batch = random_batch(&world, 16, &mut Stream::named(5, "states"));
    let sigma = |learner: &mut Learner| learner.learn(&batch, &mut Stream::named(6, "noise")).unwrap().sigma.unwrap();
    let alive = sigma(&mut learner);
    assert!(!alive.is_dead() && 0.3 < alive.live_units_share && 0.0 < alive.spread_abs, "{alive:?}");
    assert_eq!(alive.dead_states_share, 0.0);
    let mut tensors = learner.export();
    tensors.iter_mut().find(|tensor| tensor.name == "sigma1.bias").unwrap().values.fill(-1e6);
    learner.import(&tensors).unwrap();
    let dead = sigma(&mut learner);
    assert!(dead.is_dead() && dead.spread_abs == 0.0 && dead.dead_states_share == 1.0, "{dead:?}");
}

#[test]
fn states_in_which_sigma_is_at_its_floor_are_counted_though_all_units_live() {
    let world = small_world();
    let mut config = named("sane-elbo");
    config.exploration.module_mut().unwrap().activation = ModuleActivation::Tanh;
    let mut learner = learner(&config, &world, 5);
    let batch = random_batch(&world, 16, &mut Stream::named(5, "states"));
    let mut sigma_with_output_at = |bias: f32| {
        let mut tensors = learner.export();
        tensors.iter_mut().find(|tensor| tensor.name == "sigma2.bias").unwrap().values.fill(bias);
        learner.import(&tensors).unwrap();
        learner.learn(&batch, &mut Stream::named(6, "noise")).unwrap().sigma.unwrap()
    };
    assert_eq!(sigma_with_output_at(0.0).dead_states_share, 0.0);
    let low = sigma_with_output_at(-200.0);
    assert!(!low.is_dead() && low.live_units_share == 1.0 && low.dead_states_share == 1.0, "{low:?}");
}

#[test]
fn states_in_which_the_module_is_off_are_counted_though_its_units_live_in_others() {
    let world = small_world();
    let mut learner = learner(&named("sane"), &world, 5);
    let mut batch = random_batch(&world, 16, &mut Stream::named(5, "states"));
    // With a bias below zero a state without any light switches every unit off; the others keep theirs.
    let bytes = world.state_bytes();
    batch.states[..4 * bytes].fill(0);
    let mut tensors = learner.export();
    for tensor in &mut tensors {
        if tensor.name.ends_with(".bias") {
            tensor.values.fill(if tensor.name == "sigma1.bias" { -1e-6 } else { 0.0 });
        }
    }
    learner.import(&tensors).unwrap();
    let sigma = learner.learn(&batch, &mut Stream::named(6, "noise")).unwrap().sigma.unwrap();
    assert_eq!(sigma.dead_states_share, 0.25);
    assert!(!sigma.is_dead() && 0.3 < sigma.live_units_share, "{sigma:?}");
}

#[test]
fn a_policy_taken_out_of_a_learner_acts_like_it() {
    let world = small_world();
    for entry in catalogue() {
        let name = entry.name;
        let mut learner = learner(&named(name), &world, 7);
        let (state, mut noise) = (state(&world, 8), Stream::named(7, "noise"));
        let batch = random_batch(&world, 8, &mut Stream::named(7, "batch"));
        for step in 0..5 {
            learner.inform(&state, 1.0);
            learner.act(&state, ActMode::Explore { now: AgentSteps(step) }, &mut noise);
            learner.learn(&batch, &mut noise).unwrap();
        }
        learner.begin_episode();
        let mut taken = learner.policy();
        let mut loaded = Policy::new(&named(name), &world, &learner.export()).unwrap();
        loaded.set_memory(&taken.memory()).unwrap();
        let expected = learner.act(&state, ActMode::Noisy, &mut Stream::named(8, "act"));
        for policy in [&mut taken, &mut loaded] {
            assert_eq!(policy.act(&state, ActMode::Noisy, &mut Stream::named(8, "act")), expected, "{name}");
            assert_eq!(policy.q_values(), learner.q_values(), "{name}");
        }
    }
}

#[test]
fn a_memory_of_another_agent_or_of_none_is_refused() {
    let world = small_world();
    let policy = |name: &str| learner(&named(name), &world, 7).policy();
    let mut counting = policy("sane-counts");
    let refused = counting.set_memory(&policy("sane").memory()).unwrap_err();
    assert!(matches!(refused, AgentError::BehaviourMemory { found: 0, .. }), "{refused}");
    for gap in [f32::NAN, f32::INFINITY, -1.0] {
        let mut altered = counting.memory();
        let place = altered.len() - 4;
        altered[place] = gap.to_bits();
        assert_eq!(counting.set_memory(&altered), Err(AgentError::BehaviourState));
    }
}

#[test]
fn the_target_network_moves_only_when_it_is_synchronised() {
    let world = small_world();
    let mut learner = learner(&named("q-sane"), &world, 9);
    let before = learner.export_target();
    learner.learn(&random_batch(&world, 8, &mut Stream::named(9, "batch")), &mut Stream::named(9, "noise")).unwrap();
    assert_eq!(learner.export_target(), before);
    learner.sync_target();
    assert_eq!(learner.export_target(), learner.export());
}

#[test]
fn a_loss_that_is_not_finite_stops_with_step_and_state_and_leaves_the_parameters() {
    let world = small_world();
    let mut learner = learner(&named("sane"), &world, 10);
    let mut batch = random_batch(&world, 4, &mut Stream::named(10, "batch"));
    let mut noise = Stream::named(10, "noise");
    learner.learn(&batch, &mut noise).unwrap();
    let before = learner.save_state();
    batch.rewards[2] = f32::NAN;
    let error = learner.learn(&batch, &mut noise).unwrap_err();
    let text = error.to_string();
    assert!(text.starts_with("the loss is NaN at learn step 2: agent sane, mean Q "), "{text}");
    assert!(matches!(error, LearnError::NotFinite { mean_abs_sigma: Some(_), .. }));
    assert!(learner.save_state() == before);
}

#[test]
fn a_weight_of_the_kl_term_that_is_not_finite_stops_before_it_reaches_the_parameters() {
    let world = small_world();
    for name in ["sane-elbo", "sane-constant-elbo", "noisynet-elbo"] {
        let mut learner = learner(&named(name), &world, 10);
        // In units of this gap, which a million batches have had, 2v²/k₂ is beyond the largest f32.
        let mut state = learner.save_state();
        state.behaviour[..2].copy_from_slice(&[1e30_f32.to_bits(), 1_000_000]);
        learner.load_state(&state).unwrap();
        let text = learner.require_finite().unwrap_err().to_string();
        assert!(text.starts_with("the size of the noise holds inf after 0 learn steps"), "{text}");
        let before = learner.export();
        let batch = random_batch(&world, 4, &mut Stream::named(10, "batch"));
        let text = learner.learn(&batch, &mut Stream::named(10, "noise")).unwrap_err().to_string();
        assert!(text.starts_with("the weight of the KL term is inf at learn step 1: agent "), "{text}");
        assert_eq!(learner.export(), before, "{name}");
    }
}

#[test]
fn agents_with_a_kl_term_learn_with_the_smallest_and_the_largest_noise_that_may_be_set() {
    let world = small_world();
    let batch = random_batch(&world, 8, &mut Stream::named(11, "batch"));
    let agents = catalogue().iter().map(|agent| agent.name);
    for name in agents.filter(|name| named(name).exploration.bound().is_some()) {
        for size in [1e-6, 1e6] {
            let mut config = named(name);
            let bound = config.exploration.bound_mut().unwrap();
            (bound.q_noise, bound.q_noise_unit) = (size, QNoiseUnit::Absolute);
            match &mut config.exploration {
                Exploration::Oracle(oracle) => oracle.variant.risky_noise = size.min(1.0),
                Exploration::SaneCounts(counts) => counts.variant.noise_at_visits = size,
                Exploration::NoisynetElbo(noisynet) => noisynet.sigma_0 = size.min(1.0),
                Exploration::SaneConstantElbo(constant) => constant.initial_sigma = size.min(1.0),
                _ => {}
            }
            let mut learner = learner(&config, &world, 11);
            batch.states.chunks_exact(world.state_bytes()).for_each(|state| learner.inform(state, 1.0));
            let mut noise = Stream::named(11, "noise");
            for _ in 0..30 {
                let stats = learner.learn(&batch, &mut noise).unwrap_or_else(|error| panic!("{name} {size}: {error}"));
                assert!(0.0 < stats.bound.unwrap().kl_weight, "{name} {size}");
            }
            learner.require_finite().unwrap_or_else(|error| panic!("{name} {size}: {error}"));
        }
    }
}

#[test]
fn parameters_that_do_not_fit_are_named() {
    let world = small_world();
    let mut sane = learner(&named("sane"), &world, 11);
    let refused =
        |learner: &mut Learner, tensors: &[sane_agent::NamedTensor]| learner.import(tensors).unwrap_err().to_string();
    let mut missing = sane.export();
    missing.retain(|tensor| tensor.name != "sigma1.weight");
    assert!(refused(&mut sane, &missing).contains("sigma1.weight"));
    let mut reshaped = sane.export();
    reshaped[0].shape[0] += 1;
    assert!(refused(&mut sane, &reshaped).contains("conv1.weight"));
    let plain = learner(&named("eps-greedy"), &world, 11).export();
    assert!(refused(&mut sane, &plain).contains("sigma1.weight"));
    let other = learner(&named("noisynet"), &world, 11).save_state();
    assert!(matches!(sane.load_state(&other), Err(AgentError::Engine(_))));
    let mut counting = learner(&named("sane-visits"), &world, 11);
    let mut forgetful = counting.save_state();
    forgetful.behaviour.clear();
    assert!(matches!(counting.load_state(&forgetful), Err(AgentError::BehaviourMemory { found: 0, .. })));
}

#[test]
fn specifications_that_cannot_be_are_refused_when_the_network_is_built() {
    let world = small_world();
    let conv = |filters, kernel, stride| vec![ConvSpec { filters, kernel, stride }];
    let network = |convolutions, hidden| NetworkSpec { convolutions, hidden, conv_bias: true };
    let cases = [
        (network(conv(4, 9, 1), vec![8]), "conv1: a kernel of 9×9 does not fit into its input of 9×8"),
        (network(conv(0, 3, 1), vec![8]), "conv1: 0 filters"),
        (network(conv(4, 3, 1), vec![8, 0]), "fc2: 8 inputs, 0 outputs"),
    ];
    for (network, start) in cases {
        let config = AgentConfig { network, ..named("sane") };
        let text = Learner::new(&config, &world, &mut Stream::named(1, "init")).unwrap_err().to_string();
        assert!(text.starts_with(start), "{text}");
    }
    let idle = EnvSpec { actions: Vec::new(), ..world };
    let text = Learner::new(&named("sane"), &idle, &mut Stream::named(1, "init")).unwrap_err().to_string();
    assert!(text.starts_with("fc2: 9 inputs, 0 outputs"), "{text}");
}

#[test]
fn an_agent_with_noise_neither_in_acting_nor_in_learning_is_refused() {
    let without = |learn_with_noise| {
        Exploration::SaneFixed(SaneFixed { learn_with_noise, thompson: Thompson::Never, ..SaneFixed::default() })
    };
    let config = |exploration| AgentConfig { exploration, ..AgentConfig::default() };
    config(without(true)).check().unwrap();
    let text = config(without(false)).check().unwrap_err().to_string();
    assert!(text.starts_with("exploration.thompson = never "), "{text}");
}

#[test]
fn initial_parameters_have_the_spread_of_the_paper() {
    let world = world(FrameSpace::gray(84, 84), 4, 6);
    let spread = |name: &str, tensor: &str| {
        let config = AgentConfig::named(name, &world).unwrap();
        let learner = Learner::new(&config, &world, &mut Stream::named(12, "init")).unwrap();
        let tensors = learner.export();
        let values = &tensors.iter().find(|t| t.name == tensor).unwrap().values;
        (values.iter().map(|v| f64::from(*v).powi(2)).sum::<f64>() / values.len() as f64).sqrt()
    };
    let uniform = |a: f64| a / 3.0_f64.sqrt();
    let cases = [
        ("sane", "conv2.weight", uniform((6.0 / f64::from(32 * 16 + 64 * 16)).sqrt())),
        ("sane", "fc1.weight", uniform((6.0 / f64::from(3136 + 512)).sqrt())),
        ("sane", "fc1.bias", 0.0),
        ("sane", "sigma1.weight", (2.0 / 3136.0_f64).sqrt()),
        ("q-sane", "sigma1.weight", (2.0 / 3142.0_f64).sqrt()),
        ("sane", "sigma1.bias", 0.0),
        ("noisynet", "fc1.weight_mu", uniform(1.0 / 56.0)),
        ("noisynet", "fc1.bias_mu", uniform(1.0 / 56.0)),
        ("noisynet", "fc1.weight_sigma", 0.5 / 56.0),
        ("noisynet", "fc1.bias_sigma", 0.5 / 56.0),
    ];
    for (agent, tensor, expected) in cases {
        let found = spread(agent, tensor);
        assert!((found - expected).abs() <= 0.06 * expected, "{agent} {tensor}: {found} instead of {expected}");
    }
}
