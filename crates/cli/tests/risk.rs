//! `sane risk` and `sane play` as processes: what they write and refuse, that results do not depend on threads, and that
//! the terminal is restored.

mod process;

use process::{TempFolder, check, sane, succeed};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// A run of about a second on the risky road, with a tiny network.
fn trained(temp: &TempFolder, agent: &str) -> PathBuf {
    let folder = temp.path(agent);
    let settings = [
        "training.total_interactions=600",
        "training.learning_starts=200",
        "learner.network.convolutions=[{filters=4, kernel=3, stride=1}]",
        "learner.network.hidden=[16]",
        "replay.capacity=1000",
    ];
    let mut arguments = vec!["-q", "train", "risky-road", "--agent", agent, "--out", folder.to_str().unwrap()];
    arguments.extend(settings.iter().flat_map(|setting| ["--set", setting]));
    succeed(&mut sane(&arguments));
    folder
}

fn files_of(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<_> = fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap())
        .map(|entry| (entry.file_name().to_string_lossy().into_owned(), fs::read(entry.path()).unwrap()))
        .collect();
    files.sort();
    files
}

#[test]
fn a_gallery_is_written_to_the_run_folder_with_a_picture_for_each_listed_state() {
    let temp = TempFolder::new();
    let run = trained(&temp, "sane");
    let small = ["--interactions", "400", "--states", "3", "--apart", "5"];
    let arguments = [&["risk", "gallery", run.to_str().unwrap()][..], &small].concat();
    let printed = succeed(&mut sane(&arguments));
    assert_eq!(printed.trim(), run.join("risk/gallery/index.html").display().to_string());
    let files = files_of(&run.join("risk/gallery"));
    let gallery: Value = serde_json::from_slice(&fs::read(run.join("risk/gallery/gallery.json")).unwrap()).unwrap();
    let states = [&gallery["smallest"], &gallery["largest"]].map(|states| states.as_array().unwrap().clone()).concat();
    assert_eq!(states.len(), 6);
    for state in &states {
        let name = state["picture"].as_str().unwrap();
        let (_, png) = files.iter().find(|(file, _)| file == name).unwrap_or_else(|| panic!("{name} is missing"));
        assert!(png.starts_with(b"\x89PNG") && state["q"].as_array().unwrap().len() == 3);
        assert!(state["true_risk"].is_number() && state["sigma_abs"].as_f64().unwrap() >= 0.0);
    }
    succeed(&mut sane(&arguments));
    assert_eq!(files_of(&run.join("risk/gallery")), files, "the same command writes the same bytes");
}

#[test]
fn an_audit_does_not_depend_on_the_number_of_threads_and_includes_the_true_risk() {
    let temp = TempFolder::new();
    let run = trained(&temp, "q-sane");
    let audit = |threads: &str, out: &str| {
        let folder = temp.path(out);
        let small = ["--states", "30", "--interactions", "300", "--continuations", "2", "--horizon", "5", "--json"];
        let mut command = sane(&["risk", "audit", run.to_str().unwrap(), "--threads", threads, "-o"]);
        let printed = succeed(command.arg(&folder).args(small));
        (serde_json::from_str::<Value>(&printed).unwrap(), files_of(&folder))
    };
    let (audited, one_thread) = audit("1", "one");
    assert_eq!(one_thread, audit("3", "three").1);
    let measures: Vec<&Value> =
        audited["analysis"]["measures"].as_array().unwrap().iter().map(|m| &m["measure"]).collect();
    assert_eq!(measures, ["risk_return", "risk_harm", "true_risk"]);
    assert_eq!(audited["states"].as_array().unwrap().len(), 30);
    assert_eq!(audited["states"][0]["futures"].as_array().unwrap().len(), 3);
    let names: Vec<&str> = one_thread.iter().map(|(name, _)| name.as_str()).collect();
    assert!(
        ["audit.json", "audit.md", "index.html", "scatter.png", "scatter.svg"].iter().all(|name| names.contains(name))
    );
}

#[test]
fn several_runs_are_audited_each_and_over_seeds_and_what_has_no_noise_is_set_aside() {
    let temp = TempFolder::new();
    let runs = ["sane-elbo", "noisynet", "eps-greedy"].map(|agent| trained(&temp, agent));
    let out = temp.path("over-seeds");
    let small = ["--states", "20", "--interactions", "200", "--continuations", "2", "--horizon", "5", "--draws", "20"];
    let mut command = sane(&["risk", "audit", "--json", "-o"]);
    let printed = succeed(command.arg(&out).args(&runs).args(small));
    let found: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!(found["laws"].as_array().unwrap().len(), 2, "a row per run");
    assert!(found["laws"][1]["sigma_ratio_median"].is_number() && found["laws"][0]["sigma_ratio_median"].is_null());
    assert!(found["set_aside"][0]["reason"].as_str().unwrap().starts_with("eps-greedy has no noise in its network"));
    let names: Vec<String> = files_of(&out).into_iter().map(|(name, _)| name).collect();
    for name in ["audit.csv", "laws.csv", "laws-risky-road-sane-elbo.png", "predictors-risky-road.svg"] {
        assert!(names.iter().any(|found| found == name), "{name} is missing in {names:?}");
    }
    assert!(runs[0].join("risk/audit/states.csv").exists() && !runs[2].join("risk").exists());
}

