//! Suites that decide by their own results: searches by halving, and seeds until agents can be told apart.

mod process;

use process::{TempFolder, fail, sane, succeed};
use std::fs;
use std::process::Command;

const HALVING: &str = "name = 'search'\nbudget = 1200\ngames = ['risky-road']\nagents = ['eps-greedy']\nseeds = [1]\n\
    [set]\ntraining.learning_starts = 100\nrecord.interval = 100\nrecord.checkpoint_interval = 200\n\
    [evaluation]\nnoise = 'none'\n\
    [[search]]\nname = 'rate'\nmethod = 'halving'\npoints = 4\nkeep = 2\nrungs = 3\n\
    over.learner.optimiser.learning_rate = { from = 1e-5, to = 1e-3, scale = 'log' }\n";

fn in_folder(temp: &TempFolder, arguments: &[&str]) -> Command {
    let mut command = sane(arguments);
    command.current_dir(temp.root());
    command
}

fn run(temp: &TempFolder, suite: &str) -> serde_json::Value {
    fs::write(temp.path("suite.toml"), suite).unwrap();
    succeed(&mut in_folder(temp, &["suite", "run", "suite.toml", "--out", "out", "--jobs", "2"]));
    serde_json::from_str(&fs::read_to_string(temp.path("out/rounds.json")).unwrap()).unwrap()
}

#[test]
fn a_search_by_halving_gives_the_best_points_longer_budgets_and_decides_once() {
    let temp = TempFolder::new();
    let rounds = run(&temp, HALVING);
    let kept = |rung: usize| rounds["halvings"][rung]["kept"].as_array().unwrap().clone();
    assert_eq!((kept(0).len(), kept(1).len()), (2, 1));
    let status: serde_json::Value =
        serde_json::from_str(&succeed(&mut in_folder(&temp, &["suite", "status", "out", "--json"]))).unwrap();
    let reached = |run: &serde_json::Value| run["interactions"].as_u64().unwrap();
    let mut budgets: Vec<u64> = status["runs"].as_array().unwrap().iter().map(reached).collect();
    budgets.sort_unstable();
    assert_eq!(budgets, [300, 300, 600, 1200]);

    // The winner has learned what the same settings learn in one go.
    let winner = format!("out/runs/{}/risky-road/eps-greedy/seed-1", kept(1)[0].as_str().unwrap());
    let config = fs::read_to_string(temp.path(&winner).join("config.toml")).unwrap();
    let line = config.lines().find(|line| line.starts_with("learning_rate = ")).unwrap();
    let rate = format!("learner.optimiser.{}", line.replace(' ', ""));
    let mut alone = vec!["train", "risky-road", "--agent", "eps-greedy", "--steps", "1200", "--out", "alone"];
    let settings =
        ["training.learning_starts=100", "record.interval=100", "record.checkpoint_interval=200", rate.as_str()];
    alone.extend(settings.iter().flat_map(|setting| ["--set", setting]));
    succeed(&mut in_folder(&temp, &alone));
    let hash = |folder: &str| succeed(&mut in_folder(&temp, &["runs", "hash", folder]));
    assert_eq!(hash(&winner), hash("alone"));

    assert_eq!(run(&temp, HALVING), rounds);
    assert!(succeed(&mut in_folder(&temp, &["suite", "status", "out"])).contains("rate: rung 2 kept 1 of 2 points"));
}

#[test]
fn seeds_are_added_until_agents_differ_or_the_budget_of_seeds_is_spent() {
    let temp = TempFolder::new();
    let rounds = run(
        &temp,
        "name = 'seeds'\nbudget = 300\ngames = ['risky-road']\nagents = ['eps-greedy', 'ez-greedy']\n\
         seeds = { at_least = 3, at_most = 5, step = 1, until = 'interval of IQM difference excludes 0 or budget' }\n\
         [evaluation]\nnoise = 'none'\n",
    );
    let looks = rounds["seeds"].as_array().unwrap();
    let last = looks.last().unwrap();
    let seeds = last["seeds"].as_u64().unwrap();
    assert_eq!((looks.len() as u64, &last["decided"]), (seeds - 2, &serde_json::Value::Bool(true)), "{rounds}");
    let trained = fs::read_dir(temp.path("out/runs/risky-road/ez-greedy")).unwrap().count() as u64;
    assert_eq!(trained, seeds);
}

#[test]
fn slips_in_searches_and_rules_for_seeds_are_named_with_their_line() {
    let rule =
        "name = 's'\ngames = ['risky-road']\nagents = ['sane']\nseeds = { at_least = 3, at_most = 5, until = 'x' }\n";
    for (suite, said) in [
        (HALVING.replace("points", "pionts"), "unknown field `pionts`"),
        (HALVING.replace("learning_rate", "learning_rat"), "unknown key learner.optimiser.learning_rat"),
        (HALVING.replace("to = 1e-3", "to = 1e-6"), "the range from 0.00001 to 0.000001 is empty"),
        (HALVING.replace("rungs = 3", "metric = 'speed'"), "unknown variant `speed`"),
        (HALVING.replace("rungs = 3", "metric = 'evaluation'"), "an evaluation that this suite does not make"),
        (rule.to_owned(), "unknown variant `x`, expected `interval of IQM difference excludes 0`"),
        (rule.replace("'x'", "'interval of IQM difference excludes 0 or budget'"), "need two agents in risky-road"),
    ] {
        let temp = TempFolder::new();
        fs::write(temp.path("suite.toml"), &suite).unwrap();
        let error = fail(&mut in_folder(&temp, &["suite", "run", "suite.toml"]), 2);
        assert!(error.contains("suite.toml:") && error.contains(said), "{error}\nexpected: {said}");
    }
}
