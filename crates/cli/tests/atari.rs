//! `sane atari` and `sane roms` as processes: output and exit codes. Missing ROMs are downloaded with pip. With
//! `SANE_TEST_OFFLINE` set nothing is downloaded: the tests that need a ROM say so and return.

mod process;

use process::{sane, stderr, stdout};
use sane_arcade::{Game, Roms};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// Whether a test that needs a ROM is left out.
fn is_left_out() -> bool {
    static LEFT_OUT: OnceLock<bool> = OnceLock::new();
    *LEFT_OUT.get_or_init(|| {
        let roms = Roms::new(None);
        let is_missing = |name| !matches!(roms.find(Game::named(name).unwrap(), &mut |_| {}), Ok(Some(_)));
        let left_out =
            std::env::var_os("SANE_TEST_OFFLINE").is_some() && ["boxing", "pong"].into_iter().any(is_missing);
        if left_out {
            let note = b"left out: SANE_TEST_OFFLINE is set and not all ROMs are on this machine\n";
            std::io::stderr().write_all(note).expect("standard error takes a line");
        }
        left_out
    })
}

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../golden/atari").join(name)
}

/// Runs a command; checks its exit code and that `expected` occurs in its standard output or standard error.
fn check(command: &mut Command, code: i32, expected: &str) -> Output {
    let output = process::check(command, code, "");
    let (out, err) = (stdout(&output), stderr(&output));
    assert!(out.contains(expected) || err.contains(expected), "{command:?} does not print `{expected}`:\n{out}\n{err}");
    output
}

#[test]
fn replaying_a_correct_trace_exits_with_0_and_prints_the_number_of_frames() {
    if is_left_out() {
        return;
    }
    let path = golden("others/pong.trc.gz");
    check(&mut sane(&["atari", "replay", path.to_str().unwrap()]), 0, "pong.trc.gz: 800 frames, 0 differences");
    let output = check(&mut sane(&["atari", "replay", "--json", path.to_str().unwrap()]), 0, "");
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!((json["frames"].as_u64(), json["differences"].as_u64()), (Some(800), Some(0)));
}

#[test]
fn a_trace_of_another_mode_exits_with_1_and_names_the_first_difference() {
    if is_left_out() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pong.m1.trc.gz");
    std::fs::copy(golden("others/pong.trc.gz"), &path).unwrap();
    check(&mut sane(&["atari", "replay", path.to_str().unwrap()]), 1, "first at reset 0: RAM byte $");
}

#[test]
fn a_trace_that_cannot_be_read_exits_with_1_and_an_explanation() {
    if is_left_out() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pong.trc.gz");
    let whole = std::fs::read(golden("others/pong.trc.gz")).unwrap();
    std::fs::write(&path, &whole[..whole.len() / 2]).unwrap();
    check(&mut sane(&["atari", "replay", path.to_str().unwrap()]), 1, "a trace is a whole gzip file");
    std::fs::write(&path, b"something else").unwrap();
    check(&mut sane(&["atari", "replay", path.to_str().unwrap()]), 1, "cannot be read");
    check(&mut sane(&["atari", "replay", "no/such/file.trc.gz"]), 1, "no/such/file.trc.gz");
    check(&mut sane(&["atari", "replay"]), 2, "FILE");
}

#[test]
fn a_mode_in_a_file_name_that_the_game_does_not_have_is_named() {
    if is_left_out() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pong.m9.trc.gz");
    std::fs::copy(golden("others/pong.trc.gz"), &path).unwrap();
    check(&mut sane(&["atari", "replay", path.to_str().unwrap()]), 1, "pong has no mode 9; it has 0, 1");
}

#[test]
fn names_modes_difficulties_and_actions_that_do_not_exist_exit_with_2() {
    let random = ["--random", "1", "3"];
    let trace = |rest: &[&str]| sane(&[&["atari", "trace"], rest, &random].concat());
    check(&mut trace(&["boxng"]), 2, "did you mean `boxing`?");
    check(&mut trace(&["atlantis", "--mode", "9"]), 2, "atlantis has no mode 9; it has 0, 1, 2, 3");
    check(&mut trace(&["asterix", "--difficulty", "1"]), 2, "asterix has no difficulty 1; it has 0");
    check(&mut trace(&["asterix", "--sticky", "1.5"]), 2, "expected a probability from 0 to 1, found 1.5");
    check(&mut sane(&["atari", "trace", "boxing"]), 2, "--random");
    check(&mut sane(&["bench", "atari", "--games", "seaqest"]), 2, "did you mean `seaquest`?");
    check(&mut sane(&["roms", "where", "qbrt"]), 2, "did you mean `qbert`?");
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("moves");
    std::fs::write(&path, "0 1 18").unwrap();
    check(&mut sane(&["atari", "trace", "boxing", "--actions", path.to_str().unwrap()]), 2, "`18`");
}

/// The lines of ale-py for the same run; `oracle.py boxing --random 1 3` is their recipe.
#[test]
fn a_trace_prints_the_lines_of_the_oracle() {
    if is_left_out() {
        return;
    }
    let output = check(&mut sane(&["atari", "trace", "boxing", "--random", "1", "3"]), 0, "\"frame\":-1");
    let expected = std::fs::read_to_string(golden("boxing.oracle.jsonl")).unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), expected);
}

#[test]
fn a_closed_standard_output_is_not_a_failure() {
    if is_left_out() {
        return;
    }
    let mut child = sane(&["atari", "trace", "boxing", "--random", "1", "5000"])
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
}

#[test]
fn a_damaged_rom_in_a_named_folder_is_refused_with_both_checksums() {
    if is_left_out() {
        return;
    }
    let game = Game::named("boxing").unwrap();
    let rom = Roms::new(None).load(game, &mut |_| {}).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("boxing.bin");
    std::fs::write(&path, &rom[..1000]).unwrap();
    let roms = folder.path().to_str().unwrap();
    let arguments = ["atari", "trace", "boxing", "--random", "1", "3", "--roms", roms];
    let output = check(&mut sane(&arguments), 1, game.md5);
    let found = sane_arcade::md5_hex(&rom[..1000]);
    assert!(String::from_utf8_lossy(&output.stderr).contains(&found));
    assert!(output.stdout.is_empty(), "nothing is printed before the error");
    check(&mut sane(&["roms", "check", "--roms", roms]), 1, &found);
}

#[test]
fn a_rom_is_recognised_by_its_checksum_whatever_its_name() {
    if is_left_out() {
        return;
    }
    let game = Game::named("boxing").unwrap();
    let rom = Roms::new(None).load(game, &mut |_| {}).unwrap();
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("some name.a26"), rom).unwrap();
    check(&mut sane(&["roms", "where", "boxing", "--roms", folder.path().to_str().unwrap()]), 0, "some name.a26");
}

/// No folder, no package, no pip: the error lists every searched folder and the three ways to supply ROMs.
#[cfg(unix)]
#[test]
fn without_roms_pip_and_network_the_error_lists_what_was_searched_and_the_remedies() {
    let home = tempfile::tempdir().unwrap();
    let mut command = sane(&["atari", "trace", "boxing", "--random", "1", "3"]);
    command.env_clear().env("HOME", home.path()).env("PATH", home.path()).env("SANE_ROMS", home.path());
    let output = check(&mut command, 1, "three ways to supply ROMs");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    for part in ["--roms", "$SANE_ROMS", "data folder", "ale_py package", "pip could not download"] {
        assert!(text.contains(part), "`{part}` is missing in:\n{text}");
    }
}
