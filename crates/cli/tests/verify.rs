//! `sane eval --traces` and `sane verify` as processes: scores come out of the actions alone, and what was changed is found.

mod process;

use process::{TempFolder, check, fail, sane, small_run, small_run_in, succeed};
use sane_record::{read_action_traces, write_action_traces};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

fn trained_in(world: &str, temp: &TempFolder) -> PathBuf {
    let folder = temp.path(&world.replace('/', "-"));
    succeed(&mut small_run_in(world, "noisynet", &folder, &["--set", "training.total_interactions=600"]));
    folder
}

fn traced(run: &Path, file: &Path) {
    succeed(sane(&["-q", "eval", "--interactions", "300"]).arg(run).arg("--traces").arg(file));
}

#[test]
fn scores_are_reproduced_without_the_run_that_made_them() {
    let temp = TempFolder::new();
    let (run, file) = (trained_in("minatar/breakout", &temp), temp.path("breakout.trace"));
    traced(&run, &file);
    let text = succeed(sane(&["verify", "--run"]).arg(&run).arg(&file));
    assert!(text.ends_with("every score is reproduced\n") && text.contains("noise on"), "{text}");
    fs::remove_dir_all(&run).unwrap();
    let one: Value =
        serde_json::from_str(&succeed(sane(&["-q", "verify", "--json", "--threads", "1"]).arg(&file))).unwrap();
    let two: Value =
        serde_json::from_str(&succeed(sane(&["-q", "verify", "--json", "--threads", "3"]).arg(&file))).unwrap();
    assert_eq!(
        (&one, &one[0]["reproduced"], &one[0]["header"]["world"]),
        (&two, &true.into(), &"minatar/breakout".into())
    );
    assert_eq!(one[0]["evaluations"].as_array().unwrap().len(), 2);
}

#[test]
fn traces_go_into_the_run_folder_and_its_evaluations_name_them() {
    let temp = TempFolder::new();
    let run = trained_in("minatar/freeway", &temp);
    check(sane(&["eval", "--interactions", "300", "--noise", "off"]).arg(&run).arg("--traces"), 0, "plays them again");
    let recorded: Value =
        serde_json::from_str(fs::read_to_string(run.join("evaluations.jsonl")).unwrap().trim()).unwrap();
    assert!(run.join(recorded["traces"].as_str().unwrap()).exists(), "{recorded}");
    assert!(succeed(sane(&["verify"]).arg(&run)).contains("every score is reproduced"));
    // A table that says something else is found.
    let harmed =
        fs::read_to_string(run.join("evaluations.jsonl")).unwrap().replace("\"returns\":[", "\"returns\":[7.0,");
    fs::write(run.join("evaluations.jsonl"), harmed).unwrap();
    let text = fail(sane(&["verify"]).arg(&run), 1);
    assert!(text.contains("has no evaluation with noise off and these scores"), "{text}");
}

#[test]
fn what_was_changed_cut_or_is_of_another_game_gets_one_sentence() {
    let temp = TempFolder::new();
    let (run, file) = (trained_in("minatar/breakout", &temp), temp.path("breakout.trace"));
    traced(&run, &file);
    let whole = fs::read(&file).unwrap();
    fs::write(&file, &whole[..whole.len() / 2]).unwrap();
    assert!(fail(sane(&["verify"]).arg(&file), 1).contains("is cut short"));
    let mut altered = whole.clone();
    altered[100] ^= 1;
    fs::write(&file, &altered).unwrap();
    assert!(fail(sane(&["verify"]).arg(&file), 1).contains("was altered: its digest"));
    let mut newer = whole.clone();
    newer[8] = 2;
    fs::write(&file, &newer).unwrap();
    assert!(fail(sane(&["verify"]).arg(&file), 1).contains("has format version 2, this program reads version 1"));
    fs::write(&file, "mean 21.0").unwrap();
    assert!(fail(sane(&["verify"]).arg(&file), 1).contains("holds no actions of an evaluation"));
    assert!(fail(sane(&["verify"]).arg(&run), 1).contains("has no traces"));
    assert!(fail(sane(&["verify"]).arg(temp.path("nowhere")), 1).contains("nowhere"));
    fs::write(&file, &whole).unwrap();
    let other = temp.path("other");
    succeed(&mut small_run_in("minatar/asterix", "noisynet", &other, &["--set", "training.total_interactions=300"]));
    let text = fail(sane(&["verify", "--run"]).arg(&other).arg(&file), 1);
    assert!(
        text.contains("the trace is of minatar/breakout") && text.contains("was trained in minatar/asterix"),
        "{text}"
    );
    // A better score that the actions do not give, signed anew.
    let mut boasting = read_action_traces(&file).unwrap();
    boasting.evaluations[0].episodes[1].return_raw += 100.0;
    write_action_traces(&file, &boasting).unwrap();
    let text = fail(sane(&["verify"]).arg(&file), 1);
    assert!(text.contains("not reproduced: noise off, episode 1:") && text.contains("comes out"), "{text}");
    // The same actions in another game.
    boasting.header.world = "minatar/asterix".into();
    write_action_traces(&file, &boasting).unwrap();
    assert!(fail(sane(&["verify"]).arg(&file), 1).contains("not reproduced"));
    boasting.header.world = "gym:CartPole-v1".into();
    write_action_traces(&file, &boasting).unwrap();
    assert!(fail(sane(&["verify"]).arg(&file), 2).contains("gym:CartPole-v1 cannot be verified"));
    boasting.header.world = "minatar/asterx".into();
    write_action_traces(&file, &boasting).unwrap();
    assert!(fail(sane(&["verify"]).arg(&file), 2).contains("did you mean"));
}

#[test]
fn an_older_run_without_new_keys_is_evaluated_filmed_and_resumed() {
    let temp = TempFolder::new();
    let run = temp.path("older");
    let short = ["--set", "training.total_interactions=300", "--set", "training.evaluate_every=0"];
    succeed(&mut small_run("sane", &run, &short));
    assert!(!fs::read_to_string(run.join("config.toml")).unwrap().contains("evaluate_every"));
    succeed(&mut small_run("sane", &run, &["--set", "training.total_interactions=600"]));
    succeed(&mut small_run(
        "sane",
        &run,
        &["--set", "training.total_interactions=900", "--set", "training.evaluate_every=100"],
    ));
    let evaluations = fs::read_to_string(run.join("evaluations_in_training.jsonl")).unwrap();
    assert_eq!(evaluations.lines().count(), 4, "600, 700, 800 and 900: {evaluations}");
}
