//! What a run writes down: events, timings, evaluations. Beside a whole run, so that the report has to compare.
//!
//! The first byte picks the file, the rest is its content.

use crate::scratch;
use sane_report::{Report, read_run};
use std::fs;

const FILES: [&str; 3] = ["events.jsonl", "timings.jsonl", "evaluations.jsonl"];

const CONFIG: &str = include_str!("records/config.toml");
const RECORDS: [&str; 3] = [
    include_str!("records/events.jsonl"),
    include_str!("records/timings.jsonl"),
    include_str!("records/evaluations.jsonl"),
];

pub fn seeds() -> Vec<Vec<u8>> {
    RECORDS.iter().enumerate().map(|(file, text)| [&[file as u8], text.as_bytes()].concat()).collect()
}

pub fn body(input: &[u8]) -> bool {
    let [file, content @ ..] = input else { return false };
    let changed = usize::from(*file) % FILES.len();
    let folder = scratch::folder();
    let mut read = Vec::new();
    for seed in 1..=2 {
        let run = folder.path().join(format!("seed-{seed}"));
        fs::create_dir(&run).expect("an empty folder");
        let of_seed = |text: &str| {
            text.replace("seed = 1", &format!("seed = {seed}")).replace("\"seed\":1", &format!("\"seed\":{seed}"))
        };
        fs::write(run.join("config.toml"), of_seed(CONFIG)).expect("space for a small file");
        for (i, name) in FILES.iter().enumerate() {
            let bytes = if seed == 1 && i == changed { content.to_vec() } else { of_seed(RECORDS[i]).into_bytes() };
            fs::write(run.join(name), bytes).expect("space for a small file");
        }
        read.extend(read_run(&run));
    }
    let accepted = read.len() == 2;
    let report = Report::of(read, Vec::new(), None);
    report.json();
    let _ = report.files();
    accepted
}