#[test]
fn a_film_is_a_gif_with_a_picture_per_interaction() {
    let temp = TempFolder::new();
    let run = trained(&temp, "sane");
    let frames = temp.path("frames");
    let arguments = ["risk", "film", run.to_str().unwrap(), "--length", "5", "--frames", frames.to_str().unwrap()];
    check(&mut sane(&arguments), 0, "5 interactions; the episode continues");
    let gif = fs::read(run.join("risk/film.gif")).unwrap();
    assert!(gif.starts_with(b"GIF89a"));
    assert_eq!(files_of(&frames).len(), 5);
    let shorter = ["risk", "film", run.to_str().unwrap(), "--length", "3", "--frames", frames.to_str().unwrap()];
    check(&mut sane(&shorter), 0, "3 interactions; the episode continues");
    assert_eq!(files_of(&frames).len(), 3, "pictures of the longer film are removed");
}

#[test]
fn what_cannot_be_inspected_is_refused_with_a_remedy() {
    let temp = TempFolder::new();
    let run = trained(&temp, "eps-greedy");
    let run = run.to_str().unwrap();
    for command in ["gallery", "audit", "film"] {
        let lacks = if command == "audit" {
            "noise in its network; agents that have: noisynet"
        } else {
            "σ(s); agents that have one: sane"
        };
        check(&mut sane(&["risk", command, run]), 2, &format!("eps-greedy has no {lacks}"));
        check(&mut sane(&["risk", command, "nowhere"]), 1, "nowhere is not a run folder");
    }
    check(&mut sane(&["risk", "gallery", run, "--checkpoint", "7"]), 1, "7");
    check(&mut sane(&["risk", "audit", run, "--epsilon", "2"]), 2, "expected a probability from 0 to 1, found 2");
    check(&mut sane(&["risk", "gallery", run, "--states", "0"]), 2, "--states");
    check(&mut sane(&["play", run]), 2, "play needs a terminal");
    check(&mut sane(&["play", "risky-rod", "--human"]), 2, "unknown world risky-rod; did you mean risky-road");
    check(&mut sane(&["play", run, "--human"]), 2, "is a run; a person plays a world");
    check(&mut sane(&["play", "risky-road"]), 2, "`sane play risky-road --human` lets you play it");
    check(&mut sane(&["play", "nowhere"]), 1, "nowhere is not a run folder");
}

/// Runs a command on a terminal of 80 × 30 characters and presses each key once its text has appeared.
#[cfg(target_os = "linux")]
fn on_a_terminal(command: &str, keys: &[(&str, u8)]) -> String {
    use std::io::{Read, Write};
    use std::process::{Command, Stdio};
    let script = format!("stty cols 80 rows 30; {command}; stty -a; echo the end");
    let mut child = Command::new("script")
        .args(["-qec", &script, "/dev/null"])
        .env("TERM", "xterm-256color")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("script provides a terminal");
    let (mut stdin, mut stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let (mut seen, mut chunk, mut keys) = (Vec::new(), [0; 4096], keys.iter().peekable());
    loop {
        let count = stdout.read(&mut chunk).unwrap_or(0);
        if count == 0 {
            break;
        }
        seen.extend_from_slice(&chunk[..count]);
        let appeared = |(text, _): &&(&str, u8)| seen.windows(text.len()).any(|window| window == text.as_bytes());
        if let Some((_, key)) = keys.next_if(appeared) {
            stdin.write_all(&[*key]).and_then(|()| stdin.flush()).unwrap();
        }
    }
    child.wait().unwrap();
    String::from_utf8_lossy(&seen).into_owned()
}

#[cfg(target_os = "linux")]
fn check_restored(seen: &str) {
    assert!(seen.contains("\x1b[?1049h") && seen.contains("\x1b[?1049l") && seen.contains("\x1b[?25h"));
    let after = seen.rsplit("\x1b[?1049l").next().unwrap();
    assert!(after.contains(" icanon") && after.contains(" echo ") && after.contains("the end"), "{after}");
}

#[cfg(target_os = "linux")]
#[test]
fn an_agent_plays_on_a_terminal_until_q_and_the_terminal_is_restored() {
    let temp = TempFolder::new();
    let run = trained(&temp, "sane");
    let command = format!("{} play {}", env!("CARGO_BIN_EXE_sane"), run.display());
    let seen = on_a_terminal(&command, &[("noise on", b'n'), ("noise off", b'q')]);
    let words = ["▀", "|σ|", "noise on", "noise off"];
    assert!(words.iter().all(|word| seen.contains(word)), "not all of {words:?} were seen");
    check_restored(&seen);
}

#[cfg(target_os = "linux")]
#[test]
fn a_person_plays_until_ctrl_c_and_the_terminal_is_restored() {
    let command = format!("{} play risky-road --human", env!("CARGO_BIN_EXE_sane"));
    let seen = on_a_terminal(&command, &[("risky-road   score", 3)]);
    assert!(seen.contains('▀'), "no picture was seen");
    check_restored(&seen);
}
