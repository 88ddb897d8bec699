//! What a user types every day, as processes: counts as people write them, names of other programs, where settings come from,
//! listing and exporting runs, completions and manual pages.

mod process;

use process::{TempFolder, check, digest, fail, sane, small_run, stderr, succeed};
use sane_record::RunOrigin;
use serde_json::Value;
use std::fs;
use std::path::Path;

const SHORT: [&str; 2] = ["--set", "training.total_interactions=400"];

fn origin(run: &Path) -> RunOrigin {
    RunOrigin::read(run).expect("it can be read").expect("a run has one")
}

#[test]
fn a_run_records_its_preset_its_command_and_what_was_chosen_against_the_preset_once() {
    let temp = TempFolder::new();
    let file = temp.path("my.toml");
    // A value that is the preset's is not chosen.
    fs::write(&file, "[learner]\ngamma = 0.5\ndouble_q = false\n").unwrap();
    let folder = temp.path("run");
    let more = ["--steps", "1_200", "--seed", "3", "--config", file.to_str().unwrap()];
    succeed(&mut small_run("sane", &folder, &more));
    let first = origin(&folder);
    assert_eq!(first.preset, "minatar");
    assert_eq!(first.command[1..4], ["--quiet", "train", "minatar/breakout"]);
    let chosen: Vec<(&str, &str)> = first.chosen.iter().map(|(key, origin)| (key.as_str(), origin.as_str())).collect();
    for expected in
        [("learner.gamma", "file"), ("replay.capacity", "--set"), ("training.total_interactions", "--steps")]
    {
        assert!(chosen.contains(&expected), "{expected:?} is not in {chosen:?}");
    }
    for never in ["agent", "seed", "world.name", "learner.double_q"] {
        assert!(!first.chosen.contains_key(never), "{never}");
    }
    // A resumed run keeps the record of how it began, and its state does not depend on it.
    let before = digest(&folder);
    succeed(&mut small_run("sane", &folder, &[&more[..], &["--threads", "1"]].concat()));
    assert_eq!(origin(&folder), first);
    fs::remove_file(folder.join("origin.toml")).unwrap();
    assert_eq!(digest(&folder), before);
}

#[test]
fn what_a_suite_sets_has_the_suite_as_its_origin() {
    let temp = TempFolder::new();
    let file = temp.path("s.toml");
    let text = "name = 's'\nbudget = '0.4k'\ngames = ['deep-sea/4']\nagents = ['sane']\nseeds = [1]\n\
                [set]\nlearner.network.hidden = [8]\n[evaluation]\nnoise = 'none'\n\
                [[variant]]\nname = 'near'\nset.learner.gamma = 0.5\n";
    fs::write(&file, text).unwrap();
    succeed(sane(&["--quiet", "suite", "run"]).arg(&file).arg("--out").arg(temp.path("out")));
    let run = temp.path("out/runs/near/deep-sea/4/sane/seed-1");
    let chosen = origin(&run).chosen;
    let expected = ["learner.gamma", "learner.network.hidden", "training.total_interactions"];
    assert_eq!(chosen.keys().map(String::as_str).collect::<Vec<_>>(), expected);
    assert!(chosen.values().all(|origin| origin == "suite"), "{chosen:?}");
}

#[test]
fn a_count_is_read_as_people_write_it() {
    for (text, expected) in [("1_000_000", "1000000"), ("1e6", "1000000"), ("200k", "200000"), ("25M", "25000000")] {
        let shown = succeed(&mut sane(&["config", "show", "boxing", "--steps", text]));
        assert!(shown.contains(&format!("total_interactions = {expected}")), "{text}: {shown}");
    }
    let text = fail(&mut sane(&["config", "show", "boxing", "--steps", "half"]), 2);
    assert!(text.contains("--steps") && text.contains("200k"), "{text}");
}

#[test]
fn names_of_other_programs_get_the_name_they_have_here() {
    let cases = [
        (vec!["train", "boxing", "--agent", "dqn"], "did you mean eps-greedy?"),
        (vec!["train", "boxing", "--agent", "rainbow"], "did you mean noisynet"),
        (vec!["train", "CartPole-v1", "--agent", "sane"], "did you mean gym:CartPole-v1?"),
        (vec!["train", "ALE/Breakout-v5", "--agent", "sane"], "did you mean breakout?"),
        (vec!["train", "breakout-v4", "--agent", "sane"], "did you mean breakout?"),
        (vec!["train", "boxing", "--agent", "sane", "--set", "learner.gamma=abc"], "--set learner.gamma=abc: "),
        (vec!["train", "boxing", "--agent", "sane", "--set", "learner.gamma=abc"], "discount"),
        (vec!["train", "boxing", "--agent", "sane", "--roms", "/no/such/folder"], "no such folder"),
        (vec!["export", "anything", "-o", "policy.pt"], "name it policy.safetensors"),
    ];
    for (args, expected) in cases {
        let text = fail(&mut sane(&args), 2);
        assert!(text.contains(expected), "{args:?}: {text}");
    }
}

