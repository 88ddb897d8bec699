//! Time of a report on the paper's whole suite: 132 runs (11 games × 4 agents × 3 seeds) of 25 million
//! interactions each.
//!
//! `cargo bench -p sane-report` writes the files (about a gigabyte) into a temporary folder, then times reading,
//! comparing and drawing three times and prints each; the first round after writing has warm files, as all others.
//! Numbers from before and after a change of the event schema are not comparable.

#[path = "../tests/support/mod.rs"]
mod support;

use rayon::prelude::*;
use sane_report::{Report, find_runs, read_run};
use std::io::Write;
use std::time::Instant;
use support::SyntheticRun;

const AGENTS: [&str; 4] = ["q-sane", "sane", "noisynet", "eps-greedy"];

fn main() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let runs: Vec<SyntheticRun> = sane_record::PAPER_GAMES
        .iter()
        .enumerate()
        .flat_map(|(i, game)| {
            AGENTS
                .into_iter()
                .flat_map(move |agent| (1..=3).map(move |seed| paper_run(game.game, i as u64, agent, seed)))
        })
        .collect();
    runs.par_iter().for_each(|run| drop(run.write(folder.path())));
    let bytes: u64 = runs
        .iter()
        .map(|run| folder.path().join(&run.world).join(&run.agent).join(format!("seed-{}/events.jsonl", run.seed)))
        .map(|path| path.metadata().expect("the events were written").len())
        .sum();
    say(&format!("{} runs, {:.0} MB of events", runs.len(), bytes as f64 / 1e6));
    for round in 1..=3 {
        let start = Instant::now();
        let found = find_runs(&[folder.path().into()]).expect("there are runs");
        let read = found.par_iter().map(|path| read_run(path).expect("a whole run")).collect();
        let reading = start.elapsed();
        let report = Report::of(read, Vec::new(), None);
        let comparing = start.elapsed() - reading;
        let files = report.files().expect("figures can be drawn");
        let drawing = start.elapsed() - reading - comparing;
        say(&format!(
            "round {round}: reading {:.2} s, comparing {:.2} s, drawing {} files {:.2} s",
            reading.as_secs_f64(),
            comparing.as_secs_f64(),
            files.len(),
            drawing.as_secs_f64()
        ));
    }
}

fn paper_run(game: &str, game_index: u64, agent: &str, seed: u64) -> SyntheticRun {
    SyntheticRun {
        budget: 25_000_000,
        reached: 25_000_000,
        interval: 10_000,
        // From 500 interactions (river raid) to 3,000 (enduro) and so on.
        episode_length: 500 + 250 * game_index,
        ..SyntheticRun::small(game, agent, seed, 100.0 * (game_index + seed) as f64)
    }
}

fn say(line: &str) {
    writeln!(std::io::stdout().lock(), "{line}").expect("standard output takes a line");
}
