//! `sane train` and `sane runs` as processes: a run killed at any moment and resumed equals the run that was never interrupted,
//! byte for byte; what a run folder refuses; that each of the four agents learns.

mod process;

use process::{TempFolder, check, digest, fail, sane, small_run, stderr, succeed, wait_until};
use sane_env::Stream;
use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

/// An evaluation every few hundred interactions.
const EVALUATED: [&str; 2] = ["--set", "training.evaluate_every=450"];

/// How often each run is killed.
const KILLS: u32 = 10;

fn check_killed_runs_repeat(agent: &str) {
    let temp = TempFolder::new();
    let (straight, killed) = (temp.path("straight"), temp.path("killed"));
    succeed(small_run(agent, &straight, &["--threads", "1"]).args(EVALUATED));
    let unevaluated = temp.path("unevaluated");
    succeed(&mut small_run(agent, &unevaluated, &["--threads", "2"]));
    assert_eq!(digest(&straight), digest(&unevaluated), "{agent}: evaluations changed what was learned");
    let kills = run_with_kills(agent, &killed);
    assert!(KILLS <= kills, "{agent}: the run ended after {kills} kills");
    assert_eq!(digest(&straight), digest(&killed), "{agent}: the state differs");
    let events = |run: &Path| fs::read(run.join("events.jsonl")).unwrap();
    assert!(events(&straight) == events(&unevaluated), "{agent}: evaluations changed the events");
    let checked = succeed(sane(&["runs", "check"]).arg(&killed));
    assert!(checked.contains("best-") && !checked.contains("damaged"), "{checked}");
    for file in ["events.jsonl", "evaluations_in_training.jsonl", "config.toml"] {
        let (one, other) = (fs::read(straight.join(file)).unwrap(), fs::read(killed.join(file)).unwrap());
        assert!(one == other, "{agent}: {file} differs");
    }
    let board = |run: &Path| fs::metadata(run.join("tensorboard/events.out.tfevents.sane")).unwrap().len();
    assert_eq!(board(&straight), board(&killed), "{agent}: the TensorBoard files differ in length");
}

/// Kills the run after a random time and resumes it, until it has been killed often enough; the number of kills.
fn run_with_kills(agent: &str, folder: &Path) -> u32 {
    let mut times = Stream::named(1, agent);
    for kills in 0.. {
        // Results do not depend on the number of threads, also when it changes between processes.
        let threads = if kills % 2 == 0 { "1" } else { "2" };
        let mut process =
            small_run(agent, folder, &["--threads", threads]).args(EVALUATED).stderr(Stdio::inherit()).spawn().unwrap();
        if kills < KILLS {
            sleep(Duration::from_millis(5 + times.below(60)));
            process.kill().unwrap();
        }
        let status = process.wait().unwrap();
        if status.success() {
            return kills;
        }
        assert!(kills < KILLS, "{agent}: the last process failed");
    }
    unreachable!("the loop ends with a successful process")
}

#[test]
fn eps_greedy_repeats_bit_for_bit_through_ten_kills() {
    check_killed_runs_repeat("eps-greedy");
}

#[test]
fn noisynet_repeats_bit_for_bit_through_ten_kills() {
    check_killed_runs_repeat("noisynet");
}

#[test]
fn sane_repeats_bit_for_bit_through_ten_kills() {
    check_killed_runs_repeat("sane");
}

#[test]
fn q_sane_repeats_bit_for_bit_through_ten_kills() {
    check_killed_runs_repeat("q-sane");
}

#[test]
fn a_run_made_longer_later_equals_one_that_was_long_from_the_start() {
    let temp = TempFolder::new();
    let (at_once, in_steps) = (temp.path("at-once"), temp.path("in-steps"));
    succeed(&mut small_run("sane", &at_once, &["--set", "record.checkpoint_interval=1000000"]));
    // The last of two equal settings counts.
    succeed(&mut small_run("sane", &in_steps, &["--set", "training.total_interactions=1234"]));
    let shorter = fs::read(in_steps.join("events.jsonl")).unwrap();
    succeed(&mut small_run("sane", &in_steps, &[]));
    assert_eq!(digest(&at_once), digest(&in_steps));
    let events = |run: &Path| fs::read(run.join("events.jsonl")).unwrap();
    assert!(events(&at_once) == events(&in_steps) && shorter.len() < events(&at_once).len());
}

