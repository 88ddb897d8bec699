//! What is refused, with which code and words.

use crate::command::{Place, fail, succeed};

fn refused(place: &Place, world: &str, more: &[&str], code: i32) -> String {
    fail(place.sane(&["train", world, "--agent", "sane", "--steps", "10"]).args(more), code)
}

#[test]
fn wrong_names_are_wrong_usage_with_a_suggestion() {
    let place = Place::new();
    let text = refused(&place, "gym:CartPol-v1", &[], 2);
    assert!(text.contains("did you mean gym:CartPole-v1?"), "{text}");
    let text = refused(&place, "gym:", &[], 2);
    assert!(text.contains("names no Gymnasium environment"), "{text}");
}

#[test]
fn a_continuous_action_space_is_refused_with_the_way_out() {
    let place = Place::new();
    let text = refused(&place, "gym:Pendulum-v1", &[], 2);
    assert!(text.contains("continuous action space Box(") && text.contains("docs/gym.md"), "{text}");
}

#[test]
fn an_interpreter_that_is_nowhere_is_named_with_the_cure() {
    let place = Place::new();
    let text = refused(&place, "gym:CartPole-v1", &["--set", "world.python=/no/such/python"], 1);
    assert!(text.contains("no Python interpreter `/no/such/python`") && text.contains("SANE_PYTHON"), "{text}");
}

#[test]
fn arguments_are_set_by_key_and_wrong_ones_are_named() {
    let place = Place::new();
    let text = refused(&place, "gym:CartPole-v1", &["--set", "world.kwargs.colour=red"], 2);
    assert!(text.contains("does not take what world.kwargs says") && text.contains("'colour'"), "{text}");
    let shown = succeed(&mut place.sane(&[
        "config",
        "show",
        "gym:CartPole-v1",
        "--set",
        "world.kwargs.sutton_barto_reward=true",
    ]));
    assert!(shown.contains("[world.kwargs]\nsutton_barto_reward = true"), "{shown}");
    let text = refused(&place, "minatar/breakout", &["--set", "world.kwargs.x=1"], 2);
    assert!(text.contains("world.kwargs"), "{text}");
}

#[test]
fn a_waiting_time_that_cannot_be_is_refused() {
    let place = Place::new();
    let text = refused(&place, "gym:CartPole-v1", &["--set", "world.timeout_seconds=0"], 2);
    assert!(text.contains("world.timeout_seconds = 0 is not possible"), "{text}");
}
