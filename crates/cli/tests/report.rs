//! `sane report` as a process: the files it writes, what it prints, how it exits.

mod process;
#[path = "../../report/tests/support/mod.rs"]
mod support;

use process::{check, sane};
use sane_record::{Event, JsonlFile};
use std::fs;
use std::path::Path;
use std::process::Command;
use support::SyntheticRun;

fn report(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = sane(&["report"]);
    command.current_dir(folder).args(arguments);
    command
}

fn write_runs(root: &Path) {
    for (agent, score) in [("q-sane", 80.0), ("noisynet", 60.0)] {
        for seed in 1..=2 {
            SyntheticRun::small("boxing", agent, seed, score + seed as f64).write(&root.join("runs"));
        }
    }
}

#[test]
fn a_report_is_a_page_tables_numbers_and_figures() {
    let root = tempfile::tempdir().unwrap();
    write_runs(root.path());
    let output =
        check(&mut report(root.path(), &["runs", "-o", "out"]), 0, "1 world, 2 agents; seeds per world and agent: 2.");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "out/index.html\n");
    let expected = [
        "index.html",
        "tables.md",
        "tables.tex",
        "scores.csv",
        "aggregates.csv",
        "improvement.csv",
        "curves.csv",
        "runs.csv",
        "figures/learning-curve-grid.svg",
        "figures/learning-curve-grid.png",
        "figures/improvement-noise-off.svg",
        "checklist.md",
    ];
    for name in expected {
        let bytes = fs::read(root.path().join("out").join(name)).unwrap_or_else(|error| panic!("{name}: {error}"));
        assert!(!bytes.is_empty(), "{name}");
    }
    let page = fs::read_to_string(root.path().join("out/index.html")).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("81.5 ± 0.7"));
}

#[test]
fn json_holds_the_numbers_for_scripts() {
    let root = tempfile::tempdir().unwrap();
    write_runs(root.path());
    let output = check(&mut report(root.path(), &["runs", "--json"]), 0, "");
    let numbers: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let scores = numbers["scores"].as_array().unwrap();
    let score = |agent: &str| {
        let wanted = |row: &&serde_json::Value| row["agent"] == agent && row["measure"] == "noise-off";
        scores.iter().find(wanted).unwrap()["mean"].as_f64().unwrap()
    };
    assert_eq!((score("q-sane"), score("noisynet")), (81.5, 61.5));
    assert_eq!(numbers["runs"].as_array().unwrap().len(), 4);
    assert!(root.path().join("report/index.html").exists());
}

#[test]
fn a_missing_folder_is_wrong_usage() {
    let root = tempfile::tempdir().unwrap();
    check(&mut report(root.path(), &["rusn"]), 2, "rusn is not a folder");
    check(&mut report(root.path(), &[]), 2, "DIR");
}

#[test]
fn folders_without_runs_fail_with_what_was_expected() {
    let root = tempfile::tempdir().unwrap();
    fs::create_dir_all(root.path().join("runs/boxing")).unwrap();
    check(&mut report(root.path(), &["runs"]), 1, "no run below runs: expected folders with config.toml");
    assert!(!root.path().join("report").exists());
}

#[test]
fn a_corrupt_run_is_set_aside_and_only_corrupt_runs_are_an_error() {
    let root = tempfile::tempdir().unwrap();
    write_runs(root.path());
    let corrupt = |run: &str| {
        let events = root.path().join("runs/boxing").join(run).join("events.jsonl");
        let text = fs::read_to_string(&events).unwrap();
        fs::write(&events, text.replacen("{\"event\"", "{event", 1)).unwrap();
    };
    corrupt("q-sane/seed-2");
    check(&mut report(root.path(), &["runs"]), 0, "set aside: runs/boxing/q-sane/seed-2");
    let page = fs::read_to_string(root.path().join("report/index.html")).unwrap();
    assert!(page.contains("Set aside") && page.contains("events.jsonl, line 1"));
    ["q-sane/seed-1", "noisynet/seed-1", "noisynet/seed-2"].into_iter().for_each(corrupt);
    check(&mut report(root.path(), &["runs"]), 1, "no run that was found can be used (4 in all)");
}

