//! What an environment says arrives: endings, rewards, arguments, images, numbers of actions.

use crate::fixture::{Fixture, floats, started};
use crate::packages::is_left_out;
use sane_env::{Action, Element, Ending, Environment, FrameSpace};
use sane_gym::{GymOptions, GymSource};

fn ending_of(event: &str) -> Ending {
    let fixture = Fixture::new();
    let (mut world, mut frame) = started(&fixture.counter(&format!("event = '{event}'\nat = 1")));
    world.step(Action(0), &mut frame).unwrap().ending
}

#[test]
fn termination_and_truncation_are_kept_apart() {
    if is_left_out() {
        return;
    }
    assert_eq!(ending_of("nothing"), Ending::Continues);
    assert_eq!(ending_of("terminate"), Ending::GameOver);
    assert_eq!(ending_of("truncate"), Ending::Truncated);
    assert_eq!(ending_of("both"), Ending::GameOver, "a state without a future has none at the time limit either");
}

#[test]
fn a_time_limit_of_the_registration_truncates() {
    if is_left_out() {
        return;
    }
    let fixture = Fixture::new();
    let (mut world, mut frame) = started(&fixture.counter(""));
    let endings: Vec<Ending> = (0..50).map(|_| world.step(Action(0), &mut frame).unwrap().ending).collect();
    assert_eq!(endings.iter().position(|ending| ending.ends_episode()), Some(49));
    assert_eq!(endings[49], Ending::Truncated);
}

#[test]
fn an_environment_may_never_end_unless_its_registration_a_wrapper_an_argument_or_its_console_limits_it() {
    if is_left_out() {
        return;
    }
    let fixture = Fixture::new();
    let may_never_end = |name: &str, kwargs: &str| {
        let options = GymOptions { kwargs: kwargs.parse().unwrap(), ..fixture.world(name) };
        GymSource::open(&options).and_then(|source| source.make(1)).unwrap().may_never_end()
    };
    for limited in ["gym:sane_test_envs:Counter-v0", "gym:CartPole-v1", "gym:sane_test_envs:Wrapped-v0"] {
        assert!(!may_never_end(limited, ""), "{limited}");
    }
    assert!(may_never_end("gym:sane_test_envs:Unlimited-v0", ""));
    assert!(!may_never_end("gym:sane_test_envs:Unlimited-v0", "max_episode_steps = 9"));
    for observed in ["", "obs_type = 'ram'"] {
        assert!(!may_never_end("gym:ALE/Pong-v5", observed), "a console {observed}");
    }
}

#[test]
fn what_an_environment_prints_does_not_reach_the_protocol() {
    if is_left_out() {
        return;
    }
    let fixture = Fixture::new();
    let (mut world, mut frame) = started(&fixture.counter("event = 'print'\nat = 2"));
    for count in 1..=3 {
        world.step(Action(1), &mut frame).unwrap();
        assert_eq!(floats(&frame), [count as f32, count as f32 + 1.0]);
    }
}

#[test]
fn arguments_reach_the_environment() {
    if is_left_out() {
        return;
    }
    let fixture = Fixture::new();
    let (mut world, mut frame) = started(&fixture.counter("factor = 2.5\nactions = 3\nfirst = 10"));
    assert_eq!(world.spec().actions, ["0", "1", "2"]);
    assert_eq!(world.step(Action(2), &mut frame).unwrap().reward.raw(), 30.0, "actions are counted from the first one");
}

#[test]
fn images_become_planes_of_bytes() {
    if is_left_out() {
        return;
    }
    let fixture = Fixture::new();
    let (world, frame) = started(&fixture.counter("dtype = 'uint8'\nshape = [2, 2, 3]"));
    let space = FrameSpace { channels: 3, height: 2, width: 2, element: Element::U8 { full_scale: 255 } };
    assert_eq!(world.spec().frame, space);
    assert_eq!(frame, [0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11]);
    assert_eq!(world.picture().rgb[..6], [0, 1, 2, 3, 4, 5]);
}

#[test]
fn numbers_of_another_type_become_single_precision() {
    if is_left_out() {
        return;
    }
    let fixture = Fixture::new();
    for dtype in ["float64", "int64", "int8"] {
        let (world, frame) = started(&fixture.counter(&format!("dtype = '{dtype}'\nshape = [3]")));
        assert_eq!(world.spec().frame, FrameSpace::vector(3));
        assert_eq!(floats(&frame), [0.0, 1.0, 2.0]);
    }
}

#[test]
fn a_number_out_of_a_list_is_shown_one_hot() {
    if is_left_out() {
        return;
    }
    let fixture = Fixture::new();
    let (world, frame) = started(&fixture.world("gym:FrozenLake-v1"));
    assert_eq!(world.spec().frame, FrameSpace::vector(16));
    assert_eq!(floats(&frame).iter().sum::<f32>(), 1.0);
}

#[test]
fn a_history_makes_a_longer_state() {
    if is_left_out() {
        return;
    }
    let fixture = Fixture::new();
    let source = GymSource::open(&GymOptions { history: Some(3), ..fixture.counter("") }).unwrap();
    assert_eq!((source.spec().history, source.spec().state_bytes()), (3, 24));
}

#[test]
fn a_snapshot_is_not_exact_and_of_its_world_alone() {
    if is_left_out() {
        return;
    }
    let fixture = Fixture::new();
    let (mut world, mut frame) = started(&fixture.counter(""));
    assert!(!world.exact_snapshots());
    let own = world.snapshot();
    assert_eq!(world.restore(&own), Ok(()));
    let error = world.restore(b"gym:Other-v0").unwrap_err().to_string();
    assert_eq!(error, "the snapshot is of gym:Other-v0, this world is gym:sane_test_envs:Counter-v0");
    let reason = world.fork().step(Action(0), &mut frame).expect_err("a copy has a fault").reason;
    assert!(reason.contains("cannot be copied"), "{reason}");
}
