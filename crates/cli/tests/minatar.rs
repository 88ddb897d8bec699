//! `sane minatar replay` and `sane bench minatar` as a user meets them: lines, JSON, exit codes.

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../golden/minatar/traces").join(name)
}

fn sane(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_sane")).args(arguments).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn a_true_trace_and_a_thin_one_have_no_differences() {
    let full = golden("seaquest_dip_s301_sticky10_ramp1.bin.gz");
    let thin = golden("freeway_thin_s503_sticky10_ramp1.bin.gz");
    let ran = sane(&["minatar", "replay", full.to_str().unwrap(), thin.to_str().unwrap()]);
    assert_eq!(ran.status.code(), Some(0), "{}", text(&ran.stderr));
    let lines = text(&ran.stdout);
    assert!(lines.contains("seaquest, 5000 acts") && lines.contains("freeway, 10000 acts"), "{lines}");
    assert_eq!(lines.matches(" 0 differences").count(), 2, "{lines}");
}

#[test]
fn the_first_difference_is_told_with_both_values_and_the_exit_code_is_1() {
    let wrong = golden("../wrong_reward.bin.gz");
    let ran = sane(&["minatar", "replay", wrong.to_str().unwrap()]);
    assert_eq!(ran.status.code(), Some(1));
    let line = text(&ran.stdout);
    assert!(line.contains("1 differences; first at act 100: reward is 0, the trace has 1"), "{line}");

    let ran = sane(&["minatar", "replay", "--json", wrong.to_str().unwrap()]);
    assert_eq!(ran.status.code(), Some(1));
    let answer: Value = serde_json::from_slice(&ran.stdout).unwrap();
    let first = &answer["files"][0]["first_difference"];
    assert_eq!((first["act"].as_u64(), first["field"].as_str()), (Some(100), Some("reward")));
    assert_eq!((first["expected"].as_str(), first["found"].as_str()), (Some("1"), Some("0")));
    assert_eq!(answer["differences"], 1);
}

#[test]
fn a_trace_cut_short_or_missing_is_an_error_and_the_others_are_still_replayed() {
    let folder = tempfile::tempdir().unwrap();
    let whole = golden("asterix_rand_s1_sticky10_ramp1.bin.gz");
    let cut = folder.path().join("cut.bin.gz");
    std::fs::write(&cut, &std::fs::read(&whole).unwrap()[..5000]).unwrap();
    let missing = folder.path().join("missing.bin.gz");
    let files = [&cut, &missing, &whole].map(|path| path.to_str().unwrap());
    let ran = sane(&["minatar", "replay", files[0], files[1], files[2]]);
    assert_eq!(ran.status.code(), Some(1));
    let lines = text(&ran.stdout);
    assert!(lines.contains("cut.bin.gz: not replayed: the trace cannot be unpacked"), "{lines}");
    assert!(lines.contains("missing.bin.gz: not replayed: cannot be read"), "{lines}");
    assert!(lines.contains("asterix, 5000 acts"), "{lines}");
}

#[test]
fn no_file_at_all_is_wrong_usage() {
    assert_eq!(sane(&["minatar", "replay"]).status.code(), Some(2));
}

#[test]
fn without_the_package_the_bench_still_gives_our_rates() {
    let ran = sane(&["bench", "minatar", "--json", "--steps", "2000", "--python", "no-such-interpreter"]);
    assert_eq!(ran.status.code(), Some(0), "{}", text(&ran.stderr));
    assert!(text(&ran.stderr).contains("no-such-interpreter cannot be started"), "{}", text(&ran.stderr));
    let answer: Value = serde_json::from_slice(&ran.stdout).unwrap();
    assert_eq!(answer["games"].as_array().unwrap().len(), 5);
    for game in answer["games"].as_array().unwrap() {
        assert!(0.0 < game["steps_per_second"]["median"].as_f64().unwrap());
        assert!(game["package_steps_per_second"].is_null() && game["ratio"].is_null());
    }
    assert!(answer["geometric_mean_ratio"].is_null());
}
