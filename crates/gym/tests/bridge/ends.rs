//! How an environment ends: it is closed, and whatever it started ends with it.

use crate::fixture::{Fixture, started};
use crate::packages::is_left_out;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// Whether the process runs; one that has ended and was not reaped does not.
fn is_alive(process: &str) -> bool {
    let state = fs::read_to_string(format!("/proc/{}/stat", process.trim())).unwrap_or_default();
    state.rsplit_once(") ").is_some_and(|(_, rest)| !rest.starts_with(['Z', 'X']))
}

fn wait_for_end(process: &str) {
    let since = Instant::now();
    while is_alive(process) {
        assert!(since.elapsed() < Duration::from_secs(60), "process {process} outlives its environment");
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn an_environment_is_closed_when_its_world_is_no_longer_needed() {
    if is_left_out() {
        return;
    }
    let fixture = Fixture::new();
    let marks = fixture.path("marks");
    let world = started(&fixture.counter(&format!("event = 'marks its end'\nmarks = '{}'", marks.display())));
    assert!(!marks.exists());
    drop(world);
    assert_eq!(fs::read_to_string(&marks).unwrap(), "closed\n");
}

#[test]
fn what_an_environment_started_ends_with_its_world() {
    if is_left_out() {
        return;
    }
    let fixture = Fixture::new();
    let marks = fixture.path("child");
    let world = started(&fixture.counter(&format!("event = 'child'\nmarks = '{}'", marks.display())));
    let child = child_of(&marks);
    assert!(is_alive(&child));
    drop(world);
    wait_for_end(&child);
}

#[test]
fn what_an_environment_started_ends_when_its_worker_dies() {
    if is_left_out() {
        return;
    }
    let fixture = Fixture::new();
    let marks = fixture.path("child");
    let (mut world, mut frame) = started(&fixture.counter(&format!("event = 'child'\nmarks = '{}'", marks.display())));
    let child = child_of(&marks);
    let stat = fs::read_to_string(format!("/proc/{}/stat", child.trim())).unwrap();
    let worker = stat.rsplit_once(") ").and_then(|(_, rest)| rest.split(' ').nth(1)).expect("its parent").to_owned();
    assert!(std::process::Command::new("kill").args(["-9", &worker]).status().unwrap().success());
    use sane_env::Environment;
    let fault = world.step(sane_env::Action(0), &mut frame).expect_err("the worker is dead");
    assert!(fault.reason.contains("signal 9"), "{}", fault.reason);
    wait_for_end(&child);
}

fn child_of(marks: &Path) -> String {
    fs::read_to_string(marks).expect("the child wrote its number")
}
