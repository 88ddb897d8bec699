//! Environments that stop working: each is noticed, named, and ends without a trace.

use crate::fixture::{Fixture, started};
use crate::packages::is_left_out;
use sane_env::{Action, Environment, Stream};
use std::path::Path;
use std::time::{Duration, Instant};

/// Steps into the fault and gives its words.
fn fault_of(event: &str) -> String {
    let fixture = Fixture::new();
    let (mut world, mut frame) = started(&fixture.counter(&format!("event = '{event}'\nat = 3")));
    for _ in 0..2 {
        world.step(Action(0), &mut frame).unwrap_or_else(|fault| panic!("{event}: {fault}"));
    }
    let fault = world.step(Action(0), &mut frame).expect_err(event);
    assert_eq!(fault.world, "gym:sane_test_envs:Counter-v0");
    // Every later call gives the same fault.
    assert_eq!(world.step(Action(0), &mut frame).as_ref(), Err(&fault));
    assert_eq!(world.reset(&mut Stream::named(1, "starts"), &mut frame).as_ref(), Err(&fault));
    fault.reason
}

#[test]
fn a_worker_that_leaves_is_named_with_its_exit_code_and_last_lines() {
    if is_left_out() {
        return;
    }
    let reason = fault_of("exit");
    assert!(reason.contains("died on step: exit code 3"), "{reason}");
    assert!(reason.contains("about to leave"), "{reason}");
}

#[test]
fn a_worker_that_is_killed_is_named_with_its_signal() {
    if is_left_out() {
        return;
    }
    let reason = fault_of("kill");
    assert!(reason.contains("died on step: signal 9"), "{reason}");
}

#[test]
fn a_worker_that_hangs_is_ended_after_the_time_limit() {
    if is_left_out() {
        return;
    }
    let fixture = Fixture::new();
    let mut options = fixture.counter("event = 'hang'\nat = 1");
    // Long enough for an interpreter to start on a busy machine.
    options.timeout = Duration::from_secs(12);
    let (mut world, mut frame) = started(&options);
    let start = Instant::now();
    let reason = world.step(Action(0), &mut frame).expect_err("it hangs").reason;
    assert!((11..60).contains(&start.elapsed().as_secs()), "{:?}", start.elapsed());
    assert!(reason.contains("did not answer step for 12 s and was ended"), "{reason}");
    assert!(reason.contains("about to hang") && reason.contains("world.timeout_seconds"), "{reason}");
    let process: u32 = reason.split("process ").nth(1).and_then(|rest| rest.split(')').next()?.parse().ok()).unwrap();
    assert!(!Path::new(&format!("/proc/{process}")).exists(), "process {process} still runs");
}

#[test]
fn an_exception_is_told_with_its_place() {
    if is_left_out() {
        return;
    }
    let reason = fault_of("raise");
    assert!(reason.contains("failed on step: RuntimeError: the bridge is out"), "{reason}");
    assert!(reason.contains("sane_test_envs.py, line"), "{reason}");
}

#[test]
fn numbers_that_cannot_be_learnt_from_are_refused() {
    if is_left_out() {
        return;
    }
    assert!(fault_of("nan").contains("gave NaN at index 0 of the observation on step"));
    assert!(fault_of("nan reward").contains("gave the reward NaN on step"));
    let reason = fault_of("wrong shape");
    assert!(reason.contains("an observation of shape (7,) where the space says (2,)"), "{reason}");
}