#[test]
fn a_run_with_any_damaged_part_is_set_aside_with_one_line() {
    let root = tempfile::tempdir().unwrap();
    SyntheticRun::small("boxing", "sane", 1, 50.0).write(&root.path().join("runs"));
    let damages = [
        ("config.toml", "seed = "),
        ("origin.toml", "preset = 3"),
        ("events.jsonl", "no record\n{}\n"),
        ("evaluations.jsonl", "no record\n"),
        ("evaluations_in_training.jsonl", "no record\n"),
        ("timings.jsonl", "no record\n"),
    ];
    for (i, (name, text)) in damages.iter().enumerate() {
        let folder = SyntheticRun::small("boxing", "q-sane", 1 + i as u64, 50.0).write(&root.path().join("runs"));
        fs::write(folder.join(name), text).unwrap();
    }
    let output = check(&mut report(root.path(), &["runs"]), 0, "");
    let said = String::from_utf8_lossy(&output.stderr);
    for (name, _) in damages {
        let lines = said.lines().filter(|line| line.contains("set aside") && line.contains(name)).count();
        assert_eq!(lines, 1, "{name}: {said}");
    }
}

#[test]
fn the_paper_s_tables_are_shown_in_full_on_request() {
    let root = tempfile::tempdir().unwrap();
    write_runs(root.path());
    let table = |arguments: &[&str]| {
        check(&mut report(root.path(), arguments), 0, "");
        fs::read_to_string(root.path().join("report/tables.md")).unwrap()
    };
    assert!(!table(&["runs"]).contains("asterix"));
    let paper = table(&["runs", "--paper"]);
    assert!(paper.contains("| asterix | not run |") && paper.contains("q-sane, paper"), "{paper}");
}

#[test]
fn a_file_in_the_way_of_the_report_is_named() {
    let root = tempfile::tempdir().unwrap();
    write_runs(root.path());
    fs::write(root.path().join("out"), "in the way").unwrap();
    check(&mut report(root.path(), &["runs", "-o", "out"]), 1, "cannot create out");
}

#[test]
fn evaluations_of_an_earlier_checkpoint_are_asked_for_with_at() {
    let root = tempfile::tempdir().unwrap();
    let synthetic = SyntheticRun::small("boxing", "sane", 1, 50.0);
    let folder = synthetic.write(&root.path().join("runs"));
    let mut early = synthetic.evaluation("off", 20.0);
    early.trained_interactions = 10_000;
    let mut file = JsonlFile::append(folder.join("evaluations.jsonl")).unwrap();
    file.write(&Event::EvaluationFinished(early)).unwrap();
    file.flush().unwrap();
    let output = check(
        &mut report(root.path(), &["runs", "--paper", "--at", "10000", "--json"]),
        0,
        "These policies had 10,000 interactions of training",
    );
    let numbers: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(numbers["scores"][0]["mean"], 20.0);
}

fn frontier(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = sane(&["frontier"]);
    command.current_dir(folder).args(arguments);
    command
}

