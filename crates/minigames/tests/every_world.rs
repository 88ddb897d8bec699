//! Properties that must hold in every built-in world for all actions.

use proptest::prelude::*;
use sane_env::{Action, Element, Environment, Stream};
use sane_minigames::{known_worlds, make};

const MORE: [&str; 8] = [
    "minatar/seaquest:sticky=0.3,ramping=off",
    "minatar/asterix:actions=minimal,limit=40",
    "deep-sea/2",
    "deep-sea-stochastic/5:mapping=3",
    "risky-road/1",
    "risky-road/9",
    "risky-road/treasure:toll=0.25,after=1000",
    "risky-road/shift:after=20",
];

fn world_names() -> impl Strategy<Value = &'static str> {
    let all: Vec<&str> = known_worlds().map(|world| world.name).chain(MORE).collect();
    prop::sample::select(all)
}

/// A world in progress: it is reset whenever an episode ends, and all its output is recorded.
struct Walk {
    world: Box<dyn Environment>,
    starts: Stream,
    frame: Vec<u8>,
    ended: bool,
    seen: Vec<u8>,
}

impl Walk {
    fn new(name: &str, seed: u64) -> Self {
        let world = make(name, seed).unwrap();
        let frame = vec![7; world.spec().frame.bytes()];
        Self { world, starts: Stream::named(seed, "starts"), frame, ended: true, seen: Vec::new() }
    }

    fn go(&mut self, choices: &[u16]) {
        for choice in choices {
            if self.ended {
                self.world.reset(&mut self.starts, &mut self.frame).unwrap();
                self.seen.extend(&self.frame);
            }
            let actions = self.world.spec().actions.len() as u16;
            let step = self.world.step(Action(choice % actions), &mut self.frame).unwrap();
            self.ended = step.ending.ends_episode();
            self.seen.extend(&self.frame);
            self.seen.extend(step.reward.raw().to_le_bytes());
            self.seen.push(step.ending as u8);
        }
    }

    fn copy_with(&self, world: Box<dyn Environment>) -> Self {
        let Self { starts, frame, ended, .. } = self;
        Self { world, starts: starts.clone(), frame: frame.clone(), ended: *ended, seen: Vec::new() }
    }
}

