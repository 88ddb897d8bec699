//! What cannot be had gets a sentence with the way out.

use crate::fixture::{Fixture, refusal};
use crate::packages::is_left_out;
use sane_gym::GymOptions;

fn check_refused(options: &GymOptions, words: &[&str]) {
    let error = refusal(options);
    let text = error.to_string();
    for word in words {
        assert!(text.contains(word), "{text}\nlacks {word}");
    }
}

#[test]
fn a_missing_interpreter_is_named_with_its_cure() {
    if is_left_out() {
        return;
    }
    let options = GymOptions { python: Some("no-such-python".into()), ..GymOptions::new("gym:CartPole-v1") };
    check_refused(&options, &["no Python interpreter `no-such-python`", "SANE_PYTHON", "world.python"]);
}

#[test]
fn a_missing_package_is_named_with_the_command_that_installs_it() {
    if is_left_out() {
        return;
    }
    let fixture = Fixture::new();
    let options = GymOptions { python: Some(fixture.bare_python()), ..GymOptions::new("gym:CartPole-v1") };
    check_refused(&options, &["has no package numpy", "-m pip install numpy` installs it"]);
}

#[test]
fn a_missing_module_is_named() {
    if is_left_out() {
        return;
    }
    let fixture = Fixture::new();
    check_refused(&fixture.world("gym:no_such_module:X-v0"), &["finds no module no_such_module", "PYTHONPATH"]);
}

#[test]
fn an_unknown_id_gets_a_suggestion() {
    if is_left_out() {
        return;
    }
    let fixture = Fixture::new();
    let options = fixture.world("gym:CartPoel-v1");
    check_refused(
        &options,
        &["gym:CartPoel-v1: environment `CartPoel` doesn't exist", "did you mean gym:CartPole-v1?"],
    );
    assert!(refusal(&options).is_usage());
}

#[test]
fn a_missing_dependency_is_told_in_gymnasiums_words() {
    if is_left_out() {
        return;
    }
    let fixture = Fixture::new();
    check_refused(&fixture.world("gym:LunarLander-v3"), &["Box2D is not installed", "pip install"]);
}

#[test]
fn a_continuous_action_space_is_refused_with_the_way_out() {
    if is_left_out() {
        return;
    }
    let fixture = Fixture::new();
    let options = fixture.world("gym:Pendulum-v1");
    check_refused(
        &options,
        &["has the continuous action space Box(-2.0, 2.0, (1,), float32)", "Discrete", "docs/gym.md"],
    );
    assert!(refusal(&options).is_usage());
}

#[test]
fn an_observation_that_is_no_box_is_refused() {
    if is_left_out() {
        return;
    }
    let fixture = Fixture::new();
    let options = fixture.world("gym:sane_test_envs:Networked-v0");
    check_refused(&options, &["shows Graph(", "which is no vector and no image"]);
}

#[test]
fn arguments_that_the_environment_does_not_take_are_named() {
    if is_left_out() {
        return;
    }
    let fixture = Fixture::new();
    check_refused(&fixture.counter("colour = 'red'"), &["does not take what world.kwargs says", "'colour'"]);
}
