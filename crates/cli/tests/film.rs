//! `sane film` as a process: films of agents with and without σ, and what is refused.

mod process;

use process::{TempFolder, check, sane, small_run, succeed};
use std::fs;
use std::path::PathBuf;

fn trained(temp: &TempFolder, agent: &str) -> PathBuf {
    let folder = temp.path(agent);
    let settings = ["--set", "training.total_interactions=600", "--set", "training.evaluate_every=200"];
    succeed(&mut small_run(agent, &folder, &settings));
    folder
}

#[test]
fn any_agent_can_be_filmed_at_any_checkpoint() {
    let temp = TempFolder::new();
    for agent in ["eps-greedy", "noisynet", "sane"] {
        let run = trained(&temp, agent);
        let printed = succeed(sane(&["-q", "film", "--length", "4", "--checkpoint", "best"]).arg(&run));
        assert_eq!(printed.trim(), run.join("film.gif").display().to_string());
        assert!(fs::read(run.join("film.gif")).unwrap().starts_with(b"GIF89a"));
        assert!(!run.join("film.gif.new").exists());
    }
    let (run, frames) = (temp.path("eps-greedy"), temp.path("frames"));
    succeed(sane(&["-q", "film", "--length", "3", "--noise", "off", "--frames"]).arg(&frames).arg(&run));
    assert_eq!(fs::read_dir(&frames).unwrap().count(), 3);
}

#[test]
fn another_ending_and_a_missing_ffmpeg_are_refused_before_anything_is_played() {
    let temp = TempFolder::new();
    let run = trained(&temp, "eps-greedy");
    for name in ["x.avi", "x", "x.gif.zip"] {
        check(sane(&["film", "-o", name]).arg(&run), 2, "a film ends in .gif or .mp4");
    }
    let path = temp.path("x.mp4");
    check(sane(&["film", "-o"]).arg(&path).arg(&run).env("PATH", ""), 2, "no ffmpeg on the PATH");
    assert!(!path.exists());
    check(sane(&["film", "--from", "9000"]).arg(&run), 2, "film from an earlier one");
    check(&mut sane(&["film", "nowhere"]), 1, "nowhere is not a run folder");
}
