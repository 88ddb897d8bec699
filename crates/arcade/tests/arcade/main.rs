//! The games against ale-py 0.12.1, from golden files: traces frame by frame, preprocessed frames, snapshots, threads.
//! ROMs are found as by `sane`, and fetched with pip if they are missing. With `SANE_TEST_OFFLINE` set nothing is fetched:
//! if a ROM is missing, the tests that need ROMs say so and return.

#[path = "../../examples/drive_arcade.rs"]
mod drive_arcade;
mod environment;
mod snapshots;
mod threads;
mod traces;

use sane_arcade::{Game, Roms};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Whether a test that needs ROMs is left out.
fn is_left_out() -> bool {
    static LEFT_OUT: OnceLock<bool> = OnceLock::new();
    *LEFT_OUT.get_or_init(|| {
        let roms = Roms::new(None);
        let is_missing = |game: &'static Game| !matches!(roms.find(game, &mut |_| {}), Ok(Some(_)));
        let left_out = std::env::var_os("SANE_TEST_OFFLINE").is_some() && Game::all().iter().any(is_missing);
        if left_out {
            let note = b"left out: SANE_TEST_OFFLINE is set and not all ROMs are on this machine\n";
            std::io::stderr().write_all(note).expect("standard error takes a line");
        }
        left_out
    })
}

/// The game with this name and its ROM.
fn game_and_rom(name: &str) -> (&'static Game, Vec<u8>) {
    let game = Game::named(name).expect("a game of the table");
    let rom = Roms::new(None).load(game, &mut |_| {}).unwrap_or_else(|error| panic!("{error}"));
    (game, rom)
}

fn golden(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../golden/atari").join(path)
}

#[test]
fn the_example_drives_a_game_alone() {
    if !is_left_out() {
        drive_arcade::drive("boxing").unwrap();
    }
}