#[test]
fn every_shown_setting_says_where_it_comes_from_and_the_text_can_be_read_back() {
    let temp = TempFolder::new();
    let file = temp.path("my.toml");
    fs::write(&file, "[training]\nbatch_size = 16\n").unwrap();
    let args = ["config", "show", "minatar/asterix", "--seed", "5", "--set", "learner.gamma=0.9", "--config"];
    let shown = succeed(sane(&args).arg(&file));
    let origin_of = |key: &str| {
        let line = shown.lines().find(|line| line.starts_with(&format!("{key} = "))).expect("a line");
        line.rsplit_once("# ").expect("a comment").1.to_owned()
    };
    for (key, origin) in
        [("seed", "--seed"), ("gamma", "--set"), ("batch_size", "file"), ("train_period", "preset"), ("name", "world")]
    {
        assert_eq!(origin_of(key), origin, "{key}");
    }
    let parsed: toml::Table = shown.parse().expect("still TOML");
    assert_eq!(parsed["training"]["batch_size"].as_integer(), Some(16));
    let json: Value = serde_json::from_str(&succeed(sane(&args).arg(&file).arg("--json"))).unwrap();
    assert_eq!(json["origins"]["training.batch_size"], "file");
}

#[test]
fn two_runs_are_compared_key_by_key() {
    let temp = TempFolder::new();
    let (one, other) = (temp.path("one"), temp.path("other"));
    succeed(&mut small_run("sane", &one, &SHORT));
    succeed(small_run("sane", &other, &SHORT).args(["--seed", "2", "--set", "learner.gamma=0.5"]));
    let text = succeed(sane(&["config", "diff"]).args([&one, &other]));
    let keys: Vec<&str> = text.lines().map(|line| line.split_whitespace().next().unwrap()).collect();
    assert_eq!(keys, ["learner.gamma", "seed"]);
    let json: Value = serde_json::from_str(&succeed(sane(&["config", "diff", "--json"]).args([&one, &other]))).unwrap();
    assert_eq!(json["differences"]["learner.gamma"]["second"], "0.5");
    check(sane(&["config", "diff"]).args([&one, &one]), 0, "the same settings");
    let missing = fail(sane(&["config", "diff"]).arg(&one).arg(temp.path("none")), 2);
    assert!(missing.contains("neither a run folder"), "{missing}");
}

#[test]
fn a_list_of_runs_has_digests_and_passes_over_damage() {
    let temp = TempFolder::new();
    succeed(&mut small_run("sane", &temp.path("runs/a"), &SHORT));
    type Damage = fn(&Path);
    let ways: [(&str, Damage); 4] = [
        ("b", |run| fs::write(run.join("config.toml"), "agent = [").unwrap()),
        ("c", |run| fs::write(run.join("config.toml"), [0xff, 0xfe]).unwrap()),
        ("d", |run| fs::write(run.join("events.jsonl"), "{\"event\":3}\n{}\n").unwrap()),
        ("e", |run| fs::create_dir(run.join("config.toml")).unwrap()),
    ];
    for (name, damage) in ways {
        let run = temp.path("runs").join(name);
        fs::create_dir(&run).unwrap();
        if name == "d" {
            fs::copy(temp.path("runs/a/config.toml"), run.join("config.toml")).unwrap();
        }
        damage(&run);
    }
    let listed = succeed(sane(&["runs", "list"]).current_dir(temp.root()));
    assert_eq!(listed.lines().filter(|line| line.contains("damaged:")).count(), 4, "{listed}");
    let whole = digest(&temp.path("runs/a"));
    assert!(listed.contains(&whole[..12]), "{listed}");
    let nowhere = TempFolder::new();
    let text = fail(sane(&["runs", "list"]).current_dir(nowhere.root()), 2);
    assert!(text.contains(&nowhere.path("runs").display().to_string()) && text.contains("sane train"), "{text}");
}

#[test]
fn fewer_steps_than_were_done_are_refused_and_change_nothing() {
    let temp = TempFolder::new();
    let folder = temp.path("run");
    succeed(&mut small_run("sane", &folder, &SHORT));
    let before = fs::read(folder.join("config.toml")).unwrap();
    let text = fail(&mut small_run("sane", &folder, &["--steps", "300"]), 2);
    assert!(text.contains("has 400 interactions already") && text.contains("300"), "{text}");
    assert_eq!(fs::read(folder.join("config.toml")).unwrap(), before);
}

