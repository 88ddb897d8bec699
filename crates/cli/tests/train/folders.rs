//! Run folders: who may write where, what an old run is spared, how a run is stopped.

use crate::command::{Place, digest, fail, sane, small_run, succeed};
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

const LONG: [&str; 2] = ["--set", "training.total_interactions=100000000"];

/// Starts a run that would take hours and waits until it has a checkpoint.
fn start_long_run(folder: &Path) -> Child {
    let child = small_run("sane", folder, &LONG).stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let start = Instant::now();
    let has_checkpoint = || fs::read_dir(folder.join("checkpoints")).is_ok_and(|files| 2 < files.count());
    while !has_checkpoint() {
        assert!(start.elapsed() < Duration::from_secs(60), "no checkpoint after a minute");
        sleep(Duration::from_millis(20));
    }
    child
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args([name, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

#[test]
fn control_c_and_sigterm_save_and_exit_well_and_the_run_goes_on() {
    let place = Place::new();
    for name in ["-INT", "-TERM"] {
        let folder = place.run(name);
        let mut child = start_long_run(&folder);
        signal(&child, name);
        assert!(child.wait().unwrap().success(), "{name} did not end the run well");
        let timings = fs::read_to_string(folder.join("timings.jsonl")).unwrap();
        assert!(timings.contains("\"reason\":\"asked\""), "{timings}");
        assert!(succeed(sane(&["runs", "show"]).arg(&folder)).contains("unfinished"));
        // The saved state is one that the run passes through: going on from it gives what an uninterrupted run gives.
        let stopped_at: u64 = digest(&folder).split_whitespace().nth(2).unwrap().parse().unwrap();
        let total = format!("training.total_interactions={}", stopped_at + 200);
        succeed(&mut small_run("sane", &folder, &["--set", &total]));
        let straight = place.run(&format!("{name}-straight"));
        succeed(&mut small_run("sane", &straight, &["--set", &total]));
        assert_eq!(digest(&folder), digest(&straight));
    }
}

#[test]
fn a_second_process_in_the_same_folder_is_refused() {
    let place = Place::new();
    let folder = place.run("locked");
    let mut first = start_long_run(&folder);
    let text = fail(&mut small_run("sane", &folder, &LONG), 1);
    first.kill().unwrap();
    first.wait().unwrap();
    assert!(text.contains(&format!("in use by process {}", first.id())), "{text}");
}

#[test]
fn a_folder_of_another_agent_world_or_setting_is_refused_by_the_keys_that_differ() {
    let place = Place::new();
    let folder = place.run("taken");
    succeed(&mut small_run("eps-greedy", &folder, &["--set", "training.total_interactions=300"]));
    let before = fs::read(folder.join("events.jsonl")).unwrap();
    let other_agent = fail(&mut small_run("sane", &folder, &[]), 2);
    assert!(other_agent.contains("agent is \"eps-greedy\" there, \"sane\" here"), "{other_agent}");
    let other_world = fail(sane(&["train", "minatar/asterix", "--agent", "eps-greedy", "--out"]).arg(&folder), 2);
    assert!(other_world.contains("world.name is \"minatar/breakout\" there"), "{other_world}");
    let other_rate = fail(&mut small_run("eps-greedy", &folder, &["--set", "learner.optimiser.learning_rate=1"]), 2);
    assert!(other_rate.contains("learner.optimiser.learning_rate"), "{other_rate}");
    assert!(before == fs::read(folder.join("events.jsonl")).unwrap(), "a refused run changed the old one");
}

#[test]
fn a_fresh_start_keeps_the_old_run_aside() {
    let place = Place::new();
    let folder = place.run("again");
    let short = ["--set", "training.total_interactions=600"];
    succeed(&mut small_run("noisynet", &folder, &short));
    let before = digest(&folder);
    succeed(small_run("noisynet", &folder, &short).arg("--fresh"));
    assert_eq!(before, digest(&folder), "the same settings give the same run");
    assert_eq!(before, digest(&place.run("again.old-1")), "the old run is whole");
    let listed = succeed(sane(&["runs", "list", "--json"]).arg(folder.parent().unwrap()));
    assert_eq!(listed.matches("\"interactions\": 600").count(), 2, "{listed}");
    succeed(sane(&["runs", "prune", "--yes"]).arg(folder.parent().unwrap()));
    assert!(folder.exists() && !place.run("again.old-1").exists());
}

#[test]
fn a_place_that_cannot_be_written_is_named() {
    let place = Place::new();
    fs::write(place.run("file"), "").unwrap();
    let text = fail(&mut small_run("sane", &place.run("file/below"), &[]), 1);
    assert!(text.contains("file/below"), "{text}");
}

#[test]
fn a_folder_without_a_run_and_a_run_without_a_checkpoint_are_told_apart() {
    let place = Place::new();
    fs::create_dir(place.run("empty")).unwrap();
    assert!(fail(sane(&["runs", "hash"]).arg(place.run("empty")), 1).contains("is not a run folder"));
    succeed(&mut small_run("sane", &place.run("run"), &["--set", "training.total_interactions=300"]));
    fs::remove_dir_all(place.run("run").join("checkpoints")).unwrap();
    assert!(fail(sane(&["runs", "hash"]).arg(place.run("run")), 1).contains("no checkpoint yet"));
}

#[test]
fn a_shortened_event_file_is_refused_and_nothing_is_lost() {
    let place = Place::new();
    let folder = place.run("cut");
    succeed(&mut small_run("sane", &folder, &["--set", "training.total_interactions=600"]));
    fs::write(folder.join("events.jsonl"), "{}\n").unwrap();
    let text = fail(&mut small_run("sane", &folder, &[]), 1);
    assert!(text.contains("events.jsonl has 3 bytes"), "{text}");
    assert!(!digest(&folder).is_empty());
}
