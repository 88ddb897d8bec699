//! `sane eval` and `sane export` as processes: results do not depend on threads, starts are paired, and the exported policy
//! is the evaluated one.

mod process;

use process::{TempFolder, fail, sane, small_run, stderr, succeed, wait_until};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::Duration;

fn trained(temp: &TempFolder, agent: &str) -> PathBuf {
    let folder = temp.path(agent);
    succeed(&mut small_run(agent, &folder, &["--set", "training.total_interactions=900"]));
    folder
}

fn evaluate(run: &Path, more: &[&str]) -> Vec<Value> {
    let text = succeed(sane(&["-q", "eval", "--interactions", "400", "--json"]).args(more).arg(run));
    serde_json::from_str(&text).expect("a list of results")
}

#[test]
fn results_do_not_depend_on_the_number_of_threads() {
    let temp = TempFolder::new();
    let run = trained(&temp, "sane");
    let one_thread = evaluate(&run, &["--threads", "1"]);
    assert_eq!(one_thread, evaluate(&run, &["--threads", "3"]));
    assert_eq!(one_thread.iter().map(|result| &result["noise"]).collect::<Vec<_>>(), ["off", "on"]);
    let recorded = fs::read_to_string(run.join("evaluations.jsonl")).unwrap();
    assert_eq!(recorded.lines().count(), 4, "{recorded}");
}

#[test]
fn episodes_are_whole_and_fill_the_interactions_asked_for() {
    let temp = TempFolder::new();
    let result = &evaluate(&trained(&temp, "noisynet"), &["--noise", "on"])[0];
    let lengths: Vec<u64> = serde_json::from_value(result["lengths_interactions"].clone()).unwrap();
    let played: u64 = lengths.iter().sum();
    assert_eq!(result["interactions"], played);
    assert!(400 <= played && played - lengths.last().unwrap() < 400, "{lengths:?}");
}

#[test]
fn an_agent_without_noise_is_measured_once() {
    let temp = TempFolder::new();
    let results = evaluate(&trained(&temp, "eps-greedy"), &["--noise", "both"]);
    assert_eq!(results.len(), 1);
    assert_eq!(results[0]["noise"], "off");
}

#[test]
fn policy_and_states_are_written_and_a_missing_checkpoint_is_named() {
    let temp = TempFolder::new();
    let run = trained(&temp, "q-sane");
    let (policy, states) = (temp.path("policy.safetensors"), temp.path("states.safetensors"));
    succeed(sane(&["-q", "export"]).arg(&run).arg("-o").arg(&policy));
    succeed(sane(&["-q", "eval"]).arg(&run).args(["--dump-states", "7", "-o"]).arg(&states));
    let bytes = fs::read(&states).unwrap();
    let tensors = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    assert_eq!(tensors.tensor("observations").unwrap().shape(), [7, 4, 10, 10]);
    assert_eq!(tensors.tensor("q").unwrap().shape(), [7, 6]);
    assert_eq!(tensors.tensor("sigma").unwrap().shape(), [7, 1]);
    let bytes = fs::read(&policy).unwrap();
    let tensors = safetensors::SafeTensors::deserialize(&bytes).unwrap();
    assert_eq!(tensors.tensor("conv1.weight").unwrap().shape(), [4, 4, 3, 3]);
    let text = fail(sane(&["eval", "--checkpoint", "5"]).arg(&run), 1);
    assert!(text.contains('5') && text.contains("900"), "{text}");
}

#[test]
fn the_best_policy_of_training_is_evaluated_and_a_run_without_one_says_so() {
    let temp = TempFolder::new();
    let run = temp.path("evaluated");
    let evaluated = ["--set", "training.total_interactions=900", "--set", "training.evaluate_every=200"];
    succeed(&mut small_run("sane", &run, &evaluated));
    let lines = fs::read_to_string(run.join("evaluations_in_training.jsonl")).unwrap();
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let best = lines.iter().rev().find(|line| line["best"] == true).unwrap();
    let result = &evaluate(&run, &["--checkpoint", "best", "--noise", "off"])[0];
    assert_eq!(result["trained_interactions"], best["interactions"]);
    succeed(sane(&["-q", "export", "--checkpoint", "best"]).arg(&run).arg("-o").arg(temp.path("best.safetensors")));
    let text = fail(sane(&["runs", "hash", "--checkpoint", "best"]).arg(&run), 2);
    assert!(text.contains("holds the policy without its replay"), "{text}");
    let text = fail(sane(&["eval", "--checkpoint", "bets"]).arg(&run), 2);
    assert!(text.contains("expected a number of interactions, or best; found bets"), "{text}");
    let text = fail(sane(&["eval", "--checkpoint", "best"]).arg(trained(&temp, "noisynet")), 1);
    assert!(text.contains("has no best checkpoint"), "{text}");
}

#[test]
fn without_a_length_an_evaluation_is_as_long_as_suits_the_run() {
    let temp = TempFolder::new();
    let text = succeed(sane(&["-q", "eval", "--noise", "off", "--json"]).arg(trained(&temp, "eps-greedy")));
    let results: Vec<Value> = serde_json::from_str(&text).unwrap();
    let played = results[0]["interactions"].as_u64().unwrap();
    assert!((2_000..4_000).contains(&played), "{played}");
}

#[test]
fn what_was_measured_until_ctrl_c_is_kept_and_marked_partial() {
    let temp = TempFolder::new();
    let run = trained(&temp, "eps-greedy");
    // On a busy machine no episode may be whole at the first tries.
    for wait in [100, 400, 1_600, 6_400, 25_600] {
        let mut command = sane(&["eval", "--interactions", "1000000000", "--json"]);
        let child = command.arg(&run).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        wait_until("the evaluation", || run.join("evaluating").exists());
        sleep(Duration::from_millis(wait));
        let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
        assert!(sent.success());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
        let results: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
        if let Some(result) = results.first() {
            assert_eq!((&result["partial"], &result["cut_episodes"]), (&Value::from(true), &Value::from(0)));
            let recorded = fs::read_to_string(run.join("evaluations.jsonl")).unwrap();
            assert!(recorded.contains("\"partial\":true") && recorded.lines().count() == 1, "{recorded}");
            return;
        }
    }
    panic!("no evaluation had a whole episode");
}

#[test]
fn events_stream_as_json_exactly_as_they_are_written() {
    let temp = TempFolder::new();
    let folder = temp.path("stream");
    let text = succeed(small_run("sane", &folder, &["--set", "training.total_interactions=800"]).arg("--json"));
    assert_eq!(text, fs::read_to_string(folder.join("events.jsonl")).unwrap());
}