#[test]
fn the_number_of_threads_is_recorded_as_given() {
    let temp = TempFolder::new();
    for threads in ["1", "3"] {
        let folder = temp.path(threads);
        succeed(&mut small_run("sane", &folder, &[&SHORT[..], &["--threads", threads]].concat()));
        let timings = fs::read_to_string(folder.join("timings.jsonl")).unwrap();
        assert!(timings.contains(&format!("\"threads\":{threads}")), "{timings}");
    }
}

#[test]
fn a_run_of_hours_says_so_first_and_how_to_make_a_short_one() {
    let temp = TempFolder::new();
    let mut long = sane(&["train", "minatar/breakout", "--agent", "sane", "--steps", "900M", "--out"]);
    // It would train for hours: it is killed after its first line.
    let mut child = long.arg(temp.path("run")).stderr(std::process::Stdio::piped()).spawn().unwrap();
    let mut first = String::new();
    let mut reader = std::io::BufReader::new(child.stderr.take().unwrap());
    std::io::BufRead::read_line(&mut reader, &mut first).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(first.contains("will take about") && first.contains("--steps 100k"), "{first}");
}

#[test]
fn completions_manual_pages_and_the_version_are_printed() {
    for (shell, word) in [("bash", "complete"), ("zsh", "#compdef sane"), ("fish", "complete -c sane")] {
        let script = succeed(&mut sane(&["completions", shell]));
        assert!(script.contains(word) && script.contains("train"), "{shell}");
    }
    let temp = TempFolder::new();
    assert!(succeed(&mut sane(&["man"])).contains(".TH sane 1"));
    succeed(sane(&["man", "-o"]).arg(temp.root()));
    for (page, word) in [("sane.1", "train"), ("sane-train.1", "agent"), ("sane-runs-export.1", "mlflow")] {
        let text = fs::read_to_string(temp.path(page)).expect(page);
        assert!(text.starts_with(".ie") && text.contains(word), "{page}");
    }
    let version = succeed(&mut sane(&["--version"]));
    assert!(version.starts_with(&format!("sane {} (", env!("CARGO_PKG_VERSION"))), "{version}");
    assert!(
        version.contains("kernel ") && (version.contains("commit ") || version.contains("without git")),
        "{version}"
    );
}

#[test]
fn runs_are_exported_for_other_programs_and_a_damaged_one_is_left_out() {
    let temp = TempFolder::new();
    let runs = temp.path("runs");
    for seed in ["1", "2"] {
        succeed(small_run("sane", &runs.join(seed), &SHORT).args(["--seed", seed]));
    }
    fs::create_dir(runs.join("damaged")).unwrap();
    fs::write(runs.join("damaged/config.toml"), "agent = [").unwrap();
    let before = fs::read(runs.join("1/events.jsonl")).unwrap();
    let mut command = sane(&["runs", "export"]);
    command.arg(&runs);
    for format in ["csv", "parquet", "mlflow", "wandb-offline"] {
        command.arg(format!("--{format}")).arg(temp.path(format));
    }
    let output = check(&mut command, 0, "damaged is left out");
    assert!(stderr(&output).contains("2 runs exported"), "{}", stderr(&output));
    let episodes = fs::read_to_string(temp.path("csv/episodes.csv")).unwrap();
    let of_seed = |seed: &str| episodes.lines().filter(|line| line.contains(&format!(",sane,{seed},"))).count();
    assert!(episodes.starts_with("run,world,agent,seed,") && 0 < of_seed("1") && 0 < of_seed("2"), "{episodes}");
    let parquet = fs::read(temp.path("parquet/episodes.parquet")).unwrap();
    assert!(parquet.starts_with(b"PAR1") && parquet.ends_with(b"PAR1"));
    assert_eq!(fs::read_dir(temp.path("wandb-offline")).unwrap().count(), 2);
    assert_eq!(fs::read(runs.join("1/events.jsonl")).unwrap(), before, "run folders stay as they are");
    // Again: replaced, not doubled.
    succeed(&mut command);
    assert_eq!(fs::read_dir(temp.path("wandb-offline")).unwrap().count(), 2);
    assert!(fail(sane(&["runs", "export"]).arg(&runs), 2).contains("--csv"));
    assert!(fail(sane(&["runs", "export", "--csv", "x"]).arg(temp.path("none")), 2).contains("there is no folder"));
}
