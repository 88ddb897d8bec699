//! Ways of exploring from outside the crate: what they implement reaches the learner and the presets.

mod oracle;

use oracle::{learner, random_batch, small_network, world};
use sane_agent::{
    AgentConfig, AgentError, Bound, EpsGreedy, Exploration, Explorer, HeadBuilder, LinearSchedule, ModuleSettings,
    Perturbation, SaneConstantElbo, SaneElbo,
};
use sane_env::{AgentSteps, EnvSpec, FrameSpace, Stream};
use std::sync::Arc;

fn small_world() -> EnvSpec {
    world(FrameSpace::gray(9, 8), 2, 4)
}

fn config(exploration: Exploration) -> AgentConfig {
    AgentConfig { exploration, network: small_network(), ..AgentConfig::default() }
}

/// One σ with a KL term, by nothing but the methods that the table of docs/extending.md names.
#[derive(Debug, Clone, Default)]
struct OwnBound(SaneConstantElbo);

impl Explorer for OwnBound {
    fn parameter_count(&self, dense_widths: &[usize]) -> Result<usize, AgentError> {
        self.0.parameter_count(dense_widths)
    }

    fn build(&self, head: &mut HeadBuilder) -> Result<Box<dyn Perturbation>, AgentError> {
        self.0.build(head)
    }

    fn bound(&self) -> Option<&Bound> {
        Some(&self.0.bound)
    }

    fn bound_mut(&mut self) -> Option<&mut Bound> {
        Some(&mut self.0.bound)
    }
}

#[test]
fn a_custom_explorer_with_a_bound_has_the_kl_term_of_the_same_agent_of_the_catalogue() {
    let world = small_world();
    let batch = random_batch(&world, 8, &mut Stream::named(1, "batch"));
    let learned = |exploration| {
        let mut learner = learner(&config(exploration), &world, 1);
        let mut noise = Stream::named(1, "noise");
        let stats: Vec<_> = (0..3).map(|_| learner.learn(&batch, &mut noise).unwrap()).collect();
        (stats, learner.save_state())
    };
    let own = learned(Exploration::custom("own", Arc::new(OwnBound::default())));
    let bound = own.0[0].bound.unwrap();
    assert!(0.0 < bound.gap && 0.0 < bound.kl_weight && own.0[0].kl.unwrap().sigma != 0.0, "{own:?}");
    assert!(own == learned(Exploration::named("sane-constant-elbo").unwrap()));
}

/// A bound without noise: nothing follows from it, but its gap is that of the action values.
#[derive(Debug, Clone, Default)]
struct BoundAlone(Bound);

impl Explorer for BoundAlone {
    fn bound(&self) -> Option<&Bound> {
        Some(&self.0)
    }
}

#[test]
fn the_gap_of_an_agent_whose_weights_are_not_perturbed_is_that_of_its_action_values() {
    let world = small_world();
    let mut learner = learner(&config(Exploration::custom("own", Arc::new(BoundAlone::default()))), &world, 1);
    let batch = random_batch(&world, 8, &mut Stream::named(1, "batch"));
    let stats = learner.learn(&batch, &mut Stream::named(1, "noise")).unwrap();
    assert!(0.0 < stats.bound.unwrap().gap, "{stats:?}");
}

/// Everything that presets set.
#[derive(Debug, Clone, Default)]
struct Tunable {
    elbo: SaneElbo,
    eps_greedy: EpsGreedy,
}

impl Explorer for Tunable {
    fn bound(&self) -> Option<&Bound> {
        self.elbo.bound()
    }

    fn bound_mut(&mut self) -> Option<&mut Bound> {
        self.elbo.bound_mut()
    }

    fn module(&self) -> Option<&ModuleSettings> {
        self.elbo.module()
    }

    fn module_mut(&mut self) -> Option<&mut ModuleSettings> {
        self.elbo.module_mut()
    }

    fn epsilon(&self, now: AgentSteps) -> Option<f32> {
        self.eps_greedy.epsilon(now)
    }

    fn epsilon_schedule(&mut self) -> Option<&mut LinearSchedule> {
        self.eps_greedy.epsilon_schedule()
    }
}

#[test]
fn presets_set_a_custom_explorer_and_leave_copies_of_it_alone() {
    let mut exploration = Exploration::custom("own", Arc::new(Tunable::default()));
    let copy = exploration.clone();
    exploration.bound_mut().unwrap().q_noise = 7.0;
    exploration.module_mut().unwrap().hidden = vec![3];
    *exploration.epsilon_schedule().unwrap() =
        LinearSchedule { first: 0.5, last: 0.5, hold: AgentSteps(0), decay: AgentSteps(0) };
    let settings = |exploration: &Exploration| {
        let hidden = exploration.module().unwrap().hidden.clone();
        (exploration.bound().unwrap().q_noise, hidden, exploration.epsilon(AgentSteps(0)).unwrap())
    };
    assert_eq!(settings(&exploration), (7.0, vec![3], 0.5));
    assert_eq!(settings(&copy), (Bound::default().q_noise, ModuleSettings::default().hidden, 1.0));
}