const LONG: [&str; 2] = ["--set", "training.total_interactions=100000000"];

/// Starts a run that would take hours and waits until it has a checkpoint.
fn start_long_run(folder: &Path) -> Child {
    let run = small_run("sane", folder, &LONG);
    // The tests themselves may run without a terminal to lose, with SIGHUP ignored, which a child would inherit.
    let mut command = Command::new("env");
    command.arg("--default-signal=HUP").arg(run.get_program()).args(run.get_args());
    let child = command.stderr(Stdio::piped()).stdout(Stdio::null()).spawn().unwrap();
    let has_checkpoint = || fs::read_dir(folder.join("checkpoints")).is_ok_and(|files| 2 < files.count());
    wait_until("a checkpoint", has_checkpoint);
    child
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args([name, &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
}

#[test]
fn control_c_sigterm_and_a_closed_terminal_save_a_checkpoint_exit_with_0_and_the_run_can_be_resumed() {
    let temp = TempFolder::new();
    for name in ["-INT", "-TERM", "-HUP"] {
        let folder = temp.path(name);
        let mut child = start_long_run(&folder);
        signal(&child, name);
        assert!(child.wait().unwrap().success(), "{name} did not end the run with exit code 0");
        let timings = fs::read_to_string(folder.join("timings.jsonl")).unwrap();
        assert!(timings.contains("\"reason\":\"asked\""), "{timings}");
        assert!(succeed(sane(&["runs", "show"]).arg(&folder)).contains("unfinished"));
        // Resumed from the saved state, the run ends as one that was never interrupted.
        let stopped_at: u64 = digest(&folder).split_whitespace().nth(2).unwrap().parse().unwrap();
        let total = format!("training.total_interactions={}", stopped_at + 200);
        succeed(&mut small_run("sane", &folder, &["--set", &total]));
        let straight = temp.path(&format!("{name}-straight"));
        succeed(&mut small_run("sane", &straight, &["--set", &total]));
        assert_eq!(digest(&folder), digest(&straight));
    }
}

#[test]
fn agents_that_keep_a_head_a_draw_or_a_posterior_resume_bit_for_bit_within_an_episode_and_between_refits() {
    let temp = TempFolder::new();
    for agent in ["bootstrapped", "bayes-head", "langevin"] {
        let run = |folder: &Path, interactions: u32| {
            let total = format!("training.total_interactions={interactions}");
            succeed(&mut small_run(agent, folder, &["--set", "training.target_period=70", "--set", &total]));
        };
        let [resumed, straight] = ["resumed", "straight"].map(|name| temp.path(&format!("{agent}-{name}")));
        // No multiples of the target period, so that a checkpoint lies between two refits.
        [233, 311, 400].into_iter().for_each(|interactions| run(&resumed, interactions));
        run(&straight, 400);
        assert_eq!(digest(&resumed), digest(&straight), "{agent}");
    }
}

#[test]
fn a_finished_run_ends_with_its_curve_a_film_and_the_next_commands() {
    let temp = TempFolder::new();
    let folder = temp.path("run");
    let mut command = small_run("eps-greedy", &folder, &["--film", "--set", "training.total_interactions=1200"]);
    // Without --quiet, the first argument.
    let arguments: Vec<_> = command.get_args().skip(1).map(ToOwned::to_owned).collect();
    command = sane(&[]);
    let output = check(command.args(arguments).args(EVALUATED), 0, "next:");
    let text = stderr(&output);
    let name = folder.display();
    for expected in [
        format!("sane eval {name}"),
        format!("sane play {name}"),
        format!("sane report {name}"),
        "evaluated without noise".into(),
        "film.gif".into(),
    ] {
        assert!(text.contains(&expected), "{expected}\n{text}");
    }
    assert!(text.lines().any(|line| line.chars().any(|c| ('\u{2801}'..='\u{28ff}').contains(&c))), "{text}");
    assert!(fs::read(folder.join("film.gif")).unwrap().starts_with(b"GIF89a"));
    let quiet = temp.path("quiet");
    let output = check(&mut small_run("eps-greedy", &quiet, &["--set", "training.total_interactions=300"]), 0, "");
    assert!(stderr(&output).is_empty() && !quiet.join("film.gif").exists());
}

#[test]
fn a_second_process_in_the_same_folder_is_refused() {
    let temp = TempFolder::new();
    let folder = temp.path("locked");
    let mut first = start_long_run(&folder);
    let text = fail(&mut small_run("sane", &folder, &LONG), 1);
    first.kill().unwrap();
    first.wait().unwrap();
    assert!(text.contains(&format!("in use by process {}", first.id())), "{text}");
}

#[test]
fn a_folder_of_another_agent_world_or_setting_is_refused_by_the_keys_that_differ() {
    let temp = TempFolder::new();
    let folder = temp.path("taken");
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
fn a_fresh_start_renames_the_old_run() {
    let temp = TempFolder::new();
    let folder = temp.path("again");
    let short = ["--set", "training.total_interactions=600"];
    succeed(&mut small_run("noisynet", &folder, &short));
    let before = digest(&folder);
    succeed(small_run("noisynet", &folder, &short).arg("--fresh"));
    assert_eq!(before, digest(&folder), "the same settings give the same run");
    assert_eq!(before, digest(&temp.path("again.old-1")), "the old run is complete");
    let listed = succeed(sane(&["runs", "list", "--json"]).arg(folder.parent().unwrap()));
    assert_eq!(listed.matches("\"interactions\": 600").count(), 2, "{listed}");
    succeed(sane(&["runs", "prune", "--yes"]).arg(folder.parent().unwrap()));
    assert!(folder.exists() && !temp.path("again.old-1").exists());
}

#[test]
fn a_folder_that_cannot_be_written_is_named() {
    let temp = TempFolder::new();
    fs::write(temp.path("file"), "").unwrap();
    let text = fail(&mut small_run("sane", &temp.path("file/below"), &[]), 1);
    assert!(text.contains("file/below"), "{text}");
}

#[test]
fn a_folder_without_a_run_and_a_run_without_a_checkpoint_get_different_errors() {
    let temp = TempFolder::new();
    fs::create_dir(temp.path("empty")).unwrap();
    assert!(fail(sane(&["runs", "hash"]).arg(temp.path("empty")), 1).contains("is not a run folder"));
    succeed(&mut small_run("sane", &temp.path("run"), &["--set", "training.total_interactions=300"]));
    fs::remove_dir_all(temp.path("run").join("checkpoints")).unwrap();
    assert!(fail(sane(&["runs", "hash"]).arg(temp.path("run")), 1).contains("no checkpoint yet"));
}

#[test]
fn a_truncated_event_file_is_refused_and_nothing_is_lost() {
    let temp = TempFolder::new();
    let folder = temp.path("cut");
    succeed(&mut small_run("sane", &folder, &["--set", "training.total_interactions=600"]));
    fs::write(folder.join("events.jsonl"), "{}\n").unwrap();
    let text = fail(&mut small_run("sane", &folder, &[]), 1);
    assert!(text.contains("events.jsonl has 3 bytes"), "{text}");
    assert!(!digest(&folder).is_empty());
}

/// A tiny deep sea, whose only reward is four right decisions away: random play finds it once in 16 episodes, a mean return
/// of about 0.06.
const LEARNED: f64 = 0.7;

fn check_learns(agent: &str) {
    let temp = TempFolder::new();
    let folder = temp.path(agent);
    let text = succeed(
        sane(&["--quiet", "train", "deep-sea/4", "--agent", agent, "--steps", "6000", "--threads", "1", "--json"])
            .args(["--set", "learner.network.hidden=[32]", "--set", "training.learning_starts=400"])
            .arg("--out")
            .arg(&folder),
    );
    let last = text.lines().last().expect("a run ends with an event");
    let record: serde_json::Value = serde_json::from_str(last).expect("JSON");
    let mean = record["return_mean_last_100"].as_f64().expect("a mean return");
    assert!(LEARNED < mean, "{agent} reached {mean}, less than {LEARNED}");
}

#[test]
fn eps_greedy_finds_the_treasure() {
    check_learns("eps-greedy");
}

#[test]
fn noisynet_finds_the_treasure() {
    check_learns("noisynet");
}

#[test]
fn sane_finds_the_treasure() {
    check_learns("sane");
}

#[test]
fn q_sane_finds_the_treasure() {
    check_learns("q-sane");
}
