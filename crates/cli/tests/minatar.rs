//! `sane minatar replay` and `sane bench minatar` as processes: lines, JSON, exit codes.

mod process;

use process::{check, sane, stdout};
use serde_json::Value;
use std::path::{Path, PathBuf};

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../golden/minatar/traces").join(name)
}

#[test]
fn a_full_trace_and_a_thin_one_have_no_differences() {
    let full = golden("seaquest_dip_s301_sticky10_ramp1.bin.gz");
    let thin = golden("freeway_thin_s503_sticky10_ramp1.bin.gz");
    let lines = stdout(&check(sane(&["minatar", "replay"]).args([full, thin]), 0, ""));
    assert!(lines.contains("seaquest, 5000 acts") && lines.contains("freeway, 10000 acts"), "{lines}");
    assert_eq!(lines.matches(" 0 differences").count(), 2, "{lines}");
}

#[test]
fn the_first_difference_is_printed_with_both_values_and_the_exit_code_is_1() {
    let wrong = golden("../wrong_reward.bin.gz");
    let expected = "1 differences; first at act 100: reward is 0, the trace has 1";
    let line = stdout(&check(sane(&["minatar", "replay"]).arg(&wrong), 1, ""));
    assert!(line.contains(expected), "{line}");
    let output = check(sane(&["minatar", "replay", "--json"]).arg(&wrong), 1, "");
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    let first = &answer["files"][0]["first_difference"];
    assert_eq!((first["act"].as_u64(), first["field"].as_str()), (Some(100), Some("reward")));
    assert_eq!((first["expected"].as_str(), first["found"].as_str()), (Some("1"), Some("0")));
    assert_eq!(answer["differences"], 1);
}

#[test]
fn a_truncated_or_missing_trace_is_an_error_and_the_others_are_still_replayed() {
    let folder = tempfile::tempdir().unwrap();
    let whole = golden("asterix_rand_s1_sticky10_ramp1.bin.gz");
    let cut = folder.path().join("cut.bin.gz");
    std::fs::write(&cut, &std::fs::read(&whole).unwrap()[..5000]).unwrap();
    let missing = folder.path().join("missing.bin.gz");
    let lines = stdout(&check(sane(&["minatar", "replay"]).args([cut, missing, whole]), 1, ""));
    assert!(lines.contains("cut.bin.gz: not replayed: the trace cannot be unpacked"), "{lines}");
    assert!(lines.contains("missing.bin.gz: not replayed: cannot be read"), "{lines}");
    assert!(lines.contains("asterix, 5000 acts"), "{lines}");
}

#[test]
fn no_file_at_all_is_wrong_usage() {
    check(&mut sane(&["minatar", "replay"]), 2, "FILE");
}

#[test]
fn without_the_package_the_bench_still_measures_sane() {
    let mut bench = sane(&["bench", "minatar", "--json", "--steps", "2000", "--python", "no-such-interpreter"]);
    let output = check(&mut bench, 0, "no-such-interpreter cannot be started");
    let answer: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["games"].as_array().unwrap().len(), 5);
    for game in answer["games"].as_array().unwrap() {
        assert!(0.0 < game["steps_per_second"]["median"].as_f64().unwrap());
        assert!(game["package_steps_per_second"].is_null() && game["ratio"].is_null());
    }
    assert!(answer["geometric_mean_ratio"].is_null());
}
