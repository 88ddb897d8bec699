//! Response times of the page on the paper's whole suite: 132 runs (11 games × 4 agents × 3 seeds) of 25 million
//! interactions each.
//!
//! `cargo bench -p sane-watch` writes the files (half a gigabyte) into a temporary folder, then starts the server three
//! times and prints how long the first list of all runs takes from its start, how long one from then on, and how long
//! a run that is opened for the first time and once more. `cargo bench -p sane-watch -- DIR` writes into DIR and leaves
//! the files there, for `tools/watch_browser_test.py --many DIR`. Numbers from before and after a change of the event
//! schema are not comparable.

#[path = "../../report/tests/support/mod.rs"]
mod support;

use sane_watch::{Address, Server, serve};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};
use support::SyntheticRun;

const AGENTS: [&str; 4] = ["q-sane", "sane", "noisynet", "eps-greedy"];

fn main() {
    let temporary = tempfile::tempdir().expect("a temporary folder");
    let asked = std::env::args().skip(1).find(|argument| !argument.starts_with("--"));
    let folder = asked.map_or_else(|| temporary.path().to_path_buf(), PathBuf::from);
    write_runs(&folder);
    for round in 1..=3 {
        measure(&folder, round);
    }
}

fn write_runs(folder: &Path) {
    thread::scope(|scope| {
        for (game_index, game) in sane_record::PAPER_GAMES.iter().enumerate() {
            scope.spawn(move || {
                for agent in AGENTS {
                    (1..=3).for_each(|seed| drop(paper_run(game.game, game_index as u64, agent, seed).write(folder)));
                }
            });
        }
    });
    say(&format!("132 runs in {}", folder.display()));
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

fn measure(folder: &Path, round: usize) {
    let address = Address::new(None, 0).expect("this machine has an address");
    let start = Instant::now();
    let server = Server::bind(&[folder.into()], &address).expect("a free port");
    let host = server.url.trim_start_matches("http://").trim_end_matches('/').to_owned();
    let stop = Arc::new(AtomicBool::new(false));
    let stopping = stop.clone();
    let serving = thread::spawn(move || serve(server, &stopping));
    let (first, list) = loop {
        let (seconds, text) = (start.elapsed(), ask(&host, "/api/runs"));
        if text.matches("\"id\":").count() == 132 {
            break (seconds, text);
        }
        thread::sleep(Duration::from_millis(5));
    };
    let id = list.split("\"id\":\"").nth(1).and_then(|rest| rest.split('"').next()).expect("a run").to_owned();
    let again = timed(|| ask(&host, "/api/runs"));
    let opened = timed(|| ask(&host, &format!("/api/runs/{id}")));
    let reopened = timed(|| ask(&host, &format!("/api/runs/{id}")));
    stop.store(true, Ordering::Relaxed);
    serving.join().expect("the server ends").expect("without an error");
    say(&format!(
        "round {round}: all runs {first:.0?} after the start, again in {again:.1?} ({} kB); a run opened in \
         {opened:.0?}, again in {reopened:.1?}",
        list.len() / 1000
    ));
}

fn timed(work: impl Fn() -> String) -> Duration {
    let start = Instant::now();
    assert!(100 < work().len());
    start.elapsed()
}

fn ask(host: &str, path: &str) -> String {
    let mut stream = TcpStream::connect(host).expect("the server listens");
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n").expect("it reads");
    let mut text = String::new();
    stream.read_to_string(&mut text).expect("it answers");
    assert!(text.starts_with("HTTP/1.1 200"), "{path}: {text}");
    text
}

fn say(line: &str) {
    writeln!(std::io::stdout().lock(), "{line}").expect("standard output takes a line");
}
