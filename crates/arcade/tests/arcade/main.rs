//! The games against ale-py 0.12.1, from golden files: traces frame by frame, preprocessed frames, snapshots, threads.
//! ROMs are found as by `sane`, and fetched with pip if they are missing.

mod environment;
mod snapshots;
mod threads;
mod traces;

use sane_arcade::{Game, Roms};
use std::path::{Path, PathBuf};

/// The game with this name and its ROM.
fn game_and_rom(name: &str) -> (&'static Game, Vec<u8>) {
    let game = Game::named(name).expect("a game of the table");
    let rom = Roms::new(None).load(game, &mut |_| {}).unwrap_or_else(|error| panic!("{error}"));
    (game, rom)
}

fn golden(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../golden/atari").join(path)
}