#[test]
fn a_frontier_has_a_curve_per_agent_and_a_point_per_value_of_its_knob() {
    let root = tempfile::tempdir().unwrap();
    for (i, value) in ["0.02", "0.2"].iter().enumerate() {
        let folder = root.path().join(format!("runs/epsilon-{i}/seed-1"));
        SyntheticRun::small("boxing", "eps-greedy", 1, 40.0).write_to(&folder);
        let config = fs::read_to_string(folder.join("config.toml")).unwrap();
        fs::write(folder.join("config.toml"), config.replace("last = 0.1", &format!("last = {value}"))).unwrap();
    }
    let unfinished = SyntheticRun { reached: 5_000, ..SyntheticRun::small("boxing", "sane", 1, 40.0) };
    unfinished.write(&root.path().join("runs"));
    let output = check(&mut frontier(root.path(), &["runs", "-o", "out"]), 0, "it has reached 5000 of its 20000");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "out/index.html\n");
    for name in ["frontier.md", "frontier.json", "frontier-runs.csv", "frontier-boxing.svg", "frontier-boxing.png"] {
        assert!(root.path().join("out").join(name).exists(), "{name}");
    }
    let points = fs::read_to_string(root.path().join("out/frontier.csv")).unwrap();
    let values: Vec<&str> = points.lines().skip(1).map(|line| line.split(',').nth(3).unwrap()).collect();
    assert_eq!(values, ["0.02", "0.2"], "{points}");
}

#[test]
fn a_seed_in_two_folders_is_one_seed_of_the_frontier_and_another_budget_is_no_seed() {
    let root = tempfile::tempdir().unwrap();
    let run = SyntheticRun::small("boxing", "sane", 1, 40.0);
    ["a", "b"].iter().for_each(|name| run.write_to(&root.path().join("runs").join(name)));
    SyntheticRun { budget: 10_000, reached: 10_000, ..run }.write_to(&root.path().join("runs/short"));
    let aside = "set aside: runs/b: repeats runs/a: same world, agent, settings and seed";
    let output = check(&mut frontier(root.path(), &["runs", "-o", "out", "--json"]), 0, aside);
    let numbers: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let of_points = |key: &str| [&numbers["points"][0][key], &numbers["points"][1][key]].map(Clone::clone);
    assert_eq!(of_points("seeds"), [1, 1]);
    let section = |budget: u64| format!("training.total_interactions = {budget}");
    assert_eq!(of_points("section"), [section(20_000), section(10_000)]);
    assert!(numbers["set_aside"][0]["folder"] == "runs/b" && numbers["set_aside"][1].is_null(), "{numbers}");
}

#[test]
fn a_frontier_of_nothing_is_refused_with_what_is_missing() {
    let root = tempfile::tempdir().unwrap();
    check(&mut frontier(root.path(), &["suites/none.toml"]), 2, "is neither a suite file nor a folder");
    fs::create_dir(root.path().join("empty")).unwrap();
    check(&mut frontier(root.path(), &["empty"]), 1, "no run below empty");
    check(&mut frontier(root.path(), &["empty", "--last", "0"]), 2, "expected a share above 0 and at most 1");
    SyntheticRun { reached: 5_000, ..SyntheticRun::small("boxing", "sane", 1, 40.0) }.write(&root.path().join("runs"));
    check(&mut frontier(root.path(), &["runs"]), 1, "no run that was found can be used");
}

#[test]
fn a_run_whose_last_interval_is_shorter_than_the_others_is_on_the_frontier() {
    let root = tempfile::tempdir().unwrap();
    let run = |steps: &str, interval: &str, out: &str| {
        let mut train = sane(&["train", "risky-road", "--agent", "eps-greedy", "--steps", steps, "--out", out]);
        train.args(["--set", interval]).current_dir(root.path());
        check(&mut train, 0, "");
    };
    run("1500", "record.interval=1000", "runs/cut");
    check(&mut frontier(root.path(), &["runs/cut", "-o", "out"]), 0, "");
    let table = fs::read_to_string(root.path().join("out/frontier-runs.csv")).unwrap();
    let named = |name: &str| {
        let column = table.lines().next().unwrap().split(',').position(|column| column == name).unwrap();
        table.lines().nth(1).unwrap().split(',').nth(column).unwrap().to_owned()
    };
    assert_eq!(named("interactions"), "750", "{table}");
    assert!(0.0 < named("changed_share").parse::<f64>().unwrap(), "{table}");
    run("500", "record.interval=1000", "short/run");
    let reason = "no share of exploratory actions after interaction 250; a smaller record.interval";
    check(&mut frontier(root.path(), &["short"]), 1, reason);
}