fn true_risk(world: &dyn Environment) -> Option<f64> {
    world.ground_truth()?.true_risk()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn the_same_seed_and_actions_give_the_same_bytes(
        name in world_names(), seed: u64, choices in prop::collection::vec(0_u16..60, 1..300),
    ) {
        let run = || {
            let mut walk = Walk::new(name, seed);
            walk.go(&choices);
            (walk.world.snapshot(), walk.seen)
        };
        prop_assert_eq!(run(), run());
    }

    #[test]
    fn a_restored_snapshot_and_a_fork_continue_bit_for_bit(
        name in world_names(), seed: u64,
        before in prop::collection::vec(0_u16..60, 0..200), after in prop::collection::vec(0_u16..60, 1..200),
    ) {
        let mut walk = Walk::new(name, seed);
        walk.go(&before);
        walk.seen.clear();
        let snapshot = walk.world.snapshot();
        let mut forked = walk.copy_with(walk.world.fork());
        // Restored into a world of another seed and in another state.
        let mut elsewhere = Walk::new(name, seed ^ 1);
        elsewhere.go(&after);
        elsewhere.world.restore(&snapshot).unwrap();
        let mut restored = walk.copy_with(elsewhere.world);

        walk.go(&after);
        forked.go(&after);
        restored.go(&after);
        prop_assert_eq!(&walk.seen, &forked.seen);
        prop_assert_eq!(&walk.seen, &restored.seen);
        prop_assert_eq!(walk.world.snapshot(), restored.world.snapshot());
    }

    #[test]
    fn reseeding_keeps_the_state_and_depends_on_its_stream_alone(
        name in world_names(), seed: u64, chance: u64,
        before in prop::collection::vec(0_u16..60, 1..100), after in prop::collection::vec(0_u16..60, 1..200),
    ) {
        let mut walk = Walk::new(name, seed);
        walk.go(&before);
        let redrawn = |seed: u64| {
            let mut copy = walk.copy_with(walk.world.fork());
            let is_stochastic = copy.world.reseed(&mut Stream::named(seed, "chance"));
            prop_assert_eq!(copy.world.picture(), walk.world.picture());
            prop_assert_eq!(true_risk(&*copy.world), true_risk(&*walk.world));
            prop_assert_eq!(is_stochastic, copy.world.snapshot() != walk.world.snapshot());
            copy.go(&after);
            Ok(copy.seen)
        };
        prop_assert_eq!(redrawn(chance)?, redrawn(chance)?);
    }

    #[test]
    fn frames_hold_zeros_and_ones_only_and_the_true_risk_is_a_probability(
        name in world_names(), seed: u64, choices in prop::collection::vec(0_u16..60, 1..200),
    ) {
        let mut walk = Walk::new(name, seed);
        for choice in choices {
            walk.go(&[choice]);
            prop_assert!(walk.frame.iter().all(|value| *value <= 1));
            if let Some(risk) = true_risk(&*walk.world) {
                prop_assert!((0.0..=1.0).contains(&risk));
            }
        }
        prop_assert_eq!(walk.world.spec().frame.element, Element::U8 { full_scale: 1 });
        let picture = walk.world.picture();
        prop_assert_eq!(picture.rgb.len(), 3 * picture.width * picture.height);
    }

    #[test]
    fn a_damaged_or_foreign_snapshot_leaves_the_world_as_it_was(
        name in world_names(), seed: u64, choices in prop::collection::vec(0_u16..60, 1..50),
        at: prop::sample::Index, flip in 1_u8..=255, cut: prop::sample::Index,
    ) {
        let mut walk = Walk::new(name, seed);
        walk.go(&choices);
        let snapshot = walk.world.snapshot();
        let mut damaged = snapshot.clone();
        damaged[at.index(snapshot.len())] ^= flip;
        prop_assert!(walk.world.restore(&damaged).is_err());
        prop_assert!(walk.world.restore(&snapshot[..cut.index(snapshot.len())]).is_err());
        let foreign = make(if name == "deep-sea/2" { "deep-sea/3" } else { "deep-sea/2" }, seed).unwrap().snapshot();
        prop_assert!(walk.world.restore(&foreign).is_err());
        prop_assert_eq!(walk.world.snapshot(), snapshot);
    }

    #[test]
    fn any_text_is_a_world_or_an_error(name in "(minatar|deep-sea|risky-road)?[/:]?[a-z0-9/:=,.-]{0,20}", seed: u64) {
        if let Err(error) = make(&name, seed) {
            prop_assert!(!error.to_string().is_empty());
        }
    }
}

#[test]
fn reseeding_changes_the_future_of_stochastic_worlds_only() {
    for (name, differs) in
        [("minatar/asterix", true), ("deep-sea-stochastic/5", true), ("risky-road", true), ("deep-sea/5", false)]
    {
        let mut walk = Walk::new(name, 1);
        walk.go(&[0, 1]);
        let future = |seed: u64| {
            let mut copy = walk.copy_with(walk.world.fork());
            assert_eq!(copy.world.reseed(&mut Stream::named(seed, "chance")), differs, "{name}");
            copy.go(&[1; 200]);
            copy.seen
        };
        assert_eq!(future(1) != future(2), differs, "{name}");
    }
}

#[test]
fn an_action_out_of_range_panics_with_both_numbers() {
    for name in known_worlds().map(|world| world.name).chain(MORE) {
        let mut walk = Walk::new(name, 1);
        walk.go(&[0]);
        let actions = walk.world.spec().actions.len();
        let attempt = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            walk.world.step(Action(actions as u16), &mut walk.frame).unwrap();
        }));
        let message = *attempt.unwrap_err().downcast::<String>().unwrap();
        assert!(message.contains(&format!("action {actions} of {name}, which has {actions}")), "{message}");
    }
}
